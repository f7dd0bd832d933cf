"""Counts what z_pub_thr publishes."""

import time

import common

import weft


class Counter:
    """Counts samples, and prints how fast they come."""

    def __init__(self, batch):
        self.batch = batch
        self.count = 0
        self.first = self.start = None

    def sample(self, _):
        if self.count % self.batch == 0:
            now = time.perf_counter()
            if self.first is None:
                self.first = now
            else:
                common.say(f"{self.batch / (now - self.start):.6f} msgs/sec")
            self.start = now
        self.count += 1

    def end(self):
        if self.first is not None:
            seconds = time.perf_counter() - self.first
            common.say(f"Received {self.count} messages in {seconds:.3f}: averaged {self.count / seconds:.6f} msgs/sec")


def main():
    parser = common.flags(__doc__)
    parser.add_argument("-n", "--number", type=int, default=50000, help="how many samples are a line")
    args = parser.parse_args()
    counter = Counter(args.number)

    with common.open(args) as session:
        session.declare_subscriber("test/thr", weft.handlers.Callback(counter.sample, counter.end))
        common.wait()


common.run(main)
