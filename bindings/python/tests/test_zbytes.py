"""Payloads: what goes in, what comes out, and without which copies."""

from __future__ import annotations

import array
import gc
import io
import sys

import numpy
import pytest

import weft

BIG = bytes(range(256)) * 16


@pytest.mark.parametrize(
    "given, expected",
    [
        (b"ab", b"ab"),
        (bytearray(b"ab"), b"ab"),
        ("äb", "äb".encode()),
        (memoryview(b"abcd")[1:3], b"bc"),
        (array.array("H", [1, 2]), array.array("H", [1, 2]).tobytes()),
        (weft.ZBytes(b"ab"), b"ab"),
        (BIG, BIG),
        (bytearray(), b""),
        (memoryview(b""), b""),
    ],
)
def test_what_a_payload_is_made_of(given, expected, alone, key):
    assert bytes(weft.ZBytes(given)) == expected
    subscriber = alone.declare_subscriber(key)
    publisher = alone.declare_publisher(key)
    publisher.put(given)
    publisher.put(given, attachment=given)
    alone.put(key, given)
    payloads = [subscriber.recv() for _ in range(3)]
    assert [bytes(sample.payload) for sample in payloads] == [expected] * 3
    assert bytes(payloads[1].attachment) == expected


@pytest.mark.parametrize("given", [1, None, ["a"], {"a": 1}, 1.5, object()])
def test_what_is_no_payload(given, alone, key):
    publisher = alone.declare_publisher(key)
    for refused in (
        lambda: publisher.put(given),
        lambda: alone.put(key, given),
        lambda: publisher.put(given, encoding="a/b"),
    ):
        with pytest.raises(TypeError):
            refused()


def test_buffers_must_be_contiguous(alone, key):
    with pytest.raises(TypeError, match="contiguous"):
        alone.put(key, memoryview(b"abcdef")[::2])


def test_numpy_arrays(alone, key):
    subscriber = alone.declare_subscriber(key)
    publisher = alone.declare_publisher(key)
    for values in (
        numpy.arange(6, dtype=numpy.float32).reshape(2, 3),
        numpy.zeros((0, 4)),
        numpy.array(5, dtype=numpy.int16),
    ):
        publisher.put(values)
        payload = subscriber.recv().payload
        back = numpy.frombuffer(payload, dtype=values.dtype).reshape(values.shape)
        assert (back == values).all()
    with pytest.raises(TypeError, match="contiguous"):
        publisher.put(numpy.arange(6).reshape(2, 3).T)


def test_bytes_are_not_copied():
    payload = weft.ZBytes(BIG)
    before = sys.getrefcount(BIG)
    other = weft.ZBytes(BIG)
    assert sys.getrefcount(BIG) == before + 1
    del other
    gc.collect()
    assert sys.getrefcount(BIG) == before
    assert address(memoryview(payload)) == address(memoryview(BIG))


def address(view):
    return numpy.frombuffer(view, dtype=numpy.uint8).ctypes.data


def test_views_are_not_copies(alone, key):
    subscriber = alone.declare_subscriber(key)
    alone.put(key, BIG)
    sample = subscriber.recv()
    view = memoryview(sample.payload)
    assert view.readonly and view.c_contiguous and view.nbytes == len(BIG)
    assert address(view) == address(memoryview(sample.payload))
    del sample
    gc.collect()
    assert view.tobytes() == BIG
    with pytest.raises(TypeError):
        view[0] = 1


def test_mutable_buffers_are_copied_where_they_are_kept():
    mutable = bytearray(BIG)
    payload = weft.ZBytes(mutable)
    mutable[0] = 99
    assert bytes(payload) == BIG


def test_buffers_are_released(alone, key):
    publisher = alone.declare_publisher(key)
    buffer = bytearray(b"ab")
    for use in (publisher.put, weft.ZBytes, lambda it: alone.put(key, it)):
        use(buffer)
        buffer.append(0)  # a BufferError while it is exported


def test_payloads_cannot_be_written_to():
    payload = weft.ZBytes(BIG)
    with pytest.raises(TypeError, match="read-write"):
        io.BytesIO(b"12").readinto(payload)
    assert bytes(payload) == BIG


def test_text():
    assert weft.ZBytes("grün").to_string() == str(weft.ZBytes("grün")) == "grün"
    with pytest.raises(ValueError):
        weft.ZBytes(b"\xff").to_string()


def test_comparisons():
    payload = weft.ZBytes(b"ab")
    assert payload == b"ab" == payload.to_bytes() and payload == "ab" and payload == bytearray(b"ab")
    assert payload == weft.ZBytes("ab") and payload != b"abc" and payload != 5
    assert hash(payload) == hash(b"ab") and {payload: 1}[b"ab"] == 1
    assert len(payload) == 2 and payload and not weft.ZBytes()
    assert payload.as_shm() is None


def test_segments():
    payload = weft.ZBytes.from_segments([BIG, b"", "x", bytearray(b"yz")])
    assert bytes(payload) == BIG + b"xyz"
    assert b"".join(bytes(piece) for piece in payload.slices()) == BIG + b"xyz"
    assert len(payload.slices()) == 2
    assert memoryview(payload).tobytes() == BIG + b"xyz"


def test_repr_is_short():
    assert repr(weft.ZBytes("hello")) == 'ZBytes(5 B, "hello")'
    assert len(repr(weft.ZBytes(BIG))) < 200
