"""``weft.aio``: the same module, not a copy."""

import sys

import weft.aio

sys.modules[__name__] = weft.aio
