"""Serialization, byte for byte, and publishers and subscribers that make up for losses."""

from __future__ import annotations

import datetime
import json
import pathlib

import numpy
import pytest
from conftest import until

import weft
from weft.ext import (
    CacheConfig,
    Float32,
    Float64,
    HistoryConfig,
    Int8,
    Int16,
    Int32,
    Int64,
    Int128,
    MissDetectionConfig,
    RecoveryConfig,
    RepliesConfig,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    UInt128,
    ZDeserializeError,
    declare_advanced_publisher,
    declare_advanced_subscriber,
    z_deserialize,
    z_serialize,
)

VECTORS = pathlib.Path(__file__).parents[3] / "vectors" / "zext-serialize.json"
VALUES = {
    "int 42 (plain python int)": 42,
    "float 3.14": 3.14,
    'str ""': "",
    'str "abc"': "abc",
    "str é": "é",
    'bytes b"\\x01\\x02"': b"\x01\x02",
    "bytearray": bytearray(b"\xff"),
    "list[UInt8] [1,2,3]": [UInt8(1), UInt8(2), UInt8(3)],
    "list[UInt32] [1,2,3]": [UInt32(1), UInt32(2), UInt32(3)],
    "empty list": [],
    "list[str]": ["a", "bc"],
    'tuple(UInt32 1,"a",True)': (UInt32(1), "a", True),
    "dict{str:UInt32}": {"k": UInt32(5)},
    "dict2": {"a": UInt8(1), "b": UInt8(2)},
    "list of tuples": [(UInt16(1), "x"), (UInt16(2), "y")],
    "nested list": [[UInt8(1)], []],
    "empty tuple": (),
    "set": {UInt8(9)},
}
def vectors():
    listed = json.loads(VECTORS.read_text())
    return [pytest.param(it["value"], bytes.fromhex(it["hex"]), id=it["value"]) for it in listed]


@pytest.mark.parametrize("text, expected", vectors())
def test_vectors(text, expected):
    value = VALUES[text] if text in VALUES else eval(text)
    assert bytes(z_serialize(value)) == expected


@pytest.mark.parametrize(
    "tp, value, back",
    [
        *[(cls, cls(5), cls(5)) for cls in (Int8, Int16, Int32, Int64, Int128)],
        *[(cls, cls(5), cls(5)) for cls in (UInt8, UInt16, UInt32, UInt64, UInt128)],
        *[(cls, cls(1.5), cls(1.5)) for cls in (Float32, Float64)],
        (int, -7, -7),
        (float, 3.25, 3.25),
        (bool, True, True),
        (str, "grün", "grün"),
        (bytes, b"ab", b"ab"),
        (bytearray, bytearray(b"ab"), bytearray(b"ab")),
        (weft.ZBytes, weft.ZBytes(b"ab"), weft.ZBytes(b"ab")),
        (list[int], [1, 2], [1, 2]),
        (list[Int8], [Int8(1)], [1]),
        (list[list[str]], [["a"], []], [["a"], []]),
        (dict[str, float], {"a": 1.0}, {"a": 1.0}),
        (dict[int, list[bool]], {1: [True], 2: []}, {1: [True], 2: []}),
        (set[int], {1, 2}, {1, 2}),
        (frozenset[str], frozenset(["a"]), frozenset(["a"])),
        (tuple[int, str], (1, "a"), (1, "a")),
        (tuple[Int8, tuple[bool]], (Int8(-1), (False,)), (Int8(-1), (False,))),
        (tuple[()], (), ()),
    ],
    ids=str,
)
def test_round_trips(tp, value, back):
    found = z_deserialize(tp, z_serialize(value), strict=True)
    assert found == back and type(found) is type(back)


def test_numbers_in_lists_are_plain_and_in_tuples_wrapped():
    assert type(z_deserialize(list[Int8], z_serialize([Int8(1)]))[0]) is int
    assert type(z_deserialize(tuple[Int8], z_serialize((Int8(1),)))[0]) is Int8


def test_what_cannot_be_serialized():
    for value, error in (
        (1 << 40, OverflowError),
        ([1, "a"], ValueError),
        ({1: "a", "b": "c"}, ValueError),
        (None, TypeError),
        (object(), TypeError),
        (1j, TypeError),
    ):
        with pytest.raises(error):
            z_serialize(value)


def test_numbers_are_in_range():
    for cls, value in ((Int8, 128), (UInt8, -1), (UInt16, 1 << 16), (Int128, 1 << 127)):
        with pytest.raises(OverflowError):
            cls(value)
        with pytest.raises(AssertionError):
            cls(value)
    assert Int8(i=-128) == -128 and Int8(5) + 1 == 6


def test_what_cannot_be_deserialized():
    empty = weft.ZBytes()
    for tp, error in (
        (list, ValueError),
        (dict, ValueError),
        (tuple, ValueError),
        (tuple[int, ...], TypeError),
        (object, TypeError),
        (5, TypeError),
        (int, ZDeserializeError),
        (str, ZDeserializeError),
        (list[int], ZDeserializeError),
    ):
        with pytest.raises(error):
            z_deserialize(tp, empty)
    with pytest.raises(TypeError):
        z_deserialize(int, b"\0\0\0\0")
    with pytest.raises(ZDeserializeError, match="deserialization error"):
        z_deserialize(str, weft.ZBytes(b"\x02\xff\xff"))
    with pytest.raises((ZDeserializeError, ValueError)):
        z_deserialize(list[tuple[()]], weft.ZBytes(b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f"))


def test_bytes_that_are_left():
    more = weft.ZBytes(b"\x01\0\0\0more")
    assert z_deserialize(int, more) == 1
    with pytest.raises(ZDeserializeError):
        z_deserialize(int, more, strict=True)


def test_numpy():
    assert bytes(z_serialize(numpy.int16(-2))) == b"\xfe\xff"
    assert bytes(z_serialize(numpy.array([1, 2], numpy.uint16))) == b"\x02\x01\0\x02\0"
    assert bytes(z_serialize(numpy.array([True, False]))) == b"\x02\x01\0"
    nested = numpy.arange(4, dtype=">f4").reshape(2, 2)
    assert z_deserialize(list[list[Float32]], z_serialize(nested)) == [[0, 1], [2, 3]]
    back = z_deserialize(numpy.int16, z_serialize(numpy.int16(-2)))
    assert back == -2 and back.dtype == numpy.int16
    array = numpy.arange(5, dtype=numpy.float32)
    tp = numpy.ndarray[tuple[int], numpy.dtype[numpy.float32]]
    back = z_deserialize(tp, z_serialize(array))
    assert (back == array).all() and back.dtype == array.dtype
    with pytest.raises(TypeError):
        z_serialize(numpy.array(["a"]))


def test_history(pair, key):
    first, second = pair
    publisher = declare_advanced_publisher(
        first,
        key,
        cache=CacheConfig(3, replies_config=RepliesConfig(express=True)),
        sample_miss_detection=MissDetectionConfig(heartbeat=0.05),
        publisher_detection=True,
        encoding="text/plain",
    )
    assert publisher.key_expr == key and publisher.encoding == "text/plain"
    for number in range(5):
        publisher.put(str(number))
    subscriber = declare_advanced_subscriber(
        second,
        key,
        history=HistoryConfig(detect_late_publishers=True, max_samples=2),
        recovery=RecoveryConfig(heartbeat=True),
        subscriber_detection=True,
    )
    assert [str(subscriber.recv().payload) for _ in range(2)] == ["3", "4"]
    publisher.put("5", attachment=b"a")
    sample = subscriber.recv()
    assert sample.payload == "5" and sample.attachment == b"a"
    assert sample.source_info.source_id == publisher.id and sample.source_info.source_sn == 5
    publisher.delete()
    assert subscriber.recv().kind is weft.SampleKind.DELETE
    publishers = subscriber.detect_publishers(history=True)
    assert str(publishers.recv().key_expr).startswith(f"{key}/@adv/pub/{first.zid()}")
    misses = subscriber.sample_miss_listener()
    assert misses.try_recv() is None
    subscriber.undeclare()
    publisher.undeclare()
    with pytest.raises(weft.ZError, match="Undeclared publisher"):
        publisher.put("x")
    with pytest.raises(weft.ZError, match="Undeclared subscriber"):
        subscriber.recv()


def test_misses_are_told(pair, key):
    first, second = pair
    got, missed = [], []
    subscriber = declare_advanced_subscriber(second, key, got.append)
    subscriber.sample_miss_listener(missed.append)
    plain = first.declare_publisher(key)
    until(lambda: plain.matching_status, "the subscriber")
    for number in (0, 1, 4):
        plain.put(str(number), source_info=weft.SourceInfo(plain.id, number))
    until(lambda: missed, "the miss")
    assert missed[0].nb == 2 and missed[0].source == plain.id
    until(lambda: len(got) == 3, "the samples")


def test_configurations():
    assert RecoveryConfig(periodic_queries=1.5) and RecoveryConfig(heartbeat=True)
    assert RecoveryConfig(periodic_queries=datetime.timedelta(seconds=1))
    for wrong in ({}, {"periodic_queries": 1, "heartbeat": True}, {"heartbeat": False}):
        with pytest.raises(ValueError):
            RecoveryConfig(**wrong)


def test_caches_need_numbers_or_stamps(alone, key):
    with pytest.raises(weft.ZError, match="timestamping"):
        declare_advanced_publisher(alone, key, cache=CacheConfig(5))
    with pytest.raises(weft.ZError):
        declare_advanced_publisher(
            alone, key, cache=CacheConfig(0), sample_miss_detection=MissDetectionConfig()
        )
