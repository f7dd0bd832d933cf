"""Publishes a numbered text every second, and keeps the newest for who comes late or loses some."""

import itertools
import time

import common

from weft.ext import CacheConfig, MissDetectionConfig, declare_advanced_publisher


def main():
    parser = common.flags(__doc__)
    parser.add_argument("-k", "--key", default="demo/example/zenoh-python-pub")
    parser.add_argument("-p", "--payload", default="Pub from Python!")
    parser.add_argument("--history", type=int, default=1, help="how many are kept")
    args = parser.parse_args()

    with common.open(args) as session:
        common.say(f"Declaring AdvancedPublisher on '{args.key}'...")
        publisher = declare_advanced_publisher(
            session,
            args.key,
            cache=CacheConfig(max_samples=args.history),
            sample_miss_detection=MissDetectionConfig(heartbeat=5),
            publisher_detection=True,
        )
        common.say("Press CTRL-C to quit...")
        for number in itertools.count():
            time.sleep(1.0)
            payload = f"[{number:4d}] {args.payload}"
            common.say(f"Putting Data ('{args.key}': '{payload}')...")
            publisher.put(payload)


common.run(main)
