"""The command line, turns, skipping and failures."""

import json
import tempfile
import unittest
import unittest.mock
from pathlib import Path

from weftbench import BenchError, command, measure, peers, report

from tests.common import player, quietly


class Command(unittest.TestCase):
    def setUp(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(unittest.mock.patch.object(command, "REPORT", folder))
        self.enterContext(unittest.mock.patch.object(report, "plots", lambda _: {}))
        self.enterContext(unittest.mock.patch.object(command, "raise_limits", lambda: None))
        self.folder = folder

    def run_with(self, commands, *words, skipped=None):
        ready = lambda keys, _weft: ({key: commands[key] for key in keys if key in commands}, skipped or {})
        with unittest.mock.patch.object(peers, "ready", ready):
            return quietly(command.main, ["--seconds", "0.001", *words])

    def players(self, *keys, **others):
        return dict.fromkeys(keys, player()) | others

    def test_mistakes_end_with_2(self):
        for words in (["--case", "nothing"], ["--rounds", "0"], ["--seconds", "-1"], ["--what"], ["--size", "7x"]):
            with self.subTest(words=words):
                self.assertEqual(quietly(command.main, words)[0], 2)

    def test_sizes_have_units(self):
        self.assertEqual([command.size(text) for text in ("8", "64KiB", "4MiB", "8B")], [8, 64 << 10, 4 << 20, 8])

    def test_json_is_one_line_a_figure(self):
        commands = self.players("weft", "reference", "limit")
        words = ["--case", "p2p-rtt/", "--case", "p2p-thr", "--size", "64", "--rounds", "1", "--json"]
        status, out, _ = self.run_with(commands, *words)
        names = [(line["case"], line["size"]) for line in map(json.loads, out.splitlines())]
        self.assertEqual((status, names), (0, [("p2p-thr", 64), ("p2p-rtt-p50", 64), ("p2p-rtt-p99", 64)]))

    def test_each_program_begins_a_round_in_turn(self):
        order = []

        def measured(stage, size, seconds):
            order.append(stage.program[-1])
            return {"rate": 1.0}

        commands = {"weft": ["w"], "reference": ["r"], "limit": ["l"]}
        options = command.parse(["--case", "p2p-thr/8"])
        case = options.cases[0]
        with unittest.mock.patch.object(type(case), "way_of", lambda self, key: measured):
            raw = command.Raw(self.folder / "raw.jsonl", {}, resume=False)
            quietly(command.Plan(options, commands, set(commands)).measure, case, raw)
        self.assertEqual("".join(order), "wrlrlwlwr")

    def test_a_peer_that_is_not_here_is_skipped_and_named(self):
        commands = self.players("weft", "reference", "limit", "nats")
        skipped = {"mosquitto": "`mosquitto` is not installed (Debian: mosquitto)"}
        words = ["--case", "routed-thr/8", "--rounds", "1", "--json"]
        status, out, err = self.run_with(commands, *words, skipped=skipped)
        self.assertEqual(status, 0)
        self.assertIn("without Mosquitto: `mosquitto` is not installed (Debian: mosquitto)", err)
        line = json.loads(out.splitlines()[0])
        self.assertIn("nats", line)
        self.assertNotIn("mosquitto", line)
        kept = json.loads((self.folder / "report.json").read_text())
        self.assertEqual(kept["meta"]["skipped"], skipped)

    def test_a_tool_that_is_missing_is_named_with_its_package(self):
        self.assertEqual(
            measure.missing_tool("no-such-tool", "some-package"),
            "`no-such-tool` is not installed (Debian: some-package)",
        )
        self.assertIsNone(measure.missing_tool("python3", "python3"))

    def test_a_peer_that_cannot_be_built_is_skipped_but_not_the_reference(self):
        def broken():
            raise BenchError("no compiler")

        for key, is_needed in (("nats", False), ("reference", True)):
            peer = peers.dataclasses.replace(peers.PEERS[key], build=broken, missing=lambda: None)
            others = (peer,) if not is_needed else ()
            with unittest.mock.patch.multiple(peers, PEERS={key: peer}, OTHERS=others):
                if is_needed:
                    self.assertRaises(BenchError, peers.ready, [key], None)
                else:
                    self.assertEqual(peers.ready([key], None), ({}, {"nats": "no compiler"}))

    def test_the_failure_of_a_peer_ends_its_case_and_that_of_weft_the_run(self):
        for broken, expected in (("reference", 0), ("weft", 1)):
            commands = self.players("weft", "reference", "limit", **{broken: player(status=4)})
            words = ["--case", "p2p-thr/8", "--rounds", "2", "--json"]
            status, out, err = self.run_with(commands, *words)
            self.assertEqual(status, expected, err)
            self.assertIsNone(json.loads(out.splitlines()[0])[broken])
            # Not tried again in the second round.
            self.assertEqual(err.count("failed: `"), 1, err)

    def test_an_interrupted_run_goes_on_without_measuring_again(self):
        commands = self.players("weft", "reference", "limit")
        words = ["--case", "p2p-thr/8", "--rounds", "2", "--json"]
        _, first, _ = self.run_with(commands, *words)
        gone = dict.fromkeys(commands, ["no-such-program"])
        status, again, err = self.run_with(gone, *words, "--resume")
        self.assertEqual((status, again), (0, first), err)

    def test_the_list_says_who_takes_part(self):
        status, out, _ = quietly(command.main, ["--list", "--case", "routed-thr/8"])
        self.assertEqual(status, 0)
        self.assertIn("routed-thr/8 ", out)
        self.assertIn("weft, reference, limit, mosquitto, nats, kafka", out)
