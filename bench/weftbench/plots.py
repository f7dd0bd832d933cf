"""The figures of the report, as SVG. The one part of the bench that needs more than the standard library."""

import io
import re

import matplotlib
from matplotlib import pyplot
from matplotlib.ticker import FuncFormatter

from weftbench import text
from weftbench.peers import PEERS

matplotlib.use("svg")
matplotlib.rcParams.update(
    {
        "svg.fonttype": "none",
        # Identifiers that do not change from run to run.
        "svg.hashsalt": "weft",
        "font.family": "sans-serif",
        "font.size": 9,
        "axes.grid": True,
        "grid.alpha": 0.3,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
)

COLOURS = {
    "weft": "#d1495b",
    "reference": "#00798c",
    "limit": "#999999",
    "iperf3": "#555555",
    "ping": "#555555",
    "mosquitto": "#edae49",
    "nats": "#66a182",
    "kafka": "#2e4057",
    "cyclone": "#8d6a9f",
}

RATES = {"1": 1, "10": 10, "100": 100, "1k": 1000, "10k": 10_000, "100k": 100_000}


def draw(results: list[dict]) -> dict[str, tuple[str, str]]:
    """The figures that the results allow: by file name, what it shows and the SVG."""
    found = {}
    for case, way in (("p2p-thr", "peer to peer"), ("routed-thr", "through a router")):
        rows = sorted((row for row in results if row["case"] == case), key=lambda row: row["size"])
        if len(rows) > 1:
            found[case] = (f"Throughput {way} over payload size.", throughput(rows, way))
    for regime, cores in (("", "idle cores sleep"), ("-awake", "cores awake")):
        rows = by_rate(results, regime)
        if len(rows) > 1:
            caption = f"Median round trip of 64 B, peer to peer, over the load; {cores}."
            found[f"p2p-rtt{regime}"] = (caption, latency(rows, cores))
    for name, pattern, caption in BARS:
        rows = [row for row in results if re.fullmatch(pattern, row["case"])]
        if rows:
            found[name] = (caption, bars(rows))
    return found


BARS = (
    ("fans", r"fan-(in|out)-\d+", "Messages through a router to many subscribers and from many publishers."),
    ("questions", r"(p2p|routed)-get(-1000)?", "Answered questions a second."),
    ("memory", r"memory-.*-router", "Memory of the router for each session."),
    ("cost", r"(p2p|routed)-cost(-1k)?-cpu", "CPU seconds of all processes for a million messages."),
)


def by_rate(results: list[dict], regime: str) -> list[tuple[int, dict]]:
    rows = []
    for row in results:
        found = re.fullmatch(rf"p2p-rtt-(\d+k?){regime}-p50", row["case"])
        if found:
            rows.append((RATES[found[1]], row))
    return sorted(rows, key=lambda pair: pair[0])


def throughput(rows: list[dict], way: str) -> str:
    figure, (messages, bits) = pyplot.subplots(1, 2, figsize=(10, 3.8))
    for key in present(rows):
        points = [(row["size"], row[key]) for row in rows if row.get(key)]
        sizes = [size for size, _ in points]
        line(messages, key, sizes, [rate for _, rate in points])
        line(bits, key, sizes, [rate * size * 8 / 1e9 for size, rate in points])
    messages.set_ylabel("messages a second")
    messages.set_yscale("log")
    bits.set_ylabel("payload, Gbit/s")
    for axes in (messages, bits):
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: text.size(int(size))))
        axes.set_xlabel(f"payload, {way}")
    messages.legend(frameon=False)
    return svg(figure)


def latency(rows: list[tuple[int, dict]], cores: str) -> str:
    figure, axes = pyplot.subplots(figsize=(6, 3.8))
    for key in present([row for _, row in rows]):
        points = [(rate, row[key]) for rate, row in rows if row.get(key)]
        line(axes, key, [rate for rate, _ in points], [trip for _, trip in points])
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(f"messages a second, {cores}")
    axes.set_ylabel("median round trip, µs")
    axes.legend(frameon=False)
    return svg(figure)


def bars(rows: list[dict]) -> str:
    """A group of bars for each case, relative to Weft's, for the figures of a group differ by magnitudes."""
    figure, axes = pyplot.subplots(figsize=(10, 1 + 0.9 * len(rows)))
    keys = [key for key in present(rows) if PEERS[key].abilities]
    height = 0.8 / len(keys)
    for place, key in enumerate(keys):
        at = [index + place * height for index in range(len(rows))]
        values = [(row.get(key) or 0) / (row.get("weft") or 1) for row in rows]
        drawn = axes.barh(at, values, height * 0.9, color=COLOURS[key], label=PEERS[key].title)
        labels = [text.figure(row.get(key), row["unit"]) for row in rows]
        axes.bar_label(drawn, labels, padding=3, fontsize=8)
    axes.set_yticks([index + 0.4 - height / 2 for index in range(len(rows))], [name(row) for row in rows])
    axes.invert_yaxis()
    axes.margins(x=0.12)
    less = "" if rows[0]["more_is_better"] else "; less is better"
    axes.set_xlabel(f"relative to Weft{less}")
    axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=len(keys))
    return svg(figure)


def name(row: dict) -> str:
    return f"{row['case']} {text.size(row['size'])}".rstrip()


def present(rows: list[dict]) -> list[str]:
    return [key for key in PEERS if any(row.get(key) for row in rows)]


def line(axes, key: str, across: list, values: list):
    dashes = "-" if PEERS[key].abilities else "--"
    axes.plot(across, values, dashes, marker="o", markersize=3, color=COLOURS[key], label=PEERS[key].title)


def svg(figure) -> str:
    figure.tight_layout()
    buffer = io.StringIO()
    # Without a date, two drawings of the same report are the same file.
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    return buffer.getvalue()
