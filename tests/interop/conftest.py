"""Fixtures of the interop tests. What they give is described in README.md."""

import json

import pytest
import zenoh

from harness import network
from harness.cli import Cli
from harness.driver import Reference, Weft
from harness.ports import free_locator, free_port
from harness.relay import Relay

_DRIVERS = {"weft": Weft, "reference": Reference}


def pytest_addoption(parser):
    parser.addoption(
        "--sides",
        default="weft/reference,reference/weft",
        help="which implementations the fixtures left and right are, in turn, for each test that uses them; "
        "reference/reference checks the test itself",
    )


def pytest_generate_tests(metafunc):
    """Runs a test that asks for `left` or `right` once for each pair of `--sides`, one that asks for `net` once for each
    network: all of them, or those of its mark `networks`."""
    sides = metafunc.config.getoption("sides")
    if "_sides" in metafunc.fixturenames:
        metafunc.parametrize("_sides", sides.split(","))
    if "_site" in metafunc.fixturenames:
        mark = metafunc.definition.get_closest_marker("networks")
        plans = list(mark.args if mark else network.ALL)
        if sides == "reference/reference":
            plans = list(dict.fromkeys(plan.replace("W", "R") for plan in plans))
        # The scope lets all tests of a network run in a row, whatever file they are in.
        metafunc.parametrize("_site", plans, indirect=True, scope="session")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call":
        item.stash[_FAILED] = report.failed
    return report


_FAILED = pytest.StashKey()


@pytest.fixture(scope="session")
def _site(request):
    site = network.Site(request.param)
    yield site
    site.discard()


@pytest.fixture
def net(_site, request):
    """Two nodes that are linked directly or through a third one; see `harness/network.py`."""
    opened = _site.network()
    yield network.Net(opened)
    if request.node.stash.get(_FAILED, True):
        _site.discard()
    else:
        opened.reset()


@pytest.fixture
def _sides():
    raise NotImplementedError("set by pytest_generate_tests")


@pytest.fixture
def driver():
    """`driver("weft")` or `driver("reference")` starts one more node process, ended after the test."""
    started = []

    def start(implementation, env=None):
        started.append(_DRIVERS[implementation](env))
        return started[-1]

    yield start
    _close_all(started)


@pytest.fixture
def left(_sides, driver):
    """A node process of the first implementation of the pair."""
    return driver(_sides.split("/")[0])


@pytest.fixture
def right(_sides, driver):
    """A node process of the second implementation of the pair."""
    return driver(_sides.split("/")[1])


@pytest.fixture
def weft(driver):
    """A Weft node process."""
    return driver("weft")


@pytest.fixture
def reference(driver):
    """A node process of the reference."""
    return driver("reference")


@pytest.fixture
def open_zenoh():
    """`open_zenoh(mode, connect, listen, config)` opens a session of the reference in the test's own process."""
    sessions = []

    def open(mode="peer", connect=(), listen=(), config=None):
        settings = {
            "mode": mode,
            "connect/endpoints": list(connect),
            "listen/endpoints": list(listen),
            "scouting/multicast/enabled": False,
            **(config or {}),
        }
        configuration = zenoh.Config()
        for path, value in settings.items():
            configuration.insert_json5(path, json.dumps(value))
        sessions.append(zenoh.open(configuration))
        return sessions[-1]

    yield open
    _close_all(sessions)


@pytest.fixture
def locator():
    """A loopback TCP locator that nobody listens on. For more than one, call `new_locator`."""
    return free_locator()


@pytest.fixture
def new_locator():
    """Each call gives another free loopback TCP locator."""
    return free_locator


@pytest.fixture
def relay():
    """`relay(locator)`: a relay before a node that listens there."""
    started = []

    def start(target):
        started.append(Relay(target))
        return started[-1]

    yield start
    _close_all(started)


@pytest.fixture
def multicast_group():
    """The reference's scouting group with a port of its own, so that nobody else's nodes answer."""
    return f"224.0.0.224:{free_port()}"


@pytest.fixture
def weft_cli():
    """The `weft` command."""
    cli = Cli()
    yield cli
    cli.close()


def _close_all(items):
    """Closes the newest first, all of them even if one fails; the first failure fails the test."""
    failures = []
    for item in reversed(items):
        try:
            item.close()
        except Exception as failure:
            failures.append(failure)
    if failures:
        raise failures[0]
