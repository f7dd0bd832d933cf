"""The processes of a measurement: one role of one program each, and what they cost while they run."""

import contextlib
import dataclasses
import json
import os
import random
import shlex
import socket
import subprocess
import threading
import time
from pathlib import Path

from weftbench import BenchError

READY_SECONDS_MAX = 30
# What a role may take to leave nothing behind, once its input has ended.
STOP_SECONDS_MAX = 5
# What a role may take beyond its own measurement. It gives up by itself after 30 s, and then says why.
GRACE_SECONDS = 40

# Below the range that the system hands out by itself, so that nobody gets one of them by accident.
PORTS = range(20_000, 30_000)

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PAGE_LEN = os.sysconf("SC_PAGE_SIZE")

_affinity = threading.Lock()


class Process:
    """One role of one program, on the given CPUs."""

    def __init__(self, command: list[str], cpus: set[int]):
        self.command = shlex.join(command)
        self.stdout: list[str] = []
        self.stderr: list[str] = []
        self.started = time.monotonic()
        self.ready_at: float | None = None
        self._ready = threading.Event()
        with _affinity:
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
        self.pid = self._child.pid
        pipes = ((self._child.stdout, self.stdout), (self._child.stderr, self.stderr))
        self._readers = [threading.Thread(target=self._read, args=pipe, daemon=True) for pipe in pipes]
        for reader in self._readers:
            reader.start()

    def close(self):
        """Ends it: by the end of its input, and if it does not listen, by force."""
        with contextlib.suppress(OSError):
            self._child.stdin.close()
        try:
            self._child.wait(timeout=STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        for reader in self._readers:
            reader.join(timeout=5)
        for pipe in (self._child.stdout, self._child.stderr):
            pipe.close()

    def wait_ready(self, seconds_max: float = READY_SECONDS_MAX):
        deadline = time.monotonic() + seconds_max
        while not self._ready.wait(0.01):
            if self.ended():
                for reader in self._readers:
                    reader.join()
                if self._ready.is_set():
                    return
                raise self.error(f"ended with {self._child.returncode} before it was ready")
            if time.monotonic() > deadline:
                raise self.error(f"was not ready after {seconds_max:.0f} s")

    def ended(self) -> bool:
        return self._child.poll() is not None

    def failed(self) -> bool:
        return self.ended() and self._child.returncode != 0

    def output(self) -> dict:
        """The object in the last line that it printed; it must have ended."""
        last = (self.text().splitlines() or [""])[-1]
        try:
            return json.loads(last)
        except ValueError:
            raise self.error(f"printed no JSON object at its end but {last!r}") from None

    def text(self) -> str:
        """All that it printed; it must have ended well."""
        for reader in self._readers:
            reader.join()
        if self.failed():
            raise self.error(f"ended with {self._child.returncode}")
        return "".join(self.stdout)

    def error(self, what: str) -> BenchError:
        said = "".join(line for line in self.stderr[-20:] if line.strip() != "ready").rstrip()
        return BenchError(f"`{self.command}` {what}" + (f"; it said:\n{said}" if said else ""))

    def _read(self, pipe, lines: list[str]):
        for line in pipe:
            lines.append(line)
            if lines is self.stderr and line.strip() == "ready":
                self.ready_at = time.monotonic()
                self._ready.set()


@dataclasses.dataclass(frozen=True)
class Observation:
    """What the processes of a stage had used at a moment."""

    at: float
    cpu_seconds: float
    # What the loopback interface of their network namespace had carried, with all headers.
    wire_bytes: int


class Stage:
    """The processes of one measurement of one program. When it closes they are gone."""

    def __init__(self, program: list[str], space: str | None = None, holder: list[str] | None = None):
        self.program = program
        # What opens thousands of sessions to the program's router, if that is not the program itself.
        self.holder = holder or program
        self.observations: list[Observation] = []
        self._space = space
        self._processes: list[Process] = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # The last one first: whoever feeds others stops before they do.
        for process in reversed(self._processes):
            process.close()

    def start(self, role: str, space: str | None = None, program: list[str] | None = None, **flags) -> Process:
        """Starts a role of the program, in a network namespace if one is given here or to the stage."""
        words = []
        for name, value in flags.items():
            if value is not None and value is not False:
                name = "--" + name.replace("_", "-")
                words += [name] if value is True else [name, str(value)]
        return self.run([*(program or self.program), role, *words], space)

    def run(self, command: list[str], space: str | None = None) -> Process:
        """Starts any program."""
        space = space or self._space
        prefix = ["ip", "netns", "exec", space] if space else []
        process = Process([*prefix, *command], os.sched_getaffinity(0))
        self._processes.append(process)
        return process

    def start_ready(self, role: str, ready_seconds_max: float = READY_SECONDS_MAX, **flags) -> Process:
        process = self.start(role, **flags)
        process.wait_ready(ready_seconds_max)
        return process

    def wait(self, process: Process, seconds_max: float):
        """Waits for the end of `process`. A failure of any other one ends the wait: it is the likely cause."""
        deadline = time.monotonic() + seconds_max
        while not process.ended():
            for failed in filter(Process.failed, self._processes):
                failed.output()
            if time.monotonic() > deadline:
                raise process.error(f"ran for more than {seconds_max:.0f} s")
            self.observe()
            time.sleep(0.02)

    def output(self, process: Process, seconds_max: float) -> dict:
        """What `process` prints at its end."""
        self.wait(process, seconds_max)
        return process.output()

    def observe(self):
        pids = [process.pid for process in self._processes]
        with contextlib.suppress(OSError, ValueError):
            tree = [pid for parent in pids for pid in (parent, *children(parent))]
            self.observations.append(Observation(time.monotonic(), sum(map(cpu_seconds, tree)), wire_bytes(pids[-1])))

    def last(self, seconds: float) -> tuple[Observation, Observation]:
        """The observations around most of the last `seconds`. What ended before anybody looked has used nothing."""
        if not self.observations:
            return (Observation(0, 0, 0),) * 2
        end = self.observations[-1]
        since = [seen for seen in self.observations if seen.at >= end.at - seconds]
        return since[0], end


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def cpu_seconds(pid: int) -> float:
    """What all threads of a process have used, in user and system mode."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def cpu_seconds_of_all(process: Process) -> float:
    """The same of a process and its children."""
    return sum(map(cpu_seconds, (process.pid, *children(process.pid))))


def wire_bytes(pid: int) -> int:
    """What the loopback interface that a process sees has carried."""
    for line in Path(f"/proc/{pid}/net/dev").read_text().splitlines():
        name, _, fields = line.partition(":")
        if name.strip() == "lo":
            return int(fields.split()[8])
    return 0


def resident_bytes(process: Process) -> int:
    """The memory of a process and its children that is theirs alone."""
    total = 0
    for pid in (process.pid, *children(process.pid)):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            name, _, value = line.partition(":")
            if name in ("Private_Dirty", "Private_Clean"):
                total += int(value.split()[0]) * 1024
    return total


def free_port() -> int:
    for port in random.sample(PORTS, 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return port
    raise BenchError(f"no free port from {PORTS.start} to {PORTS.stop - 1}")


def free_endpoint(address: str = "127.0.0.1") -> str:
    return f"tcp/{address}:{free_port()}"
