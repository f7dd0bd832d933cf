"""Turns values into payloads and back."""

import json

import weft
from weft.ext import Float32, UInt8, z_deserialize, z_serialize

# A payload is bytes: text and bytes are taken as they are.
assert weft.ZBytes(b"\x00\x01").to_bytes() == b"\x00\x01"
assert bytes(weft.ZBytes(bytearray(b"\x00\x01"))) == b"\x00\x01"
assert weft.ZBytes("text").to_string() == "text"
assert len(weft.ZBytes("text")) == 4 and not weft.ZBytes("")

# Typed values are serialized, in a format that all languages share. The other end has to know the type.
for tp, value in [
    (bool, True),
    (int, -42),
    (float, 0.5),
    (str, "text"),
    (bytes, b"bytes"),
    (UInt8, UInt8(255)),
    (Float32, Float32(0.25)),
    (list[int], [1, 2, 3]),
    (tuple[str, float], ("pi", 3.14)),
    (dict[str, list[int]], {"odd": [1, 3], "even": [2]}),
]:
    assert z_deserialize(tp, z_serialize(value)) == value, tp

# What other formats make is bytes as well.
value = {"name": "text", "list": [1, 2.5, None]}
assert json.loads(weft.ZBytes(json.dumps(value)).to_string()) == value
