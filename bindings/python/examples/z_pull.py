"""Looks every second at the newest of what was published."""

import time

import common

import weft


def main():
    parser = common.flags(__doc__)
    parser.add_argument("-k", "--key", default="demo/example/**")
    parser.add_argument("--size", type=int, default=3, help="how many samples are kept")
    parser.add_argument("--interval", type=float, default=1.0, help="seconds between two looks")
    args = parser.parse_args()

    with common.open(args) as session:
        common.say(f"Declaring Subscriber on '{args.key}'...")
        subscriber = session.declare_subscriber(args.key, weft.handlers.RingChannel(args.size))
        common.say("Press CTRL-C to quit...")
        while True:
            time.sleep(args.interval)
            while (sample := subscriber.try_recv()) is not None:
                text = common.text(sample.payload)
                common.say(f">> [Subscriber] Received {sample.kind} ('{sample.key_expr}': '{text}')")


common.run(main)
