"""What two nodes negotiate, and links other than TCP over IPv4."""

import pytest

from harness.driver import echo
from harness.relay import DIALER, FRAGMENT, LISTENER, first_message
from harness.values import Fill

TX, UNICAST = "transport/link/tx/", "transport/unicast/"

# One side has it, the other the defaults.
OPTIONS = {
    "sequence numbers of 8 bits": {TX + "sequence_number_resolution": "8bit"},
    "sequence numbers of 16 bits": {TX + "sequence_number_resolution": "16bit"},
    "small batches": {TX + "batch_size": 300},
    "small batches and 8 bits": {TX + "batch_size": 2_000, TX + "sequence_number_resolution": "8bit"},
    "no batching": {TX + "queue/batching/enabled": False},
    "large queues": {TX + "queue/size": {"data": 16, "background": 1}},
}
# Only the reference has these; a node without them is taken as it is.
OF_THE_REFERENCE = {
    "no priorities": {UNICAST + "qos/enabled": False},
    "low latency": {UNICAST + "lowlatency": True, UNICAST + "qos/enabled": False},
    "no shared memory": {"transport/shared_memory/enabled": False},
    "several links": {UNICAST + "max_links": 4},
}


def exchange(one, other):
    """Everything that depends on the transport, in both directions."""
    for number, (sender, receiver) in enumerate([(one, other), (other, one)]):
        subscriber = receiver.declare_subscriber(f"t/{number}")
        counter = receiver.declare_subscriber(f"c/{number}", handler={"kind": "count"})
        publisher, counted, hurried = (
            sender.declare_publisher(key, congestion="block", priority=priority)
            for key, priority in ((f"t/{number}", 5), (f"c/{number}", 5), (f"t/{number}", 1))
        )
        for each in (publisher, counted, hurried):
            each.matching_listener().wait_for(bool)
        lengths = [0, 1, 200, 290, 300, 2_000, 65_000, 70_000, 300_000]
        for length in lengths:
            publisher.put(Fill(length))
        assert [sample.payload.length for sample in subscriber.wait(len(lengths))] == lengths
        assert all(sample.payload == Fill(sample.payload.length) for sample in subscriber.items)
        hurried.put("hurried")
        assert subscriber.wait(len(lengths) + 1)[-1].priority == 1
        # More frames than 8 bits can number.
        for first in range(0, 600, 20):
            counted.burst(20, first=first)
            counter.wait_count(first + 20)
        counted.burst(5_000, first=600)
        statistics = counter.wait_count(5_600)
        assert (statistics["gaps"], statistics["backwards"]) == (0, 0)
        receiver.declare_queryable(f"q/{number}", [echo()])
        querier = sender.declare_querier(f"q/{number}")
        querier.matching_listener().wait_for(bool)
        (sample,) = querier.get(Fill(100_000)).samples()
        assert sample.payload == Fill(100_000)


@pytest.mark.parametrize("option", OPTIONS)
def test_options_of_one_side(left, right, locator, option):
    """`left` has the option and listens."""
    exchange(left.open("peer", listen=[locator], config=OPTIONS[option]), right.open("peer", connect=[locator]))


@pytest.mark.parametrize("option", ["sequence numbers of 8 bits", "small batches and 8 bits"])
def test_options_of_both_sides(left, right, locator, option):
    listening = left.open("router", listen=[locator], config=OPTIONS[option])
    exchange(listening, right.open("client", connect=[locator], config=OPTIONS[option]))


@pytest.mark.parametrize("option", OF_THE_REFERENCE)
@pytest.mark.parametrize("listening", ["weft", "reference"])
def test_options_of_the_reference(weft, reference, locator, option, listening):
    ends = {"listen": [locator]}, {"connect": [locator]}
    own, others = ends if listening == "weft" else reversed(ends)

    def open_weft():
        return weft.open("peer", **own)

    def open_reference():
        return reference.open("peer", config=OF_THE_REFERENCE[option], **others)

    if listening == "weft":
        one, other = open_weft(), open_reference()
    else:
        other, one = open_reference(), open_weft()
    exchange(one, other)


def test_batches_are_as_long_as_agreed(left, right, locator, relay):
    """The smaller of both sizes counts, for either side."""
    listening = left.open("peer", listen=[locator], config={TX + "batch_size": 1_000})
    before = relay(locator)
    dialing = right.open("peer", connect=[before.locator], config={TX + "batch_size": 5_000})
    exchange(listening, dialing)
    for side in (DIALER, LISTENER):
        batches = before.batches[side].items
        assert max(map(len, batches)) <= 1_000
        assert sum(first_message(batch) == FRAGMENT for batch in batches) > 400


def test_ipv6(left, right, locator):
    port = locator.rsplit(":", 1)[1]
    listening = left.open("peer", listen=[f"tcp/[::1]:{port}"])
    exchange(listening, right.open("peer", connect=[f"tcp/[::1]:{port}"]))


def test_a_name_instead_of_an_address(left, right, locator):
    port = locator.rsplit(":", 1)[1]
    listening = left.open("peer", listen=[f"tcp/localhost:{port}"])
    exchange(listening, right.open("peer", connect=[f"tcp/localhost:{port}"]))


def test_unix_sockets(left, right, tmp_path):
    locator = f"unixsock-stream/{tmp_path}/socket"
    listening = left.open("peer", listen=[locator])
    exchange(listening, right.open("peer", connect=[locator]))


def test_two_links_of_different_kinds(left, right, tmp_path, locator):
    """One node listens on both; two clients come over one each and reach each other."""
    path = f"unixsock-stream/{tmp_path}/socket"
    left.open("router", listen=[locator, path])
    exchange(right.open("client", connect=[locator]), right.open("client", connect=[path]))


def test_parameters_of_an_endpoint(left, right, locator):
    listening = left.open("peer", listen=[f"{locator}#so_sndbuf=65536;so_rcvbuf=65536"])
    dialing = right.open("peer", connect=[f"{locator}#so_rcvbuf=65536;retry_period_init_ms=100"])
    exchange(listening, dialing)
