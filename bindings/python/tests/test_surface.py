"""The module has the names, signatures and defaults of ``vectors/python_surface.json``."""

from __future__ import annotations

import importlib
import inspect
import json
import pathlib
import sys

import pytest

import weft
import weft.handlers

VECTORS = pathlib.Path(__file__).parents[3] / "vectors" / "python_surface.json"
SURFACE = json.loads(VECTORS.read_text())
KINDS = {
    "pos_only": inspect.Parameter.POSITIONAL_ONLY,
    "pos_or_kw": inspect.Parameter.POSITIONAL_OR_KEYWORD,
    "kw_only": inspect.Parameter.KEYWORD_ONLY,
}
# What differs on purpose: arguments that are optional here, and names of which both are taken.
OPTIONAL = {("open", "config")}
CONSTRUCTORS = {
    "Encoding": "encoding",
    "KeyExpr": "key_expr",
    "NTP64": "seconds",
    "Parameters": "parameters",
    "QueryConsolidation": "mode",
    "ZBytes": "bytes",
}
OTHER_NAMES = {("NTP64", "nanoseconds"): "nanos"}
# Enumerations are hashable here, and `Priority.NUM` is a number there, too.
UNHASHABLE = "__hash__"
MODULES = [name for name in SURFACE if name.startswith("zenoh") and name != "zenoh.shm"]


def ours(name):
    return importlib.import_module(name.replace("zenoh", "weft", 1))


def functions():
    return [
        pytest.param(module, name, parameters, id=f"{module}.{name}")
        for module in MODULES
        for name, parameters in SURFACE[module]["functions"].items()
    ]


def classes():
    return [
        pytest.param(module, name, surface, id=f"{module}.{name}")
        for module in MODULES
        for name, surface in SURFACE[module]["classes"].items()
    ]


def compare(signature, expected, name):
    given = list(signature.parameters.values())
    assert [it.name for it in given[: len(expected)]] == [it[0] for it in expected]
    for parameter, (argument, kind, default) in zip(given, expected):
        # Classes in Python let `self` be named.
        assert parameter.kind == KINDS[kind] or argument == "self", argument
        if default is None and (name, argument) not in OPTIONAL:
            assert parameter.default is inspect.Parameter.empty, argument
        elif default is not None:
            assert repr(parameter.default) == default, argument
    # What is added must not be needed.
    for parameter in given[len(expected) :]:
        assert parameter.default is not inspect.Parameter.empty, parameter


@pytest.mark.parametrize("module, name, parameters", functions())
def test_functions(module, name, parameters):
    compare(inspect.signature(getattr(ours(module), name)), parameters, name)


@pytest.mark.parametrize("module, name, surface", classes())
def test_classes(module, name, surface):
    cls = getattr(ours(module), name)
    assert inspect.isclass(cls)
    if surface["base"] != "object":
        assert surface["base"] in [base.__name__ for base in cls.__mro__]
    assert hasattr(cls, "__repr__")
    if surface["constructor"] is not None:
        constructor(cls, name, surface["constructor"])
    for member, described in surface["members"].items():
        assert hasattr(cls, member), member
        if member == UNHASHABLE and cls.__hash__ is not None:
            continue
        found = inspect.getattr_static(cls, member)
        kind = described["kind"]
        if kind == "property":
            assert inspect.isdatadescriptor(found), member
        elif kind in ("method", "classmethod") and not member.startswith("__"):
            method = getattr(cls, member)
            if name == "QueryConsolidation" and member == "mode":
                continue  # a property whose value can be called
            compare(inspect.signature(method), described["params"], member)


def constructor(cls, name, expected):
    if sys.version_info < (3, 10) and cls.__text_signature__ is None:
        return  # the stable ABI of 3.9 drops it
    signature = inspect.signature(cls)
    parameters = list(signature.parameters.values())
    assert len(parameters) >= len(expected)
    for index, (argument, kind, default) in enumerate(expected):
        names = {argument, CONSTRUCTORS.get(name) if index == 0 else None}
        names.add(OTHER_NAMES.get((name, argument)))
        assert parameters[index].name in names, (name, argument)
        if default not in (None, "None"):
            assert repr(parameters[index].default) == default
        if name not in CONSTRUCTORS:
            assert parameters[index].kind == KINDS[kind]


def test_constructors_take_the_names_of_the_reference_too():
    assert weft.KeyExpr(s="a/b") == weft.KeyExpr(key_expr="a/b") == "a/b"
    assert weft.Encoding(s="text/plain") == weft.Encoding(encoding="text/plain")
    assert weft.ZBytes(obj=b"1") == weft.ZBytes(bytes=b"1")
    assert str(weft.Parameters(obj="a=1")) == str(weft.Parameters(parameters="a=1"))
    assert weft.NTP64(seconds=1, nanoseconds=2) == weft.NTP64(1, nanos=2)


def test_constructors_take_nothing_where_that_says_something():
    assert weft.Encoding() == "zenoh/bytes"
    assert bytes(weft.ZBytes()) == b""
    assert weft.Parameters().is_empty()
    assert weft.WhatAmIMatcher().is_empty()
    assert weft.QueryConsolidation().mode is weft.ConsolidationMode.AUTO


@pytest.mark.parametrize("name", ["Session", "KeyExpr", "Sample", "WhatAmI", "QueryConsolidation"])
def test_classes_are_final(name):
    with pytest.raises(TypeError):
        type("Derived", (getattr(weft, name),), {})


def test_enumerations_are_final():
    with pytest.raises(TypeError):

        class Derived(weft.Priority):
            pass


@pytest.mark.parametrize("name", ["Handler", "Subscriber", "Queryable", "Querier", "Scout"])
def test_receivers_can_be_subscripted(name):
    alias = getattr(weft, name)[int]
    assert alias.__args__ == (int,)


def test_shared_memory_says_that_it_is_not_there():
    with pytest.raises(ImportError, match="no shared memory"):
        weft.shm  # noqa: B018


def test_every_public_name_has_a_docstring():
    for name in weft.__all__:
        if name != "__version__":
            assert getattr(weft, name).__doc__, name
