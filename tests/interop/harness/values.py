"""What the tests see of messages, and how the driver protocol writes it."""

import dataclasses
import zlib

# Longer payloads are reported by length and CRC-32 only.
PAYLOAD_HEX_LEN_MAX = 65_536

# The fill pattern's period, a prime, so that a lost or repeated block of any usual size shows.
_FILL_PERIOD = 251


def fill(length, seed=0):
    """The bytes that `{"len": length, "seed": seed}` stands for: byte i is (i + seed) mod 251."""
    period = bytes((i + seed) % _FILL_PERIOD for i in range(_FILL_PERIOD))
    return (period * (length // _FILL_PERIOD + 1))[:length]


def timestamp(seconds, nanos=0, zid="1"):
    """A timestamp as the protocol writes it, `NTP64/ID`, of a time since 1970."""
    return f"{(seconds << 32) + (nanos << 32) // 1_000_000_000}/{zid}"


@dataclasses.dataclass(frozen=True)
class Fill:
    """A payload that both sides compute, for sizes that JSON should not carry."""

    length: int
    seed: int = 0

    def __bytes__(self):
        return fill(self.length, self.seed)


@dataclasses.dataclass(frozen=True)
class Payload:
    """A received payload. Compares with `bytes`, `str` and `Fill`."""

    length: int
    crc32: int
    data: bytes | None

    @classmethod
    def of(cls, fields):
        """From the fields of an event, `None` if it has no payload."""
        if fields.get("payload_len") is None:
            return None
        data = None if fields.get("payload_hex") is None else bytes.fromhex(fields["payload_hex"])
        crc32 = zlib.crc32(data) if data is not None else fields["payload_crc32"]
        return cls(fields["payload_len"], crc32, data)

    def __eq__(self, other):
        if isinstance(other, Payload):
            return (self.length, self.crc32) == (other.length, other.crc32)
        expected = other.encode() if isinstance(other, str) else bytes(other)
        return (self.length, self.crc32) == (len(expected), zlib.crc32(expected))

    def __hash__(self):
        return hash((self.length, self.crc32))

    def __repr__(self):
        return f"Payload({self.data!r})" if self.length <= 32 else f"Payload({self.length} bytes, {self.crc32:08x})"


def payload_fields(payload):
    """A request's fields for `payload`: `None`, text, bytes or a `Fill`."""
    if payload is None:
        return {}
    if isinstance(payload, Fill):
        return {"payload_fill": {"len": payload.length, "seed": payload.seed}}
    return {"payload_hex": (payload.encode() if isinstance(payload, str) else bytes(payload)).hex()}


def attachment_fields(attachment):
    """As `payload_fields`, for an attachment of text or bytes."""
    if attachment is None:
        return {}
    return {"attachment_hex": (attachment.encode() if isinstance(attachment, str) else bytes(attachment)).hex()}


@dataclasses.dataclass(frozen=True)
class Sample:
    """A sample as the receiving side reports it; what a side cannot tell is `None`."""

    key: str
    kind: str
    payload: Payload
    encoding: str
    priority: int
    congestion: str
    express: bool
    reliability: str | None = None
    attachment: Payload | None = None
    timestamp: str | None = None
    source_info: dict | None = None
    stack: list | None = None

    @classmethod
    def of(cls, fields):
        return cls(
            payload=Payload.of(fields),
            attachment=_attachment(fields),
            **_picked(fields, "key", "kind", "encoding", "priority", "congestion", "express"),
            **_picked(fields, "reliability", "timestamp", "source_info", "stack"),
        )


@dataclasses.dataclass(frozen=True)
class Query:
    """A query as a queryable reports it."""

    key: str
    parameters: str
    payload: Payload | None = None
    encoding: str | None = None
    attachment: Payload | None = None
    source_info: dict | None = None
    stack: list | None = None

    @classmethod
    def of(cls, fields):
        return cls(
            payload=Payload.of(fields),
            attachment=_attachment(fields),
            **_picked(fields, "key", "parameters", "encoding", "source_info", "stack"),
        )


@dataclasses.dataclass(frozen=True)
class Reply:
    """A reply: a sample, or an error's payload and encoding."""

    sample: Sample | None
    error: Payload | None
    encoding: str
    replier: dict | None
    stack: list | None = None

    @classmethod
    def of(cls, fields):
        data = fields["ok"]
        return cls(
            sample=Sample.of(fields) if data else None,
            error=None if data else Payload.of(fields),
            **_picked(fields, "encoding", "replier", "stack"),
        )


@dataclasses.dataclass(frozen=True)
class Hello:
    """An answer to scouting."""

    zid: str
    whatami: str
    locators: tuple

    @classmethod
    def of(cls, fields):
        return cls(fields["zid"], fields["whatami"], tuple(fields["locators"]))


def _attachment(fields):
    if fields.get("attachment_hex") is None:
        return None
    data = bytes.fromhex(fields["attachment_hex"])
    return Payload(len(data), zlib.crc32(data), data)


def _picked(fields, *names):
    return {name: fields.get(name) for name in names}
