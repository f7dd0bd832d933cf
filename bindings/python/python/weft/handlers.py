"""What declarations deliver to: channels and callbacks."""

from ._weft import Callback, DefaultHandler, FifoChannel, Handler, RingChannel

__all__ = ["Callback", "DefaultHandler", "FifoChannel", "Handler", "RingChannel"]
