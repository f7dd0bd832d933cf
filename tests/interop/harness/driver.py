"""The test's end of the driver protocol: one node, in a process of its own, that a test steers.

`Weft` and `Reference` differ in the program that they start and in nothing else, so that a test is written once and
holds for either implementation on either side.
"""

import itertools
import json
import pathlib
import sys
import threading

from .inbox import WAIT_SECONDS, Closed, Inbox
from .places import binary
from .process import LineProcess
from .values import Hello, Query, Reply, Sample, attachment_fields, payload_fields


class DriverError(Exception):
    """The implementation refused a request. `kind` is stable text, `message` is for people."""

    def __init__(self, kind, message):
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message


class Driver:
    """A driver process: any number of sessions of one implementation."""

    def __init__(self, command, name, env=None):
        self.name = name
        self._ids = itertools.count(1)
        self._state = threading.Lock()
        self._ended = None
        self._inboxes = {}
        # Responses arrive in inboxes too, one for each request in flight.
        self._responses = {}
        self._ready = Inbox(f"{name}: start")
        self._process = LineProcess(command, self._handle_line, self._handle_end, env=env)
        self._process.start()
        try:
            self.version = self._ready.next()["version"]
        except BaseException:
            self._process.kill()
            raise

    # Requests

    def send(self, op, *, lane=0, **fields):
        """Sends a request and returns the `Response` to come, which is called to wait for it.

        Fields that are `None` are left out. Requests of one lane run in turn, those of different lanes side by side.
        """
        request = next(self._ids)
        response = Inbox(f"{self.name}: {op}")
        with self._state:
            if self._ended:
                response.close(self._ended)
            self._responses[request] = response
        fields = {name: value for name, value in fields.items() if value is not None}
        if lane:
            fields["lane"] = lane
        try:
            self._process.write_line(json.dumps({"id": request, "op": op, **fields}))
        except (OSError, ValueError):
            self._handle_end()

        return Response(response)

    def request(self, op, *, timeout=WAIT_SECONDS, **fields):
        """Sends a request and returns its response. Raises `DriverError` if the implementation refuses it."""
        return self.send(op, **fields)(timeout)

    def open(self, mode="peer", connect=(), listen=(), config=None, stamp=None):
        """Opens a session. Multicast scouting is off unless `config` (path to value) switches it on. With a `stamp` (bytes)
        that is what it records of messages instead of timestamps."""
        return self.start_opening(mode, connect, listen, config, stamp)()

    def start_opening(self, mode="peer", connect=(), listen=(), config=None, stamp=None):
        """As `open`, but returns a function that waits for the session."""
        config = {"scouting/multicast/enabled": False, **(config or {})}
        endpoints = {"connect": list(connect), "listen": list(listen)}
        opening = self.send("open", mode=mode, config=config, stamp_hex=stamp and stamp.hex(), **endpoints)

        def wait(timeout=WAIT_SECONDS):
            answer = opening(timeout)
            return Session(self, answer["session"], answer["zid"])

        return wait

    def scout(self, what="router|peer|client", config=None):
        """Scouts until undeclared."""
        return Scout(self, self.request("scout", what=what, config=config or {})["entity"])

    # The process

    @property
    def pid(self):
        return self._process.pid

    @property
    def stderr(self):
        """The last lines of what the node logged."""
        return self._process.stderr

    def signal(self, number):
        self._process.signal(number)

    def kill(self):
        """SIGKILL: the node's neighbours learn of it from the operating system at best."""
        self._process.kill()

    def close(self, timeout=WAIT_SECONDS):
        """Closes all sessions and ends the process. Raises if it does not end well. Harmless after `kill`."""
        if self._process.returncode is not None:
            return
        self._process.close_stdin()
        try:
            status = self._process.wait(timeout)
        except TimeoutError:
            self._process.kill()
            raise
        if status != 0:
            raise RuntimeError(f"{self.name} ended with status {status}; stderr:\n{self.stderr}")

    # What the process writes

    def inbox(self, handle):
        """What arrives for a handle. Events may come before the response that tells the handle."""
        with self._state:
            if handle not in self._inboxes:
                self._inboxes[handle] = Inbox(f"{self.name}: entity {handle}")
                if self._ended:
                    self._inboxes[handle].close(self._ended)
            return self._inboxes[handle]

    def _handle_line(self, line):
        try:
            self._handle_message(json.loads(line))
        except (ValueError, LookupError, TypeError) as error:
            # On the reading thread nobody would see the exception: whoever waits shall.
            self._fail(f"it wrote a line that is not protocol ({error!r}): {line[:200]}")

    def _handle_message(self, message):
        event = message.get("event")
        if event is None:
            with self._state:
                response = self._responses.pop(message["id"])
            response.put(message)
        elif event == "ready":
            self._ready.put(message)
        elif event == "get_done":
            self.inbox(message["get"]).close(_DONE)
        elif event == "reply":
            self.inbox(message["get"]).put(Reply.of(message))
        else:
            self.inbox(message["entity"]).put(_EVENTS[event](message))

    def _handle_end(self):
        self._fail(f"the process ended; stderr:\n{self._process.stderr}")

    def _fail(self, reason):
        """Ends every wait, present and future."""
        with self._state:
            self._ended = self._ended or reason
            waiting = [self._ready, *self._responses.values(), *self._inboxes.values()]
        for inbox in waiting:
            inbox.close(self._ended)


# Why the inbox of a query is closed when all went well.
_DONE = "the query is done"

_EVENTS = {
    "sample": Sample.of,
    "query": Query.of,
    "matching": lambda fields: fields["matching"],
    "miss": lambda fields: (fields["source"], fields["count"]),
    "hello": Hello.of,
}


class Weft(Driver):
    """The node under test."""

    def __init__(self, env=None):
        super().__init__([binary("weft-driver")], "weft", env)


class Reference(Driver):
    """The reference implementation, by its Python package."""

    def __init__(self, env=None):
        program = pathlib.Path(__file__).with_name("reference_driver.py")
        super().__init__([sys.executable, program], "reference", env)


class Response:
    """The response to a request in flight. Called, it waits for the response and returns it."""

    def __init__(self, inbox):
        self._inbox = inbox

    def __call__(self, timeout=WAIT_SECONDS):
        answer = self._inbox.next(timeout)
        if not answer["ok"]:
            raise DriverError(answer["kind"], answer["error"])
        return answer

    def has_come(self):
        """Whether there is nothing to wait for: it has come, or the process has gone."""
        return bool(self._inbox.items) or self._inbox.is_closed


class Session:
    """A session of a driver. Keys are text, or what `declare_keyexpr` returned.

    Options are passed as the protocol names them (README.md): `priority=2`, `congestion="block"`, `express=True`, …
    """

    def __init__(self, driver, handle, zid):
        self.driver = driver
        self.zid = zid
        self._handle = handle
        self._declared = []

    def close(self):
        self._request("close")

    def undeclare_all(self):
        """Undeclares what was declared through this session and still is, the newest first."""
        while self._declared:
            entity = self._declared.pop()
            if not entity.undeclared:
                entity.undeclare()

    def info(self):
        """`zid`, `routers`, `peers` and `locators`."""
        return self._request("info")

    def new_timestamp(self):
        return self._request("new_timestamp")["timestamp"]

    def declare_keyexpr(self, key):
        return Entity(self.driver, self._request("declare_keyexpr", key=key)["entity"])

    def put(self, key, payload, attachment=None, **options):
        fields = {**payload_fields(payload), **attachment_fields(attachment), **options}
        self._request("put", key=_key(key), **fields)

    def delete(self, key, attachment=None, **options):
        self._request("delete", key=_key(key), **attachment_fields(attachment), **options)

    def declare_publisher(self, key, **options):
        return self._declare(Publisher, "declare_publisher", key=_key(key), **options)

    def declare_subscriber(self, key, **options):
        return self._declare(Subscriber, "declare_subscriber", key=_key(key), **options)

    def declare_queryable(self, key, replies=(), **options):
        """`replies` are made by `reply`; each query is answered with all of them."""
        return self._declare(Queryable, "declare_queryable", key=_key(key), replies=list(replies), **options)

    def get(self, selector, payload=None, attachment=None, **options):
        fields = {**payload_fields(payload), **attachment_fields(attachment), **options}
        return Get(self.driver, self._request("get", selector=selector, **fields)["get"])

    def declare_querier(self, key, **options):
        return self._declare(Querier, "declare_querier", key=_key(key), **options)

    def liveliness_token(self, key):
        return self._declare(Entity, "liveliness_token", key=_key(key))

    def liveliness_subscriber(self, key, history=False):
        return self._declare(Subscriber, "liveliness_subscriber", key=_key(key), history=history)

    def liveliness_get(self, key, **options):
        return Get(self.driver, self._request("liveliness_get", key=_key(key), **options)["get"])

    def declare_advanced_publisher(self, key, **options):
        """`cache` is a number of samples, `miss_detection` a dictionary with at most one of two periods."""
        return self._declare(Publisher, "declare_advanced_publisher", key=_key(key), **options)

    def declare_advanced_subscriber(self, key, **options):
        """`history` and `recovery` are dictionaries; they may be empty."""
        return self._declare(AdvancedSubscriber, "declare_advanced_subscriber", key=_key(key), **options)

    def _request(self, op, **fields):
        return self.driver.request(op, session=self._handle, **fields)

    def _declare(self, kind, op, **fields):
        entity = kind(self.driver, self._request(op, **fields)["entity"])
        self._declared.append(entity)
        return entity


def _key(key):
    """Text, or a reference to a declared key expression."""
    return {"entity": key.handle} if isinstance(key, Entity) else key


def reply(payload=None, *, kind="put", attachment=None, **options):
    """A reply of a queryable: `kind` is put, delete or error; `key`, `encoding`, `timestamp`, `delay_ms`, `count`, …"""
    return {"kind": kind, **payload_fields(payload), **attachment_fields(attachment), **options}


def echo(**options):
    """A reply with the payload, encoding and attachment of the query."""
    return {"kind": "put", "echo": True, **options}


class Entity:
    """Something declared that ends with `undeclare`."""

    def __init__(self, driver, handle):
        self.driver = driver
        self.handle = handle
        self.undeclared = False

    def undeclare(self):
        self._request("undeclare")
        self.undeclared = True

    def _request(self, op, **fields):
        return self.driver.request(op, entity=self.handle, **fields)


class Receiver(Entity):
    """An entity to which things arrive, in the order in which the implementation delivered them."""

    @property
    def inbox(self):
        return self.driver.inbox(self.handle)

    def wait(self, count, timeout=WAIT_SECONDS):
        return self.inbox.wait(count, timeout)

    def wait_for(self, predicate, timeout=WAIT_SECONDS):
        return self.inbox.wait_for(predicate, timeout)

    def next(self, timeout=WAIT_SECONDS):
        return self.inbox.next(timeout)

    @property
    def items(self):
        return self.inbox.items


class Scout(Receiver):
    """Receives a `Hello` for each answer, repeatedly."""


class Matching(Receiver):
    """Receives true or false at each change."""


class Queryable(Receiver):
    """Receives each `Query` after having started to answer it."""


class Subscriber(Receiver):
    """Receives each `Sample`, if declared with the handler that reports events, which is the default."""

    def wait_count(self, count, timeout=60.0):
        """With the counting handler: the statistics once `count` samples have arrived. Raises `TimeoutError`."""
        answer = self._request("wait", count=count, timeout_ms=int(timeout * 1000), timeout=timeout + WAIT_SECONDS)
        if not answer["reached"]:
            raise TimeoutError(f"waited {timeout} s for {count} samples: {answer}")
        return answer

    def statistics(self):
        """With the counting handler: what has arrived so far."""
        return self._request("wait", count=0, timeout_ms=0)

    def recv(self, timeout=WAIT_SECONDS):
        """With a channel handler: the next sample. Raises `TimeoutError`, or `Closed` at the channel's end."""
        answer = self._request("recv", timeout_ms=int(timeout * 1000), timeout=timeout + WAIT_SECONDS)
        if answer["closed"]:
            raise Closed("the channel is closed")
        if answer["sample"] is None:
            raise TimeoutError(f"waited {timeout} s for a sample")
        return Sample.of(answer["sample"])


class AdvancedSubscriber(Subscriber):
    """Receives each `Sample`, repeated ones included."""

    def miss_listener(self):
        """Receives how many samples in a row are missed, each time."""
        return Receiver(self.driver, self._request("sample_miss_listener")["entity"])

    def detect_publishers(self, history=False):
        """Receives a `Sample` for each publisher that appears or disappears."""
        return Receiver(self.driver, self._request("detect_publishers", history=history)["entity"])


class _Matched(Entity):
    """A publisher or querier: knows whether somebody listens."""

    def matching_status(self):
        return self._request("matching_status")["matching"]

    def matching_listener(self):
        return Matching(self.driver, self._request("matching_listener")["entity"])


class Publisher(_Matched):
    def put(self, payload, attachment=None, **options):
        self._request("publisher_put", **payload_fields(payload), **attachment_fields(attachment), **options)

    def delete(self, attachment=None, **options):
        self._request("publisher_delete", **attachment_fields(attachment), **options)

    def burst(self, count, first=0, length=8, timeout=60.0):
        """Puts `count` messages of `length` bytes, numbered from `first`; see the counting handler."""
        return self._request("publisher_burst", count=count, first=first, len=length, timeout=timeout)


class Querier(_Matched):
    def get(self, payload=None, attachment=None, **options):
        fields = {**payload_fields(payload), **attachment_fields(attachment), **options}
        return Get(self.driver, self._request("querier_get", **fields)["get"])


class Get:
    """A query in flight, which collects its replies."""

    def __init__(self, driver, handle):
        self.driver = driver
        self.handle = handle

    @property
    def inbox(self):
        return self.driver.inbox(self.handle)

    def replies(self, timeout=WAIT_SECONDS):
        """All replies, once the query is done."""
        reason = self.inbox.wait_closed(timeout)
        if reason != _DONE:
            raise Closed(f"{self.driver.name}: {reason}")
        return self.inbox.items

    def samples(self, timeout=WAIT_SECONDS):
        """The samples of all replies, once the query is done. Raises `AssertionError` if one is an error."""
        replies = self.replies(timeout)
        errors = [reply for reply in replies if reply.error is not None]
        assert not errors, f"error replies: {errors}"
        return [reply.sample for reply in replies]

    def cancel(self):
        """Returns once running callbacks have; the query is done then."""
        self.driver.request("cancel", get=self.handle)
