"""The module ``weft`` under the name that existing programs import."""

import importlib as _importlib
from typing import Any as _Any

from weft import *  # noqa: F403
from weft import __all__ as __all__
from weft import __version__ as __version__

from . import handlers as handlers


def __getattr__(name: str) -> _Any:
    if name in ("aio", "ext", "shm", "_ext"):
        return _importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
