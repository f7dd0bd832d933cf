"""Publish, subscribe and query in Zenoh networks.

>>> import weft
>>> with weft.open(weft.Config()) as session:
...     subscriber = session.declare_subscriber("demo/**")
...     session.put("demo/hello", "world")
...     print(subscriber.recv().payload.to_string())

Programs written for the module ``zenoh`` run with ``import weft as zenoh``.
"""

from __future__ import annotations

import atexit as _atexit
import importlib as _importlib
import os as _os
from typing import Any as _Any

from . import _weft, handlers
from ._enums import (
    CongestionControl,
    ConsolidationMode,
    InterceptionPoint,
    Locality,
    Priority,
    QueryConsolidation,
    QueryTarget,
    Reliability,
    ReplyKeyExpr,
    SampleKind,
    SetIntersectionLevel,
    WhatAmI,
    WhatAmIMatcher,
)
from ._weft import (
    NTP64,
    CancellationToken,
    Config,
    Encoding,
    EntityGlobalId,
    Hello,
    KeyExpr,
    Link,
    LinkEvent,
    LinkEventsListener,
    Liveliness,
    LivelinessToken,
    MatchingListener,
    MatchingStatus,
    Parameters,
    Publisher,
    Querier,
    Query,
    Queryable,
    Reply,
    ReplyError,
    Sample,
    Scout,
    Selector,
    Session,
    SessionInfo,
    SourceInfo,
    Subscriber,
    Timestamp,
    TimestampContext,
    TimestampId,
    TimestampInstrumentation,
    TimestampInstrumentationBuilder,
    TimestampStack,
    TimestampStackRecord,
    Transport,
    TransportEvent,
    TransportEventsListener,
    ZBytes,
    ZenohId,
    ZError,
    __version__,
    init_log_from_env_or,
    open,
    scout,
    try_init_log_from_env,
)
from .handlers import Handler

_LAZY = ("aio", "ext", "shm", "_ext")


def __getattr__(name: str) -> _Any:
    """Loads ``aio``, ``ext`` and ``shm`` when they are first used."""
    if name in _LAZY:
        return _importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_atexit.register(_weft._close_all)
if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_weft._after_fork)

__all__ = [
    "NTP64",
    "CancellationToken",
    "Config",
    "CongestionControl",
    "ConsolidationMode",
    "Encoding",
    "EntityGlobalId",
    "Handler",
    "Hello",
    "InterceptionPoint",
    "KeyExpr",
    "Link",
    "LinkEvent",
    "LinkEventsListener",
    "Liveliness",
    "LivelinessToken",
    "Locality",
    "MatchingListener",
    "MatchingStatus",
    "Parameters",
    "Priority",
    "Publisher",
    "Querier",
    "Query",
    "QueryConsolidation",
    "QueryTarget",
    "Queryable",
    "Reliability",
    "Reply",
    "ReplyError",
    "ReplyKeyExpr",
    "Sample",
    "SampleKind",
    "Scout",
    "Selector",
    "Session",
    "SessionInfo",
    "SetIntersectionLevel",
    "SourceInfo",
    "Subscriber",
    "Timestamp",
    "TimestampContext",
    "TimestampId",
    "TimestampInstrumentation",
    "TimestampInstrumentationBuilder",
    "TimestampStack",
    "TimestampStackRecord",
    "Transport",
    "TransportEvent",
    "TransportEventsListener",
    "WhatAmI",
    "WhatAmIMatcher",
    "ZBytes",
    "ZError",
    "ZenohId",
    "__version__",
    "handlers",
    "init_log_from_env_or",
    "open",
    "scout",
    "try_init_log_from_env",
]
