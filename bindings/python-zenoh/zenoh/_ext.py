"""``weft._ext``: the same module, not a copy."""

import sys

import weft._ext

sys.modules[__name__] = weft._ext
