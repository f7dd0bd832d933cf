"""The benchmark: that it measures, and how it says what it measured."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from weft import bench


def measured(*arguments, prelude=""):
    program = f"{prelude}\nfrom weft import bench\nbench.main()"
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    return done


def test_every_case_measures():
    cases = [argument for name in bench.CASES for argument in ("--case", name)]
    done = measured("--against", "zenoh", "--rounds", "1", "--seconds", "0.02", "--json", *cases)
    report = json.loads(done.stdout)
    assert report["versions"]["zenoh"] == "1.10.2"
    assert len(report["cases"]) == len(bench.CASES)
    for case, found in zip(bench.CASES.values(), report["cases"]):
        assert found["case"] == case.title
        assert set(found["rounds"][0]) == set(case.columns)
        assert all(found[column] > 0 for column in case.columns)
        assert ("ratio" in found) == ("zenoh" in case.columns)


def test_without_the_other_module_it_says_so():
    missing = """
import importlib.metadata

def version(name):
    raise importlib.metadata.PackageNotFoundError(name)

importlib.metadata.version = version
"""
    done = measured("--against", "zenoh", "--rounds", "1", "--seconds", "0.02", "--case", "put", prelude=missing)
    assert "eclipse-zenoh is not installed" in done.stderr
    assert done.stdout.splitlines()[-1].startswith("| put, 8 B | calls/s | ")


@pytest.mark.parametrize(
    ("unit", "ratio"),
    [("calls/s", 3.0), ("µs", 1 / 3)],
)
def test_ratios_say_how_much_better(unit, ratio):
    rounds = [{"weft": 300.0, "zenoh": 100.0}, {"weft": 330.0, "zenoh": 110.0}, {"weft": 3.0, "zenoh": 1.0}]
    found = bench.summary(bench.Case("title", unit, "", ""), rounds)
    assert found["weft"] == 300.0 and found["ratio"] == pytest.approx(ratio)
    assert found["spread"] == pytest.approx(0) and not found["noisy"]
    assert bench.row(found) == f"| title | {unit} | 300 | 100 |  | {ratio:.2f} | 0% |"


def test_a_ratio_that_changes_is_marked():
    rounds = [{"weft": 1.0, "zenoh": 1.0}, {"weft": 1.5, "zenoh": 1.0}]
    found = bench.summary(bench.Case("title", "calls/s", "", ""), rounds)
    assert found["noisy"] and "1.25 (noisy)" in bench.row(found)
