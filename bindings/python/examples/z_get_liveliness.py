"""Asks who is alive."""

import common


def main():
    parser = common.flags(__doc__)
    parser.add_argument("-k", "--key", default="group1/**")
    parser.add_argument("-o", "--timeout", type=float, default=10.0, help="seconds")
    args = parser.parse_args()

    with common.open(args) as session:
        common.say(f"Sending Liveliness Query '{args.key}'...")
        for reply in session.liveliness().get(args.key, timeout=args.timeout):
            if reply.ok:
                common.say(f">> Alive token ('{reply.ok.key_expr}')")
            else:
                common.say(f">> Received (ERROR: '{common.text(reply.err.payload)}')")


common.run(main)
