"""Sessions: what they know, what they may be told by their configuration, and how they end."""

import time

import pytest

from harness.driver import DriverError, reply
from harness.network import settle
from harness.values import timestamp

FUTURE = timestamp(4_000_000_000, zid="f00d")
PAST = timestamp(1_000_000_000, zid="f00d")


def stamp_of(sample):
    """Seconds since 1970, and the id."""
    ntp64, _, zid = sample.timestamp.partition("/")
    return int(ntp64) / 2**32, zid


def matched(session, key, **options):
    publisher = session.declare_publisher(key, **options)
    publisher.matching_listener().wait_for(bool)
    return publisher


def test_neighbours_know_each_other(left, right, driver, locator):
    """`left` is a router, then a peer; `right` a client and a peer of it."""
    for mode in ("router", "peer"):
        node = left.open(mode, listen=[locator])
        client = right.open("client", connect=[locator])
        peer = right.open("peer", connect=[locator])
        settle(node, client)
        settle(node, peer)
        expected = ([node.zid], []) if mode == "router" else ([], [node.zid])
        for session in (client, peer):
            info = session.info()
            assert (info["zid"], info["routers"], info["peers"]) == (session.zid, *expected)
        assert node.info()["peers"] == [peer.zid]
        assert node.info()["routers"] == []
        for session in (client, peer, node):
            session.close()


def test_an_id_can_be_chosen(left, right, locator):
    listening = left.open("router", listen=[locator], config={"id": "c0ffee"})
    dialing = right.open("client", connect=[locator], config={"id": "1a2b3c4d5e6f708192a3b4c5d6e7f801"})
    assert (listening.zid, dialing.zid) == ("c0ffee", "1a2b3c4d5e6f708192a3b4c5d6e7f801")
    assert dialing.info()["routers"] == ["c0ffee"]
    subscriber = listening.declare_subscriber("a")
    matched(dialing, "a").put("x", timestamp=dialing.new_timestamp(), source_sn=3)
    sample = subscriber.next()
    assert sample.timestamp.endswith("/1a2b3c4d5e6f708192a3b4c5d6e7f801")
    assert (sample.source_info["zid"], sample.source_info["sn"]) == ("1a2b3c4d5e6f708192a3b4c5d6e7f801", 3)


@pytest.mark.parametrize("mode", ["peer", "router"])
def test_an_endpoint_that_is_taken_is_an_error(left, right, locator, mode):
    left.open(mode, listen=[locator])
    with pytest.raises(DriverError):
        right.open(mode, listen=[locator])


def test_a_client_needs_somebody_to_connect_to(weft, locator):
    with pytest.raises(DriverError, match="(?i)unable to connect") as refused:
        weft.open("client", connect=[locator])
    assert refused.value.kind == "open"
    with pytest.raises(DriverError) as refused:
        weft.open("client")
    assert refused.value.kind == "open"


def test_a_peer_opens_without_its_neighbour_and_finds_it_later(left, right, locator):
    dialing = right.open("peer", connect=[locator], config={"connect/retry": {"period_init_ms": 50, "period_max_ms": 200}})
    publisher = dialing.declare_publisher("late")
    changes = publisher.matching_listener()
    listening = left.open("peer", listen=[locator])
    subscriber = listening.declare_subscriber("late")
    assert changes.next() is True
    publisher.put("x")
    assert subscriber.next().payload == "x"


def test_a_client_takes_the_endpoint_that_answers(left, right, locator, new_locator):
    router = left.open("router", listen=[locator])
    client = right.open("client", connect=[new_locator(), locator, new_locator()])
    assert client.info()["routers"] == [router.zid]


def test_one_listener_among_several_is_enough(left, right, new_locator):
    locators = [new_locator(), new_locator()]
    router = left.open("router", listen=locators)
    for locator in locators:
        assert right.open("client", connect=[locator]).info()["routers"] == [router.zid]


def test_a_close_is_noticed_by_the_neighbour(left, right, locator):
    listening = left.open("peer", listen=[locator])
    dialing = right.open("peer", connect=[locator])
    subscriber = dialing.declare_subscriber("a")
    publisher = listening.declare_publisher("a")
    changes = publisher.matching_listener()
    assert changes.next() is True
    publisher.put("x")
    assert subscriber.next().payload == "x"
    dialing.close()
    assert changes.next() is False
    assert publisher.matching_status() is False
    publisher.put("nobody")


def test_what_was_put_before_a_close_arrives(left, right, locator):
    listening = left.open("router", listen=[locator])
    subscriber = listening.declare_subscriber("a", handler={"kind": "count"})
    dialing = right.open("client", connect=[locator])
    publisher = matched(dialing, "a", congestion="block")
    publisher.burst(20_000, length=100)
    dialing.close()
    assert subscriber.wait_count(20_000)["gaps"] == 0


def test_a_closed_session_refuses(left, locator):
    session = left.open("peer", listen=[locator])
    publisher = session.declare_publisher("a")
    session.close()
    session.close()
    for use in [
        lambda: session.put("a", "x"),
        lambda: session.declare_subscriber("a"),
        lambda: session.get("a"),
        lambda: publisher.put("x"),
    ]:
        with pytest.raises(DriverError):
            use()
    assert session.new_timestamp().endswith(f"/{session.zid}")


# Timestamps


@pytest.fixture
def through(driver, left, locator):
    """`through(config)`: a publishing and a receiving client of the reference with a router of `left` between them."""

    def open(config=None):
        router = left.open("router", listen=[locator], config=config)
        receiving = driver("reference").open("client", connect=[locator])
        subscriber = receiving.declare_subscriber("a")
        publisher = matched(driver("reference").open("client", connect=[locator]), "a")
        return router, publisher, subscriber

    return open


def test_a_router_stamps_what_has_no_stamp(through):
    router, publisher, subscriber = through()
    before = time.time()
    publisher.put("1")
    publisher.put("2")
    publisher.put("old", timestamp=PAST)
    publisher.delete()
    first, second, old, delete = subscriber.wait(4)
    for sample in (first, second):
        seconds, zid = stamp_of(sample)
        assert before - 1 < seconds < time.time() + 1 and zid == router.zid
    assert stamp_of(first) < stamp_of(second)
    assert (old.timestamp, delete.timestamp) == (PAST, None)


def test_a_router_replaces_stamps_from_the_future(through):
    router, publisher, subscriber = through()
    publisher.put("x", timestamp=FUTURE)
    publisher.delete(timestamp=FUTURE)
    put, delete = subscriber.wait(2)
    seconds, zid = stamp_of(put)
    assert abs(seconds - time.time()) < 10 and zid == router.zid
    assert delete.timestamp == FUTURE, "deletions are not looked at"


def test_a_router_drops_samples_from_the_future_if_told_to(through):
    _, publisher, subscriber = through({"timestamping": {"enabled": True, "drop_future_timestamp": True}})
    publisher.put("future", timestamp=FUTURE)
    publisher.put("now")
    assert subscriber.next().payload == "now"


def test_a_router_without_a_clock_stamps_nothing(through):
    _, publisher, subscriber = through({"timestamping/enabled": False})
    publisher.put("x")
    publisher.put("future", timestamp=FUTURE)
    assert [sample.timestamp for sample in subscriber.wait(2)] == [None, FUTURE]


def test_a_peer_stamps_if_told_to(left, right, locator):
    sending = left.open("peer", listen=[locator], config={"timestamping/enabled": True})
    subscriber = right.open("peer", connect=[locator]).declare_subscriber("a")
    publisher = matched(sending, "a")
    publisher.put("x")
    publisher.delete()
    publisher.put("y", timestamp=PAST)
    put, delete, own = subscriber.wait(3)
    assert stamp_of(put)[1] == stamp_of(delete)[1] == sending.zid
    assert own.timestamp == PAST


def test_timestamps_of_a_session_grow(left):
    session = left.open("peer")
    stamps = [session.new_timestamp() for _ in range(100)]
    times = [int(stamp.split("/")[0]) for stamp in stamps]
    assert all(earlier < later for earlier, later in zip(times, times[1:]))


# Namespaces: `left` has one, `right` has none


@pytest.fixture
def spaced(left, right, locator):
    inside = left.open("peer", listen=[locator], config={"namespace": "ns/1"})
    outside = right.open("peer", connect=[locator])
    return inside, outside


def test_publications_get_the_namespace_in_front(spaced):
    inside, outside = spaced
    subscriber = outside.declare_subscriber("**")
    matched(inside, "k").put("publisher")
    inside.put("k/x", "put")
    inside.delete("k/y")
    assert [sample.key for sample in subscriber.wait(3)] == ["ns/1/k", "ns/1/k/x", "ns/1/k/y"]


def test_subscriptions_are_for_the_namespace(spaced):
    inside, outside = spaced
    all_of_it, one = inside.declare_subscriber("**"), inside.declare_subscriber("z")
    matched(outside, "ns/1/z")
    for key in ("ns/1/z", "ns/2/z", "z", "other", "ns/1/a/b"):
        outside.put(key, key)
    outside.put("ns/1/end", "end")
    assert [sample.key for sample in all_of_it.wait(3)] == ["z", "a/b", "end"]
    assert [sample.key for sample in one.wait(1)] == ["z"]


def test_queries_and_replies_are_for_the_namespace(spaced):
    inside, outside = spaced
    asked = outside.declare_queryable("ns/1/**", [reply("x", key="ns/1/q/a")])
    querier = inside.declare_querier("q/*")
    querier.matching_listener().wait_for(bool)
    assert [(sample.key, sample.payload) for sample in inside.get("q/*?p=1").samples()] == [("q/a", "x")]
    assert [(sample.key, sample.payload) for sample in querier.get().samples()] == [("q/a", "x")]
    assert asked.next().key == "ns/1/q/*"
    inner = inside.declare_queryable("i/**", [reply("y", key="i/a")])
    settle(inside, inside)
    again = outside.declare_querier("ns/1/i/*")
    again.matching_listener().wait_for(bool)
    assert [(sample.key, sample.payload) for sample in outside.get("ns/1/i/*").samples()] == [("ns/1/i/a", "y")]
    assert inner.next().key == "i/*"


def test_tokens_are_of_the_namespace(spaced):
    inside, outside = spaced
    outer, inner = outside.liveliness_subscriber("**", history=True), inside.liveliness_subscriber("**", history=True)
    inside.liveliness_token("t")
    outside.liveliness_token("ns/2/t")
    outside.liveliness_token("ns/1/u")
    assert {sample.key for sample in outer.wait(3)} == {"ns/1/t", "ns/2/t", "ns/1/u"}
    assert {sample.key for sample in inner.wait(2)} == {"t", "u"}
