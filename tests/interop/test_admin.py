"""The admin space (03 §9): each implementation's router, asked and told by clients of each, and by `weft admin`."""

import gzip
import json
import re
import time

import pytest

from harness.inbox import WAIT_SECONDS

OPEN = {"adminspace": {"enabled": True, "permissions": {"read": True, "write": True}}}

STARS = ["weft/reference", "reference/weft", "weft/weft"]


@pytest.fixture(params=STARS)
def star(request, driver, locator):
    """A router with an admin space and a client of it, and which implementation the router is."""
    router, client = (driver(implementation) for implementation in request.param.split("/"))
    node = router.open("router", listen=[locator], config=OPEN)
    return node, client.open("client", connect=[locator]), request.param.split("/")[0]


def ask(session, selector):
    """What is answered: encoding and bytes by key."""
    samples = session.get(selector, target="all", consolidation="none").samples()
    return {sample.key: (sample.encoding, sample.payload.data) for sample in samples}


def objects(session, selector):
    """The same for JSON."""
    return {key: json.loads(data) for key, (_, data) in ask(session, selector).items()}


def until(look, satisfied=bool):
    """What `look` gives when it satisfies; every look is a query, and waits for its answers."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        seen = look()
        if satisfied(seen):
            return seen
        assert time.monotonic() < deadline, seen


def test_the_root_object_has_the_same_fields(star):
    node, client, implementation = star
    root = f"@/{node.zid}/router"
    seen = until(lambda: objects(client, root))[root]
    assert set(seen) == {"zid", "version", "metadata", "locators", "plugins", "sessions"}
    assert seen["zid"] == node.zid and seen["version"].startswith("weft " if implementation == "weft" else "v1.")
    (session,) = seen["sessions"]
    assert set(session) == {"peer", "whatami", "region", "shm", "links", "weight"}
    assert (session["peer"], session["whatami"], session["region"]) == (client.zid, "client", "south:0:client")
    assert session["weight"] is None and set(session["links"][0]) == {"src", "dst"}
    assert objects(client, "@/*/router") == {root: seen}
    assert objects(client, "**") == {}


def test_sessions_tell_themselves_the_same_of_their_neighbours(star):
    node, client, _ = star
    for session, other, whatami in ((node, client, "client"), (client, node, "router")):
        transport = f"@/{session.zid}/session/transport/unicast/{other.zid}"
        seen = until(lambda session=session: objects(session, "@/*/session/**"), lambda seen: len(seen) == 2)
        assert set(seen[transport]) == {"zid", "whatami", "is_qos", "is_shm"}
        assert (seen[transport]["zid"], seen[transport]["whatami"]) == (other.zid, whatami)
        ((key, link),) = ((key, link) for key, link in seen.items() if key != transport)
        assert re.fullmatch(re.escape(transport) + "/link/[0-9]+", key)
        assert set(link) == {
            "src", "dst", "group", "mtu", "is_streamed", "interfaces", "auth_identifier", "priorities", "reliability",
        }  # fmt: skip
        assert (link["group"], link["is_streamed"], link["interfaces"]) == (None, True, ["lo"])
        assert (link["priorities"], link["reliability"]) == ({"start": "Control", "end": "Background"}, "Reliable")
        assert link["src"].startswith("tcp/127.0.0.1:") and isinstance(link["mtu"], int)


def test_declarations_are_listed_with_the_same_owners(star):
    node, client, _ = star
    client.declare_subscriber("a/b")
    client.declare_queryable("a/q", [])
    client.declare_publisher("a/p")
    client.declare_querier("a/r")
    client.liveliness_token("a/t")
    node.declare_subscriber("own")
    root = f"@/{node.zid}/router"
    served = {"routers": [node.zid], "peers": [], "clients": [client.zid]}
    expected = {
        f"{root}/subscriber/a/b": served,
        f"{root}/queryable/a/q": served,
        f"{root}/token/a/t": served,
        f"{root}/publisher/a/p": {**served, "routers": []},
        f"{root}/querier/a/r": {**served, "routers": []},
        f"{root}/subscriber/own": {"routers": [node.zid], "peers": [], "clients": [node.zid]},
    }

    def listed():
        kinds = ("subscriber", "queryable", "token", "publisher", "querier")
        return {key: value for kind in kinds for key, value in objects(client, f"{root}/{kind}/**").items()}

    assert until(listed, lambda seen: len(seen) == len(expected)) == expected


def test_both_ends_of_a_link_tell_the_same_weight(driver, new_locator):
    first, second = new_locator(), new_locator()
    weft = driver("weft").open("router", listen=[first], config=OPEN)
    reference = driver("reference").open("router", listen=[second], connect=[first], config=OPEN)
    for at in (first, second):
        for implementation in ("weft", "reference"):
            client = driver(implementation).open("client", connect=[at])
            graphs = until(
                lambda client=client: ask(client, "@/*/router/linkstate/north"),
                lambda seen: len(seen) == 2 and all(b"--" in graph for _, graph in seen.values()),
            )
            weights = {re.search(rb'1 -- 0 \[ label = "([0-9.]+)" \]', graph).group(1) for _, graph in graphs.values()}
            assert len(weights) == 1, graphs
            assert {encoding for encoding, _ in graphs.values()} == {"text/plain"}
            for source, target in ((weft, reference), (reference, weft)):
                key = f"@/{source.zid}/router/route/successor/src/{source.zid}/dst/{target.zid}"
                assert objects(client, key) == {key: target.zid}


def test_metrics_are_open_metrics(star):
    node, client, implementation = star
    key = f"@/{node.zid}/router/metrics"
    encoding, compressed = until(lambda: ask(client, key))[key]
    assert encoding == "application/openmetrics-text; version=1.0.0; charset=utf-8;content-encoding=gzip"
    text = gzip.decompress(compressed).decode()
    assert re.search(r'zenoh_build_info\{.*local_id="' + node.zid + r'".*\} 1\n', text), text
    assert text.rstrip().endswith("# EOF")
    encoding, plain = ask(client, f"{key}?compression=false")[key]
    assert encoding == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert plain.startswith(b"# HELP zenoh_build")
    if implementation == "weft":
        assert b"zenoh_transports_opened{" in plain and f'remote_zid="{client.zid}"'.encode() in plain


def test_a_rule_that_is_written_acts_at_a_weft_router(driver, locator):
    """The reference stores it and does nothing."""
    node = driver("weft").open("router", listen=[locator], config=OPEN)
    writer = driver("reference").open("client", connect=[locator])
    subscriber = node.declare_subscriber("limited")
    publisher = writer.declare_publisher("limited", congestion="block")
    publisher.matching_listener().wait_for(bool)
    rule = [{"id": "small", "messages": ["put"], "key_exprs": ["limited"], "size_limit": 5}]
    config = f"@/{node.zid}/router/config/low_pass_filter"
    writer.put(config, json.dumps(rule), congestion="block")
    until(lambda: objects(writer, config), lambda seen: seen[config] and seen[config][0]["id"] == "small")
    publisher.put("too long")
    publisher.put("short")
    assert subscriber.next().payload == "short"


def test_weft_admin_reads_a_router_of_the_reference(driver, new_locator, weft_cli):
    first, second = new_locator(), new_locator()
    reference = driver("reference").open("router", listen=[first], config=OPEN)
    weft = driver("weft").open("router", listen=[second], connect=[first], config=OPEN)
    at_reference, at_weft = ["-e", first], ["-e", second]

    def graph():
        shown = weft_cli.run("admin", "graph", "--json", *at_reference)
        assert shown.returncode == 0, shown.stderr
        return json.loads(shown.stdout)

    seen = until(graph, lambda seen: len(seen["links"]) == 1 and all(node["answers"] for node in seen["nodes"]))
    assert {node["zid"] for node in seen["nodes"]} == {reference.zid, weft.zid}
    assert seen["links"][0]["weight"] == 100

    # Through the one and about the other.
    for place in (at_reference, at_weft):
        for node in (reference, weft):
            shown = weft_cli.run("admin", "get", "--node", node.zid, "--json", *place)
            assert shown.returncode == 0, shown.stderr
            assert json.loads(shown.stdout)["value"]["zid"] == node.zid
    faces = weft_cli.run("admin", "top", "--interval", "0.1", "--count", "1", "--json", *at_reference)
    assert [node["zid"] for node in json.loads(faces.stdout)["nodes"]] == [weft.zid]

    explained = weft_cli.run("admin", "explain", "a/b", *at_reference)
    assert explained.returncode == 1 and "cannot explain routes" in explained.stderr
    written = weft_cli.run("admin", "put", "adminspace/permissions/read", "true", *at_reference)
    assert written.returncode == 0 and "does not tell" in written.stdout
    changed = weft_cli.run("admin", "put", "adminspace/permissions/write", "false", "--node", weft.zid, *at_reference)
    assert changed.returncode == 0, changed.stderr
    assert changed.stdout.strip() == "adminspace/permissions/write: false"
