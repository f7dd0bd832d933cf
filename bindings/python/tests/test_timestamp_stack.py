"""What is recorded of messages on their way."""

from __future__ import annotations

import pytest
from conftest import config, listening, until

import weft

SEND, ROUTE, RECEIVE = weft.InterceptionPoint
ENDS = weft.TimestampInstrumentationBuilder().set_send(True).set_receive(True).build()


def test_builders_make_new_builders():
    empty = weft.TimestampInstrumentationBuilder()
    send = empty.set_send(True)
    with pytest.raises(weft.ZError):
        empty.build()
    with pytest.raises(weft.ZError):
        send.set_send(False).build()
    for built, points in (
        (send.build(), {SEND}),
        (ENDS, {SEND, RECEIVE}),
        (send.set_route(True).set_receive(True).build(), {SEND, ROUTE, RECEIVE}),
    ):
        assert {it for it in weft.InterceptionPoint if built.is_instrumented(it)} == points


def check(stack, count):
    assert stack.instrumentation == ENDS and len(stack.records) == count
    assert [it.point for it in stack.records] == [SEND, RECEIVE] * (count // 2)
    assert all(isinstance(it.timestamp(), weft.Timestamp) and not it.is_custom for it in stack.records)
    times = [it.timestamp().get_time_as_ntp64() for it in stack.records]
    assert times == sorted(times)


def test_samples(pair, key):
    first, second = pair
    subscriber = second.declare_subscriber(key)
    publisher = first.declare_publisher(key)
    until(lambda: publisher.matching_status, "the subscriber")
    publisher.put("x", timestamp_instrumentation=ENDS)
    publisher.delete(timestamp_instrumentation=ENDS)
    first.put(key, "x", timestamp_instrumentation=ENDS)
    first.delete(key, timestamp_instrumentation=ENDS)
    for _ in range(4):
        check(subscriber.recv().timestamp_stack, 2)
    publisher.put("x")
    assert subscriber.recv().timestamp_stack is None


def test_queries_and_replies(pair, key):
    first, second = pair
    stacks = []

    def answer(query):
        stacks.append(query.timestamp_stack)
        query.reply(key, "x")
        query.reply_err("y")

    queryable = second.declare_queryable(key, answer)
    querier = first.declare_querier(key)
    until(lambda: querier.matching_status, "the queryable")
    for replies in (
        first.get(key, timestamp_instrumentation=ENDS),
        querier.get(timestamp_instrumentation=ENDS),
    ):
        replies = list(replies)
        assert len(replies) == 2
        for reply in replies:
            check(reply.result.timestamp_stack, 4)
    for stack in stacks:
        check(stack, 2)
    for reply in first.get(key):
        assert reply.result.timestamp_stack is None
    queryable.undeclare()


def test_records_of_a_programs_own(key):
    first, locator = listening()
    contexts = []

    def stamp(context):
        contexts.append(context)
        return b"mine"

    with first, weft.open(config(connect__endpoints=[locator]), timestamp_callback=stamp) as second:
        subscriber = first.declare_subscriber(key)
        publisher = second.declare_publisher(key)
        until(lambda: publisher.matching_status, "the subscriber")
        publisher.put("x", timestamp_instrumentation=ENDS)
        sent, received = subscriber.recv().timestamp_stack.records
        assert sent.is_custom and sent.timestamp() == b"mine" and not received.is_custom
        assert len(contexts) == 1 and contexts[0].zid == second.zid()
        assert contexts[0].whatami is weft.WhatAmI.PEER


def test_a_callback_that_fails_is_logged(key, caplog):
    def stamp(context):
        raise LookupError("no clock")

    with weft.open(config(), timestamp_callback=stamp) as session:
        subscriber = session.declare_subscriber(key)
        session.put(key, "x", timestamp_instrumentation=ENDS)
        record = subscriber.recv().timestamp_stack.records[0]
        assert record.is_custom and record.timestamp() == b""
    assert {it.name for it in caplog.records} == {"zenoh"}
