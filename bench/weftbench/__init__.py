"""Measures Weft beside its peers and beside the bare machine, and writes the report. Manual: bench/README.md."""

from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
ROOT = HERE.parent
REPORT = HERE / "report"


class BenchError(Exception):
    """What went wrong, for the person at the terminal."""
