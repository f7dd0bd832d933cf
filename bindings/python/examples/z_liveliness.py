"""Is alive until Ctrl-C."""

import common


def main():
    parser = common.flags(__doc__)
    parser.add_argument("-k", "--key", default="group1/zenoh-py")
    args = parser.parse_args()

    with common.open(args) as session:
        common.say(f"Declaring LivelinessToken on '{args.key}'...")
        with session.liveliness().declare_token(args.key):
            common.wait()


common.run(main)
