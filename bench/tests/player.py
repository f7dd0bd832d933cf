"""Stands in for every program: plays all roles at once, in no time.

The first argument is a status: who feeds a subscriber fails with it, if it is not 0.
"""

import json
import os
import sys

FIGURES = {
    "msgs_per_s": 3e6,
    "arrived": 1e6,
    "bytes_per_s": 140e6,
    "gets_per_s": 5e4,
    "declarations_per_s": 4e4,
    "p50_us": 12.5,
    "p99_us": 25.0,
}

status, role = int(sys.argv[1]), sys.argv[2]
if role in ("pub-thr", "batch-sender") and status:
    print("no route", file=sys.stderr)
    sys.exit(status)
print("ready", file=sys.stderr, flush=True)
is_receiving = role in ("sub-thr", "batch-receiver")
if (
    role in ("pong", "router", "queryable", "sessions", "pingpong-server", "batch-relay", "pub-thr", "batch-sender")
    or is_receiving
    and status
):
    sys.stdin.read()
print("a line of a log")
print(json.dumps(FIGURES | {"role": role, "words": sys.argv[3:], "cpus": len(os.sched_getaffinity(0))}))
