"""The reference implementation behind the driver protocol: a program, see README.md.

What the protocol asks of the reference's Python package it does directly; nothing is added or repaired, since what the
reference does is what the tests compare with.
"""

import datetime
import importlib.metadata
import itertools
import json
import queue
import sys
import threading
import time

import zenoh
import zenoh.ext
from reference_values import (
    NotAllowed,
    bytes_of,
    config_of,
    options_of,
    payload_of,
    query_fields,
    reply_fields,
    sample_fields,
    timestamp_of,
)


class Driver:
    """Handles, and the two ends of the protocol."""

    def __init__(self):
        self._handles = itertools.count()
        self._writing = threading.Lock()
        self._lanes = {}
        self.objects = {}

    def run(self):
        version = importlib.metadata.version("eclipse-zenoh")
        self.write({"event": "ready", "implementation": "reference", "version": version})
        for line in sys.stdin:
            request = json.loads(line)
            lane = request.pop("lane", 0)
            if lane not in self._lanes:
                self._lanes[lane] = queue.SimpleQueue()
                threading.Thread(target=self._serve, args=(self._lanes[lane],), daemon=True).start()
            self._lanes[lane].put(request)
        for item in list(self.objects.values()):
            if isinstance(item, zenoh.Session):
                item.close()
            elif isinstance(item, zenoh.Scout):
                # The package aborts the process at its end if scouting goes on.
                item.stop()

    def write(self, message):
        with self._writing:
            sys.stdout.write(json.dumps(message) + "\n")
            sys.stdout.flush()

    def add(self, item):
        handle = self.new_handle()
        self.objects[handle] = item
        return handle

    def new_handle(self):
        return next(self._handles)

    def _serve(self, requests):
        while True:
            request = requests.get()
            answer = {"id": request.pop("id"), "ok": True}
            try:
                operation = OPERATIONS.get(request.pop("op"))
                if operation is None:
                    raise NotAllowed("no such operation")
                answer.update(operation(self, request) or {})
                if request:
                    raise NotAllowed(f"unknown fields: {', '.join(request)}")
            except (NotAllowed, KeyError) as error:
                answer = {"id": answer["id"], "ok": False, "kind": "bad_request", "error": repr(error)}
            except (zenoh.ZError, TypeError, ValueError) as error:
                answer = {"id": answer["id"], "ok": False, "kind": "other", "error": str(error)}
            self.write(answer)


def callback(function, drop=None):
    """Calls `function` on the reference's own threads, in the order of delivery."""
    return zenoh.handlers.Callback(function, drop, indirect=False)


# Operations take what they know out of the request; what is left is an error.


def session_of(driver, request):
    return driver.objects[request.pop("session")]


def entity_of(driver, request):
    return driver.objects[request.pop("entity")]


def key_of(driver, request):
    key = request.pop("key")
    return driver.objects[key["entity"]] if isinstance(key, dict) else key


def open_session(driver, request):
    stamp = bytes_of(request, "stamp").get("stamp")
    options = {} if stamp is None else {"timestamp_callback": lambda context: stamp}
    session = zenoh.open(config_of(request), **options)
    return {"session": driver.add(session), "zid": str(session.zid())}


def close(driver, request):
    session_of(driver, request).close()


def info(driver, request):
    info = session_of(driver, request).info
    return {
        "zid": str(info.zid()),
        "routers": [str(zid) for zid in info.routers_zid()],
        "peers": [str(zid) for zid in info.peers_zid()],
        "locators": None,
    }


def new_timestamp(driver, request):
    return {"timestamp": str(session_of(driver, request).new_timestamp())}


def declare_keyexpr(driver, request):
    return {"entity": driver.add(session_of(driver, request).declare_keyexpr(key_of(driver, request)))}


def message_options(request, source, session):
    """Options of one message: put, delete, get and what goes through a publisher or querier."""
    options = options_of(request, "encoding", "congestion", "priority", "express", "destination")
    options |= bytes_of(request, "attachment")
    if "instrument" in request:
        wanted = request.pop("instrument")
        builder = zenoh.TimestampInstrumentationBuilder()
        builder = builder.set_send("send" in wanted).set_route("route" in wanted)
        options["timestamp_instrumentation"] = builder.set_receive("receive" in wanted).build()
    if request.get("timestamp") == "new":
        request.pop("timestamp")
        options["timestamp"] = session.new_timestamp()
    elif "timestamp" in request:
        options["timestamp"] = timestamp_of(request.pop("timestamp"))
    if "source_sn" in request:
        options["source_info"] = zenoh.SourceInfo(source.id, request.pop("source_sn"))
    return options


def put(driver, request):
    session = session_of(driver, request)
    key = key_of(driver, request)
    payload = payload_of(request) or b""
    session.put(key, payload, **message_options(request, session, session))


def delete(driver, request):
    session = session_of(driver, request)
    session.delete(key_of(driver, request), **message_options(request, session, session))


def declare_publisher(driver, request):
    session = session_of(driver, request)
    names = ("encoding", "congestion", "priority", "express", "reliability", "destination")
    publisher = session.declare_publisher(key_of(driver, request), **options_of(request, *names))
    handle = driver.add(publisher)
    driver.objects["session of", handle] = session
    return {"entity": handle, "eid": publisher.id.eid}


def publisher_of(driver, request):
    session = driver.objects["session of", request["entity"]]
    return entity_of(driver, request), session


def publisher_put(driver, request):
    publisher, session = publisher_of(driver, request)
    payload = payload_of(request) or b""
    publisher.put(payload, **message_options(request, publisher, session))


def publisher_delete(driver, request):
    publisher, session = publisher_of(driver, request)
    publisher.delete(**message_options(request, publisher, session))


def publisher_burst(driver, request):
    publisher, _ = publisher_of(driver, request)
    first, count, length = request.pop("first"), request.pop("count"), request.pop("len")
    started = time.perf_counter()
    for number in range(first, first + count):
        publisher.put(number.to_bytes(8, "little").ljust(length, b"\0"))
    return {"sent": count, "elapsed_us": int((time.perf_counter() - started) * 1e6)}


class Counter:
    """The counting handler of a subscriber."""

    def __init__(self):
        self.numbers = {"received": 0, "bytes": 0, "first": None, "last": None, "gaps": 0, "backwards": 0}
        self._next = {}
        self._changed = threading.Condition()

    def __call__(self, sample):
        payload = sample.payload.to_bytes()
        number = int.from_bytes(payload[:8], "little")
        with self._changed:
            numbers = self.numbers
            numbers["received"] += 1
            numbers["bytes"] += len(payload)
            if numbers["first"] is None:
                numbers["first"] = number
            numbers["last"] = number
            expected = self._next.get(str(sample.key_expr), number)
            numbers["gaps"] += max(0, number - expected)
            numbers["backwards"] += number < expected
            self._next[str(sample.key_expr)] = max(expected, number + 1)
            self._changed.notify_all()

    def wait(self, count, timeout):
        with self._changed:
            reached = self._changed.wait_for(lambda: self.numbers["received"] >= count, timeout)
            return {"reached": reached, **self.numbers}


def sample_handler(driver, handle, wanted):
    kind = wanted.pop("kind", "events")
    if kind == "events":
        delay = wanted.pop("delay_ms", 0) / 1000

        def report(sample):
            driver.write({"event": "sample", "entity": handle, **sample_fields(sample)})
            if delay:
                time.sleep(delay)

        return callback(report), None
    if kind == "count":
        counter = Counter()
        return callback(counter), counter
    if kind == "fifo":
        return zenoh.handlers.FifoChannel(wanted.pop("capacity")), None
    if kind == "ring":
        return zenoh.handlers.RingChannel(wanted.pop("capacity")), None
    raise NotAllowed(f"no handler {kind}")


def declare_subscriber(driver, request):
    handle = driver.new_handle()
    handler, counter = sample_handler(driver, handle, request.pop("handler", {}))
    session, key = session_of(driver, request), key_of(driver, request)
    driver.objects["counter of", handle] = counter
    driver.objects[handle] = session.declare_subscriber(key, handler, **options_of(request, "origin"))
    return {"entity": handle}


def wait(driver, request):
    counter = driver.objects["counter of", request.pop("entity")]
    if counter is None:
        raise NotAllowed("wait needs the counting handler")
    return counter.wait(request.pop("count"), request.pop("timeout_ms") / 1000)


def recv(driver, request):
    subscriber = entity_of(driver, request)
    deadline = time.monotonic() + request.pop("timeout_ms") / 1000
    while True:
        try:
            sample = subscriber.try_recv()
        except zenoh.ZError:
            return {"sample": None, "closed": True}
        if sample is not None or time.monotonic() >= deadline:
            return {"sample": sample and sample_fields(sample), "closed": False}
        # The package's channels have no wait with a deadline.
        time.sleep(0.001)


def declare_queryable(driver, request):
    session, key = session_of(driver, request), key_of(driver, request)
    handle = driver.new_handle()
    rules, delay_ms = request.pop("replies", []), request.pop("finalize_delay_ms", 0)
    slow = delay_ms or any(rule.get("delay_ms") for rule in rules)

    def answer(query):
        with query:
            for rule in rules:
                send_replies(query, str(key), dict(rule))
            time.sleep(delay_ms / 1000)

    def report(query):
        driver.write({"event": "query", "entity": handle, **query_fields(query)})
        if slow:
            threading.Thread(target=answer, args=(query,), daemon=True).start()
        else:
            answer(query)

    options = options_of(request, "complete", "origin")
    driver.objects[handle] = session.declare_queryable(key, callback(report), **options)
    return {"entity": handle}


def send_replies(query, own_key, rule):
    kind, key = rule.pop("kind", "put"), rule.pop("key", own_key)
    payload = payload_of(rule) or b""
    options = options_of(rule, "encoding", "express") | bytes_of(rule, "attachment")
    if "timestamp" in rule:
        options["timestamp"] = timestamp_of(rule.pop("timestamp"))
    if rule.pop("echo", False):
        payload = query.payload or b""
        options["encoding"] = query.encoding or "zenoh/bytes"
        options["attachment"] = query.attachment
    delay = rule.pop("delay_ms", 0) / 1000
    for number in range(rule.pop("count", 1)):
        if delay:
            time.sleep(delay)
        numbered = key.replace("{i}", str(number))
        if kind == "put":
            query.reply(numbered, payload, **options)
        elif kind == "delete":
            query.reply_del(numbered, **{name: options[name] for name in options if name != "encoding"})
        else:
            query.reply_err(payload, **{name: options[name] for name in options if name == "encoding"})


def reply_handler(driver, handle):
    def report(reply):
        driver.write({"event": "reply", "get": handle, **reply_fields(reply)})

    return callback(report, lambda: driver.write({"event": "get_done", "get": handle}))


def start_query(driver, start):
    """Runs `start(handler, token)` with what every kind of query has."""
    handle, token = driver.new_handle(), zenoh.CancellationToken()
    driver.objects[handle] = token
    start(reply_handler(driver, handle), token)
    return {"get": handle}


def get(driver, request):
    session, selector = session_of(driver, request), request.pop("selector")
    options = options_of(request, "target", "consolidation", "accept_replies", "timeout_ms")
    payload = payload_of(request)
    options |= message_options(request, session, session)
    if payload is not None:
        options["payload"] = payload
    return start_query(
        driver, lambda handler, token: session.get(selector, handler, cancellation_token=token, **options)
    )


def declare_querier(driver, request):
    session, key = session_of(driver, request), key_of(driver, request)
    names = ("target", "consolidation", "accept_replies", "timeout_ms")
    names += ("congestion", "priority", "express", "destination")
    return {"entity": driver.add(session.declare_querier(key, **options_of(request, *names)))}


def querier_get(driver, request):
    querier = entity_of(driver, request)
    payload = payload_of(request)
    options = {"parameters": request.pop("parameters", "")} | message_options(request, querier, None)
    if payload is not None:
        options["payload"] = payload
    return start_query(driver, lambda handler, token: querier.get(handler, cancellation_token=token, **options))


def cancel(driver, request):
    driver.objects[request.pop("get")].cancel()


def liveliness_token(driver, request):
    liveliness = session_of(driver, request).liveliness()
    return {"entity": driver.add(liveliness.declare_token(key_of(driver, request)))}


def liveliness_subscriber(driver, request):
    handle = driver.new_handle()
    handler, _ = sample_handler(driver, handle, {})
    liveliness = session_of(driver, request).liveliness()
    options = {"history": request.pop("history", False)}
    driver.objects[handle] = liveliness.declare_subscriber(key_of(driver, request), handler, **options)
    return {"entity": handle}


def liveliness_get(driver, request):
    liveliness, key = session_of(driver, request).liveliness(), key_of(driver, request)
    options = options_of(request, "timeout_ms")
    return start_query(driver, lambda handler, token: liveliness.get(key, handler, cancellation_token=token, **options))


def matching_status(driver, request):
    return {"matching": entity_of(driver, request).matching_status.matching}


def matching_listener(driver, request):
    handle = driver.new_handle()

    def report(status):
        driver.write({"event": "matching", "entity": handle, "matching": status.matching})

    driver.objects[handle] = entity_of(driver, request).declare_matching_listener(callback(report))
    return {"entity": handle}


def declare_advanced_publisher(driver, request):
    session = session_of(driver, request)
    options = options_of(request, "encoding", "congestion", "priority", "express", "destination", "publisher_detection")
    if "cache" in request:
        options["cache"] = zenoh.ext.CacheConfig(request.pop("cache"))
    if "miss_detection" in request:
        wanted = request.pop("miss_detection")
        periods = {name.removesuffix("_ms"): value / 1000 for name, value in wanted.items()}
        options["sample_miss_detection"] = zenoh.ext.MissDetectionConfig(**periods)
    publisher = zenoh.ext.declare_advanced_publisher(session, key_of(driver, request), **options)
    handle = driver.add(publisher)
    driver.objects["session of", handle] = session
    return {"entity": handle, "eid": publisher.id.eid}


def declare_advanced_subscriber(driver, request):
    handle = driver.new_handle()
    handler, _ = sample_handler(driver, handle, {})
    session, key = session_of(driver, request), key_of(driver, request)
    options = options_of(request, "subscriber_detection")
    if "history" in request:
        wanted = request.pop("history")
        options["history"] = zenoh.ext.HistoryConfig(
            detect_late_publishers=wanted.get("late_publishers"),
            max_samples=wanted.get("max_samples"),
            max_age=wanted["max_age_ms"] / 1000 if "max_age_ms" in wanted else None,
        )
    if "recovery" in request:
        period_ms = request.pop("recovery").get("period_ms")
        period = None if period_ms is None else datetime.timedelta(milliseconds=period_ms)
        options["recovery"] = zenoh.ext.RecoveryConfig(
            periodic_queries=period, heartbeat=True if period is None else None
        )
    driver.objects[handle] = zenoh.ext.declare_advanced_subscriber(session, key, handler, **options)
    return {"entity": handle}


def sample_miss_listener(driver, request):
    handle = driver.new_handle()

    def report(miss):
        source = {"zid": str(miss.source.zid), "eid": miss.source.eid}
        driver.write({"event": "miss", "entity": handle, "source": source, "count": miss.nb})

    driver.objects[handle] = entity_of(driver, request).sample_miss_listener(callback(report))
    return {"entity": handle}


def detect_publishers(driver, request):
    handle = driver.new_handle()
    handler, _ = sample_handler(driver, handle, {})
    subscriber, history = entity_of(driver, request), request.pop("history", False)
    driver.objects[handle] = subscriber.detect_publishers(handler, history=history)
    return {"entity": handle}


def scout(driver, request):
    handle = driver.new_handle()

    def report(hello):
        found = {"zid": str(hello.zid), "whatami": str(hello.whatami), "locators": list(hello.locators)}
        driver.write({"event": "hello", "entity": handle, **found})

    driver.objects[handle] = zenoh.scout(callback(report), what=request.pop("what"), config=config_of(request))
    return {"entity": handle}


def undeclare(driver, request):
    entity = driver.objects.pop(request.pop("entity"))
    if isinstance(entity, zenoh.Scout):
        entity.stop()
    elif isinstance(entity, zenoh.KeyExpr):
        raise NotAllowed("a declared key expression ends with its session")
    else:
        entity.undeclare()


OPERATIONS = {
    operation.__name__: operation
    for operation in (
        close, info, new_timestamp, declare_keyexpr, put, delete, declare_publisher, publisher_put,
        publisher_delete, publisher_burst, declare_subscriber, wait, recv, declare_queryable, get, declare_querier,
        querier_get, cancel, liveliness_token, liveliness_subscriber, liveliness_get, matching_status,
        matching_listener, declare_advanced_publisher, declare_advanced_subscriber, sample_miss_listener,
        detect_publishers, scout, undeclare,
    )
} | {"open": open_session}  # fmt: skip

if __name__ == "__main__":
    Driver().run()
