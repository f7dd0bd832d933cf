"""More than two nodes: cliques, peers and clients on a router, targets of queries, and how a topology changes (03 §12)."""

import itertools

import pytest

from harness.driver import echo, reply
from harness.network import settle

# Gossip is on by default; multicast is off in all of these.
APART = {"scouting/gossip/autoconnect": {"router": [], "peer": []}}


def linked(*sessions):
    """Waits until every session has all the others as neighbours."""
    for session, other in itertools.permutations(sessions, 2):
        settle(session, other)


def matched(session, key, **options):
    publisher = session.declare_publisher(key, **options)
    publisher.matching_listener().wait_for(bool)
    return publisher


# Who stands where: the first listens, the others dial it. Each implementation in each place.
CLIQUES = ["weft/reference/reference", "reference/weft/reference", "weft/reference/weft", "reference/weft/weft", "weft/weft/weft"]
cliques = pytest.mark.parametrize("implementations", CLIQUES)


@pytest.fixture
def clique(driver, new_locator, implementations):
    """Three peers: the second and third know the first and find each other by its gossip."""
    sessions, drivers = [], []
    for implementation in implementations.split("/"):
        drivers.append(driver(implementation))
        connect = [] if not sessions else [first]
        listen = new_locator()
        first = first if sessions else listen
        sessions.append(drivers[-1].open("peer", connect=connect, listen=[listen]))
    linked(*sessions)
    return sessions, drivers


@cliques
def test_a_clique_finds_itself_by_gossip(clique):
    """Scenario 4 of the specification, with all pairs of three peers."""
    (a, b, c), _ = clique
    for session in (a, b, c):
        assert len(session.info()["peers"]) == 2
    subscribers = [session.declare_subscriber("k/**") for session in (a, b, c)]
    for session in (a, b, c):
        linked(a, b, c)
        session.put(f"k/{session.zid}", session.zid)
    zids = [session.zid for session in (a, b, c)]
    for subscriber in subscribers:
        assert sorted(bytes(sample.payload.data).decode() for sample in subscriber.wait(3)) == sorted(zids)
    # Once each: what comes last came after everything that could have been there twice.
    linked(a, b, c)
    for session in (a, b, c):
        session.put("k/end", "end")
    for subscriber in subscribers:
        ends = [sample for sample in subscriber.wait(6) if sample.key == "k/end"]
        assert len(ends) == 3 and len(subscriber.items) == 6


@cliques
def test_queries_in_a_clique(clique):
    """Scenario 23: complete queryables on two nodes of three."""
    (a, b, c), _ = clique
    b.declare_queryable("q/**", [reply("b", key="q/b")], complete=True)
    c.declare_queryable("q/**", [reply("c", key="q/c")], complete=True)
    settle(b, a)
    settle(c, a)
    assert len(a.get("q/**", target="best_matching").samples()) == 1
    for target in ("all", "all_complete"):
        assert {sample.key for sample in a.get("q/**", target=target).samples()} == {"q/b", "q/c"}
    assert {sample.key for sample in b.get("q/**", target="all").samples()} == {"q/b", "q/c"}


@cliques
def test_a_member_of_a_clique_dies(clique):
    """Scenario 16: its token, its queryable and its subscriber are gone for the others."""
    (a, b, c), (_, _, dying) = clique
    watches = [session.liveliness_subscriber("alive/*", history=True) for session in (a, b)]
    c.liveliness_token("alive/c")
    c.declare_queryable("q", [reply("c")])
    publisher = b.declare_publisher("s")
    changes = publisher.matching_listener()
    c.declare_subscriber("s")
    assert changes.next() is True
    for watch in watches:
        assert watch.next().kind == "put"
    settle(c, a)
    assert len(a.get("q").samples()) == 1
    dying.kill()
    for watch in watches:
        assert watch.next().kind == "delete"
    assert changes.next() is False
    assert a.get("q", timeout_ms=60_000).replies() == []
    # The others still have each other.
    subscriber = a.declare_subscriber("x")
    matched(b, "x").put("x")
    assert subscriber.next().payload == "x"


@pytest.fixture
def open_on(driver, locator):
    """`open_on(implementation, mode)`: a node that dials the router."""

    def open(implementation, mode, **options):
        return driver(implementation).open(mode, connect=[locator], **options)

    return open


@pytest.mark.parametrize("router", ["weft", "reference"])
@pytest.mark.parametrize("peers", ["weft/reference", "reference/weft", "weft/weft"])
def test_peers_on_a_router_link_up(driver, open_on, locator, new_locator, router, peers):
    """Scenarios 4 and 5: the peers talk directly, and with a client of the router through it; once each."""
    router = driver(router).open("router", listen=[locator])
    first, second = (open_on(peer, "peer", listen=[new_locator()]) for peer in peers.split("/"))
    client = open_on("reference", "client")
    linked(first, second)
    at_peer, at_client, at_router = (node.declare_subscriber("k/**") for node in (second, client, router))
    for receiving in (second, client, router):
        settle(receiving, first)
        settle(receiving, client)
    assert second.zid in first.info()["peers"] and first.zid in second.info()["peers"]
    first.put("k/1", "peer")
    for subscriber in (at_peer, at_client, at_router):
        assert subscriber.next().payload == "peer"
    # Directly: no router has put its stamp on it.
    assert at_peer.items[0].timestamp is None
    assert at_client.items[0].timestamp.endswith(f"/{router.zid}")
    client.put("k/2", "client")
    for subscriber in (at_peer, at_client, at_router):
        assert subscriber.next().payload == "client"
    first.put("k/3", "end")
    client.put("k/4", "end")
    for subscriber in (at_peer, at_client, at_router):
        assert sorted(sample.key for sample in subscriber.wait(4)) == ["k/1", "k/2", "k/3", "k/4"]
    second.declare_queryable("q", [reply("x")], complete=True)
    settle(second, first)
    settle(second, client)
    assert len(first.get("q", consolidation="none", target="all").samples()) == 1
    assert len(client.get("q", consolidation="none", target="all").samples()) == 1


@pytest.mark.parametrize("router", ["weft", "reference"])
def test_peers_on_a_router_that_stay_apart(driver, open_on, locator, new_locator, router):
    """Scenario 6: nothing comes twice; each still reaches the router's clients."""
    driver(router).open("router", listen=[locator])
    first, second = (open_on(peer, "peer", listen=[new_locator()], config=APART) for peer in ("weft", "reference"))
    client = open_on("reference", "client")
    at_peer, at_client = second.declare_subscriber("k/**"), client.declare_subscriber("k/**")
    settle(client, first)
    first.put("k/1", "x")
    assert at_client.next().payload == "x"
    settle(second, client)
    client.put("k/2", "end")
    received = [bytes(sample.payload.data) for sample in (at_peer.wait_for(lambda sample: sample.key == "k/2"), *at_peer.items)]
    assert received.count(b"x") <= 1 and first.info()["peers"] == []


@pytest.mark.parametrize("ends", ["weft/reference", "reference/weft"])
@pytest.mark.parametrize("middle", ["weft", "reference"])
def test_a_line_of_peers_does_not_forward(driver, locator, ends, middle):
    """Scenario 7: in A-B-C without a link from A to C, only B gets what A publishes, and C what B publishes."""
    b = driver(middle).open("peer", listen=[locator])
    # Without listeners of their own they cannot find each other.
    a, c = (driver(end).open("peer", connect=[locator]) for end in ends.split("/"))
    at_b, at_c = b.declare_subscriber("k"), c.declare_subscriber("k")
    settle(b, a)
    settle(c, b)
    a.put("k", "a")
    assert at_b.next().payload == "a"
    b.put("k", "b")
    assert at_c.next().payload == "b"
    assert at_b.next().payload == "b"


# A node in the middle with a client of each implementation at either side, and one more.


@pytest.fixture(params=["weft router", "reference router", "weft peer", "reference peer"])
def star(request, driver, open_on, locator):
    """A node with four clients."""
    implementation, mode = request.param.split()
    middle = driver(implementation).open(mode, listen=[locator])
    return middle, [open_on(client, "client") for client in ("weft", "reference", "weft", "reference")]


def test_everybody_gets_one_copy(star):
    middle, clients = star
    nodes = [middle, *clients]
    subscribers = [node.declare_subscriber("k/*") for node in nodes]
    for sender in nodes:
        for receiver in nodes:
            settle(receiver, sender)
    for number, sender in enumerate(nodes):
        sender.put(f"k/{number}", f"{number}")
    for sender in nodes:
        sender.put("k/end", "end")
    for subscriber in subscribers:
        received = sorted(bytes(sample.payload.data).decode() for sample in subscriber.wait(10))
        assert received == ["0", "1", "2", "3", "4"] + ["end"] * 5
        assert len(subscriber.items) == 10


@pytest.mark.parametrize("asking", range(4))
def test_targets_among_several_nodes(star, asking):
    """Complete queryables at two clients, an incomplete one at a third."""
    _, clients = star
    asker = clients[asking]
    answering = [client for client in clients if client is not asker]
    answering[0].declare_queryable("q/**", [reply("x", key="q/0")], complete=True)
    answering[1].declare_queryable("q/**", [reply("x", key="q/1")], complete=True)
    answering[2].declare_queryable("q/**", [reply("x", key="q/2")])
    for client in answering:
        settle(client, asker)

    def answers(selector, **options):
        return sorted(sample.key for sample in asker.get(selector, consolidation="none", **options).samples())

    assert answers("q/**", target="all") == ["q/0", "q/1", "q/2"]
    assert answers("q/**", target="all_complete") == ["q/0", "q/1"]
    assert answers("q/**", target="best_matching") in (["q/0"], ["q/1"])
    # None of them covers all of this: everybody is asked, or nobody if it has to be complete.
    assert answers("**", target="best_matching") == ["q/0", "q/1", "q/2"]
    assert answers("**", target="all_complete") == []


def test_incomplete_queryables_are_all_asked(star):
    """Scenario 22 with one node in the middle; scenario 25."""
    middle, clients = star
    for number, client in enumerate(clients[1:]):
        client.declare_queryable("q/*", [reply("x", key=f"q/{number}")])
        settle(client, clients[0])
    middle.declare_queryable("q/**", [reply("x", key="q/middle")])
    settle(middle, clients[0])
    expected = {"q/0", "q/1", "q/2", "q/middle"}
    assert {sample.key for sample in clients[0].get("q/*").samples()} == expected
    assert clients[0].get("q/*", target="all_complete").replies() == []


def test_a_queryable_becomes_complete_and_goes(star):
    """The merged completeness of one key changes as its queryables come and go."""
    _, clients = star
    asker, answering = clients[0], clients[1]
    querier = asker.declare_querier("q", target="all_complete")
    changes = querier.matching_listener()
    incomplete = answering.declare_queryable("q", [reply("incomplete")])
    settle(answering, asker)
    assert querier.matching_status() is False
    complete = answering.declare_queryable("q", [reply("complete")], complete=True)
    assert changes.next() is True
    assert {bytes(sample.payload.data) for sample in querier.get().samples()} == {b"complete"}
    complete.undeclare()
    assert changes.next() is False
    incomplete.undeclare()
    settle(answering, asker)
    assert asker.get("q").replies() == []


def test_the_end_of_a_node_ends_its_part_of_a_query(star, open_on):
    """Scenario 28: the query ends when the silent node dies, long before its timeout."""
    _, clients = star
    asker, answering = clients[0], clients[1]
    for implementation in ("weft", "reference"):
        silent = open_on(implementation, "client")
        silent.declare_queryable("q", finalize_delay_ms=120_000)
        other = answering.declare_queryable("q", [echo()])
        settle(silent, asker)
        settle(answering, asker)
        get = asker.get("q", "x", target="all", timeout_ms=60_000, consolidation="none")
        assert get.inbox.next().sample.payload == "x"
        silent.driver.kill()
        assert len(get.replies()) == 1
        other.undeclare()


def test_a_late_subscriber_of_a_late_node(star, open_on):
    """Scenarios 20 and 21: a publisher is there first; its matching status follows nodes that come and go."""
    _, clients = star
    for publishing in clients[:2]:
        publisher = publishing.declare_publisher("late")
        assert publisher.matching_status() is False
        publisher.put("nobody")
        changes = publisher.matching_listener()
        for implementation in ("weft", "reference"):
            late = open_on(implementation, "client")
            subscriber = late.declare_subscriber("late")
            assert changes.next() is True
            publisher.put("x")
            assert subscriber.next().payload == "x"
            late.driver.kill()
            assert changes.next() is False


def test_many_clients(driver, locator):
    """A Weft router with fifty sessions of either implementation, all on one key."""
    router = driver("weft").open("router", listen=[locator])
    drivers = [driver("weft"), driver("reference")]
    clients = [drivers[number % 2].open("client", connect=[locator]) for number in range(50)]
    subscribers = [client.declare_subscriber("all") for client in clients]
    for client in clients:
        settle(client, router)
    router.put("all", "x")
    for subscriber in subscribers:
        assert subscriber.next().payload == "x"
