"""Prints what is published, from a callback."""

import common


def main():
    parser = common.flags(__doc__)
    parser.add_argument("-k", "--key", default="demo/example/**")
    args = parser.parse_args()

    with common.open(args) as session:
        common.say(f"Declaring Subscriber on '{args.key}'...")
        session.declare_subscriber(args.key, show)
        common.wait()


def show(sample):
    common.say(f">> [Subscriber] Received {sample.kind} ('{sample.key_expr}': '{common.text(sample.payload)}')")


common.run(main)
