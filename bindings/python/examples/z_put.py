"""Puts one value."""

import common


def main():
    parser = common.flags(__doc__)
    parser.add_argument("-k", "--key", default="demo/example/zenoh-python-put")
    parser.add_argument("-p", "--payload", default="Put from Python!")
    args = parser.parse_args()

    with common.open(args) as session:
        common.say(f"Putting Data ('{args.key}': '{args.payload}')...")
        session.put(args.key, args.payload)


common.run(main)
