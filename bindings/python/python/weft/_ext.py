"""What programs know as the private home of ``weft.ext``."""

from .ext import *  # noqa: F403
