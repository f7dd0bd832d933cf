"""Prints what is published, and whether it came through shared memory (SHM) or not (RAW)."""

import common


def main():
    parser = common.flags(__doc__)
    parser.add_argument("-k", "--key", default="demo/example/**")
    args = parser.parse_args()

    with common.open(args) as session:
        common.say(f"Declaring Subscriber on '{args.key}'...")
        session.declare_subscriber(args.key, show)
        common.wait()


def show(sample):
    line = f">> [Subscriber] Received {sample.kind} ('{sample.key_expr}': '{common.text(sample.payload)}')"
    line += f" [{way(sample.payload)}]"
    if sample.attachment is not None:
        line += f" ({way(sample.attachment)}: {common.text(sample.attachment)})"
    common.say(line)


def way(payload):
    return "RAW" if payload.as_shm() is None else "SHM"


common.run(main)
