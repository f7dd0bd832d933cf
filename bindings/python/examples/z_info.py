"""Prints what a session knows of itself and its neighbours, and how that changes."""

import time

import common


def main():
    args = common.flags(__doc__).parse_args()

    with common.open(args) as session:
        info = session.info
        common.say(f"zid: {info.zid()}")
        common.say(f"routers: {[str(zid) for zid in info.routers_zid()]}")
        common.say(f"peers: {[str(zid) for zid in info.peers_zid()]}")
        common.say("transports:")
        for transport in info.transports():
            common.say(f"  - {transport!r}")
        common.say("links:")
        for link in info.links():
            common.say(f"  - {link!r}")

        transports = info.declare_transport_events_listener()
        links = info.declare_link_events_listener()
        common.say("Press CTRL-C to quit...")
        while True:
            while event := transports.try_recv():
                common.say(f"Transport event: {event}")
            while event := links.try_recv():
                common.say(f"Link event: {event}")
            time.sleep(0.1)


common.run(main)
