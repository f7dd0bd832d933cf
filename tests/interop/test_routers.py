"""Several routers, of both implementations in each place: lines, triangles, and peers that hear each other only through them (03 §12)."""

import itertools

import pytest

from harness.graph import Graph
from harness.network import settle

OTHER = {"weft": "reference", "reference": "weft"}
# The reference has no such key; a node of Weft is a member of a network by it.
MESH = {"routing/mesh": True}

TRIPLES = ["weft/reference/weft", "reference/weft/reference", "weft/weft/reference", "reference/weft/weft", "weft/weft/weft"]
triples = pytest.mark.parametrize("implementations", TRIPLES)


@pytest.fixture
def network(driver, new_locator):
    return Graph(driver, new_locator)


@triples
def test_a_line_of_routers(network, implementations):
    """Scenarios 8, 9, 22, 29 and 39."""
    known = []
    for implementation in implementations.split("/"):
        router, listen = network.router(implementation, connect=known[-1:])
        if known:
            settle(router, network.nodes[0])
        known.append(listen)
        network.leaf(OTHER[implementation], "client", [listen])
    network.leaf("weft", "peer", known[:1])
    network.leaf("reference", "peer", known[-1:])
    network.everybody_hears_everybody("line")


@triples
def test_a_triangle_loses_a_corner(network, implementations):
    """Scenario 10."""
    corners, known = [], []
    for implementation in implementations.split("/"):
        corner, listen = network.router(implementation, connect=known)
        corners.append(corner)
        known.append(listen)
    clients = [network.leaf(OTHER[name], "client", [listen]) for name, listen in zip(implementations.split("/"), known, strict=True)]
    network.everybody_hears_everybody("before")
    subscriber = clients[2].declare_subscriber("k/**")
    publisher = clients[0].declare_publisher("k/1")
    publisher.matching_listener().wait_for(bool)
    publisher.put("first")
    subscriber.wait(1)
    corners[1].close()
    for number in range(20):
        publisher.put(str(number))
    assert [bytes(sample.payload.data).decode() for sample in subscriber.wait(21)][1:] == [str(number) for number in range(20)]


@pytest.mark.parametrize("middle", ["weft", "reference"])
def test_members_of_a_mesh_behind_routers_of_both(network, middle):
    """Peers of Weft are nodes of the routers' network, also towards routers of the reference."""
    first, at_first = network.router("weft")
    second, at_second = network.router(middle, connect=[at_first])
    third, at_third = network.router("weft", connect=[at_second])
    settle(first, third)
    for at in (at_first, at_third):
        network.leaf("weft", "peer", [at], config=MESH)
    network.leaf("reference", "client", [at_second])
    network.everybody_hears_everybody("mesh")


@pytest.mark.parametrize("implementation", ["weft", "reference"])
def test_a_router_of_weft_brokers_between_peers_that_cannot_reach_each_other(network, implementation):
    """Scenario 6: the reference delivers nothing here."""
    _, at = network.router("weft")
    for _ in range(3):
        network.leaf(implementation, "peer", [at], config={"listen/endpoints": [], "scouting/gossip/autoconnect": {"peer": []}})
    network.everybody_hears_everybody("brokered")


def test_a_peer_on_two_routers_of_weft_hears_once(network):
    """Scenario 17: the reference delivers twice at the client of the lesser router."""
    _, at_first = network.router("weft")
    _, at_second = network.router("weft", connect=[at_first])
    for implementation, at in itertools.product(["weft", "reference"], [at_first, at_second]):
        network.leaf(implementation, "client", [at])
    network.leaf("reference", "peer", [at_first, at_second], config={"listen/endpoints": []})
    network.everybody_hears_everybody("two")
