"""Quorums of Weft (`weft get --quorum`, `weft put --quorum`) with repliers and routers of the reference.

The reference knows nothing of them: a quorum is made of ordinary queries, time stamps and the identities of replies.
"""

import json
import re
import threading

import pytest

OTHER = {"weft": "reference", "reference": "weft"}


class Storage:
    """What a storage of the reference does: keeps the newest sample of a key, and replies with its stamp. It stores
    from the `first`-th time on that it is asked."""

    def __init__(self, session, key, first=1, copies=1):
        self._samples, self._lock = {}, threading.Lock()
        self._first, self._copies = first, copies
        self.asked = 0
        self._subscriber = session.declare_subscriber(key, self._store)
        self._queryable = session.declare_queryable(key, self._answer)

    def _store(self, sample):
        with self._lock:
            self._samples[str(sample.key_expr)] = sample

    def _answer(self, query):
        with self._lock:
            self.asked += 1
            samples = list(self._samples.values()) if self.asked >= self._first else []
        with query:
            for sample in samples:
                if query.key_expr.intersects(sample.key_expr):
                    for _ in range(self._copies):
                        query.reply(sample.key_expr, sample.payload, timestamp=sample.timestamp)


def quorum(weft_cli, command, key, count, *arguments):
    """What the command says, and how it ends."""
    flag = {"get": "-s", "put": "-k"}[command]
    ended = weft_cli.run(command, flag, key, "--quorum", count, "--json", *arguments)
    return ended.returncode, [json.loads(line) for line in ended.stdout.splitlines()], ended.stderr


def until_put(weft_cli, key, count, *arguments):
    """Puts until so many have it: declarations need their time."""
    for _ in range(50):
        code, _, stderr = quorum(weft_cli, "put", key, count, "-o", "0.5", *arguments)
        if code == 0:
            return
        assert "no quorum" in stderr
    raise AssertionError(f"{count} storages: {stderr}")


@pytest.mark.parametrize("implementation", OTHER)
def test_storages_of_the_reference_have_what_was_put(driver, new_locator, open_zenoh, weft_cli, implementation):
    """Through one router, and through two of both implementations."""
    near, far = new_locator(), new_locator()
    driver(implementation).open("router", listen=[near])
    driver(OTHER[implementation]).open("router", listen=[far], connect=[near])
    storages = [Storage(open_zenoh("client", connect=[at]), "q/**") for at in (near, far)]
    until_put(weft_cli, "q/k", 2, "-p", "first", "-e", near)
    for at in (near, far):
        code, shown, stderr = quorum(weft_cli, "put", "q/k", 2, "-p", at, "-e", near)
        assert (code, [line["payload"] for line in shown]) == (0, [at]), stderr
        code, shown, stderr = quorum(weft_cli, "get", "q/k", 2, "-e", far)
        assert (code, [line["payload"] for line in shown]) == (0, [at]), stderr
    code, _, stderr = quorum(weft_cli, "put", "q/k", 3, "-o", "0.3", "-e", near)
    assert code == 1 and "2 of 3 repliers agree, 2 answered, and the time is over" in stderr
    code, _, stderr = quorum(weft_cli, "get", "q/**", 3, "-e", near)
    assert code == 1 and "2 of 3 repliers agree, 2 answered, and all have answered" in stderr
    assert all(storage.asked > 2 for storage in storages)


def test_a_storage_of_the_reference_may_take_its_time(driver, locator, open_zenoh, weft_cli):
    driver("reference").open("router", listen=[locator])
    storage = Storage(open_zenoh("client", connect=[locator]), "q/k", first=5)
    code, shown, stderr = quorum(weft_cli, "put", "q/k", 1, "-p", "value", "-e", locator)
    assert (code, len(shown)) == (0, 1), stderr
    assert storage.asked >= 5


@pytest.mark.parametrize("implementation", OTHER)
def test_repliers_are_told_apart(driver, locator, open_zenoh, weft_cli, implementation):
    """Two queryables of one session of the reference are two repliers, and what one of them repeats counts once."""
    driver(implementation).open("router", listen=[locator])
    session = open_zenoh("client", connect=[locator])
    first = Storage(session, "q/k", copies=3)
    until_put(weft_cli, "q/k", 1, "-p", "value", "-e", locator)
    code, _, stderr = quorum(weft_cli, "get", "q/k", 2, "-e", locator)
    assert code == 1 and "1 of 2 repliers agree, 1 answered" in stderr
    second = Storage(session, "q/*")
    until_put(weft_cli, "q/k", 2, "-p", "value", "-e", locator)
    code, shown, stderr = quorum(weft_cli, "get", "q/k", 2, "-e", locator)
    assert (code, [line["payload"] for line in shown]) == (0, ["value"]), stderr
    assert first.asked and second.asked


def test_repliers_that_disagree(driver, locator, open_zenoh, weft_cli):
    driver("reference").open("router", listen=[locator])
    sessions = [open_zenoh("client", connect=[locator]) for _ in range(3)]

    def answer(payload):
        def answers(query):
            with query:
                query.reply("q/k", payload)

        return answers

    queryables = [it.declare_queryable("q/k", answer(said)) for it, said in zip(sessions, "aba", strict=True)]
    for _ in range(50):
        code, shown, stderr = quorum(weft_cli, "get", "q/k", 2, "-e", locator)
        if code == 0:
            break
    assert [(line["type"], line["payload"]) for line in shown] == [("agreed", "a")], stderr
    code, _, stderr = quorum(weft_cli, "get", "q/k", 3, "-e", locator)
    assert code == 1 and re.search("2 of 3 repliers agree, 3 answered", stderr), stderr
    assert len(queryables) == 3


def test_a_subscriber_of_weft_acknowledges_through_a_router_of_the_reference(driver, locator, open_zenoh, weft_cli):
    driver("reference").open("router", listen=[locator])
    subscriber = weft_cli.start("sub", "-k", "q/**", "--acknowledge", "--json", "-e", locator)
    storage = Storage(open_zenoh("client", connect=[locator]), "q/**")
    until_put(weft_cli, "q/k", 2, "-p", "value", "-e", locator)
    subscriber.wait_line("value")
    # Ordinary queries see the storage only.
    ended = weft_cli.run("get", "-s", "q/k", "--target", "all", "--consolidation", "none", "-e", locator)
    assert ended.stdout.splitlines() == ["PUT q/k: value"], ended.stderr
    assert storage.asked


@pytest.mark.parametrize("implementation", OTHER)
def test_covers_of_the_reference(driver, locator, open_zenoh, weft_cli, implementation):
    """`weft get --cover`: completeness is learned from a router of either, and refused if there is none."""
    driver(implementation).open("router", listen=[locator])
    session = open_zenoh("client", connect=[locator])

    def answer(query):
        with query:
            query.reply(query.key_expr, "x")

    queryable = session.declare_queryable("q/**", answer, complete=True)

    def get(selector, cover):
        return weft_cli.run("get", "-s", selector, "--cover", cover, "-e", locator)

    for _ in range(50):
        covered = get("q/a", "nearest")
        if covered.returncode == 0:
            break
    assert covered.stdout.splitlines() == ["PUT q/a: x"], covered.stderr
    assert get("q/*", "all").stdout.splitlines() == ["PUT q/*: x"]
    refused = get("*/a", "all")
    assert refused.returncode == 1 and "no complete queryable covers `*/a`: 1 cover a part of it" in refused.stderr
    queryable.undeclare()
