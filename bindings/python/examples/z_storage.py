"""Keeps what is published, and answers queries from it."""

import common

import weft


def main():
    parser = common.flags(__doc__)
    parser.add_argument("-k", "--key", default="demo/example/**")
    parser.add_argument("--complete", action="store_true", help="say that this is all there is to know")
    args = parser.parse_args()
    kept = {}

    def keep(sample):
        common.say(f">> [Subscriber] Received {sample.kind} ('{sample.key_expr}': '{common.text(sample.payload)}')")
        if sample.kind == weft.SampleKind.DELETE:
            kept.pop(str(sample.key_expr), None)
        else:
            kept[str(sample.key_expr)] = sample

    def answer(query):
        common.say(f">> [Queryable ] Received Query '{query.selector}'")
        for sample in list(kept.values()):
            if query.key_expr.intersects(sample.key_expr):
                query.reply(sample.key_expr, sample.payload, encoding=sample.encoding)

    with common.open(args) as session:
        common.say(f"Declaring Subscriber on '{args.key}'...")
        session.declare_subscriber(args.key, keep)
        common.say(f"Declaring Queryable on '{args.key}'...")
        session.declare_queryable(args.key, answer, complete=args.complete)
        common.wait()


common.run(main)
