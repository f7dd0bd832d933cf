"""Prints what is published, from a channel."""

import common


def main():
    parser = common.flags(__doc__)
    parser.add_argument("-k", "--key", default="demo/example/**")
    args = parser.parse_args()

    with common.open(args) as session:
        common.say(f"Declaring Subscriber on '{args.key}'...")
        with session.declare_subscriber(args.key) as subscriber:
            common.say("Press CTRL-C to quit...")
            for sample in subscriber:
                text = common.text(sample.payload)
                common.say(f">> [Subscriber] Received {sample.kind} ('{sample.key_expr}': '{text}')")


common.run(main)
