"""``weft.handlers``: the same module, not a copy."""

import sys

import weft.handlers

sys.modules[__name__] = weft.handlers
