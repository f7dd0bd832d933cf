"""Processes and measurements, with a player that takes no time."""

import os
import socket
import sys
import unittest

from weftbench import BenchError, measure
from weftbench.cases import SIZES, all_cases
from weftbench.peers import ALL, PEERS
from weftbench.process import Stage, cpu_seconds, free_endpoint

from tests.common import player


class Stages(unittest.TestCase):
    def test_nothing_runs_after_a_stage(self):
        with Stage(player()) as stage:
            processes = [stage.start_ready("router"), stage.start("pub-thr")]
            self.assertEqual([process.ended() for process in processes], [False, False])
        self.assertEqual([process.ended() for process in processes], [True, True])

    def test_flags_become_words_and_what_is_not_given_is_left_out(self):
        with Stage(player()) as stage:
            ended = stage.start("sub-thr", in_flight=3, express=True, bulk=False, keys=None)
            output = stage.output(ended, 10)
        self.assertEqual(output["words"], ["--in-flight", "3", "--express"])

    def test_a_role_that_hangs_is_given_up(self):
        with Stage(player()) as stage:
            router = stage.start_ready("router")
            with self.assertRaisesRegex(BenchError, "ran for more than 0 s"):
                stage.output(router, 0.05)

    def test_what_does_not_start_or_does_not_get_ready_is_named(self):
        with (
            Stage(["no-such-program"]) as stage,
            self.assertRaisesRegex(BenchError, "`no-such-program pong` did not start"),
        ):
            stage.start("pong")
        with Stage([sys.executable, "-c", "import sys; sys.exit('no')"]) as stage:
            with self.assertRaisesRegex(BenchError, "before it was ready; it said:\nno"):
                stage.start_ready("pong")

    def test_the_failure_of_a_feeder_is_reported_and_not_waited_for(self):
        for way in (measure.throughput, measure.raw_throughput):
            with self.subTest(way=way), Stage(player(status=3)) as stage:
                with self.assertRaisesRegex(BenchError, "ended with 3; it said:\nno route"):
                    way(stage, 8, 0.1)

    def test_observations_tell_what_processes_use(self):
        with Stage(player()) as stage:
            stage.start_ready("router")
            stage.observe()
            stage.observe()
            first, last = stage.last(10)
        self.assertLessEqual(first.cpu_seconds, last.cpu_seconds)
        self.assertGreater(last.cpu_seconds + cpu_seconds(os.getpid()), 0)

    def test_a_free_endpoint_can_be_listened_on(self):
        with socket.socket() as listener:
            address, port = free_endpoint().removeprefix("tcp/").split(":")
            listener.bind((address, int(port)))
            listener.listen()


class Measurements(unittest.TestCase):
    def test_every_case_gets_its_figures_from_the_role_that_knows_them(self):
        # One size of each.
        for case in {case.name: case for case in all_cases(full=False)}.values():
            if case.in_space or not case.needs:
                continue
            with self.subTest(case=case.label), Stage(player()) as stage:
                values = case.way(stage, case.size, 0.001)
                for metric in case.metrics:
                    self.assertIn(metric.key, values)
                if case.metrics[0].unit == "msg/s":
                    self.assertEqual(values["rate"], 3e6)

    def test_the_limit_of_throughput_is_bytes_over_the_length_of_a_message(self):
        with Stage(player()) as stage:
            self.assertEqual(measure.raw_throughput(stage, 8, 0.001), {"rate": 10e6})
        self.assertEqual([measure.message_len(size) for size in (8, 64, 1024, 1 << 20)], [14, 70, 1031, 8 + (1 << 20)])

    def test_a_percentile_of_too_few_is_not_given(self):
        output = {"p50_us": 1.0, "p99_us": 2.0}
        self.assertEqual(measure.percentiles(output), {"p50": 1.0, "p99": 2.0})
        self.assertEqual(measure.percentiles(output, rate=10), {"p50": 1.0})

    def test_sessions_are_spread_over_processes(self):
        self.assertEqual(measure.chunks(1000, 5000), [1000])
        self.assertEqual(measure.chunks(12_000, 5000), [5000, 5000, 2000])


class Cases(unittest.TestCase):
    def test_names_and_sizes_tell_cases_apart(self):
        for full in (False, True):
            labels = [case.label for case in all_cases(full)]
            self.assertEqual(len(labels), len(set(labels)))

    def test_weft_and_the_reference_run_wherever_anybody_does(self):
        for case in all_cases(full=True):
            with self.subTest(case=case.label):
                self.assertTrue(case.needs <= ALL)
                if case.needs:
                    self.assertTrue(case.way_of("weft") and case.way_of("reference"))

    def test_a_peer_runs_only_what_it_can_do(self):
        by_label = {case.label: case for case in all_cases(full=False)}
        self.assertIsNone(by_label["p2p-thr/8"].way_of("mosquitto"))
        self.assertIsNotNone(by_label["routed-thr/8"].way_of("mosquitto"))
        self.assertIsNone(by_label[f"routed-thr/{SIZES[-1]}"].way_of("nats"))
        self.assertIsNone(by_label["routed-thr/8"].way_of("cyclone"))
        brokered = [label for label, case in by_label.items() if case.way_of("kafka")]
        for label in ("routed-thr/8", "routed-rtt/64", "routed-rtt-awake/64", "fan-out-10/64", "fan-out-100/64"):
            self.assertIn(label, brokered)
        for label in ("p2p-thr/8", "routed-keys-10000/64", "routed-get/64"):
            self.assertNotIn(label, brokered)
        self.assertTrue(all(peer.size_max > 8 for peer in PEERS.values()))
