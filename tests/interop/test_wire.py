"""What a Weft node puts on the wire, byte for byte where the specification shows it (02 §4.2 and §9, 03 §11).

The bytes are looked for in what passes through a relay, so that batching does not matter. A message that must not be
there is looked for after a later one that must.
"""

import pytest

from harness.driver import reply
from harness.network import settle
from harness.relay import DIALER, INIT, LISTENER, OPEN, first_message

QOS = bytes.fromhex("2108")


def text(key):
    """A key as a string with its length."""
    return bytes([len(key)]) + key.encode()


def declare(body):
    return b"\x9e" + QOS + body


def d_keyexpr(number, key):
    return declare(b"\x20" + bytes([number, 0]) + text(key))


@pytest.fixture
def client(weft, reference, locator, relay):
    """A Weft client of a router of the reference, the relay between them, and the router."""
    router = reference.open("router", listen=[locator])
    before = relay(locator)
    return weft.open("client", connect=[before.locator]), before, router


def expect(relay, *parts):
    for part in parts:
        relay.wait_until_sent(DIALER, part)


def test_a_client_that_declares_nothing_says_nothing(client):
    """After the handshake of two messages, the first thing that is said is what the application declares."""
    session, relay, router = client
    session.declare_keyexpr("a/b")
    settle(session, router)
    batches = relay.batches[DIALER].items
    assert [first_message(batch) for batch in batches[:2]] == [INIT, OPEN]
    assert d_keyexpr(1, "a/b") in batches[2] or b"settle/" in batches[2]
    assert first_message(relay.batches[LISTENER].items[0]) == INIT


def test_subscribers(client):
    session, relay, router = client
    one = session.declare_subscriber("demo/s/**")
    expect(relay, d_keyexpr(1, "demo/s"), declare(b"\x62\x01\x01" + text("/**")))
    same = session.declare_subscriber("demo/s/**")
    two = session.declare_subscriber("demo/s")
    expect(relay, declare(b"\x42\x02\x01"))
    # The second subscriber on one key was nothing new, and is nothing lost.
    assert relay.sent_by(DIALER).count(b"/**") == 1
    same.undeclare()
    two.undeclare()
    expect(relay, declare(b"\x03\x02"))
    one.undeclare()
    expect(relay, declare(b"\x03\x01"))
    assert relay.sent_by(DIALER).count(declare(b"\x03")) == 2
    settle(session, router)


def test_queryables(client):
    session, relay, _ = client
    complete = session.declare_queryable("demo/q/**", complete=True)
    expect(relay, declare(b"\xe4\x01\x01" + text("/**") + b"\x21\x01"))
    plain = session.declare_queryable("demo/q")
    expect(relay, declare(b"\x44\x02\x01"))
    complete.undeclare()
    # With an empty key expression, as the reference.
    expect(relay, declare(bytes.fromhex("85015f020000")))
    merged = session.declare_queryable("demo/q", complete=True)
    # The same id, with the information of both.
    expect(relay, declare(bytes.fromhex("c402012101")))
    merged.undeclare()
    plain.undeclare()
    expect(relay, declare(bytes.fromhex("85025f020000")))


def test_tokens_and_who_watches_them(client):
    session, relay, _ = client
    token = session.liveliness_token("lt/a")
    expect(relay, d_keyexpr(1, "lt/a"), declare(b"\x46\x01\x01"))
    session.liveliness_get("lt/a").replies()
    expect(relay, bytes.fromhex("b90259012108"))
    future = session.liveliness_subscriber("lt/a")
    expect(relay, bytes.fromhex("d90359012108"))
    history = session.liveliness_subscriber("lt/a", history=True)
    expect(relay, bytes.fromhex("f90459012108"))
    history.undeclare()
    future.undeclare()
    expect(relay, bytes.fromhex("99042108"), bytes.fromhex("99032108"))
    token.undeclare()
    expect(relay, declare(bytes.fromhex("87015f020000")))


def test_publishers_and_queriers_ask_who_is_there(client):
    session, relay, _ = client
    publisher = session.declare_publisher("demo/p")
    expect(relay, d_keyexpr(1, "demo/p"), bytes.fromhex("f90153012108"))
    querier = session.declare_querier("demo/p")
    expect(relay, bytes.fromhex("f90255012108"))
    publisher.undeclare()
    expect(relay, bytes.fromhex("99012108"))
    querier.undeclare()
    expect(relay, bytes.fromhex("99022108"))


def test_publications(client):
    session, relay, router = client
    key = text("demo/s/a")
    session.put("demo/s/a", "hello")
    expect(relay, b"\x7d\x00" + key + b"\x01\x05hello")
    session.put("demo/s/a", "hi", encoding="text/plain")
    expect(relay, b"\x7d\x00" + key + b"\x41\x08\x02hi")
    session.put("demo/s/a", "x", encoding="my/enc;v1")
    expect(relay, b"\x7d\x00" + key + b"\x41\xff\xff\x07\x09my/enc;v1\x01x")
    session.put("demo/s/a", "x", attachment="att")
    expect(relay, b"\x7d\x00" + key + b"\x81\x43\x03att\x01x")
    session.put("demo/s/a", "x", priority=1, congestion="block", express=True)
    expect(relay, b"\xfd\x00" + key + b"\x21\x19\x01\x01x")
    session.delete("demo/s/a")
    expect(relay, b"\x7d\x00" + key + b"\x02")
    session.delete("demo/s/a", attachment="att")
    expect(relay, b"\x7d\x00" + key + b"\x82\x42\x03att")
    session.put("demo/s/a", "x", encoding="application/json", attachment="A", timestamp="4294967296/aa01", source_sn=7)
    zid = bytes.fromhex(session.zid.zfill(32))[::-1].rstrip(b"\0")
    stamp = bytes.fromhex("8080808010") + b"\x02\x01\xaa"
    expect(relay, b"\x7d\x00" + key + b"\xe1" + stamp + b"\x0a")
    assert zid in relay.sent_by(DIALER)
    # Through a publisher the key is a number.
    router.declare_subscriber("demo/s/*")
    publisher = session.declare_publisher("demo/s/a")
    publisher.matching_listener().wait_for(bool)
    publisher.put("12345678")
    expect(relay, b"\x5d\x01\x01\x0812345678")
    publisher.put(b"")
    publisher.delete()
    expect(relay, b"\x5d\x01\x01\x00", b"\x5d\x01\x02")


def test_a_publisher_that_matches_nobody_sends_nothing(client):
    """Scenario 20: nothing goes upstream once the interest is answered, until a subscriber comes."""
    session, relay, router = client
    publisher = session.declare_publisher("quiet")
    settle(router, session)
    publisher.put("UNHEARD")
    session.put("quiet", "UNHEARD")
    subscriber = router.declare_subscriber("quiet")
    publisher.matching_listener().wait_for(bool)
    publisher.put("HEARD")
    assert subscriber.next().payload == "HEARD"
    expect(relay, b"\x05HEARD")
    assert b"UNHEARD" not in relay.sent_by(DIALER)
    subscriber.undeclare()
    settle(router, session)
    publisher.put("UNHEARD")
    session.put("other", "LAST")
    expect(relay, b"LAST")
    assert b"UNHEARD" not in relay.sent_by(DIALER)


def test_queries(client):
    session, relay, router = client
    key = text("demo/q/a")
    queryable = router.declare_queryable("demo/q/**", [reply("ok", key="demo/q/a")])
    session.get("demo/q/a").replies()
    # Data and block, 10 s, latest; the id is the node's choice.
    expect(relay, b"\x00" + key + bytes.fromhex("a10d26904e2303"))
    session.get(
        "demo/q/a?two;x=1", "pl", target="all", consolidation="none", timeout_ms=2_500, encoding="text/plain",
        attachment="qa",
    ).replies()  # fmt: skip
    # All, 2.5 s, none; then the payload with its encoding, and the attachment.
    expect(relay, b"\x00" + key + bytes.fromhex("a10db40126c413e301") + text("two;x=1"))
    expect(relay, bytes.fromhex("03 08 706c"), bytes.fromhex("45 02 7161"))
    assert queryable.wait(2)[1].parameters == "two;x=1"
    session.get("demo/q/a?other", accept_replies="any").replies()
    expect(relay, text("other;_anyke"))


def test_replies(client):
    session, relay, router = client
    zid = bytes.fromhex(session.zid.zfill(len(session.zid) + len(session.zid) % 2))[::-1]
    session.declare_queryable("demo/q/**", [reply("ok", key="demo/q/a"), reply("bad", kind="error", encoding="text/plain")])
    settle(session, router)
    assert len(router.get("demo/q/a", consolidation="none").replies()) == 2
    responder = bytes([len(zid) + 2, (len(zid) - 1) << 4]) + zid
    # Ok: full key, the query's QoS, who replies. Then the error without a key, and the end.
    expect(relay, b"\x00" + text("demo/q/a") + bytes.fromhex("a10d43") + responder)
    expect(relay, bytes.fromhex("0401026f6b"), bytes.fromhex("450803626164"))
    final = [batch for batch in relay.batches[DIALER].items if bytes.fromhex("210d") in batch[-3:]]
    assert final and final[-1][-4] == 0x9A
    for query in ("demo/q/a", "demo/q/b"):
        router.get(query).replies()


@pytest.mark.parametrize("dialing", ["weft", "reference"])
def test_peers_say_all_at_the_start_and_end_it(driver, locator, relay, dialing):
    """Gossip, what is declared, and the end of the initial declarations (02 §4.9)."""
    weft, reference = driver("weft"), driver("reference")
    before = relay(locator)
    endpoints = [{"listen": [locator]}, {"connect": [before.locator]}]
    side = LISTENER
    if dialing == "weft":
        endpoints.reverse()
        side = DIALER
        reference.open("peer", **endpoints[1])
        session = weft.open("peer", **endpoints[0])
    else:
        session = weft.open("peer", **endpoints[0])
        session.declare_subscriber("early")
        reference.open("peer", **endpoints[1])
    before.wait_until_sent(side, bytes.fromhex("be0021081a"))
    sent = before.sent_by(side)
    assert bytes.fromhex("df012108") in sent
    if dialing == "reference":
        assert 0 < sent.index(text("early")) < sent.index(bytes.fromhex("be0021081a"))


def test_a_router_sends_one_copy_whatever_the_number_of_subscriptions(weft, reference, locator, relay):
    router = weft.open("router", listen=[locator])
    before = relay(locator)
    client = reference.open("client", connect=[before.locator])
    subscribers = [client.declare_subscriber(key) for key in ("k/**", "k/*", "k/1")]
    settle(client, router)
    router.put("k/1", "ONECOPY")
    for subscriber in subscribers:
        assert subscriber.next().payload == "ONECOPY"
    assert before.sent_by(LISTENER).count(b"ONECOPY") == 1


def test_a_router_says_nothing_to_a_client_that_asked_for_nothing(weft, reference, locator, relay):
    """Declarations go to clients on demand only (03 §3.5)."""
    router = weft.open("router", listen=[locator])
    before = relay(locator)
    client = reference.open("client", connect=[before.locator])
    router.declare_subscriber("SILENT/s/**")
    router.declare_queryable("SILENT/q/**")
    router.liveliness_token("SILENT/t")
    subscriber = client.declare_subscriber("end")
    settle(client, router)
    router.put("end", "x")
    assert subscriber.next().payload == "x"
    assert b"SILENT" not in before.sent_by(LISTENER)


def test_small_messages_share_batches(weft, reference, locator, relay):
    """A few bytes beside the payload for each further message of a batch (02 §8)."""
    router = reference.open("router", listen=[locator])
    subscriber = router.declare_subscriber("t", handler={"kind": "count"})
    before = relay(locator)
    publisher = weft.open("client", connect=[before.locator]).declare_publisher("t", congestion="block")
    publisher.matching_listener().wait_for(bool)
    seen = len(before.sent_by(DIALER))
    publisher.burst(10_000)
    subscriber.wait_count(10_000)
    # The header, the key's number, two bytes of QoS because of `block`, PUT, the length; and a little for the batches.
    assert len(before.sent_by(DIALER)) - seen < 10_000 * (8 + 6.1)
    assert len(before.batches[DIALER].items) < 2_000
