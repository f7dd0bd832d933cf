"""Publishes as fast as it can."""

import common

import weft


def main():
    parser = common.flags(__doc__)
    parser.add_argument("payload_size", metavar="PAYLOAD_SIZE", type=int, help="bytes")
    args = parser.parse_args()
    payload = bytes(number % 10 for number in range(args.payload_size))

    with common.open(args) as session:
        publisher = session.declare_publisher("test/thr", congestion_control=weft.CongestionControl.BLOCK)
        common.say("Press CTRL-C to quit...")
        while True:
            publisher.put(payload)


common.run(main)
