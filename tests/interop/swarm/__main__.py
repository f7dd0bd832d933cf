"""`python -m swarm --topologies 100 --seed 1`: that many random networks, one line for each, and what they have shown.

Seed S stands for the networks S, S+1, and so on; `--topologies 1 --seed S` is one of them again, though the processes
run at their own speed.
"""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import statistics
import sys
import time

from harness.places import ROOT
from swarm.plan import random_plan
from swarm.trial import Trial

LOGS = ROOT / "target/swarm"


def main(arguments):
    options = parse(arguments)
    begun = time.monotonic()
    seeds = range(options.seed, options.seed + options.topologies)
    outcomes = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for outcome in pool.map(lambda seed: run(seed, options.sides), seeds):
            outcomes.append(outcome)
            report(outcome, options)
    total = summary(outcomes, time.monotonic() - begun)
    print(json.dumps(total) if options.json else text_of(total), flush=True)
    return 1 if any(outcome.failures for outcome in outcomes) else 0


def parse(arguments):
    parser = argparse.ArgumentParser(prog="cargo xtask interop swarm", description=__doc__.splitlines()[0])
    parser.add_argument("--topologies", type=int, default=100, help="how many random networks")
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time")
    parser.add_argument("--sides", default="weft,reference", type=lambda text: text.split(","), help="implementations that nodes are of")
    parser.add_argument("--json", action="store_true", help="one JSON object a line, the last one with the sums")
    return parser.parse_args(arguments)


def run(seed, sides):
    trial = Trial(random_plan(seed, sides))
    outcome = trial.run()
    if outcome.failures:
        keep(trial)
    return outcome


def keep(trial):
    """Writes what was planned, what failed, and what the nodes said and heard."""
    folder = LOGS / str(trial.plan.seed)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "outcome.txt").write_text("\n".join([str(trial.plan), *map(str, trial.plan.faults), *trial.outcome.failures]) + "\n")
    for member in trial.members:
        log = [f"life {life}: {log}" for life, log in enumerate(member.logs)]
        (folder / f"{member.node.name}.txt").write_text("\n".join([*log, "standard error:", member.driver.stderr if member.driver else ""]) + "\n")


def report(outcome, options):
    plan = outcome.plan
    if options.json:
        fields = summary([outcome], outcome.seconds)
        print(json.dumps({"seed": plan.seed, "plan": str(plan), **fields}), flush=True)
        return
    worst = f", recovered in {max(outcome.recoveries):.1f} s" if outcome.recoveries else ""
    print(f"{plan.seed}: {plan}: {outcome.samples} samples{worst}, {outcome.seconds:.0f} s", flush=True)
    for failure in outcome.failures:
        print(f"    FAILED {failure}", flush=True)
    if outcome.failures:
        sides = "" if options.sides == ["weft", "reference"] else f" --sides {','.join(options.sides)}"
        kept = pathlib.Path(LOGS / str(plan.seed))
        print(f"    repeat: cargo xtask interop swarm --topologies 1 --seed {plan.seed}{sides}; what was seen: {kept}", flush=True)


def summary(outcomes, seconds):
    nodes = [node for outcome in outcomes for node in outcome.plan.nodes]
    faults = [fault for outcome in outcomes for fault in outcome.plan.faults]
    recoveries = [recovery for outcome in outcomes for recovery in outcome.recoveries]
    return {
        "topologies": len(outcomes),
        "nodes": dict(collections.Counter(f"{node.implementation} {node.mode}" for node in nodes)),
        "faults": dict(collections.Counter(fault.kind for fault in faults)),
        "samples": sum(outcome.samples for outcome in outcomes),
        "pairs": sum(outcome.pairs for outcome in outcomes),
        "pairs_excused": sum(outcome.excusable for outcome in outcomes),
        "repeated_while_trees_changed": sum(outcome.storm_repeated for outcome in outcomes),
        "reference": dict(sum((outcome.excused for outcome in outcomes), collections.Counter())),
        "recovery_seconds": {"median": round(statistics.median(recoveries), 2), "max": round(max(recoveries), 2)} if recoveries else {},
        "failures": {str(outcome.plan.seed): outcome.failures for outcome in outcomes if outcome.failures},
        "seconds": round(seconds, 1),
    }


def text_of(total):
    failed = total.pop("failures")
    lines = [f"{name.replace('_', ' ')}: {value}" for name, value in total.items()]
    return "\n".join([*lines, f"failed: {', '.join(failed) or 'none'}"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
