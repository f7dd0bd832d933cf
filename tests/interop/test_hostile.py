"""Bad neighbours of a Weft router: whatever they do, others are served, and memory stays within bounds."""

import collections
import contextlib
import pathlib
import random
import resource
import signal
import socket
import threading
import time

import pytest

from harness import raw
from harness.driver import DriverError, reply
from harness.network import settle
from harness.ports import free_locator
from harness.raw import Raw
from harness.values import Fill

MIB = 1 << 20


@pytest.fixture
def open_router(driver, locator):
    """`open_router(config)`: a Weft router in a process of its own."""

    def open(config=None):
        return driver("weft").open("router", listen=[locator], config=config)

    return open


@pytest.fixture
def honest(driver, locator):
    """`honest(implementation)`: a client that joins and exchanges samples with the router in both directions."""

    def join(router, implementation="reference", config=None):
        client = driver(implementation).open("client", connect=[locator], config=config)
        for sender, receiver in ((router, client), (client, router)):
            subscriber = receiver.declare_subscriber(f"honest/{receiver.zid}")
            settle(receiver, sender)
            sender.put(f"honest/{receiver.zid}", "x")
            assert subscriber.next().payload == "x"
            subscriber.undeclare()
        return client

    return join


def memory(session, field="VmRSS"):
    """Memory of the session's process in bytes: resident now, or the highest so far (`VmHWM`)."""
    for line in pathlib.Path(f"/proc/{session.driver.pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise LookupError(field)


class Growth:
    """By how much a process's memory has grown at most, since this was made."""

    def __init__(self, session):
        self._session = session
        self._before = memory(session)

    def __call__(self):
        return memory(self._session, "VmHWM") - self._before


def wait_until(condition, seconds=10):
    """For what sends no event. Polls."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.02)


def matched(session, key, **options):
    publisher = session.declare_publisher(key, **options)
    publisher.matching_listener().wait_for(bool)
    return publisher


# Bytes instead of a handshake

HURRIED = {"transport/unicast/accept_timeout": 1_000}


def test_garbage_closes_the_link_that_it_came_on(open_router, honest, locator):
    router = open_router(HURRIED)
    client = honest(router)
    growth = Growth(router)
    generator = random.Random(1)
    garbage = [b"\0", b"\0\0", b"\xff\xff", b"\xff" * 70_000, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01"]
    garbage += [raw.batch(bytes([header])) for header in range(256)]
    garbage += [raw.batch(generator.randbytes(generator.randrange(1, 200))) for _ in range(300)]
    garbage += [raw.batch(raw.init_syn(generator.randbytes(4))[:2] + generator.randbytes(30)) for _ in range(100)]
    for data in garbage:
        with Raw(locator) as bad:
            with contextlib.suppress(ConnectionError):
                bad.send(data)
    with Raw(locator) as bad:
        bad.send(b"\xff\xff\x41\x09")
        # What does not become a handshake in its time is closed.
        assert bad.wait_end() is None
    honest(router, "weft")
    client.put("a", "x")
    assert growth() < 16 * MIB


def test_truncated_handshakes(open_router, honest, locator):
    router = open_router(HURRIED)
    zid = raw.new_zid()
    syn = raw.batch(raw.init_syn(zid))
    for length in range(len(syn)):
        with Raw(locator) as bad:
            bad.send(syn[:length])
    with Raw(locator) as bad:
        length = len(raw.batch(raw.open_syn(bad.init(zid))))
    for cut in range(length):
        with Raw(locator) as bad:
            bad.send(raw.batch(raw.open_syn(bad.init(zid)))[:cut])
    honest(router)


def test_broken_handshakes(open_router, honest, locator):
    """Every byte of the handshake, changed in several ways. What the node makes of it is its business."""
    router = open_router(HURRIED)
    growth = Growth(router)
    syn = raw.init_syn(raw.new_zid())
    for at in range(len(syn)):
        for change in (0x01, 0x80, 0xFF):
            with Raw(locator) as bad:
                bad.send_batch(syn[:at] + bytes([syn[at] ^ change]) + syn[at + 1 :])
    with Raw(locator) as bad:
        length = len(raw.open_syn(bad.init(raw.new_zid())))
    for at in range(length):
        with Raw(locator) as bad:
            opening = bytearray(raw.open_syn(bad.init(raw.new_zid())))
            opening[at] ^= 0x41
            bad.send_batch(bytes(opening))
    honest(router)
    assert growth() < 16 * MIB


def test_cookies_are_checked(open_router, honest, locator):
    router = open_router(HURRIED)
    with Raw(locator) as bad:
        bad.init(raw.new_zid())
        bad.send_batch(raw.open_syn(b""))
        assert bad.wait_end() == raw.INVALID
    with Raw(locator) as one, Raw(locator) as other:
        cookie = one.init(raw.new_zid())
        other.init(raw.new_zid())
        # The cookie of another connection, which came from another port.
        other.send_batch(raw.open_syn(cookie))
        assert other.wait_end() == raw.INVALID
        one.send_batch(raw.open_syn(cookie[:-1] + bytes([cookie[-1] ^ 1])))
        assert one.wait_end() == raw.INVALID
    with Raw(locator) as bad:
        # A cookie without having asked for it.
        bad.send_batch(raw.open_syn(cookie))
        assert bad.wait_end() == raw.INVALID
    honest(router)


def test_a_handshake_that_trickles_in_is_given_up(open_router, honest, locator):
    router = open_router(HURRIED)
    with Raw(locator) as slow:
        started = time.monotonic()
        with pytest.raises(ConnectionError):
            for byte in raw.batch(bytes(5_000)):
                slow.send(bytes([byte]))
                time.sleep(0.02)
        assert time.monotonic() - started < 10
    honest(router)


@pytest.mark.parametrize("pending", ["default", "all of them"])
@pytest.mark.parametrize("asking", [False, True], ids=["silent", "asking"])
def test_ten_thousand_half_open_connections(open_router, honest, locator, pending, asking):
    """A good client gets in while they stand, and memory does not grow by more than what a link's entry takes."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert hard >= 12_000, f"the test needs 12,000 descriptors, {hard} are allowed (ulimit -Hn)"
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    config = {} if pending == "default" else {"transport/unicast/accept_pending": 15_000, "limits/links": 15_000}
    router = open_router(config)
    honest(router)
    growth = Growth(router)
    with contextlib.ExitStack() as stack:
        for count in range(10_000):
            bad = stack.enter_context(Raw(locator))
            if asking:
                with contextlib.suppress(ConnectionError):
                    bad.send_batch(raw.init_syn(raw.new_zid()))
            if count % 2_500 == 2_499:
                honest(router, "weft")
        honest(router)
        # A kilobyte and a half for each that is kept, and what the honest clients take.
        assert growth() < (8 if pending == "default" else 24) * MIB
    honest(router)


def test_no_descriptors_left(open_router, honest, locator):
    """A router that cannot take in links goes on with those that it has, and recovers."""
    router = open_router()
    client = honest(router)
    held = len(list(pathlib.Path(f"/proc/{router.driver.pid}/fd").iterdir()))
    limits = resource.prlimit(router.driver.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(router.driver.pid, resource.RLIMIT_NOFILE, (held + 20, limits[1]))
    with contextlib.ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(Raw(locator))
        subscriber = client.declare_subscriber("a")
        settle(client, router)
        router.put("a", "x")
        assert subscriber.next().payload == "x"
    resource.prlimit(router.driver.pid, resource.RLIMIT_NOFILE, limits)
    honest(router)


# Neighbours that turn bad


@pytest.fixture
def bad_neighbour(locator):
    with contextlib.ExitStack() as stack:
        yield lambda **options: stack.enter_context(Raw(locator)).handshake(**options)


# As the second frame of a neighbour.
MALFORMED = {
    "an unknown message": b"\x25\x01\x18",
    "an unknown transport message": b"\x1f",
    "a push that is cut off": b"\x25\x01" + raw.push("a/b")[:-1],
    "a string longer than what is there": b"\x25\x01\x3d\x00\xff\xff\x7f",
    "a payload longer than what is there": b"\x25\x01\x3d\x00\x01a\x01\xff\xff\xff\xff\x0f",
    "a number that does not end": b"\x25\x01\x3d" + b"\xff" * 20,
    "a key that is not UTF-8": b"\x25\x01\x3d\x00\x02\xff\xfe\x01\x00",
    "a mandatory extension that nobody knows": b"\x25\x01\xbd\x00\x01a\x1f\x01\x00",
    "an extension longer than what is there": b"\x25\x01\xbd\x00\x01a\x4e\xff\x7f",
    "a priority without QoS": b"\xa5\x01\x31\x02" + raw.push("a"),
    "a sequence number out of range": b"\x25\xff\xff\xff\xff\xff\x01" + raw.push("a"),
    "a declaration that nobody knows": b"\x25\x01" + raw.declare(b"\x1f"),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_a_malformed_message_ends_its_link_only(open_router, honest, bad_neighbour, what):
    router = open_router()
    bad = bad_neighbour()
    bad.send_frame(raw.d_token(1, "bad/token"))
    tokens = router.liveliness_subscriber("bad/*", history=True)
    assert tokens.next().kind == "put"
    bad.send_batch(MALFORMED[what])
    assert bad.wait_end() is None
    assert tokens.next().kind == "delete"
    honest(router)


NONSENSE = [
    raw.declare(b"\x42\x07\x63"),  # a subscriber on an id that was never declared
    raw.u_subscriber(99),
    raw.u_token(99),
    raw.u_keyexpr(99),
    raw.d_keyexpr(0, "zero"),
    raw.d_keyexpr(5, "five"),
    raw.d_keyexpr(5, "another five"),
    raw.d_subscriber(1, "not//canonical"),
    raw.d_subscriber(2, ""),
    raw.d_subscriber(3, "a"),
    raw.d_subscriber(3, "b"),
    raw.d_token(3, "a"),
    raw.d_token(3, "b"),
    raw.interest(4, "a"),
    raw.interest(4, "b"),
    b"\x19\x63",  # the end of an interest that never was
    b"\x39\x07\x02",  # who subscribes now: nobody may ask that
    raw.declare(b"\x1a"),
    b"\x3e\x07\x1a",  # the end of an answer that nobody asked for
    b"\x1d\x63\x01\x01x",  # a sample on an id that was never declared
    b"\x5d\x63\x01\x01x",
    raw.push("not//canonical"),
    raw.push(""),
    raw.request(7, "nobody/there"),
    raw.request(7, "nobody/there"),
    b"\x5c\x08\x63\x03",
    b"\x1a\x63",  # the end of a query that never was
    b"\x3b\x63\x00\x01a\x04\x01\x01x",  # an answer to a query that never was
    b"\x3b\x63\x00\x01a\x05\x01x",
    b"\x5f\x01\x05\xff\xff\x03\x07\x00",  # a gossip of which most is missing
]


def test_nonsense_is_put_up_with(open_router, honest, bad_neighbour):
    """Messages that are well-formed and make no sense are ignored one by one (02 §2 and §4)."""
    router = open_router()
    subscriber = router.declare_subscriber("end/**")
    for mode in (raw.CLIENT, raw.PEER):
        bad = bad_neighbour(mode=mode)
        for message in NONSENSE:
            bad.send_frame(message)
        bad.send_frame(raw.push(f"end/{mode}"))
        assert subscriber.next().key == f"end/{mode}"
        honest(router)


def test_fragments_that_never_end(open_router, honest, bad_neighbour):
    router = open_router({"limits/fragments_pending_bytes": 4 * MIB})
    subscriber = router.declare_subscriber("end")
    bad = bad_neighbour()
    growth = Growth(router)
    # All but the last fragment of a message of 120 MB, whose place a message of another kind takes.
    bad.send_fragments(raw.push("endless", bytes(120 * MIB)), 60_000, finish=False)
    bad.send_frame(raw.push("end"))
    assert subscriber.next().key == "end", "the message is given up, the link is not"
    assert growth() < 16 * MIB
    honest(router)


def test_a_message_above_the_limit_is_lost_alone(open_router, driver, locator):
    router = open_router({"transport/link/rx/max_message_size": MIB})
    subscriber = router.declare_subscriber("a")
    publisher = matched(driver("reference").open("client", connect=[locator]), "a", congestion="block")
    publisher.put(Fill(2 * MIB))
    publisher.put(Fill(MIB // 2))
    assert subscriber.next().payload == Fill(MIB // 2)


def test_declaring_and_undeclaring_leaves_nothing_behind(open_router, honest, bad_neighbour):
    router = open_router()
    subscriber = router.declare_subscriber("end/*")
    bad = bad_neighbour()

    def churn(count):
        for number in range(count):
            identifier = number % 1_000 + 1
            yield raw.d_subscriber(identifier, f"churn/{number}/**")
            yield raw.d_token(identifier, f"churn/{number}")
            yield raw.d_queryable(identifier, f"churn/{number}/*")
            yield raw.d_keyexpr(identifier, f"churn/{number}")
            yield raw.u_subscriber(identifier)
            yield raw.u_token(identifier)
            yield raw.declare(b"\x05" + raw.number(identifier))
            yield raw.u_keyexpr(identifier)

    bad.send_frames(churn(5_000))
    bad.send_frame(raw.push("end/1"))
    subscriber.wait(1)
    growth = Growth(router)
    bad.send_frames(churn(50_000))
    bad.send_frame(raw.push("end/2"))
    subscriber.wait(2, timeout=30)
    assert growth() < 4 * MIB
    honest(router)


def test_nodes_that_come_and_die(open_router, honest, driver, locator):
    """Whatever they leave behind is cleaned up."""
    router = open_router()
    honest(router)
    tokens = router.liveliness_subscriber("dying/**", history=True)
    publisher = router.declare_publisher("dying/sub")
    changes = publisher.matching_listener()
    growth = None
    for round in range(6):
        dying = driver("weft")
        for number in range(20):
            session = dying.open("client", connect=[locator])
            session.declare_subscriber("dying/**")
            session.declare_queryable("dying/**")
            session.liveliness_token(f"dying/{round}/{number}")
            session.liveliness_subscriber("dying/**")
        assert changes.next() is True
        tokens.wait(40 * round + 20)
        dying.kill()
        assert changes.next() is False
        tokens.wait(40 * round + 40)
        # The first rounds fill what is kept for reuse.
        growth = growth or (Growth(router) if round == 2 else None)
    assert growth() < 4 * MIB
    honest(router)


def test_an_id_that_is_in_use(open_router, honest, bad_neighbour, locator):
    router = open_router()
    zid = raw.new_zid()
    first = bad_neighbour(zid=zid)
    first.send_frame(raw.d_token(1, "first"))
    tokens = router.liveliness_subscriber("first", history=True)
    assert tokens.next().kind == "put"
    with Raw(locator) as second:
        second.send_batch(raw.open_syn(second.init(zid)))
        assert second.wait_end() == raw.MAX_LINKS
    own = bytes.fromhex(router.zid.zfill(32))[::-1].rstrip(b"\0")
    with Raw(locator) as mirror:
        mirror.send_batch(raw.open_syn(mirror.init(own)))
        assert mirror.wait_end() == raw.CONNECTION_TO_SELF
    first.send_frame(raw.u_token(1))
    assert tokens.next().kind == "delete"
    honest(router)


# Limits


def test_the_limit_of_sessions(open_router, driver, locator, bad_neighbour):
    router = open_router({"transport/unicast/max_sessions": 2})
    bad_neighbour()
    client = driver("reference").open("client", connect=[locator])
    with Raw(locator) as third:
        third.send_batch(raw.open_syn(third.init(raw.new_zid())))
        assert third.wait_end() == raw.MAX_SESSIONS
    for implementation in ("weft", "reference"):
        with pytest.raises(DriverError):
            driver(implementation).open("client", connect=[locator])
    client.put("a", "x")
    token = client.liveliness_token("a")
    tokens = router.liveliness_subscriber("a", history=True)
    assert tokens.next().kind == "put"
    client.close()
    assert tokens.next().kind == "delete"
    del token
    assert driver("reference").open("client", connect=[locator]).info()["routers"] == [router.zid]


def test_the_limit_of_links(open_router, driver, locator):
    router = open_router({"limits/links": 3})
    client = driver("reference").open("client", connect=[locator])
    with Raw(locator) as one, Raw(locator) as two:
        one.init(raw.new_zid()), two.init(raw.new_zid())
        with Raw(locator) as three:
            assert three.wait_end() == raw.MAX_LINKS
        settle(router, client)
    wait_until(lambda: _gets_in(driver("weft"), locator))


def _gets_in(driver, locator):
    try:
        driver.open("client", connect=[locator])
    except DriverError:
        return False
    return True


def test_a_flood_that_goes_on_keeps_no_other_host_out(open_router, locator):
    """Whoever takes its time for the first word, behind a slow network, finds its connection still there."""
    open_router()
    address = ("127.0.0.1", int(locator.rsplit(":", 1)[1]))
    count, is_over = 0, threading.Event()

    def flood():
        nonlocal count
        held = collections.deque(maxlen=200)
        while not is_over.is_set():
            with contextlib.suppress(OSError):
                held.append(socket.create_connection(address, 1))
                count += 1

    flooding = threading.Thread(target=flood)
    flooding.start()
    try:
        for _ in range(5):
            before = count
            with Raw(locator, host="127.0.0.2") as slow:
                wait_until(lambda: count > before + 300)
                slow.handshake()
    finally:
        is_over.set()
        flooding.join()


@pytest.mark.parametrize("kind", ["subscribers", "queryables", "tokens"])
def test_the_limit_of_declarations(open_router, honest, driver, locator, kind):
    """Who exceeds it is closed, and nothing of what it declared remains."""
    router = open_router({"limits/declarations_per_session": 20})
    tokens = router.liveliness_subscriber("greedy/*", history=True)
    client = driver("reference").open("client", connect=[locator], config={"connect/retry": {"period_init_ms": 60_000}})
    declare = {
        "subscribers": client.declare_subscriber,
        "queryables": client.declare_queryable,
        "tokens": client.liveliness_token,
    }[kind]
    client.liveliness_token("greedy/first")
    assert tokens.next().kind == "put"
    for number in range(30):
        declare(f"more/{number}")
    tokens.wait_for(lambda sample: sample.kind == "delete")
    honest(router)


def test_the_limit_of_interests(open_router, honest, bad_neighbour):
    router = open_router({"limits/interests_per_session": 20})
    bad = bad_neighbour()
    bad.send_frames(raw.interest(number, f"k/{number}") for number in range(1, 40))
    assert bad.wait_end() == raw.GENERIC
    honest(router)


def test_the_limit_of_pending_queries(open_router, driver, locator):
    """Queries above it end at once; those below get their answers."""
    router = open_router({"limits/queries_pending": 5})
    router.declare_queryable("q", [reply("here")], finalize_delay_ms=1_500)
    client = driver("reference").open("client", connect=[locator])
    querier = client.declare_querier("q", timeout_ms=30_000)
    querier.matching_listener().wait_for(bool)
    started = time.monotonic()
    gets = [querier.get() for _ in range(8)]
    for get in gets[5:]:
        assert [answer.error for answer in get.replies()] == ["too many pending queries"]
    assert time.monotonic() - started < 1.4
    for get in gets[:5]:
        assert [sample.payload for sample in get.samples()] == [b"here"]
    assert time.monotonic() - started > 1.4


def test_the_limit_of_key_expressions(open_router, honest, bad_neighbour):
    router = open_router({"limits/keyexpr_len": 1_000})
    subscriber = router.declare_subscriber("**")
    bad = bad_neighbour()
    long = "k/" + "x" * 1_000
    bad.send_frame(raw.d_subscriber(1, long), raw.d_keyexpr(1, long), raw.push(long), raw.push("end"))
    assert subscriber.next().key == "end"
    publisher = router.declare_publisher("k/*", destination="remote")
    assert publisher.matching_status() is False
    honest(router)


def test_the_limit_of_chunks(open_router, honest, bad_neighbour):
    """Wildcards in a deep key expression are ignored; a key may be as deep as it likes."""
    router = open_router({"limits/keyexpr_chunks": 4})
    subscriber = router.declare_subscriber("k/**")
    bad = bad_neighbour()
    bad.send_frame(raw.d_subscriber(1, "k/**/a/**/a"), raw.push("k/*/a/*/a"), raw.push("k/a/a/a/a"))
    assert subscriber.next().key == "k/a/a/a/a"
    publisher = router.declare_publisher("k/a/a", destination="remote")
    assert publisher.matching_status() is False
    honest(router)


def test_queries_that_nobody_answers_are_forgotten(open_router, honest, bad_neighbour):
    """A neighbour that asks without end, and one that never answers: memory is bounded, and the queries time out."""
    router = open_router({"queries_default_timeout": 500})
    silent, asking = bad_neighbour(), bad_neighbour()
    silent.send_frame(raw.d_queryable(1, "q"), raw.push("ready"))
    probe = router.declare_querier("q")
    probe.matching_listener().wait_for(bool)
    growth = Growth(router)
    asking.send_frames((raw.request(number, "q") for number in range(1, 100_000)), per_frame=1_000)
    subscriber = router.declare_subscriber("end")
    asking.send_frame(raw.push("end"))
    subscriber.inbox.next(timeout=30)
    honest(router)
    assert growth() < 96 * MIB


# Neighbours that do not read


PATIENT = {"transport/link/tx/lease": 60_000}


@pytest.fixture(params=["weft", "reference"])
def stopped(request, driver, locator):
    """`stopped(router)`: stops the process of a client that subscribes to `data`, watches tokens and has one."""
    nodes = []

    def stop(router):
        nodes.append(driver(request.param))
        session = nodes[-1].open("client", connect=[locator], config=PATIENT)
        session.declare_subscriber("data")
        session.liveliness_subscriber("tokens/**")
        session.liveliness_token("alive/stopped")
        settle(session, router)
        nodes[-1].signal(signal.SIGSTOP)

    yield stop
    for node in nodes:
        node.kill()


def test_a_stopped_subscriber_does_not_slow_others_down(open_router, driver, locator, stopped):
    """With `drop`, everybody else gets everything, and the router keeps little for the one that does not read."""
    router = open_router(PATIENT)
    stopped(router)
    reading = driver("weft").open("client", connect=[locator])
    subscriber = reading.declare_subscriber("data", handler={"kind": "count"})
    settle(reading, router)
    publisher = matched(driver("reference").open("client", connect=[locator]), "data", congestion="drop")
    growth = Growth(router)
    started = time.monotonic()
    # 40 MB in rounds that fit in a queue, each awaited, so that nothing has to be dropped for the one that reads.
    for round in range(1, 1_001):
        publisher.burst(10, first=10 * (round - 1), length=4_000)
        assert subscriber.wait_count(10 * round, timeout=10)["gaps"] == 0
    # Without a neighbour that does not read it takes about a second.
    assert time.monotonic() - started < 15
    assert growth() < 32 * MIB


def test_a_stopped_subscriber_is_given_up_by_who_blocks(open_router, driver, locator, stopped):
    """With `block`, the publisher waits as configured; then the neighbour is closed, and everything has arrived elsewhere."""
    router = open_router({**PATIENT, "transport/link/tx/queue/congestion_control/block/wait_before_close": 1_000_000})
    tokens = router.liveliness_subscriber("alive/*", history=True)
    stopped(router)
    assert tokens.next().kind == "put"
    reading = driver("weft").open("client", connect=[locator])
    subscriber = reading.declare_subscriber("data", handler={"kind": "count"})
    settle(reading, router)
    publisher = matched(driver("reference").open("client", connect=[locator]), "data", congestion="block")
    growth = Growth(router)
    sending = publisher.driver.send("publisher_burst", lane=1, entity=publisher.handle, count=5_000, first=0, len=8_000)
    # While that publisher waits, others do not.
    bystander = driver("reference").open("client", connect=[locator])
    heard = bystander.declare_subscriber("elsewhere")
    settle(bystander, router)
    router.put("elsewhere", "x")
    assert heard.next().payload == "x"
    assert tokens.inbox.wait_for(lambda sample: sample.kind == "delete", 20).key == "alive/stopped"
    sending(20)
    statistics = subscriber.wait_count(5_000)
    assert (statistics["gaps"], statistics["last"]) == (0, 4_999)
    assert growth() < 32 * MIB


def test_a_stopped_neighbour_with_too_many_declarations_waiting_is_closed(open_router, honest, driver, locator, stopped, bad_neighbour):
    """Declarations are never dropped: whoever does not take them is closed when `limits/control_backlog_bytes` is full."""
    router = open_router({**PATIENT, "limits/control_backlog_bytes": MIB})
    tokens = router.liveliness_subscriber("alive/*", history=True)
    stopped(router)
    assert tokens.next().kind == "put"
    busy = bad_neighbour()
    growth = Growth(router)
    deadline = time.monotonic() + 20
    count = 0
    while not any(sample.kind == "delete" for sample in tokens.items):
        assert time.monotonic() < deadline
        busy.send_frames(
            message for number in range(count, count + 5_000)
            for message in (raw.d_token(1, f"tokens/{number}"), raw.u_token(1))
        )  # fmt: skip
        count += 5_000
    assert growth() < 32 * MIB
    honest(router)
