"""Handlers: channels, callbacks, and their ends."""

from __future__ import annotations

import logging
import queue
import threading
import time
import warnings

import pytest
from conftest import config, until

import weft
from weft.handlers import Callback, DefaultHandler, FifoChannel, RingChannel


@pytest.mark.parametrize("handler", [None, DefaultHandler(), FifoChannel(4), RingChannel(4)])
def test_channels(alone, key, handler):
    subscriber = alone.declare_subscriber(key, handler)
    assert isinstance(subscriber.handler, weft.Handler)
    assert subscriber.try_recv() is None
    for number in range(3):
        alone.put(key, str(number))
    assert subscriber.recv().payload == "0" and subscriber.try_recv().payload == "1"
    handler = subscriber.handler
    subscriber.undeclare()
    assert [str(sample.payload) for sample in handler] == ["2"]
    for receive in (handler.recv, handler.try_recv, handler.recv_many):
        with pytest.raises(weft.ZError) as error:
            receive()
        assert error.value.kind == "closed"


def test_rings_drop_the_oldest(alone, key):
    subscriber = alone.declare_subscriber(key, RingChannel(2))
    for number in range(5):
        alone.put(key, str(number))
    assert [str(subscriber.recv().payload) for _ in range(2)] == ["3", "4"]
    assert subscriber.try_recv() is None
    last = alone.declare_subscriber(key, RingChannel(0))
    alone.put(key, "a")
    alone.put(key, "b")
    assert last.recv().payload == "b" and last.try_recv() is None


def test_capacities():
    for channel in (FifoChannel, RingChannel):
        with pytest.raises(OverflowError):
            channel(-1)
        assert repr(channel(5)) == f"{channel.__name__}(5)"


def test_a_full_fifo_blocks_the_publisher(alone, key):
    subscriber = alone.declare_subscriber(key, FifoChannel(2))
    put = []

    def publish():
        for number in range(5):
            alone.put(key, str(number))
            put.append(number)

    thread = threading.Thread(target=publish)
    thread.start()
    until(lambda: len(put) == 2, "room for two")
    time.sleep(0.05)
    assert len(put) == 2
    assert [str(subscriber.recv().payload) for _ in range(5)] == list("01234")
    thread.join()


def test_batches(alone, key):
    subscriber = alone.declare_subscriber(key)
    for number in range(10):
        alone.put(key, str(number))
    assert [str(it.payload) for it in subscriber.recv_many(3)] == ["0", "1", "2"]
    assert len(subscriber.recv_many()) == 7
    assert subscriber.recv_many(timeout=0.01) == []
    assert subscriber.handler.recv_many(timeout=0) == []


def test_a_callback_is_called_in_order_and_elsewhere(alone, key):
    got = []
    subscriber = alone.declare_subscriber(key, lambda it: got.append((it, threading.get_ident())))
    assert subscriber.handler is None
    for number in range(1000):
        alone.put(key, str(number))
    subscriber.undeclare()
    assert [str(sample.payload) for sample, _ in got] == [str(number) for number in range(1000)]
    assert len({thread for _, thread in got}) == 1 and got[0][1] != threading.get_ident()


def test_a_direct_callback_is_called_by_the_publisher(alone, key):
    got = []
    callback = Callback(lambda it: got.append(threading.get_ident()), indirect=False)
    with alone.declare_subscriber(key, callback):
        alone.put(key, "x")
        assert got == [threading.get_ident()]


@pytest.mark.parametrize("indirect", [True, False])
def test_the_drop_hook_is_called_once_after_the_last_call(alone, key, indirect):
    events = []
    callback = Callback(lambda it: events.append("call"), lambda: events.append("drop"), indirect=indirect)
    assert callback.indirect is indirect and callback.drop and callable(callback)
    subscriber = alone.declare_subscriber(key, callback)
    alone.put(key, "x")
    alone.put(key, "y")
    subscriber.undeclare()
    assert events == ["call", "call", "drop"]
    events.clear()
    alone.get(key, callback)
    until(lambda: events == ["drop"], "the end of the query")


def test_a_callback_with_an_object(alone, key):
    got = queue.Queue()
    got.recv, got.try_recv = got.get, got.get_nowait
    subscriber = alone.declare_subscriber(key, (got.put, got))
    assert subscriber.handler is got
    alone.put(key, "x")
    assert subscriber.recv().payload == "x"
    items = []
    subscriber = alone.declare_subscriber(key, (items.append, items))
    alone.put(key, "y")
    until(lambda: items, "the sample")
    assert [str(it.payload) for it in subscriber] == ["y"]


def test_two_functions_are_a_callback_and_an_object(alone, key):
    with pytest.warns(UserWarning, match="^Passing drop-callback"):
        subscriber = alone.declare_subscriber(key, (print, len))
    assert subscriber.handler is len


@pytest.mark.parametrize("handler", [5, "x", (), (1, 2), (print,), [print, 1]])
def test_what_is_no_handler(alone, key, handler):
    with pytest.raises(ValueError, match="Invalid handler type"):
        alone.declare_subscriber(key, handler)


def test_a_bare_callback_has_no_receiver(alone, key):
    subscriber = alone.declare_subscriber(key, print)
    for method in ("recv", "try_recv", "recv_many", "recv_async"):
        with pytest.raises(AttributeError):
            getattr(subscriber, method)()
    with pytest.raises(TypeError):
        iter(subscriber)


@pytest.mark.parametrize("indirect", [True, False])
def test_an_exception_is_logged_and_delivery_goes_on(alone, key, indirect, caplog):
    got = []

    def fail(sample):
        got.append(str(sample.payload))
        raise LookupError(got[-1])

    def fail_at_the_end():
        raise KeyError("end")

    with caplog.at_level(logging.ERROR):
        subscriber = alone.declare_subscriber(key, Callback(fail, fail_at_the_end, indirect=indirect))
        alone.put(key, "a")
        alone.put(key, "b")
        subscriber.undeclare()
    assert got == ["a", "b"]
    records = [it for it in caplog.records if it.name == "zenoh.handlers"]
    assert [it.getMessage() for it in records] == ["callback error"] * 3
    assert [it.exc_info[0] for it in records] == [LookupError, LookupError, KeyError]
    assert "raise LookupError" in caplog.text


# What calls a callback: each makes `handler` the callback of something of `session`, and has it called.
CALLERS = {
    "subscriber": lambda session, other, key, handler: (
        session.declare_subscriber(key, handler),
        matched(other.declare_publisher(key)).put("x"),
    ),
    "subscriber of its own": lambda session, other, key, handler: (
        session.declare_subscriber(key, handler),
        session.put(key, "x"),
    ),
    "queryable": lambda session, other, key, handler: (
        session.declare_queryable(key, handler),
        matched(other.declare_querier(key)).get(lambda reply: None),
    ),
    "reply": lambda session, other, key, handler: (
        other.declare_queryable(key, lambda query: query.reply(key, "x")),
        matched(session.declare_querier(key)).get(handler),
    ),
    "token": lambda session, other, key, handler: (
        session.liveliness().declare_subscriber(key, handler),
        other.liveliness().declare_token(key),
    ),
    "matching": lambda session, other, key, handler: (
        publisher := session.declare_publisher(key),
        publisher.declare_matching_listener(handler),
        other.declare_subscriber(key),
    ),
    "transport": lambda session, other, key, handler: (
        session.info.declare_transport_events_listener(handler, history=True),
    ),
}


def everything(session, key):
    """Calls all that may wait or deliver, and returns what came of it."""
    found = []
    inner = session.declare_subscriber(f"{key}/inner")
    session.put(f"{key}/inner", "put")
    with session.declare_publisher(f"{key}/inner") as publisher:
        publisher.put("publisher")
        publisher.delete()
    found += [str(sample.payload) for sample in inner.recv_many(3)]
    inner.undeclare()
    with session.declare_queryable(f"{key}/ask", lambda query: query.reply(f"{key}/ask", "get")):
        token = weft.CancellationToken()
        found += [str(reply.ok.payload) for reply in session.get(f"{key}/ask", cancellation_token=token)]
        with session.declare_querier(f"{key}/ask") as querier:
            found += [str(reply.ok.payload) for reply in querier.get()]
        token.cancel()
    with session.liveliness().declare_token(f"{key}/token"):
        found += [str(reply.ok.kind) for reply in session.liveliness().get(f"{key}/token")]
    with weft.open(config()) as another:
        found.append(another.is_closed())
    session.undeclare(session.declare_keyexpr(f"{key}/declared"))
    return found


@pytest.mark.parametrize("indirect", [True, False])
@pytest.mark.parametrize("caller", CALLERS)
def test_everything_may_be_called_in_every_callback(pair, key, caller, indirect):
    session, other = pair
    once, outcome = threading.Lock(), queue.Queue()

    def callback(_):
        if once.acquire(blocking=False):
            try:
                found = everything(session, key)
                session.close()
                outcome.put(found)
            except BaseException as error:
                outcome.put(error)

    kept = CALLERS[caller](session, other, key, Callback(callback, indirect=indirect))
    found = outcome.get(timeout=10)
    assert found == ["put", "publisher", "", "get", "get", "SampleKind.PUT", False], found
    assert session.is_closed() and kept


def matched(declared):
    until(lambda: declared.matching_status, "a match")
    return declared


@pytest.mark.parametrize("indirect", [True, False])
@pytest.mark.parametrize("what", ["undeclare", "close"])
def test_a_callback_may_end_itself(alone, key, indirect, what):
    done = threading.Event()

    def callback(sample):
        (subscriber.undeclare if what == "undeclare" else alone.close)()
        done.set()

    subscriber = alone.declare_subscriber(key, Callback(callback, indirect=indirect))
    alone.put(key, "x")
    assert done.wait(10)


@pytest.mark.parametrize("indirect", [True, False])
@pytest.mark.parametrize("what", ["undeclare", "close"])
def test_the_end_waits_for_a_callback_that_runs(pair, key, indirect, what):
    first, second = pair
    running, finished = threading.Event(), []

    def callback(sample):
        running.set()
        time.sleep(0.3)
        finished.append(sample)

    subscriber = first.declare_subscriber(key, Callback(callback, indirect=indirect))
    publisher = second.declare_publisher(key)
    until(lambda: publisher.matching_status, "the subscriber")
    publisher.put("x")
    assert running.wait(10)
    (subscriber.undeclare if what == "undeclare" else first.close)()
    assert finished


KINDS = {
    "get": lambda session, key, handler, token: session.get(key, handler, cancellation_token=token),
    "querier": lambda session, key, handler, token: session.declare_querier(key).get(
        handler, cancellation_token=token
    ),
    "liveliness": lambda session, key, handler, token: session.liveliness().get(
        key, handler, cancellation_token=token
    ),
}


@pytest.mark.parametrize("kind", ["get", "querier"])
def test_cancelling_closes_the_channel(alone, key, kind):
    kept = []
    with alone.declare_queryable(key, kept.append):
        token = weft.CancellationToken()
        replies = KINDS[kind](alone, key, None, token)
        assert replies.try_recv() is None and not token.is_cancelled
        token.cancel()
        token.cancel()
        assert token.is_cancelled and repr(token) == "CancellationToken(is_cancelled=True)"
        with pytest.raises(weft.ZError):
            replies.try_recv()


@pytest.mark.parametrize("kind", KINDS)
def test_cancelling_waits_for_the_callback(alone, key, kind):
    running, finished = threading.Event(), []

    def callback(reply):
        running.set()
        time.sleep(0.3)
        finished.append(reply)

    token = weft.CancellationToken()
    with alone.declare_queryable(key, lambda query: query.reply(key, b"")):
        alive = alone.liveliness().declare_token(key)
        KINDS[kind](alone, key, callback, token)
        assert running.wait(10)
        token.cancel()
        assert len(finished) == 1
        alive.undeclare()


@pytest.mark.parametrize("kind", KINDS)
def test_a_cancelled_token_refuses(alone, key, kind):
    token = weft.CancellationToken()
    token.cancel()
    threads = threading.active_count()
    with pytest.raises(weft.ZError, match="Query was cancelled") as error:
        KINDS[kind](alone, key, print, token)
    assert error.value.kind == "cancelled" and threading.active_count() == threads


def test_no_warnings_from_ordinary_handlers(alone, key):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone.declare_subscriber(key, (print, []))
