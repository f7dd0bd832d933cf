"""Who is measured: how each one is built, what it can do, and whether it is here."""

import dataclasses
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from weftbench import HERE, ROOT, BenchError
from weftbench.measure import missing_tool

# What a case may need of a program.
P2P = "messages without a broker"
ROUTED = "a router or broker"
KEYS = "many keys and wildcards"
QUERIES = "questions and answers"
DECLARATIONS = "declarations that others take note of"
MULTICAST = "peers that find each other"
SESSIONS = "thousands of sessions"
EXCHANGE = "sessions that publish to each other"
MANY_SESSIONS = "ten thousand sessions in a minute"
PRIORITIES = "priorities"
HOSTS = "endpoints on other hosts"
ALL = frozenset(
    {P2P, ROUTED, KEYS, QUERIES, DECLARATIONS, MULTICAST, SESSIONS, MANY_SESSIONS, EXCHANGE, PRIORITIES, HOSTS}
)


@dataclasses.dataclass(frozen=True)
class Peer:
    # The name in tables and JSON.
    key: str
    title: str
    # Which roles it plays, so that cases measure it like Weft; empty for what is measured in its own way.
    abilities: frozenset[str]
    # Makes it ready and gives its command line, to which role and flags are added.
    build: Callable[[], list[str]]
    # Why it is not here, if so.
    missing: Callable[[], str | None] = lambda: None
    # The largest payload that it carries.
    size_max: int = 1 << 40
    # What its measurements take longer than those of others, in seconds.
    overhead: float = 0


def cargo(folder: str) -> Callable[[], list[str]]:
    def build() -> list[str]:
        words = ["--release", "--locked", "--message-format=json-render-diagnostics"]
        command = ["cargo", "build", *words, "--manifest-path", f"bench/{folder}/Cargo.toml"]
        for line in reversed(run(command).splitlines()):
            if executable := json.loads(line).get("executable"):
                return [executable]
        raise BenchError(f"`{shlex.join(command)}` built no binary")

    return build


def go(folder: str) -> Callable[[], list[str]]:
    def build() -> list[str]:
        binary = str(target(folder))
        run(["go", "build", "-C", f"bench/peers/{folder}", "-o", binary, "."])
        return [binary]

    return build


# Not the collector of Kafka's own scripts, G1 with pauses of 20 ms at the most: with that, a message takes about a third
# more of two cores' time. The memory is what Java takes by itself, up to a quarter of all, for large messages need it.
JAVA = ("java", "-XX:+UseParallelGC")


def maven(folder: str) -> Callable[[], list[str]]:
    def build() -> list[str]:
        built = target(folder)
        words = ["--quiet", "--batch-mode", f"-Dbench.target={built}"]
        # Maven tells its errors on standard output.
        run(["mvn", *words, "--file", f"bench/peers/{folder}/pom.xml", "compile"], stdout=sys.stderr)
        return [*JAVA, "-cp", f"{built}/classes:{built}/lib/*", "Roles"]

    return build


def target(folder: str) -> Path:
    """What is built of a further peer: nothing that is committed."""
    return ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / f"bench-{folder}"


def run(command: list[str], stdout=subprocess.PIPE) -> str | None:
    """Runs a build in the repository's root and returns its standard output, if that goes nowhere else."""
    print(f"$ {shlex.join(command)}", file=sys.stderr)
    try:
        built = subprocess.run(command, cwd=ROOT, stdout=stdout, text=True, check=False)
    except OSError as error:
        raise BenchError(f"`{shlex.join(command)}` did not start: {error}") from error
    if built.returncode != 0:
        raise BenchError(f"`{shlex.join(command)}` ended with {built.returncode}")
    return built.stdout


def nothing() -> list[str]:
    return []


MIB = 1 << 20

WEFT = Peer("weft", "Weft", ALL, cargo("weft"))
REFERENCE = Peer("reference", "Eclipse Zenoh", ALL, cargo("reference"))
LIMIT = Peer("limit", "the bare machine", frozenset(), cargo("limits"))
OTHERS = (
    Peer("iperf3", "iperf3", frozenset(), nothing, lambda: missing_tool("iperf3", "iperf3")),
    Peer("ping", "ICMP echo", frozenset(), nothing, lambda: missing_tool("ping", "iputils-ping")),
    Peer(
        "mosquitto",
        "Mosquitto",
        frozenset({ROUTED, KEYS, SESSIONS, MANY_SESSIONS, EXCHANGE}),
        cargo("peers/mqtt"),
        lambda: missing_tool("mosquitto", "mosquitto"),
        # MQTT carries up to 256 MiB; brokers were seen to fail before.
        size_max=64 * MIB,
    ),
    Peer(
        "nats",
        "NATS",
        frozenset({ROUTED, KEYS, QUERIES, SESSIONS}),
        go("nats"),
        lambda: missing_tool("go", "golang"),
        # The largest that its server takes without a warning.
        size_max=64 * MIB,
    ),
    Peer(
        "kafka",
        "Kafka",
        # Its keys have no wildcards: a subscriber gets all of a topic.
        frozenset({ROUTED, SESSIONS}),
        maven("kafka"),
        lambda: missing_tool("mvn", "maven") or missing_tool("javac", "openjdk-17-jdk-headless"),
        size_max=64 * MIB,
        # Java starts, and compiles what it runs often.
        overhead=8,
    ),
    Peer(
        "cyclone",
        "Cyclone DDS",
        frozenset({P2P}),
        lambda: [sys.executable, str(HERE / "peers/cyclone/roles.py")],
        lambda: missing_tool("ddsperf", "cyclonedds-tools"),
        size_max=16 * MIB,
        # ddsperf tells its figures by the second.
        overhead=2,
    ),
)
PEERS = {peer.key: peer for peer in (WEFT, REFERENCE, LIMIT, *OTHERS)}


def ready(keys: Iterable[str], weft: str | None) -> tuple[dict[str, list[str]], dict[str, str]]:
    """The command lines of those that are here, and why the others are not. Only further peers may be missing."""
    commands, skipped = {}, {}
    for key in keys:
        peer = PEERS[key]
        why = peer.missing()
        if why is None and key == "weft" and weft is not None:
            commands[key] = shlex.split(weft)
            continue
        if why is None:
            try:
                commands[key] = peer.build()
                continue
            except BenchError as error:
                if peer not in OTHERS:
                    raise
                why = str(error)
        skipped[key] = why
    return commands, skipped
