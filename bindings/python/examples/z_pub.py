"""Publishes a numbered text every second."""

import itertools
import time

import common


def main():
    parser = common.flags(__doc__)
    parser.add_argument("-k", "--key", default="demo/example/zenoh-python-pub")
    parser.add_argument("-p", "--payload", default="Pub from Python!")
    parser.add_argument("--iter", type=int, help="how many (endless)")
    parser.add_argument("--interval", type=float, default=1.0, help="seconds between two")
    parser.add_argument("--add-matching-listener", action="store_true", help="tell whether anybody listens")
    args = parser.parse_args()

    with common.open(args) as session:
        common.say(f"Declaring Publisher on '{args.key}'...")
        publisher = session.declare_publisher(args.key)
        common.say("Press CTRL-C to quit...")
        if args.add_matching_listener:
            publisher.declare_matching_listener(tell)
        for number in itertools.count() if args.iter is None else range(args.iter):
            time.sleep(args.interval)
            payload = f"[{number:4d}] {args.payload}"
            common.say(f"Putting Data ('{args.key}': '{payload}')...")
            publisher.put(payload)


def tell(status):
    if status.matching:
        common.say("Publisher has matching subscribers.")
    else:
        common.say("Publisher has NO MORE matching subscribers")


common.run(main)
