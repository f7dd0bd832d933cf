"""Network namespaces: a loopback of one's own, and two hosts with a cable between them, where the kernel allows."""

import contextlib
import functools
import os
import subprocess

NAME = f"weft-bench-{os.getpid()}"

# Addresses on the cable; they exist inside of the two namespaces only.
CABLE = ("10.231.7.1", "10.231.7.2")


@functools.cache
def unavailable() -> str | None:
    """Why there are none, if so."""
    try:
        with private():
            return None
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", None) or str(error)
        return f"no network namespaces: {said.strip()}"


@contextlib.contextmanager
def private():
    """A namespace with a loopback interface that nobody else uses; its name."""
    name = f"{NAME}-lo"
    with _namespace(name):
        yield name


@contextlib.contextmanager
def cable(mbit: int | None):
    """Two namespaces joined by a pair of interfaces, each sending at most `mbit` megabits a second; their names."""
    names = (f"{NAME}-a", f"{NAME}-b")
    with _namespace(names[0]), _namespace(names[1]):
        ends = ("weft0", "weft1")
        _ip("link", "add", ends[0], "netns", names[0], "type", "veth", "peer", "name", ends[1], "netns", names[1])
        for name, end, address in zip(names, ends, CABLE, strict=True):
            _ip("-n", name, "address", "add", f"{address}/24", "dev", end)
            _ip("-n", name, "link", "set", end, "up")
            if mbit:
                shape = ("tbf", "rate", f"{mbit}mbit", "burst", "64kb", "latency", "20ms")
                _run("tc", "-n", name, "qdisc", "add", "dev", end, "root", *shape)
        yield names


@contextlib.contextmanager
def _namespace(name: str):
    _ip("netns", "add", name)
    try:
        _ip("-n", name, "link", "set", "lo", "up")
        yield
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


def _ip(*words: str):
    _run("ip", *words)


def _run(*words: str):
    subprocess.run(words, check=True, capture_output=True, text=True)
