"""Sends back what z_ping sends."""

import common

import weft


def main():
    parser = common.flags(__doc__)
    parser.add_argument("--express", type=common.boolean, nargs="?", const=True, default=False, help="send at once")
    args = parser.parse_args()

    with common.open(args) as session:
        publisher = session.declare_publisher(
            "test/pong", congestion_control=weft.CongestionControl.BLOCK, express=args.express
        )
        session.declare_subscriber("test/ping", lambda sample: publisher.put(sample.payload))
        common.wait()


common.run(main)
