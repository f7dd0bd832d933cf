"""The package `weft-zenoh`: a module named `zenoh` that is this one."""

from __future__ import annotations

import os
import pathlib

from conftest import run_script

PACKAGE = pathlib.Path(__file__).parents[2] / "python-zenoh"


def test_programs_that_import_zenoh_get_weft():
    text = """
import zenoh, zenoh.ext, zenoh.handlers, weft, weft.ext
from zenoh.ext import z_serialize, UInt8
from zenoh.handlers import FifoChannel
assert zenoh.__file__.startswith({package!r}), zenoh.__file__
assert zenoh.Session is weft.Session and zenoh.open is weft.open
assert zenoh.ext is weft.ext and zenoh.handlers is weft.handlers
assert bytes(z_serialize(UInt8(1))) == b"\\x01"
try:
    zenoh.shm
except ImportError as error:
    assert "shared memory" in str(error)
else:
    raise SystemExit("shared memory?")
print(sorted(set(weft.__all__) - set(dir(zenoh))))
"""
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    done = run_script(text.format(package=str(PACKAGE)), env=environment)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
