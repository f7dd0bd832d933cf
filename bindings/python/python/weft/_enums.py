"""Enumerations, and what is made of them."""

from __future__ import annotations

import enum
from typing import NoReturn, Union, final


class _Constants(enum.Enum):
    """An enumeration that prints as it is written and counts as its number, but is not one."""

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    __repr__ = __str__

    def __int__(self) -> int:
        return int(self.value)


class Priority(_Constants):
    """Which messages go first, from the most urgent to the least."""

    REAL_TIME = 1
    INTERACTIVE_HIGH = 2
    INTERACTIVE_LOW = 3
    DATA_HIGH = 4
    DATA = 5
    DATA_LOW = 6
    BACKGROUND = 7
    DEFAULT = 5
    MIN = 7
    MAX = 1
    NUM: int  # no member: how many there are


setattr(Priority, "NUM", 7)


class CongestionControl(_Constants):
    """What happens to a message where there is no room: dropped, waited for, or the first one waited for."""

    DROP = 0
    BLOCK = 1
    BLOCK_FIRST = 2
    DEFAULT = 0


class Reliability(_Constants):
    """The channel of a message. Publishers are reliable unless they say otherwise, whatever ``DEFAULT`` is."""

    BEST_EFFORT = 0
    RELIABLE = 1
    DEFAULT = 0


class SampleKind(_Constants):
    """Whether a sample sets a value or deletes it."""

    PUT = 0
    DELETE = 1


class Locality(_Constants):
    """This session only, others only, or both."""

    SESSION_LOCAL = 0
    REMOTE = 1
    ANY = 2
    DEFAULT = 2


class QueryTarget(_Constants):
    """Which queryables are asked: the nearest complete one or else all, all, or all complete ones."""

    BEST_MATCHING = 0
    ALL = 1
    ALL_COMPLETE = 2
    DEFAULT = 0


class ConsolidationMode(_Constants):
    """Which of several replies on a key are delivered: all, those that are newer than the ones before, or the latest."""

    AUTO = 0
    NONE = 1
    MONOTONIC = 2
    LATEST = 3
    DEFAULT = 0

    def __call__(self) -> ConsolidationMode:
        # `QueryConsolidation.mode` is a method to some programs and a property to others.
        return self


class ReplyKeyExpr(_Constants):
    """On which keys a query takes replies: on any, or on those that it asks for."""

    ANY = 0
    MATCHING_QUERY = 1
    DEFAULT = 1


class SetIntersectionLevel(_Constants):
    """How two key expressions relate, as sets of keys."""

    DISJOINT = 0
    INTERSECTS = 1
    INCLUDES = 2
    EQUALS = 3


class InterceptionPoint(_Constants):
    """Where a message's time is taken: at the sender, at routers, at the receiver."""

    SEND = 0
    ROUTE = 1
    RECEIVE = 2


def _refuse_subclass(cls: type) -> NoReturn:
    raise TypeError(f"type '{cls.__mro__[1].__name__}' is not an acceptable base type")


@final
class QueryConsolidation:
    """A consolidation mode, as queries take it."""

    __slots__ = ("_mode",)

    def __init_subclass__(cls) -> None:
        _refuse_subclass(cls)
    AUTO: QueryConsolidation
    DEFAULT: QueryConsolidation

    def __init__(self, mode: ConsolidationMode | None = None, /) -> None:
        mode = ConsolidationMode.AUTO if mode is None else mode
        if not isinstance(mode, ConsolidationMode):
            raise TypeError(f"expected ConsolidationMode, not {type(mode).__name__}")
        self._mode = mode

    @property
    def mode(self) -> ConsolidationMode:
        """The mode; can be called, too, and then returns itself."""
        return self._mode

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QueryConsolidation) and self._mode is other._mode

    def __hash__(self) -> int:
        return hash(self._mode)

    def __repr__(self) -> str:
        return f"QueryConsolidation({self._mode})"


QueryConsolidation.AUTO = QueryConsolidation.DEFAULT = QueryConsolidation()

_MODES = {"router": 1, "peer": 2, "client": 4}


@final
class WhatAmI:
    """What a node is in the network: a router, a peer or a client."""

    __slots__ = ("_bit", "_name")

    def __init_subclass__(cls) -> None:
        _refuse_subclass(cls)
    ROUTER: WhatAmI
    PEER: WhatAmI
    CLIENT: WhatAmI
    _bit: int
    _name: str

    def __new__(cls, s: str) -> WhatAmI:
        """The mode of this name: ``router``, ``peer`` or ``client``, else ``ZError``."""
        if not isinstance(s, str):
            raise TypeError(f"expected str, not {type(s).__name__}")
        if s not in _MODES:
            _refuse(f"invalid WhatAmI {s!r}: expected 'router', 'peer' or 'client'")
        found: WhatAmI = getattr(cls, s.upper())
        return found

    @property
    def name(self) -> str:
        """``ROUTER``, ``PEER`` or ``CLIENT``."""
        return self._name.upper()

    @property
    def value(self) -> int:
        """1, 2 or 4."""
        return self._bit

    def __int__(self) -> int:
        return self._bit

    def __str__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return self._name.capitalize()

    def __or__(self, other: WhatAmI | str) -> WhatAmIMatcher:
        return _matcher(self._bit | _bits(other))

    __ror__ = __or__

    def __reduce__(self) -> tuple[type[WhatAmI], tuple[str]]:
        return (WhatAmI, (self._name,))


def _mode(name: str) -> WhatAmI:
    mode = object.__new__(WhatAmI)
    mode._name, mode._bit = name, _MODES[name]
    return mode


WhatAmI.ROUTER, WhatAmI.PEER, WhatAmI.CLIENT = map(_mode, _MODES)


@final
class WhatAmIMatcher:
    """A set of modes, written ``router|peer|client``."""

    __slots__ = ("_bits",)

    def __init_subclass__(cls) -> None:
        _refuse_subclass(cls)
    _bits: int

    def __init__(self, s: str | None = None) -> None:
        self._bits = _bits(s or "")

    @classmethod
    def empty(cls) -> WhatAmIMatcher:
        """The set of none."""
        return _matcher(0)

    def router(self) -> WhatAmIMatcher:
        """This set and routers."""
        return _matcher(self._bits | 1)

    def peer(self) -> WhatAmIMatcher:
        """This set and peers."""
        return _matcher(self._bits | 2)

    def client(self) -> WhatAmIMatcher:
        """This set and clients."""
        return _matcher(self._bits | 4)

    def is_empty(self) -> bool:
        """Whether no mode is in it."""
        return self._bits == 0

    def matches(self, whatami: WhatAmI | str) -> bool:
        """Whether a mode is in it."""
        return self._bits & WhatAmI(str(whatami))._bit != 0

    def __contains__(self, whatami: WhatAmI | str) -> bool:
        return self.matches(whatami)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WhatAmIMatcher) and self._bits == other._bits

    def __hash__(self) -> int:
        return self._bits

    def __str__(self) -> str:
        return "|".join(name for name, bit in _MODES.items() if self._bits & bit)

    def __repr__(self) -> str:
        return f"WhatAmIMatcher({str(self)!r})"


def _matcher(bits: int) -> WhatAmIMatcher:
    matcher = WhatAmIMatcher()
    matcher._bits = bits
    return matcher


def _bits(modes: Union[WhatAmI, WhatAmIMatcher, str]) -> int:
    if isinstance(modes, WhatAmI):
        return modes._bit
    if isinstance(modes, WhatAmIMatcher):
        return modes._bits
    if not isinstance(modes, str):
        raise TypeError(f"expected str, not {type(modes).__name__}")
    bits = 0
    for name in modes.split("|") if modes else ():
        if name not in _MODES:
            _refuse("invalid WhatAmI matcher")
        bits |= _MODES[name]
    return bits


def _refuse(text: str) -> NoReturn:
    from weft._weft import ZError

    error = ZError(text)
    error.kind = "argument"
    error.hint = "write router, peer or client, several with a | between"
    raise error


for _class in (
    Priority,
    CongestionControl,
    Reliability,
    SampleKind,
    Locality,
    QueryTarget,
    ConsolidationMode,
    ReplyKeyExpr,
    SetIntersectionLevel,
    InterceptionPoint,
    QueryConsolidation,
    WhatAmI,
    WhatAmIMatcher,
):
    _class.__module__ = "weft"
del _class
