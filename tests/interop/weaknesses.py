"""`python -m weaknesses`: what the reference is known to do wrong (03 §13), done by it, by Weft, and by both together.

Each weakness is measured in four arrangements of the same network: all nodes of the reference, all of Weft, only the
routers of Weft, and all but the routers of Weft. Prints a table in Markdown, or JSON with `--json`.
"""

import argparse
import contextlib
import json
import signal
import socket
import sys
import threading
import time

from harness.driver import DriverError, Reference, Weft, reply
from harness.network import settle
from harness.ports import free_locator
from swarm.plan import Node, Plan, random_graph
from swarm.trial import Trial

_DRIVERS = {"weft": Weft, "reference": Reference}
# Of routers, and of everybody else.
ARRANGEMENTS = {
    "Eclipse": ("reference", "reference"),
    "Weft": ("weft", "weft"),
    "Weft routers, Eclipse others": ("weft", "reference"),
    "Eclipse routers, Weft others": ("reference", "weft"),
}
_GRAPHS = 30
_STUCK_ROUNDS = 3
_STUCK_COUNT = 16_000


def main(arguments):
    parser = argparse.ArgumentParser(prog="cargo xtask interop weaknesses", description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one JSON object for each weakness")
    parser.add_argument("--only", choices=WEAKNESSES, help="one weakness instead of all")
    options = parser.parse_args(arguments)
    if not options.json:
        print(f"| weakness | measured | {' | '.join(ARRANGEMENTS)} |\n|---|---|{'---|' * len(ARRANGEMENTS)}", flush=True)
    for name, (about, measured, measure) in WEAKNESSES.items():
        if options.only not in (None, name):
            continue
        results = {arrangement: measure(*sides) for arrangement, sides in ARRANGEMENTS.items()}
        if options.json:
            print(json.dumps({"weakness": name, "about": about, "measured": measured, **results}), flush=True)
        else:
            print(f"| {about} | {measured} | {' | '.join(results.values())} |", flush=True)
    return 0


# Networks of the swarm, without faults


def unlinked_peers(routers, others):
    """Peers that cannot reach each other, in random graphs of routers."""
    silent = lost_pairs = pairs = 0
    for seed in range(_GRAPHS):
        trial = calm(assigned(random_graph(seed, clients=2, peers=4), routers, others))
        missing = sum(not heard for heard in copies(trial).values())
        silent += missing > 0
        lost_pairs += missing
        pairs += len(copies(trial))
    return f"{silent} of {_GRAPHS} ({lost_pairs} of {pairs} pairs)"


def two_gates(routers, others):
    """A peer on two routers, a client on each."""
    nodes = [("router", []), ("router", [0]), ("peer", [0, 1]), ("client", [0]), ("client", [1])]
    made = [Node(index, "weft", mode, dials, f"1{index}{index}", mode == "router") for index, (mode, dials) in enumerate(nodes)]
    heard = copies(calm(assigned(Plan(0, "two gates", made, []), routers, others)))
    return f"{heard[2, 3]:g} and {heard[2, 4]:g}"


def assigned(plan, routers, others):
    for node in plan.nodes:
        node.implementation = routers if node.mode == "router" else others
    return plan


def calm(plan):
    trial = Trial(plan)
    outcome = trial.run()
    if not trial.calms:
        raise RuntimeError(f"{plan}: {outcome.failures}")
    return trial


def copies(trial):
    """How often each node has heard each sample of each other one, by the pair of publisher and subscriber."""
    calm = trial.calms[0]
    return {
        (sender[0], listener): sum(number in numbers for number in log.numbers(sender)) / len(numbers)
        for sender, numbers in calm.windows.items()
        for listener, log in calm.logs.items()
    }


# Others


class Network:
    """Nodes that end with a `with` block."""

    def __init__(self, routers, others):
        self._sides = {"router": routers}, others
        self._ended = contextlib.ExitStack()

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        self._ended.close()

    def driver(self, mode):
        special, others = self._sides
        driver = _DRIVERS[special.get(mode, others)]()
        self._ended.callback(end, driver)
        return driver

    def router(self, connect=()):
        listen = free_locator()
        session = self.driver("router").open("router", connect=connect, listen=[listen])
        return session, listen

    def client(self, locator):
        return self.driver("client").open("client", connect=[locator])


def end(driver):
    with contextlib.suppress(ProcessLookupError):
        driver.signal(signal.SIGCONT)
    driver.kill()


def best_matching(routers, others):
    """A line of three routers with a complete queryable at each of the last two, asked from the first."""
    with Network(routers, others) as network:
        first, at_first = network.router()
        _, at_second = network.router([at_first])
        _, at_third = network.router([at_second])
        asking = network.client(at_first)
        asked = []
        for number, locator in enumerate([at_second, at_third]):
            client = network.client(locator)
            asked.append(client.declare_queryable("q/**", [reply(str(number), key=f"q/{number}")], complete=True))
            settle(client, asking)
        asking.get("q/**", target="best_matching", consolidation="none").samples()
        # A later query to all has come after the first has reached whomever it was sent to.
        asking.get("q/**", target="all", consolidation="none").samples()
        return str(sum(len(queryable.items) - 1 for queryable in asked))


def stuck_neighbour(routers, others):
    """A subscriber is stopped while a publisher goes on that blocks: what the other subscriber sees of that, several times."""
    waits, lost = zip(*(_stuck_once(routers, others) for _ in range(_STUCK_ROUNDS)), strict=True)
    return f"{max(waits):.1f} s; {', '.join(map(str, lost))} lost"


def _stuck_once(routers, others):
    """The longest time in which the other subscriber got nothing, and how many samples it did not get."""
    with Network(routers, others) as network:
        _, locator = network.router()
        publishing, listening, stuck = (network.client(locator) for _ in range(3))
        subscriber, _ = (client.declare_subscriber("k", handler={"kind": "count"}) for client in (listening, stuck))
        for client in (listening, stuck):
            settle(client, publishing)
        publisher = publishing.declare_publisher("k", congestion="block")
        publisher.matching_listener().wait_for(bool)
        stuck.driver.signal(signal.SIGSTOP)
        thread = threading.Thread(target=publisher.burst, args=(_STUCK_COUNT, 0, 4_096, 120.0))
        thread.start()
        longest, received, since = 0.0, 0, time.monotonic()
        # What has not come a while after the last was sent is lost.
        while received < _STUCK_COUNT and (thread.is_alive() or time.monotonic() < sent + 2):
            if thread.is_alive():
                sent = time.monotonic()
            now_received, now = subscriber.statistics()["received"], time.monotonic()
            longest = max(longest, now - since)
            if now_received != received:
                received, since = now_received, now
            time.sleep(0.005)
        thread.join()
        return longest, _STUCK_COUNT - received


def unreachable_first(routers, others):
    """A client whose first endpoint does not answer opens."""
    with Network(routers, others) as network, silent_locator() as silent:
        _, locator = network.router()
        driver = network.driver("client")
        begun = time.monotonic()
        try:
            driver.start_opening("client", connect=[silent, locator])(150.0)
        except DriverError:
            return f"gives up after {time.monotonic() - begun:.2f} s"
        return f"{time.monotonic() - begun:.2f} s"


@contextlib.contextmanager
def silent_locator():
    """An address that answers nothing: the backlog of its listener is full."""
    with contextlib.ExitStack() as held:
        listener = held.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(8):
            filling = held.enter_context(socket.socket())
            filling.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                filling.connect(listener.getsockname())
        yield "tcp/127.0.0.1:%d" % listener.getsockname()[1]


WEAKNESSES = {
    "unlinked-peers": ("peers behind routers", f"of {_GRAPHS} random graphs, those in which somebody is not heard", unlinked_peers),
    "two-gates": ("a peer on two routers", "copies of a sample at the client of either", two_gates),
    "best-matching": ("BestMatching on a line of three routers", "complete queryables asked", best_matching),
    "stuck-neighbour": ("a subscriber that is stopped, samples that block", f"longest wait of another subscriber; lost of {_STUCK_COUNT:,}, three times", stuck_neighbour),
    "unreachable-first": ("an address before the router's that does not answer", "time to open", unreachable_first),
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
