"""Prints who comes and goes."""

import common

import weft


def main():
    parser = common.flags(__doc__)
    parser.add_argument("-k", "--key", default="group1/**")
    parser.add_argument(
        "--history", type=common.boolean, nargs="?", const=True, default=False, help="also who is there already"
    )
    args = parser.parse_args()

    with common.open(args) as session:
        common.say(f"Declaring Liveliness Subscriber on '{args.key}'...")
        session.liveliness().declare_subscriber(args.key, show, history=args.history)
        common.wait()


def show(sample):
    what = "New alive" if sample.kind == weft.SampleKind.PUT else "Dropped"
    common.say(f">> [LivelinessSubscriber] {what} token ('{sample.key_expr}')")


common.run(main)
