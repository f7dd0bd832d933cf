"""Batches that are compressed on the way (01 §3.3): who asks for it, and what is on the wire."""

import random

import pytest

from harness.relay import CLOSE, DIALER, FRAME, INIT, KEEP_ALIVE, LISTENER, OPEN, first_message
from harness.values import Fill
from test_transport import TX, exchange

COMPRESS = {"transport/unicast/compression/enabled": True}
SMALL = {TX + "batch_size": 300}
# The header before each batch.
PLAIN, BLOCK = 0, 1

# (mode that listens, mode that dials)
MODES = [("peer", "peer"), ("router", "client"), ("router", "peer"), ("peer", "client")]


def after_handshake(relay, side):
    """The batches of `side` that follow its INIT and its OPEN."""
    init, opening, *rest = relay.batches[side].items
    assert (first_message(init), first_message(opening)) == (INIT, OPEN)
    return rest


def headers(relay, side):
    return {batch[0] for batch in after_handshake(relay, side)}


@pytest.mark.parametrize("modes", MODES, ids="-".join)
@pytest.mark.parametrize("small", [False, True], ids=["", "small batches"])
def test_both_compress(left, right, locator, relay, modes, small):
    config = COMPRESS | (SMALL if small else {})
    listening = left.open(modes[0], listen=[locator], config=config)
    before = relay(locator)
    dialing = right.open(modes[1], connect=[before.locator], config=config)
    exchange(listening, dialing)
    for side in (DIALER, LISTENER):
        assert headers(before, side) == {PLAIN, BLOCK}
        if small:
            # The prefix and the header count.
            assert max(map(len, after_handshake(before, side))) <= 298


@pytest.mark.parametrize("modes", MODES, ids="-".join)
@pytest.mark.parametrize("compressing", [DIALER, LISTENER])
def test_one_side_alone_does_not_compress(left, right, locator, relay, modes, compressing):
    listening = left.open(modes[0], listen=[locator], config=COMPRESS if compressing == LISTENER else {})
    before = relay(locator)
    dialing = right.open(modes[1], connect=[before.locator], config=COMPRESS if compressing == DIALER else {})
    exchange(listening, dialing)
    for side in (DIALER, LISTENER):
        assert before.count(side, FRAME) > 10
        assert not headers(before, side) & {PLAIN, BLOCK}


def test_what_cannot_be_compressed(left, right, locator, relay):
    """Noise goes as it is, in one batch and in fragments, with other payloads before and after it."""
    listening = left.open("router", listen=[locator], config=COMPRESS)
    before = relay(locator)
    dialing = right.open("client", connect=[before.locator], config=COMPRESS)
    noise = random.Random(7)
    for number, (sender, receiver) in enumerate([(listening, dialing), (dialing, listening)]):
        subscriber = receiver.declare_subscriber(f"n/{number}")
        publisher = sender.declare_publisher(f"n/{number}", congestion="block")
        publisher.matching_listener().wait_for(bool)
        payloads = []
        for length in (1, 40, 1_000, 65_000, 70_000, 500_000):
            payloads += [noise.randbytes(length), bytes(length)]
        for payload in payloads:
            publisher.put(payload)
        samples = subscriber.wait(len(payloads))
        assert all(sample.payload == payload for sample, payload in zip(samples, payloads, strict=True))
    for side in (DIALER, LISTENER):
        assert headers(before, side) == {PLAIN, BLOCK}
        sent = sum(map(len, before.batches[side].items))
        # The noise of one direction, and little more.
        assert 636_041 < sent < 650_000


def test_what_is_compressed_is_short(left, right, locator, relay):
    listening = left.open("peer", listen=[locator], config=COMPRESS)
    before = relay(locator)
    dialing = right.open("peer", connect=[before.locator], config=COMPRESS)
    for side, sender, receiver in ((LISTENER, listening, dialing), (DIALER, dialing, listening)):
        subscriber = receiver.declare_subscriber(side)
        publisher = sender.declare_publisher(side, congestion="block")
        publisher.matching_listener().wait_for(bool)
        publisher.put(Fill(5_000_000))
        assert subscriber.next().payload == Fill(5_000_000)
        assert sum(map(len, before.batches[side].items)) < 100_000


def test_an_idle_link_is_kept_alive(left, right, locator, relay):
    """Keep-alives have the header, too, and neither side gives up the other."""
    config = COMPRESS | {TX + "lease": 1_000}
    listening = left.open("peer", listen=[locator], config=config)
    before = relay(locator)
    dialing = right.open("peer", connect=[before.locator], config=config)
    subscriber = dialing.declare_subscriber("a")
    publisher = listening.declare_publisher("a")
    changes = publisher.matching_listener()
    assert changes.next() is True
    for side in (DIALER, LISTENER):
        spoken = len(before.batches[side].items)
        # Eight keep-alives are two leases.
        before.batches[side].wait(spoken + 8, timeout=20)
        assert before.batches[side].items.count(bytes([PLAIN, KEEP_ALIVE])) >= 8
    publisher.put("x")
    assert subscriber.next().payload == "x"
    assert changes.items == [True]


@pytest.mark.parametrize("closing", [DIALER, LISTENER])
def test_a_link_is_closed_with_a_word(left, right, locator, relay, closing):
    listening = left.open("peer", listen=[locator], config=COMPRESS)
    before = relay(locator)
    dialing = right.open("peer", connect=[before.locator], config=COMPRESS)
    publisher = listening.declare_publisher("a")
    changes = publisher.matching_listener()
    dialing.declare_subscriber("a")
    assert changes.next() is True
    (dialing if closing == DIALER else listening).close()
    before.batches[closing].wait_for(lambda batch: batch[:2] == bytes([PLAIN, CLOSE]))
    if closing == DIALER:
        assert changes.next() is False


def test_a_router_between_one_that_compresses_and_one_that_does_not(left, right, driver, locator, relay):
    """Each link has its own agreement."""
    left.open("router", listen=[locator], config=COMPRESS)
    before = relay(locator)
    one = right.open("client", connect=[before.locator], config=COMPRESS)
    beside = relay(locator)
    other = driver("reference").open("client", connect=[beside.locator])
    exchange(one, other)
    for side in (DIALER, LISTENER):
        assert headers(before, side) == {PLAIN, BLOCK}
        assert not headers(beside, side) & {PLAIN, BLOCK}
