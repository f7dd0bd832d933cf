"""Asks every second, and prints the replies."""

import itertools
import time

import common

import weft

# NONE leaves the choice to the library.
TARGETS = ["ALL", "BEST_MATCHING", "ALL_COMPLETE", "NONE"]


def main():
    parser = common.flags(__doc__)
    parser.add_argument("-s", "--selector", default="demo/example/**")
    parser.add_argument("-t", "--target", choices=TARGETS, default="BEST_MATCHING")
    parser.add_argument("-p", "--payload", default="", help="what to send along, after a number")
    parser.add_argument("-o", "--timeout", type=float, default=10.0, help="seconds")
    parser.add_argument("--iter", type=int, help="how many times (endless)")
    parser.add_argument("--add-matching-listener", action="store_true", help="tell whether anybody answers")
    args = parser.parse_args()
    selector = weft.Selector(args.selector)
    target = getattr(weft.QueryTarget, args.target, None)

    with common.open(args) as session:
        common.say(f"Declaring Querier on '{selector.key_expr}'...")
        querier = session.declare_querier(selector.key_expr, target=target, timeout=args.timeout)
        common.say("Press CTRL-C to quit...")
        if args.add_matching_listener:
            querier.declare_matching_listener(tell)
        for number in itertools.count() if args.iter is None else range(args.iter):
            time.sleep(1.0)
            payload = f"[{number:4d}] {args.payload}"
            common.say(f"Querying '{selector}' with payload '{payload}')...")
            for reply in querier.get(parameters=selector.parameters, payload=payload):
                if reply.ok:
                    common.say(f">> Received ('{reply.ok.key_expr}': '{common.text(reply.ok.payload)}')")
                else:
                    common.say(f">> Received (ERROR: '{common.text(reply.err.payload)}')")


def tell(status):
    if status.matching:
        common.say("Querier has matching queryables.")
    else:
        common.say("Querier has NO MORE matching queryables")


common.run(main)
