"""Networks of two or three nodes, which many tests use one after the other.

A network is written as its nodes in the order in which a sample passes them, each as a letter for the implementation
(`W` for Weft, `R` for the reference) and one for the mode (`p`eer, `c`lient, `r`outer). In `Wc-to-Rr` the sender, a Weft
client, dials the receiver, a router of the reference; in `Wr-from-Rc` the receiver dials. In `Wc-Rr-Rc` both ends dial
the node in the middle.
"""

import itertools
import re

from .driver import Reference, Weft
from .ports import free_locator

# Every pair of modes, linked directly, with Weft on either side and as either sender or receiver.
DIRECT = [
    "Wp-to-Rp", "Wp-from-Rp", "Rp-to-Wp", "Rp-from-Wp",
    "Wc-to-Rr", "Rc-to-Wr", "Wr-from-Rc", "Rr-from-Wc",
    "Wc-to-Rp", "Rc-to-Wp", "Wp-from-Rc", "Rp-from-Wc",
    "Wp-to-Rr", "Rp-to-Wr", "Wr-from-Rp", "Rr-from-Wp",
    "Wp-to-Wp",
]  # fmt: skip
# Clients and peers on a router, clients on a peer.
THROUGH = [
    "Rc-Wr-Rc", "Wc-Wr-Rc", "Rc-Wr-Wc", "Wc-Rr-Wc", "Wc-Rr-Rc", "Rc-Rr-Wc",
    "Rc-Wp-Rc", "Wc-Wp-Rc", "Rc-Wp-Wc", "Wc-Rp-Wc", "Wc-Rp-Rc", "Rc-Rp-Wc",
    "Rp-Wr-Rc", "Rc-Wr-Rp", "Wp-Rr-Rc", "Rc-Rr-Wp", "Wp-Wr-Rc", "Rc-Wr-Wp",
    "Wc-Wr-Wc",
]  # fmt: skip
ALL = DIRECT + THROUGH

_IMPLEMENTATIONS = {"W": Weft, "R": Reference}
_MODES = {"p": "peer", "c": "client", "r": "router"}


class Network:
    """Node processes with a session each, open until `close`."""

    def __init__(self, plan):
        self.plan = plan
        nodes = re.findall(r"([WR])([pcr])", plan)
        self._drivers = []
        try:
            self._open(nodes)
        except BaseException:
            self.close()
            raise

    def _open(self, nodes):
        listening = 0 if "-from-" in self.plan else 1
        locator = free_locator()
        sessions = [None] * len(nodes)
        for index in sorted(range(len(nodes)), key=lambda index: index != listening):
            implementation, mode = nodes[index]
            self._drivers.append(_IMPLEMENTATIONS[implementation]())
            endpoints = {"listen": [locator]} if index == listening else {"connect": [locator]}
            sessions[index] = self._drivers[-1].open(_MODES[mode], **endpoints)
            sessions[index].mode = _MODES[mode]
        self.sessions = sessions

    @property
    def sender(self):
        return self.sessions[0]

    @property
    def receiver(self):
        return self.sessions[-1]

    @property
    def middle(self):
        """The node between the two, or `None`."""
        return self.sessions[1] if len(self.sessions) == 3 else None

    @property
    def first_router(self):
        """The first router on a sample's way, the ends included, or `None`."""
        return next((session for session in self.sessions if session.mode == "router"), None)

    def reset(self):
        """Undeclares everything."""
        for session in self.sessions:
            session.undeclare_all()

    def close(self):
        failures = []
        for driver in self._drivers:
            try:
                driver.close()
            except Exception as failure:
                failures.append(failure)
        if failures:
            raise failures[0]


class Site:
    """A network that is opened when it is needed, and again after a test in which something failed."""

    def __init__(self, plan):
        self.plan = plan
        self._network = None

    def network(self):
        if self._network is None:
            self._network = Network(self.plan)
        return self._network

    def discard(self):
        network, self._network = self._network, None
        if network:
            network.close()


_keys = itertools.count()


def settle(origin, observer):
    """Returns when all that `origin` has declared so far is known on the whole way to `observer`.

    Declarations keep their order, so that it is enough to wait for one more.
    """
    key = f"settle/{next(_keys)}"
    subscriber, publisher = origin.declare_subscriber(key), observer.declare_publisher(key)
    publisher.matching_listener().wait_for(bool)
    publisher.undeclare()
    subscriber.undeclare()


class Net:
    """A test's view of a network: its ends, and a key that no other test uses."""

    def __init__(self, network):
        self.plan = network.plan
        self.sender, self.receiver, self.middle = network.sender, network.receiver, network.middle
        self.first_router = network.first_router
        self.key = f"test/{next(_keys)}"

    def subscriber(self, suffix="", **options):
        """A subscriber at the receiving end on the test's key with `suffix`."""
        return self.receiver.declare_subscriber(self.key + suffix, **options)

    def publisher(self, suffix="", **options):
        """A publisher at the sending end that matches something."""
        publisher = self.sender.declare_publisher(self.key + suffix, **options)
        publisher.matching_listener().wait_for(bool)
        return publisher

    def queryable(self, replies=(), suffix="", **options):
        """A queryable at the receiving end."""
        return self.receiver.declare_queryable(self.key + suffix, replies, **options)

    def querier(self, suffix="", **options):
        """A querier at the sending end that matches something."""
        querier = self.sender.declare_querier(self.key + suffix, **options)
        querier.matching_listener().wait_for(bool)
        return querier
