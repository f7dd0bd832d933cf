"""The module and its process: signals, exit, fork, garbage."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from conftest import DEADLINE, run_script

PRELUDE = """
import os, sys, threading, time
import weft
def config(**settings):
    made = weft.Config()
    made.insert_json5("scouting/multicast/enabled", False)
    made.insert_json5("listen/endpoints", [])
    for path, value in settings.items():
        made.insert_json5(path.replace("__", "/"), value)
    return made
def ready():
    print("ready", flush=True)
session = weft.open(config())
"""


def script(text):
    return PRELUDE + textwrap.dedent(text)


# What a process may be stuck in. Each says `ready` and then waits for ever.
WAITS = {
    "recv": "s = session.declare_subscriber('a'); ready(); s.recv()",
    "iterate": "s = session.declare_subscriber('a'); ready(); [x for x in s]",
    "ring": "s = session.declare_subscriber('a', weft.handlers.RingChannel(1)); ready(); s.recv()",
    "recv_many": "s = session.declare_subscriber('a'); ready(); s.recv_many()",
    "get": """
        q = session.declare_queryable('a')
        r = session.get('a', timeout=60); ready(); list(r)
    """,
    "put to a full channel": """
        s = session.declare_subscriber('a', weft.handlers.FifoChannel(1))
        session.put('a', b'1'); ready(); session.put('a', b'2')
    """,
    "publish to a full channel": """
        s = session.declare_subscriber('a', weft.handlers.FifoChannel(1))
        p = session.declare_publisher('a')
        p.put(b'1'); ready(); p.put(b'2')
    """,
    "undeclare": """
        s = session.declare_subscriber('a', lambda sample: time.sleep(60))
        session.put('a', b'1'); ready(); s.undeclare()
    """,
    "undeclare a direct callback": """
        running = threading.Event()
        def callback(sample):
            running.set()
            time.sleep(60)
        s = session.declare_subscriber('a', weft.handlers.Callback(callback, indirect=False))
        threading.Thread(target=session.put, args=('a', b'1'), daemon=True).start()
        running.wait()
        ready(); s.undeclare()
    """,
    "cancel": """
        q = session.declare_queryable('a', lambda query: query.reply('a', b''))
        token = weft.CancellationToken()
        running = threading.Event()
        def callback(reply):
            running.set()
            time.sleep(60)
        session.get('a', callback, cancellation_token=token)
        running.wait()
        ready(); token.cancel()
    """,
    "open": """
        ready()
        weft.open(config(mode='"client"', connect__endpoints=['tcp/127.0.0.1:1'],
            connect__timeout_ms=-1, connect__exit_on_failure=False))
    """,
    "scout": "s = weft.scout(config=config()); ready(); s.recv()",
}


@pytest.mark.parametrize("wait", WAITS)
def test_ctrl_c_ends_every_wait(wait):
    text = script(
        "try:\n"
        + textwrap.indent(textwrap.dedent(WAITS[wait]).strip(), "    ")
        + "\nexcept KeyboardInterrupt:\n    print('interrupted', flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)  # the wait begins after the word
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert time.monotonic() - sent < 1
        assert process.wait(DEADLINE + 5) == 0
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "s = session.declare_subscriber('a', print)",
        "s = session.declare_subscriber('a')",
        "s = session.declare_subscriber('a', lambda it: time.sleep(60)); session.put('a', b'x')",
        "s = session.declare_subscriber('a', weft.handlers.Callback(print, indirect=False))",
        "q = session.declare_queryable('a'); r = session.get('a', timeout=60)",
        "p = session.declare_publisher('a'); p.declare_matching_listener(print)",
        "t = session.liveliness().declare_token('a'); del weft",
        "scout = weft.scout(print, config=config())",
        "threading.Thread(target=list, args=[session.declare_subscriber('a')], daemon=True).start()",
        "sys.exit(0)",
    ],
)
def test_a_program_exits_with_everything_open(text):
    started = time.monotonic()
    done = run_script(script(text))
    assert (done.returncode, done.stderr) == (0, "")
    assert time.monotonic() - started < 8


# What daemon threads may be in when the interpreter exits; `forever(work, threads)` repeats it.
BUSY = {
    "recv and put": """
        s = session.declare_subscriber("a")
        forever(s.recv, 4)
        forever(lambda: session.put("a", b"x"), 4)
    """,
    "get": """
        q = session.declare_queryable("a", lambda query: query.reply("a", b"x"))
        forever(lambda: list(session.get("a", timeout=1)), 4)
    """,
    "get with callbacks": """
        q = session.declare_queryable("a", lambda query: query.reply("a", b"x"))
        forever(lambda: session.get("a", lambda reply: time.sleep(0.0001), timeout=1), 2)
    """,
    "open": "forever(lambda: weft.open(config()).close(), 3)",
    "errors": "session.close(); forever(lambda: session.put('a', b'x'), 4)",
    "callbacks": """
        ss = [session.declare_subscriber("a", lambda sample: time.sleep(0.0001)) for _ in range(4)]
        forever(lambda: session.put("a", b"x"), 1)
    """,
    "direct callbacks": """
        direct = weft.handlers.Callback(lambda sample: time.sleep(0.0001), indirect=False)
        s = session.declare_subscriber("a", direct)
        forever(lambda: session.put("a", b"x"), 4)
    """,
    "an object beside a callback": """
        import queue
        class Own(queue.Queue):
            recv = queue.Queue.get
        own = Own()
        s = session.declare_subscriber("a", (own.put, own))
        forever(s.recv, 4)
        forever(lambda: session.put("a", b"x"), 1)
    """,
    "tasks": """
        import asyncio
        s = session.declare_subscriber("a")
        async def loop():
            async for sample in s:
                pass
        forever(lambda: asyncio.run(loop()), 2)
        forever(lambda: session.put("a", b"x"), 2)
    """,
}

FOREVER = """
def forever(work, threads):
    def loop():
        while True:
            try:
                work()
            except (weft.ZError, RuntimeError):
                pass  # a RuntimeError: 3.12 starts no thread for a callback once the exit has begun
    for _ in range(threads):
        threading.Thread(target=loop, daemon=True).start()
"""


@pytest.mark.parametrize("busy", BUSY)
def test_daemon_threads_do_not_abort_the_exit(busy):
    text = PRELUDE + FOREVER + textwrap.dedent(BUSY[busy]) + "\ntime.sleep(0.05)"
    # Several at a time, so that threads are interrupted anywhere.
    for _ in range(3):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        started = [subprocess.Popen([sys.executable, "-c", text], **pipes) for _ in range(4)]
        try:
            for process in started:
                _, errors = process.communicate(timeout=DEADLINE + 10)
                assert (process.returncode, errors) == (0, "")
        finally:
            for process in started:
                process.kill()
                process.communicate()


def test_what_was_put_before_the_exit_is_sent():
    first = script(
        """
        other = weft.open(config(listen__endpoints=["tcp/127.0.0.1:0"]))
        s = other.declare_subscriber("a")
        print(other.info.locators()[0], flush=True)
        print(s.recv().payload, flush=True)
        """
    )
    second = PRELUDE + textwrap.dedent(
        """
        sender = weft.open(config(mode="'client'", connect__endpoints=[sys.argv[1]]))
        sender.put("a", "last words")
        """
    )
    receiver = subprocess.Popen([sys.executable, "-c", first], stdout=subprocess.PIPE, text=True)
    try:
        locator = receiver.stdout.readline().strip()
        assert run_script(second, locator).returncode == 0
        assert receiver.stdout.readline() == "last words\n"
    finally:
        receiver.kill()
        receiver.communicate()


def test_a_fork_is_told_what_it_cannot_use():
    text = script(
        """
        publisher = session.declare_publisher("a")
        subscriber = session.declare_subscriber("a")
        called = session.declare_subscriber("a", lambda sample: None)
        child = os.fork()
        if child == 0:
            for use in (
                lambda: session.put("a", b"x"),
                lambda: publisher.put(b"x"),
                lambda: subscriber.recv(),
                lambda: session.get("a"),
                lambda: session.declare_publisher("a"),
                lambda: subscriber.undeclare(),
                lambda: session.close(),
            ):
                try:
                    use()
                except weft.ZError as error:
                    assert error.kind == "forked" and "fork" in str(error), error
                else:
                    os._exit(1)
            assert "forked" in repr(session)
            del publisher, subscriber, called, session
            # A session of its own works.
            with weft.open(config()) as own:
                mine = own.declare_subscriber("b")
                own.put("b", b"x")
                assert mine.recv().payload == b"x"
            sys.exit(0)
        _, status = os.waitpid(child, 0)
        assert status == 0, status
        publisher.put(b"y")
        assert subscriber.recv().payload == b"y"
        print("parent works")
        """
    )
    done = run_script(text)
    assert (done.returncode, done.stdout) == (0, "parent works\n"), done.stderr


def test_a_sub_interpreter_is_told_that_it_cannot():
    text = """
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        import weft
        code = "try:\\n    import weft\\nexcept ImportError as error:\\n    print(error, flush=True)"
        interpreters.run_string(interpreters.create(), code)
        print(len(weft.__all__) > 0)
        """
    done = run_script(textwrap.dedent(text))
    assert done.returncode == 0 and done.stderr == ""
    assert "subinterpreters" in done.stdout and done.stdout.endswith("\nTrue\n")


def test_logs_go_to_standard_error_if_asked_for():
    text = script("weft.init_log_from_env_or('info'); weft.open(config()); weft.init_log_from_env_or('info')")
    environment = {**os.environ, "RUST_LOG": ""}
    del environment["RUST_LOG"]
    done = run_script(text, env=environment)
    assert done.stdout == "" and "session open" in done.stderr and "\x1b" not in done.stderr
    quiet = run_script(script("weft.try_init_log_from_env(); weft.open(config())"), env=environment)
    assert quiet.stderr == ""
    loud = run_script(
        script("weft.try_init_log_from_env(); weft.open(config())"),
        env={**environment, "RUST_LOG": "weft=info"},
    )
    assert "session open" in loud.stderr


def test_a_thread_that_waits_lets_others_go_on():
    text = script(
        """
        s = session.declare_subscriber('a')
        threading.Thread(target=s.recv, daemon=True).start()
        full = session.declare_subscriber('b', weft.handlers.FifoChannel(1))
        session.put('b', b'1')
        threading.Thread(target=session.put, args=('b', b'2'), daemon=True).start()
        count = 0
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            count += 1
        assert count > 100_000, count
        """
    )
    done = run_script(text)
    assert done.returncode == 0, done.stderr
