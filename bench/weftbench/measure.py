"""How a case is measured: with a stage, for a payload size and a time in seconds, into figures by name."""

import contextlib
import os
import re
import shutil
import statistics
import time

from weftbench import spaces
from weftbench.process import (
    GRACE_SECONDS,
    Process,
    Stage,
    cpu_seconds_of_all,
    free_endpoint,
    free_port,
    resident_bytes,
)

# The part of the time of a measurement that comes before it.
WARMUP = 0.4

ROUND_TRIPS_PER_SECOND = 10_000
STARTS = 5


def message_len(size: int) -> int:
    """Bytes in a frame of a message to a declared key: Push, key id, QoS (2), Put, payload length, payload."""
    length_len = max(1, -(-size.bit_length() // 7))
    return 5 + length_len + size


def seconds_max(seconds: float) -> float:
    return (1 + WARMUP) * seconds + GRACE_SECONDS


def window(seconds: float) -> dict:
    return {"warmup": WARMUP * seconds, "duration": seconds}


# --- throughput -----------------------------------------------------------------------------------------------------


def throughput(stage: Stage, size: int, seconds: float, routed=False, subscribers=1, publishers=1, keys=1, rate=0):
    """Messages a second at all subscribers together, and what a million of them costs."""
    many = {"keys": keys if keys > 1 else None}
    ends = meeting(stage, routed)
    # What is small need not be told apart from what is not told.
    known = size if size > 1024 else None
    sessions = subscribers if subscribers > 1 else None
    subscriber = stage.start_ready(
        "sub-thr", ready_seconds_max=60, **ends[0], **window(seconds), size=known, sessions=sessions, **many
    )
    # The publisher outlives the window; the end of the stage ends it.
    flags = {"size": size, "duration": seconds_max(seconds), "rate": rate or None}
    sessions = publishers if publishers > 1 else None
    stage.start("pub-thr", **ends[1], **flags, sessions=sessions, **many)
    per_second = stage.output(subscriber, seconds_max(seconds))["msgs_per_s"]
    start, end = stage.last(seconds)
    messages = per_second * (end.at - start.at) or 1
    return {
        "rate": per_second,
        "cpu": 1e6 * (end.cpu_seconds - start.cpu_seconds) / messages,
        "wire": (end.wire_bytes - start.wire_bytes) / messages,
    }


def meeting(stage: Stage, routed: bool) -> tuple[dict, dict]:
    """The flags of two roles that reach each other; the first one is started first."""
    endpoint = free_endpoint()
    if routed:
        stage.start_ready("router", listen=endpoint)
        client = {"mode": "client", "connect": endpoint}
        return client, client
    return {"mode": "peer", "listen": endpoint}, {"mode": "peer", "connect": endpoint}


def raw_throughput(stage: Stage, size: int, seconds: float, routed=False) -> dict:
    """As many messages as bare TCP carries the bytes of."""
    endpoint = behind = free_endpoint()
    if routed:
        behind = free_endpoint()
    receiver = stage.start_ready("batch-receiver", listen=behind, **window(seconds))
    if routed:
        stage.start_ready("batch-relay", listen=endpoint, connect=behind)
    return sent_raw(stage, receiver, endpoint, size, seconds)


def sent_raw(stage: Stage, receiver: Process, endpoint: str, size: int, seconds: float, space=None) -> dict:
    length = message_len(size)
    stage.start("batch-sender", connect=endpoint, duration=seconds_max(seconds), message=length, space=space)
    output = stage.output(receiver, seconds_max(seconds))
    return {"rate": output["bytes_per_s"] / length}


def iperf(stage: Stage, size: int, seconds: float, address="127.0.0.1", server=None, client=None) -> dict:
    """As many messages as one stream of iperf3 carries the bytes of."""
    port = str(free_port())
    listening = stage.run(["iperf3", "--server", "--one-off", "--port", port, "--forceflush"], server)
    await_line(listening, "listening")
    words = ["--client", address, "--port", port, "--time", str(max(1, round(seconds))), "--json"]
    sending = stage.run(["iperf3", *words], client)
    stage.wait(sending, seconds_max(seconds))
    received = re.search(r'"sum_received":\s*\{.*?"bits_per_second":\s*([\d.e+]+)', sending.text(), re.DOTALL)
    if not received:
        raise sending.error("printed no rate")
    return {"rate": float(received[1]) / 8 / message_len(size)}


def await_line(process: Process, word: str):
    deadline = time.monotonic() + 5
    while not any(word in line for line in process.stdout):
        if process.ended() or time.monotonic() > deadline:
            raise process.error(f"did not say `{word}`")
        time.sleep(0.01)


def memcpy(stage: Stage, size: int, seconds: float) -> dict:
    output = stage.output(stage.start("memcpy", size=size, duration=seconds), seconds_max(seconds))
    return {"rate": output["bytes_per_s"] / 1e9}


# --- round trips ----------------------------------------------------------------------------------------------------


def round_trip(stage: Stage, size: int, seconds: float, routed=False, rate=0) -> dict:
    """Percentiles of round trips: back to back, or so many a second."""
    ends = meeting(stage, routed)
    stage.start_ready("pong", **ends[0], express=True)
    flags = {"size": size, **trips(seconds, rate), "rate": rate or None}
    client = stage.start("ping", **ends[1], express=True, **flags)
    return percentiles(stage.output(client, trip_seconds_max(seconds)), rate)


def raw_round_trip(stage: Stage, size: int, seconds: float, hops=1, rate=0) -> dict:
    """Percentiles of bare TCP; those of several hops one after the other are taken as so many times one."""
    endpoint = free_endpoint()
    stage.start_ready("pingpong-server", listen=endpoint)
    flags = {"size": size, **trips(seconds, rate), "rate": rate or None}
    client = stage.start("pingpong-client", connect=endpoint, **flags)
    output = stage.output(client, trip_seconds_max(seconds))
    return {name: hops * value for name, value in percentiles(output, rate).items()}


def percentiles(output: dict, rate=0) -> dict:
    # A hundredth of too few has no meaning.
    names = ("p50", "p99") if not rate or rate >= 100 else ("p50",)
    return {name: output[f"{name}_us"] for name in names}


def icmp(stage: Stage, size: int, seconds: float) -> dict:
    """Percentiles of the kernel's own echo."""
    count = max(100, round(200 * seconds))
    words = ["-n", "-i", "0.002", "-c", str(count), "-s", str(size), "127.0.0.1"]
    process = stage.run(["ping", *words])
    stage.wait(process, seconds_max(seconds))
    trips = sorted(1000 * float(ms) for ms in re.findall(r"time=([\d.]+) ms", process.text()))
    if not trips:
        raise process.error("printed no times")
    return {"p50": trips[(len(trips) - 1) // 2], "p99": trips[len(trips) * 99 // 100]}


def trips(seconds: float, rate: float) -> dict:
    count = max(3, round((rate or ROUND_TRIPS_PER_SECOND) * seconds))
    return {"count": count, "warmup": count // 10}


def trip_seconds_max(seconds: float) -> float:
    # A hundred times what a round trip takes on a quiet machine.
    return 10 * seconds + GRACE_SECONDS


@contextlib.contextmanager
def awake(limits: list[str]):
    """Keeps every core from sleeping, with spinners that yield to everybody."""
    with Stage(["chrt", "--idle", "0", "taskset"]) as spinners:
        for cpu in sorted(os.sched_getaffinity(0)):
            spinners.run([*spinners.program, "--cpu-list", str(cpu), *limits, "spinner"])
        yield


def overtaking(stage: Stage, size: int, seconds: float, bulk=8192, ends=None) -> dict:
    """A real-time message, first alone and then beside a publisher that saturates the same link."""
    tails = {}
    for name, beside in (("idle", None), ("loaded", bulk)):
        first, second = ends or meeting(stage, routed=False)
        express = {"express": True, "priority": "real-time"}
        pong = stage.start_ready("pong", **first, **express, bulk=beside is not None)
        count = trips(seconds, 1000)
        ping = stage.start("ping", **second, **express, size=size, **count, rate=1000, bulk=beside)
        tails[name] = stage.output(ping, trip_seconds_max(seconds))["p99_us"]
        pong.close()
    return {**tails, "ratio": tails["loaded"] / tails["idle"]}


# --- questions, declarations, starts, memory ------------------------------------------------------------------------


def questions(stage: Stage, size: int, seconds: float, routed=False, in_flight=1) -> dict:
    ends = meeting(stage, routed)
    stage.start_ready("queryable", **ends[0], size=size)
    asking = stage.start("get", **ends[1], **window(seconds), in_flight=in_flight)
    return {"rate": stage.output(asking, seconds_max(seconds))["gets_per_s"]}


def raw_questions(stage: Stage, size: int, seconds: float) -> dict:
    """One after the other, as bare TCP would have them."""
    return {"rate": 1e6 / raw_round_trip(stage, size, seconds)["p50"]}


def declarations(stage: Stage, size: int, seconds: float) -> dict:
    ends = meeting(stage, routed=True)
    stage.start_ready("queryable", **ends[0], size=size)
    declaring = stage.start("declare", **ends[1], **window(seconds))
    return {"rate": stage.output(declaring, seconds_max(seconds))["declarations_per_s"]}


def first_sample(stage: Stage, size: int, seconds: float, routed=False) -> dict:
    """From the start of a process to its first sample, while somebody publishes ten thousand a second."""
    if routed:
        _, place = meeting(stage, routed=True)
    else:
        place = {"mode": "peer", "multicast": free_port()}
    stage.start_ready("pub-thr", **place, size=size, rate=10_000, duration=GRACE_SECONDS + STARTS * seconds)
    took = []
    for _ in range(STARTS):
        process = stage.start_ready("sub-first", **place)
        took.append(1000 * (process.ready_at - process.started))
        process.close()
    return {"time": statistics.median(took)}


# Sessions of one process; with several open files each, more of them would meet its limit.
SESSIONS_PER_PROCESS = 2000


def memory(stage: Stage, size: int, seconds: float, sessions: int, busy=False) -> dict:
    """KiB that a session takes: on the router, and in its own process if that is of the same program."""
    endpoint = free_endpoint()
    router = stage.start_ready("router", listen=endpoint)
    holder = stage.holder if sessions > SESSIONS_PER_PROCESS else stage.program
    place = {"mode": "client", "connect": endpoint, "busy": busy, "program": holder}
    # What comes with the first sessions does not grow with them. Together there are as many as the case says.
    few = 10
    stage.start_ready("sessions", **place, sessions=few)
    before = resident_bytes(router)
    alone = stage.start_ready("sessions", **place, sessions=1)
    rest = sessions - few - 1
    sizes = chunks(rest, SESSIONS_PER_PROCESS)
    holders = [stage.start_ready("sessions", ready_seconds_max=180, **place, sessions=count) for count in sizes]
    values = {"router": (resident_bytes(router) - before) / (rest + 1) / 1024}
    if holder == stage.program:
        inside = sum(resident_bytes(each) - resident_bytes(alone) for each in holders)
        values["own"] = inside / rest / 1024
    return values


def exchange(stage: Stage, size: int, seconds: float, sessions: int) -> dict:
    """Messages a second from each of many sessions to the next, and what a million of them costs the router."""
    endpoint = free_endpoint()
    router = stage.start_ready("router", listen=endpoint)
    place = {"mode": "client", "connect": endpoint}
    ring = stage.start_ready(
        "exchange", ready_seconds_max=60, **place, **window(seconds), size=size, sessions=sessions
    )
    before = cpu_seconds_of_all(router)
    output = stage.output(ring, seconds_max(seconds))
    spent = cpu_seconds_of_all(router) - before
    return {"rate": output["msgs_per_s"], "cpu": 1e6 * spent / output["arrived"]}


def chunks(count: int, most: int) -> list[int]:
    return [min(most, count - start) for start in range(0, count, most)]


# --- two hosts ------------------------------------------------------------------------------------------------------


def across(way, mbit=None):
    """Measures over a cable between two namespaces: `way(stage, size, seconds, listening space, connecting space)`."""

    def measure(stage: Stage, size: int, seconds: float) -> dict:
        with spaces.cable(mbit) as names, Stage(stage.program) as inside:
            return way(inside, size, seconds, *names)

    return measure


def across_throughput(stage, size, seconds, here, there) -> dict:
    endpoint = free_endpoint(spaces.CABLE[0])
    known = size if size > 1024 else None
    subscriber = stage.start_ready("sub-thr", space=here, listen=endpoint, **window(seconds), size=known)
    stage.start("pub-thr", space=there, connect=endpoint, size=size, duration=seconds_max(seconds))
    return {"rate": stage.output(subscriber, seconds_max(seconds))["msgs_per_s"]}


def across_raw_throughput(stage, size, seconds, here, there) -> dict:
    endpoint = free_endpoint(spaces.CABLE[0])
    receiver = stage.start_ready("batch-receiver", space=here, listen=endpoint, **window(seconds))
    return sent_raw(stage, receiver, endpoint, size, seconds, there)


def across_iperf(stage, size, seconds, here, there) -> dict:
    return iperf(stage, size, seconds, spaces.CABLE[0], here, there)


def across_round_trip(stage, size, seconds, here, there) -> dict:
    endpoint = free_endpoint(spaces.CABLE[0])
    stage.start_ready("pong", space=here, listen=endpoint, express=True)
    client = stage.start("ping", space=there, connect=endpoint, express=True, size=size, **trips(seconds, 0))
    return percentiles(stage.output(client, trip_seconds_max(seconds)))


def across_raw_round_trip(stage, size, seconds, here, there) -> dict:
    endpoint = free_endpoint(spaces.CABLE[0])
    stage.start_ready("pingpong-server", space=here, listen=endpoint)
    client = stage.start("pingpong-client", space=there, connect=endpoint, size=size, **trips(seconds, 0))
    return percentiles(stage.output(client, trip_seconds_max(seconds)))


def across_overtaking(stage, size, seconds, here, there) -> dict:
    endpoint = free_endpoint(spaces.CABLE[0])
    ends = {"space": here, "listen": endpoint}, {"space": there, "connect": endpoint}
    return overtaking(stage, size, seconds, ends=ends)


def in_private(way):
    """Measures where nobody else uses the loopback interface, so that its counters tell what the stage has sent."""

    def measure(stage: Stage, size: int, seconds: float) -> dict:
        with spaces.private() as name, Stage(stage.program, name) as inside:
            return way(inside, size, seconds)

    return measure


def missing_tool(name: str, package: str) -> str | None:
    return None if shutil.which(name) else f"`{name}` is not installed (Debian: {package})"
