"""One node of a trial: its process, what it declares, and what it has heard."""

import signal

from harness.driver import Reference, Weft, reply
from swarm.plan import LEASE_MS

_DRIVERS = {"weft": Weft, "reference": Reference}
# A busy machine starts a node in its own time.
START_SECONDS = 60.0
# Requests that go on while a test asks something else.
_TRAFFIC_LANE = 1


class Member:
    """A node of the plan, in as many processes as it is started, one at a time."""

    def __init__(self, node, locators):
        self.node = node
        self.locators = locators
        self.life = -1
        self.state = "down"
        self.driver = None
        # One for each life: what its subscriber heard.
        self.logs = []
        # Numbers that were published, of each life.
        self.published = []
        self._pending = []

    @property
    def up(self):
        return self.state == "up"

    @property
    def sender(self):
        """Whose samples these are: the node and its life, as in the key."""
        return (self.node.index, self.life)

    @property
    def log(self):
        return self.logs[-1]

    def spawn(self):
        """Starts a process without a session."""
        self.driver = _DRIVERS[self.node.implementation]()

    def start_opening(self, zid=None):
        """Opens the session and returns a function that waits for it and declares everything."""
        node = self.node
        self.life += 1
        config = {
            "id": zid or node.zid,
            "transport/link/tx/lease": LEASE_MS,
            "connect/retry": {"period_init_ms": 200, "period_max_ms": 1_000},
            "scouting/gossip/autoconnect": {"router": [], "peer": ["peer"] if node.listens else []},
        }
        listen = [self.locators[node.index]] if node.listens else []
        if not listen and node.mode != "client":
            config["listen/endpoints"] = []
        if node.mesh:
            config["routing/mesh"] = True
        opening = self.driver.start_opening(node.mode, [self.locators[index] for index in node.dials], listen, config)

        def wait():
            self.session = opening(START_SECONDS)
            self._declare()
            self.state = "up"

        return wait

    def _declare(self):
        name, key = self.node.index, f"{self.node.index}/{self.life}"
        self.logs.append(Log(self.session.declare_subscriber("swarm/**")))
        self.published.append(0)
        self._pending = []
        self.session.declare_queryable(f"asked/{key}", [reply(str(name), key=f"asked/{key}")])
        self.session.liveliness_token(f"alive/{key}")
        self.publisher = self.session.declare_publisher(f"swarm/{key}", congestion="block")

    def publish(self, count):
        """Sends `count` more samples without waiting, unless earlier ones are still being sent. Returns their numbers."""
        self._pending = [answer for answer in self._pending if not answer.has_come()]
        if self._pending:
            return range(0)
        numbers = range(self.published[-1], self.published[-1] + count)
        self.published[-1] += count
        options = {"entity": self.publisher.handle, "count": count, "first": numbers.start, "len": 8}
        self._pending = [self.driver.send("publisher_burst", lane=_TRAFFIC_LANE, **options)]
        return numbers

    def sent_all(self):
        return all(answer.has_come() for answer in self._pending)

    def neighbours(self):
        """The zids of the routers and peers that it is linked to."""
        info = self.session.info()
        return {*info["routers"], *info["peers"]}

    def kill(self):
        self.state = "down"
        self.driver.kill()

    def stop(self):
        self.state = "stopped"
        self.driver.signal(signal.SIGSTOP)

    def resume(self):
        self.driver.signal(signal.SIGCONT)
        self.state = "up"

    def close(self):
        """Ends the process. Raises if it does not end well."""
        if self.state == "stopped":
            self.resume()
        self.state = "down"
        if self.driver:
            self.driver.close(START_SECONDS)


class Log:
    """What one subscriber has heard: of each sender the numbers in the order of arrival."""

    def __init__(self, subscriber):
        self._subscriber = subscriber
        self._read = 0
        self._numbers = {}
        self._last = {}

    def numbers(self, sender):
        """All that has come of a sender."""
        self._update()
        return self._numbers.get(sender, [])

    def has(self, sender, number):
        """Whether this number or a later one has come of a sender."""
        self._update()
        return self._last.get(sender, -1) >= number

    def __str__(self):
        self._update()
        return "; ".join(f"{name}: {numbers}" for name, numbers in sorted(self._numbers.items()))

    def _update(self):
        new = self._subscriber.inbox.items_from(self._read)
        self._read += len(new)
        for sample in new:
            sender = tuple(map(int, sample.key.split("/")[1:]))
            number = int.from_bytes(sample.payload.data[:8], "little")
            self._numbers.setdefault(sender, []).append(number)
            self._last[sender] = max(self._last.get(sender, -1), number)
