"""What the tests share."""

import contextlib
import io
import sys
from pathlib import Path

PLAYER = Path(__file__).with_name("player.py")


def player(status=0) -> list[str]:
    return [sys.executable, str(PLAYER), str(status)]


def quietly(call, *arguments):
    """What `call` returns and what it wrote to standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = call(*arguments)
        except SystemExit as ended:
            status = ended.code
    return status, out.getvalue(), err.getvalue()
