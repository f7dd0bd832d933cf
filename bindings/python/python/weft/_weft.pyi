import datetime
import os
from collections.abc import AsyncIterator, Awaitable, Generator, Iterator
from types import TracebackType
from typing import Any, Callable, Generic, TypeVar, Union, final, overload

from typing_extensions import Buffer, Self, TypeAlias

from weft import (
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

_T = TypeVar("_T")
_H = TypeVar("_H")
_H_co = TypeVar("_H_co", covariant=True)

_Payload: TypeAlias = Union[ZBytes, str, Buffer]
_Key: TypeAlias = Union[KeyExpr, str]
_Selector: TypeAlias = Union[Selector, KeyExpr, str]
_Parameters: TypeAlias = Union[Parameters, dict[str, str], str]
_Encoding: TypeAlias = Union[Encoding, str]
_Consolidation: TypeAlias = Union[QueryConsolidation, ConsolidationMode]
_Channel: TypeAlias = Union[DefaultHandler[_T], FifoChannel[_T], RingChannel[_T], None]
_Number: TypeAlias = Union[float, int]

__version__: str
__all__ = [
    "AdvancedPublisher",
    "AdvancedSubscriber",
    "CacheConfig",
    "HistoryConfig",
    "Miss",
    "MissDetectionConfig",
    "RecoveryConfig",
    "RepliesConfig",
    "SampleMissListener",
    "declare_advanced_publisher",
    "declare_advanced_subscriber",
    "ZBytes",
    "CancellationToken",
    "Config",
    "Encoding",
    "_after_fork",
    "Handler",
    "Callback",
    "DefaultHandler",
    "FifoChannel",
    "RingChannel",
    "EntityGlobalId",
    "SourceInfo",
    "ZenohId",
    "Link",
    "LinkEvent",
    "SessionInfo",
    "Transport",
    "TransportEvent",
    "KeyExpr",
    "Liveliness",
    "LivelinessToken",
    "init_log_from_env_or",
    "try_init_log_from_env",
    "Publisher",
    "Querier",
    "Query",
    "Reply",
    "ReplyError",
    "Sample",
    "Hello",
    "Scout",
    "scout",
    "Parameters",
    "Selector",
    "z_deserialize",
    "z_serialize",
    "_close_all",
    "Session",
    "open",
    "LinkEventsListener",
    "MatchingListener",
    "MatchingStatus",
    "Queryable",
    "Subscriber",
    "TransportEventsListener",
    "NTP64",
    "Timestamp",
    "TimestampId",
    "TimestampContext",
    "TimestampInstrumentation",
    "TimestampInstrumentationBuilder",
    "TimestampStack",
    "TimestampStackRecord",
    "ZError",
    "__version__",
]

class ZError(Exception):
    """Something that Weft cannot do. `kind` is a stable word for programs, `detail` what it is about,
    `hint` what to do instead.
    """
    kind: str
    detail: str | None
    hint: str | None

def open(config: Config | None = None, *, timestamp_callback: Callable[[TimestampContext], _Payload] | None = None) -> Session:
    """Opens a session. Waits until it can be used: for a client until it is connected, for a peer for
    half a second at most.

    `timestamp_callback` is called with a `TimestampContext` for each record of a timestamp stack
    and returns the bytes to record. Raises `ZError` if the configuration contradicts itself, an
    endpoint cannot be bound, or a client finds nobody.
    """
@overload
def scout(handler: _Channel[Hello] = None, what: WhatAmIMatcher | WhatAmI | str | None = None, config: Config | None = None) -> Scout[Handler[Hello]]:
    """Asks who is there, by multicast, until it is stopped. `what` is a set of modes, by default all.

    Every node answers several times: tell them apart by `zid`.
    """
@overload
def scout(handler: tuple[Callable[[Hello], Any], _H], what: WhatAmIMatcher | WhatAmI | str | None = None, config: Config | None = None) -> Scout[_H]: ...
@overload
def scout(handler: Callable[[Hello], Any], what: WhatAmIMatcher | WhatAmI | str | None = None, config: Config | None = None) -> Scout[None]: ...
def try_init_log_from_env() -> None:
    """Logs to standard error what the environment variable `RUST_LOG` says, if it is set: `info`, or
    `weft_runtime=debug,warn`. Further calls do nothing.
    """
def init_log_from_env_or(level: str) -> None:
    """As `try_init_log_from_env`, with `level` where the variable is not set."""
def _after_fork() -> None: ...
def _close_all() -> None: ...

@final
class KeyExpr:
    """A key expression: a set of keys, such as `demo/*/temperature/**`, in canonical form.

    Equal to the same `str`, with the same hash. Raises `ZError` for text that is not canonical; see
    `KeyExpr.autocanonize`.
    """
    def __new__(cls, key_expr: _Key) -> Self: ...
    @classmethod
    def autocanonize(cls, key_expr: str) -> KeyExpr:
        """The canonical form of `key_expr`: `a/**/**` becomes `a/**`. Raises `ZError` if it has none."""
    def intersects(self, other: _Key) -> bool:
        """Whether some key is in both."""
    def includes(self, other: _Key) -> bool:
        """Whether every key of `other` is in this one."""
    def relation_to(self, other: _Key) -> SetIntersectionLevel:
        """How the two sets of keys relate."""
    def join(self, other: str) -> KeyExpr:
        """This, a `/` and `other`, which is canonized."""
    def concat(self, other: str) -> KeyExpr:
        """This and `other` without a `/` between. Raises `ZError` if the result is not canonical."""
    def __truediv__(self, other: _Key, /) -> KeyExpr: ...
    def __rtruediv__(self, other: _Key, /) -> KeyExpr: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Selector:
    """What is asked for: a key expression and parameters, `demo/*?x=1`."""
    def __new__(cls, arg: _Selector, /, parameters: _Parameters | None = None) -> Self: ...
    @property
    def key_expr(self) -> KeyExpr:
        """The key expression: a copy."""
    @key_expr.setter
    def key_expr(self, key_expr: _Key) -> None: ...
    @property
    def parameters(self) -> Parameters:
        """The parameters: a copy."""
    @parameters.setter
    def parameters(self, parameters: _Parameters) -> None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    __hash__: None  # type: ignore[assignment]

@final
class Parameters:
    """The parameters of a selector, `name=value;flag`: an ordered multimap of text."""
    def __new__(cls, parameters: _Parameters | None = None) -> Self: ...
    def is_empty(self) -> bool:
        """Whether there are none."""
    @overload
    def get(self, key: str, default: None = None) -> str | None:
        """The first value of `key`, or `default`."""
    @overload
    def get(self, key: str, default: str) -> str: ...
    def values(self, key: str) -> list[str]:
        """All values of `key`: several are separated by `|`."""
    def insert(self, key: str, value: str) -> str | None:
        """Sets `key`. Returns its old value, or `None`. Raises `ValueError` for text that cannot be
        one.
        """
    def remove(self, key: str) -> str | None:
        """Removes `key`. Returns its value, or `None`."""
    def extend(self, parameters: _Parameters) -> None:
        """Sets everything that is in `parameters`."""
    def is_ordered(self) -> bool:
        """Whether the names are in alphabetical order."""
    def __bool__(self) -> bool: ...
    def __len__(self) -> int: ...
    def __contains__(self, key: str, /) -> bool: ...
    def __getitem__(self, key: str, /) -> str | None: ...
    def __iter__(self) -> Iterator[tuple[str, str]]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    __hash__: None  # type: ignore[assignment]

@final
class ZBytes:
    """Bytes of a payload or an attachment: immutable, shared, perhaps in several pieces.

    Made from `bytes`, `bytearray`, `str` (as UTF-8), another `ZBytes` or any C-contiguous buffer;
    `bytes` are not copied. It is a buffer itself: `memoryview(z)` and `numpy.frombuffer(z, ...)`
    look at the received bytes without a copy.
    """
    def __new__(cls, bytes: _Payload | None = None) -> Self: ...
    @staticmethod
    def from_segments(segments: Any) -> ZBytes:
        """Joins pieces without copying them: `bytes` and `ZBytes` are shared, other buffers copied."""
    def slices(self) -> list[ZBytes]:
        """The pieces that it is stored in, each as a `ZBytes` of its own. The bytes are copied."""
    def to_bytes(self) -> bytes:
        """A copy as `bytes`."""
    def to_string(self) -> str:
        """The bytes as text. Raises `UnicodeDecodeError`, a `ValueError`, if they are not UTF-8."""
    def as_shm(self) -> None:
        """A view of shared memory, or `None`: this build receives none."""
    def __bytes__(self) -> bytes: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Encoding:
    """What a payload is: MIME-like text such as `application/json;schema`. Empty text is
    `zenoh/bytes`.

    Equal to the same `str`, with the same hash. Nothing is interpreted on the way.
    """
    ZENOH_BYTES: Encoding
    ZENOH_STRING: Encoding
    ZENOH_SERIALIZED: Encoding
    APPLICATION_OCTET_STREAM: Encoding
    TEXT_PLAIN: Encoding
    APPLICATION_JSON: Encoding
    TEXT_JSON: Encoding
    APPLICATION_CDR: Encoding
    APPLICATION_CBOR: Encoding
    APPLICATION_YAML: Encoding
    TEXT_YAML: Encoding
    TEXT_JSON5: Encoding
    APPLICATION_PYTHON_SERIALIZED_OBJECT: Encoding
    APPLICATION_PROTOBUF: Encoding
    APPLICATION_JAVA_SERIALIZED_OBJECT: Encoding
    APPLICATION_OPENMETRICS_TEXT: Encoding
    IMAGE_PNG: Encoding
    IMAGE_JPEG: Encoding
    IMAGE_GIF: Encoding
    IMAGE_BMP: Encoding
    IMAGE_WEBP: Encoding
    APPLICATION_XML: Encoding
    APPLICATION_X_WWW_FORM_URLENCODED: Encoding
    TEXT_HTML: Encoding
    TEXT_XML: Encoding
    TEXT_CSS: Encoding
    TEXT_JAVASCRIPT: Encoding
    TEXT_MARKDOWN: Encoding
    TEXT_CSV: Encoding
    APPLICATION_SQL: Encoding
    APPLICATION_COAP_PAYLOAD: Encoding
    APPLICATION_JSON_PATCH_JSON: Encoding
    APPLICATION_JSON_SEQ: Encoding
    APPLICATION_JSONPATH: Encoding
    APPLICATION_JWT: Encoding
    APPLICATION_MP4: Encoding
    APPLICATION_SOAP_XML: Encoding
    APPLICATION_YANG: Encoding
    AUDIO_AAC: Encoding
    AUDIO_FLAC: Encoding
    AUDIO_MP4: Encoding
    AUDIO_OGG: Encoding
    AUDIO_VORBIS: Encoding
    VIDEO_H261: Encoding
    VIDEO_H263: Encoding
    VIDEO_H264: Encoding
    VIDEO_H265: Encoding
    VIDEO_H266: Encoding
    VIDEO_MP4: Encoding
    VIDEO_OGG: Encoding
    VIDEO_RAW: Encoding
    VIDEO_VP8: Encoding
    VIDEO_VP9: Encoding
    def __new__(cls, encoding: _Encoding | None = None) -> Self: ...
    def with_schema(self, schema: str) -> Encoding:
        """The same with another schema, the part after the first `;`."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class NTP64:
    """A time since 1970 (UTC) as 32 bits of seconds and 32 bits of a fraction."""
    def __new__(cls, seconds: int, nanos: int) -> Self: ...
    def as_secs_f64(self) -> float:
        """Seconds since 1970, with the fraction as far as a `float` keeps it."""
    def as_secs(self) -> int:
        """Whole seconds since 1970."""
    def as_nanos(self) -> int:
        """Nanoseconds since 1970."""
    def subsec_nanos(self) -> int:
        """Nanoseconds since the last whole second."""
    def to_datetime(self) -> datetime.datetime:
        """As a UTC `datetime`: what is finer than a microsecond is lost."""
    def to_string_rfc3339_lossy(self) -> str:
        """As a date with nanoseconds, `2023-11-14T22:13:20.000000000Z`."""
    @classmethod
    def parse_rfc3339(cls, s: str) -> NTP64:
        """The time of a date such as `2023-11-14T22:13:20Z`. Raises `ZError`."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __lt__(self, other: Self, /) -> bool: ...
    def __le__(self, other: Self, /) -> bool: ...
    def __gt__(self, other: Self, /) -> bool: ...
    def __ge__(self, other: Self, /) -> bool: ...

@final
class TimestampId:
    """The identity of the clock of a timestamp: 1 to 16 bytes, not all zero."""
    def __new__(cls, bytes: Buffer) -> Self: ...
    def __bytes__(self) -> bytes: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __lt__(self, other: Self, /) -> bool: ...
    def __le__(self, other: Self, /) -> bool: ...
    def __gt__(self, other: Self, /) -> bool: ...
    def __ge__(self, other: Self, /) -> bool: ...

@final
class Timestamp:
    """When something was published: a time and the clock that it is from. Ordered by time, then by
    clock.
    """
    def __new__(cls, time: datetime.datetime | NTP64, id: TimestampId | Buffer) -> Self: ...
    def get_time(self) -> datetime.datetime:
        """The time as a UTC `datetime`: what is finer than a microsecond is lost."""
    def get_time_as_ntp64(self) -> NTP64:
        """The time, exactly."""
    def get_id(self) -> TimestampId:
        """The clock."""
    def get_diff_duration(self, other: Timestamp) -> datetime.timedelta:
        """How much later than `other` it is: a `timedelta`, negative if it is earlier."""
    def to_string_rfc3339_lossy(self) -> str:
        """As a date with nanoseconds and the clock, `2023-11-14T22:13:20.000000000Z/bb00bb`."""
    @classmethod
    def parse_rfc3339(cls, s: str) -> Timestamp:
        """The timestamp of such a text, or of `str(timestamp)`. Raises `ZError`."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __lt__(self, other: Self, /) -> bool: ...
    def __le__(self, other: Self, /) -> bool: ...
    def __gt__(self, other: Self, /) -> bool: ...
    def __ge__(self, other: Self, /) -> bool: ...

@final
class ZenohId:
    """The identity of a session in the network: 1 to 16 bytes, shown as hexadecimal digits."""
    def __bytes__(self) -> bytes: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __lt__(self, other: Self, /) -> bool: ...
    def __le__(self, other: Self, /) -> bool: ...
    def __gt__(self, other: Self, /) -> bool: ...
    def __ge__(self, other: Self, /) -> bool: ...

@final
class EntityGlobalId:
    """The identity of a publisher, subscriber, … : its session and a number."""
    @property
    def zid(self) -> ZenohId:
        """The session."""
    @property
    def eid(self) -> int:
        """The number in the session, 32 bits."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __lt__(self, other: Self, /) -> bool: ...
    def __le__(self, other: Self, /) -> bool: ...
    def __gt__(self, other: Self, /) -> bool: ...
    def __ge__(self, other: Self, /) -> bool: ...

@final
class SourceInfo:
    """Who published a sample, and as which number (32 bits)."""
    def __new__(cls, source_id: EntityGlobalId, source_sn: int) -> Self: ...
    @property
    def source_id(self) -> EntityGlobalId:
        """Who."""
    @property
    def source_sn(self) -> int:
        """The number."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Config:
    """A configuration: JSON5 with a fixed schema, whose keys are paths such as `connect/endpoints`.

    `Config()` has the defaults. Errors name the key and the nearest right one.
    """
    DEFAULT_CONFIG_PATH_ENV: str
    def __new__(cls) -> Self: ...
    @classmethod
    def from_env(cls) -> Config:
        """The file that the environment variable `WEFT_CONFIG` or `ZENOH_CONFIG` names."""
    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Config:
        """A JSON5, JSON or YAML file."""
    @classmethod
    def from_json5(cls, json: str) -> Config:
        """JSON5 text."""
    def get_json(self, key: str) -> str:
        """What is set at `key`, as JSON text; `null` if nothing is."""
    def get_effective_json(self, key: str) -> str:
        """What is in force at `key`, defaults included, as JSON text."""
    def insert_json5(self, key: str, value: Any) -> None:
        """Sets `key` to a value of JSON5 text, or to any object that JSON can express.

        In text, text has quotes of its own: `'"client"'`.
        """
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Hello:
    """The answer of a node to a scout."""
    @property
    def whatami(self) -> WhatAmI:
        """What the node is."""
    @property
    def zid(self) -> ZenohId:
        """The node."""
    @property
    def locators(self) -> list[str]:
        """Where it can be reached."""

@final
class Transport:
    """A connection to another node."""
    @property
    def zid(self) -> ZenohId:
        """The other node."""
    @property
    def whatami(self) -> WhatAmI:
        """What the other node is."""
    @property
    def is_qos(self) -> bool:
        """Whether priorities travel side by side."""
    @property
    def is_shm(self) -> bool:
        """Whether it uses shared memory."""
    @property
    def is_multicast(self) -> bool:
        """Whether it is a multicast group."""
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: None  # type: ignore[assignment]
    def _repr_html_(self) -> str: ...

@final
class Link:
    """One socket or the like of a connection."""
    @property
    def zid(self) -> ZenohId:
        """The other node."""
    @property
    def src(self) -> str:
        """This end, as a locator."""
    @property
    def dst(self) -> str:
        """The other end, as a locator."""
    @property
    def group(self) -> str | None:
        """The multicast group, if it is in one."""
    @property
    def mtu(self) -> int:
        """How many bytes it takes at once."""
    @property
    def is_streamed(self) -> bool:
        """Whether it is a stream of bytes, not of datagrams."""
    @property
    def interfaces(self) -> list[str]:
        """The network interfaces that it uses."""
    @property
    def auth_identifier(self) -> str | None:
        """As whom the other node authenticated itself, if it did."""
    @property
    def priorities(self) -> tuple[int, int] | None:
        """The first and last priority that it carries, or `None` for all."""
    @property
    def reliability(self) -> Reliability | None:
        """The channel that it carries, or `None` for both."""
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: None  # type: ignore[assignment]
    def _repr_html_(self) -> str: ...

@final
class TransportEvent:
    """A connection opened (put) or closed (delete)."""
    @property
    def kind(self) -> SampleKind:
        """Put or delete."""
    @property
    def transport(self) -> Transport:
        """The connection."""

@final
class LinkEvent:
    """A link opened (put) or closed (delete)."""
    @property
    def kind(self) -> SampleKind:
        """Put or delete."""
    @property
    def link(self) -> Link:
        """The link."""

@final
class MatchingStatus:
    """Whether anybody wants what a publisher sends or answers what a querier asks. True if so."""
    @property
    def matching(self) -> bool:
        """Whether somebody does."""
    def __bool__(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Sample:
    """A value on a key, or that it was deleted. Read-only."""
    @property
    def key_expr(self) -> KeyExpr:
        """The key expression that it was published on."""
    @property
    def payload(self) -> ZBytes:
        """The value; empty for a deletion."""
    @property
    def kind(self) -> SampleKind:
        """Put or delete."""
    @property
    def encoding(self) -> Encoding:
        """How the payload is to be read."""
    @property
    def timestamp(self) -> Timestamp | None:
        """When it was published, if somebody on its way said so."""
    @property
    def congestion_control(self) -> CongestionControl:
        """What happened to it where there was no room."""
    @property
    def priority(self) -> Priority:
        """The priority that it travelled with."""
    @property
    def express(self) -> bool:
        """Whether it was sent without waiting for company."""
    @property
    def attachment(self) -> ZBytes | None:
        """What the publisher added, if anything."""
    @property
    def source_info(self) -> SourceInfo | None:
        """Who published it as which number, if the publisher said so."""
    @property
    def timestamp_stack(self) -> TimestampStack | None:
        """What was recorded on its way, if its sender asked for it."""
    def _repr_html_(self) -> str: ...

@final
class Reply:
    """An answer to a query: a sample or an error."""
    @property
    def result(self) -> Sample | ReplyError:
        """The `Sample`, or the `ReplyError`."""
    @property
    def ok(self) -> Sample | None:
        """The sample, or `None` if it is an error."""
    @property
    def err(self) -> ReplyError | None:
        """The error, or `None` if it is a sample."""
    @property
    def replier_id(self) -> EntityGlobalId | None:
        """Who answered, if it said so."""
    def _repr_html_(self) -> str: ...

@final
class ReplyError:
    """What went wrong at the replier, or on the way."""
    @property
    def payload(self) -> ZBytes:
        """What the replier said."""
    @property
    def encoding(self) -> Encoding:
        """How the payload is to be read."""
    @property
    def is_timeout(self) -> bool:
        """Whether it says that the time of the query is over; no replier said it then."""
    @property
    def timestamp_stack(self) -> TimestampStack | None:
        """What was recorded on its way, if its sender asked for it."""
    @property
    def kind(self) -> str:
        """`timeout`, or `replier` for what a replier said."""

@final
class Query:
    """A query to answer, with any number of replies.

    The querier waits until it is dropped: by `drop()`, at the end of a `with` block, or when the
    last reference to it goes.
    """
    @property
    def selector(self) -> Selector:
        """Key expression and parameters."""
    @property
    def key_expr(self) -> KeyExpr:
        """What is asked for."""
    @property
    def parameters(self) -> Parameters:
        """How it is asked for."""
    @property
    def payload(self) -> ZBytes | None:
        """What the querier sent along, if anything."""
    @property
    def encoding(self) -> Encoding | None:
        """How the payload is to be read; `None` without one."""
    @property
    def attachment(self) -> ZBytes | None:
        """What the querier added, if anything."""
    @property
    def source_info(self) -> SourceInfo | None:
        """Who asks, if the querier said so."""
    @property
    def timestamp_stack(self) -> TimestampStack | None:
        """What was recorded on its way, if its sender asked for it."""
    def accepts_replies(self) -> ReplyKeyExpr:
        """On which keys replies may be."""
    def reply(self, key_expr: _Key, payload: _Payload, *, encoding: _Encoding | None = None, congestion_control: CongestionControl | None = None, priority: Priority | None = None, express: bool | None = None, attachment: _Payload | None = None, timestamp: Timestamp | None = None) -> None:
        """Answers with a value. Raises `ZError` if the query takes none on this key."""
    def reply_err(self, payload: _Payload, *, encoding: _Encoding | None = None) -> None:
        """Answers that something went wrong."""
    def reply_del(self, key_expr: _Key, *, congestion_control: CongestionControl | None = None, priority: Priority | None = None, express: bool | None = None, attachment: _Payload | None = None, timestamp: Timestamp | None = None) -> None:
        """Answers that a key has no value any more."""
    def drop(self) -> None:
        """Ends it: the querier does not wait for it any more. Further calls do nothing."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_args: object) -> None: ...

@final
class CancellationToken:
    """Ends any number of queries at once."""
    def __new__(cls) -> Self: ...
    def cancel(self) -> None:
        """Ends the queries that it was given to: their channels close without a further reply, and
        callbacks that run are waited for, with their drop hooks. Further calls do nothing.
        """
    @property
    def is_cancelled(self) -> bool:
        """Whether it was cancelled. Queries that it is given to from then on fail."""

@final
class DefaultHandler(Generic[_T]):
    """A FIFO of 256 items."""
    def __new__(cls) -> Self: ...
    @classmethod
    def __class_getitem__(cls, args: Any) -> Any: ...

@final
class FifoChannel(Generic[_T]):
    """A channel of `capacity` items, first in, first out, that blocks who delivers while it is full."""
    def __new__(cls, capacity: int) -> Self: ...
    @classmethod
    def __class_getitem__(cls, args: Any) -> Any: ...

@final
class RingChannel(Generic[_T]):
    """A channel that keeps the newest `capacity` items and drops older ones."""
    def __new__(cls, capacity: int) -> Self: ...
    @classmethod
    def __class_getitem__(cls, args: Any) -> Any: ...

@final
class Callback(Generic[_T]):
    """A function as a handler, and how it is called.

    `callback` is called with each item, on a thread of its own and in order; with `indirect=False`
    on the thread that delivers: the network's, or the publisher's for its own session. `drop` is
    called once, after the last item.
    """
    def __new__(cls, callback: Callable[[_T], Any], drop: Callable[[], Any] | None = None, *, indirect: bool = True) -> Self: ...
    def __call__(self, arg: _T) -> Any: ...
    @property
    def callback(self) -> Callable[[_T], Any]: ...
    @property
    def drop(self) -> Callable[[], Any] | None: ...
    @property
    def indirect(self) -> bool: ...
    @classmethod
    def __class_getitem__(cls, args: Any) -> Any: ...

@final
class Handler(Generic[_T]):
    """The receiving end of a channel.

    Receives one by one (`recv`, `try_recv`), in batches (`recv_many`), by iteration, which ends
    when the channel is closed and empty, and in async code on asyncio or trio: `async for`, `await
    handler.recv_async()`; and `await handler` collects everything up to the end, such as the
    replies of a query.
    """
    def recv(self) -> _T:
        """The next item; waits for it. Raises `ZError` when the channel is closed and empty."""
    def try_recv(self) -> _T | None:
        """The next item if there is one, else `None`. Raises `ZError` when the channel is closed and
        empty.
        """
    def recv_many(self, max: int | None = None, *, timeout: _Number | None = None) -> list[_T]:
        """Everything that is queued, up to `max` items; waits for the first one, for up to `timeout`
        seconds.

        Empty when the time is over. Raises `ZError` when the channel is closed and empty.
        """
    def recv_async(self) -> Awaitable[_T]:
        """The next item, to be awaited. Raises `ZError` when the channel is closed and empty."""
    def _notify(self, wake: Callable[[], None]) -> Any:
        """Calls `wake` once, from another thread, when an item or the end is there. Returns what keeps
        it so, or `None` if it is there already.
        """
    def __iter__(self) -> Self: ...
    def __next__(self) -> _T: ...
    def __aiter__(self) -> Self: ...
    def __anext__(self) -> Awaitable[_T]: ...
    def __await__(self) -> Generator[Any, Any, list[_T]]: ...
    @classmethod
    def __class_getitem__(cls, args: Any) -> Any: ...

@final
class Subscriber(Generic[_H_co]):
    """Receives the samples of a key expression, or the liveliness tokens.

    With a channel it ends when this object goes. With nothing but a callback it stays until it is
    undeclared or the session closes.
    """
    @property
    def id(self) -> EntityGlobalId:
        """Its identity."""
    @property
    def key_expr(self) -> KeyExpr:
        """Its key expression."""
    @property
    def handler(self) -> _H_co:
        """What it delivers to: a `Handler`, the object beside a callback, or `None` for a bare
        callback.
        """
    def recv(self) -> Sample:
        """The next item; waits for it. Raises `ZError` when the channel is closed and empty."""
    def try_recv(self) -> Sample | None:
        """The next item if there is one, else `None`. Raises `ZError` when the channel is closed and
        empty.
        """
    def recv_many(self, max: int | None = None, *, timeout: _Number | None = None) -> list[Sample]:
        """Everything that is queued, see `Handler.recv_many`."""
    def recv_async(self) -> Awaitable[Sample]:
        """The next item, to be awaited."""
    def undeclare(self) -> None:
        """Ends it, and waits for its callback, except from within a callback. Raises `ZError` if it
        has ended.
        """
    def __iter__(self) -> Iterator[Sample]: ...
    def __aiter__(self) -> AsyncIterator[Sample]: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_args: object) -> None: ...
    def __aenter__(self) -> Awaitable[Self]: ...
    def __aexit__(self, *args: object) -> Awaitable[None]: ...
    @classmethod
    def __class_getitem__(cls, args: Any) -> Any: ...

@final
class Queryable(Generic[_H_co]):
    """Answers the queries for a key expression. Lives as a `Subscriber` does."""
    @property
    def id(self) -> EntityGlobalId:
        """Its identity."""
    @property
    def key_expr(self) -> KeyExpr:
        """Its key expression."""
    @property
    def handler(self) -> _H_co:
        """What it delivers to: a `Handler`, the object beside a callback, or `None` for a bare
        callback.
        """
    def recv(self) -> Query:
        """The next item; waits for it. Raises `ZError` when the channel is closed and empty."""
    def try_recv(self) -> Query | None:
        """The next item if there is one, else `None`. Raises `ZError` when the channel is closed and
        empty.
        """
    def recv_many(self, max: int | None = None, *, timeout: _Number | None = None) -> list[Query]:
        """Everything that is queued, see `Handler.recv_many`."""
    def recv_async(self) -> Awaitable[Query]:
        """The next item, to be awaited."""
    def undeclare(self) -> None:
        """Ends it, and waits for its callback, except from within a callback. Raises `ZError` if it
        has ended.
        """
    def __iter__(self) -> Iterator[Query]: ...
    def __aiter__(self) -> AsyncIterator[Query]: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_args: object) -> None: ...
    def __aenter__(self) -> Awaitable[Self]: ...
    def __aexit__(self, *args: object) -> Awaitable[None]: ...
    @classmethod
    def __class_getitem__(cls, args: Any) -> Any: ...

@final
class MatchingListener(Generic[_H_co]):
    """Hears when the matching status of a publisher or querier changes; ends with that."""
    @property
    def handler(self) -> _H_co:
        """What it delivers to: a `Handler`, the object beside a callback, or `None` for a bare
        callback.
        """
    def recv(self) -> MatchingStatus:
        """The next item; waits for it. Raises `ZError` when the channel is closed and empty."""
    def try_recv(self) -> MatchingStatus | None:
        """The next item if there is one, else `None`. Raises `ZError` when the channel is closed and
        empty.
        """
    def recv_many(self, max: int | None = None, *, timeout: _Number | None = None) -> list[MatchingStatus]:
        """Everything that is queued, see `Handler.recv_many`."""
    def recv_async(self) -> Awaitable[MatchingStatus]:
        """The next item, to be awaited."""
    def undeclare(self) -> None:
        """Ends it, and waits for its callback, except from within a callback. Raises `ZError` if it
        has ended.
        """
    def __iter__(self) -> Iterator[MatchingStatus]: ...
    def __aiter__(self) -> AsyncIterator[MatchingStatus]: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_args: object) -> None: ...
    def __aenter__(self) -> Awaitable[Self]: ...
    def __aexit__(self, *args: object) -> Awaitable[None]: ...
    @classmethod
    def __class_getitem__(cls, args: Any) -> Any: ...

@final
class TransportEventsListener(Generic[_H_co]):
    """Hears when connections to other nodes open and close."""
    @property
    def handler(self) -> _H_co:
        """What it delivers to: a `Handler`, the object beside a callback, or `None` for a bare
        callback.
        """
    def recv(self) -> TransportEvent:
        """The next item; waits for it. Raises `ZError` when the channel is closed and empty."""
    def try_recv(self) -> TransportEvent | None:
        """The next item if there is one, else `None`. Raises `ZError` when the channel is closed and
        empty.
        """
    def recv_many(self, max: int | None = None, *, timeout: _Number | None = None) -> list[TransportEvent]:
        """Everything that is queued, see `Handler.recv_many`."""
    def recv_async(self) -> Awaitable[TransportEvent]:
        """The next item, to be awaited."""
    def undeclare(self) -> None:
        """Ends it, and waits for its callback, except from within a callback. Raises `ZError` if it
        has ended.
        """
    def __iter__(self) -> Iterator[TransportEvent]: ...
    def __aiter__(self) -> AsyncIterator[TransportEvent]: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_args: object) -> None: ...
    def __aenter__(self) -> Awaitable[Self]: ...
    def __aexit__(self, *args: object) -> Awaitable[None]: ...
    @classmethod
    def __class_getitem__(cls, args: Any) -> Any: ...

@final
class LinkEventsListener(Generic[_H_co]):
    """Hears when links open and close."""
    @property
    def handler(self) -> _H_co:
        """What it delivers to: a `Handler`, the object beside a callback, or `None` for a bare
        callback.
        """
    def recv(self) -> LinkEvent:
        """The next item; waits for it. Raises `ZError` when the channel is closed and empty."""
    def try_recv(self) -> LinkEvent | None:
        """The next item if there is one, else `None`. Raises `ZError` when the channel is closed and
        empty.
        """
    def recv_many(self, max: int | None = None, *, timeout: _Number | None = None) -> list[LinkEvent]:
        """Everything that is queued, see `Handler.recv_many`."""
    def recv_async(self) -> Awaitable[LinkEvent]:
        """The next item, to be awaited."""
    def undeclare(self) -> None:
        """Ends it, and waits for its callback, except from within a callback. Raises `ZError` if it
        has ended.
        """
    def __iter__(self) -> Iterator[LinkEvent]: ...
    def __aiter__(self) -> AsyncIterator[LinkEvent]: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_args: object) -> None: ...
    def __aenter__(self) -> Awaitable[Self]: ...
    def __aexit__(self, *args: object) -> Awaitable[None]: ...
    @classmethod
    def __class_getitem__(cls, args: Any) -> Any: ...

@final
class Scout(Generic[_H_co]):
    """Asks who is there until it is stopped, or this object goes."""
    @property
    def handler(self) -> _H_co:
        """What it delivers to: a `Handler`, the object beside a callback, or `None` for a bare
        callback.
        """
    def recv(self) -> Hello:
        """The next item; waits for it. Raises `ZError` when the channel is closed and empty."""
    def try_recv(self) -> Hello | None:
        """The next item if there is one, else `None`. Raises `ZError` when the channel is closed and
        empty.
        """
    def recv_many(self, max: int | None = None, *, timeout: _Number | None = None) -> list[Hello]:
        """Everything that is queued, see `Handler.recv_many`."""
    def recv_async(self) -> Awaitable[Hello]:
        """The next item, to be awaited."""
    def stop(self) -> None:
        """Ends it, and waits for its callback, except from within a callback. Raises `ZError` if it
        has ended.
        """
    def __iter__(self) -> Iterator[Hello]: ...
    def __aiter__(self) -> AsyncIterator[Hello]: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_args: object) -> None: ...
    def __aenter__(self) -> Awaitable[Self]: ...
    def __aexit__(self, *args: object) -> Awaitable[None]: ...
    @classmethod
    def __class_getitem__(cls, args: Any) -> Any: ...

@final
class Publisher:
    """Publishes on one key expression. Undeclared when this object goes."""
    @property
    def id(self) -> EntityGlobalId:
        """Its identity."""
    @property
    def key_expr(self) -> KeyExpr:
        """Its key expression."""
    @property
    def encoding(self) -> Encoding:
        """How its payloads are to be read."""
    @property
    def congestion_control(self) -> CongestionControl:
        """What happens where there is no room."""
    @property
    def priority(self) -> Priority:
        """Which of its samples go first."""
    @property
    def reliability(self) -> Reliability:
        """Its channel."""
    @property
    def matching_status(self) -> MatchingStatus:
        """Whether any subscriber matches now, within its allowed destination."""
    def put(self, payload: _Payload, *, encoding: _Encoding | None = None, attachment: _Payload | None = None, timestamp: Timestamp | None = None, timestamp_instrumentation: TimestampInstrumentation | None = None, source_info: SourceInfo | None = None) -> None:
        """Publishes a value."""
    def delete(self, *, attachment: _Payload | None = None, timestamp: Timestamp | None = None, timestamp_instrumentation: TimestampInstrumentation | None = None, source_info: SourceInfo | None = None) -> None:
        """Publishes that the key has no value any more."""
    @overload
    def declare_matching_listener(self, handler: _Channel[MatchingStatus] = None) -> MatchingListener[Handler[MatchingStatus]]:
        """Declares a listener of the matching status. It is told at once if somebody matches already."""
    @overload
    def declare_matching_listener(self, handler: tuple[Callable[[MatchingStatus], Any], _H]) -> MatchingListener[_H]: ...
    @overload
    def declare_matching_listener(self, handler: Callable[[MatchingStatus], Any]) -> MatchingListener[None]: ...
    def undeclare(self) -> None:
        """Ends it, and its matching listeners. Raises `ZError` if it has ended."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_args: object) -> None: ...

@final
class Querier:
    """Asks for one key expression again and again. Undeclared when this object goes."""
    @property
    def id(self) -> EntityGlobalId:
        """Its identity."""
    @property
    def key_expr(self) -> KeyExpr:
        """Its key expression."""
    @property
    def accept_replies(self) -> ReplyKeyExpr:
        """On which keys its queries take replies."""
    @property
    def matching_status(self) -> MatchingStatus:
        """Whether any queryable matches now, within its target and allowed destination."""
    @overload
    def get(self, handler: _Channel[Reply] = None, *, parameters: _Parameters | None = None, payload: _Payload | None = None, encoding: _Encoding | None = None, attachment: _Payload | None = None, source_info: SourceInfo | None = None, cancellation_token: CancellationToken | None = None, timestamp_instrumentation: TimestampInstrumentation | None = None) -> Handler[Reply]:
        """Asks. Returns the handler of the replies at once, `None` for a bare callback."""
    @overload
    def get(self, handler: tuple[Callable[[Reply], Any], _H], *, parameters: _Parameters | None = None, payload: _Payload | None = None, encoding: _Encoding | None = None, attachment: _Payload | None = None, source_info: SourceInfo | None = None, cancellation_token: CancellationToken | None = None, timestamp_instrumentation: TimestampInstrumentation | None = None) -> _H: ...
    @overload
    def get(self, handler: Callable[[Reply], Any], *, parameters: _Parameters | None = None, payload: _Payload | None = None, encoding: _Encoding | None = None, attachment: _Payload | None = None, source_info: SourceInfo | None = None, cancellation_token: CancellationToken | None = None, timestamp_instrumentation: TimestampInstrumentation | None = None) -> None: ...
    @overload
    def declare_matching_listener(self, handler: _Channel[MatchingStatus] = None) -> MatchingListener[Handler[MatchingStatus]]:
        """Declares a listener of the matching status. It is told at once if somebody matches already."""
    @overload
    def declare_matching_listener(self, handler: tuple[Callable[[MatchingStatus], Any], _H]) -> MatchingListener[_H]: ...
    @overload
    def declare_matching_listener(self, handler: Callable[[MatchingStatus], Any]) -> MatchingListener[None]: ...
    def undeclare(self) -> None:
        """Ends it, and its matching listeners. Raises `ZError` if it has ended."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_args: object) -> None: ...
    @classmethod
    def __class_getitem__(cls, args: Any) -> Any: ...

@final
class Liveliness:
    """Tokens that say that something is alive: who declares them, who asks for them, and who watches
    them.
    """
    def declare_token(self, key_expr: _Key) -> LivelinessToken:
        """Declares a token: alive as long as the object, the session and its connection."""
    @overload
    def get(self, key_expr: _Key, handler: _Channel[Reply] = None, *, timeout: _Number | None = None, cancellation_token: CancellationToken | None = None) -> Handler[Reply]:
        """Asks for the tokens that are alive: a reply for each. Ends after `timeout` seconds at most
        (default 10).
        """
    @overload
    def get(self, key_expr: _Key, handler: tuple[Callable[[Reply], Any], _H], *, timeout: _Number | None = None, cancellation_token: CancellationToken | None = None) -> _H: ...
    @overload
    def get(self, key_expr: _Key, handler: Callable[[Reply], Any], *, timeout: _Number | None = None, cancellation_token: CancellationToken | None = None) -> None: ...
    @overload
    def declare_subscriber(self, key_expr: _Key, handler: _Channel[Sample] = None, *, history: bool | None = None, background: bool | None = None) -> Subscriber[Handler[Sample]]:
        """Declares a subscriber of tokens: put when one appears, delete when it goes. With `history`,
        those that are alive come first.
        """
    @overload
    def declare_subscriber(self, key_expr: _Key, handler: tuple[Callable[[Sample], Any], _H], *, history: bool | None = None, background: bool | None = None) -> Subscriber[_H]: ...
    @overload
    def declare_subscriber(self, key_expr: _Key, handler: Callable[[Sample], Any], *, history: bool | None = None, background: bool | None = None) -> Subscriber[None]: ...

@final
class LivelinessToken:
    """Says that something is alive, as long as it is declared. Undeclared when this object goes."""
    def undeclare(self) -> None:
        """Ends it. Raises `ZError` if it has ended."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_args: object) -> None: ...

@final
class SessionInfo:
    """What a session knows of itself and its neighbours."""
    def zid(self) -> ZenohId:
        """The session's own identity."""
    def routers_zid(self) -> list[ZenohId]:
        """The routers that it is connected to."""
    def peers_zid(self) -> list[ZenohId]:
        """The peers that it is connected to."""
    def locators(self) -> list[str]:
        """Where it can be reached."""
    def transports(self) -> list[Transport]:
        """Its connections."""
    def links(self) -> list[Link]:
        """The links of its connections."""
    @overload
    def declare_transport_events_listener(self, handler: _Channel[TransportEvent] = None, *, history: bool | None = None) -> TransportEventsListener[Handler[TransportEvent]]:
        """Declares a listener of connections; with `history`, those that are open are reported first."""
    @overload
    def declare_transport_events_listener(self, handler: tuple[Callable[[TransportEvent], Any], _H], *, history: bool | None = None) -> TransportEventsListener[_H]: ...
    @overload
    def declare_transport_events_listener(self, handler: Callable[[TransportEvent], Any], *, history: bool | None = None) -> TransportEventsListener[None]: ...
    @overload
    def declare_link_events_listener(self, handler: _Channel[LinkEvent] = None, *, history: bool | None = None) -> LinkEventsListener[Handler[LinkEvent]]:
        """Declares a listener of links; with `history`, those that are open are reported first."""
    @overload
    def declare_link_events_listener(self, handler: tuple[Callable[[LinkEvent], Any], _H], *, history: bool | None = None) -> LinkEventsListener[_H]: ...
    @overload
    def declare_link_events_listener(self, handler: Callable[[LinkEvent], Any], *, history: bool | None = None) -> LinkEventsListener[None]: ...
    def _repr_html_(self) -> str: ...

@final
class Session:
    """One participant of a Zenoh network. Closes at the end of a `with` block, when its last reference
    goes, and when the interpreter exits.
    """
    @property
    def info(self) -> SessionInfo:
        """What it knows of itself and its neighbours."""
    @property
    def id(self) -> EntityGlobalId:
        """Its identity as an entity."""
    def zid(self) -> ZenohId:
        """Its identity."""
    def close(self) -> None:
        """Closes it: what was put is sent, callbacks that run are waited for (10 s at most, and not
        from within a callback), channels close. Further calls do nothing.
        """
    def is_closed(self) -> bool:
        """Whether it was closed."""
    def undeclare(self, obj: Any) -> None:
        """Undeclares a key expression that `declare_keyexpr` returned, or anything that has an
        `undeclare()`.
        """
    def new_timestamp(self) -> Timestamp:
        """A timestamp of its clock; works after closing, too."""
    def declare_keyexpr(self, key_expr: _Key) -> KeyExpr:
        """Gives a key expression a number, by which it is sent from then on. Purely an optimisation."""
    def put(self, key_expr: _Key, payload: _Payload, *, encoding: _Encoding | None = None, congestion_control: CongestionControl | None = None, priority: Priority | None = None, express: bool | None = None, attachment: _Payload | None = None, timestamp: Timestamp | None = None, timestamp_instrumentation: TimestampInstrumentation | None = None, allowed_destination: Locality | None = None, source_info: SourceInfo | None = None) -> None:
        """Publishes a value on any key. A `str` is checked each time; a `KeyExpr` is not."""
    def delete(self, key_expr: _Key, *, congestion_control: CongestionControl | None = None, priority: Priority | None = None, express: bool | None = None, attachment: _Payload | None = None, timestamp: Timestamp | None = None, timestamp_instrumentation: TimestampInstrumentation | None = None, allowed_destination: Locality | None = None, source_info: SourceInfo | None = None) -> None:
        """Publishes that a key has no value any more."""
    @overload
    def get(self, selector: _Selector, handler: _Channel[Reply] = None, *, target: QueryTarget | None = None, consolidation: _Consolidation | None = None, accept_replies: ReplyKeyExpr | None = None, timeout: _Number | None = None, congestion_control: CongestionControl | None = None, priority: Priority | None = None, express: bool | None = None, payload: _Payload | None = None, encoding: _Encoding | None = None, attachment: _Payload | None = None, allowed_destination: Locality | None = None, source_info: SourceInfo | None = None, cancellation_token: CancellationToken | None = None, timestamp_instrumentation: TimestampInstrumentation | None = None) -> Handler[Reply]:
        """Asks. Returns the handler of the replies at once, `None` for a bare callback; it ends when
        all have answered, or after `timeout` seconds (default: `queries_default_timeout`, 10) with
        an error reply.

        `await session.get(...)` waits for all replies.
        """
    @overload
    def get(self, selector: _Selector, handler: tuple[Callable[[Reply], Any], _H], *, target: QueryTarget | None = None, consolidation: _Consolidation | None = None, accept_replies: ReplyKeyExpr | None = None, timeout: _Number | None = None, congestion_control: CongestionControl | None = None, priority: Priority | None = None, express: bool | None = None, payload: _Payload | None = None, encoding: _Encoding | None = None, attachment: _Payload | None = None, allowed_destination: Locality | None = None, source_info: SourceInfo | None = None, cancellation_token: CancellationToken | None = None, timestamp_instrumentation: TimestampInstrumentation | None = None) -> _H: ...
    @overload
    def get(self, selector: _Selector, handler: Callable[[Reply], Any], *, target: QueryTarget | None = None, consolidation: _Consolidation | None = None, accept_replies: ReplyKeyExpr | None = None, timeout: _Number | None = None, congestion_control: CongestionControl | None = None, priority: Priority | None = None, express: bool | None = None, payload: _Payload | None = None, encoding: _Encoding | None = None, attachment: _Payload | None = None, allowed_destination: Locality | None = None, source_info: SourceInfo | None = None, cancellation_token: CancellationToken | None = None, timestamp_instrumentation: TimestampInstrumentation | None = None) -> None: ...
    @overload
    def declare_subscriber(self, key_expr: _Key, handler: _Channel[Sample] = None, *, allowed_origin: Locality | None = None, background: bool | None = None) -> Subscriber[Handler[Sample]]:
        """Declares a subscriber. With `background` it stays when its object goes, until the session
        closes; by default if it has nothing but a callback.
        """
    @overload
    def declare_subscriber(self, key_expr: _Key, handler: tuple[Callable[[Sample], Any], _H], *, allowed_origin: Locality | None = None, background: bool | None = None) -> Subscriber[_H]: ...
    @overload
    def declare_subscriber(self, key_expr: _Key, handler: Callable[[Sample], Any], *, allowed_origin: Locality | None = None, background: bool | None = None) -> Subscriber[None]: ...
    @overload
    def declare_queryable(self, key_expr: _Key, handler: _Channel[Query] = None, *, complete: bool | None = None, allowed_origin: Locality | None = None, background: bool | None = None) -> Queryable[Handler[Query]]:
        """Declares a queryable. `complete` says that it knows every value of its key expression;
        `background` as for a subscriber.
        """
    @overload
    def declare_queryable(self, key_expr: _Key, handler: tuple[Callable[[Query], Any], _H], *, complete: bool | None = None, allowed_origin: Locality | None = None, background: bool | None = None) -> Queryable[_H]: ...
    @overload
    def declare_queryable(self, key_expr: _Key, handler: Callable[[Query], Any], *, complete: bool | None = None, allowed_origin: Locality | None = None, background: bool | None = None) -> Queryable[None]: ...
    def declare_publisher(self, key_expr: _Key, *, encoding: _Encoding | None = None, congestion_control: CongestionControl | None = None, priority: Priority | None = None, express: bool | None = None, reliability: Reliability | None = None, allowed_destination: Locality | None = None) -> Publisher:
        """Declares a publisher: the way to publish on one key again and again."""
    def declare_querier(self, key_expr: _Key, *, target: QueryTarget | None = None, consolidation: _Consolidation | None = None, accept_replies: ReplyKeyExpr | None = None, timeout: _Number | None = None, congestion_control: CongestionControl | None = None, priority: Priority | None = None, express: bool | None = None, allowed_destination: Locality | None = None) -> Querier:
        """Declares a querier: the way to ask for one key again and again."""
    def liveliness(self) -> Liveliness:
        """Tokens that say that something is alive."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_args: object) -> None: ...
    def __aenter__(self) -> Awaitable[Self]: ...
    def __aexit__(self, *args: object) -> Awaitable[None]: ...

@final
class RepliesConfig:
    """How a cache replies: priority data, waiting for room, not express, unless told otherwise.
    Priority and congestion control of a reply are those of the query.
    """
    def __new__(cls, *, congestion_control: CongestionControl | None = None, priority: Priority | None = None, express: bool | None = None) -> Self: ...

@final
class CacheConfig:
    """What a publisher keeps for subscribers that come late or lost some: the newest `max_samples` of
    each key, by default 1.
    """
    def __new__(cls, max_samples: int | None = None, *, replies_config: RepliesConfig | None = None) -> Self: ...

@final
class HistoryConfig:
    """What a subscriber asks for of what was published before it came: of each publisher at most
    `max_samples`, not older than `max_age` seconds; with `detect_late_publishers` also of those
    that appear later.
    """
    def __new__(cls, *, detect_late_publishers: bool | None = None, max_samples: int | None = None, max_age: _Number | None = None) -> Self: ...

@final
class MissDetectionConfig:
    """How subscribers notice that they lack samples: by their numbers, and by a heartbeat every so
    many seconds that tells the last one, always or, sporadic, if it is another one than before.
    """
    def __new__(cls, *, heartbeat: _Number | None = None, sporadic_heartbeat: _Number | None = None) -> Self: ...

@final
class RecoveryConfig:
    """How a subscriber learns that it lacks samples: by asking, every `periodic_queries` (seconds or a
    `timedelta`), or by `heartbeat=True`. Exactly one of the two.
    """
    def __new__(cls, *, periodic_queries: _Number | datetime.timedelta | None = None, heartbeat: bool | None = None) -> Self: ...

@final
class Miss:
    """Samples of a publisher that a subscriber did not get and will not get."""
    @property
    def source(self) -> EntityGlobalId:
        """The publisher."""
    @property
    def nb(self) -> int:
        """How many of its samples in a row."""

@final
class AdvancedPublisher:
    """Publishes on one key expression, and keeps, numbers and announces what it publishes as it is
    told to.
    """
    @property
    def id(self) -> EntityGlobalId:
        """Its identity."""
    @property
    def key_expr(self) -> KeyExpr:
        """Its key expression."""
    @property
    def encoding(self) -> Encoding:
        """How its payloads are to be read."""
    @property
    def congestion_control(self) -> CongestionControl:
        """What happens where there is no room."""
    @property
    def priority(self) -> Priority:
        """Which of its samples go first."""
    def put(self, payload: _Payload, *, encoding: _Encoding | None = None, attachment: _Payload | None = None, timestamp: Timestamp | None = None, timestamp_instrumentation: TimestampInstrumentation | None = None) -> None:
        """Publishes a value."""
    def delete(self, *, attachment: _Payload | None = None, timestamp: Timestamp | None = None, timestamp_instrumentation: TimestampInstrumentation | None = None) -> None:
        """Publishes that the key has no value any more."""
    def undeclare(self) -> None:
        """Ends it, and its matching listeners. Raises `ZError` if it has ended."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_args: object) -> None: ...

@final
class AdvancedSubscriber(Generic[_H_co]):
    """Receives the samples of a key expression, in order, and as it is told to those that were
    published before or got lost. Lives as a `Subscriber` does.
    """
    @property
    def id(self) -> EntityGlobalId:
        """Its identity."""
    @property
    def key_expr(self) -> KeyExpr:
        """Its key expression."""
    @overload
    def sample_miss_listener(self, handler: _Channel[Miss] = None) -> SampleMissListener[Handler[Miss]]:
        """Declares a listener of samples that this subscriber does not get."""
    @overload
    def sample_miss_listener(self, handler: tuple[Callable[[Miss], Any], _H]) -> SampleMissListener[_H]: ...
    @overload
    def sample_miss_listener(self, handler: Callable[[Miss], Any]) -> SampleMissListener[None]: ...
    @overload
    def detect_publishers(self, handler: _Channel[Sample] = None, *, history: bool | None = None) -> Subscriber[Handler[Sample]]:
        """Declares a subscriber of the tokens of publishers that can be detected; with `history`,
        those that exist come first.
        """
    @overload
    def detect_publishers(self, handler: tuple[Callable[[Sample], Any], _H], *, history: bool | None = None) -> Subscriber[_H]: ...
    @overload
    def detect_publishers(self, handler: Callable[[Sample], Any], *, history: bool | None = None) -> Subscriber[None]: ...
    @property
    def handler(self) -> _H_co:
        """What it delivers to: a `Handler`, the object beside a callback, or `None` for a bare
        callback.
        """
    def recv(self) -> Sample:
        """The next item; waits for it. Raises `ZError` when the channel is closed and empty."""
    def try_recv(self) -> Sample | None:
        """The next item if there is one, else `None`. Raises `ZError` when the channel is closed and
        empty.
        """
    def recv_many(self, max: int | None = None, *, timeout: _Number | None = None) -> list[Sample]:
        """Everything that is queued, see `Handler.recv_many`."""
    def recv_async(self) -> Awaitable[Sample]:
        """The next item, to be awaited."""
    def undeclare(self) -> None:
        """Ends it, and waits for its callback, except from within a callback. Raises `ZError` if it
        has ended.
        """
    def __iter__(self) -> Iterator[Sample]: ...
    def __aiter__(self) -> AsyncIterator[Sample]: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_args: object) -> None: ...
    def __aenter__(self) -> Awaitable[Self]: ...
    def __aexit__(self, *args: object) -> Awaitable[None]: ...
    @classmethod
    def __class_getitem__(cls, args: Any) -> Any: ...

@final
class SampleMissListener(Generic[_H_co]):
    """Hears which samples an advanced subscriber did not get; ends with that."""
    @property
    def handler(self) -> _H_co:
        """What it delivers to: a `Handler`, the object beside a callback, or `None` for a bare
        callback.
        """
    def recv(self) -> Miss:
        """The next item; waits for it. Raises `ZError` when the channel is closed and empty."""
    def try_recv(self) -> Miss | None:
        """The next item if there is one, else `None`. Raises `ZError` when the channel is closed and
        empty.
        """
    def recv_many(self, max: int | None = None, *, timeout: _Number | None = None) -> list[Miss]:
        """Everything that is queued, see `Handler.recv_many`."""
    def recv_async(self) -> Awaitable[Miss]:
        """The next item, to be awaited."""
    def undeclare(self) -> None:
        """Ends it, and waits for its callback, except from within a callback. Raises `ZError` if it
        has ended.
        """
    def __iter__(self) -> Iterator[Miss]: ...
    def __aiter__(self) -> AsyncIterator[Miss]: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_args: object) -> None: ...
    def __aenter__(self) -> Awaitable[Self]: ...
    def __aexit__(self, *args: object) -> Awaitable[None]: ...
    @classmethod
    def __class_getitem__(cls, args: Any) -> Any: ...

def declare_advanced_publisher(session: Session, key_expr: _Key, *, encoding: _Encoding | None = None, congestion_control: CongestionControl | None = None, priority: Priority | None = None, express: bool | None = None, reliability: Reliability | None = None, allowed_destination: Locality | None = None, cache: CacheConfig | None = None, sample_miss_detection: MissDetectionConfig | None = None, publisher_detection: bool | None = None) -> AdvancedPublisher:
    """Declares a publisher that lets subscribers notice and make up for what they lost. Without
    `sample_miss_detection`, a `cache` needs `timestamping/enabled` in the configuration.
    """
@overload
def declare_advanced_subscriber(session: Session, key_expr: _Key, handler: _Channel[Sample] = None, *, allowed_origin: Locality | None = None, history: HistoryConfig | None = None, recovery: RecoveryConfig | None = None, subscriber_detection: bool | None = None) -> AdvancedSubscriber[Handler[Sample]]:
    """Declares a subscriber that makes up for what it lost and for what was published before it came."""
@overload
def declare_advanced_subscriber(session: Session, key_expr: _Key, handler: tuple[Callable[[Sample], Any], _H], *, allowed_origin: Locality | None = None, history: HistoryConfig | None = None, recovery: RecoveryConfig | None = None, subscriber_detection: bool | None = None) -> AdvancedSubscriber[_H]: ...
@overload
def declare_advanced_subscriber(session: Session, key_expr: _Key, handler: Callable[[Sample], Any], *, allowed_origin: Locality | None = None, history: HistoryConfig | None = None, recovery: RecoveryConfig | None = None, subscriber_detection: bool | None = None) -> AdvancedSubscriber[None]: ...
def z_serialize(obj: Any) -> ZBytes:
    """Serializes a value: a number, `bool`, text, bytes, a collection of them, or what numpy makes of
    numbers.

    `int` is 32 bits wide (`OverflowError` beyond), `float` 64; `weft.ext.Int8` and its like say
    otherwise. Raises `TypeError` for other types, `ValueError` for collections whose items are not
    of one type.
    """
@overload
def z_deserialize(tp: type[_T], zbytes: ZBytes, *, strict: bool = False) -> _T:
    """The value of type `tp` that `zbytes` is of. Collections say what is in them: `list[int]`,
    `tuple[int, str]`.

    Raises `ZDeserializeError` if there is no such value; `strict` also if bytes are left. Raises
    `ValueError` for collections that do not say what is in them, `TypeError` for other types. Also
    takes `numpy.int16` and the like, and `numpy.typing.NDArray[numpy.float32]` for arrays of one
    dimension.
    """
@overload
def z_deserialize(tp: Any, zbytes: ZBytes, *, strict: bool = False) -> Any: ...

@final
class TimestampInstrumentationBuilder:
    """Chooses where the way of a message is recorded."""
    def __new__(cls) -> Self: ...
    def set_send(self, enabled: bool) -> TimestampInstrumentationBuilder:
        """Whether at the sender. Returns a new builder, as the others do."""
    def set_route(self, enabled: bool) -> TimestampInstrumentationBuilder:
        """Whether at routers."""
    def set_receive(self, enabled: bool) -> TimestampInstrumentationBuilder:
        """Whether at the receiver."""
    def build(self) -> TimestampInstrumentation:
        """What was chosen. Raises `ZError` if nothing was."""

@final
class TimestampInstrumentation:
    """Where the way of a message is recorded."""
    def is_instrumented(self, point: InterceptionPoint) -> bool:
        """Whether at this point."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class TimestampStack:
    """What was recorded of a message, and for a reply, of its query before."""
    @property
    def instrumentation(self) -> TimestampInstrumentation:
        """Where it is recorded."""
    @property
    def records(self) -> list[TimestampStackRecord]:
        """The records, in the order in which they were made."""

@final
class TimestampStackRecord:
    """What was recorded at one point."""
    @property
    def point(self) -> InterceptionPoint:
        """Where."""
    @property
    def is_custom(self) -> bool:
        """Whether it is what a program's `timestamp_callback` returned."""
    def timestamp(self) -> Timestamp | bytes:
        """When: a `Timestamp`, or the bytes of a `timestamp_callback`."""

@final
class TimestampContext:
    """Who records, as a `timestamp_callback` is told."""
    @property
    def zid(self) -> ZenohId:
        """The session's identity."""
    @property
    def whatami(self) -> WhatAmI:
        """Its mode."""
