"""Kafka in its roles: its broker starts, forwards, and leaves nothing behind. Skipped where it cannot be built."""

import tempfile
import unittest
from pathlib import Path

from weftbench import BenchError
from weftbench.peers import PEERS
from weftbench.process import Stage, free_endpoint

FOLDERS = ("/dev/shm", tempfile.gettempdir())


def logs(process) -> list[Path]:
    """The folders that a broker keeps its log in."""
    return [found for folder in FOLDERS for found in Path(folder).glob(f"weft-bench-kafka-{process.pid}-*")]


class Kafka(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if why := PEERS["kafka"].missing():
            raise unittest.SkipTest(why)
        try:
            cls.program = PEERS["kafka"].build()
        except BenchError as error:
            raise unittest.SkipTest(str(error)) from error

    def test_messages_come_through_a_broker_that_leaves_nothing_behind(self):
        endpoint = free_endpoint()
        with Stage(self.program) as stage:
            router = stage.start_ready("router", listen=endpoint)
            self.assertEqual(len(logs(router)), 1)
            client = {"mode": "client", "connect": endpoint}
            publisher = stage.start_ready("pub-thr", **client, size=64, rate=1000, duration=60)
            stage.start_ready("sub-first", **client)
            stage.start_ready("sessions", **client, sessions=3, busy=True)
            self.assertFalse(router.ended() or publisher.ended())
        self.assertTrue(router.ended())
        self.assertEqual(logs(router), [])

    def test_a_wrong_command_line_ends_with_2(self):
        for role, flags in (("pong", {}), ("ping", {"connect": "tcp/127.0.0.1:1", "bulk": 8}), ("queryable", {})):
            with self.subTest(role=role), Stage(self.program) as stage:
                process = stage.start(role, **flags)
                with self.assertRaisesRegex(BenchError, "ended with 2; it said:\nerror: "):
                    stage.output(process, 30)
