"""Publications and what travels with them, in every network."""

import pytest

from harness.values import Fill, timestamp

# The id of each is its place in this list (02 §3.2).
ENCODINGS = """
    zenoh/bytes zenoh/string zenoh/serialized application/octet-stream text/plain application/json text/json
    application/cdr application/cbor application/yaml text/yaml text/json5 application/python-serialized-object
    application/protobuf application/java-serialized-object application/openmetrics-text image/png image/jpeg image/gif
    image/bmp image/webp application/xml application/x-www-form-urlencoded text/html text/xml text/css text/javascript
    text/markdown text/csv application/sql application/coap-payload application/json-patch+json application/json-seq
    application/jsonpath application/jwt application/mp4 application/soap+xml application/yang audio/aac audio/flac
    audio/mp4 audio/ogg audio/vorbis video/h261 video/h263 video/h264 video/h265 video/h266 video/mp4 video/ogg
    video/raw video/vp8 video/vp9
""".split()


def test_a_publication_carries_everything(net):
    subscriber = net.subscriber("/*")
    publisher = net.publisher("/a", encoding="text/plain;utf8", priority=2, congestion="block", express=True)
    stamp = timestamp(1_700_000_000, 500)
    publisher.put("one", attachment=b"\0\1", timestamp=stamp, source_sn=7)
    publisher.put(b"\xff", encoding="application/json")
    publisher.delete(attachment=b"why", timestamp=stamp, source_sn=8)
    put, other, delete = subscriber.wait(3)
    for sample in (put, other, delete):
        assert sample.key == f"{net.key}/a"
        assert (sample.priority, sample.congestion, sample.express) == (2, "block", True)
        assert sample.reliability in ("reliable", None)
    assert (put.kind, put.payload, put.encoding) == ("put", "one", "text/plain;utf8")
    assert (put.attachment, put.timestamp) == (b"\0\1", stamp)
    assert (put.source_info["zid"], put.source_info["sn"]) == (net.sender.zid, 7)
    assert (other.payload, other.encoding, other.attachment, other.source_info) == (b"\xff", "application/json", None, None)
    assert (delete.kind, delete.payload, delete.encoding) == ("delete", b"", "zenoh/bytes")
    assert (delete.attachment, delete.timestamp, delete.source_info["sn"]) == (b"why", stamp, 8)


def test_a_put_without_a_publisher_carries_everything(net):
    subscriber = net.subscriber("/**")
    net.publisher("/a")
    stamp = timestamp(1_700_000_000)
    net.sender.put(
        f"{net.key}/a", "x", attachment=b"", encoding="text/csv", priority=7, congestion="block", express=True,
        timestamp=stamp, source_sn=1,
    )  # fmt: skip
    # Of another priority, it might overtake.
    net.sender.delete(f"{net.key}/a/b", priority=7, congestion="drop", attachment="gone")
    put, delete = subscriber.wait(2)
    assert (put.key, put.kind, put.payload, put.encoding) == (f"{net.key}/a", "put", "x", "text/csv")
    assert (put.priority, put.congestion, put.express) == (7, "block", True)
    assert (put.attachment, put.timestamp, put.source_info["sn"]) == (b"", stamp, 1)
    assert (delete.key, delete.kind, delete.attachment) == (f"{net.key}/a/b", "delete", "gone")
    assert (delete.priority, delete.congestion, delete.express) == (7, "drop", False)


def test_defaults_are_those_of_the_protocol(net):
    subscriber = net.subscriber()
    net.publisher().put(b"x")
    (sample,) = subscriber.wait(1)
    assert (sample.encoding, sample.priority, sample.congestion, sample.express) == ("zenoh/bytes", 5, "drop", False)
    assert (sample.attachment, sample.source_info) == (None, None)


def test_the_first_router_stamps_puts(net):
    subscriber = net.subscriber()
    publisher = net.publisher()
    publisher.put(b"x")
    publisher.delete()
    put, delete = subscriber.wait(2)
    stamped_by = put.timestamp and put.timestamp.split("/")[1]
    assert stamped_by == (net.first_router and net.first_router.zid)
    # A deletion is stamped by the session that publishes it or by nobody.
    stamped_by = delete.timestamp and delete.timestamp.split("/")[1]
    assert stamped_by == (net.sender.zid if net.first_router is net.sender else None)


def test_every_priority_and_congestion_control(net):
    subscriber = net.subscriber()
    sent = [(priority, congestion) for priority in range(1, 8) for congestion in ("drop", "block", "block_first")]
    net.publisher()
    for priority, congestion in sent:
        net.sender.put(net.key, bytes([priority]), priority=priority, congestion=congestion)
    # Only samples of one priority keep their order.
    received = [(sample.priority, sample.congestion) for sample in subscriber.wait(len(sent))]
    assert sorted(received) == sorted(sent)
    assert all(sample.payload == bytes([sample.priority]) for sample in subscriber.items)


def test_best_effort(net):
    subscriber = net.subscriber()
    net.publisher(reliability="best_effort").put(b"x")
    assert subscriber.next().reliability in ("best_effort", None)


def test_every_encoding(net):
    subscriber = net.subscriber()
    publisher = net.publisher(congestion="block")
    known = [*ENCODINGS, *(f"{encoding};schema" for encoding in ENCODINGS)]
    custom = ["my/type", "my/type;v1", "Not a type at all", "text/plain2", "é/ü;ß", ";schema", "x" * 255]
    for encoding in known + custom:
        publisher.put(b"x", encoding=encoding)
    publisher.put(b"x", encoding="text/plain;")
    publisher.put(b"x", encoding="")
    received = [sample.encoding for sample in subscriber.wait(len(known + custom) + 2)]
    assert received == known + custom + ["text/plain", "zenoh/bytes"]


def test_keys_with_wildcards(net):
    """Whoever publishes on a wild key reaches every subscriber that it intersects, under the wild key."""
    one, any_key = net.subscriber("/a/1"), net.subscriber("/a/**")
    other = net.subscriber("/b/1")
    net.publisher("/a/1")
    net.sender.put(f"{net.key}/*/1", "all")
    net.sender.put(f"{net.key}/a/1$*", "some")
    net.sender.put(f"{net.key}/a/1", "plain")
    expected = [(f"{net.key}/*/1", "all"), (f"{net.key}/a/1$*", "some"), (f"{net.key}/a/1", "plain")]
    for subscriber in (one, any_key):
        assert [(sample.key, sample.payload) for sample in subscriber.wait(3)] == expected
    assert [(sample.key, sample.payload) for sample in other.wait(1)] == expected[:1]
    net.publisher("/b/1").put("last")
    assert [sample.payload for sample in other.wait(2)] == ["all", "last"]


def test_keys_that_need_care(net):
    """Verbatim chunks are not matched by wildcards; keys may be long, deep and not ASCII."""
    wild, verbatim = net.subscriber("/**"), net.subscriber("/@v/**")
    net.publisher("/@v/x")
    keys = ["/@v/a", "/é/ü/😀", "/" + "x" * 1000, "/y" * 200, "/a b/c"]
    for key in keys:
        net.sender.put(net.key + key, key)
    assert [sample.key for sample in wild.wait(4)] == [net.key + key for key in keys[1:]]
    assert verbatim.next().key == f"{net.key}/@v/a"


def test_overlapping_subscribers_get_one_copy_each(net):
    subscribers = [net.subscriber("/a"), net.subscriber("/*"), net.subscriber("/**"), net.subscriber("/a")]
    publisher = net.publisher("/a")
    publisher.put("1")
    publisher.put("2")
    for subscriber in subscribers:
        assert [sample.payload for sample in subscriber.wait(2)] == ["1", "2"]
    net.sender.put(f"{net.key}/a", "end")
    for subscriber in subscribers:
        assert [sample.payload for sample in subscriber.wait(3)] == ["1", "2", "end"]


def test_a_declared_key_expression(net):
    subscriber = net.subscriber("/**")
    net.publisher("/a")
    key = net.sender.declare_keyexpr(f"{net.key}/a")
    net.sender.put(key, "put")
    net.sender.delete(key)
    publisher = net.sender.declare_publisher(key)
    publisher.matching_listener().wait_for(bool)
    publisher.put("published")
    assert [(sample.key, sample.kind) for sample in subscriber.wait(3)] == [
        (f"{net.key}/a", "put"), (f"{net.key}/a", "delete"), (f"{net.key}/a", "put"),
    ]  # fmt: skip


def test_matching_comes_and_goes(net):
    publisher = net.sender.declare_publisher(f"{net.key}/a")
    assert publisher.matching_status() is False
    changes = publisher.matching_listener()
    first = net.subscriber("/**")
    assert changes.next() is True
    assert publisher.matching_status() is True
    second = net.subscriber("/a")
    first.undeclare()
    # The publisher still matches: what it sends arrives, and no change is told before the next real one.
    publisher.put("x")
    assert second.next().payload == "x"
    second.undeclare()
    assert changes.next() is False
    assert publisher.matching_status() is False
    third = net.subscriber("/*")
    assert changes.next() is True
    late = publisher.matching_listener()
    assert late.next() is True, "who comes late is told that something matches"
    publisher.put("y")
    assert third.next().payload == "y"
    assert changes.items == [True, False, True]


def test_an_undeclared_subscriber_gets_nothing_more(net):
    gone, stays = net.subscriber(), net.subscriber("/**")
    publisher = net.publisher()
    publisher.put("1")
    assert gone.next().payload == "1"
    gone.undeclare()
    publisher.put("2")
    assert [sample.payload for sample in stays.wait(2)] == ["1", "2"]
    assert [sample.payload for sample in gone.items] == ["1"]


def test_subscribers_choose_whose_samples_they_get(net):
    everybody, remote = net.subscriber("/**"), net.subscriber("/**", origin="remote")
    local = net.subscriber("/**", origin="session_local")
    net.publisher("/a").put("far")
    # It has arrived before the next one is published, so that the order is known.
    assert everybody.next().payload == "far"
    net.receiver.put(f"{net.key}/a", "near")
    net.sender.put(f"{net.key}/a", "end")
    assert [sample.payload for sample in everybody.wait(3)] == ["far", "near", "end"]
    assert [sample.payload for sample in remote.wait(2)] == ["far", "end"]
    assert [sample.payload for sample in local.wait(1)] == ["near"]


def test_publishers_choose_whom_they_reach(net):
    far = net.subscriber()
    near = net.sender.declare_subscriber(net.key)
    net.publisher(destination="remote").put("remote")
    local = net.sender.declare_publisher(net.key, destination="session_local")
    local.matching_listener().wait_for(bool)
    local.put("local")
    net.publisher(destination="any").put("any")
    assert [sample.payload for sample in far.wait(2)] == ["remote", "any"]
    assert [sample.payload for sample in near.wait(2)] == ["local", "any"]


def test_session_local_subscribers_match_nobody_else(net):
    net.subscriber(origin="session_local")
    publisher = net.sender.declare_publisher(net.key)
    changes = publisher.matching_listener()
    net.subscriber()
    assert changes.next() is True
    local = net.sender.declare_publisher(net.key, destination="session_local")
    assert local.matching_status() is False


def test_payloads_of_every_length(net):
    """Around the lengths where the coding of a length, a batch or the number of fragments changes."""
    lengths = [0, 1, 127, 128, 255, 256, 16_383, 16_384, 49_152, 65_400, 65_476, 65_495, 65_535, 65_536, 131_072]
    lengths += range(65_500, 65_530, 3)
    lengths += [1_000_000, 4_000_000]
    subscriber = net.subscriber("/*")
    publisher = net.publisher("/a", congestion="block")
    for length in lengths:
        publisher.put(Fill(length, seed=length % 251))
    for sample, length in zip(subscriber.wait(len(lengths)), lengths, strict=True):
        assert sample.payload == Fill(length, seed=length % 251)


def test_attachments_of_every_length(net):
    subscriber = net.subscriber()
    publisher = net.publisher(congestion="block")
    attachments = [bytes(length) for length in (0, 1, 127, 128, 10_000, 70_000)]
    for attachment in attachments:
        publisher.put("x", attachment=attachment)
        publisher.delete(attachment=attachment)
    received = [sample.attachment for sample in subscriber.wait(2 * len(attachments))]
    assert received == [attachment for attachment in attachments for _ in range(2)]


@pytest.mark.parametrize("express", [False, True])
def test_ten_thousand_in_order(net, express):
    subscriber = net.subscriber(handler={"kind": "count"})
    publisher = net.publisher(congestion="block", express=express)
    count = 2_000 if express else 10_000
    publisher.burst(count, length=64)
    statistics = subscriber.wait_count(count)
    expected = {"received": count, "bytes": count * 64, "first": 0, "last": count - 1, "gaps": 0, "backwards": 0}
    assert {name: statistics[name] for name in expected} == expected


def test_both_directions_at_once(net):
    """Both ends publish and subscribe on the same key; each gets the other's samples and its own, once and in order."""
    ends = [net.sender, net.receiver]
    subscribers = [end.declare_subscriber(net.key, handler={"kind": "count"}) for end in ends]
    publishers = [end.declare_publisher(net.key, congestion="block", destination="remote") for end in ends]
    for publisher in publishers:
        publisher.matching_listener().wait_for(bool)
    sending = [
        end.driver.send("publisher_burst", lane=1, entity=publisher.handle, count=1_000, first=0, len=8)
        for end, publisher in zip(ends, publishers)
    ]
    for subscriber, sent in zip(subscribers, sending):
        statistics = subscriber.wait_count(1_000)
        assert (statistics["gaps"], statistics["backwards"], sent()["sent"]) == (0, 0, 1_000)
