"""Finding each other by multicast; gossip is in test_topologies.py."""

import itertools
import socket
import struct

import pytest

from harness.driver import DriverError
from harness.network import settle

MODES = ["router", "peer", "client"]


@pytest.fixture
def multicast(multicast_group):
    """The configuration that switches scouting on, in a group of the test's own."""
    return {"scouting/multicast/enabled": True, "scouting/multicast/address": multicast_group}


def matched(session, key):
    publisher = session.declare_publisher(key)
    publisher.matching_listener().wait_for(bool)
    return publisher


@pytest.mark.parametrize("mode", ["router", "peer"])
def test_scouting_finds_a_listener(left, right, locator, multicast, mode):
    """`left` listens, `right` scouts."""
    listening = left.open(mode, listen=[locator], config=multicast)
    scout = right.scout("router|peer", multicast)
    hello = scout.wait_for(lambda hello: hello.zid == listening.zid)
    assert (hello.whatami, hello.locators) == (mode, (locator,))
    scout.undeclare()


def test_scouting_finds_only_what_is_looked_for(left, right, driver, new_locator, multicast):
    """`left` listens, `right` scouts."""
    locators = [new_locator() for _ in MODES]
    apart = {**multicast, "scouting/multicast/autoconnect": []}
    nodes = [left.open(mode, listen=[locator], config=apart) for mode, locator in zip(MODES[:2], locators)]
    for mode, node in zip(MODES, nodes):
        scout = right.scout(mode, multicast)
        # It is asked again after a second: two answers of the right node, and none of the other.
        hellos = scout.wait(2)
        assert {(hello.zid, hello.whatami) for hello in hellos} == {(node.zid, mode)}
        scout.undeclare()


def test_a_listener_on_all_addresses_tells_real_ones(left, right, multicast, locator):
    port = locator.rsplit(":", 1)[1]
    listening = left.open("peer", listen=[f"tcp/0.0.0.0:{port}"], config=multicast)
    hello = right.scout("peer", multicast).wait_for(lambda hello: hello.zid == listening.zid)
    assert hello.locators and all(found.endswith(f":{port}") for found in hello.locators)
    assert not any("0.0.0.0" in found or "127.0.0.1" in found for found in hello.locators)


def test_who_is_told_not_to_listen_does_not_answer(left, right, multicast, new_locator):
    left.open("peer", listen=[new_locator()], config={**multicast, "scouting/multicast/listen": False})
    loud = right.open("router", listen=[new_locator()], config=multicast)
    for scouting in (left, right):
        hellos = scouting.scout("peer|router", multicast).wait(2)
        assert {hello.zid for hello in hellos} == {loud.zid}


@pytest.mark.parametrize("modes", ["peer/peer", "router/peer", "router/client", "peer/client"])
def test_nodes_find_each_other(left, right, new_locator, multicast, modes):
    """`left` is there first. Whoever comes finds it, without an endpoint."""
    first_mode, second_mode = modes.split("/")
    first = left.open(first_mode, listen=[new_locator()], config=multicast)
    listen = [] if second_mode == "client" else [new_locator()]
    second = right.open(second_mode, listen=listen, config=multicast)
    for sender, receiver in ((first, second), (second, first)):
        subscriber = receiver.declare_subscriber(f"found/{receiver.zid}")
        matched(sender, f"found/{receiver.zid}").put("x")
        assert subscriber.next().payload == "x"
    info = second.info()
    assert info["routers" if first_mode == "router" else "peers"] == [first.zid]


@pytest.mark.parametrize("strategy", ["always", "greater-zid"])
def test_peers_that_find_each_other_at_once(driver, new_locator, multicast, strategy):
    """Both dial, or one of them; one transport is the result, and everything comes once."""
    config = {**multicast, "scouting/multicast/autoconnect_strategy": strategy}
    nodes = [driver(implementation) for implementation in ("weft", "reference", "weft")]
    opening = [node.start_opening("peer", listen=[new_locator()], config=config) for node in nodes]
    sessions = [wait() for wait in opening]
    subscribers = [session.declare_subscriber("k/**") for session in sessions]
    for observer, origin in itertools.permutations(sessions, 2):
        settle(origin, observer)
    for session in sessions:
        session.put("k/1", session.zid)
        session.put("k/end", "end")
    for session, subscriber in zip(sessions, subscribers):
        assert len(session.info()["peers"]) == 2
        received = [bytes(sample.payload.data).decode() for sample in subscriber.wait(6)]
        assert sorted(received) == sorted([*(session.zid for session in sessions), "end", "end", "end"])


def test_a_client_that_finds_nobody_gives_up(left, multicast):
    with pytest.raises(DriverError):
        left.open("client", config={**multicast, "scouting/timeout": 300})


def test_what_a_scout_sends(left, multicast, multicast_group):
    """The question is as in 01 §2.2, and an answer in the test's own bytes is understood."""
    host, port = multicast_group.split(":")
    group = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    group.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    group.bind((host, int(port)))
    group.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, struct.pack("4s4s", socket.inet_aton(host), bytes(4)))
    group.settimeout(10)
    scout = left.scout("router|peer", multicast)
    question, asker = group.recvfrom(2048)
    # SCOUT, version 9, router and peer.
    assert (question[0] & 0x1F, question[1], question[2] & 0b111) == (1, 9, 0b011)
    answer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    locator = b"tcp/192.0.2.1:7447"
    # HELLO with locators, version 9, a router, an id of four bytes.
    answer.sendto(b"\x22\x09\x30" + bytes.fromhex("01020304") + b"\x01" + bytes([len(locator)]) + locator, asker)
    # Bytes that mean nothing do not disturb it.
    for garbage in (b"", b"\xff" * 40, b"\x22\x09", b"\x22\x09\xf0\x01"):
        answer.sendto(garbage, asker)
    hello = scout.next()
    assert (hello.zid, hello.whatami, hello.locators) == ("4030201", "router", ("tcp/192.0.2.1:7447",))
    answer.sendto(b"\x02\x09\x31" + bytes.fromhex("01020304"), asker)
    group.close()
    answer.close()


def test_a_listener_survives_garbage(left, right, locator, multicast, multicast_group):
    listening = left.open("peer", listen=[locator], config=multicast)
    host, port = multicast_group.split(":")
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for garbage in (b"", b"\x00", b"\xff" * 1000, b"\x01", b"\x01\x09", b"\x01\x09\xff", b"\x21\x09\x07\xf0", bytes(60_000)):
        sender.sendto(garbage, (host, int(port)))
    sender.close()
    scout = right.scout("peer", multicast)
    assert scout.wait_for(lambda hello: hello.zid == listening.zid).locators == (locator,)
