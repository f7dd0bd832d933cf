"""Where things are."""

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]


def binary(name):
    """A program built in release mode, by `cargo xtask interop` or by hand."""
    folder = os.environ.get("WEFT_BIN_DIR")
    if not folder:
        folder = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
    path = pathlib.Path(folder) / name
    if not path.exists():
        raise FileNotFoundError(f"{path} is not built: cargo build --release -p weft-cli -p weft-driver")
    return path
