"""A TCP relay between two nodes: it sees what passes, may stop passing it on, and may cut the connection."""

import socket
import threading

from .inbox import Inbox
from .ports import free_port

# Where the bytes come from.
DIALER, LISTENER = "dialer", "listener"

# Transport messages (01 §4 and §5): the low five bits of their first byte.
INIT, OPEN, CLOSE, KEEP_ALIVE, FRAME, FRAGMENT = 1, 2, 3, 4, 5, 6


class Relay:
    """Listens on `locator` and passes everything on to the locator `target`."""

    def __init__(self, target):
        host, port = target.removeprefix("tcp/").rsplit(":", 1)
        self._target = host, int(port)
        self._listener = socket.create_server(("127.0.0.1", free_port()))
        self.locator = "tcp/127.0.0.1:%d" % self._listener.getsockname()[1]
        self._passing = threading.Event()
        self._passing.set()
        self._sockets = []
        self.batches = {side: Inbox(f"batches of the {side}") for side in (DIALER, LISTENER)}
        threading.Thread(target=self._accept, daemon=True).start()

    def freeze(self):
        """Passes nothing on from here, in either direction, and lets the connections stand."""
        self._passing.clear()

    def thaw(self):
        self._passing.set()

    def cut(self):
        """Closes all connections; new ones are taken in."""
        for one in self._sockets:
            _close(one)
        self._sockets.clear()

    def close(self):
        _close(self._listener)
        self._passing.set()
        self.cut()

    def sent_by(self, side):
        """All bytes of the network messages that `side` has sent, with the headers of transport messages between."""
        return b"".join(self.batches[side].items)

    def wait_until_sent(self, side, part):
        """Waits until `side` has sent a batch with these bytes in it."""
        self.batches[side].wait_for(lambda batch: part in batch)

    def count(self, side, message):
        """How many batches of `side` begin with this transport message."""
        return sum(first_message(batch) == message for batch in self.batches[side].items)

    def _accept(self):
        while True:
            try:
                dialer, _ = self._listener.accept()
                listener = socket.create_connection(self._target)
            except OSError:
                if self._listener.fileno() < 0:
                    return
                _close(dialer)
                continue
            self._sockets += [dialer, listener]
            for side, source, target in ((DIALER, dialer, listener), (LISTENER, listener, dialer)):
                threading.Thread(target=self._pump, args=(side, source, target), daemon=True).start()

    def _pump(self, side, source, target):
        pending = b""
        try:
            while data := source.recv(1 << 16):
                pending = self._record(side, pending + data)
                self._passing.wait()
                target.sendall(data)
        except OSError:
            pass
        self._passing.wait()
        _close(source)
        _close(target)

    def _record(self, side, data):
        """Takes whole batches (a length of two bytes, and the content) out of `data`; returns the rest."""
        while len(data) >= 2 and len(data) >= (end := 2 + int.from_bytes(data[:2], "little")):
            self.batches[side].put(data[2:end])
            data = data[end:]
        return data


def first_message(batch):
    """The kind of the first transport message of a batch."""
    return batch[0] & 0x1F


def _close(one):
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    one.close()
