"""Many samples, many sessions, many threads, many errors: nothing is lost, nothing grows, and it ends.

``WEFT_STRESS=10`` makes everything ten times as much.
"""

from __future__ import annotations

import os
import textwrap
import time

import pytest
from conftest import run_script

SCALE = float(os.environ.get("WEFT_STRESS", "1"))

PRELUDE = """
import gc, json, logging, os, sys, threading, time, tracemalloc
import weft

def open_session(**settings):
    config = weft.Config()
    quiet = {"scouting/multicast/enabled": False, "listen/endpoints": []}
    for path, value in {**quiet, **settings}.items():
        config.insert_json5(path.replace("__", "/"), value)
    return weft.open(config)

def connected():
    first = open_session(listen__endpoints=["tcp/127.0.0.1:0"])
    return first, open_session(connect__endpoints=first.info.locators())

def until(condition):
    end = time.monotonic() + 60 * max(1, float(os.environ.get("WEFT_STRESS", "1")))
    while not condition():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.001)

def resident():
    gc.collect()
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def open_files():
    return len(os.listdir("/proc/self/fd"))

def threads():
    return len(os.listdir("/proc/self/task"))

KIB, MIB = 1 << 10, 1 << 20
BLOCK = weft.CongestionControl.BLOCK
"""


def run(text, count, timeout=60.0):
    """Runs a program with so many of what it is about, and returns what it printed."""
    count = int(count * SCALE)
    done = run_script(PRELUDE + textwrap.dedent(text), str(count), timeout=timeout * max(1, SCALE))
    assert done.returncode == 0, done.stderr
    return count, done


pytestmark = pytest.mark.timeout(120 * max(1, SCALE))


def test_samples_through_a_callback_leave_nothing_behind():
    count, done = run(
        """
        total = int(sys.argv[1])
        here, there = connected()
        seen = 0
        def callback(sample):
            global seen
            assert sample.payload.to_bytes() == b"12345678" and str(sample.key_expr) == "stress/a"
            assert sample.attachment.to_bytes() == b"more"
            seen += 1
        here.declare_subscriber("stress/*", callback)
        publisher = there.declare_publisher("stress/a", congestion_control=BLOCK)
        until(lambda: publisher.matching_status)

        def publish(count):
            before = seen
            for _ in range(count):
                publisher.put(b"12345678", attachment=b"more")
            until(lambda: seen == before + count)

        publish(total // 10)
        resident_before = resident()
        tracemalloc.start()
        publish(total // 100)
        gc.collect()
        traced_before = tracemalloc.get_traced_memory()[0]
        publish(total // 10)
        gc.collect()
        traced = tracemalloc.get_traced_memory()[0] - traced_before
        tracemalloc.stop()
        publish(total - seen)
        grown = resident() - resident_before
        assert traced < 32 * KIB, traced
        assert grown < 16 * MIB, grown
        print(seen)
        """,
        1_000_000,
    )
    assert int(done.stdout) == count


def test_large_samples_are_freed():
    run(
        """
        total, seen = int(sys.argv[1]), 0
        here, there = connected()
        subscriber = here.declare_subscriber("stress")
        publisher = there.declare_publisher("stress", congestion_control=BLOCK)
        until(lambda: publisher.matching_status)
        payload = bytes(MIB)
        def exchange(count):
            for _ in range(count):
                publisher.put(payload)
                view = memoryview(subscriber.recv().payload)
                assert len(view) == MIB
        exchange(20)
        before = resident()
        exchange(total)
        # A view keeps its message, and nothing else does.
        assert resident() - before < 24 * MIB, resident() - before
        """,
        200,
    )


def test_sessions_open_and_close():
    run(
        """
        def cycle():
            with open_session() as session:
                session.declare_subscriber("stress/**", lambda sample: None)
                kept = session.declare_subscriber("stress/**")
                session.declare_queryable("stress/q", lambda query: query.reply("stress/q", b""))
                session.liveliness().declare_token("stress/token")
                session.put("stress/a", b"x")
                assert kept.recv().payload == b"x"
        for _ in range(100):
            cycle()
        until(lambda: threads() < 20)
        before = resident(), open_files(), threads()
        for _ in range(int(sys.argv[1])):
            cycle()
        until(lambda: threads() <= before[2] and open_files() <= before[1])
        assert resident() - before[0] < 16 * MIB, resident() - before[0]
        """,
        1_000,
    )


def test_connections_open_and_close():
    run(
        """
        here = open_session(listen__endpoints=["tcp/127.0.0.1:0"])
        subscriber = here.declare_subscriber("stress")
        def cycle():
            with open_session(mode='"client"', connect__endpoints=here.info.locators()) as session:
                session.put("stress", b"x")
            assert subscriber.recv().payload == b"x"
        for _ in range(20):
            cycle()
        until(lambda: not here.info.transports())
        before = resident(), open_files(), threads()
        for _ in range(int(sys.argv[1])):
            cycle()
        until(lambda: not here.info.transports() and open_files() <= before[1] and threads() <= before[2])
        assert resident() - before[0] < 16 * MIB, resident() - before[0]
        """,
        200,
    )


def test_sessions_that_are_dropped_close():
    run(
        """
        for _ in range(20):
            open_session().declare_subscriber("stress")
        gc.collect()
        until(lambda: threads() < 20)
        before = open_files(), threads()
        for _ in range(int(sys.argv[1])):
            session = open_session()
            # A cycle through a callback, which only the collector finds.
            session.declare_subscriber("stress", lambda sample, session=session: None).undeclare()
            del session
        gc.collect()
        until(lambda: open_files() <= before[0] and threads() <= before[1])
        """,
        200,
    )


def test_exceptions_in_callbacks_are_logged_and_leave_nothing_behind():
    run(
        """
        total, logged = int(sys.argv[1]), 0
        class Count(logging.Handler):
            def emit(self, record):
                global logged
                assert record.exc_info[0] is ZeroDivisionError
                logged += 1
        log = logging.getLogger("zenoh.handlers")
        log.addHandler(Count())
        log.propagate = False

        here, there = connected()
        here.declare_subscriber("stress/s", lambda sample: 1 // 0)
        here.declare_queryable("stress/q", lambda query: 1 // 0)
        publisher = there.declare_publisher("stress/s", congestion_control=BLOCK)
        querier = there.declare_querier("stress/q")
        until(lambda: publisher.matching_status and querier.matching_status)
        def fail(count):
            before = logged
            for number in range(count):
                publisher.put(bytes(1000))
                if number % 10 == 0:
                    assert list(querier.get()) == []
            until(lambda: logged == before + count + (count + 9) // 10)
        fail(total // 5)
        tracemalloc.start()
        fail(total // 20)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0], resident()
        fail(total)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before[0], resident() - before[1]
        assert grown[0] < 64 * KIB and grown[1] < 16 * MIB, grown
        """,
        10_000,
    )


def test_threads_publish_on_one_session():
    run(
        """
        total, width = int(sys.argv[1]), 8
        here, there = connected()
        seen = [[] for _ in range(2 * width)]
        def callback(sample):
            number, _, count = sample.payload.to_string().partition(" ")
            seen[int(number)].append(int(count))
        here.declare_subscriber("stress/**", callback)
        shared = there.declare_publisher("stress/shared", congestion_control=BLOCK)
        until(lambda: shared.matching_status)
        def publish(number):
            for count in range(total):
                shared.put(f"{2 * number} {count}")
                there.put(f"stress/{number}", f"{2 * number + 1} {count}", congestion_control=BLOCK)
        workers = [threading.Thread(target=publish, args=[number]) for number in range(width)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        until(lambda: sum(map(len, seen)) == 2 * width * total)
        # What one thread publishes comes in its order.
        assert all(each == list(range(total)) for each in seen)
        """,
        5_000,
    )


def test_programs_end_in_the_middle_of_everything():
    for _ in range(max(1, int(5 * SCALE))):
        started = time.monotonic()
        _, done = run(
            """
            import contextlib
            here, there = connected()
            def answer(sample):
                with contextlib.suppress(weft.ZError):
                    there.put("echo", sample.payload)
                    # On and on, as long as there is a session.
                    there.put("stress/b", sample.payload)
            here.declare_subscriber("stress/**", answer)
            here.declare_subscriber("stress/**", weft.handlers.Callback(lambda sample: None, indirect=False))
            here.declare_queryable("stress/q", lambda query: query.reply("stress/q", bytes(MIB)))
            here.declare_queryable("stress/never", [].append)
            token = there.liveliness().declare_token("stress/token")
            publisher = there.declare_publisher("stress/a", congestion_control=BLOCK)
            publisher.declare_matching_listener(lambda status: None)
            until(lambda: publisher.matching_status)
            there.get("stress/never", lambda reply: None)
            echo = there.declare_subscriber("echo")
            publisher.put(bytes(100_000))
            for _ in range(100):
                echo.recv()
            """,
            1,
        )
        assert done.stderr == ""
        assert time.monotonic() - started < 15
