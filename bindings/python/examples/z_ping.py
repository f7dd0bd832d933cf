"""Measures round trips to z_pong."""

import time

import common

import weft


def main():
    parser = common.flags(__doc__)
    parser.add_argument("payload_size", metavar="PAYLOAD_SIZE", type=int, help="bytes")
    parser.add_argument("-w", "--warmup", type=float, default=1.0, help="seconds")
    parser.add_argument("-n", "--samples", type=int, default=100, help="how many round trips")
    args = parser.parse_args()
    payload = bytes(number % 10 for number in range(args.payload_size))

    with common.open(args) as session:
        pongs = session.declare_subscriber("test/pong")
        publisher = session.declare_publisher("test/ping", congestion_control=weft.CongestionControl.BLOCK)

        def round_trip():
            sent = time.perf_counter()
            publisher.put(payload)
            pongs.recv()
            return int((time.perf_counter() - sent) * 1e6)

        common.say(f"Warming up for {args.warmup}...")
        end = time.perf_counter() + args.warmup
        while time.perf_counter() < end:
            round_trip()
        # All of them before the first is printed: a terminal takes its time.
        for number, rtt in enumerate([round_trip() for _ in range(args.samples)]):
            common.say(f"{args.payload_size} bytes: seq={number} rtt={rtt}µs lat={rtt // 2}µs")


common.run(main)
