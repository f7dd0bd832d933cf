"""Receivers that take their time: channels that fill up, callbacks that block."""

import pytest

from harness.network import settle

SOME = ["Wc-to-Rr", "Rc-to-Wr", "Wp-from-Rp", "Rp-from-Wp", "Rc-Wr-Wc", "Rc-Rr-Wc", "Rc-Wp-Rc"]
# More than all buffers on the way hold, the kernel's included.
COUNT, LENGTH = 800, 100_000


def start_burst(publisher):
    """Starts to publish and returns a function that waits for its end."""
    return publisher.driver.send(
        "publisher_burst", lane=1, entity=publisher.handle, count=COUNT, first=0, len=LENGTH
    )


def receive_burst(subscriber, numbers):
    """Receives the messages of these numbers, in this order."""
    for number in numbers:
        assert subscriber.recv().payload == number.to_bytes(8, "little").ljust(LENGTH, b"\0"), number


@pytest.mark.networks(*SOME)
def test_a_full_channel_holds_the_publisher_back(net):
    """With `block` nothing is lost: the publisher waits until there is room all the way."""
    subscriber = net.subscriber(handler={"kind": "fifo", "capacity": 4})
    publisher = net.publisher(congestion="block")
    sent = start_burst(publisher)
    receive_burst(subscriber, range(20))
    with pytest.raises(TimeoutError):
        sent(0.05)
    receive_burst(subscriber, range(20, COUNT))
    assert sent()["sent"] == COUNT


@pytest.mark.networks(*SOME)
def test_a_ring_keeps_the_newest(net):
    ring = net.subscriber(handler={"kind": "ring", "capacity": 3})
    counter = net.subscriber("/**", handler={"kind": "count"})
    net.publisher(congestion="block").burst(1_000)
    counter.wait_count(1_000)
    # The ring may be served after the counter.
    net.sender.put(net.key, (1_000).to_bytes(8, "little"))
    received = []
    while not received or received[-1] < 1_000:
        received.append(int.from_bytes(ring.recv().payload.data, "little"))
    assert received == sorted(received) and len(received) <= 4


@pytest.mark.networks(*SOME)
def test_a_slow_callback_gets_everything_in_order(net):
    subscriber = net.subscriber(handler={"kind": "events", "delay_ms": 2})
    publisher = net.publisher(congestion="block")
    for number in range(300):
        publisher.put(f"{number}")
    assert [sample.payload for sample in subscriber.wait(300)] == [f"{number}" for number in range(300)]


@pytest.mark.networks(*SOME)
def test_an_undeclared_channel_ends(net):
    subscriber = net.subscriber(handler={"kind": "fifo", "capacity": 100})
    publisher = net.publisher()
    publisher.put("x")
    assert subscriber.recv().payload == "x"
    subscriber.undeclare()
    again = net.subscriber(handler={"kind": "fifo", "capacity": 100})
    settle(net.receiver, net.sender)
    publisher.put("y")
    assert again.recv().payload == "y"


def test_a_full_channel_stops_the_link_that_feeds_it_and_no_other(driver, locator):
    """A Weft router whose own session does not read: its other neighbours are served as ever."""
    router = driver("weft").open("router", listen=[locator])
    full = router.declare_subscriber("full", handler={"kind": "fifo", "capacity": 4})
    feeding, sending, receiving = (driver("reference").open("client", connect=[locator]) for _ in range(3))
    publisher = feeding.declare_publisher("full", congestion="block")
    publisher.matching_listener().wait_for(bool)
    sent = start_burst(publisher)
    subscriber = receiving.declare_subscriber("free")
    for sender in (sending, router):
        settle(receiving, sender)
    for number in range(200):
        (sending, router)[number % 2].put("free", f"{number}")
    assert sorted(int(sample.payload.data) for sample in subscriber.wait(200)) == list(range(200))
    with pytest.raises(TimeoutError):
        sent(0.05)
    receive_burst(full, range(COUNT))
    assert sent()["sent"] == COUNT
