"""The command: which cases, which peers, how often; measures them in turns and hands the results to the report."""

import argparse
import contextlib
import itertools
import json
import os
import platform
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

from weftbench import REPORT, ROOT, BenchError, cases, measure, peers, report
from weftbench.cases import Case
from weftbench.process import Stage
from weftbench.results import MAIN, Raw, Result

SUFFIXES = {"": 1, "B": 1, "KIB": 1 << 10, "MIB": 1 << 20}


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="cargo xtask bench", description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--case", action="append", metavar="NAME", help="only cases whose name contains NAME; may be repeated"
    )
    parser.add_argument(
        "--size",
        action="append",
        type=size,
        metavar="BYTES",
        help="only this payload size, such as 8 or 64KiB; may be repeated",
    )
    parser.add_argument(
        "--peer", action="append", choices=list(peers.PEERS), help="only Weft and these; may be repeated"
    )
    parser.add_argument("--rounds", type=int, default=3, help="how often each program runs (default 3)")
    parser.add_argument("--seconds", type=float, default=0.5, help="length of a measurement (default 0.5)")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="one round of 0.3 s, up to 1 MiB, without further peers: to see that all works",
    )
    parser.add_argument(
        "--full", action="store_true", help="every power of two from 8 B to 512 MiB, more sizes elsewhere"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line on standard output")
    parser.add_argument("--list", action="store_true", help="say which cases there are, and measure nothing")
    parser.add_argument("--resume", action="store_true", help="go on with the run that was interrupted")
    parser.add_argument(
        "--publish",
        action="store_true",
        help="measure nothing: put the last report into docs/performance and README.md",
    )
    parser.add_argument("--weft", metavar="COMMAND", help="what plays Weft's roles, instead of building bench/weft")
    options = parser.parse_args(arguments)
    if options.rounds < 1 or options.seconds <= 0:
        parser.error("--rounds and --seconds must be above zero")
    if options.quick:
        options.rounds, options.seconds = 1, 0.3
        options.peer = options.peer or ["reference", "limit"]
    options.cases = chosen(options)
    if not options.cases:
        parser.error("no case matches; --list shows them")
    return options


def size(text: str) -> int:
    digits = text.rstrip("BKMikmb")
    factor = SUFFIXES.get(text[len(digits) :].upper())
    if factor is None or not digits.isdecimal():
        raise argparse.ArgumentTypeError(f"{text}: not a size such as 8 or 64KiB")
    return int(digits) * factor


def chosen(options: argparse.Namespace) -> list[Case]:
    """The cases that are asked for. A size that only `--full` has may be named without it."""
    everything = cases.all_cases(options.full or bool(options.size))
    if options.quick and not options.size:
        everything = [case for case in everything if case.size <= 1 << 20 and "10000" not in case.name]
    wanted = options.case or [""]
    return [
        case
        for case in everything
        if any(matches(case, part) for part in wanted) and (not options.size or case.size in options.size)
    ]


def matches(case: Case, part: str) -> bool:
    """A part of a name, or the end of a name with a whole size."""
    has_size = "/" in part and not part.endswith("/")
    return case.label.endswith(part) if has_size else part in case.label


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    # An exit unwinds, and that ends every process that was started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        if options.list:
            for case in options.cases:
                print(f"{case.label:<28} {', '.join(who(case))}: {case.about}")
            return 0
        if options.publish:
            report.publish(json.loads((REPORT / "report.json").read_text()), ROOT)
            return 0
        return run(options)
    except (BenchError, ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"interrupted; --resume goes on from {REPORT / 'raw.jsonl'}", file=sys.stderr)
        return 128 + signal.SIGINT


def who(case: Case) -> list[str]:
    return [key for key in peers.PEERS if case.way_of(key)]


def run(options: argparse.Namespace) -> int:
    raise_limits()
    wanted = {"weft", *options.peer} if options.peer else set(peers.PEERS)
    needed = [key for key in peers.PEERS if key in wanted and any(case.way_of(key) for case in options.cases)]
    if any(case.awake for case in options.cases) and "limit" not in needed:
        needed.append("limit")
    commands, skipped = peers.ready(needed, options.weft)
    for key, why in skipped.items():
        say(f"without {peers.PEERS[key].title}: {why}")
    settings = {"rounds": options.rounds, "seconds": options.seconds, "machine": machine(), "commit": commit()}
    raw = Raw(REPORT / "raw.jsonl", settings, options.resume)
    plan = Plan(options, commands, wanted)
    say(f"{len(options.cases)} cases, about {plan.seconds() / 60:.0f} min; load {load()}")
    results: list[Result] = []
    if not options.json:
        print(report.table_head(), flush=True)
    for case in plan.cases:
        if why := case.unavailable():
            skipped[case.label] = why
            say(f"{case.label}: skipped, {why}")
            continue
        for result in plan.measure(case, raw):
            if not any(result.rounds.values()):
                continue
            results.append(result)
            print(json.dumps(result.line()) if options.json else report.table_row(result), flush=True)
    meta = {**settings, "skipped": skipped, "load": load(), "date": time.strftime("%Y-%m-%d")}
    report.write([result.full() for result in results], meta, REPORT)
    say(f"report: {REPORT / 'index.html'}")
    failed = [result.case.label for result in results if "weft" in result.errors]
    if failed:
        raise BenchError(f"Weft failed in {', '.join(dict.fromkeys(failed))}")
    return 0


class Plan:
    """Who runs when."""

    def __init__(self, options: argparse.Namespace, commands: dict[str, list[str]], wanted: set[str]):
        self.cases = options.cases
        self._options = options
        self._commands = commands
        self._wanted = wanted
        self._started = time.monotonic()
        self._done = 0.0

    def peers(self, case: Case) -> list[str]:
        return [key for key in self._commands if key in self._wanted and case.way_of(key)]

    def rounds(self, case: Case, peer: str = "weft") -> int:
        """How often a peer runs in a case: those that nothing depends on less often, to keep the whole short."""
        most = self._options.rounds if peer in MAIN else max(1, self._options.rounds - 1)
        return min(most, case.rounds_max)

    def seconds_of(self, case: Case) -> float:
        """What all rounds of a case take."""
        one = (1 + measure.WARMUP) * case.seconds(self._options.seconds) + case.overhead
        return sum(self.rounds(case, key) * (one + peers.PEERS[key].overhead) for key in self.peers(case))

    def seconds(self) -> float:
        return sum(map(self.seconds_of, self.cases))

    def measure(self, case: Case, raw: Raw) -> list[Result]:
        """Runs all rounds of a case and gives a result for each of its metrics."""
        errors: dict[str, str] = {}
        order = self.peers(case)
        values: dict[str, list[dict]] = {key: [] for key in order}
        context = measure.awake(self._commands["limit"]) if case.awake else contextlib.nullcontext()
        with context:
            for index in range(self.rounds(case)):
                # Another one begins each time, so that none always follows the same neighbour.
                first = index % len(order) if order else 0
                for key in itertools.islice(itertools.cycle(order), first, first + len(order)):
                    if key in errors or index >= self.rounds(case, key):
                        continue
                    outcome = self._once(case, key, index, raw)
                    if "error" in outcome:
                        errors[key] = outcome["error"]
                        say(f"{case.label}: {peers.PEERS[key].title} failed: {outcome['error']}")
                    else:
                        values[key].append(outcome["values"])
                self._done += self.seconds_of(case) / self.rounds(case)
                self._progress(case, index)
        return [
            Result(
                case,
                metric,
                {key: [each[metric.key] for each in found if metric.key in each] for key, found in values.items()},
                errors,
            )
            for metric in case.metrics
        ]

    def _once(self, case: Case, key: str, index: int, raw: Raw) -> dict:
        if known := raw.find(case, key, index):
            return known
        try:
            # Weft's own sessions have threads of their own, too many for ten thousand in one system.
            holder = self._commands.get("reference") if key == "weft" else None
            with Stage(self._commands[key], holder=holder) as stage:
                values = case.way_of(key)(stage, case.size, case.seconds(self._options.seconds))
            outcome = {"values": {name: float(f"{value:.6g}") for name, value in values.items()}}
        except (BenchError, subprocess.CalledProcessError, OSError, KeyError) as error:
            outcome = {"error": str(error) if isinstance(error, BenchError) else repr(error)}
        raw.add(case, key, index, **outcome)
        return outcome

    def _progress(self, case: Case, index: int):
        if sys.stderr.isatty() or index + 1 == self.rounds(case):
            total = self.seconds()
            took = time.monotonic() - self._started
            left = (total - self._done) * took / self._done if self._done else total
            progress = f"{self._done / total:4.0%}, {left / 60:4.1f} min left"
            say(f"[{progress}] {case.label} round {index + 1} of {self.rounds(case)}")


def say(text: str):
    print(text, file=sys.stderr, flush=True)


def raise_limits():
    """As many open files as are allowed: thousands of sessions need them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(hard, 65_536)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))
    except (ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, hard), hard))


def machine() -> str:
    model = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if "model name" in line), model)
    kernel = ".".join(platform.release().split(".")[:2])
    return f"{model}, {os.cpu_count()} cores, {platform.system()} {kernel}"


def commit() -> str:
    found = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return found.stdout.strip()


def load() -> str:
    return " ".join(f"{average:.1f}" for average in os.getloadavg())
