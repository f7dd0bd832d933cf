"""Answers queries with a text."""

import common


def main():
    parser = common.flags(__doc__)
    parser.add_argument("-k", "--key", default="demo/example/zenoh-python-queryable")
    parser.add_argument("-p", "--payload", default="Queryable from Python!")
    parser.add_argument("--complete", action="store_true", help="say that this is all there is to know")
    args = parser.parse_args()

    def answer(query):
        payload = f" with payload: '{common.text(query.payload)}'" if query.payload else ""
        common.say(f">> [Queryable ] Received Query '{query.selector}'{payload}")
        query.reply(args.key, args.payload)

    with common.open(args) as session:
        common.say(f"Declaring Queryable on '{args.key}'...")
        session.declare_queryable(args.key, answer, complete=args.complete)
        common.wait()


common.run(main)
