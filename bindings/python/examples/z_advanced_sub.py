"""Prints what is published, in order, with what was published before; and what is lost for good."""

import common

from weft.ext import HistoryConfig, RecoveryConfig, declare_advanced_subscriber


def main():
    parser = common.flags(__doc__)
    parser.add_argument("-k", "--key", default="demo/example/**")
    args = parser.parse_args()

    with common.open(args) as session:
        common.say(f"Declaring AdvancedSubscriber on '{args.key}'...")
        subscriber = declare_advanced_subscriber(
            session,
            args.key,
            show,
            history=HistoryConfig(detect_late_publishers=True),
            recovery=RecoveryConfig(heartbeat=True),
            subscriber_detection=True,
        )
        subscriber.sample_miss_listener(
            lambda miss: common.say(f">> [Subscriber] Missed {miss.nb} samples from {miss.source} !!!")
        )
        common.wait()


def show(sample):
    common.say(f">> [Subscriber] Received {sample.kind} ('{sample.key_expr}': '{common.text(sample.payload)}')")


common.run(main)
