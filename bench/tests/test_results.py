"""Medians, ratios, spreads, the raw file, and the line of JSON that is a contract."""

import json
import tempfile
import unittest
from pathlib import Path

from weftbench import text
from weftbench.cases import Metric, all_cases
from weftbench.results import Raw, Result, rounded, spread

CASES = {case.label: case for case in all_cases(full=False)}


def result(label="p2p-thr/8", **rounds) -> Result:
    case = CASES[label]
    return Result(case, case.metrics[0], rounds)


class Statistics(unittest.TestCase):
    def test_a_ratio_is_the_median_over_rounds_and_marked_when_it_differs_between_them(self):
        # Twice as busy in the second round: that does not touch the ratio.
        steady = result(weft=[6e6, 3e6, 6.6e6], reference=[2e6, 1e6, 2e6], limit=[12e6, 5e6, 12e6])
        self.assertEqual((steady.ratio("reference"), steady.ratio("limit")), (3, 0.55))
        self.assertFalse(steady.is_noisy("reference") or steady.is_noisy("limit"))
        noisy = result(weft=[6e6, 6e6, 6e6], reference=[2e6, 1e6, 3e6], limit=[12e6, 12e6, 12e6])
        self.assertTrue(noisy.is_noisy("reference"))
        self.assertFalse(noisy.is_noisy("limit"))

    def test_what_was_measured_once_is_noisy(self):
        self.assertTrue(result(weft=[1.0], reference=[1.0]).is_noisy("reference"))
        self.assertIsNone(spread([1.0]))
        self.assertEqual(spread([1.0, 2.0, 3.0]), 1.0)

    def test_the_best_is_the_highest_rate_or_the_lowest_time_of_a_program(self):
        rates = result("routed-thr/8", weft=[9.0], reference=[3.0], nats=[5.0], limit=[99.0])
        self.assertEqual(rates.best(), "nats")
        times = result("p2p-rtt/64", weft=[9.0], reference=[3.0], cyclone=[5.0], limit=[1.0], ping=[0.5])
        self.assertEqual(times.best(), "reference")
        self.assertIsNone(result("memcpy/1024", limit=[1.0]).best())

    def test_figures_keep_four_digits(self):
        self.assertEqual(
            [rounded(value) for value in (None, 1.23456, 123.456, 1234567.8)], [None, 1.235, 123.5, 1234568]
        )


class Json(unittest.TestCase):
    def test_the_keys_of_a_line_are_those_that_are_promised(self):
        line = result(
            "p2p-thr/8192",
            weft=[6e6, 5e6, 5.5e6],
            reference=[2e6, 2e6, 3e6],
            limit=[11e6, 11e6, 11e6],
            iperf3=[1e6, 1e6, 1e6],
            cyclone=[],
        ).line()
        keys = "case size weft reference limit unit vs_reference vs_limit spread iperf3"
        self.assertEqual(list(line), keys.split())
        self.assertEqual((line["case"], line["size"], line["unit"]), ("p2p-thr", 8192, "msg/s"))
        self.assertEqual((line["weft"], line["vs_reference"], line["vs_limit"]), (5.5e6, 2.5, 0.5))
        self.assertEqual(line["spread"]["weft"], 0.1818)
        self.assertEqual(line["spread"]["noisy"], ["vs_reference"])
        json.dumps(line)

    def test_who_did_not_run_is_null(self):
        line = result("routed-get/64", weft=[1.0], reference=[]).line()
        self.assertEqual((line["reference"], line["limit"], line["vs_reference"]), (None, None, None))

    def test_several_figures_of_a_case_have_names_of_their_own(self):
        case = CASES["p2p-rtt/64"]
        names = [Result(case, metric, {}).name for metric in case.metrics]
        self.assertEqual(names, ["p2p-rtt-p50", "p2p-rtt-p99"])


class RawFile(unittest.TestCase):
    def setUp(self):
        self.path = Path(self.enterContext(tempfile.TemporaryDirectory()), "report/raw.jsonl")
        self.case = CASES["p2p-thr/8"]

    def test_an_interrupted_run_goes_on_with_what_it_has(self):
        raw = Raw(self.path, {"rounds": 3}, resume=True)
        raw.add(self.case, "weft", 0, values={"rate": 5.0})
        raw.add(self.case, "nats", 0, error="no")
        again = Raw(self.path, {"rounds": 3}, resume=True)
        self.assertEqual(again.find(self.case, "weft", 0)["values"], {"rate": 5.0})
        self.assertEqual(again.find(self.case, "nats", 0)["error"], "no")
        self.assertIsNone(again.find(self.case, "weft", 1))

    def test_other_settings_are_refused_and_a_new_run_forgets(self):
        Raw(self.path, {"rounds": 3}, resume=False).add(self.case, "weft", 0, values={})
        with self.assertRaisesRegex(ValueError, "was measured with"):
            Raw(self.path, {"rounds": 5}, resume=True)
        self.assertIsNone(Raw(self.path, {"rounds": 3}, resume=False).find(self.case, "weft", 0))


class Words(unittest.TestCase):
    def test_figures_and_sizes_as_people_read_them(self):
        self.assertEqual(text.figure(11_940_000, "msg/s"), "11.9 M msg/s")
        self.assertEqual(text.figure(2400, "msg/s"), "2.40 k msg/s")
        self.assertEqual(
            [text.figure(6.84, "us"), text.figure(12_345, "us"), text.figure(None, "us")], ["6.84 µs", "12.3 ms", ""]
        )
        self.assertEqual([text.size(size) for size in (0, 8, 1024, 4 << 20)], ["", "8 B", "1 KiB", "4 MiB"])
        self.assertEqual(
            [text.ratio(2.5, False), text.ratio(2.5, True), text.ratio(None, True)], ["2.50", "2.50 ~", ""]
        )
        self.assertTrue(Metric("rate", "msg/s").more_is_better)
        self.assertFalse(Metric("p50", "us").more_is_better)
