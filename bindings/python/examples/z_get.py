"""Asks once, and prints the replies."""

import common

import weft

# NONE leaves the choice to the library.
TARGETS = ["ALL", "BEST_MATCHING", "ALL_COMPLETE", "NONE"]


def main():
    parser = common.flags(__doc__)
    parser.add_argument("-s", "--selector", default="demo/example/**")
    parser.add_argument("-t", "--target", choices=TARGETS, default="BEST_MATCHING")
    parser.add_argument("-p", "--payload", help="what to send along")
    parser.add_argument("-o", "--timeout", type=float, default=10.0, help="seconds")
    args = parser.parse_args()
    target = getattr(weft.QueryTarget, args.target, None)

    with common.open(args) as session:
        common.say(f"Sending Query '{args.selector}'...")
        for reply in session.get(args.selector, target=target, payload=args.payload, timeout=args.timeout):
            if reply.ok:
                common.say(f">> Received ('{reply.ok.key_expr}': '{common.text(reply.ok.payload)}')")
            else:
                common.say(f">> Received (ERROR: '{common.text(reply.err.payload)}')")


common.run(main)
