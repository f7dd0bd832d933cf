"""The largest payloads and the longest streams, in a few networks."""

import pytest

from harness.driver import echo
from harness.values import Fill

MIB = 1 << 20

# Weft as sender, as receiver and in the middle, with the reference at the other places.
PLACES = ["Wc-to-Rr", "Rc-to-Wr", "Wp-to-Rp", "Rp-to-Wp", "Rc-Wr-Rc", "Wc-Rr-Wc"]


@pytest.mark.networks(*PLACES)
def test_sixteen_mebibytes(net):
    subscriber = net.subscriber()
    publisher = net.publisher(congestion="block")
    for seed in range(3):
        publisher.put(Fill(16 * MIB + seed, seed))
    for seed, sample in enumerate(subscriber.wait(3)):
        assert sample.payload == Fill(16 * MIB + seed, seed)


@pytest.mark.networks("Wc-to-Rr", "Rc-to-Wr")
def test_256_mebibytes(net):
    subscriber = net.subscriber()
    publisher = net.publisher(congestion="block")
    publisher.put(Fill(256 * MIB), timeout=30)
    sample = subscriber.inbox.next(timeout=30)
    assert sample.payload == Fill(256 * MIB)


@pytest.mark.networks("Wc-to-Rr", "Rc-to-Wr", "Rc-Wr-Rc")
def test_a_long_query_and_its_long_reply(net):
    net.queryable([echo()])
    net.querier()
    (sample,) = net.sender.get(net.key, Fill(32 * MIB, seed=5), timeout_ms=30_000).samples(timeout=30)
    assert sample.payload == Fill(32 * MIB, seed=5)


@pytest.mark.networks("Wc-to-Rr", "Rc-to-Wr", "Rp-to-Wp", "Rc-Wr-Wc", "Wc-Rr-Wc")
def test_a_million_messages_in_order(net):
    count = 1_000_000
    subscriber = net.subscriber(handler={"kind": "count"})
    publisher = net.publisher(congestion="block")
    publisher.burst(count, length=16, timeout=50)
    statistics = subscriber.wait_count(count, timeout=50)
    expected = {
        "received": count, "bytes": 16 * count, "first": 0, "last": count - 1, "gaps": 0, "backwards": 0,
    }  # fmt: skip
    assert {name: statistics[name] for name in expected} == expected


@pytest.mark.networks("Wc-to-Rr", "Rc-to-Wr", "Rc-Wr-Rc")
def test_small_messages_are_not_held_up_by_large_ones(net):
    """A message of a higher priority passes the fragments of one of a lower priority, which arrives whole."""
    subscriber = net.subscriber("/*")
    large = net.publisher("/large", congestion="block", priority=6)
    small = net.publisher("/small", congestion="block", priority=1)
    sent = large.driver.send(
        "publisher_put", lane=1, entity=large.handle, payload_fill={"len": 64 * MIB, "seed": 0}
    )
    for number in range(200):
        small.put(f"{number}")
    sent(30)
    received = subscriber.wait(201, timeout=30)
    assert [sample.payload for sample in received if sample.priority == 1] == [f"{number}" for number in range(200)]
    (whole,) = (sample for sample in received if sample.priority == 6)
    assert whole.payload == Fill(64 * MIB)


@pytest.mark.networks("Wc-to-Rr", "Rc-to-Wr", "Rc-Wr-Rc")
def test_many_publishers_at_once(net):
    """Several threads of one session, each with a key of its own: the order holds for each."""
    subscriber = net.subscriber("/*", handler={"kind": "count"})
    publishers = [net.publisher(f"/{number}", congestion="block") for number in range(4)]
    bursts = [
        publisher.driver.send("publisher_burst", lane=lane, entity=publisher.handle, count=20_000, first=0, len=200)
        for lane, publisher in enumerate(publishers, 1)
    ]
    for wait in bursts:
        assert wait(30)["sent"] == 20_000
    statistics = subscriber.wait_count(80_000, timeout=30)
    assert (statistics["gaps"], statistics["backwards"]) == (0, 0)
