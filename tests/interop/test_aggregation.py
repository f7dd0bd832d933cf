"""`aggregation/subscribers`: one declared expression instead of those that it includes (03 §3.5).

That it is declared shows in publishers elsewhere, which match the whole of it; what is delivered is the same as ever."""

import pytest

from harness.network import settle

COVER = {"aggregation/subscribers": ["plant/**"]}

STARS = ["weft/reference/reference", "weft/weft/reference", "reference/weft/reference", "reference/reference/weft"]


def matched(session, key):
    publisher = session.declare_publisher(key)
    publisher.matching_listener().wait_for(bool)
    return publisher


def each_gets_its_own(subscribers, publishing):
    """Nobody gets what was published on a key of the cover that nobody subscribes to."""
    other = matched(publishing, "plant/other")
    for key, subscriber in subscribers.items():
        other.put("nobody asked for it")
        matched(publishing, key).put(key)
        subscriber.wait_for(lambda sample, key=key: sample.payload == key)
    for key, subscriber in subscribers.items():
        assert [sample.key for sample in subscriber.items] == [key]
    return other


@pytest.mark.parametrize("implementations", STARS)
def test_a_session_declares_its_subscribers_as_one(driver, locator, implementations):
    """Router, the session with the cover, and a publisher."""
    router, generalising, publishing = (driver(name) for name in implementations.split("/"))
    router.open("router", listen=[locator])
    generalising = generalising.open("client", connect=[locator], config=COVER)
    publishing = publishing.open("client", connect=[locator])
    subscribers = {key: generalising.declare_subscriber(key) for key in ("plant/1", "plant/2")}
    other = each_gets_its_own(subscribers, publishing)
    status = other.matching_listener()
    for subscriber in subscribers.values():
        subscriber.undeclare()
    status.wait_for(lambda matching: not matching)


@pytest.mark.parametrize("other", ["weft", "reference"])
def test_a_router_of_weft_tells_other_routers_of_one_expression(driver, new_locator, other):
    near, far = new_locator(), new_locator()
    first = driver("weft").open("router", listen=[near], config=COVER)
    second = driver(other).open("router", listen=[far], connect=[near])
    settle(first, second)
    names = {"plant/1": "weft", "plant/2": "reference"}
    clients = {key: driver(name).open("client", connect=[near]) for key, name in names.items()}
    publishing = driver("reference").open("client", connect=[far])
    subscribers = {key: client.declare_subscriber(key) for key, client in clients.items()}
    each_gets_its_own(subscribers, publishing)
