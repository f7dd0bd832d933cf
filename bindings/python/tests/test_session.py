"""Sessions and what is declared through them: two peers in one process, over TCP."""

from __future__ import annotations

import gc
import threading
import warnings
import weakref

import pytest
from conftest import config, listening, until

import weft


@pytest.mark.parametrize("size", [1024, 131_072])
def test_a_thousand_queries_have_a_thousand_replies(pair, key, size):
    asked = []
    payload = bytes(size)

    def answer(query):
        asked.append(query.selector)
        query.reply(key, payload)

    first, second = pair
    queryable = first.declare_queryable(key, answer, complete=False)
    querier = second.declare_querier(key)
    until(lambda: querier.matching_status, "the queryable")
    count = 1000 if size < 4096 else 200
    for _ in range(count):
        replies = list(second.get(key))
        assert [len(reply.ok.payload) for reply in replies] == [size]
    assert len(asked) == count
    queryable.undeclare()


def test_publications_keep_what_they_are(pair, key):
    got = []
    first, second = pair
    subscriber = first.declare_subscriber(key, got.append)
    publisher = second.declare_publisher(
        key,
        priority=weft.Priority.DATA_HIGH,
        congestion_control=weft.CongestionControl.BLOCK,
        reliability=weft.Reliability.RELIABLE,
        encoding=weft.Encoding.TEXT_PLAIN,
        express=True,
    )
    until(lambda: publisher.matching_status.matching, "the subscriber")
    for number in range(1000):
        publisher.put(f"sample {number}")
    until(lambda: len(got) == 1000, "the samples")
    for number, sample in enumerate(got):
        assert sample.key_expr == key and str(sample.payload) == f"sample {number}"
        assert sample.priority is weft.Priority.DATA_HIGH
        assert sample.congestion_control is weft.CongestionControl.BLOCK
        assert sample.kind is weft.SampleKind.PUT and sample.express
        assert sample.encoding == weft.Encoding.TEXT_PLAIN
        assert sample.timestamp is None and sample.attachment is None and sample.source_info is None
    assert publisher.priority is weft.Priority.DATA_HIGH and publisher.key_expr == key
    assert publisher.reliability is weft.Reliability.RELIABLE
    assert publisher.id.zid == second.zid()
    publisher.undeclare()
    subscriber.undeclare()


def test_queriers(pair, key):
    first, second = pair
    seen = []

    def answer(query):
        seen.append((str(query.selector), query.payload and bytes(query.payload), query.attachment))
        query.reply(query.key_expr, "yes", encoding="text/plain", attachment=b"a")
        query.reply_err("no")

    queryable = first.declare_queryable(f"{key}/*", answer, complete=True)
    querier = second.declare_querier(
        f"{key}/*", target=weft.QueryTarget.ALL, consolidation=weft.ConsolidationMode.NONE, timeout=5
    )
    until(lambda: querier.matching_status, "the queryable")
    plain = list(querier.get())
    assert sorted(str((it.ok or it.err).payload) for it in plain) == ["no", "yes"]
    replies = list(querier.get(parameters={"x": "1"}, payload=b"p", encoding="a/b"))
    assert seen == [(f"{key}/*", None, None), (f"{key}/*?x=1", b"p", None)]
    sample = next(reply.ok for reply in replies if reply.ok)
    assert sample.encoding == "text/plain" and sample.attachment == b"a"
    assert {it.replier_id for it in replies} == {queryable.id}
    error = next(reply.err for reply in replies if reply.err)
    assert error.kind == "replier" and not error.is_timeout
    querier.undeclare()
    queryable.undeclare()


def test_deletions(pair, key):
    first, second = pair
    subscriber = first.declare_subscriber(key)
    publisher = second.declare_publisher(key)
    until(lambda: publisher.matching_status, "the subscriber")
    publisher.delete(attachment=b"why")
    second.delete(key)
    for sample in (subscriber.recv(), subscriber.recv()):
        assert sample.kind is weft.SampleKind.DELETE and not sample.payload
        assert sample.encoding == weft.Encoding.ZENOH_BYTES


def test_what_travels_with_a_payload(alone, key):
    subscriber = alone.declare_subscriber(key)
    stamp = alone.new_timestamp()
    source = weft.SourceInfo(alone.id, 5)
    alone.put(key, b"x", timestamp=stamp, source_info=source, attachment="y", encoding="a/b;c")
    sample = subscriber.recv()
    assert sample.timestamp == stamp and sample.source_info == source
    assert sample.attachment == b"y" and sample.encoding == "a/b;c"


def test_localities(pair, key):
    first, second = pair
    here = first.declare_subscriber(key, allowed_origin=weft.Locality.SESSION_LOCAL)
    anywhere = first.declare_subscriber(key)
    remote = second.declare_publisher(key)
    until(lambda: remote.matching_status, "the subscriber")
    remote.put("remote")
    assert anywhere.recv().payload == "remote"
    first.put(key, "local", allowed_destination=weft.Locality.SESSION_LOCAL)
    assert here.recv().payload == "local" and anywhere.recv().payload == "local"
    assert here.try_recv() is None
    remote.undeclare()


def test_replies_on_other_keys(alone, key):
    refused = []

    def answer(query):
        assert query.accepts_replies() is weft.ReplyKeyExpr.MATCHING_QUERY
        try:
            query.reply("elsewhere", b"")
        except weft.ZError as error:
            refused.append(str(error))

    with alone.declare_queryable(key, answer):
        assert list(alone.get(key)) == []
    assert key in refused[0] and "elsewhere" in refused[0]
    with alone.declare_queryable(key, lambda query: query.reply("elsewhere", b"")):
        replies = list(alone.get(key, accept_replies=weft.ReplyKeyExpr.ANY))
    assert [reply.ok.key_expr for reply in replies] == ["elsewhere"]


def test_qos_of_replies_is_that_of_the_query(alone, key):
    def answer(query):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            query.reply(key, b"", priority=weft.Priority.DATA_LOW)
            query.reply_del(key, congestion_control=weft.CongestionControl.DROP)
        assert [it.category for it in caught] == [DeprecationWarning] * 2

    with alone.declare_queryable(key, answer):
        replies = list(alone.get(key, priority=weft.Priority.REAL_TIME, consolidation=weft.ConsolidationMode.NONE))
    assert [reply.ok.priority for reply in replies] == [weft.Priority.REAL_TIME] * 2
    assert [reply.ok.kind for reply in replies] == [weft.SampleKind.PUT, weft.SampleKind.DELETE]


@pytest.mark.parametrize("end", ["drop", "leave", "forget"])
def test_queries_end_when_they_are_dropped(alone, key, end):
    kept = []
    with alone.declare_queryable(key, kept.append):
        replies = alone.get(key, timeout=60)
        query = until(lambda: kept and kept.pop(), "the query")
        assert replies.try_recv() is None
        if end == "drop":
            query.drop()
            query.drop()
        elif end == "leave":
            with query as entered:
                assert entered is query
        if end != "forget":
            assert repr(query) == "Query { dropped }"
            with pytest.raises(weft.ZError, match="Dropped query"):
                query.key_expr  # noqa: B018
        del query
        assert list(replies) == []


def test_timeouts_are_told_from_errors(alone, key):
    kept = []
    with alone.declare_queryable(key, kept.append):
        (reply,) = list(alone.get(key, timeout=0.05))
    assert reply.err.is_timeout and reply.err.kind == "timeout" and reply.replier_id is None
    assert reply.err.payload == "Timeout" and reply.err.encoding == "zenoh/string"
    assert reply.result.is_timeout and reply.ok is None
    with pytest.raises(ValueError, match="negative timeout"):
        alone.get(key, timeout=-1)


def test_nobody_to_ask(alone, key):
    assert list(alone.get(key)) == []


def test_matching_listeners(alone, key):
    with alone.declare_publisher(key) as publisher:
        listener = publisher.declare_matching_listener()
        assert listener.try_recv() is None and not publisher.matching_status
        subscriber = alone.declare_subscriber(key)
        assert listener.recv().matching
        assert repr(publisher.matching_status) == "MatchingStatus { matching: true }"
        subscriber.undeclare()
        assert not listener.recv()
    with pytest.raises(weft.ZError):
        listener.recv()


def test_liveliness(pair, key):
    first, second = pair
    subscriber = first.liveliness().declare_subscriber(f"{key}/*")
    token = second.liveliness().declare_token(f"{key}/a")
    appeared = subscriber.recv()
    assert appeared.key_expr == f"{key}/a" and appeared.kind is weft.SampleKind.PUT
    assert [it.ok.key_expr for it in first.liveliness().get(f"{key}/*")] == [f"{key}/a"]
    late = first.liveliness().declare_subscriber(f"{key}/*", history=True)
    assert late.recv().key_expr == f"{key}/a"
    token.undeclare()
    assert subscriber.recv().kind is weft.SampleKind.DELETE
    with pytest.raises(weft.ZError, match="Undeclared LivelinessToken"):
        token.undeclare()
    with second.liveliness().declare_token(f"{key}/b"):
        assert subscriber.recv().key_expr == f"{key}/b"
    assert subscriber.recv().kind is weft.SampleKind.DELETE
    dropped = second.liveliness().declare_token(f"{key}/c")
    assert subscriber.recv().key_expr == f"{key}/c"
    del dropped
    gc.collect()
    assert subscriber.recv().kind is weft.SampleKind.DELETE


def test_information(pair):
    first, second = pair
    assert first.info.peers_zid() == [second.zid()] and first.info.routers_zid() == []
    (transport,) = first.info.transports()
    assert transport.zid == second.zid() and transport.whatami is weft.WhatAmI.PEER
    assert transport.is_qos and not transport.is_shm and not transport.is_multicast
    assert transport == first.info.transports()[0]
    (link,) = first.info.links()
    assert link.dst.startswith("tcp/127.0.0.1:") and link.is_streamed and link.zid == second.zid()
    assert link.group is None and link.priorities is None and link.reliability is None
    for table in (first.info._repr_html_(), transport._repr_html_(), link._repr_html_()):
        assert table.startswith("<table>") and table.endswith("</table>")


def test_events_of_transports_and_links():
    first, locator = listening()
    with first:
        transports = first.info.declare_transport_events_listener()
        links = first.info.declare_link_events_listener()
        second = weft.open(config(connect__endpoints=[locator]))
        assert transports.recv().kind is weft.SampleKind.PUT
        assert links.recv().link.zid == second.zid()
        late = first.info.declare_transport_events_listener(history=True)
        assert late.recv().transport.zid == second.zid()
        second.close()
        assert transports.recv().kind is weft.SampleKind.DELETE
        assert links.recv().kind is weft.SampleKind.DELETE


def test_closing(key):
    session = weft.open(config())
    subscriber = session.declare_subscriber(key)
    publisher = session.declare_publisher(key)
    querier = session.declare_querier(key)
    declared = session.declare_keyexpr(key)
    session.put(declared, "last")
    assert not session.is_closed()
    session.close()
    session.close()
    assert session.is_closed() and "closed" in repr(session)
    assert subscriber.recv().payload == "last"
    with pytest.raises(weft.ZError, match="channel is empty and closed"):
        subscriber.recv()
    assert list(subscriber) == []
    for refused in (
        lambda: session.put(key, b""),
        lambda: session.delete(key),
        lambda: session.get(key),
        lambda: publisher.put(b""),
        lambda: querier.get(),
        lambda: session.declare_subscriber(key),
        lambda: session.declare_queryable(key, print),
        lambda: session.declare_publisher(key),
        lambda: session.declare_querier(key),
        lambda: session.declare_keyexpr(key),
        lambda: session.liveliness().declare_token(key),
    ):
        with pytest.raises(weft.ZError, match="session closed") as error:
            refused()
        assert error.value.kind == "session_closed"
    assert session.zid() == session.info.zid() and session.new_timestamp()
    for entity in (subscriber, publisher, querier):
        entity.undeclare()
    session.undeclare(declared)


def test_undeclared_entities_say_so(alone, key):
    for entity, name in (
        (alone.declare_publisher(key), "publisher"),
        (alone.declare_subscriber(key), "subscriber"),
        (alone.declare_queryable(key), "queryable"),
        (alone.declare_querier(key), "querier"),
    ):
        assert key in repr(entity)
        alone.undeclare(entity)
        assert repr(entity).endswith("(undeclared)")
        with pytest.raises(weft.ZError, match=f"Undeclared {name}"):
            entity.undeclare()
        with pytest.raises(weft.ZError, match=f"Undeclared {name}"):
            entity.key_expr  # noqa: B018
    with pytest.raises(TypeError):
        alone.undeclare(5)


def test_declared_key_expressions(alone, key):
    declared = alone.declare_keyexpr(key)
    assert declared == key
    alone.undeclare(declared)
    with pytest.raises(weft.ZError, match="not declared"):
        alone.undeclare(declared)


def test_blocks_end_what_they_begin(key):
    with weft.open(config()) as session:
        with session.declare_subscriber(key) as subscriber, session.declare_publisher(key) as publisher:
            publisher.put("x")
            assert subscriber.recv().payload == "x"
        with pytest.raises(weft.ZError):
            publisher.put("y")
        with pytest.raises(KeyError), session.declare_queryable(key):
            raise KeyError
    assert session.is_closed()


def test_garbage_is_undeclared_and_closed(key):
    first, locator = listening()
    with first:
        second = weft.open(config(connect__endpoints=[locator]))
        publisher = first.declare_publisher(key)
        subscriber = second.declare_subscriber(key)
        until(lambda: publisher.matching_status, "the subscriber")
        del subscriber
        gc.collect()
        until(lambda: not publisher.matching_status, "its end")
        gone = weakref.ref(second)
        del second
        gc.collect()
        assert gone() is None
        until(lambda: not first.info.peers_zid(), "the end of the session")


def test_a_bare_callback_stays(pair, key):
    got = []
    first, second = pair
    first.declare_subscriber(key, got.append)
    gc.collect()
    publisher = second.declare_publisher(key)
    until(lambda: publisher.matching_status, "the subscriber")
    publisher.put("x")
    until(lambda: got, "the sample")


@pytest.mark.parametrize("background", [True, False])
def test_what_stays_can_be_told(pair, key, background):
    first, second = pair
    publisher, querier = second.declare_publisher(key), second.declare_querier(key)
    token = second.liveliness().declare_token(key)
    got = []
    handlers = weft.handlers
    handler = handlers.DefaultHandler() if background else got.append
    channel = first.declare_subscriber(key, handler, background=background).handler
    first.declare_queryable(key, handler, background=background)
    watched = first.liveliness().declare_subscriber(key, handler, history=True, background=background).handler
    gc.collect()
    until(lambda: publisher.matching_status.matching == querier.matching_status.matching == background, "both")
    if background:
        publisher.put("x")
        assert channel.recv().payload == "x"
        assert watched.recv().kind == weft.SampleKind.PUT
    token.undeclare()
    if background:
        assert watched.recv().kind == weft.SampleKind.DELETE


def test_threads_publish_on_one_publisher(alone, key):
    got = []
    alone.declare_subscriber(key, got.append)
    publisher = alone.declare_publisher(key, congestion_control=weft.CongestionControl.BLOCK)

    def publish():
        for _ in range(2000):
            publisher.put(b"x")

    threads = [threading.Thread(target=publish) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    until(lambda: len(got) == 8000, "the samples")


def test_opening_fails_with_reasons():
    with pytest.raises(weft.ZError) as error:
        weft.open(config(mode='"client"'))
    assert error.value.kind == "open"
    busy, locator = listening()
    with busy, pytest.raises(weft.ZError) as error:
        weft.open(config(listen__endpoints=[locator]))
    assert error.value.kind == "open"


def test_scouting_stops():
    scout = weft.scout(what="router|peer", config=config())
    assert scout.try_recv() is None and repr(scout) == "Scout()"
    scout.stop()
    with pytest.raises(weft.ZError, match="Stopped scout"):
        scout.try_recv()
    with weft.scout(print, weft.WhatAmI.PEER | weft.WhatAmI.ROUTER) as scout:
        assert scout.handler is None


def test_reprs_are_one_line(pair, key):
    first, second = pair
    subscriber = first.declare_subscriber(key)
    token = weft.CancellationToken()
    first.put(key, "x" * 1000)
    sample = subscriber.recv()
    for thing in (first, first.info, first.liveliness(), subscriber, subscriber.handler, sample, token):
        text = repr(thing)
        assert "\n" not in text and "object at 0x" not in text and len(text) < 250, text
    assert repr(subscriber.handler) == "Handler[Sample](0 queued)"
    assert str(first.zid()) in repr(first)
    assert "&lt;b&gt;" in weft_sample(first, key, "<b>")._repr_html_()


def weft_sample(session, key, payload):
    with session.declare_subscriber(key) as subscriber:
        session.put(key, payload)
        return subscriber.recv()
