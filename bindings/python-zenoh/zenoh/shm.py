"""``weft.shm``: the same module, not a copy."""

import sys

import weft.shm

sys.modules[__name__] = weft.shm
