"""Puts one number, serialized."""

import common

from weft.ext import z_serialize


def main():
    parser = common.flags(__doc__)
    parser.add_argument("-k", "--key", default="demo/example/zenoh-python-put")
    parser.add_argument("-p", "--payload", type=float, default=42.0)
    args = parser.parse_args()

    with common.open(args) as session:
        common.say(f"Putting Data ('{args.key}': '{args.payload}')...")
        session.put(args.key, z_serialize(args.payload))


common.run(main)
