"""A Weft router and clients that write the protocol in other ways than Weft and the reference do, such as zenoh-pico.

The bytes are those of the specification: 01 §4.1 (the shortest handshake), 02 §4.2 and §9 (hand-made messages that the
reference accepts, and its answers), 02 §10 (pitfalls).
"""

import contextlib

import pytest

from harness import raw
from harness.raw import Raw, declare, text
from harness.relay import FRAGMENT, OPEN, first_message


@pytest.fixture
def router(weft, locator):
    return weft.open("router", listen=[locator])


@pytest.fixture
def pico(router, locator):
    """`pico(resolution, batch_size, patch, lease_ms)`: a connected client that says no more than it must."""
    with contextlib.ExitStack() as stack:

        def connect(resolution=None, batch_size=65_535, patch=None, lease_ms=60_000):
            connection = stack.enter_context(Raw(locator))
            zid = raw.new_zid()[:4]
            sized = 0 if resolution is None else 0x40
            extended = 0 if patch is None else 0x80
            syn = bytes([0x01 | sized | extended, 9, (len(zid) - 1) << 4 | raw.CLIENT]) + zid
            if sized:
                syn += bytes([resolution]) + batch_size.to_bytes(2, "little")
            if extended:
                syn += bytes([0x27, patch])
            connection.send_batch(syn)
            answer = connection.receive()
            at = 3 + (answer[2] >> 4) + 1
            if answer[0] & 0x40:
                assert int.from_bytes(answer[at + 1 : at + 3], "little") <= batch_size
                at += 3
            cookie = answer[at + 1 : at + 1 + answer[at]]
            connection.send_batch(b"\x02" + raw.number(lease_ms) + b"\x00" + raw.number(len(cookie)) + cookie)
            assert first_message(connection.receive()) == OPEN
            return connection

        yield connect


def hexed(string):
    return bytes.fromhex(string)


def test_the_shortest_handshake_there_is(router, locator):
    with Raw(locator) as connection:
        connection.send_batch(hexed("01090277"))
        answer = connection.receive()
        at = 3 + (answer[2] >> 4) + 1 + (3 if answer[0] & 0x40 else 0)
        cookie = answer[at + 1 : at + 1 + answer[at]]
        connection.send_batch(b"\x42\x0a\x00" + raw.number(len(cookie)) + cookie)
        assert first_message(connection.receive()) == OPEN
        subscriber = router.declare_subscriber("a")
        connection.send_frame(raw.push("a"))
        assert subscriber.next().payload == "x"


def test_another_version_is_refused(router, locator):
    with Raw(locator) as connection:
        connection.send_batch(hexed("01080277"))
        assert connection.wait_end() == raw.INVALID


def test_numbers_of_keys(router, pico):
    """D_KEYEXPR and U_KEYEXPR without QoS; both directions use the client's own numbers."""
    connection, subscriber = pico(), router.declare_subscriber("ag/**")
    connection.send_frame(raw.d_keyexpr(7, "ag/a"))
    connection.send_frame(b"\x5d\x07\x01\x011", b"\x7d\x07" + text("/b") + b"\x01\x012")
    assert [sample.key for sample in subscriber.wait(2)] == ["ag/a", "ag/a/b"]
    # Another meaning for a number that is in use: the first one stays.
    connection.send_frame(raw.d_keyexpr(7, "ag/other"), b"\x5d\x07\x01\x013")
    assert subscriber.wait(3)[2].key == "ag/a"
    # A subscriber on the number, which the router uses back.
    connection.send_frame(declare(b"\x42\x01\x07"))
    publisher = router.declare_publisher("ag/a", destination="remote")
    publisher.matching_listener().wait_for(bool)
    publisher.put("4", timestamp="4294967296/1")
    connection.receive_until(b"\x1d\x07\x21" + hexed("8080808010 01 01 01 34"))
    # Freed, it means nothing: a sample is dropped, a query ends at once. The subscriber stays.
    connection.send_frame(raw.u_keyexpr(7), b"\x5d\x07\x01\x015", b"\x5c\x05\x07\x03")
    connection.receive_until(hexed("1a05"))
    publisher.put("6")
    connection.receive_until(text("ag/a"))
    connection.send_frame(raw.push("ag/end"))
    assert subscriber.wait(4)[3].key == "ag/end"


def test_a_client_without_the_key_option_gets_keys_as_text(router, pico):
    """Unless it has numbered them itself (02 §2 rule 7)."""
    connection = pico()
    router.liveliness_token("lt/a")
    connection.send_frame(raw.interest(1, "lt/*", options=0x18))
    assert b"\x66\x01\x00" + text("lt/a") in connection.receive_until(declare_final(1))


def declare_final(interest):
    """The end of the answer to an interest."""
    return b"\xbe" + raw.number(interest) + hexed("21081a")


def test_an_aggregate_interest(router, pico):
    """One declaration for all that match, on the interest's own key, under one number."""
    connection, other = pico(), pico()
    ready = router.declare_subscriber("ready")
    other.send_frame(raw.d_subscriber(1, "ag/a"), raw.d_subscriber(2, "ag/b"), raw.push("ready"))
    ready.wait(1)
    connection.send_frame(hexed("79 01 f3 00") + text("ag/*"))
    received = connection.receive_until(declare_final(1))
    at = received.index(text("ag/*"))
    identifier = received[at - 2]
    assert received.count(text("ag/*")) == 1
    other.send_frame(raw.u_subscriber(1))
    other.send_frame(raw.u_subscriber(2))
    received = connection.receive_until(declare_qos(b"\x03" + bytes([identifier])))
    assert received.count(declare_qos(b"\x03")) == 1
    other.send_frame(raw.d_subscriber(3, "ag/c"))
    received = connection.receive_until(text("ag/*"))
    assert received[received.index(text("ag/*")) - 2] == identifier


def declare_qos(body):
    return hexed("9e2108") + body


def test_an_aggregate_of_queryables_is_complete_if_one_covers_it(router, pico):
    connection, other = pico(), pico()
    connection.send_frame(hexed("79 01 f5 00") + text("ag/*"))
    connection.receive_until(declare_final(1))
    # One that covers a part of it, then one that covers all.
    other.send_frame(declare(b"\xa4\x01\x00" + text("ag/a") + hexed("2101")))
    received = connection.receive_until(text("ag/*"))
    first = received.index(text("ag/*"))
    assert not received[first - 3] & 0x80, "not complete: no information"
    identifier = received[first - 2]
    other.send_frame(declare(b"\xa4\x02\x00" + text("ag/**") + hexed("2101")))
    received = connection.receive_until(hexed("2101"))
    assert bytes([identifier]) in received


def test_current_tokens_of_any_key(router, pico):
    connection = pico()
    router.liveliness_token("lt/1")
    router.liveliness_token("lt/2")
    connection.send_frame(hexed("39 04 08"))
    received = connection.receive_until(declare_final(4))
    assert received.count(b"\x66\x00\x00" + text("lt/1")) == 1
    assert received.count(b"\x66\x00\x00" + text("lt/2")) == 1


def test_current_subscribers(router, pico):
    """The reference leaves who asks for them without any answer; here they are told, and the end."""
    connection = pico()
    router.declare_subscriber("ag/a")
    connection.send_frame(hexed("39 03 72 00") + text("ag/*"))
    received = connection.receive_until(declare_final(3))
    assert received.count(b"\x62\x00\x00" + text("ag/a")) == 1
    # Nothing more is told later.
    router.declare_subscriber("ag/b")
    connection.send_frame(hexed("39 04 08"))
    assert text("ag/b") not in connection.receive_until(declare_final(4))


def test_the_shortest_query_and_its_timeout(router, pico):
    """The router's own word that a neighbour is silent, and the end, with the default QoS and thus without extension."""
    asking, silent = pico(), pico()
    silent.send_frame(raw.d_queryable(1, "slow/q"))
    querier = router.declare_querier("slow/q")
    querier.matching_listener().wait_for(bool)
    asking.send_frame(hexed("fc 01 00") + text("slow/q") + hexed("26 f403 03"))
    received = asking.receive_until(hexed("1a01"))
    assert b"\x05\x07Timeout" in received
    at = received.index(hexed("db01"))
    assert received[at : at + 4] == hexed("db010043")


def test_a_query_that_nobody_can_answer_ends_at_once(router, pico):
    connection = pico()
    connection.send_frame(hexed("fc 03 00") + text("nobody") + hexed("a1 0d 26 ffffffff0f 03"))
    assert connection.receive_until(hexed("9a03210d")) is not None


def test_the_shortest_reply(router, pico):
    connection = pico()
    connection.send_frame(raw.d_queryable(1, "rw/q"))
    querier = router.declare_querier("rw/q")
    querier.matching_listener().wait_for(bool)
    get = querier.get()
    request = connection.receive_until(text("rw/q"))
    identifier = bytes([request[request.index(text("rw/q")) - 2]])
    connection.send_frame(b"\x7b" + identifier + b"\x00" + text("rw/q") + hexed("0401026f6b"), b"\x1a" + identifier)
    (reply,) = get.replies()
    assert (reply.sample.payload, reply.replier) == ("ok", None)


def test_small_batches_and_numbers(router, pico):
    """What a microcontroller can take: batches of 256 bytes, sequence numbers of 8 bits, fragments without marks."""
    connection = pico(resolution=0b1000, batch_size=256)
    subscriber = router.declare_subscriber("up")
    connection.send_frame(raw.d_subscriber(1, "down"))
    publisher = router.declare_publisher("down", congestion="block")
    publisher.matching_listener().wait_for(bool)
    publisher.put(b"D" * 3_000)
    received = b""
    kinds = set()
    while received.count(b"D") < 3_000:
        batch = connection.receive()
        assert len(batch) <= 256
        kinds.add(first_message(batch))
        # Without patch 1 no mark, and so no extension.
        assert not batch[0] & 0x80
        received += batch
    assert FRAGMENT in kinds
    message = raw.push("up", b"U" * 3_000)
    parts = [message[at : at + 200] for at in range(0, len(message), 200)]
    for sn, part in enumerate(parts, 1):
        connection.send_batch(bytes([0x26 | (0x40 if sn < len(parts) else 0), sn]) + part)
    assert subscriber.next().payload == b"U" * 3_000
    # Around the end of the numbers, which is at 7 bits.
    for number in range(len(parts) + 1, len(parts) + 601):
        connection.send_batch(b"\x25" + raw.number(number % 128) + raw.push("up", b"n"))
    subscriber.wait(601)


def test_frames_that_come_twice_or_late_are_not_delivered_twice(router, pico):
    connection = pico()
    subscriber = router.declare_subscriber("s")
    for sn in (5, 6, 6, 5, 4, 9, 9, 10):
        connection.send_batch(b"\x25" + bytes([sn]) + raw.push("s", bytes([sn])))
    assert [sample.payload for sample in subscriber.wait(4)] == [bytes([sn]) for sn in (5, 6, 9, 10)]
    connection.send_batch(b"\x05\x03" + raw.push("s", b"e"))
    assert subscriber.wait(5)[4].payload == b"e", "best effort has numbers of its own"


def test_several_messages_and_frames_in_one_batch(router, pico):
    connection = pico()
    subscriber = router.declare_subscriber("s")
    connection.send_batch(
        b"\x04" + b"\x25\x01" + raw.push("s", b"1") + raw.push("s", b"2") + b"\x05\x00" + raw.push("s", b"3")
        + b"\x25\x02" + raw.push("s", b"4") + b"\x04"
    )  # fmt: skip
    assert [sample.payload for sample in subscriber.wait(4)] == ["1", "2", "3", "4"]


@pytest.mark.parametrize("close", ["0300", "2300"], ids=["of the link", "of the session"])
def test_a_close(router, pico, close):
    connection = pico()
    connection.send_frame(raw.d_token(1, "a"))
    tokens = router.liveliness_subscriber("a", history=True)
    assert tokens.next().kind == "put"
    connection.send_batch(hexed(close))
    assert tokens.next().kind == "delete"
    assert connection.wait_end() is None


def test_the_lease_is_the_one_that_was_announced(router, pico):
    """Who announces a second and says nothing for so long is gone; who says something is not."""
    tokens = router.liveliness_subscriber("*", history=True)
    silent, speaking = pico(lease_ms=1_000), pico(lease_ms=1_000)
    silent.send_frame(raw.d_token(1, "silent"))
    speaking.send_frame(raw.d_token(1, "speaking"))
    tokens.wait(2)
    while not any(sample.kind == "delete" for sample in tokens.items):
        speaking.send_batch(b"\x04")
        with contextlib.suppress(TimeoutError):
            tokens.inbox.wait(3, timeout=0.2)
    assert [sample.key for sample in tokens.items if sample.kind == "delete"] == ["silent"]


def test_undeclarations_with_and_without_a_key(router, pico):
    connection = pico()
    watching = router.liveliness_subscriber("t/*", history=True)
    for identifier, undeclare in ((1, b"\x07\x01"), (2, hexed("87025f020000")), (3, hexed("87035f03007465"))):
        connection.send_frame(raw.d_token(identifier, f"t/{identifier}"))
        assert (watching.next().key, watching.items[-1].kind) == (f"t/{identifier}", "put")
        connection.send_frame(declare(undeclare))
        assert (watching.next().key, watching.items[-1].kind) == (f"t/{identifier}", "delete")


def test_extensions_that_nobody_knows(router, pico):
    """Those that are not mandatory are skipped in messages, and passed on in what they carry (02 §0)."""
    connection, other = pico(), pico()
    other.send_frame(raw.d_subscriber(1, "x"))
    settling = router.declare_publisher("x", destination="remote")
    settling.matching_listener().wait_for(bool)
    # In the PUSH one of each kind, in the PUT one with bytes.
    unknown = hexed("8e ad 05 4c 02 abcd")
    body = b"\x81" + hexed("4b 03 112233") + b"\x01v"
    connection.send_frame(b"\xbd\x00" + text("x") + unknown + body)
    received = other.receive_until(b"\x01v")
    assert hexed("4b03112233") in received and hexed("abcd") not in received
    subscriber = router.declare_subscriber("y")
    connection.send_frame(b"\xbd\x00" + text("y") + unknown + body)
    assert subscriber.next().payload == "v"


def test_a_reply_of_a_client_to_another(router, pico):
    """A query passes through as it is but for its number; so does the answer."""
    asking, answering = pico(), pico()
    answering.send_frame(raw.d_queryable(1, "q"))
    querier = router.declare_querier("q")
    querier.matching_listener().wait_for(bool)
    # 10 s, no consolidation, parameters, a payload and an attachment.
    body = hexed("e3 01") + text("p=1") + hexed("c3 03 08 706c 45 02 7161")
    asking.send_frame(b"\xbc\x63\x00" + text("q") + hexed("26 904e") + body)
    request = answering.receive_until(body)
    at = request.index(text("q"))
    assert request[at + 2 :].startswith(hexed("26904e"))
    identifier = request[at - 2 : at - 1]
    answering.send_frame(b"\x3b" + identifier + b"\x00" + text("q") + b"\x04\x01\x02ok", b"\x1a" + identifier)
    received = asking.receive_until(hexed("1a63"))
    assert b"\x63\x00" + text("q") + b"\x04\x01\x02ok" in received


def test_peers_are_served_without_gossip(weft, locator):
    """A peer that says nothing but its declarations gets data and is heard; the end of the declarations comes once."""
    node = weft.open("peer", listen=[locator])
    with Raw(locator) as peer:
        peer.handshake(mode=raw.PEER)
        peer.receive_until(hexed("be0021081a"))
        # Before it has said its own end it gets everything, whether it subscribes or not.
        node.put("any", "UNFILTERED")
        peer.receive_until(b"UNFILTERED")
        peer.send_frame(hexed("3e00 1a"), raw.d_subscriber(1, "some"))
        subscriber = node.declare_subscriber("s")
        publisher = node.declare_publisher("some")
        publisher.matching_listener().wait_for(bool)
        node.put("any", "FILTERED")
        publisher.put("WANTED")
        assert b"FILTERED" not in peer.receive_until(b"WANTED").replace(b"UNFILTERED", b"")
        peer.send_frame(raw.push("s", b"x"))
        assert subscriber.next().payload == "x"
