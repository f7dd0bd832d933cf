"""The files of a report and the refreshed README."""

import json
import tempfile
import unittest
import unittest.mock
from pathlib import Path

from weftbench import BenchError, report
from weftbench.peers import PEERS

from tests.test_results import result

META = {
    "date": "2026-01-02",
    "commit": "abcdef0",
    "machine": "a machine",
    "rounds": 3,
    "seconds": 0.6,
    "skipped": {"mosquitto": "`mosquitto` is not installed"},
}

RESULTS = [
    result("p2p-thr/8", weft=[6e6, 6e6], reference=[2e6, 2e6], limit=[9e6, 9e6]),
    result("p2p-thr/64", weft=[5e6, 5e6], reference=[2e6, 1e6], limit=[8e6, 8e6]),
    result("p2p-rtt/64", weft=[7.0, 7.0], reference=[28.0, 28.0], limit=[5.0, 5.0]),
]
WHOLE = {"meta": META, "results": [each.full() for each in RESULTS]}

# A report with everything that the README shows.
COMPLETE = {
    "meta": META,
    "results": [RESULTS[0].full() | {"case": case, "size": size} for case, size, _ in report.README_ROWS],
}

PLOTS = {"p2p-thr": ("Throughput.", "<?xml?>\n<svg>curve</svg>")}


class Report(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        # Drawn without its library, which the tests do not need.
        self.enterContext(unittest.mock.patch.object(report, "plots", lambda _: PLOTS))

    def test_a_report_is_json_a_table_and_one_page_with_everything_in_it(self):
        report.write(WHOLE["results"], META, self.folder)
        kept = json.loads((self.folder / "report.json").read_text())
        self.assertEqual(kept["results"][0]["rounds"]["weft"], [6e6, 6e6])
        page = (self.folder / "index.html").read_text()
        for part in ("<svg>curve</svg>", "a machine", "<table>", "<code>p2p-thr</code>", "not installed"):
            self.assertIn(part, page)
        self.assertNotIn("<?xml", page)
        self.assertEqual(page.count("<table>"), page.count("</table>"))

    def test_the_table_has_the_best_peer_and_marks_noise(self):
        table = report.markdown(WHOLE)
        self.assertIn("| `p2p-thr` | 8 B | 6.00 M msg/s | 2.00 M msg/s | 9.00 M msg/s | 3.00 | 3.00 | 0.67 |", table)
        self.assertIn("| 3.75 ~ |", table)
        self.assertIn("- without mosquitto: `mosquitto` is not installed", table)

    def test_a_failure_is_in_the_report(self):
        failed = result("routed-thr/8", weft=[1.0])
        failed.errors["nats"] = "`x` ended; it said:\nno room"
        table = report.markdown({"meta": META, "results": [failed.full()]})
        self.assertIn("NATS in `routed-thr` 8 B failed: no room", table)

    def test_publication_refreshes_what_is_between_the_markers(self):
        readme = self.folder / "README.md"
        begin, end = report.MARKERS
        readme.write_text(f"before\n{begin}\nold\n{end}\nafter\n")
        report.publish(COMPLETE, self.folder)
        text = readme.read_text()
        self.assertTrue(text.startswith(f"before\n{begin}\n") and text.endswith(f"\n{end}\nafter\n"))
        self.assertIn("| peer to peer, 8 B | 6.00 M msg/s | 2.00 M msg/s | 3.00 | 9.00 M msg/s |", text)
        self.assertNotIn("old", text)
        self.assertEqual(report.refreshed(text, COMPLETE), text)
        published = self.folder / "docs/performance"
        self.assertIn("![Throughput.](p2p-thr.svg)", (published / "README.md").read_text())
        self.assertTrue((published / "p2p-thr.svg").exists())

    def test_a_readme_without_markers_and_a_report_of_some_cases_are_refused(self):
        with self.assertRaisesRegex(BenchError, "README.md has no"):
            report.refreshed("text", COMPLETE)
        (self.folder / "README.md").write_text("\n".join(report.MARKERS))
        with self.assertRaisesRegex(BenchError, "the report has no p2p-thr/1024, which README.md shows"):
            report.publish(WHOLE, self.folder)
        self.assertFalse((self.folder / "docs").exists())


class Plots(unittest.TestCase):
    def test_the_same_results_give_the_same_picture(self):
        try:
            from weftbench import plots
        except ImportError:
            self.skipTest("matplotlib is not installed")
        drawn = plots.draw(WHOLE["results"])
        self.assertEqual(list(drawn), ["p2p-thr"])
        self.assertEqual(drawn, plots.draw(WHOLE["results"]))

    def test_a_legend_names_every_peer(self):
        try:
            from weftbench import plots
        except ImportError:
            self.skipTest("matplotlib is not installed")
        everybody = dict.fromkeys(PEERS, [1.0])
        rows = [result(label, **everybody).full() for label in ("routed-thr/8", "routed-thr/64")]
        _, svg = plots.draw(rows)["routed-thr"]
        for peer in PEERS.values():
            self.assertIn(f">{peer.title}</text>", svg)
