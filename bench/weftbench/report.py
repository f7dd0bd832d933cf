"""The report: a table for the terminal, and for people and programs the files in bench/report and docs/performance."""

import html
import json
import re
from pathlib import Path

from weftbench import BenchError, text
from weftbench.peers import PEERS
from weftbench.results import NOISY_SPREAD, Result

ROW = "{:<24} {:>8} {:>14} {:>14} {:>14} {:>9} {:>9}   {}"

MARKERS = ("<!-- bench:begin -->", "<!-- bench:end -->")

# What the README shows of the report: case, size, words.
README_ROWS = (
    ("p2p-thr", 8, "peer to peer, 8 B"),
    ("p2p-thr", 64, "peer to peer, 64 B"),
    ("p2p-thr", 1 << 10, "peer to peer, 1 KiB"),
    ("p2p-thr", 8 << 10, "peer to peer, 8 KiB"),
    ("p2p-thr", 4 << 20, "peer to peer, 4 MiB"),
    ("routed-thr", 8, "through a router, 8 B"),
    ("routed-thr", 64, "through a router, 64 B"),
    ("routed-thr", 1 << 10, "through a router, 1 KiB"),
    ("routed-thr", 8 << 10, "through a router, 8 KiB"),
    ("p2p-rtt-p50", 64, "median round trip of 64 B, idle cores"),
    ("p2p-rtt-awake-p50", 64, "median round trip of 64 B, cores awake"),
    ("routed-rtt-awake-p50", 64, "the same through a router"),
    ("p2p-get-1000", 64, "questions, 1,000 in flight"),
    ("fan-out-100", 64, "router to 100 subscribers, 64 B"),
    ("memory-idle-1000-router", 0, "memory of an idle session on a router"),
)


# --- the terminal ---------------------------------------------------------------------------------------------------


def table_head() -> str:
    return ROW.format("case", "size", "weft", "reference", "limit", "w/ref", "w/limit", "further peers")


def table_row(result: Result) -> str:
    unit = result.metric.unit
    medians = [text.figure(result.median(who), unit) for who in ("weft", "reference", "limit")]
    ratios = [text.ratio(result.ratio(other), result.is_noisy(other)) for other in ("reference", "limit")]
    others = [key for key in result.rounds if key not in ("weft", "reference", "limit") and result.rounds[key]]
    further = ", ".join(f"{key} {text.figure(result.median(key), unit)}" for key in others)
    return ROW.format(result.name, text.size(result.case.size), *medians, *ratios, further).rstrip()


# --- files ----------------------------------------------------------------------------------------------------------


def write(results: list[dict], meta: dict, folder: Path):
    """Writes report.json, table.md, the plots and index.html. Needs matplotlib for the plots, and says so."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = {"meta": meta, "results": results}
    (folder / "report.json").write_text(json.dumps(whole, indent=1) + "\n")
    (folder / "table.md").write_text(markdown(whole))
    drawn = plots(results)
    for name, (_, svg) in drawn.items():
        (folder / f"{name}.svg").write_text(svg)
    (folder / "index.html").write_text(page(whole, drawn))


def plots(results: list[dict]) -> dict[str, tuple[str, str]]:
    try:
        from weftbench import plots
    except ImportError as error:
        raise BenchError(f"no plots: {error}; `cargo xtask bench` installs what they need") from error
    return plots.draw(results)


def markdown(whole: dict) -> str:
    """All results in tables, one for each group."""
    lines = [f"{provenance(whole['meta'])}", ""]
    for group, rows in grouped(whole["results"]).items():
        others = [key for key in PEERS if key not in ("weft", "reference") and any(row.get(key) for row in rows)]
        lines += [f"## {group}", ""]
        heads = ["case", "size", "Weft", "Eclipse Zenoh", *(PEERS[key].title for key in others)]
        heads += ["vs Zenoh", "vs best", "vs limit"]
        lines += [f"| {' | '.join(heads)} |", "|---|---:|" + "---:|" * (len(heads) - 2)]
        for row in rows:
            figures = [text.figure(row.get(key), row["unit"]) for key in ("weft", "reference", *others)]
            cells = [f"`{row['case']}`", text.size(row["size"]), *figures, *ratios(row)]
            lines.append(f"| {' | '.join(cells)} |")
        lines += ["", *about(rows), ""]
    lines += failures(whole)
    return "\n".join(lines).rstrip() + "\n"


def provenance(meta: dict) -> str:
    return (
        f"Measured on {meta['date']} at {meta['commit']}: {meta['machine']}; medians of {meta['rounds']} interleaved\n"
        f"rounds of {meta['seconds']:g} s. `~` marks a ratio whose spread over the rounds is above {NOISY_SPREAD:.0%},\n"
        "or that was measured once. Ratios are Weft's figure divided by the other one; for times and memory, less is better."
    )


def ratios(row: dict) -> list[str]:
    noisy = row["spread"]["noisy"]
    best = row["best"]
    against_best = text.ratio(row["vs_best"], f"vs_{best}" in noisy)
    if best and best != "reference":
        against_best += f" ({PEERS[best].title})"
    return [
        text.ratio(row["vs_reference"], "vs_reference" in noisy),
        against_best,
        text.ratio(row["vs_limit"], "vs_limit" in noisy),
    ]


def about(rows: list[dict]) -> list[str]:
    """What the cases of a group are, each once."""
    names = {}
    for row in rows:
        names.setdefault(row["about"], row["case"])
    return [f"- `{case}`: {words}" for words, case in names.items()]


def failures(whole: dict) -> list[str]:
    lines = [f"- without {name}: {why.splitlines()[0]}" for name, why in whole["meta"]["skipped"].items()]
    failed = {}
    for row in whole["results"]:
        for key, why in row["errors"].items():
            failed[f"{PEERS[key].title} in `{row['case']}` {text.size(row['size'])}"] = why.splitlines()[-1]
    lines += [f"- {name} failed: {why}" for name, why in failed.items()]
    return ["## Not measured", "", *lines] if lines else []


def grouped(results: list[dict]) -> dict[str, list[dict]]:
    groups: dict[str, list[dict]] = {}
    for row in results:
        groups.setdefault(row["group"], []).append(row)
    return groups


STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;font-size:13px;margin:1rem 0}
td,th{padding:.2rem .6rem;border-bottom:1px solid #ddd;text-align:right}
td:first-child,th:first-child{text-align:left}figure{margin:1.5rem 0}svg{max-width:100%;height:auto}"""


def page(whole: dict, drawn: dict[str, tuple[str, str]]) -> str:
    """One file with everything in it."""
    parts = [f"<h1>Weft beside its peers</h1><p>{html.escape(provenance(whole['meta']))}</p>"]
    for caption, svg in drawn.values():
        inline = svg[svg.index("<svg") :]
        parts.append(f"<figure>{inline}<figcaption>{html.escape(caption)}</figcaption></figure>")
    parts.append(tables(markdown(whole)))
    head = f"<!doctype html><meta charset=utf-8><title>Weft: performance</title><style>{STYLE}</style>"
    return f"{head}\n{chr(10).join(parts)}\n"


def tables(source: str) -> str:
    """The Markdown of `markdown`, which has headings, tables and lists, as HTML."""
    out, cell = [], "th"
    for line in source[source.index("\n\n") :].splitlines():
        words = re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(line))
        if line.startswith("## "):
            out.append(f"<h2>{words[3:]}</h2>")
        elif line.startswith("|---"):
            cell = "td"
        elif line.startswith("|"):
            if cell == "th":
                out.append("<table>")
            cells = "".join(f"<{cell}>{each.strip()}</{cell}>" for each in words.strip("|").split("|"))
            out.append(f"<tr>{cells}</tr>")
        elif cell == "td":
            out.append("</table>")
            cell = "th"
        if line.startswith("- "):
            out.append(f"<p>{words[2:]}</p>")
    if cell == "td":
        out.append("</table>")
    return "\n".join(out)


# --- publication ----------------------------------------------------------------------------------------------------


def publish(whole: dict, root: Path):
    """Puts a report into docs/performance and its main figures between the markers of README.md."""
    readme = root / "README.md"
    # First of all: nothing is published of a report that lacks something.
    fresh = refreshed(readme.read_text(), whole)
    folder = root / "docs/performance"
    folder.mkdir(parents=True, exist_ok=True)
    drawn = plots(whole["results"])
    for old in folder.glob("*.svg"):
        old.unlink()
    figures = []
    for name, (caption, svg) in drawn.items():
        (folder / f"{name}.svg").write_text(svg)
        figures += [f"![{caption}]({name}.svg)", ""]
    note = (
        "Made by `cargo xtask bench --publish` from a report of `cargo xtask bench`; how it is measured:\n"
        "[bench](../../bench/README.md)."
    )
    (folder / "README.md").write_text("\n".join(["# Performance", "", note, "", *figures, markdown(whole)]))
    readme.write_text(fresh)


def refreshed(readme: str, whole: dict) -> str:
    """A README with the table of a report between its markers.

    Raises BenchError if it has no markers.
    """
    begin, end = (readme.find(marker) for marker in MARKERS)
    if begin < 0 or end < begin:
        raise BenchError(f"README.md has no {MARKERS[0]} … {MARKERS[1]}")
    return f"{readme[:begin]}{MARKERS[0]}\n{readme_table(whole)}\n{readme[end:]}"


def readme_table(whole: dict) -> str:
    by_name = {(row["case"], row["size"]): row for row in whole["results"]}
    lines = [
        f"{provenance(whole['meta'])}",
        "",
        "| case | Weft | Eclipse Zenoh | ratio | physical limit |",
        "|---|---:|---:|---:|---:|",
    ]
    for case, size, words in README_ROWS:
        row = by_name.get((case, size))
        if row is None:
            raise BenchError(f"the report has no {case}/{size}, which README.md shows: it is not of a whole run")
        figures = [text.figure(row.get(key), row["unit"]) for key in ("weft", "reference", "limit")]
        ratio = text.ratio(row["vs_reference"], "vs_reference" in row["spread"]["noisy"])
        lines.append(f"| {words} | {figures[0]} | {figures[1]} | {ratio} | {figures[2]} |")
    return "\n".join(lines)
