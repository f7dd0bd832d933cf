"""Who hears whom in a network, and what of it the reference is known not to do (03 §4.4, §12, §13).

A sample enters the network of routers at the publisher's *gates* and leaves it at the subscriber's. Of a router the gate
is the router itself; of a peer, the routers that it is linked to; of a client, the gates of the node that it is on. A
peer of Weft that is a member of the network (`routing/mesh`) is so for routers of Weft, with itself as a gate; for those
of the reference it is a peer like any other.

Rules excuse the reference. The first two hold only if the gates that they speak of are the reference's, and they excuse
queries and tokens as well as samples.

- **unlinked peers**: a router of the reference passes nothing between two peers of its own (scenario 6). Excused is a
  loss between two peers without a link that have a gate of the reference in common.
- **two gates**: a router of the reference passes what a peer on several routers publishes to its own neighbours, and
  the elected gate passes it through the network as well (scenario 17). When the elected one is gone, another does not
  declare the peer's tokens in its stead. Excused are duplicates and losses where the publisher or the subscriber has
  several gates, one of which is the reference's, whether it runs or not.
- **quick return**: a router of the reference computes its trees every 100 ms at most, and declares to a neighbour again
  if that was none of its children before. A neighbour that is lost and back in between hears nothing of what was declared
  before. Excused are losses where the subscriber's declarations may have to pass that link, in that direction, after a
  router was started again at once, or went on after it had been stopped.
- **own token**: a client of the reference hears of its own token from itself and again from the node that it is on (03 §3.5).
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Hearing:
    """What is expected of the samples of one node at another."""

    reachable: bool
    # The names of the rules that excuse a loss, or a duplicate.
    loss: str = ""
    duplicate: str = ""

    @property
    def certain(self):
        """Nothing excuses a loss."""
        return self.reachable and not self.loss


class Network:
    """A plan's nodes, of which only those in `up` run. `returned` are the nodes that were lost and back at once."""

    def __init__(self, plan, up, returned=()):
        self.nodes = plan.nodes
        self.up = set(up)
        self._forgetful = {link for index in returned for link in self._forgetful_links(index)}
        self._parts = self._connected_parts()

    def links(self, index):
        """The running nodes that a node is linked to, by its own dialing or theirs, clients left out."""
        node = self.nodes[index]
        found = {other for other in node.dials if other in self.up}
        if node.mode == "client":
            return found
        for other in self.nodes:
            if other.index in self.up and other.mode != "client" and index in other.dials:
                found.add(other.index)
        if self._finds_peers(node):
            found |= {
                other.index
                for other in self.nodes
                if other.index != index and other.index in self.up and self._finds_peers(other) and set(other.dials) & set(node.dials) & self.up
            }
        return found

    def hearing(self, publisher, subscriber):
        """What is expected at `subscriber` of what `publisher` puts."""
        if publisher == subscriber or self._host(publisher) == self._host(subscriber):
            return Hearing(self._host_is_up(publisher))
        if not (self._host_is_up(publisher) and self._host_is_up(subscriber)):
            return Hearing(False)
        ours, theirs = self._gates(publisher), self._gates(subscriber)
        both_peers = self._is_on_peer(publisher) and self._is_on_peer(subscriber)
        linked = both_peers and self._host(subscriber) in self.links(self._host(publisher))
        parts = {self._parts[gate] for gate in ours} & {self._parts[gate] for gate in theirs}
        if not (linked or parts):
            return Hearing(False)
        loss = duplicate = ""
        if any(self._has_two_gates(index) for index in (publisher, subscriber)):
            loss = duplicate = "two gates"
        elif both_peers and not linked and self._any_of_reference(ours & theirs):
            loss = "unlinked peers"
        elif not linked and any(self._may_forget(start, end, {start}) for start in theirs for end in ours):
            loss = "quick return"
        return Hearing(True, loss, duplicate)

    def hears_own_token_twice(self, index):
        """Whether a query for tokens may bring the asker's own one twice."""
        node = self.nodes[index]
        return node.implementation == "reference" and (node.mode == "client" or self._has_two_gates(index))

    def _has_two_gates(self, index):
        gates = self._configured_gates(index)
        return len(gates) > 1 and self._any_of_reference(gates)

    def _forgetful_links(self, index):
        """The links between routers on which declarations may be missing, in their direction, after one was back at once."""
        if self.nodes[index].mode != "router":
            return set()
        others = {other for other in range(len(self.nodes)) if self.nodes[other].mode == "router" and self._dial_each_other(index, other)}
        links = {(index, other) for other in others} | {(other, index) for other in others}
        return {link for link in links if self._any_of_reference(link[:1])}

    def _dial_each_other(self, one, other):
        return one in self.nodes[other].dials or other in self.nodes[one].dials

    def _may_forget(self, start, end, passed):
        """Whether there is a way through the network from one gate to another over a forgetful link."""
        if not self._forgetful or start == end:
            return False
        for following in self._network_links(start) - passed:
            rest = passed | {following}
            if (start, following) in self._forgetful and (following == end or self._leads(following, end, rest)):
                return True
            if self._may_forget(following, end, rest):
                return True
        return False

    def _leads(self, start, end, passed):
        """Whether there is a way through the network that avoids what was passed."""
        if start == end:
            return True
        return any(self._leads(other, end, passed | {other}) for other in self._network_links(start) - passed)

    def _connected_parts(self):
        """The number of the connected part of the network of routers that each of its nodes is in."""
        parts = {}
        for index in sorted(self.up):
            reached = [index] if self._in_network(index) and index not in parts else []
            while reached:
                at = reached.pop()
                parts[at] = index
                reached += self._network_links(at) - parts.keys()
        return parts

    def _in_network(self, index):
        return self.nodes[index].mode == "router" or self.nodes[index].mesh

    def _network_links(self, index):
        """The links of a member of the network to others: routers to all routers, peers to those of Weft."""
        return {
            other
            for other in self.links(index)
            if self._in_network(other)
            and ({self.nodes[index].mode, self.nodes[other].mode} == {"router"} or not self._any_of_reference((index, other)))
        }

    @staticmethod
    def _finds_peers(node):
        return node.mode == "peer" and node.listens

    def _host(self, index):
        node = self.nodes[index]
        return node.dials[0] if node.mode == "client" else index

    def _host_is_up(self, index):
        return index in self.up and self._host(index) in self.up

    def _gates(self, index):
        return self._configured_gates(index) & self.up

    def _configured_gates(self, index):
        """The gates if everybody runs."""
        host = self._host(index)
        dialed = set(self.nodes[host].dials)
        if not self._in_network(host):
            return dialed
        if self.nodes[host].mode == "router":
            return {host}
        foreign = {index for index in dialed if self.nodes[index].implementation == "reference"}
        return foreign if dialed == foreign else {host, *foreign}

    def _is_on_peer(self, index):
        return self.nodes[self._host(index)].mode == "peer"

    def _any_of_reference(self, indexes):
        return any(self.nodes[index].implementation == "reference" for index in indexes)
