"""The comparison of instruction counts with their baseline."""

import json
import tempfile
import unittest
import unittest.mock
from pathlib import Path

from weftbench import instructions

from tests.common import quietly

BASELINE = {
    "compiler": "rustc 1",
    "tolerances": {"parts": 0.03, "whole": 0.08},
    "instructions": {"a/8": 100.0, "b/8": 1000.0, "p2p/8": 3000.0},
}


class Comparison(unittest.TestCase):
    def compared(self, counted, compiler="rustc 1"):
        return quietly(instructions.compare, counted, compiler, BASELINE)

    def test_what_is_within_the_tolerance_passes(self):
        self.assertEqual(self.compared({"a/8": 102.9, "b/8": 971.0, "p2p/8": 3140.0})[0], 0)

    def test_more_instructions_fail_and_fewer_are_worth_writing_down(self):
        status, out, err = self.compared({"a/8": 104.0, "b/8": 900.0})
        self.assertEqual(status, 1)
        self.assertIn("+4.0%: worse", out)
        self.assertIn("-10.0%: better", out)
        self.assertIn("beyond the tolerance: a/8", err)

    def test_a_case_without_a_baseline_fails(self):
        self.assertEqual(self.compared({"c/8": 1.0})[0], 1)

    def test_another_compiler_is_not_compared(self):
        status, out, _ = self.compared({"a/8": 200.0}, "rustc 2")
        self.assertEqual(status, 0)
        self.assertIn("not compared: the baseline is of rustc 1, this is rustc 2", out)

    def test_what_is_accepted_becomes_the_baseline(self):
        path = Path(self.enterContext(tempfile.TemporaryDirectory()), "baseline.json")
        self.enterContext(unittest.mock.patch.multiple(instructions, BASELINE=path, ROOT=path.parent))
        quietly(instructions.accept, {"a/8": 1.0, "b/8": 2.0}, "rustc 1")
        quietly(instructions.accept, {"a/8": 3.0}, "rustc 1")
        self.assertEqual(json.loads(path.read_text())["instructions"], {"a/8": 3.0, "b/8": 2.0})
        quietly(instructions.accept, {"a/8": 4.0}, "rustc 2")
        self.assertEqual(json.loads(path.read_text())["instructions"], {"a/8": 4.0})
