"""The examples, each against its counterpart, on our module and on the reference's in turn."""

from __future__ import annotations

import os
import pathlib
import queue
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from conftest import free_port

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"
DEADLINE = 25.0
"""How long anything may take, in seconds."""

# The examples use nothing but what both modules have: the reference's stands in for ours.
ON_THE_REFERENCE = """
import runpy, sys
import zenoh, zenoh.ext, zenoh.shm
sys.modules.update({"weft": zenoh, "weft.ext": zenoh.ext, "weft.shm": zenoh.shm})
sys.path.insert(0, sys.argv[1].rpartition("/")[0])
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""

ENDS = [("weft", "weft"), ("weft", "zenoh"), ("zenoh", "weft")]


class Example:
    """A running example, and what it printed."""

    def __init__(self, module, name, *arguments):
        self.name = f"{name} on {module}"
        prelude = ["-c", ON_THE_REFERENCE] if module == "zenoh" else []
        self._process = subprocess.Popen(
            [sys.executable, *prelude, str(EXAMPLES / f"{name}.py"), *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "RUST_LOG": ""},
        )
        self.lines = []
        self._new = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            self._new.put(line.rstrip("\n"))
        self._new.put(None)

    def expect(self, text):
        """Waits for a line that starts with ``text``, and returns it."""
        end = time.monotonic() + DEADLINE
        while True:
            try:
                line = self._new.get(timeout=max(0, end - time.monotonic()))
            except queue.Empty:
                line = None
            assert line is not None, f"{self.name} did not print {text!r} but {self.lines}"
            self.lines.append(line)
            if line.startswith(text):
                return line

    def finish(self):
        """Waits for the end that it comes to by itself, and returns the lines that were not looked at."""
        assert self._process.wait(DEADLINE) == 0, f"{self.name}: {self.rest()}"
        return self.rest()

    def interrupt(self):
        """Ends it by Ctrl-C, and returns the lines that were not looked at."""
        self._process.send_signal(signal.SIGINT)
        return self.finish()

    def rest(self):
        self._reader.join(DEADLINE)
        return list(iter(self._new.get, None))

    def kill(self):
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._process.stdout.close()


@pytest.fixture
def start():
    """Starts examples. ``start(module, name, ...)`` listens, if it is the first, and else connects to it."""
    started = []
    endpoint = f"tcp/127.0.0.1:{free_port()}"

    def start(module, name, *arguments, mode="peer"):
        where = ["--connect", endpoint] if started else ["--listen", endpoint]
        network = ["--mode", mode, "--no-multicast-scouting", *where]
        if mode == "peer" and started:
            network += ["--cfg", "listen/endpoints:[]"]
        example = Example(module, name, *network, *arguments)
        started.append(example)
        if len(started) == 1:
            example.expect("Opening session")
            until_it_listens(example, endpoint)
        return example

    yield start
    for example in started:
        example.kill()


def until_it_listens(example, endpoint):
    port = int(endpoint.rpartition(":")[2])
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    raise AssertionError(f"{example.name} does not listen")


both_ways = pytest.mark.parametrize("ends", ENDS, ids="-".join)


@pytest.mark.parametrize("ends", [*ENDS, ("zenoh", "zenoh")], ids="-".join)
def test_pub_and_sub_without_and_with_shared_memory(start, ends):
    sub = start(ends[0], "z_sub_shm")
    sub.expect("Press CTRL-C")
    pub = start(ends[1], "z_pub_shm", "--iter", 2, "--interval", 0.5)
    pub.expect("Creating POSIX SHM provider..." if ends[1] == "zenoh" else "No shared memory: weft.shm: this build has no")
    for number in range(2):
        what = f"('demo/example/zenoh-python-pub': '[{number:4d}] Pub from Python!')"
        pub.expect(f"Putting Data {what}...")
        way = "SHM" if ends == ("zenoh", "zenoh") else "RAW"
        assert sub.expect(">> [Subscriber]") == f">> [Subscriber] Received SampleKind.PUT {what} [{way}]"
    pub.finish()
    sub.interrupt()


@both_ways
@pytest.mark.parametrize("subscriber", ["z_sub", "z_sub_queued"])
def test_pub_and_sub(start, ends, subscriber):
    sub = start(ends[0], subscriber)
    sub.expect("Press CTRL-C")
    pub = start(ends[1], "z_pub", "--iter", 3, "--interval", 0.2, "--add-matching-listener")
    pub.expect("Declaring Publisher on 'demo/example/zenoh-python-pub'...")
    pub.expect("Publisher has matching subscribers.")
    for number in range(3):
        what = f"('demo/example/zenoh-python-pub': '[{number:4d}] Pub from Python!')"
        pub.expect(f"Putting Data {what}...")
        sub.expect(f">> [Subscriber] Received SampleKind.PUT {what}")
    assert pub.finish() == []
    assert sub.interrupt() == []


@both_ways
def test_matching_ends(start, ends):
    pub = start(ends[0], "z_pub", "--interval", 0.2, "--add-matching-listener")
    sub = start(ends[1], "z_sub")
    pub.expect("Publisher has matching subscribers.")
    sub.expect(">> [Subscriber] Received SampleKind.PUT ('demo/example/zenoh-python-pub'")
    sub.interrupt()
    pub.expect("Publisher has NO MORE matching subscribers")
    pub.interrupt()


@both_ways
def test_storage(start, ends):
    storage = start(ends[0], "z_storage")
    storage.expect("Press CTRL-C")

    def get():
        return start(ends[1], "z_get").finish()[1:]

    key = "demo/example/zenoh-python-put"
    for program, kind, text in [
        ("z_put", "PUT", "Put from Python!"),
        ("z_put_float", "PUT", "\0\0\0\0\0\0E@"),
        ("z_delete", "DELETE", ""),
    ]:
        lines = start(ends[1], program).finish()
        done = f"Deleting resources matching '{key}'" if kind == "DELETE" else f"Putting Data ('{key}': '"
        assert lines[0] == "Opening session..." and lines[1].startswith(done)
        storage.expect(f">> [Subscriber] Received SampleKind.{kind} ('{key}': '{text}')")
        found = [f">> Received ('{key}': '{text}')"] if text else []
        assert get() == ["Sending Query 'demo/example/**'...", *found]
        storage.expect(">> [Queryable ] Received Query 'demo/example/**'")
    storage.interrupt()


@both_ways
def test_queryable(start, ends):
    queryable = start(ends[0], "z_queryable", "--complete")
    queryable.expect("Press CTRL-C")
    selector = "demo/example/zenoh-python-queryable?now"
    answer = ">> Received ('demo/example/zenoh-python-queryable': 'Queryable from Python!')"
    for target in ("ALL", "BEST_MATCHING", "ALL_COMPLETE", "NONE"):
        get = start(ends[1], "z_get", "-t", target, "-p", "why?", "-s", selector, mode="client")
        get.expect(f"Sending Query '{selector}'...")
        get.expect(answer)
        assert get.finish() == []
        queryable.expect(f">> [Queryable ] Received Query '{selector}' with payload: 'why?'")

    querier = start(ends[1], "z_querier", "--iter", 3, "-s", selector, "-p", "hm", "--add-matching-listener")
    querier.expect("Declaring Querier on 'demo/example/zenoh-python-queryable'...")
    querier.expect("Querier has matching queryables.")
    for number in range(3):
        querier.expect(f"Querying '{selector}' with payload '[{number:4d}] hm')...")
        querier.expect(answer)
        queryable.expect(f">> [Queryable ] Received Query '{selector}' with payload: '[{number:4d}] hm'")
    assert querier.finish() == []
    queryable.interrupt()


@both_ways
def test_pull_keeps_the_newest(start, ends):
    pull = start(ends[0], "z_pull", "--size", 1, "--interval", 1)
    pull.expect("Press CTRL-C")
    pub = start(ends[1], "z_pub", "--iter", 20, "--interval", 0.002)
    pub.finish()
    # Twenty in a twentieth of the interval: two looks at most see some of them.
    last = "('demo/example/zenoh-python-pub': '[  19] Pub from Python!')"
    pull.expect(f">> [Subscriber] Received SampleKind.PUT {last}")
    seen = [line for line in pull.lines if line.startswith(">>")]
    assert len(seen) <= 2, seen
    pull.interrupt()


@both_ways
def test_ping_and_pong(start, ends):
    pong = start(ends[0], "z_pong", "--express", "true")
    pong.expect("Press CTRL-C")
    ping = start(ends[1], "z_ping", "-w", 0.1, "-n", 3, 64)
    ping.expect("Warming up for 0.1...")
    for number in range(3):
        rtt = ping.expect(f"64 bytes: seq={number} rtt=").partition("rtt=")[2].partition("µs")[0]
        assert 0 < int(rtt) < 1_000_000
    assert ping.finish() == []
    pong.interrupt()


@both_ways
def test_throughput(start, ends):
    sub = start(ends[0], "z_sub_thr", "-n", 100)
    sub.expect("Press CTRL-C")
    pub = start(ends[1], "z_pub_thr", 8)
    end = time.monotonic() + DEADLINE
    while not (sub.lines and sub.lines[-1].endswith("msgs/sec")):
        assert time.monotonic() < end, sub.lines
        sub.expect("")
    rate, _, unit = sub.lines[-1].partition(" ")
    assert float(rate) > 100 and unit == "msgs/sec" and len(rate.partition(".")[2]) == 6
    pub.interrupt()
    last = sub.interrupt()[-1]
    assert last.startswith("Received ") and "averaged" in last and last.endswith(" msgs/sec")


@both_ways
def test_liveliness(start, ends):
    watcher = start(ends[0], "z_sub_liveliness", "--history", "true")
    watcher.expect("Press CTRL-C")
    token = start(ends[1], "z_liveliness")
    watcher.expect(">> [LivelinessSubscriber] New alive token ('group1/zenoh-py')")
    late = start(ends[0], "z_sub_liveliness", "--history", "true", mode="client")
    late.expect(">> [LivelinessSubscriber] New alive token ('group1/zenoh-py')")
    for module in ends:
        lines = start(module, "z_get_liveliness", mode="client").finish()
        assert lines[1:] == ["Sending Liveliness Query 'group1/**'...", ">> Alive token ('group1/zenoh-py')"]
    token.interrupt()
    for each in (watcher, late):
        each.expect(">> [LivelinessSubscriber] Dropped token ('group1/zenoh-py')")
        each.interrupt()


@both_ways
def test_advanced(start, ends):
    pub = start(ends[0], "z_advanced_pub", "--history", 10)
    pub.expect("Declaring AdvancedPublisher on 'demo/example/zenoh-python-pub'...")
    pub.expect("Putting Data ('demo/example/zenoh-python-pub': '[   1] ")
    sub = start(ends[1], "z_advanced_sub")
    for number in range(4):
        what = f"('demo/example/zenoh-python-pub': '[{number:4d}] Pub from Python!')"
        assert sub.expect(">> ") == f">> [Subscriber] Received SampleKind.PUT {what}"
    sub.interrupt()
    pub.interrupt()


@both_ways
def test_info(start, ends):
    first = start(ends[0], "z_info")
    zid = first.expect("zid: ").partition(" ")[2]
    first.expect("Press CTRL-C")
    second = start(ends[1], "z_info")
    other = second.expect("zid: ").partition(" ")[2]
    assert second.expect("routers: ") == "routers: []"
    assert second.expect("peers: ") == f"peers: ['{zid}']"
    second.expect("transports:")
    assert zid in second.expect("  - ")
    second.expect("links:")
    assert "tcp/127.0.0.1:" in second.expect("  - ")
    assert other in first.expect("Transport event: ")
    assert "tcp/127.0.0.1:" in first.expect("Link event: ")
    second.expect("Press CTRL-C")
    second.interrupt()
    first.interrupt()


@both_ways
def test_scout(start, ends):
    # Without a connection: whoever else is on this network is not to be disturbed.
    alone = "scouting/multicast/autoconnect:{router: [], peer: []}"
    info = Example(ends[0], "z_info", "--listen", "tcp/127.0.0.1:0", "--cfg", alone)
    try:
        zid = info.expect("zid: ").partition(" ")[2]
        info.expect("Press CTRL-C")
        scout = Example(ends[1], "z_scout")
        try:
            lines = scout.finish()
        finally:
            scout.kill()
        assert lines[0] == "Scouting..." and any(zid in line for line in lines[1:]), lines
        info.interrupt()
    finally:
        info.kill()


@pytest.mark.parametrize("module", ["weft", "zenoh"])
def test_bytes(module):
    example = Example(module, "z_bytes")
    try:
        assert example.finish() == []
    finally:
        example.kill()


def test_every_example_is_run_here():
    """But for `common`, which all of them use."""
    names = {path.stem for path in EXAMPLES.glob("*.py")} - {"common"}
    text = pathlib.Path(__file__).read_text()
    assert [name for name in sorted(names) if f'"{name}"' not in text] == []
