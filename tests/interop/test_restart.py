"""Connections that are lost and come back: restarts of nodes, cut links, leases that run out."""

import signal

import pytest

from harness.driver import echo, reply
from harness.network import settle
from harness.relay import CLOSE, DIALER, KEEP_ALIVE, LISTENER, first_message

QUICK = {"connect/retry": {"period_init_ms": 50, "period_max_ms": 200}}
# Long enough for a busy machine, short enough for a test.
SHORT_LEASE = {"transport/link/tx/lease": 1_500}


class Declared:
    """One of everything, declared by the node that stays, and a partner behind the one that restarts."""

    def __init__(self, session):
        self.subscriber = session.declare_subscriber("to/stay")
        self.queryable = session.declare_queryable("ask/stay", [echo()], complete=True)
        self.token = session.liveliness_token("alive/stay")
        self.publisher = session.declare_publisher("from/stay", congestion="block")
        self.publisher_changes = self.publisher.matching_listener()
        self.querier = session.declare_querier("ask/partner", target="all_complete")
        self.querier_changes = self.querier.matching_listener()
        self.tokens = session.liveliness_subscriber("alive/partner/*", history=True)
        self.session = session

    def work_with(self, partner, number):
        """Everything works, in both directions, with `partner`, which declares its side anew."""
        subscriber = partner.declare_subscriber("from/stay")
        assert self.publisher_changes.next() is True
        self.publisher.put(f"{number}")
        assert subscriber.next().payload == f"{number}"
        partner.declare_queryable("ask/partner", [reply(f"{number}")], complete=True)
        assert self.querier_changes.next() is True
        assert [sample.payload for sample in self.querier.get().samples()] == [f"{number}"]
        partner.liveliness_token(f"alive/partner/{number}")
        assert self.tokens.next().kind == "put"
        publisher = partner.declare_publisher("to/stay")
        publisher.matching_listener().wait_for(bool)
        publisher.put(f"{number}")
        assert self.subscriber.next().payload == f"{number}"
        querier = partner.declare_querier("ask/stay", target="all_complete")
        querier.matching_listener().wait_for(bool)
        assert [sample.payload for sample in querier.get(f"{number}").samples()] == [f"{number}"]
        tokens = partner.liveliness_subscriber("alive/stay", history=True)
        assert tokens.next().kind == "put"

    def lose(self, number):
        """The partner is gone for this node."""
        assert self.publisher_changes.next() is False
        assert self.querier_changes.next() is False
        sample = self.tokens.next()
        assert (sample.key, sample.kind) == (f"alive/partner/{number}", "delete")
        assert self.session.get("ask/partner", timeout_ms=60_000).replies() == []
        self.session.put("nobody/there", "x", congestion="drop")


@pytest.mark.parametrize("ending", ["close", "kill"])
def test_a_client_survives_restarts_of_its_router(driver, left, right, locator, ending):
    """`left` is the client that stays, `right` the router. The partner is a client that comes after each restart."""
    router_driver = right
    router_driver.open("router", listen=[locator])
    declared = Declared(left.open("client", connect=[locator], config=QUICK))
    for number in range(3):
        partner = driver("reference")
        declared.work_with(partner.open("client", connect=[locator]), number)
        if ending == "kill":
            router_driver.kill()
        else:
            router_driver.close()
        declared.lose(number)
        partner.kill()
        router_driver = driver(right.name)
        router_driver.open("router", listen=[locator])
    declared.work_with(driver("weft").open("client", connect=[locator]), 3)


@pytest.mark.parametrize("ending", ["close", "kill"])
@pytest.mark.parametrize("dialing", ["stays", "restarts"])
def test_a_peer_survives_restarts_of_its_neighbour(driver, left, right, locator, ending, dialing):
    """`left` stays, `right` restarts; either may be the one that dials."""
    endpoints = {"connect": [locator]}, {"listen": [locator]}
    own, others = endpoints if dialing == "stays" else reversed(endpoints)
    declared = Declared(left.open("peer", config=QUICK, **own))
    partner = right
    for number in range(3):
        session = partner.open("peer", config=QUICK, **others)
        declared.work_with(session, number)
        if ending == "kill":
            partner.kill()
        else:
            partner.close()
        declared.lose(number)
        partner = driver(right.name)


def test_a_router_survives_restarts_of_its_clients(driver, left, right, locator):
    """`left` is the router, `right` the client that dies."""
    declared = Declared(left.open("router", listen=[locator]))
    partner = right
    for number in range(3):
        declared.work_with(partner.open("client", connect=[locator]), number)
        partner.kill()
        declared.lose(number)
        partner = driver(right.name)


def test_a_router_comes_back_under_its_old_id(driver, left, right, locator):
    """`left` is the client, `right` the router."""
    client = None
    for _ in range(3):
        router = driver(right.name)
        session = router.open("router", listen=[locator], config={"id": "7007e7"})
        if not client:
            client = left.open("client", connect=[locator], config=QUICK)
            subscriber = client.declare_subscriber("a")
        settle(client, session)
        session.put("a", "x")
        assert subscriber.next().payload == "x"
        router.kill()


def test_a_client_moves_to_its_other_router(driver, left, right, new_locator):
    """`left` is the client, `right` the first router; the other one is of the client's implementation."""
    locators = [new_locator(), new_locator()]
    right.open("router", listen=locators[:1])
    client = left.open("client", connect=locators, config=QUICK)
    subscriber = client.declare_subscriber("a")
    other = driver(left.name).open("router", listen=locators[1:])
    right.kill()
    publisher = other.declare_publisher("a")
    publisher.matching_listener().wait_for(bool)
    publisher.put("x")
    assert subscriber.next().payload == "x"


def test_a_cut_link_is_made_anew(left, right, locator, relay):
    """`left` listens, `right` dials through a relay that cuts the connection."""
    listening = left.open("peer", listen=[locator])
    before = relay(locator)
    dialing = right.open("peer", connect=[before.locator], config=QUICK)
    pairs = []
    for sender, receiver in ((listening, dialing), (dialing, listening)):
        subscriber = receiver.declare_subscriber(f"cut/{sender.zid}")
        publisher = sender.declare_publisher(f"cut/{sender.zid}", congestion="block")
        pairs.append((publisher, publisher.matching_listener(), subscriber))
    for number in range(5):
        for publisher, changes, subscriber in pairs:
            assert changes.next() is True
            publisher.put(f"{number}")
            assert subscriber.next().payload == f"{number}"
        before.cut()
        for _, changes, _ in pairs:
            assert changes.next() is False


def test_a_cut_in_the_middle_of_a_message(left, right, locator, relay):
    """What was cut off is never delivered in part, and what comes after the reconnection is whole."""
    listening = left.open("peer", listen=[locator])
    before = relay(locator)
    dialing = right.open("peer", connect=[before.locator], config=QUICK)
    subscriber = listening.declare_subscriber("cut", handler={"kind": "count"})
    publisher = dialing.declare_publisher("cut", congestion="block")
    changes = publisher.matching_listener()
    assert changes.next() is True
    for _ in range(3):
        seen = len(before.batches[DIALER].items)
        sent = dialing.driver.send(
            "publisher_burst", lane=1, entity=publisher.handle, count=20, first=0, len=3_000_000
        )
        before.batches[DIALER].wait(seen + 200)
        before.cut()
        assert changes.next() is False
        sent()
        assert changes.next() is True
    received = subscriber.statistics()["received"]
    publisher.burst(20, length=3_000_000)
    statistics = subscriber.wait_count(received + 20)
    assert statistics["bytes"] == statistics["received"] * 3_000_000


# Leases


@pytest.mark.parametrize("frozen", ["relay", "process"])
def test_a_silent_neighbour_is_given_up(left, right, locator, relay, frozen):
    """`left` waits, `right` falls silent: the link, or the whole process."""
    waiting = left.open("router", listen=[locator], config=SHORT_LEASE)
    before = relay(locator)
    silent = right.open("client", connect=[before.locator], config={**SHORT_LEASE, **QUICK})
    tokens = waiting.liveliness_subscriber("alive/*", history=True)
    silent.liveliness_token("alive/x")
    assert tokens.next().kind == "put"
    publisher = waiting.declare_publisher("a")
    changes = publisher.matching_listener()
    subscriber = silent.declare_subscriber("a")
    assert changes.next() is True
    if frozen == "relay":
        before.freeze()
    else:
        right.signal(signal.SIGSTOP)
    assert tokens.next().kind == "delete"
    assert changes.next() is False
    if frozen == "relay":
        before.cut()
        before.thaw()
    else:
        right.signal(signal.SIGCONT)
    # It comes back with all it has.
    assert tokens.next().kind == "put"
    assert changes.next() is True
    publisher.put("again")
    assert subscriber.next().payload == "again"


def test_both_sides_of_a_frozen_link_notice(left, right, locator, relay):
    """`left` dials, so it is the one that reconnects when it has given up."""
    right.open("router", listen=[locator], config=SHORT_LEASE)
    before = relay(locator)
    client = left.open("client", connect=[before.locator], config={**SHORT_LEASE, **QUICK})
    publisher = client.declare_publisher("a")
    changes = publisher.matching_listener()
    partner = right.open("client", connect=[locator])
    subscriber = partner.declare_subscriber("a")
    assert changes.next() is True
    before.freeze()
    assert changes.next() is False
    before.thaw()
    assert changes.next() is True
    publisher.put("x")
    assert subscriber.wait_for(lambda sample: sample.payload == "x")


def test_an_idle_link_is_kept_alive(left, right, locator, relay):
    """Each side speaks a few times in the other's lease, and neither gives up the other; both leases differ."""
    listening = left.open("peer", listen=[locator], config={"transport/link/tx/lease": 1_000})
    before = relay(locator)
    dialing = right.open("peer", connect=[before.locator], config={"transport/link/tx/lease": 1_500})
    subscriber = dialing.declare_subscriber("a")
    publisher = listening.declare_publisher("a")
    changes = publisher.matching_listener()
    assert changes.next() is True
    for side in (DIALER, LISTENER):
        spoken = len(before.batches[side].items)
        # Eight keep-alives are two leases.
        before.batches[side].wait(spoken + 8, timeout=20)
        assert before.count(side, KEEP_ALIVE) >= 8
    publisher.put("x")
    assert subscriber.next().payload == "x"
    assert changes.items == [True]


def test_a_link_is_closed_with_a_word(left, right, locator, relay):
    """A session that closes says so on the wire, whichever side it is on."""
    for closing in (DIALER, LISTENER):
        listening = left.open("peer", listen=[locator])
        before = relay(locator)
        dialing = right.open("peer", connect=[before.locator])
        settle(listening, dialing)
        (dialing if closing == DIALER else listening).close()
        before.batches[closing].wait_for(lambda batch: first_message(batch) == CLOSE or batch[-2] & 0x1F == CLOSE)
        for session in (dialing, listening):
            session.close()
