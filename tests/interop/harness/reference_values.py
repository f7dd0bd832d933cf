"""Between the values of the driver protocol and those of the reference's Python package."""

import json
import zlib

import zenoh
from values import PAYLOAD_HEX_LEN_MAX, fill


class NotAllowed(Exception):
    """The request is not one of the protocol's."""


def _by_name(enumeration, *names):
    return {name.lower(): getattr(enumeration, name) for name in names}


# Options that are a word in the protocol: field, argument of the package, value by word.
ENUMS = {
    "congestion": ("congestion_control", _by_name(zenoh.CongestionControl, "DROP", "BLOCK", "BLOCK_FIRST")),
    "reliability": ("reliability", _by_name(zenoh.Reliability, "RELIABLE", "BEST_EFFORT")),
    "destination": ("allowed_destination", _by_name(zenoh.Locality, "ANY", "REMOTE", "SESSION_LOCAL")),
    "origin": ("allowed_origin", _by_name(zenoh.Locality, "ANY", "REMOTE", "SESSION_LOCAL")),
    "target": ("target", _by_name(zenoh.QueryTarget, "BEST_MATCHING", "ALL", "ALL_COMPLETE")),
    "consolidation": ("consolidation", _by_name(zenoh.ConsolidationMode, "AUTO", "NONE", "MONOTONIC", "LATEST")),
    "accept_replies": ("accept_replies", _by_name(zenoh.ReplyKeyExpr, "MATCHING_QUERY", "ANY")),
}
_CONGESTION = {int(value): word for word, value in ENUMS["congestion"][1].items()}
_PRIORITY = {
    int(value): value
    for value in _by_name(
        zenoh.Priority,
        "REAL_TIME", "INTERACTIVE_HIGH", "INTERACTIVE_LOW", "DATA_HIGH", "DATA", "DATA_LOW", "BACKGROUND",
    ).values()
}  # fmt: skip


def options_of(request, *names):
    """Takes the named options out of the request, as keyword arguments of the package."""
    options = {}
    for name in names:
        if name not in request:
            continue
        value = request.pop(name)
        if name in ENUMS:
            argument, words = ENUMS[name]
            if value not in words:
                raise NotAllowed(f"{name}: {value}")
            options[argument] = words[value]
        elif name == "priority":
            options[name] = _PRIORITY[value]
        elif name == "timeout_ms":
            options["timeout"] = value / 1000
        else:
            options[name] = value
    return options


def bytes_of(request, name):
    """`name` as a keyword argument, from a field `NAME_hex`."""
    field = f"{name}_hex"
    return {name: bytes.fromhex(request.pop(field))} if field in request else {}


def payload_of(request):
    """The payload of a request, `None` without one."""
    if "payload_fill" in request:
        wanted = request.pop("payload_fill")
        return fill(wanted["len"], wanted.get("seed", 0))
    return bytes_of(request, "payload").get("payload")


def timestamp_of(text):
    """From `NTP64/ID`. The package has no way to write a time that is not a whole number of nanoseconds."""
    time, _, identifier = text.partition("/")
    ntp64 = int(time)
    nanos = -(-((ntp64 & 0xFFFF_FFFF) * 1_000_000_000) >> 32)
    # An identifier prints as the hexadecimal of the little-endian number.
    octets = bytes.fromhex(identifier.zfill(len(identifier) + len(identifier) % 2))[::-1]
    timestamp = zenoh.Timestamp(zenoh.NTP64(ntp64 >> 32, nanos), octets)
    if str(timestamp) != text:
        raise NotAllowed(f"timestamp: {text} would become {timestamp}")
    return timestamp


def config_of(request):
    config = zenoh.Config()
    settings = {}
    if "mode" in request:
        settings["mode"] = request.pop("mode")
    for direction in ("connect", "listen"):
        if direction in request:
            settings[f"{direction}/endpoints"] = request.pop(direction)
    for path, value in {**settings, **request.pop("config", {})}.items():
        config.insert_json5(path, json.dumps(value))
    return config


def _payload_fields(payload):
    if payload is None:
        return {}
    data = payload.to_bytes()
    if len(data) <= PAYLOAD_HEX_LEN_MAX:
        return {"payload_len": len(data), "payload_hex": data.hex()}
    return {"payload_len": len(data), "payload_crc32": zlib.crc32(data)}


def _common_fields(message):
    """What samples and queries both may carry."""
    fields = _payload_fields(message.payload)
    if message.encoding is not None:
        fields["encoding"] = str(message.encoding)
    if message.attachment is not None:
        fields["attachment_hex"] = message.attachment.to_bytes().hex()
    if message.source_info is not None:
        source = message.source_info
        fields["source_info"] = {**_entity_fields(source.source_id), "sn": source.source_sn}
    return fields | _stack_fields(message)


def _stack_fields(message):
    """Point and node of each record, or the bytes of an application."""
    if message.timestamp_stack is None:
        return {}
    records = []
    for record in message.timestamp_stack.records:
        stamp = record.timestamp()
        told = stamp.hex() if record.is_custom else str(stamp).split("/")[1]
        records.append([str(record.point).rpartition(".")[2].lower(), told])
    return {"stack": records}


def _entity_fields(entity):
    return {"zid": str(entity.zid), "eid": entity.eid}


def sample_fields(sample):
    return _common_fields(sample) | {
        "key": str(sample.key_expr),
        "kind": "put" if sample.kind == zenoh.SampleKind.PUT else "delete",
        "priority": int(sample.priority),
        "congestion": _CONGESTION[int(sample.congestion_control)],
        "express": sample.express,
        "timestamp": sample.timestamp and str(sample.timestamp),
    }


def query_fields(query):
    return _common_fields(query) | {"key": str(query.key_expr), "parameters": str(query.parameters)}


def error_fields(error):
    return _payload_fields(error.payload) | {"encoding": str(error.encoding)} | _stack_fields(error)


def reply_fields(reply):
    replier = reply.replier_id and _entity_fields(reply.replier_id)
    if reply.ok is not None:
        return {"ok": True, "replier": replier, **sample_fields(reply.ok)}
    return {"ok": False, "replier": replier, **error_fields(reply.err)}
