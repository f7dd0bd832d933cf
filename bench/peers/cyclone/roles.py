#!/usr/bin/env python3
"""Cyclone DDS behind the roles of the benchmark, by its own ddsperf.

ddsperf tells its figures once a second, so a measurement takes as many whole seconds as it needs; and it tells half of
a round trip, which is doubled here. Its smallest payload is 12 bytes. A port of an endpoint stands for a DDS domain.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time

# As the published studies set it up: large messages and buffers, on the loopback interface, without multicast.
CONFIGURATION = (
    '<CycloneDDS><Domain id="any"><General><Interfaces><NetworkInterface name="lo"/></Interfaces>'
    "<AllowMulticast>false</AllowMulticast><MaxMessageSize>65500B</MaxMessageSize></General>"
    '<Discovery><ParticipantIndex>auto</ParticipantIndex><Peers><Peer address="127.0.0.1"/></Peers></Discovery>'
    '<Internal><SocketReceiveBufferSize min="default" max="20MB"/>'
    "<Watermarks><WhcHigh>2MB</WhcHigh></Watermarks></Internal></Domain></CycloneDDS>"
)

SIZE_MIN = 12
# Domains with ports below those of the benchmark.
DOMAINS = 50

RATE = re.compile(r"\] (?P<at>[\d.]+)  size \d+ total (?P<total>\d+) lost")
TRIP = re.compile(
    r"\] [\d.]+ .* 50% (?P<p50>[\d.]+)us 90% (?P<p90>[\d.]+)us 99% (?P<p99>[\d.]+)us .* cnt (?P<count>\d+)"
)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=ROLES)
    for flag in ("listen", "connect", "mode", "priority"):
        parser.add_argument(f"--{flag}")
    for flag, value in (("size", 12), ("count", 10_000)):
        parser.add_argument(f"--{flag}", type=int, default=value)
    for flag, value in (("warmup", 1), ("duration", 3), ("rate", 0)):
        parser.add_argument(f"--{flag}", type=float, default=value)
    parser.add_argument("--express", action="store_true")
    flags = parser.parse_args()
    end_with_stdin()
    print(json.dumps({"role": flags.role} | ROLES[flags.role](flags)))
    return 0


def end_with_stdin():
    def wait():
        sys.stdin.read()
        for child in CHILDREN:
            child.kill()
        os._exit(0)

    threading.Thread(target=wait, daemon=True).start()


CHILDREN: list[subprocess.Popen] = []


def ddsperf(flags, *words: str) -> subprocess.Popen:
    endpoint = flags.listen or flags.connect or ""
    domain = int(endpoint.rpartition(":")[2]) % DOMAINS
    child = subprocess.Popen(
        # A parent that is killed takes it along.
        ["setpriv", "--pdeathsig", "KILL", "ddsperf", "-i", str(domain), "-k", "all", *words],
        env=os.environ | {"CYCLONEDDS_URI": CONFIGURATION},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    CHILDREN.append(child)
    return child


def subscribe(flags) -> dict:
    child = ddsperf(flags, "sub")
    ready_when_started(child)
    first = None
    for line in child.stdout:
        if not (found := RATE.search(line)):
            continue
        at, total = float(found["at"]), int(found["total"])
        if first is None:
            first = at, total
        elif at - first[0] >= flags.duration and total > first[1]:
            child.kill()
            return {"msgs_per_s": (total - first[1]) / (at - first[0])}
    raise SystemExit("ddsperf ended before the window was full")


def publish(flags) -> dict:
    rate = [f"{flags.rate:g}Hz"] if flags.rate else []
    child = ddsperf(flags, "pub", *rate, "size", str(max(SIZE_MIN, flags.size)))
    child.communicate()
    return {"size": flags.size}


def pong(flags) -> dict:
    child = ddsperf(flags, "pong")
    ready_when_started(child)
    child.communicate()
    return {}


def ping(flags) -> dict:
    rate = [f"{flags.rate:g}Hz"] if flags.rate else []
    child = ddsperf(flags, "ping", *rate, "size", str(max(SIZE_MIN, flags.size)))
    wanted = flags.count if not flags.rate else max(3, flags.count)
    count, lines = 0, []
    for line in child.stdout:
        if found := TRIP.search(line):
            count += int(found["count"])
            lines.append(found)
            if count >= wanted:
                break
    child.kill()
    if not lines:
        raise SystemExit("ddsperf printed no round trips")
    names = ("p50", "p90", "p99")
    return {f"{name}_us": 2 * statistics.median(float(line[name]) for line in lines) for name in names} | {
        "count": count
    }


def ready_when_started(child: subprocess.Popen):
    """The first line says that it takes part."""
    deadline = time.monotonic() + 10
    line = child.stdout.readline()
    while "(self)" not in line:
        if not line or time.monotonic() > deadline:
            raise SystemExit("ddsperf did not start")
        line = child.stdout.readline()
    print("ready", file=sys.stderr, flush=True)


ROLES = {"sub-thr": subscribe, "pub-thr": publish, "ping": ping, "pong": pong}

if __name__ == "__main__":
    sys.exit(main())
