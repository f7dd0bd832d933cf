"""A few networks of the swarm, and its rules and checks themselves. Many networks: `cargo xtask interop swarm`."""

import pytest

from swarm.expect import Network
from swarm.plan import Node, Plan, random_plan
from swarm.trial import Calm, Trial


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.timeout(180)
def test_a_random_network_heals(seed):
    trial = Trial(random_plan(seed))
    outcome = trial.run()
    assert not outcome.failures, f"{outcome.plan}\n" + "\n".join(outcome.failures)
    assert outcome.samples and outcome.pairs


def test_a_seed_stands_for_one_plan():
    assert random_plan(7) == random_plan(7) != random_plan(8)
    for seed in range(200):
        plan = random_plan(seed)
        routers = [node for node in plan.nodes if node.mode == "router"]
        assert 2 <= len(routers) <= 5 and len(plan.nodes) > len(routers)
        everybody = Network(plan, range(len(plan.nodes)))
        assert all(everybody.hearing(a.index, b.index).reachable for a in plan.nodes for b in plan.nodes)


# The rules


def network(nodes, up=None, returned=()):
    """Nodes written as `Rr`, `Wc0`, `Rp01`: implementation, mode, and the nodes that it dials."""
    names, modes = {"W": "weft", "R": "reference"}, {"r": "router", "p": "peer", "c": "client"}
    made = [
        Node(index, names[text[0]], modes[text[1]], [int(digit) for digit in text[2:]], f"1{index}") for index, text in enumerate(nodes.split())
    ]
    return Network(Plan(0, "test", made, []), range(len(made)) if up is None else up, returned)


def losses(network, publisher, subscriber):
    return network.hearing(publisher, subscriber).loss


def test_who_is_cut_off_is_expected_to_hear_nothing():
    line = network("Wr Wr0 Wr1 Wc0 Wc2", up=[0, 2, 3, 4])
    assert not line.hearing(3, 4).reachable and line.hearing(3, 0).certain
    assert not network("Wr Wc0", up=[1]).hearing(1, 1).reachable


def test_unlinked_peers_are_excused_on_a_common_router_of_the_reference_only():
    assert losses(network("Rr Wp0 Wp0"), 1, 2) == "unlinked peers"
    assert losses(network("Wr Rp0 Rp0"), 1, 2) == ""
    assert losses(network("Rr Rr0 Rp0 Rp1"), 2, 3) == ""
    assert losses(network("Rr Rp0 Rc0"), 1, 2) == ""
    found = network("Rr Rp0 Wp0")
    for peer in found.nodes[1:]:
        peer.listens = True
    assert found.hearing(1, 2).certain


def test_two_gates_are_excused_if_one_is_the_reference_s():
    assert network("Wr Wr0 Rp01 Rc0").hearing(2, 3).duplicate == ""
    assert network("Wr Rr0 Wp01 Wc0").hearing(2, 3).duplicate == "two gates"
    assert losses(network("Rr Rr0 Wp01 Wc0", up=[0, 2, 3]), 2, 3) == "two gates"


def test_a_quick_return_is_excused_where_the_reference_declares():
    # Declarations go from the subscriber to the publisher.
    line = "Rr Wr0 Wr1 Wc2"
    assert losses(network(line, returned=[1]), 3, 0) == losses(network(line, returned=[1]), 1, 0) == "quick return"
    assert losses(network(line, returned=[1]), 0, 3) == ""
    assert losses(network(line, returned=[2]), 3, 0) == ""
    assert losses(network(line, returned=[3]), 3, 0) == ""
    # In a ring the way may be the other one.
    assert losses(network("Rr Wr0 Wr1 Wr02", returned=[1]), 3, 0) == "quick return"


# The checks


class Heard:
    """A log that holds what it is given."""

    def __init__(self, *numbers):
        self._numbers = list(numbers)

    def numbers(self, sender):
        return self._numbers


@pytest.mark.parametrize(
    "numbers, complaint",
    [
        ([0, 1, 2, 3], None),
        ([0, 1, 3], "1 lost, 0 repeated of 4"),
        ([0, 1, 1, 2, 3], "0 lost, 1 repeated of 4"),
        ([1, 0, 2, 3], "0 lost, 0 repeated, disordered of 4"),
        ([], "4 lost, 0 repeated of 4"),
    ],
)
def test_what_is_lost_repeated_or_disordered_is_noticed(numbers, complaint):
    trial = checked("Wr Wc0", Heard(*numbers))
    assert trial.outcome.failures == ([f"calm 0: Wr0 of Wc1: {complaint}"] if complaint else [])


def test_what_the_reference_loses_is_counted():
    trial = checked("Rr Rp0 Rp0", Heard(), listener=2)
    assert not trial.outcome.failures and trial.outcome.excused == {"lost, unlinked peers": 1}
    assert trial.outcome.excusable == 1 and trial.outcome.pairs == 0


def checked(nodes, log, listener=0):
    """A trial in which node 1 has published four samples, of which `listener` has heard what is in the log."""
    view = network(nodes)
    trial = Trial(Plan(0, "test", view.nodes, []))
    trial.calms = [Calm(0, view, {(1, 0): range(4)}, {listener: log})]
    trial._check_samples()
    return trial
