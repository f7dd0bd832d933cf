"""Values: key expressions, selectors, parameters, encodings, times, identities, enumerations."""

from __future__ import annotations

import copy
import datetime
import enum
import pickle

import pytest

import weft

UTC = datetime.timezone.utc


def test_key_expressions_are_equal_to_their_text():
    key = weft.KeyExpr("a/*/b")
    assert key == "a/*/b" and key != "a/b" and key != "///" and key != 1
    assert hash(key) == hash("a/*/b") and {key: 1}["a/*/b"] == 1
    assert str(key) == "a/*/b" and repr(key) == "ke`a/*/b`"
    assert pickle.loads(pickle.dumps(key)) == key


def test_key_expressions_are_checked():
    for text in ("", "/a", "a/", "a//b", "a/**/**", "a#b"):
        with pytest.raises(weft.ZError) as error:
            weft.KeyExpr(text)
        assert error.value.kind == "key_expr"
    with pytest.raises(TypeError):
        weft.KeyExpr(1)
    with pytest.raises(TypeError):
        weft.KeyExpr()
    assert weft.KeyExpr.autocanonize("a/**/**") == "a/**"


def test_relations_of_key_expressions():
    all_of_a = weft.KeyExpr("a/**")
    assert all_of_a.intersects("a/b") and not all_of_a.intersects(weft.KeyExpr("b"))
    assert all_of_a.includes("a/*") and not weft.KeyExpr("a/*").includes(all_of_a)
    level = weft.SetIntersectionLevel
    assert all_of_a.relation_to("a/b") is level.INCLUDES
    assert all_of_a.relation_to("b") is level.DISJOINT
    assert all_of_a.relation_to("a/**") is level.EQUALS
    assert weft.KeyExpr("a/b").relation_to("a/**") is level.INTERSECTS


def test_key_expressions_are_joined():
    key = weft.KeyExpr("a")
    assert key.join("b/c") == "a/b/c" and key.concat("b") == "ab"
    assert key / "b" == "a/b" and key / weft.KeyExpr("b") == "a/b" and "b" / key == "b/a"
    with pytest.raises(weft.ZError):
        key.concat("//")


def test_selectors():
    selector = weft.Selector("a/*?x=1;y")
    assert selector.key_expr == "a/*" and selector.parameters.get("x") == "1"
    assert str(selector) == "a/*?x=1;y" and repr(selector) == 'sel"a/*?x=1;y"'
    assert str(weft.Selector(weft.KeyExpr("a"), {"b": "c"})) == "a?b=c"
    assert str(weft.Selector("a", "b=c")) == "a?b=c"
    with pytest.raises(weft.ZError):
        weft.Selector(selector, "z")
    with pytest.raises(weft.ZError):
        weft.Selector("a?x", "z")
    selector.key_expr = "b"
    selector.parameters = {"z": "2"}
    assert str(selector) == "b?z=2"


def test_parameters():
    parameters = weft.Parameters("b=1;a=2|3;flag")
    assert parameters and not parameters.is_empty() and len(parameters) == 3
    assert parameters.get("b") == "1" and parameters.get("x") is None
    assert parameters.get("x", "y") == "y" and parameters["x"] is None
    assert parameters.values("a") == ["2", "3"] and "flag" in parameters and "x" not in parameters
    assert list(parameters) == [("b", "1"), ("a", "2|3"), ("flag", "")]
    assert not parameters.is_ordered()
    assert parameters.insert("b", "5") == "1" and parameters.insert("c", "6") is None
    assert parameters.remove("flag") == "" and parameters.remove("flag") is None
    parameters.extend({"a": "7"})
    assert dict(parameters) == {"b": "5", "a": "7", "c": "6"}
    assert parameters == weft.Parameters(str(parameters)) and parameters != weft.Parameters()
    with pytest.raises(TypeError):
        weft.Parameters(5)


def test_encodings():
    assert weft.Encoding("") == weft.Encoding.ZENOH_BYTES == "zenoh/bytes"
    assert weft.Encoding("text/plain;") == weft.Encoding.TEXT_PLAIN
    json = weft.Encoding.APPLICATION_JSON.with_schema("v1")
    assert str(json) == "application/json;v1" and hash(json) == hash("application/json;v1")
    assert json != weft.Encoding.APPLICATION_JSON and json != 5
    assert pickle.loads(pickle.dumps(json)) == json


def test_timestamps():
    date = datetime.datetime(2023, 11, 14, 22, 13, 20, 250_000, UTC)
    stamp = weft.Timestamp(date, b"\x01\x02")
    assert stamp.get_time() == date
    assert stamp.to_string_rfc3339_lossy() == "2023-11-14T22:13:20.250000000Z/201"
    assert str(stamp.get_id()) == "201" and bytes(stamp.get_id())[:3] == b"\x01\x02\x00"
    assert weft.Timestamp.parse_rfc3339(str(stamp)) == stamp
    later = weft.Timestamp(weft.NTP64(1_700_000_001, 0), weft.TimestampId(b"\x01"))
    assert later > stamp and stamp <= later and later != stamp and hash(later) != hash(stamp)
    assert later.get_diff_duration(stamp) == datetime.timedelta(milliseconds=750)
    assert stamp.get_diff_duration(later) == datetime.timedelta(milliseconds=-750)
    with pytest.raises(TypeError, match="time zone"):
        weft.Timestamp(datetime.datetime(2023, 1, 1), b"\x01")
    for identity in (b"", b"\0", bytes(range(17))):
        with pytest.raises(weft.ZError):
            weft.TimestampId(identity)
    with pytest.raises(weft.ZError):
        weft.Timestamp.parse_rfc3339("yesterday")


def test_ntp64():
    time = weft.NTP64(5, 500_000_000)
    assert time.as_secs() == 5 and time.subsec_nanos() == 500_000_000
    assert time.as_nanos() == 5_500_000_000 and time.as_secs_f64() == 5.5
    assert str(time) == str((5 << 32) + (1 << 31))
    assert time.to_string_rfc3339_lossy() == "1970-01-01T00:00:05.500000000Z"
    assert weft.NTP64.parse_rfc3339("1970-01-01T00:00:05.5Z") == time
    assert time.to_datetime() == datetime.datetime(1970, 1, 1, 0, 0, 5, 500_000, UTC)
    assert weft.NTP64(1, 0) < time


ENUMERATIONS = [
    weft.Priority,
    weft.CongestionControl,
    weft.Reliability,
    weft.SampleKind,
    weft.Locality,
    weft.QueryTarget,
    weft.ConsolidationMode,
    weft.ReplyKeyExpr,
    weft.SetIntersectionLevel,
    weft.InterceptionPoint,
]


@pytest.mark.parametrize("cls", ENUMERATIONS, ids=lambda cls: cls.__name__)
def test_enumerations(cls):
    assert issubclass(cls, enum.Enum)
    for member in cls:
        assert str(member) == repr(member) == f"{cls.__name__}.{member.name}"
        assert int(member) == member.value and member != member.value
        assert pickle.loads(pickle.dumps(member)) is member and copy.deepcopy(member) is member
        assert {member: 1}[member] == 1
        with pytest.raises(TypeError):
            member < member  # noqa: B015


def test_aliases_of_enumerations():
    assert weft.Priority.DEFAULT is weft.Priority.DATA and weft.Priority.NUM == 7
    assert weft.Priority.MIN is weft.Priority.BACKGROUND
    assert weft.Priority.MAX is weft.Priority.REAL_TIME
    assert weft.CongestionControl.DEFAULT is weft.CongestionControl.DROP
    assert weft.Reliability.DEFAULT is weft.Reliability.BEST_EFFORT
    assert weft.Locality.DEFAULT is weft.Locality.ANY
    assert weft.QueryTarget.DEFAULT is weft.QueryTarget.BEST_MATCHING
    assert weft.ReplyKeyExpr.DEFAULT is weft.ReplyKeyExpr.MATCHING_QUERY


def test_consolidation_has_its_mode_both_ways():
    latest = weft.QueryConsolidation(weft.ConsolidationMode.LATEST)
    assert latest.mode is latest.mode() is weft.ConsolidationMode.LATEST
    assert weft.QueryConsolidation.AUTO == weft.QueryConsolidation.DEFAULT != latest
    with pytest.raises(TypeError):
        weft.QueryConsolidation(1)


def test_modes():
    peer = weft.WhatAmI("peer")
    assert peer is weft.WhatAmI.PEER and peer == weft.WhatAmI.PEER and int(peer) == 2
    assert str(peer) == "peer" and repr(peer) == "Peer"
    assert pickle.loads(pickle.dumps(peer)) is peer
    with pytest.raises(weft.ZError, match="'router', 'peer' or 'client'"):
        weft.WhatAmI("broker")


def test_sets_of_modes():
    both = weft.WhatAmI.CLIENT | "router"
    assert str(both) == "router|client" and weft.WhatAmI.CLIENT in both and "peer" not in both
    assert both == weft.WhatAmIMatcher("client|router") == "client" | weft.WhatAmI.ROUTER
    assert str(weft.WhatAmIMatcher.empty().client().peer().router()) == "router|peer|client"
    assert weft.WhatAmIMatcher("").is_empty() and both.matches("router")
    with pytest.raises(weft.ZError, match="invalid WhatAmI matcher"):
        weft.WhatAmIMatcher("peers")


def test_identities_have_values(alone):
    assert alone.zid() == alone.info.zid() == alone.id.zid and len(bytes(alone.zid())) == 16
    assert hash(alone.zid()) == hash(alone.info.zid())
    assert int(str(alone.zid()), 16) == int.from_bytes(bytes(alone.zid()), "little")
    source = weft.SourceInfo(alone.id, 7)
    assert source.source_id == alone.id and source.source_sn == 7
    with pytest.raises(OverflowError):
        weft.SourceInfo(alone.id, 1 << 32)
