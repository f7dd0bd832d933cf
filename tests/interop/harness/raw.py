"""A neighbour made of bytes: enough of the protocol to do what no honest node does (01 §4 and §5)."""

import itertools
import os
import socket
import time

from .inbox import WAIT_SECONDS, Closed
from .ports import free_port
from .relay import CLOSE, INIT, OPEN, first_message

ROUTER, PEER, CLIENT = 0, 1, 2

# Why a transport is closed.
GENERIC, INVALID, MAX_SESSIONS, MAX_LINKS, UNRESPONSIVE, CONNECTION_TO_SELF = 0, 2, 3, 4, 6, 7

_zids = itertools.count(1)


def number(value):
    """A number in the protocol's variable length."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def text(string):
    data = string.encode()
    return number(len(data)) + data


def batch(content):
    return len(content).to_bytes(2, "little") + content


def init_syn(zid, mode=CLIENT):
    # Patch 1, so that fragments are marked.
    return bytes([0x81, 9, (len(zid) - 1) << 4 | mode]) + zid + bytes([0x27, 1])


def open_syn(cookie, lease_s=60, sn=0):
    return b"\x42" + number(lease_s) + number(sn) + number(len(cookie)) + cookie


def new_zid():
    return b"\x01" + os.urandom(6) + (next(_zids) % 251 + 1).to_bytes(1, "little")


# Network messages, with keys as full text.


def push(key, payload=b"x"):
    return b"\x3d\x00" + text(key) + b"\x01" + number(len(payload)) + payload


def declare(body):
    return b"\x1e" + body


def d_keyexpr(identifier, key):
    return declare(b"\x20" + number(identifier) + b"\x00" + text(key))


def u_keyexpr(identifier):
    return declare(b"\x01" + number(identifier))


def d_subscriber(identifier, key):
    return declare(b"\x22" + number(identifier) + b"\x00" + text(key))


def u_subscriber(identifier):
    return declare(b"\x03" + number(identifier))


def d_queryable(identifier, key):
    return declare(b"\x24" + number(identifier) + b"\x00" + text(key))


def d_token(identifier, key):
    return declare(b"\x26" + number(identifier) + b"\x00" + text(key))


def u_token(identifier):
    return declare(b"\x07" + number(identifier))


def interest(identifier, key, options=0x12):
    """Current and future, of subscribers unless the options say otherwise."""
    return b"\x79" + number(identifier) + bytes([options | 0x20]) + b"\x00" + text(key)


def request(identifier, key):
    return b"\x3c" + number(identifier) + b"\x00" + text(key) + b"\x03"


class Connection:
    """A TCP connection that carries batches."""

    def __init__(self, connected):
        self._socket = connected
        self._socket.settimeout(WAIT_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = b""
        self._sn = 0

    def close(self):
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, data):
        """Bytes as they are."""
        self._socket.sendall(data)

    def send_batch(self, content):
        self.send(batch(content))

    def send_frame(self, *messages):
        """Network messages in a frame with the next sequence number."""
        self.send_batch(b"\x25" + number(self._sn) + b"".join(messages))
        self._sn += 1

    def send_frames(self, messages, per_frame=200):
        """Many network messages, as fast as they are taken."""
        data = bytearray()
        messages = iter(messages)
        while group := list(itertools.islice(messages, per_frame)):
            data += batch(b"\x25" + number(self._sn) + b"".join(group))
            self._sn += 1
            if len(data) > 1 << 20:
                self.send(data)
                data.clear()
        self.send(data)

    def send_fragments(self, message, length, finish=True):
        """One network message in fragments of `length` bytes; without the last one if it is not to be finished."""
        parts = [message[at : at + length] for at in range(0, len(message), length)]
        for index, part in enumerate(parts if finish else parts[:-1]):
            more = 0x40 if index < len(parts) - 1 else 0
            # The first one is marked by an extension.
            header = bytes([0x26 | more | (0x80 if index == 0 else 0)])
            self.send_batch(header + number(self._sn) + (b"\x02" if index == 0 else b"") + part)
            self._sn += 1

    def receive(self):
        """The next batch; `None` at the end of the connection."""
        while len(self._received) < 2 or len(self._received) < 2 + int.from_bytes(self._received[:2], "little"):
            try:
                data = self._socket.recv(1 << 16)
            except ConnectionError:
                data = b""
            if not data:
                return None
            self._received += data
        end = 2 + int.from_bytes(self._received[:2], "little")
        content, self._received = self._received[2:end], self._received[end:]
        return content

    def receive_until(self, part):
        """Reads until `part` has come; returns all that has come since the last call, without the prefixes of batches."""
        received = b""
        deadline = time.monotonic() + WAIT_SECONDS
        while part not in received:
            content = self.receive()
            if content is None:
                raise Closed(f"the connection ended before {part.hex(' ')} came: {received.hex(' ')}")
            received += content
            if time.monotonic() > deadline:
                raise TimeoutError(f"{part.hex(' ')} has not come: {received.hex(' ')}")
        return received

    def wait_end(self):
        """Reads until the node closes the connection; returns the reason if it said one."""
        reason = None
        deadline = time.monotonic() + WAIT_SECONDS
        while (content := self.receive()) is not None:
            if content and first_message(content) == CLOSE:
                reason = content[1]
            if time.monotonic() > deadline:
                raise TimeoutError("the connection stands")
        return reason


class Raw(Connection):
    """A connection to a node."""

    def __init__(self, locator, host=""):
        """Connects from the address `host`, if it is given."""
        to, port = locator.removeprefix("tcp/").rsplit(":", 1)
        super().__init__(socket.create_connection((to, int(port)), WAIT_SECONDS, (host, 0)))

    def init(self, zid, mode=CLIENT):
        """The first half of the handshake; returns the cookie."""
        self.send_batch(init_syn(zid, mode))
        answer = self.receive()
        assert answer and first_message(answer) == INIT, answer
        # Header, version, mode and length of the id, the id, resolution and batch size, cookie.
        at = 3 + (answer[2] >> 4) + 1 + (3 if answer[0] & 0x40 else 0)
        length = answer[at]
        assert length < 0x80, "a cookie of this length needs a longer reader"
        return answer[at + 1 : at + 1 + length]

    def handshake(self, zid=None, mode=CLIENT, lease_s=60):
        """Becomes a neighbour."""
        self.send_batch(open_syn(self.init(zid or new_zid(), mode), lease_s))
        answer = self.receive()
        assert answer and first_message(answer) == OPEN, answer
        return self


class FakeRouter:
    """Takes in connections of nodes that dial."""

    ZID = b"\x42\x42"

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", free_port()))
        self._listener.settimeout(WAIT_SECONDS)
        self.locator = "tcp/127.0.0.1:%d" % self._listener.getsockname()[1]

    def accept(self):
        return Connection(self._listener.accept()[0])

    def accept_and_open(self):
        """The next connection, after the handshake."""
        connection = self.accept()
        assert first_message(connection.receive()) == INIT
        connection.send_batch(self.init_ack())
        assert first_message(connection.receive()) == OPEN
        connection.send_batch(OPEN_ACK)
        return connection

    def init_ack(self, zid=ZID, cookie=b"cookie"):
        head = bytes([0xA1, 9, (len(zid) - 1) << 4 | ROUTER])
        return head + zid + number(len(cookie)) + cookie + bytes([0x27, 1])

    def close(self):
        self._listener.close()


# A lease of a minute, and the sequence numbers begin with 0.
OPEN_ACK = b"\x62\x3c\x00"
