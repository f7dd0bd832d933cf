"""Our module at one end, the reference's at the other, as client, as peer and as router, in both directions.

Both modules have the same surface, so that one text is the program of either end. Ours at both ends proves that it is
a program at all.
"""

from __future__ import annotations

import itertools
import json
from types import ModuleType
from typing import Any, NamedTuple

import pytest
import zenoh
import zenoh.ext
from conftest import free_port, until

import weft
import weft.ext

NETWORKS = {"client": "router", "peer": "peer", "router": "client"}
"""The modes of the other end, and ours for each."""

_keys = (f"test/reference/{number}" for number in itertools.count())


class End(NamedTuple):
    """A module, and a session of it."""

    module: ModuleType
    session: Any


def session(module, mode, **settings):
    config = module.Config()
    quiet = {"mode": mode, "scouting/multicast/enabled": False, "listen/endpoints": []}
    for path, value in {**quiet, **settings}.items():
        config.insert_json5(path.replace("__", "/"), json.dumps(value))
    return module.open(config)


@pytest.fixture(
    scope="module",
    params=[(module, mode) for module in (zenoh, weft) for mode in NETWORKS],
    ids=lambda it: f"{it[0].__name__} {it[1]}",
)
def connected(request):
    """A session of ours, and one of the module and the mode that the parameter says."""
    theirs, mode = request.param
    modules = [(weft, NETWORKS[mode]), (theirs, mode)]
    # Who is connected to listens.
    if mode == "router":
        modules.reverse()
    (first, its_mode), (second, other_mode) = modules
    locator = f"tcp/127.0.0.1:{free_port()}"
    with session(first, its_mode, listen__endpoints=[locator]) as listens:
        with session(second, other_mode, connect__endpoints=[locator]) as connects:
            until(lambda: listens.info.transports() and connects.info.transports(), "the connection")
            ends = End(first, listens), End(second, connects)
            yield ends[::-1] if mode == "router" else ends


@pytest.fixture(params=["ours to theirs", "theirs to ours"])
def ends(request, connected):
    """Who publishes or asks, and who subscribes or answers."""
    return connected if request.param == "ours to theirs" else connected[::-1]


@pytest.fixture
def key():
    return next(_keys)


def receive(receiver, what="a sample"):
    """The next item. Waits for it where signals are handled, and not for ever."""
    # In a list, because some items are false.
    return until(lambda: [item for item in [receiver.try_recv()] if item is not None], what)[0]


def replies(handler):
    """All replies: results, in the order in which they came."""
    found = []

    def ended():
        try:
            while (reply := handler.try_recv()) is not None:
                found.append(reply.ok or reply.err)
        except (weft.ZError, zenoh.ZError):
            return True

    until(ended, "the last reply")
    return found


def matched(declared):
    """Waits until somebody is there for a publisher or querier, and returns it."""
    until(lambda: declared.matching_status.matching, "a match")
    return declared


def test_sessions_know_each_other(connected):
    for one, other in (connected, connected[::-1]):
        (transport,) = one.session.info.transports()
        (link,) = one.session.info.links()
        assert str(transport.zid) == str(link.zid) == str(other.session.zid())
        assert link.src.startswith("tcp/127.0.0.1:") and link.is_streamed
        assert transport.is_qos and not transport.is_multicast


def test_a_publication_arrives_with_all_that_it_has(ends, key):
    sender, receiver = ends
    subscriber = receiver.session.declare_subscriber(f"{key}/**")
    there = sender.module
    publisher = matched(
        sender.session.declare_publisher(
            f"{key}/a/b",
            encoding=there.Encoding.TEXT_PLAIN,
            priority=there.Priority.INTERACTIVE_HIGH,
            congestion_control=there.CongestionControl.BLOCK,
            express=True,
        )
    )
    stamp = sender.session.new_timestamp()
    publisher.put("text", attachment=b"\0more", timestamp=stamp)
    sample = receive(subscriber)
    here = receiver.module
    assert str(sample.key_expr) == f"{key}/a/b"
    assert sample.payload.to_string() == "text" and sample.attachment.to_bytes() == b"\0more"
    assert sample.kind == here.SampleKind.PUT and str(sample.encoding) == "text/plain"
    assert sample.priority == here.Priority.INTERACTIVE_HIGH and sample.express
    assert sample.congestion_control == here.CongestionControl.BLOCK
    assert str(sample.timestamp) == str(stamp)
    assert sample.timestamp.get_time() == stamp.get_time()
    assert bytes(sample.timestamp.get_id()) == bytes(stamp.get_id())

    publisher.put(there.ZBytes(b""), encoding=there.Encoding("text/json;v2"))
    sample = receive(subscriber)
    assert (len(sample.payload), sample.attachment, str(sample.encoding)) == (0, None, "text/json;v2")
    publisher.delete(attachment="gone")
    sample = receive(subscriber)
    assert sample.kind == here.SampleKind.DELETE and sample.attachment.to_string() == "gone"


def test_put_and_delete_of_a_session(ends, key):
    sender, receiver = ends
    subscriber = receiver.session.declare_subscriber(f"{key}/*/end")
    there = sender.module
    matched(sender.session.declare_publisher(f"{key}/1/end"))
    declared = sender.session.declare_keyexpr(f"{key}/2/end")
    sender.session.put(f"{key}/not", b"this")
    for name, priority in ((f"{key}/1/end", "BACKGROUND"), (declared, "REAL_TIME")):
        sender.session.put(name, bytearray(b"\xff\0"), priority=getattr(there.Priority, priority))
        sample = receive(subscriber)
        assert (str(sample.key_expr), sample.payload.to_bytes()) == (str(name), b"\xff\0")
        assert sample.priority == getattr(receiver.module.Priority, priority)
        assert str(sample.encoding) == "zenoh/bytes"
        sender.session.delete(name)
        assert receive(subscriber).kind == receiver.module.SampleKind.DELETE
    sender.session.undeclare(declared)


def test_encodings(ends, key):
    sender, receiver = ends
    names = [name for name in dir(weft.Encoding) if name.isupper()]
    assert len(names) == 53 and all(hasattr(zenoh.Encoding, name) for name in names)
    subscriber = receiver.session.declare_subscriber(key)
    publisher = matched(sender.session.declare_publisher(key))
    for name in names:
        plain = getattr(sender.module.Encoding, name)
        for encoding in (plain, plain.with_schema("a;b")):
            publisher.put(b"", encoding=encoding)
            assert str(receive(subscriber).encoding) == str(encoding)
    publisher.put(b"", encoding="made/up;of=this")
    assert str(receive(subscriber).encoding) == "made/up;of=this"


def test_order_in_callbacks(ends, key):
    sender, receiver = ends
    seen = []
    subscriber = receiver.session.declare_subscriber(key, lambda sample: seen.append(sample.payload.to_bytes()))
    block = sender.module.CongestionControl.BLOCK
    publisher = matched(sender.session.declare_publisher(key, congestion_control=block))
    sent = [number.to_bytes(2, "little") for number in range(1000)]
    for payload in sent:
        publisher.put(payload)
    until(lambda: len(seen) >= len(sent), "the samples")
    assert seen == sent
    subscriber.undeclare()


def test_large_payloads(ends, key):
    sender, receiver = ends
    large = bytes(range(250)) * 12_000
    subscriber = receiver.session.declare_subscriber(key)
    block = sender.module.CongestionControl.BLOCK
    publisher = matched(sender.session.declare_publisher(key, congestion_control=block))
    publisher.put(large, attachment=large[:70_000])
    sample = receive(subscriber)
    assert sample.payload.to_bytes() == large and sample.attachment.to_bytes() == large[:70_000]

    queryable = receiver.session.declare_queryable(key, lambda query: query.reply(key, query.payload))
    querier = matched(sender.session.declare_querier(key))
    (reply,) = replies(querier.get(payload=large))
    assert reply.payload.to_bytes() == large
    queryable.undeclare()


def test_queries_and_replies(ends, key):
    asks, answers = ends
    there, here = answers.module, asks.module
    queries = []

    def answer(query):
        with query:
            queries.append((str(query.selector), query.payload and query.payload.to_string(), str(query.encoding)))
            assert query.attachment is None or query.attachment.to_bytes() == b"attached"
            stamp = answers.session.new_timestamp()
            query.reply(f"{key}/a", b"first", encoding=there.Encoding.TEXT_JSON, attachment="A", timestamp=stamp)
            query.reply_err("wrong", encoding=there.Encoding.TEXT_PLAIN)
            query.reply_del(f"{key}/b", attachment="B")

    queryable = answers.session.declare_queryable(f"{key}/*", answer, complete=True)
    matched(asks.session.declare_querier(f"{key}/*"))
    got = replies(
        asks.session.get(
            f"{key}/*?x=1;y",
            target=here.QueryTarget.ALL,
            consolidation=here.ConsolidationMode.NONE,
            payload="why",
            encoding=here.Encoding.ZENOH_STRING,
            attachment=b"attached",
        )
    )
    assert queries == [(f"{key}/*?x=1;y", "why", "zenoh/string")]
    samples = {str(got.key_expr): got for got in got if isinstance(got, here.Sample)}
    (error,) = (error for error in got if isinstance(error, here.ReplyError))
    first, second = samples[f"{key}/a"], samples[f"{key}/b"]
    assert (first.payload.to_bytes(), str(first.encoding), first.attachment.to_string()) == (b"first", "text/json", "A")
    assert first.timestamp is not None and first.kind == here.SampleKind.PUT
    assert second.kind == here.SampleKind.DELETE and second.attachment.to_string() == "B"
    assert (error.payload.to_string(), str(error.encoding)) == ("wrong", "text/plain")

    called = []
    asks.session.get(f"{key}/*", called.append)
    until(lambda: len(called) == 3, "the replies")
    assert queries[-1] == (f"{key}/*", None, "None")
    queryable.undeclare()


def test_a_query_that_nobody_answers(ends, key):
    asks, answers = ends
    assert replies(asks.session.get(key)) == []
    kept = answers.session.declare_queryable(key)
    matched(asks.session.declare_querier(key))
    handler = asks.session.get(key, timeout=0.3)
    query = receive(kept, "the query")
    # The node at the other end says it, too, and the asking one takes it if it is the first.
    assert {error.payload.to_string() for error in replies(handler)} == {"Timeout"}
    # What comes too late is for nobody.
    query.reply(key, b"late")
    query.drop()

    token = asks.module.CancellationToken()
    handler = asks.session.get(key, cancellation_token=token)
    query = receive(kept, "the query")
    token.cancel()
    assert replies(handler) == []
    query.drop()


def test_queriers(ends, key):
    asks, answers = ends
    querier = asks.session.declare_querier(key, consolidation=asks.module.ConsolidationMode.NONE)
    statuses = querier.declare_matching_listener()
    assert not querier.matching_status.matching
    queryable = answers.session.declare_queryable(key)
    assert receive(statuses, "the match").matching
    for number in range(3):
        handler = querier.get(parameters=f"n={number}", payload=bytes([number]), attachment=b"a")
        with receive(queryable, "the query") as query:
            assert str(query.selector) == f"{key}?n={number}" and query.attachment.to_bytes() == b"a"
            for reply in range(number):
                query.reply(key, bytes([reply]))
        assert [reply.payload.to_bytes() for reply in replies(handler)] == [bytes([n]) for n in range(number)]
    queryable.undeclare()
    assert not receive(statuses, "the end of the match").matching


def test_matching_of_publishers(ends, key):
    sender, receiver = ends
    publisher = sender.session.declare_publisher(f"{key}/a")
    statuses = publisher.declare_matching_listener()
    assert not publisher.matching_status.matching
    for _ in range(2):
        subscriber = receiver.session.declare_subscriber(f"{key}/**")
        assert receive(statuses, "the match").matching and publisher.matching_status.matching
        subscriber.undeclare()
        assert not receive(statuses, "the end of the match").matching
        assert not publisher.matching_status.matching
    publisher.undeclare()


def test_liveliness(ends, key):
    lives, watches = ends
    kinds = watches.module.SampleKind
    watcher = watches.session.liveliness().declare_subscriber(f"{key}/**")
    # The answer also says that the watcher is known there.
    assert replies(watches.session.liveliness().get(f"{key}/*")) == []
    token = lives.session.liveliness().declare_token(f"{key}/token")
    sample = receive(watcher, "the token")
    assert (sample.kind, str(sample.key_expr)) == (kinds.PUT, f"{key}/token")
    # Until, because a client of the reference now and then tells of no token, with a router of its own, too. On the wire is
    # the answer, token and end in one frame: one that comes at once is sometimes lost in the client.
    (reply,) = until(lambda: replies(watches.session.liveliness().get(f"{key}/*")), "the token")
    assert str(reply.key_expr) == f"{key}/token"
    late = watches.session.liveliness().declare_subscriber(f"{key}/**", history=True)
    assert str(receive(late, "the token of before").key_expr) == f"{key}/token"
    token.undeclare()
    for each in (watcher, late):
        # The reference's client may tell of a token again when it is asked for.
        while (sample := receive(each, "the end of the token")).kind == kinds.PUT:
            assert str(sample.key_expr) == f"{key}/token"
        assert str(sample.key_expr) == f"{key}/token"
    assert replies(watches.session.liveliness().get(f"{key}/*")) == []


def test_source_info(ends, key):
    sender, receiver = ends
    subscriber = receiver.session.declare_subscriber(key)
    publisher = matched(sender.session.declare_publisher(key))
    publisher.put(b"", source_info=sender.module.SourceInfo(publisher.id, 7))
    info = receive(subscriber).source_info
    assert info.source_sn == 7
    assert (str(info.source_id.zid), info.source_id.eid) == (str(sender.session.zid()), publisher.id.eid)


VALUES = [
    (bool, True),
    (int, -(1 << 31)),
    (float, 0.1),
    (str, "ü\0€"),
    (bytes, b"\0\xff"),
    (list[int], [1, -2, 3]),
    (list[str], []),
    (set[int], {4}),
    (tuple[int, str, bool], (1, "a", False)),
    (dict[str, list[float]], {"a": [0.5], "b": []}),
]


def test_serialized_values(ends, key):
    sender, receiver = ends
    subscriber = receiver.session.declare_subscriber(key)
    publisher = matched(sender.session.declare_publisher(key))
    there, here = sender.module.ext, receiver.module.ext
    sized = ["Int8", "Int16", "Int32", "Int64", "Int128", "UInt8", "UInt16", "UInt32", "UInt64", "UInt128", "Float32"]
    for tp, value in VALUES + [(getattr(here, name), getattr(there, name)(100)) for name in sized]:
        publisher.put(there.z_serialize(value))
        assert here.z_deserialize(tp, receive(subscriber).payload) == value, tp


def advanced_publisher(end, key, depth):
    ext = end.module.ext
    return ext.declare_advanced_publisher(
        end.session,
        key,
        cache=ext.CacheConfig(max_samples=depth),
        sample_miss_detection=ext.MissDetectionConfig(heartbeat=0.2),
        publisher_detection=True,
    )


def advanced_subscriber(end, key):
    ext = end.module.ext
    return ext.declare_advanced_subscriber(
        end.session,
        key,
        history=ext.HistoryConfig(detect_late_publishers=True),
        recovery=ext.RecoveryConfig(heartbeat=True),
        subscriber_detection=True,
    )


def texts(subscriber, count):
    return [receive(subscriber).payload.to_string() for _ in range(count)]


def test_advanced_subscribers_get_what_was_before_them(ends, key):
    sender, receiver = ends
    plain = receiver.session.declare_subscriber(key)
    matched(sender.session.declare_publisher(key)).undeclare()
    publisher = advanced_publisher(sender, key, 3)
    for number in range(5):
        publisher.put(str(number))
    # That none of them is still on its way: tokens have a higher priority and are there before.
    assert texts(plain, 5) == ["0", "1", "2", "3", "4"]
    # That the publisher is known there, and with it its cache.
    watcher = receiver.session.liveliness().declare_subscriber(f"{key}/@adv/**", history=True)
    until(lambda: key in str(receive(watcher, "the publisher").key_expr), "the publisher")
    subscriber = advanced_subscriber(receiver, key)
    assert texts(subscriber, 3) == ["2", "3", "4"]
    found = subscriber.detect_publishers(history=True)
    assert key in str(receive(found, "the publisher").key_expr)
    publisher.put("5")
    publisher.delete()
    assert texts(subscriber, 2) == ["5", ""]
    assert subscriber.try_recv() is None
    publisher.undeclare()
    assert receive(found, "its end").kind == receiver.module.SampleKind.DELETE


def test_advanced_subscribers_hear_of_publishers_that_come_later(ends, key):
    sender, receiver = ends
    subscriber = advanced_subscriber(receiver, key)
    misses = subscriber.sample_miss_listener()
    publisher = advanced_publisher(sender, key, 10)
    for number in range(4):
        publisher.put(str(number))
    assert texts(subscriber, 4) == ["0", "1", "2", "3"]
    assert misses.try_recv() is None


@pytest.mark.parametrize(
    ("depth", "found", "missed"),
    [(10, ["2", "3", "4"], None), (1, ["4"], 2)],
    ids=["in the cache", "not in the cache"],
)
@pytest.mark.parametrize(("sends", "receives"), [(weft, weft), (weft, zenoh), (zenoh, weft)])
def test_advanced_subscribers_ask_for_what_was_lost(key, sends, receives, depth, found, missed):
    locator = f"tcp/127.0.0.1:{free_port()}"
    # In a hurry: nobody waits for long for a router that is gone.
    client = {"connect__endpoints": [locator], "connect__retry": {"period_init_ms": 50, "period_max_ms": 50}}

    def router():
        return session(weft, "router", listen__endpoints=[locator])

    def linked(*sessions):
        return all(it.info.transports() for it in sessions)

    middle = router()
    with session(sends, "client", **client) as first, session(receives, "client", **client) as second:
        sender, receiver = End(sends, first), End(receives, second)
        publisher = advanced_publisher(sender, key, depth)
        ext = receives.ext
        watcher = first.liveliness().declare_subscriber(f"{key}/@adv/sub/**", history=True)
        subscriber = ext.declare_advanced_subscriber(
            second, key, recovery=ext.RecoveryConfig(heartbeat=True), subscriber_detection=True
        )
        misses = subscriber.sample_miss_listener()
        receive(watcher, "the subscriber, whose token comes after itself")
        publisher.put("1")
        assert texts(subscriber, 1) == ["1"]
        # All that is published while the router is gone is lost.
        middle.close()
        until(lambda: not (first.info.transports() or second.info.transports()), "the end of the links")
        for text in ["2", "3", "4"]:
            publisher.put(text)
        with router():
            until(lambda: linked(first, second), "the links")
            # A heartbeat tells the last number.
            assert texts(subscriber, len(found)) == found
            publisher.put("5")
            assert texts(subscriber, 1) == ["5"]
            if missed is None:
                assert misses.try_recv() is None
            else:
                assert receive(misses, "the miss").nb == missed
