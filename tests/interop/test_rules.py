"""Access control and traffic shaping: scenarios 32 to 34 of the specification (03 §12); 35 is in test_session.py.

The rules are those of the router, which each implementation is in turn, between clients of each."""

import time

import pytest

from harness.driver import reply

STARS = ["weft/reference/reference", "weft/weft/reference", "weft/reference/weft", "reference/weft/weft", "reference/reference/weft"]


@pytest.fixture(params=STARS)
def star(request, driver, locator):
    """`star(config)`: a router with this configuration, and two clients; also whether the router is Weft."""
    implementations = request.param.split("/")

    def start(config):
        router, *clients = (driver(implementation) for implementation in implementations)
        node = router.open("router", listen=[locator], config=config)
        return node, *(client.open("client", connect=[locator]) for client in clients), implementations[0] == "weft"

    return start


def everybody(default, *rules):
    """Access control with these rules for every neighbour: (permission, messages, flows, keys)."""
    names = ("permission", "messages", "flows", "key_exprs")
    rules = [{"id": str(index), **dict(zip(names, rule))} for index, rule in enumerate(rules)]
    policy = {"rules": [rule["id"] for rule in rules], "subjects": ["everybody"]}
    return {
        "access_control": {
            "enabled": True,
            "default_permission": default,
            "rules": [{name: value for name, value in rule.items() if value} for rule in rules],
            "subjects": [{"id": "everybody"}],
            "policies": [policy],
        }
    }


def matched(session, key, **options):
    publisher = session.declare_publisher(key, **options)
    publisher.matching_listener().wait_for(bool)
    return publisher


def test_what_is_denied_does_not_come_in_under_a_wildcard(star):
    """Scenario 32. The reference lets `*/1` through, which is a part of what is denied."""
    deny = ("deny", ["put"], ["ingress"], ["secret/**"])
    _, sending, receiving, is_weft = star(everybody("allow", deny))
    subscriber = receiving.declare_subscriber("**")
    last = matched(sending, "ok/last")
    for key in ("secret/1", "ok/1", "*/1"):
        sending.put(key, key)
    last.put("last")
    subscriber.wait_for(lambda sample: sample.key == "ok/last")
    keys = [sample.key for sample in subscriber.items]
    assert keys == (["ok/1", "ok/last"] if is_weft else ["ok/1", "*/1", "ok/last"])


def test_only_what_is_allowed_passes_and_a_refused_query_ends_at_once(star):
    """Scenario 33."""
    allow = ("allow", ["put", "declare_subscriber"], None, ["a/**"])
    _, sending, receiving, _ = star(everybody("deny", allow))
    allowed = receiving.declare_subscriber("a/x")
    refused = receiving.declare_subscriber("b/x")
    receiving.declare_queryable("a/q", [reply("never")])
    receiving.liveliness_token("a/t")
    publisher = matched(sending, "a/x")
    sending.put("b/x", "x")
    publisher.put("x")
    assert allowed.next().payload == "x"
    assert refused.items == []
    started = time.monotonic()
    assert sending.get("a/q", timeout_ms=60_000).replies() == []
    assert sending.liveliness_get("a/**", timeout_ms=60_000).replies() == []
    assert time.monotonic() - started < 10


def test_samples_are_thinned_out_and_large_ones_dropped(star):
    """Scenario 34, with a rate that does not depend on the time that the test takes."""
    shaping = {
        "downsampling": [{"messages": ["put"], "flows": ["ingress"], "rules": [{"key_expr": "slow/**", "freq": 0.001}]}],
        "low_pass_filter": [{"messages": ["put"], "flows": ["egress"], "key_exprs": ["small/**"], "size_limit": 4}],
    }
    _, sending, receiving, _ = star(shaping)
    subscriber = receiving.declare_subscriber("**")
    publisher = matched(sending, "small/1")
    for number in range(20):
        sending.put(f"slow/{number}", "x")
    for payload, attachment in (("12345", None), ("123", "45"), ("12", "34"), ("1234", None)):
        publisher.put(payload, attachment=attachment)
    subscriber.wait_for(lambda sample: sample.payload == "1234")
    arrived = [(sample.key, sample.payload) for sample in subscriber.items]
    assert arrived == [("slow/0", "x"), ("small/1", "12"), ("small/1", "1234")]


def test_the_quality_of_service_is_overwritten(star):
    """An increment of a priority works both ways at Weft, and only downwards at the reference."""
    overwrites = [
        {"messages": ["put"], "flows": ["ingress"], "key_exprs": ["to/**"], "overwrite": {"priority": "real_time", "express": True}},
        {"messages": ["put"], "flows": ["egress"], "key_exprs": ["less/**"], "overwrite": {"priority": 2}},
        {"messages": ["put"], "flows": ["egress"], "key_exprs": ["more/**"], "overwrite": {"priority": -1}},
        {
            "messages": ["put"],
            "flows": ["ingress"],
            "qos": {"congestion_control": "block"},
            "payload_size": "3..6",
            "overwrite": {"congestion_control": "drop"},
        },
    ]
    _, sending, receiving, is_weft = star({"qos/network": overwrites})
    subscriber = receiving.declare_subscriber("**")
    last = matched(sending, "last")
    for key in ("to/1", "less/1", "more/1"):
        sending.put(key, "", priority=5)
    for payload, attachment in (("12", None), ("123", None), ("123456", None), ("123456", "7"), ("1234567", None)):
        sending.put("size", payload, attachment=attachment, congestion="block")
    last.put("last")
    subscriber.wait_for(lambda sample: sample.key == "last")
    priorities = {sample.key: (sample.priority, sample.express) for sample in subscriber.items if sample.key != "size"}
    assert priorities == {"to/1": (1, True), "less/1": (7, False), "more/1": (4 if is_weft else 5, False), "last": (5, False)}
    sized = [sample.congestion for sample in subscriber.items if sample.key == "size"]
    assert sized == ["block", "drop", "drop", "drop", "block"]


def test_a_client_has_rules_of_its_own(left, right, locator):
    """What may not go out does not; what may not come in is not heard of."""
    listening = left.open("router", listen=[locator])
    rules = everybody("allow", ("deny", ["put"], ["egress"], ["secret/**"]), ("deny", ["put"], ["ingress"], ["noise/**"]))
    client = right.open("client", connect=[locator], config=rules)
    outside = listening.declare_subscriber("**")
    inside = client.declare_subscriber("noise/**")
    heard = client.declare_subscriber("ok")
    last = matched(client, "ok")
    client.put("secret/1", "x")
    last.put("last")
    outside.wait_for(lambda sample: sample.payload == "last")
    assert [sample.key for sample in outside.items] == ["ok"]
    heard.next()
    back = matched(listening, "ok")
    listening.put("noise/1", "x")
    back.put("back")
    heard.wait_for(lambda sample: sample.payload == "back")
    assert inside.items == []
