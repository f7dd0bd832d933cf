"""Measures this module next to that of Eclipse Zenoh: ``python -m weft.bench --against zenoh``.

Every figure is of two fresh processes on the loopback interface. All columns take turns in every round, so that
whatever else the machine does meets them alike; the table shows medians over the rounds.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.metadata
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Optional

WARMUP = 0.5
"""Seconds before anything is counted."""

NOISY = 0.25
"""The spread of a ratio above which its median says little."""


class Case(NamedTuple):
    """What is measured: a role that measures, and one at the other end."""

    title: str
    unit: str
    measures: str
    other: str
    size: int = 8
    awake: bool = False
    """Whether processes of the lowest priority keep the cores awake."""
    shared_memory: bool = False
    """Whether Zenoh may use it. Weft has none."""
    columns: Sequence[str] = ("weft", "zenoh")


_MIB = 1 << 20
_ALL = ("weft", "zenoh", "tcp")

CASES = {
    "put": Case("put, 8 B", "calls/s", "put", "sink"),
    "callback": Case("subscriber callback, 8 B", "samples/s", "callback", "source"),
    "iterate": Case("iteration over a channel, 8 B", "samples/s", "iterate", "source"),
    "recv_many": Case("recv_many(), 8 B", "samples/s", "recv_many", "source", columns=("weft",)),
    "ping-awake": Case("round trip, 64 B, cores awake", "µs", "ping", "pong", 64, True, columns=_ALL),
    "ping-idle": Case("round trip, 64 B, cores idle", "µs", "ping", "pong", 64, columns=_ALL),
    "large": Case("1 MiB, Zenoh without shared memory", "samples/s", "callback", "source", _MIB),
    "large-shm": Case("1 MiB, Zenoh with shared memory", "samples/s", "callback", "source", _MIB, shared_memory=True),
}


# --- one process of a measurement -----------------------------------------------------------------------------------


class Role:
    """One end of a measurement, in a process of its own."""

    def __init__(self, module: str, endpoint: str, listens: bool, size: int, seconds: float, shared_memory: bool):
        self.module = importlib.import_module(module)
        self.payload = bytes(size)
        self.seconds = seconds
        config = self.module.Config()
        for key, value in {
            "mode": "peer",
            "scouting/multicast/enabled": False,
            "listen/endpoints": [endpoint] if listens else [],
            "connect/endpoints": [] if listens else [endpoint],
            "transport/shared_memory/enabled": shared_memory,
        }.items():
            config.insert_json5(key, json.dumps(value))
        self.session = self.module.open(config)
        self.count = 0

    def publisher(self, key: str, **settings: Any) -> Any:
        """A publisher, as soon as somebody listens to it."""
        publisher = self.session.declare_publisher(key, **settings)
        while not publisher.matching_status.matching:
            time.sleep(0.01)
        return publisher

    def put(self) -> float:
        """Calls of ``put`` a second. What the other end has no room for is dropped, as by default."""
        put, payload = self.publisher("bench").put, self.payload
        end = time.perf_counter() + WARMUP
        while time.perf_counter() < end:
            put(payload)
        calls, start = 0, time.perf_counter()
        while (now := time.perf_counter()) < start + self.seconds:
            for _ in range(1000):
                put(payload)
            calls += 1000
        return calls / (now - start)

    def sink(self) -> None:
        """Takes what comes."""
        self.session.declare_subscriber("bench", lambda sample: None)
        self.wait()

    def source(self) -> None:
        """Publishes as fast as it is taken."""
        put = self.publisher("bench", congestion_control=self.module.CongestionControl.BLOCK).put
        ready()
        while True:
            put(self.payload)

    def callback(self) -> float:
        """Samples a second that a callback gets and reads."""

        def count(sample: Any) -> None:
            sample.payload.to_bytes()
            self.count += 1

        self.session.declare_subscriber("bench", count)
        return self.rate()

    def iterate(self) -> float:
        """Samples a second that a loop over a subscriber gets and reads."""
        subscriber = self.session.declare_subscriber("bench")

        def loop() -> None:
            for sample in subscriber:
                sample.payload.to_bytes()
                self.count += 1

        threading.Thread(target=loop, daemon=True).start()
        return self.rate()

    def recv_many(self) -> float:
        """Samples a second that calls of ``recv_many`` get, and a loop reads."""
        subscriber = self.session.declare_subscriber("bench")

        def loop() -> None:
            while True:
                samples = subscriber.recv_many()
                for sample in samples:
                    sample.payload.to_bytes()
                self.count += len(samples)

        threading.Thread(target=loop, daemon=True).start()
        return self.rate()

    def rate(self) -> float:
        """How fast the count grows, once it does."""
        ready()
        while self.count == 0:
            time.sleep(0.01)
        time.sleep(WARMUP)
        before, start = self.count, time.perf_counter()
        time.sleep(self.seconds)
        # A busy machine may leave no time for a single one.
        while self.count == before:
            time.sleep(0.001)
        return (self.count - before) / (time.perf_counter() - start)

    def pong(self) -> None:
        """Sends back what comes."""
        block = self.module.CongestionControl.BLOCK
        back = self.session.declare_publisher("bench/pong", congestion_control=block, express=True)
        self.session.declare_subscriber("bench/ping", lambda sample: back.put(sample.payload))
        self.wait()

    def ping(self) -> float:
        """The median of round trips from a publisher to a callback, in µs."""
        came = threading.Semaphore(0)
        self.session.declare_subscriber("bench/pong", lambda sample: came.release())
        block = self.module.CongestionControl.BLOCK
        put = self.publisher("bench/ping", congestion_control=block, express=True).put

        def trip() -> None:
            put(self.payload)
            came.acquire()

        return round_trip(trip, self.seconds)

    def wait(self) -> None:
        ready()
        threading.Event().wait()


def tcp_pong(endpoint: str) -> None:
    """Sends back what comes over a bare socket."""
    host, _, port = endpoint.removeprefix("tcp/").rpartition(":")
    with socket.create_server((host, int(port))) as server:
        ready()
        peer, _ = server.accept()
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while data := peer.recv(1 << 16):
            peer.sendall(data)


def tcp_ping(endpoint: str, size: int, seconds: float) -> float:
    """The median of round trips over a bare socket, in µs."""
    host, _, port = endpoint.removeprefix("tcp/").rpartition(":")
    payload = bytes(size)
    with socket.create_connection((host, int(port))) as peer:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def trip() -> None:
            peer.sendall(payload)
            missing = size
            while missing:
                missing -= len(peer.recv(missing))

        return round_trip(trip, seconds)


def round_trip(trip: Any, seconds: float) -> float:
    times: list[float] = []
    start = time.perf_counter() + WARMUP
    # A busy machine may leave no time for a single one.
    while (begin := time.perf_counter()) < start + seconds or not times:
        trip()
        if begin > start:
            times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1e6


def ready() -> None:
    print("ready", flush=True)


def play(role: str, column: str, endpoint: str, listens: bool, size: int, seconds: float, shared_memory: bool) -> None:
    """Plays a role, and prints its figure."""
    if column != "tcp":
        figure = getattr(Role(column, endpoint, listens, size, seconds, shared_memory), role)()
        print(figure, flush=True)
    elif role == "ping":
        print(tcp_ping(endpoint, size, seconds), flush=True)
    else:
        tcp_pong(endpoint)
    # Without the end of the interpreter, which some modules do not come to.
    os._exit(0)


# --- a measurement --------------------------------------------------------------------------------------------------


def measure(case: Case, column: str, seconds: float) -> float:
    """One figure, of two processes."""
    endpoint = f"tcp/127.0.0.1:{free_port()}"

    def start(role: str, by: str, listens: bool) -> subprocess.Popen[str]:
        what = json.dumps([role, by, endpoint, listens, case.size, seconds, case.shared_memory and by != "weft"])
        command = [sys.executable, "-m", "weft.bench", "--role", what]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    # A small sample costs its receiver more than its sender: a sender that is never too slow feeds both.
    other = "weft" if case.other == "source" and case.size < 1024 else column
    receives = case.other == "source"
    with contextlib.ExitStack() as stack:
        if case.awake:
            stack.enter_context(cores_awake())
        first = start(*((case.measures, column) if receives else (case.other, other)), True)
        stack.callback(end, first)
        expect(first, "ready")
        second = start(*((case.other, other) if receives else (case.measures, column)), False)
        stack.callback(end, second)
        measuring = first if receives else second
        return float(expect(measuring, ""))


def expect(process: subprocess.Popen[str], start: str) -> str:
    """The next line of a process. Its end without one is an error."""
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    if not line or not line.startswith(start):
        raise SystemExit(f"weft.bench: a process ended early: {process.args!r}")
    return line


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


@contextlib.contextmanager
def cores_awake() -> Iterator[None]:
    """Keeps the cores from sleeping, without taking time from whoever has something to do."""
    lowest = "import os\nif hasattr(os, 'SCHED_IDLE'): os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\n"
    program = "import os; os.nice(19)\n" + lowest + "while True: pass"
    spinners = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def free_port() -> int:
    """A port that nobody listens on, from below the range that the system hands out by itself."""
    for port in random.sample(range(20_000, 30_000), 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise SystemExit("weft.bench: no free port")


# --- the table ------------------------------------------------------------------------------------------------------


def summary(case: Case, rounds: list[dict[str, float]]) -> dict[str, Any]:
    """Medians, the ratio in which more is better for Weft, and its spread: the range by the median."""
    found: dict[str, Any] = {"case": case.title, "unit": case.unit, "rounds": rounds}
    for column in rounds[0]:
        found[column] = statistics.median(figures[column] for figures in rounds)
    if "zenoh" in rounds[0]:
        ratios = [figures["weft"] / figures["zenoh"] for figures in rounds]
        if case.unit == "µs":
            ratios = [1 / ratio for ratio in ratios]
        found["ratio"] = statistics.median(ratios)
        found["spread"] = (max(ratios) - min(ratios)) / found["ratio"]
        found["noisy"] = found["spread"] > NOISY
    return found


def show(figure: Optional[float]) -> str:
    if figure is None:
        return ""
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.1f}"


def row(found: dict[str, Any]) -> str:
    """A line of the table, in Markdown."""
    cells = [found["case"], found["unit"], *(show(found.get(column)) for column in ("weft", "zenoh", "tcp"))]
    if "ratio" in found:
        noisy = " (noisy)" if found["noisy"] else ""
        cells += [f"{found['ratio']:.2f}{noisy}", f"{found['spread']:.0%}"]
    else:
        cells += ["", ""]
    return f"| {' | '.join(cells)} |"


def version(distribution: str) -> Optional[str]:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m weft.bench", description=__doc__)
    parser.add_argument("--against", choices=["zenoh"], help="another module to measure in turns with this one")
    parser.add_argument("--case", choices=CASES, action="append", help="what to measure (everything); repeatable")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is measured (5)")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long each time (1)")
    parser.add_argument("--json", action="store_true", help="all figures as JSON")
    parser.add_argument("--role", type=json.loads, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.role:
        return play(*args.role)
    if args.rounds < 1 or args.seconds <= 0:
        parser.error("at least one round, of more than 0 seconds")

    theirs = version("eclipse-zenoh") if args.against else None
    if args.against and theirs is None:
        print("eclipse-zenoh is not installed (`pip install eclipse-zenoh`): only weft is measured", file=sys.stderr)
    wanted = {"weft", "tcp"} | ({"zenoh"} if theirs else set())
    names = args.case or [name for name in CASES if theirs or name != "large-shm"]
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for number in range(args.rounds):
        for name in names:
            columns = [column for column in CASES[name].columns if column in wanted]
            # Whoever is first in one round is last in the next.
            columns = columns if number % 2 == 0 else columns[::-1]
            rounds[name].append({column: measure(CASES[name], column, args.seconds) for column in columns})
    found = [summary(CASES[name], rounds[name]) for name in names]
    if args.json:
        versions = {"weft": version("weft"), "zenoh": theirs, "python": sys.version.split()[0]}
        print(json.dumps({"versions": versions, "cases": found}, indent=2))
        return None
    modules = f"weft {version('weft')}, eclipse-zenoh {theirs or '-'}, Python {sys.version.split()[0]}"
    print(f"{modules}, {args.rounds} rounds\n")
    print("| | unit | weft | zenoh | bare TCP | times better | spread |\n|---|---|---|---|---|---|---|")
    for each in found:
        print(row(each))
    return None


if __name__ == "__main__":
    main()
