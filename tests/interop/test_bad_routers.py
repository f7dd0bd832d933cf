"""What a Weft client does with a router that is none, or a bad one: it says what is wrong, or tries again."""

import pytest

from harness import raw
from harness.driver import DriverError
from harness.network import settle
from harness.raw import OPEN_ACK, FakeRouter
from harness.relay import CLOSE, INIT, OPEN, first_message

QUICK = {"connect/retry": {"period_init_ms": 50, "period_max_ms": 100}}
IMPATIENT = {"transport/unicast/open_timeout": 500}


@pytest.fixture
def router():
    router = FakeRouter()
    yield router
    router.close()


def opening(weft, router, **config):
    """Starts to open a client and returns the function that waits for it."""
    return weft.start_opening("client", connect=[router.locator], config={**IMPATIENT, **config})


# What it answers to INIT.
ANSWERS = {
    "nothing": b"",
    "garbage": b"\xff\x00\x18\x77" * 10,
    "an empty batch": raw.batch(b""),
    "a page": b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
    "a frame": raw.batch(b"\x25\x00" + raw.push("a")),
    "its own question": raw.batch(raw.init_syn(b"\x01\x02")),
    "an acknowledgement that is cut off": raw.batch(FakeRouter.init_ack(None)[:4]),
    "an id of no bytes that count": raw.batch(bytes([0xA1, 9, 0x00]) + b"\0" + b"\x01c" + bytes([0x27, 1])),
    "a wider resolution than was asked for": raw.batch(bytes([0x61, 9, 0x10]) + b"\x42\x42\x0f\xff\xff\x01c"),
    "no room for a batch": raw.batch(bytes([0x61, 9, 0x10]) + b"\x42\x42\x0a\x00\x00\x01c"),
    "a cookie longer than what is there": raw.batch(bytes([0x21, 9, 0x10]) + b"\x42\x42\xff\xff\x03c"),
    "a mandatory extension that nobody knows": raw.batch(bytes([0xA1, 9, 0x10]) + b"\x42\x42\x01c\x1e"),
    "a patch that was not offered": raw.batch(bytes([0xA1, 9, 0x10]) + b"\x42\x42\x01c\x27\x05"),
    "a word of refusal": raw.batch(b"\x03\x02"),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_router_that_answers_the_first_question_with(weft, router, answer):
    wait = opening(weft, router)
    with router.accept() as connection:
        assert first_message(connection.receive()) == INIT
        connection.send(ANSWERS[answer])
        with pytest.raises(DriverError) as refused:
            wait()
    assert refused.value.kind == "open"
    assert "\n" not in refused.value.message


@pytest.mark.parametrize("answer", [b"", b"\xff" * 9, raw.batch(b"\x03\x03"), raw.batch(b"\x62"), raw.batch(b"\x25\x00")])
def test_a_router_that_answers_the_second_question_with(weft, router, answer):
    wait = opening(weft, router)
    with router.accept() as connection:
        assert first_message(connection.receive()) == INIT
        connection.send_batch(router.init_ack())
        opened = connection.receive()
        assert first_message(opened) == OPEN and b"\x06cookie" in opened
        connection.send(answer)
        with pytest.raises(DriverError) as refused:
            wait()
    assert refused.value.kind == "open"


def test_a_router_that_hangs_up(weft, router):
    wait = opening(weft, router)
    router.accept().close()
    with pytest.raises(DriverError):
        wait()


def test_a_router_that_says_all_at_once(weft, router):
    """The acknowledgement and the first frames in one piece, and in pieces of one byte."""
    for whole in (True, False):
        wait = opening(weft, router)
        with router.accept() as connection:
            connection.receive()
            connection.send_batch(router.init_ack())
            connection.receive()
            data = raw.batch(OPEN_ACK) + raw.batch(b"\x04") + raw.batch(b"\x25\x00" + raw.d_keyexpr(3, "early"))
            for piece in [data] if whole else [data[at : at + 1] for at in range(len(data))]:
                connection.send(piece)
            session = wait()
            subscriber = session.declare_subscriber("**")
            connection.receive_until(raw.text("**"))
            # On the number that came with the acknowledgement.
            connection.send_batch(b"\x25\x01\x5d\x03\x01\x01x")
            assert subscriber.next().key == "early"
            session.close()


def test_a_router_that_never_answers_what_is_asked(weft, router):
    """Queries end by their own timeouts; a publisher without an answer sends everything."""
    wait = opening(weft, router)
    with router.accept_and_open() as connection:
        session = wait()
        (reply,) = session.get("q", timeout_ms=200).replies()
        assert reply.error == "Timeout"
        (reply,) = session.liveliness_get("t", timeout_ms=200).replies()
        assert reply.error == "Timeout"
        publisher = session.declare_publisher("p")
        publisher.put("UNASKED")
        connection.receive_until(b"UNASKED")
        assert publisher.matching_status() is False
        # Late answers to what has been given up.
        connection.send_frame(b"\x3b\x01\x00" + raw.text("q") + b"\x04\x01\x01x", b"\x1a\x01", b"\x1a\x01")
        session.put("still/there", "ALIVE")
        connection.receive_until(b"ALIVE")
        session.close()
        assert connection.wait_end() is not None


def test_a_router_that_breaks_the_protocol_is_left_and_tried_again(weft, router):
    wait = opening(weft, router, **QUICK)
    connection = router.accept_and_open()
    session = wait()
    session.declare_subscriber("a/**")
    for breach in (b"\x25\x00\x18", b"\xff", b"\x25\x00\x3d\x00\xff\xff\x7f", b"\x03\x00"):
        connection.receive_until(raw.text("/**"))
        connection.send_batch(breach)
        connection.wait_end()
        connection.close()
        connection = router.accept_and_open()
    connection.receive_until(raw.text("/**"))
    connection.close()


def test_replies_that_fit_no_query_are_dropped(weft, router):
    wait = opening(weft, router)
    with router.accept_and_open() as connection:
        session = wait()
        get = session.get("q/*", consolidation="none", timeout_ms=5_000)
        request = connection.receive_until(raw.text("q/*"))
        identifier = request[request.index(raw.text("q/*")) - 2]

        def answer(number, key, payload):
            return b"\x3b" + raw.number(number) + b"\x00" + raw.text(key) + b"\x04\x01" + raw.number(len(payload)) + payload

        connection.send_frame(
            answer(identifier + 1, "q/a", b"another query"),
            answer(identifier, "elsewhere", b"another key"),
            answer(identifier, "q/a", b"right"),
            b"\x1a" + raw.number(identifier + 1),
            b"\x1a" + raw.number(identifier),
        )
        assert [sample.payload for sample in get.samples()] == ["right"]


def test_two_routers_with_one_id(weft, router):
    """A peer dials both: the second link is one more to the same neighbour, and what is sent takes the first."""
    other = FakeRouter()
    wait = weft.start_opening("peer", connect=[router.locator, other.locator])
    first = router.accept_and_open()
    # Gossip is the first thing that it says to a neighbour.
    first.receive_until(bytes.fromhex("df012108"))
    second = other.accept_and_open()
    session = wait()
    session.put("a", "HELLO")
    first.receive_until(b"HELLO")
    assert session.info()["routers"] == ["4242"]
    session.close()
    for connection in (first, second):
        connection.close()
    other.close()


def test_itself(weft, locator):
    """A node that is told to connect to itself notices and goes on."""
    node = weft.open("peer", listen=[locator], connect=[locator])
    assert node.info()["peers"] == []
    client = weft.open("client", connect=[locator])
    subscriber = client.declare_subscriber("a")
    settle(client, node)
    node.put("a", "x")
    assert subscriber.next().payload == "x"
