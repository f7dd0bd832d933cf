"""Serialization of typed values, and publishers and subscribers that make up for losses."""

from __future__ import annotations

from ._weft import (
    AdvancedPublisher,
    AdvancedSubscriber,
    CacheConfig,
    HistoryConfig,
    Miss,
    MissDetectionConfig,
    RecoveryConfig,
    RepliesConfig,
    SampleMissListener,
    declare_advanced_publisher,
    declare_advanced_subscriber,
    z_deserialize,
    z_serialize,
)


class ZDeserializeError(Exception):
    """Bytes that are not of a value of the type that was asked for."""


class _OutOfRange(OverflowError, AssertionError):
    """A number that does not fit. Programs know it as an ``AssertionError``, too."""


class _Sized(int):
    """An integer of so many bits."""

    _bits = 0
    _signed = True

    def __new__(cls, i: int) -> _Sized:
        number = int.__new__(cls, i)
        low, high = (-1 << cls._bits - 1, 1 << cls._bits - 1) if cls._signed else (0, 1 << cls._bits)
        if not low <= number < high:
            raise _OutOfRange(f"{int(number)} is not in the range of {cls.__name__}: {low} to {high - 1}")
        return number

    def __repr__(self) -> str:
        return f"{type(self).__name__}({int(self)})"

    __str__ = int.__repr__


class Int8(_Sized):
    """An integer of 8 bits."""

    _bits = 8


class Int16(_Sized):
    """An integer of 16 bits."""

    _bits = 16


class Int32(_Sized):
    """An integer of 32 bits, as a plain ``int`` is serialized."""

    _bits = 32


class Int64(_Sized):
    """An integer of 64 bits."""

    _bits = 64


class Int128(_Sized):
    """An integer of 128 bits."""

    _bits = 128


class UInt8(_Sized):
    """An integer of 8 bits that is not negative."""

    _bits, _signed = 8, False


class UInt16(_Sized):
    """An integer of 16 bits that is not negative."""

    _bits, _signed = 16, False


class UInt32(_Sized):
    """An integer of 32 bits that is not negative."""

    _bits, _signed = 32, False


class UInt64(_Sized):
    """An integer of 64 bits that is not negative."""

    _bits, _signed = 64, False


class UInt128(_Sized):
    """An integer of 128 bits that is not negative."""

    _bits, _signed = 128, False


class Float32(float):
    """A number of 32 bits."""


class Float64(float):
    """A number of 64 bits, as a plain ``float`` is serialized."""


__all__ = [
    "AdvancedPublisher",
    "AdvancedSubscriber",
    "CacheConfig",
    "Float32",
    "Float64",
    "HistoryConfig",
    "Int128",
    "Int16",
    "Int32",
    "Int64",
    "Int8",
    "Miss",
    "MissDetectionConfig",
    "RecoveryConfig",
    "RepliesConfig",
    "SampleMissListener",
    "UInt128",
    "UInt16",
    "UInt32",
    "UInt64",
    "UInt8",
    "ZDeserializeError",
    "declare_advanced_publisher",
    "declare_advanced_subscriber",
    "z_deserialize",
    "z_serialize",
]
