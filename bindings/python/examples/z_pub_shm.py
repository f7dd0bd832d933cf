"""Publishes a numbered text every second, from shared memory if the module has it."""

import itertools
import time

import common

ROOM = 1 << 20
"""Bytes of shared memory."""


def main():
    parser = common.flags(__doc__)
    parser.add_argument("-k", "--key", default="demo/example/zenoh-python-pub")
    parser.add_argument("-p", "--payload", default="Pub from Python!")
    parser.add_argument("--iter", type=int, help="how many (endless)")
    parser.add_argument("--interval", type=float, default=1.0, help="seconds between two")
    args = parser.parse_args()

    with common.open(args) as session:
        place = placing()
        common.say(f"Declaring Publisher on '{args.key}'...")
        publisher = session.declare_publisher(args.key)
        common.say("Press CTRL-C to quit...")
        for number in itertools.count() if args.iter is None else range(args.iter):
            time.sleep(args.interval)
            payload = f"[{number:4d}] {args.payload}"
            common.say(f"Putting Data ('{args.key}': '{payload}')...")
            publisher.put(place(payload.encode()))


def placing():
    """What puts bytes where they are published from."""
    try:
        import weft.shm as shm
    except ImportError as error:
        common.say(f"No shared memory: {error}")
        return bytes
    common.say("Creating POSIX SHM provider...")
    provider = shm.ShmProvider.default_backend(ROOM)
    policy = shm.BlockOn(shm.GarbageCollect())

    def place(data):
        buffer = provider.alloc(len(data), policy)
        buffer[0 : len(data)] = data
        return buffer

    return place


common.run(main)
