"""Any number of nodes of both implementations that are to hear each other."""

import time

from .driver import reply


class Graph:
    """Nodes of both implementations, and who is connected to whom."""

    def __init__(self, driver, new_locator):
        self.driver, self.new_locator = driver, new_locator
        self.nodes = []

    def router(self, implementation, connect=(), listen=None, config=None):
        return self.listening(implementation, "router", connect, listen, config)

    def listening(self, implementation, mode, connect=(), listen=None, config=None):
        """A node, and where it can be reached."""
        listen = listen or self.new_locator()
        session = self.driver(implementation).open(mode, connect=connect, listen=[listen], config=config)
        self.nodes.append(session)
        return session, listen

    def leaf(self, implementation, mode, connect, config=None):
        session = self.driver(implementation).open(mode, connect=connect, config=config)
        self.nodes.append(session)
        return session

    def everybody_hears_everybody(self, key, nodes=None):
        """Each node publishes once, asks once and has a token; each node gets each sample, answer and token once."""
        nodes = nodes or self.nodes
        subscribers = [node.declare_subscriber(f"{key}/**") for node in nodes]
        for number, node in enumerate(nodes):
            node.declare_queryable(f"{key}q/{number}", [reply(str(number), key=f"{key}q/{number}")])
            node.liveliness_token(f"{key}t/{number}")
        expected = {str(number) for number in range(len(nodes))}
        for node in nodes:
            heard = wait_for(lambda node=node: {sample.key for sample in node.liveliness_get(f"{key}t/*").samples()}, len(nodes))
            assert heard == {f"{key}t/{number}" for number in expected}
            answers = wait_for(
                lambda node=node: {bytes(sample.payload.data).decode() for sample in node.get(f"{key}q/*", target="all").samples()}, len(nodes)
            )
            assert answers == expected
        for number, node in enumerate(nodes):
            node.put(f"{key}/{number}", str(number))
        for subscriber in subscribers:
            got = sorted(bytes(sample.payload.data).decode() for sample in subscriber.wait(len(nodes)))
            assert got == sorted(expected)
        # What comes last came after everything that could have been there twice.
        for node in nodes:
            node.put(f"{key}/end", "end")
        for subscriber in subscribers:
            subscriber.wait(2 * len(nodes))
            assert len(subscriber.items) == 2 * len(nodes)


def wait_for(get, count, seconds=20):
    """Repeats a question until there are `count` answers: routers link, and tell each other, in their own time."""
    until = time.monotonic() + seconds
    while len(found := get()) < count and time.monotonic() < until:
        time.sleep(0.05)
    return found
