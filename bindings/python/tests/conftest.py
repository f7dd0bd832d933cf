"""Sessions on the loopback interface, and waiting for things to happen."""

from __future__ import annotations

import contextlib
import itertools
import random
import socket
import subprocess
import sys
import time

import pytest

import weft

_numbers = itertools.count()

DEADLINE = 10.0
"""How long anything may take, in seconds."""


def until(condition, what="the condition"):
    """Waits for ``condition`` to be true, and returns what it returned."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.002)
    raise AssertionError(f"timed out waiting for {what}")


def free_port():
    """A port of the loopback interface that nobody listens on, for who cannot be asked which one it took.

    From below the range that the system hands out by itself, so that nobody gets it by accident.
    """
    for port in random.sample(range(20_000, 30_000), 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no free port")


def config(**settings):
    """A configuration that neither scouts nor listens, but for what ``settings`` say (``a__b`` is ``a/b``)."""
    made = weft.Config()
    quiet = {"scouting__multicast__enabled": False, "listen__endpoints": []}
    for path, value in {**quiet, **settings}.items():
        made.insert_json5(path.replace("__", "/"), value)
    return made


def listening():
    """A session that listens on a port that the system chose, and its locator."""
    session = weft.open(config(listen__endpoints=["tcp/127.0.0.1:0"]))
    return session, session.info.locators()[0]


@pytest.fixture
def alone():
    """One session without a network."""
    with weft.open(config()) as session:
        yield session


@pytest.fixture
def pair():
    """Two connected sessions."""
    first, locator = listening()
    with first, weft.open(config(connect__endpoints=[locator])) as second:
        until(lambda: first.info.peers_zid() and second.info.peers_zid(), "the connection")
        settle(first, second)
        settle(second, first)
        yield first, second


def settle(origin, observer):
    """Waits until `observer` knows all that `origin` wants; before, it sends it everything."""
    key = f"test/settle/{next(_numbers)}"
    subscriber, publisher = origin.declare_subscriber(key), observer.declare_publisher(key)
    until(lambda: publisher.matching_status.matching, "a declaration")
    publisher.undeclare()
    subscriber.undeclare()


@pytest.fixture
def key():
    """A key of the test's own."""
    return f"test/python/{next(_numbers)}"


def run_script(text, *arguments, timeout=30.0, **options):
    """Runs a Python program and returns what became of it."""
    return subprocess.run(
        [sys.executable, "-c", text, *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        **options,
    )
