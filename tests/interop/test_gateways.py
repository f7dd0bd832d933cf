"""Regions and their gateways, of both implementations in each place (03 §1.4, scenarios 30 and 31)."""

import pytest

from harness.driver import DriverError
from harness.graph import Graph, wait_for
from harness.network import settle


def serving(filters, name=None):
    """A gateway of the region of those that one of `filters` matches."""
    # The reference takes this as a whole only.
    config = {"gateway": {"south": [{"filters": filters}]}}
    return {"region_name": name, **config} if name else config


# In the region `main`, and serving everybody who is not.
MAIN = serving([{"region_names": ["main"], "negated": True}], "main")
# A client that serves whoever dials it.
SERVING_ALL = serving([{"modes": ["peer", "client"]}])


@pytest.fixture
def graph(driver, new_locator):
    return Graph(driver, new_locator)


# The gateway, its fellow, and the peers that they serve.
@pytest.mark.parametrize(
    "implementations",
    [
        "weft/weft/reference/reference",
        "reference/reference/weft/weft",
        "weft/reference/reference/weft",
        "weft/reference/weft/reference",
        "weft/weft/weft/weft",
    ],
)
def test_two_regions_of_peers_meet_through_their_gateways(graph, implementations):
    """Scenario 30."""
    first, second, inner, other = implementations.split("/")
    g1, at_first = graph.listening(first, "peer", config=MAIN)
    g2, at_second = graph.listening(second, "peer", [at_first], config=MAIN)
    settle(g1, g2)
    c, _ = graph.listening(inner, "peer", [at_first])
    d, _ = graph.listening(other, "peer", [at_second], config={"region_name": "leaves"})
    settle(c, g1)
    settle(d, g2)
    graph.everybody_hears_everybody("regions")
    assert c.zid not in g2.info()["peers"], "what is apart by configuration does not find itself by gossip"
    assert d.zid not in c.info()["peers"]


@pytest.mark.parametrize("implementations", ["weft/reference/reference", "reference/weft/weft", "reference/weft/reference", "weft/weft/weft"])
def test_peers_of_one_region_find_each_other(graph, implementations):
    """They are linked, and the gateway stays out of what is between them."""
    gateway, first, second = implementations.split("/")
    g, at = graph.listening(gateway, "peer", config=MAIN)
    a, _ = graph.listening(first, "peer", [at])
    b, _ = graph.listening(second, "peer", [at])
    settle(a, b)
    settle(a, g)
    graph.everybody_hears_everybody("clique")


# The router, the gateway, the peer that it serves, and a client of the router.
@pytest.mark.parametrize(
    "implementations",
    ["reference/weft/reference/reference", "weft/reference/weft/weft", "weft/weft/reference/reference", "reference/weft/weft/weft", "weft/weft/weft/weft"],
)
def test_a_client_is_the_gateway_of_a_peer(graph, implementations):
    """Scenario 31."""
    router, gateway, peer, client = implementations.split("/")
    r, at_router = graph.router(router)
    g, at_gateway = graph.listening(gateway, "client", [at_router], config=SERVING_ALL)
    settle(g, r)
    p = graph.leaf(peer, "peer", [at_gateway])
    graph.leaf(client, "client", [at_router])
    settle(p, g)
    graph.everybody_hears_everybody("client")


@pytest.mark.parametrize("implementations", ["weft/reference", "reference/weft", "weft/weft"])
def test_one_gateway_of_several_regions(graph, implementations):
    gateway, other = implementations.split("/")
    south = [{"filters": [{"region_names": ["red"]}]}, {"filters": [{"region_names": ["blue"]}]}, {"filters": [{"modes": ["client"]}]}]
    g, at = graph.listening(gateway, "router", config={"gateway": {"south": south}})
    for region in ("red", "blue"):
        settle(graph.listening(other, "peer", [at], config={"region_name": region})[0], g)
    graph.leaf(other, "client", [at])
    upper = graph.leaf(other, "router", [at])
    settle(upper, g)
    graph.everybody_hears_everybody("several")


# The upper router, the gateway, the first and the second of the routers that it serves.
@pytest.mark.parametrize(
    "implementations",
    [
        "reference/weft/reference/reference",
        "weft/reference/weft/weft",
        "reference/reference/weft/reference",
        "weft/reference/reference/weft",
        "reference/weft/weft/reference",
        "weft/weft/weft/weft",
    ],
)
def test_a_router_serves_a_network_of_routers(graph, implementations):
    upper, gateway, lower, farther = implementations.split("/")
    n, at_upper = graph.router(upper)
    south = serving([{"region_names": ["south"]}, {"modes": ["client"]}], "north")
    g, at_gateway = graph.router(gateway, [at_upper], config=south)
    settle(g, n)
    first, at_first = graph.router(lower, [at_gateway], config={"region_name": "south"})
    settle(first, g)
    second, at_second = graph.router(farther, [at_first], config={"region_name": "south"})
    settle(second, first)
    for at in (at_upper, at_gateway, at_second):
        graph.leaf("weft", "client", [at])
        graph.leaf("reference", "client", [at])
    graph.everybody_hears_everybody("networks")


@pytest.mark.parametrize("other", ["weft", "reference"])
def test_two_gateways_of_weft_share_a_peer(graph, other):
    """Each sample crosses once, whichever of the two is elected."""
    g1, at_first = graph.listening("weft", "peer", config=MAIN)
    g2, at_second = graph.listening("weft", "peer", [at_first], config=MAIN)
    settle(g1, g2)
    p, _ = graph.listening(other, "peer", [at_first, at_second])
    q, _ = graph.listening("reference", "peer", [at_first, at_second], config={"region_name": "main"})
    for session in (p, q):
        settle(session, g1)
        settle(session, g2)
    graph.leaf(other, "client", [at_first])
    graph.leaf("reference", "client", [at_second])
    graph.everybody_hears_everybody("shared")


# The elected gateway, the other one, and the peer that both serve.
@pytest.mark.parametrize(
    "implementations", ["weft/reference/weft", "weft/reference/reference", "reference/weft/reference", "reference/weft/weft", "weft/weft/reference"]
)
def test_the_greater_of_two_gateways_is_elected(graph, implementations):
    """A gateway of Weft and one of the reference agree on who does what: samples come once. Between two gateways of the
    reference they come twice at the client of the one that is not elected."""
    elected, other, peer = implementations.split("/")
    g1, at_first = graph.listening(elected, "peer", config={"id": "ff", **MAIN})
    g2, at_second = graph.listening(other, "peer", [at_first], config={"id": "1", **MAIN})
    settle(g1, g2)
    p, _ = graph.listening(peer, "peer", [at_first, at_second])
    for gateway in (g1, g2):
        settle(p, gateway)
    clients = [graph.leaf("weft", "client", [at]) for at in (at_first, at_second)]
    nodes = [g1, g2, p, *clients]
    subscribers = [node.declare_subscriber("k/**") for node in nodes]
    publishers = [node.declare_publisher(f"k/{number}") for number, node in enumerate(nodes)]
    for publisher in publishers:
        publisher.matching_listener().wait_for(bool)
    # The second round comes after everything that could have been there twice.
    for payload in ("first", "second"):
        for publisher in publishers:
            publisher.put(payload)
    keys = [f"k/{number}" for number in range(len(nodes))]
    for subscriber in subscribers:
        samples = subscriber.wait(2 * len(nodes))
        for payload in (b"first", b"second"):
            assert sorted(sample.key for sample in samples if sample.payload.data == payload) == keys


@pytest.mark.parametrize("implementations", ["weft/reference", "reference/weft"])
def test_two_that_want_to_serve_each_other_do_not_link(graph, implementations):
    first, second = implementations.split("/")
    config = {"gateway": {"south": [{}]}, "scouting/delay": 10, "connect/timeout_ms": 0, "connect/exit_on_failure": True}
    a, at = graph.listening(first, "peer", config={"gateway": {"south": [{}]}})
    try:
        b = graph.driver(second).open("peer", connect=[at], config=config)
    except DriverError:
        return  # It says so at once.
    c = graph.leaf("weft", "peer", [at])
    settle(c, a)
    assert b.zid not in wait_for(lambda: a.info()["peers"], 1)
