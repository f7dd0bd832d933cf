"""Tests of compare.py with programs that take no time: `python3 -m unittest discover --start-directory bench`."""

import contextlib
import io
import json
import os
import socket
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import compare

# Plays every role. Who feeds a subscriber fails with the status in its second argument, if there is one.
PLAYER = """
import json, os, sys

feeder_status = int(sys.argv[1])
role, flags = sys.argv[2], dict(zip(sys.argv[3::2], sys.argv[4::2]))
if role in ("pub-thr", "batch-sender"):
    if feeder_status:
        print("no route", file=sys.stderr)
        sys.exit(feeder_status)
else:
    print("ready", file=sys.stderr, flush=True)
if role in ("sub-thr", "batch-receiver") and feeder_status:
    sys.stdin.read()
if role in ("pong", "router", "pingpong-server", "batch-relay", "pub-thr", "batch-sender"):
    sys.stdin.read()
print("a line of a log")
figures = {"msgs_per_s": 3e6, "bytes_per_s": 140e6, "p50_us": 12.5, "cpus": len(os.sched_getaffinity(0))}
print(json.dumps(figures | flags))
"""


def quietly(call, *arguments):
    """What `call` returns and what it wrote to standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = call(*arguments)
        except SystemExit as ended:
            status = ended.code
    return status, out.getvalue(), err.getvalue()


class WithPlayer(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.script = Path(folder, "player.py")
        self.script.write_text(PLAYER)

    def player(self, feeder_status=0):
        return [sys.executable, str(self.script), str(feeder_status)]


class Measurements(WithPlayer):
    def test_every_case_gets_its_figure_from_the_role_that_receives(self):
        for case in compare.CASES:
            with self.subTest(case=case.label):
                value = case.measure("weft", self.player(), 1)
                self.assertEqual(value, 3e6 if case.unit == "msg/s" else 12.5)

    def test_the_limit_of_throughput_is_bytes_over_the_length_of_a_message(self):
        case = compare.CASES[0]
        self.assertEqual((case.label, case.measure("limit", self.player(), 1)), ("p2p/8", 10e6))
        self.assertEqual([compare.message_len(size) for size in (8, 64, 1024)], [14, 70, 1031])

    def test_the_failure_of_a_feeder_is_reported_and_not_waited_for(self):
        for case in compare.CASES:
            if case.unit == "msg/s":
                with self.subTest(case=case.label), self.assertRaises(compare.BenchError) as caught:
                    case.measure("reference", self.player(feeder_status=3), 1)
                self.assertIn("pub-thr", str(caught.exception))
                self.assertIn("ended with 3; it said:\nno route", str(caught.exception))

    def test_nothing_runs_after_a_stage(self):
        with compare.Stage(self.player()) as stage:
            processes = [stage.start_ready("router"), stage.start("pub-thr")]
            self.assertEqual([process.ended() for process in processes], [False, False])
        self.assertEqual([process.ended() for process in processes], [True, True])

    def test_a_stage_on_one_cpu_leaves_ours_alone(self):
        ours = os.sched_getaffinity(0)
        for one_cpu, count in ((True, 1), (False, len(ours))):
            with compare.Stage(self.player(), one_cpu) as stage:
                output = stage.output(stage.start_ready("sub-thr"), 10)
            self.assertEqual((output["cpus"], os.sched_getaffinity(0)), (count, ours))

    def test_a_role_that_hangs_is_given_up(self):
        with compare.Stage(self.player()) as stage:
            router = stage.start_ready("router")
            with self.assertRaisesRegex(compare.BenchError, "ran for more than 0 s"):
                stage.output(router, 0.05)

    def test_what_does_not_start_or_does_not_get_ready_is_named(self):
        with compare.Stage(["no-such-program"]) as stage:
            with self.assertRaisesRegex(compare.BenchError, "`no-such-program pong` did not start"):
                stage.start("pong")
        with compare.Stage([sys.executable, "-c", "import sys; sys.exit('no')"]) as stage:
            with self.assertRaisesRegex(compare.BenchError, "before it was ready; it said:\nno"):
                stage.start_ready("pong")

    def test_a_free_endpoint_can_be_listened_on(self):
        with socket.socket() as listener:
            address, port = compare.free_endpoint().removeprefix("tcp/").split(":")
            listener.bind((address, int(port)))
            listener.listen()


class Results(unittest.TestCase):
    def result(self, weft, reference, limit, case=compare.CASES[0]):
        return compare.Result(case, {"weft": weft, "reference": reference, "limit": limit})

    def test_a_ratio_is_the_median_over_rounds_and_marked_when_it_differs_between_them(self):
        # Twice as busy in the second round: that does not touch the ratio.
        result = self.result([6e6, 3e6, 6.6e6], [2e6, 1e6, 2e6], [12e6, 5e6, 12e6])
        self.assertEqual((result.ratio("reference"), result.ratio("limit")), (3, 0.55))
        self.assertFalse(result.is_noisy("reference") or result.is_noisy("limit"))
        result = self.result([6e6, 6e6, 6e6], [2e6, 1e6, 3e6], [12e6, 12e6, 12e6])
        self.assertTrue(result.is_noisy("reference"))
        self.assertFalse(result.is_noisy("limit"))

    def test_a_line_of_json_has_what_the_table_has(self):
        result = self.result([6e6, 5e6, 5.5e6], [2e6, 2e6, 3e6], [11e6, 11e6, 11e6])
        line = json.loads(result.json())
        self.assertEqual(line["rounds"]["weft"], [6e6, 5e6, 5.5e6])
        del line["rounds"]
        self.assertEqual(
            line,
            {
                "case": "p2p",
                "size": 8,
                "weft": 5.5e6,
                "reference": 2e6,
                "limit": 11e6,
                "unit": "msg/s",
                "vs_reference": 2.5,
                "vs_limit": 0.5,
                "spread": {
                    "weft": 0.182,
                    "reference": 0.5,
                    "limit": 0,
                    "vs_reference": 0.467,
                    "vs_limit": 0.182,
                },
                "noisy": ["vs_reference"],
            },
        )
        row = result.row()
        self.assertEqual(
            row.split(), "p2p/8 5.50 Mmsg/s 2.00 Mmsg/s 11.00 Mmsg/s 2.50~ 0.50 18% 50% 0%".split()
        )
        self.assertEqual(row.index("18%") - 1, compare.head().index("spread"))


class Command(WithPlayer):
    def test_each_program_begins_a_round_in_turn(self):
        order = []

        class Recorded(compare.Case):
            def measure(self, who, program, seconds):
                order.append(who)
                return 1

        compare.run(Recorded("p2p", 8, "msg/s", None, None), dict.fromkeys(compare.WHO, []), 3, 1)
        w, r, l = compare.WHO
        self.assertEqual(order, [w, r, l, r, l, w, l, w, r])

    def test_mistakes_end_with_2(self):
        for arguments in (["--case", "nothing"], ["--rounds", "0"], ["--seconds", "-1"], ["--what"]):
            with self.subTest(arguments=arguments):
                self.assertEqual(quietly(compare.main, arguments)[0], 2)

    def test_a_failure_is_one_message_and_ends_with_1(self):
        programs = dict.fromkeys(compare.WHO, self.player(feeder_status=4))
        with unittest.mock.patch.object(compare, "programs", lambda _: programs):
            status, out, err = quietly(compare.main, ["--case", "p2p/8", "--json"])
        self.assertEqual((status, out), (1, ""))
        self.assertTrue(err.startswith("error: `"), err)

    def test_json_is_one_line_a_case(self):
        programs = dict.fromkeys(compare.WHO, self.player())
        with unittest.mock.patch.object(compare, "programs", lambda _: programs):
            arguments = ["--case", "ping/", "--case", "p2p/64", "--rounds", "1", "--json"]
            status, out, _ = quietly(compare.main, arguments)
        cases = [(line["case"], line["size"]) for line in map(json.loads, out.splitlines())]
        self.assertEqual((status, cases), (0, [("p2p", 64), ("ping", 64)]))


if __name__ == "__main__":
    unittest.main()
