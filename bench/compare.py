#!/usr/bin/env python3
"""Measures Weft beside the reference implementation's own Rust library and beside bare TCP, on this machine, now.

Every round runs all three, in turns, so that whatever else the machine does meets all of them alike. What the columns
mean, and what a program must offer to be measured, is in README.md next to this file.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import platform
import random
import shlex
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent

WHO = ("weft", "reference", "limit")
OTHERS = WHO[1:]

# Above this, a ratio differs so much from round to round that its median says little.
NOISY_SPREAD = 0.25

WARMUP_SECONDS = 1
ROUND_TRIPS_PER_SECOND = 10_000

READY_SECONDS_MAX = 15
# What a role may take beyond its own measurement. It gives up by itself after 30 s, and then says why.
GRACE_SECONDS = 40

# Below the range that the system hands out by itself, so that nobody gets one of them by accident.
PORTS = range(20_000, 30_000)


class BenchError(Exception):
    """What went wrong, for the person at the terminal."""


# --- processes ------------------------------------------------------------------------------------------------------


class Process:
    """One role of one program, on the given CPUs."""

    def __init__(self, command: list[str], cpus: set[int]):
        self.command = shlex.join(command)
        self.stdout: list[str] = []
        self.stderr: list[str] = []
        self._ready = threading.Event()
        ours = os.sched_getaffinity(0)
        # A child inherits them from the thread that starts it.
        os.sched_setaffinity(0, cpus)
        try:
            self._child = subprocess.Popen(
                command,
                # Held open: its end, even by our own sudden death, ends the roles that wait for others.
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        except OSError as error:
            raise BenchError(f"`{self.command}` did not start: {error}") from error
        finally:
            os.sched_setaffinity(0, ours)
        pipes = ((self._child.stdout, self.stdout), (self._child.stderr, self.stderr))
        self._readers = [threading.Thread(target=self._read, args=pipe) for pipe in pipes]
        for reader in self._readers:
            reader.start()

    def close(self):
        self._child.kill()
        self._child.wait()
        for reader in self._readers:
            reader.join()
        for pipe in (self._child.stdin, self._child.stdout, self._child.stderr):
            pipe.close()

    def wait_ready(self):
        deadline = time.monotonic() + READY_SECONDS_MAX
        while not self._ready.wait(0.01):
            if self.ended():
                raise self.error(f"ended with {self._child.returncode} before it was ready")
            if time.monotonic() > deadline:
                raise self.error(f"was not ready after {READY_SECONDS_MAX} s")

    def ended(self) -> bool:
        return self._child.poll() is not None

    def failed(self) -> bool:
        return self.ended() and self._child.returncode != 0

    def output(self) -> dict:
        """The object in the last line that it printed; it must have ended."""
        for reader in self._readers:
            reader.join()
        if self.failed():
            raise self.error(f"ended with {self._child.returncode}")
        last = self.stdout[-1] if self.stdout else ""
        try:
            return json.loads(last)
        except ValueError:
            raise self.error(f"printed no JSON object at its end but {last!r}") from None

    def error(self, what: str) -> BenchError:
        said = "".join(line for line in self.stderr[-20:] if line.strip() != "ready").rstrip()
        return BenchError(f"`{self.command}` {what}" + (f"; it said:\n{said}" if said else ""))

    def _read(self, pipe, lines: list[str]):
        for line in pipe:
            lines.append(line)
            if lines is self.stderr and line.strip() == "ready":
                self._ready.set()


class Stage:
    """The processes of one measurement of one program. When it closes they are gone."""

    def __init__(self, program: list[str], one_cpu: bool = False):
        self._program = program
        cpus = os.sched_getaffinity(0)
        self._cpus = {max(cpus)} if one_cpu else cpus
        self._processes: list[Process] = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # The last one first: whoever feeds others stops before they do.
        for process in reversed(self._processes):
            process.close()

    def start(self, role: str, **flags) -> Process:
        words = []
        for name, value in flags.items():
            words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
        process = Process([*self._program, role, *words], self._cpus)
        self._processes.append(process)
        return process

    def start_ready(self, role: str, **flags) -> Process:
        process = self.start(role, **flags)
        process.wait_ready()
        return process

    def output(self, process: Process, seconds_max: float) -> dict:
        """What `process` prints at its end. A failure of any other one ends the wait: it is the likely cause."""
        deadline = time.monotonic() + seconds_max
        while not process.ended():
            for failed in filter(Process.failed, self._processes):
                failed.output()
            if time.monotonic() > deadline:
                raise process.error(f"ran for more than {seconds_max:.0f} s")
            time.sleep(0.02)
        return process.output()


def free_endpoint() -> str:
    for port in random.sample(PORTS, 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return f"tcp/127.0.0.1:{port}"
    raise BenchError(f"no free port from {PORTS.start} to {PORTS.stop - 1}")


# --- measurements: (stage, payload size in bytes, seconds) -> the figure ---------------------------------------------


def peers_throughput(stage: Stage, size: int, seconds: float) -> float:
    endpoint = free_endpoint()
    window = {"warmup": WARMUP_SECONDS, "duration": seconds}
    subscriber = stage.start_ready("sub-thr", mode="peer", listen=endpoint, **window)
    return published(stage, subscriber, "peer", endpoint, size, seconds)


def brokered_throughput(stage: Stage, size: int, seconds: float) -> float:
    endpoint = free_endpoint()
    stage.start_ready("router", listen=endpoint)
    window = {"warmup": WARMUP_SECONDS, "duration": seconds}
    subscriber = stage.start_ready("sub-thr", mode="client", connect=endpoint, **window)
    return published(stage, subscriber, "client", endpoint, size, seconds)


def published(stage, subscriber, mode: str, endpoint: str, size: int, seconds: float) -> float:
    # The publisher outlives the window; the end of the stage ends it.
    outlives = window_seconds_max(seconds)
    stage.start("pub-thr", mode=mode, connect=endpoint, size=size, duration=outlives)
    return stage.output(subscriber, window_seconds_max(seconds))["msgs_per_s"]


def direct_limit(stage: Stage, size: int, seconds: float) -> float:
    endpoint = free_endpoint()
    receiver = start_receiver(stage, endpoint, seconds)
    return batched(stage, receiver, endpoint, size, seconds)


def relayed_limit(stage: Stage, size: int, seconds: float) -> float:
    behind, endpoint = free_endpoint(), free_endpoint()
    receiver = start_receiver(stage, behind, seconds)
    stage.start_ready("batch-relay", listen=endpoint, connect=behind)
    return batched(stage, receiver, endpoint, size, seconds)


def start_receiver(stage: Stage, endpoint: str, seconds: float) -> Process:
    window = {"warmup": WARMUP_SECONDS, "duration": seconds}
    return stage.start_ready("batch-receiver", listen=endpoint, **window)


def batched(stage: Stage, receiver, endpoint: str, size: int, seconds: float) -> float:
    """As many messages as bare TCP carries the bytes of."""
    outlives = window_seconds_max(seconds)
    stage.start("batch-sender", connect=endpoint, duration=outlives)
    output = stage.output(receiver, window_seconds_max(seconds))
    return output["bytes_per_s"] / message_len(size)


def message_len(size: int) -> int:
    """Bytes in a frame of a message to a declared key: Push, key id, QoS (2), Put, payload length, payload."""
    return 5 + (1 if size < 128 else 2) + size


def window_seconds_max(seconds: float) -> float:
    return WARMUP_SECONDS + seconds + GRACE_SECONDS


def ping_in_callback(stage: Stage, size: int, seconds: float) -> float:
    return ping(stage, size, seconds, "callback")


def ping_in_channel(stage: Stage, size: int, seconds: float) -> float:
    return ping(stage, size, seconds, "channel")


def ping(stage: Stage, size: int, seconds: float, answers: str) -> float:
    endpoint = free_endpoint()
    stage.start_ready("pong", mode="peer", listen=endpoint, express=True)
    flags = {"size": size, "answers": answers, **round_trips(seconds)}
    client = stage.start("ping", mode="peer", connect=endpoint, express=True, **flags)
    return stage.output(client, round_trip_seconds_max(seconds))["p50_us"]


def ping_limit(stage: Stage, size: int, seconds: float) -> float:
    endpoint = free_endpoint()
    stage.start_ready("pingpong-server", listen=endpoint)
    client = stage.start("pingpong-client", connect=endpoint, size=size, **round_trips(seconds))
    return stage.output(client, round_trip_seconds_max(seconds))["p50_us"]


def round_trips(seconds: float) -> dict:
    count = max(1, round(ROUND_TRIPS_PER_SECOND * seconds))
    return {"count": count, "warmup": count // 10}


def round_trip_seconds_max(seconds: float) -> float:
    # A hundred times what a round trip takes on a quiet machine.
    return 10 * seconds + GRACE_SECONDS


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    size: int
    unit: str
    product: Callable[[Stage, int, float], float]
    limit: Callable[[Stage, int, float], float]
    # Whether all processes share one CPU: README.md says why some do.
    one_cpu: bool = False

    @property
    def label(self) -> str:
        return f"{self.name}/{self.size}"

    def measure(self, who: str, program: list[str], seconds: float) -> float:
        with Stage(program, self.one_cpu) as stage:
            return (self.limit if who == "limit" else self.product)(stage, self.size, seconds)


CASES = [
    *(Case("p2p", size, "msg/s", peers_throughput, direct_limit) for size in (8, 64, 1024)),
    *(Case("brokered", size, "msg/s", brokered_throughput, relayed_limit) for size in (8, 64)),
    Case("ping", 64, "us", ping_in_callback, ping_limit, one_cpu=True),
    Case("ping-channel", 64, "us", ping_in_channel, ping_limit, one_cpu=True),
    Case("ping-roaming", 64, "us", ping_in_callback, ping_limit),
]


# --- results --------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Result:
    """The figures of one case, a list per program with one entry a round."""

    case: Case
    rounds: dict[str, list[float]]

    def median(self, who: str) -> float:
        return statistics.median(self.rounds[who])

    def spread(self, who: str) -> float:
        return spread(self.rounds[who])

    def ratios(self, other: str) -> list[float]:
        """Within a round, for what else the machine does changes slower than that."""
        return [weft / figure for weft, figure in zip(self.rounds["weft"], self.rounds[other], strict=True)]

    def ratio(self, other: str) -> float:
        return statistics.median(self.ratios(other))

    def is_noisy(self, other: str) -> bool:
        return spread(self.ratios(other)) > NOISY_SPREAD

    def json(self) -> str:
        return json.dumps(
            {
                "case": self.case.name,
                "size": self.case.size,
                **{who: round(self.median(who), 3) for who in WHO},
                "unit": self.case.unit,
                **{f"vs_{other}": round(self.ratio(other), 3) for other in OTHERS},
                "spread": {who: round(self.spread(who), 3) for who in WHO}
                | {f"vs_{other}": round(spread(self.ratios(other)), 3) for other in OTHERS},
                "noisy": [f"vs_{other}" for other in OTHERS if self.is_noisy(other)],
                "rounds": {who: [round(value, 3) for value in self.rounds[who]] for who in WHO},
            }
        )

    def row(self) -> str:
        def ratio(other):
            return f"{self.ratio(other):.2f}{'~' if self.is_noisy(other) else ' '}"

        medians = [figure(self.median(who), self.case.unit) for who in WHO]
        spreads = " ".join(f"{self.spread(who):4.0%}" for who in WHO)
        return ROW.format(self.case.label, *medians, ratio("reference"), ratio("limit"), spreads)


def spread(values: list[float]) -> float:
    return (max(values) - min(values)) / statistics.median(values)


ROW = "{:<16} {:>13} {:>13} {:>13} {:>10} {:>10}   {}"


def head() -> str:
    return ROW.format("case", *WHO, "w/ref ", "w/limit ", "spread (w, ref, limit)")


def figure(value: float, unit: str) -> str:
    return f"{value / 1e6:.2f} Mmsg/s" if unit == "msg/s" else f"{value:.1f} {unit}"


def machine() -> str:
    model = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if "model name" in line), model)
    return f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"


def load() -> str:
    return " ".join(f"{average:.1f}" for average in os.getloadavg())


# --- the command ----------------------------------------------------------------------------------------------------


def build(*arguments: str) -> str:
    """Builds one binary for release; the path to it."""
    command = ["cargo", "build", "--release", "--message-format=json-render-diagnostics", *arguments]
    print(f"$ {shlex.join(command)}", file=sys.stderr)
    built = subprocess.run(command, cwd=HERE.parent, stdout=subprocess.PIPE, text=True, check=False)
    if built.returncode != 0:
        raise BenchError(f"`{shlex.join(command)}` ended with {built.returncode}")
    for line in reversed(built.stdout.splitlines()):
        if executable := json.loads(line).get("executable"):
            return executable
    raise BenchError(f"`{shlex.join(command)}` built no binary")


def programs(weft: str | None) -> dict[str, list[str]]:
    if weft is None:
        weft_program = [build("--package", "weft-cli", "--bin", "weft"), "bench-role"]
    else:
        weft_program = shlex.split(weft)
    peers = {
        who: [build("--locked", "--manifest-path", f"bench/{folder}/Cargo.toml")]
        for who, folder in (("reference", "reference"), ("limit", "limits"))
    }
    return {"weft": weft_program, **peers}


def run(case: Case, commands: dict[str, list[str]], rounds: int, seconds: float) -> Result:
    figures = {who: [] for who in WHO}
    for index in range(rounds):
        # Another one begins each time, so that none always follows the same neighbour.
        for place in range(len(WHO)):
            who = WHO[(index + place) % len(WHO)]
            figures[who].append(case.measure(who, commands[who], seconds))
    return Result(case, figures)


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--case", action="append", metavar="NAME", help="only cases whose name/size contains NAME; may be repeated"
    )
    parser.add_argument("--rounds", type=int, default=5, help="how often each program runs (default 5)")
    parser.add_argument("--seconds", type=float, default=3, help="length of a measurement (default 3)")
    parser.add_argument("--json", action="store_true", help="one JSON object a line on standard output")
    parser.add_argument(
        "--weft", metavar="COMMAND", help="what stands in for `weft bench-role`, instead of building it"
    )
    options = parser.parse_args(arguments)
    if options.rounds < 1 or options.seconds <= 0:
        parser.error("--rounds and --seconds must be above zero")
    wanted = options.case or [""]
    options.cases = [case for case in CASES if any(part in case.label for part in wanted)]
    if not options.cases:
        parser.error(f"no case matches; there are {', '.join(case.label for case in CASES)}")
    return options


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    # An exit unwinds, and that ends every process that was started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        commands = programs(options.weft)
        if not options.json:
            print(f"{machine()}; load {load()}; medians of {options.rounds} x {options.seconds:g} s")
            print(head(), flush=True)
        for case in options.cases:
            result = run(case, commands, options.rounds, options.seconds)
            print(result.json() if options.json else result.row(), flush=True)
        if not options.json:
            print(f"~ a ratio with a spread above {NOISY_SPREAD:.0%}; load {load()}; us: less is better")
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
