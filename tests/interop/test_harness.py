"""The harness itself: the reference opens and talks, and the driver protocol carries what the tests rely on.

None of these tests needs Weft: both ends are the reference.
"""

import signal
import sys

import pytest

from harness import ports
from harness.driver import Driver, DriverError, echo, reply
from harness.inbox import Closed, Inbox
from harness.process import LineProcess
from harness.values import Fill, Payload, fill, timestamp


@pytest.fixture
def pair(driver, locator):
    """Two sessions of the reference, in two processes, as peers that are linked."""
    listening = driver("reference").open("peer", listen=[locator])
    dialing = driver("reference").open("peer", connect=[locator])
    return listening, dialing


# The reference in the test's own process


@pytest.mark.parametrize("mode", ["peer", "router"])
def test_the_reference_opens_and_listens(open_zenoh, locator, mode):
    listening = open_zenoh(mode, listen=[locator])
    client = open_zenoh("client", connect=[locator])
    info = client.info
    neighbours = info.routers_zid() if mode == "router" else info.peers_zid()
    assert [str(zid) for zid in neighbours] == [str(listening.zid())]


def test_a_client_of_the_reference_needs_a_listener(open_zenoh, locator):
    with pytest.raises(Exception, match="Unable to connect"):
        open_zenoh("client", connect=[locator])


def test_two_sessions_of_the_reference_talk(open_zenoh, locator):
    listening = open_zenoh(listen=[locator])
    dialing = open_zenoh(connect=[locator])
    inbox = Inbox("samples")
    subscriber = listening.declare_subscriber("harness/**", inbox.put)
    publisher = dialing.declare_publisher("harness/a")
    _wait_until_matching(publisher)
    publisher.put("hello")
    sample = inbox.next()
    assert (str(sample.key_expr), sample.payload.to_string()) == ("harness/a", "hello")
    subscriber.undeclare()


def _wait_until_matching(publisher):
    inbox = Inbox("matching")
    listener = publisher.declare_matching_listener(inbox.put)
    inbox.wait_for(lambda status: status.matching)
    listener.undeclare()


# The driver protocol


def test_publications_carry_everything(pair):
    receiving, sending = pair
    subscriber = receiving.declare_subscriber("harness/*")
    publisher = sending.declare_publisher(
        "harness/a", encoding="text/plain;utf8", priority=2, congestion="block", express=True
    )
    publisher.matching_listener().wait_for(bool)
    stamp = timestamp(1_700_000_000, 500)
    publisher.put("one", attachment=b"\0\1", timestamp=stamp, source_sn=7)
    publisher.delete()
    put, delete = subscriber.wait(2)
    assert (put.key, put.kind, put.payload, put.encoding) == ("harness/a", "put", "one", "text/plain;utf8")
    assert (put.priority, put.congestion, put.express) == (2, "block", True)
    assert (put.attachment, put.timestamp) == (b"\0\1", stamp)
    assert (put.source_info["zid"], put.source_info["sn"]) == (sending.zid, 7)
    assert (delete.kind, delete.payload, delete.attachment, delete.source_info) == ("delete", b"", None, None)


def test_session_put_and_delete_on_a_declared_key(pair):
    receiving, sending = pair
    subscriber = receiving.declare_subscriber("harness/**")
    _matched(sending, "harness/a")
    key = sending.declare_keyexpr("harness/a")
    sending.put(key, b"x", priority=6, timestamp="new")
    sending.delete("harness/b", attachment="why")
    put, delete = subscriber.wait(2)
    assert (put.key, put.payload, put.priority) == ("harness/a", b"x", 6)
    assert put.timestamp.endswith(f"/{sending.zid}")
    assert (delete.key, delete.kind, delete.attachment) == ("harness/b", "delete", "why")


def test_payloads_too_long_for_json(pair):
    receiving, sending = pair
    subscriber = receiving.declare_subscriber("harness/big")
    publisher = _matched(sending, "harness/big", congestion="block")
    big = Fill(5_000_000, seed=3)
    publisher.put(big)
    publisher.put(b"")
    received, empty = subscriber.wait(2)
    assert received.payload == big and received.payload.data is None
    assert received.payload != Fill(5_000_000, seed=4)
    assert empty.payload == b""


def test_bursts_are_counted_in_order(pair):
    receiving, sending = pair
    subscriber = receiving.declare_subscriber("harness/count", handler={"kind": "count"})
    publisher = _matched(sending, "harness/count", congestion="block")
    assert publisher.burst(1000, first=5, length=16)["sent"] == 1000
    statistics = subscriber.wait_count(1000)
    expected = {"received": 1000, "bytes": 16_000, "first": 5, "last": 1004, "gaps": 0, "backwards": 0}
    assert {name: statistics[name] for name in expected} == expected
    # A gap of ten, then a repetition.
    publisher.burst(1, first=1015)
    publisher.burst(2, first=1014)
    statistics = subscriber.wait_count(1003)
    assert (statistics["gaps"], statistics["backwards"]) == (10, 2)
    with pytest.raises(TimeoutError):
        subscriber.wait_count(1004, timeout=0.01)
    assert subscriber.items == [], "a counting subscriber reports no events"


def test_channels_are_pulled(pair):
    receiving, sending = pair
    fifo = receiving.declare_subscriber("harness/pull", handler={"kind": "fifo", "capacity": 8})
    ring = receiving.declare_subscriber("harness/pull", handler={"kind": "ring", "capacity": 1})
    publisher = _matched(sending, "harness/pull")
    for number in range(3):
        publisher.put(bytes([number]))
    assert [fifo.recv().payload for _ in range(3)] == [b"\0", b"\1", b"\2"]
    # The samples of one put are delivered to both, in either order; the last one has been, or will soon be.
    while ring.recv().payload != b"\2":
        pass
    with pytest.raises(TimeoutError):
        fifo.recv(timeout=0.01)


def test_queries_are_answered_by_rules(pair):
    answering, asking = pair
    rules = [
        reply("a", key="harness/q/a", encoding="text/plain", attachment=b"x", timestamp=timestamp(10)),
        reply(kind="delete", key="harness/q/b"),
        reply("no", kind="error", encoding="text/plain"),
        reply("many", key="harness/q/many/{i}", count=3),
        echo(key="harness/q/echo"),
    ]
    queryable = answering.declare_queryable("harness/q/**", rules, complete=True)
    querier = asking.declare_querier("harness/q/**", target="all_complete", consolidation="none", timeout_ms=5000)
    querier.matching_listener().wait_for(bool)
    get = querier.get("ask", parameters="x=1;y=2", encoding="text/csv", attachment="att", source_sn=9)
    replies = get.replies()
    query = queryable.next()
    assert (query.key, query.parameters, query.payload) == ("harness/q/**", "x=1;y=2", "ask")
    assert (query.encoding, query.attachment, query.source_info["sn"]) == ("text/csv", "att", 9)
    assert [reply.sample and reply.sample.key.removeprefix("harness/q/") for reply in replies] == [
        "a", "b", None, "many/0", "many/1", "many/2", "echo",
    ]  # fmt: skip
    first, delete, error, echoed = replies[0].sample, replies[1].sample, replies[2], replies[6].sample
    assert (first.payload, first.encoding, first.attachment) == ("a", "text/plain", b"x")
    assert first.timestamp == timestamp(10)
    assert (delete.kind, error.error, error.encoding) == ("delete", "no", "text/plain")
    assert (echoed.payload, echoed.encoding, echoed.attachment) == ("ask", "text/csv", "att")
    assert {reply.replier["zid"] for reply in replies} == {answering.zid}
    with pytest.raises(AssertionError, match="error replies"):
        get.samples()


def test_a_query_ends_without_queryable_and_by_timeout_and_by_cancel(pair):
    answering, asking = pair
    assert asking.get("harness/nobody").replies() == []
    answering.declare_queryable("harness/slow", finalize_delay_ms=5_000)
    querier = asking.declare_querier("harness/slow", timeout_ms=300)
    querier.matching_listener().wait_for(bool)
    # The timer of the asking node and that of the answering one run out together: either or both may tell.
    replies = querier.get().replies()
    assert len(replies) in (1, 2) and all(reply.error == "Timeout" for reply in replies), replies
    get = asking.get("harness/slow", timeout_ms=60_000)
    get.cancel()
    assert get.replies() == []


def test_liveliness(pair):
    watching, living = pair
    events = watching.liveliness_subscriber("harness/alive/*", history=True)
    token = living.liveliness_token("harness/alive/1")
    assert (events.next().key, events.items[0].kind) == ("harness/alive/1", "put")
    assert [sample.key for sample in watching.liveliness_get("harness/alive/**").samples()] == ["harness/alive/1"]
    token.undeclare()
    assert events.next().kind == "delete"


def test_matching_comes_and_goes(pair):
    receiving, sending = pair
    publisher = sending.declare_publisher("harness/match")
    assert publisher.matching_status() is False
    changes = publisher.matching_listener()
    subscriber = receiving.declare_subscriber("harness/**")
    assert changes.next() is True
    assert publisher.matching_status() is True
    subscriber.undeclare()
    assert changes.next() is False


def test_info_names_the_neighbours(driver, locator):
    router = driver("reference").open("router", listen=[locator])
    client = driver("reference").open("client", connect=[locator])
    info = client.info()
    assert (info["zid"], info["routers"], info["peers"]) == (client.zid, [router.zid], [])


def test_scouting_finds_a_listener(driver, locator, multicast_group):
    config = {"scouting/multicast/enabled": True, "scouting/multicast/address": multicast_group}
    listening = driver("reference").open("peer", listen=[locator], config=config)
    scout = driver("reference").scout("peer|router", config)
    hello = scout.wait_for(lambda hello: hello.zid == listening.zid)
    assert (hello.whatami, hello.locators) == ("peer", (locator,))
    scout.undeclare()


def test_lanes_do_not_wait_for_each_other(driver, locator):
    node = driver("reference")
    # A client that finds nobody keeps its lane busy until its timeout.
    slow = node.send("open", lane=1, mode="client", connect=[locator], config={"connect/timeout_ms": 2_000})
    quick = node.open("peer", listen=[locator])
    assert quick.info()["zid"] == quick.zid
    slow()


def test_what_the_implementation_refuses_is_an_error(driver, locator):
    node = driver("reference")
    with pytest.raises(DriverError, match="Unable to connect"):
        node.open("client", connect=[locator])
    session = node.open("peer")
    for request in [
        lambda: node.request("dance"),
        lambda: node.request("info", session=999),
        lambda: session.put("harness/a", b"", congestion="maybe"),
        lambda: session.put("harness/a", b"", colour="red"),
    ]:
        with pytest.raises(DriverError) as refused:
            request()
        assert refused.value.kind == "bad_request"


def test_a_killed_node_is_noticed_and_can_come_back(driver, locator):
    first = driver("reference")
    first.open("router", listen=[locator])
    client = driver("reference").open("client", connect=[locator], config={"connect/retry": {"period_init_ms": 100}})
    publisher = client.declare_publisher("harness/restart")
    first.kill()
    with pytest.raises(Closed, match="the process ended"):
        first.request("scout", what="peer")
    first.close()
    again = driver("reference").open("router", listen=[locator])
    subscriber = again.declare_subscriber("harness/restart")
    publisher.matching_listener().wait_for(bool)
    publisher.put(b"back")
    assert subscriber.next().payload == b"back"


# The parts that need no node


def test_a_driver_that_breaks_the_protocol_fails_the_waits():
    script = """
import json, sys
print(json.dumps({"event": "ready", "version": "0"}), flush=True)
sys.stdin.readline()
print("not json", flush=True)
sys.stdin.readline()
"""
    node = Driver([sys.executable, "-c", script], "broken")
    with pytest.raises(Closed, match="not json"):
        node.request("info", session=0)
    node.close()


def test_a_driver_that_does_not_start_says_why():
    script = "import sys; sys.exit('no such library')"
    with pytest.raises(Closed, match="no such library"):
        Driver([sys.executable, "-c", script], "absent")


def test_a_driver_that_ends_badly_fails_the_close():
    script = 'import sys; print(\'{"event": "ready", "version": "0"}\', flush=True); sys.stdin.read(); sys.exit(3)'
    node = Driver([sys.executable, "-c", script], "failing")
    with pytest.raises(RuntimeError, match="status 3"):
        node.close()


def test_an_inbox_waits_until_its_deadline_and_no_longer_once_closed():
    inbox = Inbox("test")
    inbox.put(1)
    inbox.put(2)
    assert (inbox.next(), inbox.next(), inbox.wait(2)) == (1, 2, [1, 2])
    assert inbox.wait_for(lambda item: item > 1) == 2
    with pytest.raises(TimeoutError, match="2 arrived, the last: 1, 2"):
        inbox.next(timeout=0.01)
    inbox.close("it is over")
    assert inbox.wait(2) == [1, 2], "what has arrived still counts"
    with pytest.raises(Closed, match="it is over"):
        inbox.wait(3)
    assert inbox.wait_closed() == "it is over"


def test_the_command_is_run_started_and_interrupted(weft_cli, tmp_path, monkeypatch):
    program = tmp_path / "weft"
    program.write_text(
        '#!/bin/sh\necho "{\\"args\\": \\"$*\\"}"; echo "on stderr" >&2; [ "$1" = sub ] && read line; exit 2\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("WEFT_BIN_DIR", str(tmp_path))
    result = weft_cli.run("put", "-k", "a")
    assert (result.returncode, result.stdout, result.stderr) == (2, '{"args": "put -k a"}\n', "on stderr\n")
    running = weft_cli.start("sub", "-k", "a")
    assert running.wait_line(r"args.*(-k \w)").group(1) == "-k a"
    assert running.wait_json(1) == [{"args": "sub -k a"}]
    assert running.error_lines.next() == "on stderr"
    assert running.interrupt() == -signal.SIGINT
    with pytest.raises(Closed):
        running.wait_line("more")
    ending = weft_cli.start("sub")
    ending.write_line("")
    assert ending.wait() == 2


def test_a_process_is_read_to_its_end():
    lines, ended = Inbox("lines"), Inbox("end")
    script = "import sys; print('a'); print('b'); print('why', file=sys.stderr); sys.stdin.readline()"
    process = LineProcess([sys.executable, "-u", "-c", script], lines.put, lambda: ended.put(True))
    process.start()
    assert lines.wait(2) == ["a", "b"]
    process.write_line("")
    assert (process.wait(), ended.next(), process.stderr) == (0, True, "why")


def test_a_process_can_be_signalled():
    process = LineProcess([sys.executable, "-c", "input()"], lambda line: None, lambda: None)
    process.start()
    process.signal(signal.SIGTERM)
    assert process.wait() == -signal.SIGTERM


def test_ports_are_free_and_different():
    found = [ports.free_port() for _ in range(100)]
    assert len(set(found)) == 100
    assert all(20_000 <= port < 32_000 for port in found)


def test_fill_is_the_pattern_that_the_protocol_states():
    assert fill(4) == bytes([0, 1, 2, 3])
    assert fill(3, seed=250) == bytes([250, 0, 1])
    assert fill(600)[251:254] == bytes([0, 1, 2]) and len(fill(600)) == 600


def test_payloads_compare_by_content():
    payload = Payload.of({"payload_len": 2, "payload_hex": "6869"})
    assert payload == "hi" and payload == b"hi" and payload != "ho"
    assert Payload.of({"payload_len": 2, "payload_crc32": payload.crc32}) == "hi"
    assert Payload.of({}) is None


def test_timestamps_are_ntp64():
    assert timestamp(1, 500_000_000, zid="ab") == f"{(1 << 32) + (1 << 31)}/ab"


def _matched(session, key, **options):
    """A publisher of `key` that a subscriber matches."""
    publisher = session.declare_publisher(key, **options)
    publisher.matching_listener().wait_for(bool)
    return publisher
