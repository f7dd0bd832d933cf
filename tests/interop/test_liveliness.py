"""Liveliness tokens: in every network, and when nodes die."""

import pytest

from harness.network import settle

ALIVE, GONE = "put", "delete"


def told(subscriber, count):
    """What a liveliness subscriber was told, as pairs of the last chunk of the key and the kind."""
    return [(sample.key.rpartition("/")[2], sample.kind) for sample in subscriber.wait(count)]


def seen(session, key, count=0):
    """The keys of the tokens that `session` finds alive.

    The reference loses replies to such a query that come before it has put down that it waits for them (with a router
    of its own on the other side as well). So it is asked again until it has `count` of them.
    """
    for _ in range(1 if session.driver.name == "weft" else 20):
        keys = sorted(sample.key for sample in session.liveliness_get(key).samples())
        if len(keys) == count:
            break
    return keys


def until_seen(session, key):
    """Waits until `session` knows of the token `key`."""
    watching = session.liveliness_subscriber(key, history=True)
    assert watching.next().kind == ALIVE
    watching.undeclare()


@pytest.mark.parametrize("history", [False, True])
def test_tokens_come_and_go(net, history):
    before = net.sender.liveliness_token(f"{net.key}/before")
    until_seen(net.receiver, f"{net.key}/before")
    subscriber = net.receiver.liveliness_subscriber(f"{net.key}/*", history=history)
    settle(net.receiver, net.sender)
    expected = [("before", ALIVE)] if history else []
    assert told(subscriber, len(expected)) == expected
    after = net.sender.liveliness_token(f"{net.key}/after")
    expected += [("after", ALIVE)]
    assert told(subscriber, len(expected)) == expected
    sample = subscriber.items[-1]
    assert (sample.payload, sample.encoding, sample.timestamp, sample.attachment) == (b"", "zenoh/bytes", None, None)
    after.undeclare()
    before.undeclare()
    expected += [("after", GONE), ("before", GONE)]
    assert told(subscriber, len(expected)) == expected
    again = net.sender.liveliness_token(f"{net.key}/before")
    expected += [("before", ALIVE)]
    assert told(subscriber, len(expected)) == expected
    again.undeclare()
    assert told(subscriber, len(expected) + 1) == [*expected, ("before", GONE)]


def test_tokens_on_one_key_are_one(net):
    subscriber = net.receiver.liveliness_subscriber(f"{net.key}/**", history=True)
    tokens = [net.sender.liveliness_token(f"{net.key}/a") for _ in range(3)]
    assert told(subscriber, 1) == [("a", ALIVE)]
    for token in tokens[:2]:
        token.undeclare()
    net.sender.liveliness_token(f"{net.key}/b")
    assert told(subscriber, 2) == [("a", ALIVE), ("b", ALIVE)], "the third token still lives"
    tokens[2].undeclare()
    assert told(subscriber, 3) == [("a", ALIVE), ("b", ALIVE), ("a", GONE)]


def test_tokens_of_several_nodes_on_one_key_are_one(net):
    subscriber = net.receiver.liveliness_subscriber(f"{net.key}/**", history=True)
    own = net.receiver.liveliness_token(f"{net.key}/a")
    assert told(subscriber, 1) == [("a", ALIVE)]
    far = net.sender.liveliness_token(f"{net.key}/a")
    net.sender.liveliness_token(f"{net.key}/b")
    subscriber.wait_for(lambda sample: sample.key == f"{net.key}/b")
    own.undeclare()
    net.sender.liveliness_token(f"{net.key}/c")
    subscriber.wait_for(lambda sample: sample.key == f"{net.key}/c")
    far.undeclare()
    subscriber.wait_for(lambda sample: sample.kind == GONE)
    assert [kind for key, kind in told(subscriber, len(subscriber.items)) if key == "a"] == [ALIVE, GONE]


def test_a_get_lists_what_is_alive(net):
    assert seen(net.receiver, f"{net.key}/**") == []
    watching = net.receiver.liveliness_subscriber(f"{net.key}/**", history=True)
    tokens = [net.sender.liveliness_token(f"{net.key}/{name}") for name in ("a", "b/c", "b/d")]
    watching.wait(3)
    assert seen(net.receiver, f"{net.key}/**", 3) == [f"{net.key}/{name}" for name in ("a", "b/c", "b/d")]
    assert seen(net.receiver, f"{net.key}/b/*", 2) == [f"{net.key}/{name}" for name in ("b/c", "b/d")]
    assert seen(net.receiver, f"{net.key}/a", 1) == [f"{net.key}/a"]
    assert seen(net.receiver, f"{net.key}/x") == []
    tokens[0].undeclare()
    watching.wait_for(lambda sample: sample.kind == GONE)
    assert seen(net.receiver, f"{net.key}/**", 2) == [f"{net.key}/{name}" for name in ("b/c", "b/d")]


def test_own_tokens_are_seen(net):
    subscriber = net.sender.liveliness_subscriber(f"{net.key}/*")
    token = net.sender.liveliness_token(f"{net.key}/own")
    assert told(subscriber, 1) == [("own", ALIVE)]
    assert seen(net.sender, f"{net.key}/*", 1) == [f"{net.key}/own"]
    token.undeclare()
    assert told(subscriber, 2) == [("own", ALIVE), ("own", GONE)]
    assert seen(net.sender, f"{net.key}/*") == []


def test_several_watchers(net):
    """Each is told once, whatever the overlap of their key expressions."""
    watchers = [
        net.receiver.liveliness_subscriber(net.key + suffix, history=history)
        for suffix in ("/*", "/**", "/a") for history in (False, True)
    ]  # fmt: skip
    settle(net.receiver, net.sender)
    token = net.sender.liveliness_token(f"{net.key}/a")
    for watcher in watchers:
        assert told(watcher, 1) == [("a", ALIVE)]
    late = net.receiver.liveliness_subscriber(f"{net.key}/*", history=True)
    assert told(late, 1) == [("a", ALIVE)]
    watchers.pop().undeclare()
    token.undeclare()
    for watcher in watchers:
        assert told(watcher, 2) == [("a", ALIVE), ("a", GONE)]
    assert told(late, 2) == [("a", ALIVE), ("a", GONE)]


def test_subscribers_do_not_see_tokens(net):
    subscriber, queryable = net.subscriber("/**"), net.queryable([], "/**")
    net.sender.liveliness_token(f"{net.key}/a")
    until_seen(net.receiver, f"{net.key}/a")
    net.publisher("/a").put("x")
    assert [sample.payload for sample in subscriber.wait(1)] == ["x"]
    assert queryable.items == []


def test_three_hundred_tokens(net):
    subscriber = net.receiver.liveliness_subscriber(f"{net.key}/**", history=True)
    tokens = [net.sender.liveliness_token(f"{net.key}/{number}") for number in range(300)]
    assert sorted(told(subscriber, 300)) == sorted((str(number), ALIVE) for number in range(300))
    if net.receiver.driver.name == "weft":
        assert len(seen(net.receiver, f"{net.key}/**")) == 300
    for token in tokens:
        token.undeclare()
    assert sorted(told(subscriber, 600)[300:]) == sorted((str(number), GONE) for number in range(300))


@pytest.mark.parametrize("ending", ["close", "kill"])
@pytest.mark.parametrize("middle", ["router", "peer", None])
def test_the_tokens_of_a_node_end_with_it(driver, left, right, locator, new_locator, middle, ending):
    """`left` is the one that ends; with a node between the two, that one is of either implementation."""
    for between in ("weft", "reference") if middle else (None,):
        locator = new_locator()
        if middle:
            driver(between).open(middle, listen=[locator])
            watching = right.open("client", connect=[locator])
        else:
            watching = right.open("peer", listen=[locator])
        ending_driver = driver(left.name)
        living = ending_driver.open("client" if middle else "peer", connect=[locator])
        subscriber = watching.liveliness_subscriber("alive/*", history=True)
        living.liveliness_token("alive/a")
        living.liveliness_token("alive/b")
        assert sorted(told(subscriber, 2)) == [("a", ALIVE), ("b", ALIVE)]
        if ending == "kill":
            ending_driver.kill()
        else:
            living.close()
        assert sorted(told(subscriber, 4)[2:]) == [("a", GONE), ("b", GONE)]
        assert seen(watching, "alive/*") == []


def test_a_router_that_dies_takes_its_clients_tokens_along(left, right, driver, locator):
    """`left` is the client that watches, `right` the router."""
    right.open("router", listen=[locator])
    living = driver("reference").open("client", connect=[locator])
    watching = left.open("client", connect=[locator])
    subscriber = watching.liveliness_subscriber("alive/*", history=True)
    living.liveliness_token("alive/a")
    assert told(subscriber, 1) == [("a", ALIVE)]
    right.kill()
    assert told(subscriber, 2) == [("a", ALIVE), ("a", GONE)]
