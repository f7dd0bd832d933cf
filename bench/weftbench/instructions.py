"""Counts the instructions of the hot paths and compares them with bench/instructions/baseline.json.

A count above the baseline by more than its tolerance is a failure; one below it is worth `--accept`, which writes down
what was counted. With another compiler than that of the baseline nothing is compared, for it makes other code.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

from weftbench import HERE, ROOT, BenchError
from weftbench.peers import cargo, run

BASELINE = HERE / "instructions/baseline.json"

# By how much a count may be above its baseline. Threads and sockets differ by up to 5 % from run to run, all else by
# nothing.
TOLERANCES = {"parts": 0.03, "whole": 0.08}

# How often a path is walked in two runs, whose difference has neither start nor end: multiples of a burst.
TIMES = {"parts": (2000, 6000), "whole": (5000, 20_000)}


def kind(name: str) -> str:
    """Whether a case is a whole way with threads and sockets, or a part without."""
    return "whole" if name.startswith(("p2p/", "routed/")) else "parts"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="cargo xtask bench --instructions", description=__doc__.split("\n\n")[0])
    parser.add_argument("--accept", action="store_true", help="write down what is counted as the baseline")
    parser.add_argument("--case", action="append", metavar="NAME", help="only cases whose name contains NAME")
    options = parser.parse_args(arguments)
    try:
        counted = count_all(options.case or [""])
        compiler = run(["rustc", "--version"]).strip()
        if options.accept:
            accept(counted, compiler)
            return 0
        return compare(counted, compiler, json.loads(BASELINE.read_text()))
    except (BenchError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def count_all(wanted: list[str]) -> dict[str, float]:
    program = cargo("instructions")()[0]
    names = [name for name in run([program]).split() if any(part in name for part in wanted)]
    counted = {}
    for name in names:
        few, many = TIMES[kind(name)]
        # Both at once: the smallest machine has two cores.
        runs = [start(program, name, times) for times in (few, many)]
        base, more = (collected(child) for child in runs)
        counted[name] = round((more - base) / (many - few), 1)
    return counted


def start(program: str, name: str, times: int) -> subprocess.Popen:
    words = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, name, str(times)]
    return subprocess.Popen(
        words, cwd=tempfile.gettempdir(), stderr=subprocess.PIPE, text=True, env=os.environ | {"LC_ALL": "C"}
    )


def collected(child: subprocess.Popen) -> int:
    """The instructions of a run under callgrind, from the summary on its standard error."""
    _, said = child.communicate()
    found = re.search(r"Collected : (\d+)", said)
    if child.returncode != 0 or not found:
        raise BenchError(f"{' '.join(child.args)} ended with {child.returncode}; it said:\n{said[-2000:]}")
    return int(found[1])


def accept(counted: dict[str, float], compiler: str):
    """Writes the baseline; cases that were not counted keep what they had from the same compiler."""
    known = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    kept = known["instructions"] if known.get("compiler") == compiler else {}
    whole = {"compiler": compiler, "tolerances": TOLERANCES, "instructions": kept | counted}
    BASELINE.write_text(json.dumps(whole, indent=1) + "\n")
    print(f"{BASELINE.relative_to(ROOT)}: {len(counted)} counts written down")


def compare(counted: dict[str, float], compiler: str, baseline: dict) -> int:
    same = compiler == baseline["compiler"]
    worse = []
    print(f"{'instructions each':<20} {'counted':>9} {'baseline':>9}")
    for name, count in counted.items():
        known = baseline["instructions"].get(name)
        change = count / known - 1 if known else 0
        tolerance = baseline["tolerances"][kind(name)]
        remark = ""
        if known is None:
            remark = "not written down: --accept does"
            worse.append(name)
        elif change > tolerance:
            remark = f"{change:+.1%}: worse"
            worse.append(name)
        elif change < -tolerance:
            remark = f"{change:+.1%}: better; --accept writes it down"
        print(f"{name:<20} {count:>9} {known if known is not None else '':>9}  {remark}".rstrip())
    if not same:
        print(f"not compared: the baseline is of {baseline['compiler']}, this is {compiler}")
        return 0
    if worse:
        print(f"error: beyond the tolerance: {', '.join(worse)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
