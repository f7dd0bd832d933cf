"""What is measured: every case by name, payload size and the figures that it gives."""

import dataclasses
import functools
from collections.abc import Callable

from weftbench import measure, peers, spaces
from weftbench.peers import (
    DECLARATIONS,
    EXCHANGE,
    KEYS,
    MANY_SESSIONS,
    MULTICAST,
    P2P,
    PEERS,
    PRIORITIES,
    QUERIES,
    ROUTED,
    SESSIONS,
)
from weftbench.process import Stage

Way = Callable[[Stage, int, float], dict[str, float]]

KIB, MIB = 1 << 10, 1 << 20


@dataclasses.dataclass(frozen=True)
class Metric:
    """One figure of a case: a line of the table."""

    # Its name among those that the measurement gives.
    key: str
    unit: str
    # What is added to the case's name, where it has several figures.
    suffix: str = ""

    @property
    def more_is_better(self) -> bool:
        return self.unit.endswith("/s")


RATE = (Metric("rate", "msg/s"),)
PERCENTILES = (Metric("p50", "us", "-p50"), Metric("p99", "us", "-p99"))


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    size: int
    # The heading in the report.
    group: str
    about: str
    metrics: tuple[Metric, ...]
    # How the programs with all the abilities that it needs are measured.
    way: Way | None
    needs: frozenset[str]
    # How others are measured, by peer.
    ways: dict[str, Way] = dataclasses.field(default_factory=dict)
    # Whether the cores are kept awake.
    awake: bool = False
    # Its share of the seconds of a measurement, and the least that it needs.
    share: float = 1
    seconds_min: float = 0
    # What it takes beside, to start and to end.
    overhead: float = 0.6
    # Rounds beyond these would take too long.
    rounds_max: int = 1000
    # Whether it needs network namespaces.
    in_space: bool = False

    @property
    def label(self) -> str:
        return f"{self.name}/{self.size}"

    def way_of(self, peer: str) -> Way | None:
        """How `peer` is measured, if it can be."""
        known = PEERS[peer]
        if self.way is not None and self.needs and self.needs <= known.abilities and self.size <= known.size_max:
            return self.way
        return self.ways.get(peer)

    def seconds(self, seconds: float) -> float:
        return max(self.share * seconds, self.seconds_min)

    def unavailable(self) -> str | None:
        return spaces.unavailable() if self.in_space else None


def bind(function, **arguments) -> Way:
    return functools.partial(function, **arguments)


def case(name, size, group, about, way, needs, metrics=RATE, **more) -> Case:
    return Case(name, size, group, about, metrics, way, frozenset(needs), **more)


# Factors of eight, but for what the targets name beside.
SIZES = (8, 64, 512, KIB, 8 * KIB, 64 * KIB, 512 * KIB, 4 * MIB, 32 * MIB, 512 * MIB)
ALL_SIZES = tuple(1 << power for power in range(3, 30))

THROUGHPUT = "Throughput over payload size"
LATENCY = "Round trips"
FAN = "Many subscribers, many publishers, many keys"
ASKING = "Questions and answers"
CONTROL = "Declarations and starts"
COST = "What a message costs"
MEMORY = "Memory of a session"
URGENT = "A real-time message beside bulk"
HOSTS = "Two hosts"
MACHINE = "The bare machine"


def all_cases(full: bool) -> list[Case]:
    return [
        *throughput(ALL_SIZES if full else SIZES),
        *round_trips(),
        *fans((8, 64, KIB, 8 * KIB) if full else (64,)),
        *questions(),
        *control(),
        *cost(),
        *memory(full),
        *urgent(),
        *hosts(),
        *(
            Case(
                "memcpy",
                size,
                MACHINE,
                "copying memory",
                (Metric("rate", "GB/s"),),
                None,
                frozenset(),
                {"limit": measure.memcpy},
            )
            for size in (KIB, 64 * KIB, 16 * MIB)
        ),
    ]


def throughput(sizes) -> list[Case]:
    cases = []
    for routed, name, need in ((False, "p2p", P2P), (True, "routed", ROUTED)):
        way = "through a router" if routed else "peer to peer"
        for size in sizes:
            ways = {"limit": bind(measure.raw_throughput, routed=routed)}
            # Several messages of the largest sizes must fit.
            more = {"share": 1.5, "seconds_min": 1, "overhead": 1.5} if size >= 128 * MIB else {}
            if not routed and size >= 8 * KIB:
                ways["iperf3"] = measure.iperf
            throughput_way = bind(measure.throughput, routed=routed)
            cases.append(
                case(f"{name}-thr", size, THROUGHPUT, f"messages, {way}", throughput_way, {need}, ways=ways, **more)
            )
    return cases


RATES = ((1, "1"), (10, "10"), (100, "100"), (1000, "1k"), (10_000, "10k"), (100_000, "100k"))


def round_trips() -> list[Case]:
    cases = []
    for awake in (False, True):
        regime, cores = ("-awake", "cores awake") if awake else ("", "idle cores sleep")
        for routed, name, need, hops in ((False, "p2p", P2P, 1), (True, "routed", ROUTED, 2)):
            ways = {"limit": bind(measure.raw_round_trip, hops=hops)}
            if not routed:
                ways["ping"] = measure.icmp
            about = f"round trips back to back, {'through a router' if routed else 'peer to peer'}, {cores}"
            cases.append(
                case(
                    f"{name}-rtt{regime}",
                    64,
                    LATENCY,
                    about,
                    bind(measure.round_trip, routed=routed),
                    {need},
                    PERCENTILES,
                    ways=ways,
                    awake=awake,
                )
            )
        for rate, text in RATES:
            about = f"round trips peer to peer at {rate:,} messages a second, {cores}"
            metrics = PERCENTILES if rate >= 100 else PERCENTILES[:1]
            ways = {"limit": bind(measure.raw_round_trip, rate=rate)}
            cases.append(
                case(
                    f"p2p-rtt-{text}{regime}",
                    64,
                    LATENCY,
                    about,
                    bind(measure.round_trip, rate=rate),
                    {P2P},
                    metrics,
                    ways=ways,
                    awake=awake,
                    seconds_min=4 if rate == 1 else 0,
                    rounds_max=1 if rate < 100 else 2,
                )
            )
    return cases


def fans(sizes) -> list[Case]:
    cases = []
    for size in sizes:
        for count in (10, 100, 1000):
            about = f"deliveries through a router to {count:,} subscribers"
            way = bind(measure.throughput, routed=True, subscribers=count)
            more = {"seconds_min": 1, "overhead": 4} if count == 1000 else {}
            cases.append(case(f"fan-out-{count}", size, FAN, about, way, {ROUTED, SESSIONS}, **more))
        way = bind(measure.throughput, routed=True, publishers=100)
        cases.append(
            case("fan-in-100", size, FAN, "messages through a router from 100 publishers", way, {ROUTED, SESSIONS})
        )
    cases.append(
        case(
            "sessions-1000",
            64,
            FAN,
            "messages from each of 1,000 sessions to the next, through a router: of all, and what the router spends",
            bind(measure.exchange, sessions=1000),
            {ROUTED, SESSIONS, EXCHANGE},
            (Metric("rate", "msg/s"), Metric("cpu", "s/M", "-cpu")),
            seconds_min=1,
            overhead=4,
        )
    )
    for routed, name, need in ((False, "p2p", P2P), (True, "routed", ROUTED)):
        about = f"messages on 10,000 keys in turn, {'through a router' if routed else 'peer to peer'}"
        way = bind(measure.throughput, routed=routed, keys=10_000)
        cases.append(case(f"{name}-keys-10000", 64, FAN, about, way, {need, KEYS}, overhead=1.5))
    return cases


def questions() -> list[Case]:
    cases = []
    for routed, name, need in ((False, "p2p", P2P), (True, "routed", ROUTED)):
        way = "through a router" if routed else "peer to peer"
        for in_flight, suffix, about in ((1, "", "one after the other"), (1000, "-1000", "1,000 in flight")):
            ways = {"limit": measure.raw_questions} if in_flight == 1 and not routed else {}
            ask = bind(measure.questions, routed=routed, in_flight=in_flight)
            metrics = (Metric("rate", "get/s"),)
            cases.append(
                case(
                    f"{name}-get{suffix}",
                    64,
                    ASKING,
                    f"answered questions {way}, {about}",
                    ask,
                    {need, QUERIES},
                    metrics,
                    ways=ways,
                )
            )
    return cases


def control() -> list[Case]:
    time = (Metric("time", "ms"),)
    return [
        case(
            "declare",
            0,
            CONTROL,
            "subscribers declared or undeclared and taken note of by a router",
            measure.declarations,
            {ROUTED, DECLARATIONS},
            (Metric("rate", "decl/s"),),
        ),
        case(
            "start-client",
            8,
            CONTROL,
            "from the start of a client to its first sample",
            bind(measure.first_sample, routed=True),
            {ROUTED},
            time,
            overhead=2,
        ),
        case(
            "start-peers",
            8,
            CONTROL,
            "from the start of a peer that finds its publisher by multicast to its first sample",
            measure.first_sample,
            {P2P, MULTICAST},
            time,
            overhead=3,
            rounds_max=2,
        ),
    ]


def cost() -> list[Case]:
    cases = []
    for routed, name, need in ((False, "p2p", P2P), (True, "routed", ROUTED)):
        way = "through a router" if routed else "peer to peer"
        for rate, suffix, about in ((0, "", "as fast as they pass"), (1000, "-1k", "1,000 a second")):
            metrics = (Metric("cpu", "s/M", "-cpu"), Metric("wire", "B/msg", "-wire"))
            both = measure.in_private(bind(measure.throughput, routed=routed, rate=rate))
            text = f"CPU seconds a million messages, and bytes a message on the wire with all headers, {way}, {about}"
            cases.append(
                case(
                    f"{name}-cost{suffix}",
                    64,
                    COST,
                    text,
                    both,
                    {need},
                    metrics,
                    in_space=True,
                    seconds_min=1,
                    rounds_max=2,
                )
            )
    return cases


def memory(full: bool) -> list[Case]:
    cases = []
    for busy, name, about in (
        (False, "idle", "idle"),
        (True, "busy", "with a subscriber and a publisher that were used"),
    ):
        for count, need, overhead in ((1000, SESSIONS, 5), (10_000, MANY_SESSIONS, 30)):
            if busy and count > 1000 and not full:
                continue
            metrics = (Metric("router", "KiB", "-router"), Metric("own", "KiB", "-own"))
            text = f"private resident memory for each of {count:,} sessions, {about}: of the router, of their process"
            cases.append(
                case(
                    f"memory-{name}-{count}",
                    0,
                    MEMORY,
                    text,
                    bind(measure.memory, sessions=count, busy=busy),
                    {ROUTED, need},
                    metrics,
                    overhead=overhead,
                    rounds_max=2 if count == 1000 else 1,
                )
            )
    return cases


def urgent() -> list[Case]:
    metrics = (
        Metric("idle", "us", "-idle-p99"),
        Metric("loaded", "us", "-loaded-p99"),
        Metric("ratio", "x", "-ratio"),
    )
    about = "p99 of real-time round trips, 1,000 a second: alone, beside bulk of 8 KiB on the same link, the ratio"
    loopback = case(
        "real-time",
        64,
        URGENT,
        f"{about}; loopback",
        measure.overtaking,
        {P2P, PRIORITIES},
        metrics,
        share=2,
        overhead=1.5,
    )
    slow = measure.across(measure.across_overtaking, mbit=100)
    cable = case(
        "real-time-100mbit",
        64,
        URGENT,
        f"{about}; 100 Mbit/s",
        slow,
        {PRIORITIES, peers.HOSTS},
        metrics,
        share=2,
        overhead=2,
        in_space=True,
    )
    return [loopback, cable]


def hosts() -> list[Case]:
    cases = []
    for mbit, name, text in ((None, "hosts", "a pair of virtual interfaces"), (100, "hosts-100mbit", "100 Mbit/s")):
        across = functools.partial(measure.across, mbit=mbit)
        ways = {"limit": across(measure.across_raw_throughput), "iperf3": across(measure.across_iperf)}
        for size in (64, 8 * KIB, MIB):
            cases.append(
                case(
                    f"{name}-thr",
                    size,
                    HOSTS,
                    f"messages between two network namespaces over {text}",
                    across(measure.across_throughput),
                    {peers.HOSTS},
                    ways=ways,
                    in_space=True,
                    rounds_max=2,
                )
            )
        ways = {"limit": across(measure.across_raw_round_trip)}
        cases.append(
            case(
                f"{name}-rtt",
                64,
                HOSTS,
                f"round trips between two network namespaces over {text}",
                across(measure.across_round_trip),
                {peers.HOSTS},
                PERCENTILES,
                ways=ways,
                in_space=True,
                rounds_max=2,
            )
        )
    return cases
