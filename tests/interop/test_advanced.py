"""Advanced publishers and subscribers, and serialization: history, recovery, misses, detection."""

import pytest
import zenoh.ext as ext

from harness.network import settle

QUICK = {"connect/retry": {"period_init_ms": 50, "period_max_ms": 200}}
# Peers, in either direction, and clients on a router of either implementation.
NETWORKS = ["Wp-to-Rp", "Rp-to-Wp", "Wc-Rr-Rc", "Rc-Wr-Wc", "Wc-Wr-Rc", "Rc-Rr-Wc"]


def payloads(subscriber, count):
    return [subscriber.next().payload.data.decode() for _ in range(count)]


def put_all(publisher, *texts):
    for text in texts:
        publisher.put(text)


@pytest.mark.networks(*NETWORKS)
class TestAdvanced:
    def test_history_at_the_start(self, net):
        publisher = net.sender.declare_advanced_publisher(net.key, cache=3, miss_detection={}, encoding="text/plain")
        put_all(publisher, "0", "1")
        publisher.delete(attachment="why")
        publisher.put("3", attachment="x")
        settle(net.sender, net.receiver)
        subscriber = net.receiver.declare_advanced_subscriber(net.key, history={})
        one, two, three = subscriber.wait(3)
        assert (one.key, one.payload, one.encoding) == (net.key, "1", "text/plain")
        # The reference's cache answers with a put in place of a deletion.
        kept_as = "delete" if net.sender.driver.name == "weft" else "put"
        assert (two.kind, two.payload, two.attachment) == (kept_as, b"", "why")
        assert (three.payload, three.attachment) == ("3", "x")
        assert [sample.source_info["sn"] for sample in (one, two, three)] == [1, 2, 3]
        assert {sample.source_info["zid"] for sample in (one, two, three)} == {net.sender.zid}
        put_all(publisher, "4")
        assert subscriber.wait(4)[3].source_info["sn"] == 4
        few = net.receiver.declare_advanced_subscriber(net.key, history={"max_samples": 2, "max_age_ms": 600_000})
        assert payloads(few, 2) == ["3", "4"]

    def test_publishers_that_come_late(self, net):
        subscriber = net.receiver.declare_advanced_subscriber(
            f"{net.key}/*", history={"max_samples": 10, "late_publishers": True}
        )
        watching = subscriber.detect_publishers(history=True)
        publisher = net.sender.declare_advanced_publisher(
            f"{net.key}/a", cache=10, miss_detection={}, publisher_detection=True
        )
        put_all(publisher, "0", "1", "2")
        assert payloads(subscriber, 3) == ["0", "1", "2"]
        token = watching.next()
        assert token.kind == "put"
        assert token.key.startswith(f"{net.key}/a/@adv/pub/{net.sender.zid}/")
        publisher.undeclare()
        assert watching.next().kind == "delete"

    def test_subscribers_are_detected(self, net):
        net.receiver.declare_advanced_subscriber(net.key, subscriber_detection=True)
        tokens = net.sender.liveliness_subscriber(f"{net.key}/@adv/sub/**", history=True)
        assert tokens.next().key.startswith(f"{net.key}/@adv/sub/{net.receiver.zid}/")

    def test_a_heartbeat_tells_of_samples_that_nobody_got(self, net):
        """What was published before the subscriber came counts as lost."""
        publisher = net.sender.declare_advanced_publisher(net.key, cache=10, miss_detection={"heartbeat_ms": 50})
        put_all(publisher, "0", "1")
        subscriber = net.receiver.declare_advanced_subscriber(net.key, recovery={})
        assert payloads(subscriber, 2) == ["0", "1"]

    def test_misses(self, net):
        """A number that is skipped, and that nobody has."""
        subscriber = net.receiver.declare_advanced_subscriber(net.key)
        misses = subscriber.miss_listener()
        publisher = net.publisher()
        for number in (0, 1, 4):
            publisher.put(f"{number}", source_sn=number)
        assert payloads(subscriber, 3) == ["0", "1", "4"]
        source, count = misses.next()
        assert (source["zid"], count) == (net.sender.zid, 2)


class Outage:
    """A publisher and a subscriber, clients of a router that goes and comes back."""

    def __init__(self, driver, left, right, router, locator):
        self._driver, self._kind, self._locator = driver, router, locator
        self._router = driver(router)
        self._router.open("router", listen=[locator])
        self.sender = left.open("client", connect=[locator], config=QUICK)
        self.receiver = right.open("client", connect=[locator], config=QUICK)
        # Shows to the sender whether the receiver is there.
        self.receiver.declare_subscriber("there")
        self._there = self.sender.declare_publisher("there").matching_listener()
        assert self._there.next() is True

    def lose(self, publish):
        """Calls `publish` while there is no router."""
        self._router.kill()
        assert self._there.next() is False
        publish()
        self._router = self._driver(self._kind)
        self._router.open("router", listen=[self._locator])
        assert self._there.next() is True
        settle(self.sender, self.receiver)
        settle(self.receiver, self.sender)


@pytest.fixture(params=["weft", "reference"])
def outage(request, driver, left, right, locator):
    return Outage(driver, left, right, request.param, locator)


def started(outage, cache, miss_detection, **options):
    subscriber = outage.receiver.declare_advanced_subscriber("k", **options)
    publisher = outage.sender.declare_advanced_publisher("k", cache=cache, miss_detection=miss_detection)
    settle(outage.receiver, outage.sender)
    put_all(publisher, "0", "1")
    assert payloads(subscriber, 2) == ["0", "1"]
    return publisher, subscriber


@pytest.mark.parametrize("recovery", [{}, {"period_ms": 100}])
def test_losses_are_recovered_when_a_later_sample_shows_them(outage, recovery):
    publisher, subscriber = started(outage, 10, {}, recovery=recovery)
    outage.lose(lambda: put_all(publisher, "2", "3"))
    put_all(publisher, "4")
    assert payloads(subscriber, 3) == ["2", "3", "4"]


@pytest.mark.parametrize("how", ["heartbeat", "periodic queries"])
def test_losses_at_the_end_are_recovered(outage, how):
    beat = {"heartbeat_ms": 50} if how == "heartbeat" else {}
    recovery = {} if how == "heartbeat" else {"period_ms": 50}
    publisher, subscriber = started(outage, 10, beat, recovery=recovery)
    outage.lose(lambda: put_all(publisher, "2", "3"))
    assert payloads(subscriber, 2) == ["2", "3"]


@pytest.mark.parametrize("cache, options, count", [(10, {}, 3), (2, {"recovery": {}}, 2)])
def test_losses_for_good_are_told(outage, cache, options, count):
    publisher, subscriber = started(outage, cache, {}, **options)
    misses = subscriber.miss_listener()
    outage.lose(lambda: put_all(publisher, "2", "3", "4"))
    put_all(publisher, "5")
    source, missed = misses.next()
    assert (source["zid"], missed) == (outage.sender.zid, count)
    assert payloads(subscriber, 4 - count) == [f"{number}" for number in range(2 + count, 6)]


VALUES = [
    ("i8", ext.Int8, ext.Int8(-7)),
    ("u64", ext.UInt64, ext.UInt64(2**63)),
    ("i128", ext.Int128, ext.Int128(-(2**100))),
    ("f32", ext.Float32, ext.Float32(1.5)),
    ("(bool, f64)", tuple[bool, float], (True, 3.14)),
    ("str", str, "é" * 200),
    ("bytes", bytes, bytes(range(256))),
    ("list[str]", list[str], ["", "a", "b" * 130]),
    ("list[list[i32]]", list[list[int]], [[], [1], [-1, 2**31 - 1]]),
    ("set[u16]", set[ext.UInt16], {ext.UInt16(1), ext.UInt16(515)}),
    ("dict[str, (i32, bytes)]", dict[str, tuple[int, bytes]], {"a": (1, b""), "b": (-1, b"\0\xff")}),
]


@pytest.mark.parametrize("name, kind, value", VALUES, ids=[name for name, _, _ in VALUES])
def test_serialized_values_are_read_by_the_other_side(weft, name, kind, value):
    """What the reference serializes Weft reads and serializes again, and the reference reads it."""
    sent = bytes(ext.z_serialize(value).to_bytes())
    again = bytes.fromhex(weft.request("reserialize", type=name, payload_hex=sent.hex())["payload_hex"])
    assert ext.z_deserialize(kind, ext.z_serialize(value).__class__(again)) == value
    assert len(again) == len(sent)
