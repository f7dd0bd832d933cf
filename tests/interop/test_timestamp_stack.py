"""What is recorded of messages on their way, as both sides tell it."""

import pytest

from harness.driver import reply

ALL = ["send", "route", "receive"]
NETWORKS = ["Wp-to-Rp", "Rp-to-Wp", "Wc-Rr-Rc", "Rc-Rr-Wc", "Wc-Wr-Rc", "Rc-Wr-Wc", "Rc-Wr-Rc"]


def way(sender, receiver, middle):
    """The records of a message from one end to the other."""
    nodes = [sender, *([middle] if middle else []), receiver]
    return [["send", sender.zid], *(["route", node.zid] for node in nodes), ["receive", receiver.zid]]


def at(points, records):
    return [record for record in records if record[0] in points]


@pytest.mark.networks(*NETWORKS)
class TestStack:
    def test_samples(self, net):
        subscriber = net.subscriber()
        publisher = net.publisher()
        whole = way(net.sender, net.receiver, net.middle)
        wanted = [ALL, ["send"], ["route"], ["receive"], ["send", "receive"]]
        for points in wanted:
            publisher.put("x", instrument=points)
        assert [sample.stack for sample in subscriber.wait(5)] == [at(points, whole) for points in wanted]
        publisher.delete(instrument=ALL)
        net.sender.put(net.key, "x", instrument=ALL)
        publisher.put("x")
        assert [sample.stack for sample in subscriber.wait(8)[5:]] == [whole, whole, None]

    def test_queries_and_replies(self, net):
        queryable = net.queryable([reply("x"), reply("no", kind="error")])
        querier = net.querier()
        there = way(net.sender, net.receiver, net.middle)
        back = way(net.receiver, net.sender, net.middle)
        for points in (ALL, ["send", "receive"], ["route"]):
            replies = querier.get(instrument=points).replies()
            assert queryable.next().stack == at(points, there)
            assert [reply.stack for reply in replies] == [at(points, there + back)] * 2
        assert [reply.stack for reply in querier.get().replies()] == [None, None]
        assert queryable.next().stack is None


def test_stamps_of_an_application(left, right, locator):
    """`left` stamps with its own bytes, as sender and as receiver."""
    stamping = left.open("peer", listen=[locator], stamp=b"mine")
    other = right.open("peer", connect=[locator])
    mine = b"mine".hex()
    for sender, receiver, told in ((stamping, other, [mine, other.zid]), (other, stamping, [other.zid, mine])):
        subscriber = receiver.declare_subscriber("k")
        publisher = sender.declare_publisher("k")
        publisher.matching_listener().wait_for(bool)
        publisher.put("x", instrument=ALL)
        first, last = told
        assert subscriber.next().stack == [["send", first], ["route", first], ["route", last], ["receive", last]]
