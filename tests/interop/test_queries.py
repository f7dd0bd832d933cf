"""Queries, replies and what travels with them, in every network."""

import time

import pytest

from harness.driver import DriverError, echo, reply
from harness.values import Fill, timestamp


def test_a_query_and_its_reply_carry_everything(net):
    rules = [
        reply("a", key=f"{net.key}/a", encoding="text/plain;x", attachment=b"x", timestamp=timestamp(10), express=True),
        echo(key=f"{net.key}/echo"),
    ]
    queryable = net.queryable(rules, "/**")
    net.querier("/**")
    get = net.sender.get(
        f"{net.key}/**?x=1;y=a%20b;z", "ask", attachment="att", encoding="text/csv", priority=2, congestion="block",
        consolidation="none", timeout_ms=9_000, source_sn=9,
    )  # fmt: skip
    first, echoed = get.replies()
    query = queryable.next()
    assert (query.key, query.parameters, query.payload) == (f"{net.key}/**", "x=1;y=a%20b;z", "ask")
    assert (query.encoding, query.attachment) == ("text/csv", "att")
    assert (query.source_info["zid"], query.source_info["sn"]) == (net.sender.zid, 9)
    for received in (first, echoed):
        assert received.replier["zid"] == net.receiver.zid
        assert (received.sample.kind, received.sample.priority, received.sample.congestion) == ("put", 2, "block")
    assert (first.sample.key, first.sample.payload, first.sample.encoding) == (f"{net.key}/a", "a", "text/plain;x")
    assert (first.sample.attachment, first.sample.timestamp) == (b"x", timestamp(10))
    assert (echoed.sample.key, echoed.sample.payload) == (f"{net.key}/echo", "ask")
    assert (echoed.sample.encoding, echoed.sample.attachment, echoed.sample.timestamp) == ("text/csv", "att", None)


def test_a_bare_query(net):
    queryable = net.queryable([reply("x")])
    net.querier()
    (sample,) = net.sender.get(net.key).samples()
    query = queryable.next()
    assert (query.key, query.parameters, query.payload, query.encoding) == (net.key, "", None, None)
    assert (query.attachment, query.source_info) == (None, None)
    assert (sample.key, sample.payload, sample.encoding, sample.attachment) == (net.key, "x", "zenoh/bytes", None)
    assert (sample.priority, sample.congestion, sample.express) == (5, "block", False)


def test_an_empty_payload_is_not_no_payload(net):
    queryable = net.queryable([echo()])
    net.querier()
    net.sender.get(net.key, b"", attachment=b"").samples()
    net.sender.get(net.key, encoding="text/plain").samples()
    empty, encoded = queryable.wait(2)
    assert (empty.payload, empty.encoding, empty.attachment) == (b"", "zenoh/bytes", b"")
    assert (encoded.payload, encoded.encoding) == (b"", "text/plain")


def test_every_kind_of_reply(net):
    rules = [
        reply("a", key=f"{net.key}/a"),
        reply(kind="delete", key=f"{net.key}/b", attachment="gone", timestamp=timestamp(5)),
        reply("no", kind="error", encoding="text/plain;de"),
        reply(b"", kind="error"),
    ]
    net.queryable(rules, "/*")
    net.querier("/*")
    put, delete, error, empty = net.sender.get(f"{net.key}/*", consolidation="none").replies()
    assert (put.sample.kind, put.sample.payload) == ("put", "a")
    assert (delete.sample.kind, delete.sample.key, delete.sample.payload) == ("delete", f"{net.key}/b", b"")
    assert (delete.sample.attachment, delete.sample.timestamp) == ("gone", timestamp(5))
    assert (error.error, error.encoding) == ("no", "text/plain;de")
    assert (empty.error, empty.encoding) == (b"", "zenoh/bytes")
    assert {received.replier["zid"] for received in (put, delete, error, empty)} == {net.receiver.zid}


def test_without_a_queryable_it_ends_at_once(net):
    # The session is still told that there is none when its timeout is an hour.
    started = time.monotonic()
    assert net.sender.get(f"{net.key}/nobody", timeout_ms=3_600_000).replies() == []
    querier = net.sender.declare_querier(f"{net.key}/nobody", timeout_ms=3_600_000)
    assert querier.get().replies() == []
    assert time.monotonic() - started < 5


def test_an_undeclared_queryable_is_not_asked(net):
    queryable = net.queryable([reply("x")])
    querier = net.querier()
    changes = querier.matching_listener()
    assert changes.next() is True
    assert len(querier.get().samples()) == 1
    queryable.undeclare()
    assert changes.next() is False
    assert querier.get(timeout_ms=None).replies() == []
    assert net.sender.get(net.key).replies() == []


# Three versions of one key, and one of another.
VERSIONS = [(1, 20), (2, 30), (3, 10)]
CONSOLIDATED = {
    "none": [1, 2, 3],
    "monotonic": [1, 2],
    "latest": [2],
    "auto": [2],
}


@pytest.mark.parametrize("mode", CONSOLIDATED)
def test_consolidation(net, mode):
    versions = [reply(str(version), key=f"{net.key}/a", timestamp=timestamp(time)) for version, time in VERSIONS]
    net.queryable([*versions, reply("other", key=f"{net.key}/b")], "/*")
    querier = net.querier("/*", consolidation=mode)
    for get in (querier.get(), net.sender.get(f"{net.key}/*", consolidation=mode)):
        samples = get.samples()
        received = [int(str(sample.payload.data, "ascii")) for sample in samples if sample.key == f"{net.key}/a"]
        assert received == CONSOLIDATED[mode]
        assert [sample.payload for sample in samples if sample.key == f"{net.key}/b"] == ["other"]


def test_a_time_range_switches_consolidation_off(net):
    net.queryable([reply("1"), reply("2")])
    net.querier()
    assert [sample.payload for sample in net.sender.get(f"{net.key}?_time=[now(-1h)..]").samples()] == ["1", "2"]
    # Without time stamps the last one of a key wins.
    assert [sample.payload for sample in net.sender.get(net.key).samples()] == ["2"]


def test_errors_are_never_consolidated(net):
    net.queryable([reply("e", kind="error", count=3), reply("x", count=3)])
    net.querier()
    replies = net.sender.get(net.key, consolidation="latest").replies()
    assert [received.error is None for received in replies] == [False, False, False, True]


@pytest.mark.parametrize(
    ("target", "expected"),
    [("best_matching", {"complete", "incomplete"}), ("all", {"complete", "incomplete"}), ("all_complete", {"complete"})],
)
def test_targets_within_one_session(net, target, expected):
    """A session that is asked asks all its queryables that fit, except that AllComplete passes by the incomplete."""
    net.queryable([reply("complete")], "/a", complete=True)
    net.queryable([reply("incomplete")], "/*")
    net.querier("/a", target=target)
    samples = net.sender.get(f"{net.key}/a", target=target, consolidation="none").replies()
    payloads = {bytes(received.sample.payload.data).decode() for received in samples}
    # The incomplete one replies on a wild key, which still intersects.
    assert payloads == expected


def test_all_complete_needs_one_that_covers_the_query(net):
    net.queryable([reply("part", key=f"{net.key}/a")], "/a", complete=True)
    net.queryable([reply("incomplete", key=f"{net.key}/b")], "/**")
    net.querier("/**")
    querier = net.sender.declare_querier(f"{net.key}/**", target="all_complete")
    assert querier.matching_status() is False
    assert net.sender.get(f"{net.key}/**", target="all_complete").replies() == []
    changes = querier.matching_listener()
    net.queryable([reply("all", key=f"{net.key}/c")], "/**", complete=True)
    assert changes.next() is True
    payloads = {bytes(sample.payload.data) for sample in net.sender.get(f"{net.key}/**", target="all_complete").samples()}
    assert b"all" in payloads and b"incomplete" not in payloads


def test_replies_on_other_keys(net):
    queryable = net.queryable([reply("x", key=f"{net.key}/elsewhere")], "/q")
    net.querier("/q")
    get = net.sender.get(f"{net.key}/q?p=1", accept_replies="any")
    assert [sample.key for sample in get.samples()] == [f"{net.key}/elsewhere"]
    assert set(queryable.next().parameters.split(";")) == {"p=1", "_anyke"}
    querier = net.querier("/q", accept_replies="any")
    assert [sample.key for sample in querier.get().samples()] == [f"{net.key}/elsewhere"]
    get = net.sender.get(f"{net.key}/q?_anyke")
    assert [sample.key for sample in get.samples()] == [f"{net.key}/elsewhere"]


def test_replies_on_other_keys_are_refused_unless_asked_for(net):
    net.queryable([reply("x", key=f"{net.key}/elsewhere")], "/q")
    net.querier("/q")
    assert net.sender.get(f"{net.key}/q").replies() == []


def test_replies_on_wild_keys(net):
    net.queryable([reply("x", key=f"{net.key}/*/b"), reply("y", key=f"{net.key}/**")], "/**")
    net.querier("/a/*")
    samples = net.sender.get(f"{net.key}/a/*").samples()
    assert {sample.key for sample in samples} == {f"{net.key}/*/b", f"{net.key}/**"}


def test_a_querier_asks_again_and_again(net):
    queryable = net.queryable([echo()], "/a")
    querier = net.querier("/a", priority=3, congestion="drop", timeout_ms=8_000)
    for number in range(5):
        get = querier.get(f"{number}", parameters=f"n={number}", encoding="text/json", attachment=f"{number}", source_sn=number)
        (sample,) = get.samples()
        assert (sample.payload, sample.encoding, sample.attachment) == (f"{number}", "text/json", f"{number}")
        assert (sample.priority, sample.congestion) == (3, "drop")
        query = queryable.next()
        assert (query.parameters, query.source_info["sn"]) == (f"n={number}", number)


def test_matching_of_a_querier_comes_and_goes(net):
    querier = net.sender.declare_querier(f"{net.key}/a")
    assert querier.matching_status() is False
    changes = querier.matching_listener()
    first = net.queryable([], "/*")
    assert changes.next() is True
    second = net.queryable([reply("x")], "/a", complete=True)
    first.undeclare()
    assert len(querier.get().samples()) == 1
    second.undeclare()
    assert changes.next() is False
    assert querier.matching_status() is False


def test_many_replies_in_order(net):
    net.queryable([reply("x", key=f"{net.key}/{{i}}", count=1_000)], "/*")
    net.querier("/*")
    samples = net.sender.get(f"{net.key}/*", consolidation="none").samples()
    assert [sample.key for sample in samples] == [f"{net.key}/{number}" for number in range(1_000)]


def test_many_queries_at_once(net):
    """Each gets its own replies, whatever order they end in."""
    net.queryable([echo(delay_ms=50), echo()])
    net.querier()
    gets = [net.sender.get(net.key, f"{number}", consolidation="none") for number in range(50)]
    for number, get in enumerate(gets):
        assert [sample.payload for sample in get.samples()] == [f"{number}", f"{number}"]


def test_long_payloads_both_ways(net):
    queryable = net.queryable([echo()])
    net.querier()
    for length in (65_400, 65_536, 1_000_000):
        (sample,) = net.sender.get(net.key, Fill(length, seed=1), attachment=bytes(70_000)).samples()
        assert (sample.payload, sample.attachment) == (Fill(length, seed=1), bytes(70_000))
    assert [query.payload.length for query in queryable.wait(3)] == [65_400, 65_536, 1_000_000]


@pytest.mark.parametrize("consolidation", ["none", "latest"])
def test_a_timeout_is_told(net, consolidation):
    net.queryable([reply("early")], finalize_delay_ms=4_000)
    querier = net.querier(timeout_ms=300, consolidation=consolidation)
    started = time.monotonic()
    replies = querier.get().replies()
    assert 0.25 < time.monotonic() - started < 3
    samples = [received.sample for received in replies if received.sample]
    errors = [received.error for received in replies if received.error]
    assert [sample.payload for sample in samples] == ["early"]
    # The timers of the asking node and of the answering side run out together: either or both may tell.
    assert errors and all(error == "Timeout" for error in errors), errors
    # Held back replies may come after the error of a router.
    assert consolidation == "latest" or replies[0].sample


def test_a_cancelled_query_is_over(net):
    queryable = net.queryable([reply("x")], finalize_delay_ms=3_000)
    net.querier()
    get = net.sender.get(net.key, timeout_ms=60_000, consolidation="none")
    assert get.inbox.next().sample.payload == "x"
    get.cancel()
    assert [received.sample.payload for received in get.replies()] == ["x"]
    assert queryable.next().key == net.key
    querier = net.querier(timeout_ms=60_000)
    get = querier.get()
    queryable.wait(2)
    get.cancel()
    assert get.replies() == [], "Latest holds replies back, and a cancelled query tells nothing more"


def test_queries_choose_whom_they_ask(net):
    net.queryable([reply("far", key=f"{net.key}/far")], "/*")
    net.sender.declare_queryable(f"{net.key}/*", [reply("near", key=f"{net.key}/near")])
    net.querier("/*", destination="remote")
    for destination, expected in [("remote", {"far"}), ("session_local", {"near"}), ("any", {"far", "near"})]:
        samples = net.sender.get(f"{net.key}/*", destination=destination, target="all").samples()
        assert {sample.key.rpartition("/")[2] for sample in samples} == expected, destination


def test_queryables_choose_whom_they_answer(net):
    net.queryable([reply("remote", key=f"{net.key}/r")], "/*", origin="remote")
    net.queryable([reply("local", key=f"{net.key}/l")], "/*", origin="session_local")
    net.querier("/*")
    for session, expected in [(net.sender, {f"{net.key}/r"}), (net.receiver, {f"{net.key}/l"})]:
        assert {sample.key for sample in session.get(f"{net.key}/*", target="all").samples()} == expected


def test_a_selector_that_is_none_is_refused(net):
    with pytest.raises(DriverError):
        net.sender.get("a//b?x")
    with pytest.raises(DriverError):
        net.sender.get(f"{net.key}/*/?x")
