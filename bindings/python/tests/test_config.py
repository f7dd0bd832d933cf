"""Configurations, and what is said about wrong ones."""

from __future__ import annotations

import json

import pytest

import weft


def test_values_are_text_or_what_json_expresses():
    config = weft.Config()
    config.insert_json5("mode", '"client"')
    config.insert_json5("connect/endpoints", ["tcp/127.0.0.1:1"])
    config.insert_json5("scouting/multicast/enabled", False)
    config.insert_json5("scouting/gossip", {"enabled": False})
    assert config.get_json("mode") == '"client"'
    assert json.loads(config.get_json("connect/endpoints")) == ["tcp/127.0.0.1:1"]
    assert config.get_json("scouting/multicast/enabled") == "false"
    assert json.loads(str(config))["scouting"]["gossip"]["enabled"] is False


def test_what_is_not_set_is_null_but_in_force():
    config = weft.Config()
    assert config.get_json("queries_default_timeout") == "null"
    assert config.get_effective_json("queries_default_timeout") == "10000"


def test_unknown_keys_have_a_nearest_one():
    with pytest.raises(weft.ZError, match="unknown key") as error:
        weft.Config().insert_json5("conect/endpoints", "[]")
    assert error.value.kind == "config" and error.value.detail == "conect/endpoints"
    assert "connect/endpoints" in error.value.hint
    with pytest.raises(weft.ZError, match="NoMatchingKey|unknown key"):
        weft.Config().get_json("conect")


def test_text_without_quotes_is_explained():
    with pytest.raises(weft.ZError) as error:
        weft.Config().insert_json5("mode", "client")
    assert '"client"' in error.value.hint and "needs quotes" in str(error.value)


def test_wrong_types_say_what_is_expected():
    with pytest.raises(weft.ZError, match="mode"):
        weft.Config().insert_json5("mode", "5")
    with pytest.raises(TypeError):
        weft.Config().insert_json5("mode", object())


def test_files_and_the_environment(tmp_path, monkeypatch):
    file = tmp_path / "c.json5"
    file.write_text("{ mode: 'client' } // a comment")
    for path in (file, str(file)):
        assert weft.Config.from_file(path).get_json("mode") == '"client"'
    monkeypatch.setenv(weft.Config.DEFAULT_CONFIG_PATH_ENV, str(file))
    assert weft.Config.from_env().get_json("mode") == '"client"'
    monkeypatch.delenv(weft.Config.DEFAULT_CONFIG_PATH_ENV)
    monkeypatch.delenv("WEFT_CONFIG", raising=False)
    for refused in (
        weft.Config.from_env,
        lambda: weft.Config.from_file(tmp_path / "none"),
        lambda: weft.Config.from_json5("{"),
        lambda: weft.Config.from_json5("{unknown: 1}"),
    ):
        with pytest.raises(weft.ZError):
            refused()


def test_opening_copies_the_configuration():
    config = weft.Config.from_json5("{scouting: {multicast: {enabled: false}}, listen: {endpoints: []}}")
    with weft.open(config) as session:
        config.insert_json5("mode", '"client"')
        assert not session.is_closed()


def test_secrets_are_not_shown():
    config = weft.Config()
    config.insert_json5("transport/auth/usrpwd/password", '"sesame"')
    assert "sesame" not in str(config) and "sesame" not in repr(config)
