"""``weft.ext``: the same module, not a copy."""

import sys

import weft.ext

sys.modules[__name__] = weft.ext
