"""What a seed stands for: nodes, who dials whom, and which of them are killed or stopped."""

import dataclasses
import random

# How soon a neighbour that has fallen silent is given up, in milliseconds.
LEASE_MS = 2_000


@dataclasses.dataclass
class Node:
    """One process. `dials` are indexes of nodes that stand before it in the plan."""

    index: int
    implementation: str
    mode: str
    dials: list
    zid: str
    listens: bool = False
    # A peer of Weft that is a member of the routers' network.
    mesh: bool = False

    @property
    def name(self):
        return f"{self.implementation[0].upper()}{self.mode[0]}{self.index}"

    def __str__(self):
        marks = ("+mesh" if self.mesh else "") + ("+listens" if self.mode == "peer" and self.listens else "")
        return f"{self.name}{marks}->{','.join(map(str, self.dials)) or '-'}"


@dataclasses.dataclass
class Fault:
    """A node is killed and started again, or stopped for a while (SIGSTOP, SIGCONT)."""

    kind: str
    node: int
    # Killed: it is back under its old id.
    same_zid: bool = True
    # The others find together, and are checked, before it is back. Otherwise it is back after `seconds`.
    missed: bool = True
    seconds: float = 0.0


@dataclasses.dataclass
class Plan:
    seed: int
    shape: str
    nodes: list
    faults: list

    def __str__(self):
        faults = ", ".join(f"{fault.kind} {self.nodes[fault.node].name}" for fault in self.faults)
        return f"{self.shape}: {' '.join(map(str, self.nodes))}; {faults or 'no faults'}"


def random_plan(seed, implementations=("weft", "reference"), faults=True):
    """The plan of a seed. Nodes are of a random one of `implementations`."""
    rng = random.Random(seed)
    builder = _Builder(rng, implementations)
    shape = rng.choice(["line", "ring", "diamond", "graph", "graph"])
    getattr(builder, shape)()
    builder.leaves()
    return Plan(seed, shape, builder.nodes, builder.faults() if faults else [])


def random_graph(seed, clients, peers):
    """A random connected graph of three to five routers with clients and peers without listeners, and no faults."""
    builder = _Builder(random.Random(seed), ("weft",))
    builder.graph()
    routers = len(builder.nodes)
    for mode in ["client"] * clients + ["peer"] * peers:
        builder.add(mode, [builder.rng.randrange(routers)])
    return Plan(seed, "graph", builder.nodes, [])


class _Builder:
    def __init__(self, rng, implementations):
        self.rng, self.implementations = rng, implementations
        self.nodes = []

    def add(self, mode, dials, **options):
        # All of one length, so that their order is the same as numbers and as text.
        zid = f"{self.rng.getrandbits(60) | 1 << 60:x}"
        node = Node(len(self.nodes), self.rng.choice(self.implementations), mode, sorted(dials), zid, **options)
        self.nodes.append(node)
        return node

    def router(self, *dials):
        return self.add("router", dials, listens=True).index

    def line(self):
        for at in range(self.rng.randint(2, 5)):
            self.router(*([at - 1] if at else []))

    def ring(self):
        count = self.rng.randint(3, 5)
        for at in range(count):
            self.router(*([at - 1] if at else []), *([0] if at == count - 1 else []))

    def diamond(self):
        first = self.router()
        sides = [self.router(first) for _ in range(2)]
        self.router(*sides)

    def graph(self):
        """Any connected graph."""
        for at in range(self.rng.randint(3, 5)):
            dials = {other for other in range(at) if self.rng.random() < 0.4}
            self.router(*(dials or ({self.rng.randrange(at)} if at else ())))

    def leaves(self):
        """Clients, peers without listeners, two peers that find each other, and a client of a peer."""
        routers = len(self.nodes)
        for _ in range(self.rng.randint(1, 2)):
            self.add("client", [self.rng.randrange(routers)])
        for _ in range(self.rng.randint(1, 2)):
            on = {self.rng.randrange(routers)}
            if self.rng.random() < 0.2:
                on.add(self.rng.randrange(routers))
            peer = self.add("peer", on)
            peer.mesh = peer.implementation == "weft" and self.rng.random() < 0.25
        if self.rng.random() < 0.25:
            router = self.rng.randrange(routers)
            pair = [self.add("peer", [router], listens=True) for _ in range(2)]
            if self.rng.random() < 0.5:
                self.add("client", [self.rng.choice(pair).index])

    def faults(self):
        return [self.fault() for _ in range(self.rng.randint(1, 2))]

    def fault(self):
        node = self.rng.randrange(len(self.nodes))
        missed = self.rng.random() < 0.6
        if self.rng.random() < 0.6:
            return Fault("kill", node, self.rng.random() < 0.5, missed)
        # Some are back before their leases have run out, some long after.
        return Fault("stop", node, True, missed, self.rng.choice([0.3, 1.0, 2.0]) * LEASE_MS / 1000)
