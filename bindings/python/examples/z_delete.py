"""Deletes the values of a key expression."""

import common


def main():
    parser = common.flags(__doc__)
    parser.add_argument("-k", "--key", default="demo/example/zenoh-python-put")
    args = parser.parse_args()

    with common.open(args) as session:
        common.say(f"Deleting resources matching '{args.key}'...")
        session.delete(args.key)


common.run(main)
