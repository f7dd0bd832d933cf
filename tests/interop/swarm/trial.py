"""One plan, run and checked.

While nothing changes (a *calm*), every sample that can come must come once and in order. While nodes fail and return (a
*storm*), samples may be lost, and while trees change they may come twice; both are counted. A storm ends when all links
are there and samples pass everywhere, which must be so within `RECOVERY_SECONDS` of the last change.
"""

import collections
import concurrent.futures
import contextlib
import dataclasses
import threading
import time

from harness.driver import DriverError
from harness.inbox import Closed
from harness.ports import free_locator
from swarm.expect import Network
from swarm.member import START_SECONDS, Member

# The longest that a neighbour is missed (a lease of 2 s), and its links are tried again (1 s), many times over: the
# machine is busy with other nodes.
RECOVERY_SECONDS = 20.0
# What each node publishes in a calm.
_CALM_COUNT = 50
_POLL_SECONDS = 0.02
# Trees are computed anew up to 100 ms after the last change of a link, by each router of the reference on its own.
_STABLE_SECONDS = 0.5
_ROUND_SECONDS = 1.0


@dataclasses.dataclass
class Calm:
    """Samples that were published while nothing changed: of each sender the numbers, and who ran."""

    number: int
    network: Network
    windows: dict
    # The logs of those who listened.
    logs: dict


@dataclasses.dataclass
class Outcome:
    """What a trial has shown. `failures` are sentences; there should be none."""

    plan: object
    failures: list = dataclasses.field(default_factory=list)
    samples: int = 0
    recoveries: list = dataclasses.field(default_factory=list)
    # What the reference lost or repeated, by rule: pairs of nodes, each counted once.
    excused: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    # Pairs of which nothing but the reference stands in the way of a certain delivery.
    excusable: int = 0
    pairs: int = 0
    storm_repeated: int = 0
    seconds: float = 0.0


class Trial:
    """Runs a plan."""

    def __init__(self, plan):
        self.plan = plan
        self.outcome = Outcome(plan)
        locators = [free_locator() for _ in plan.nodes]
        self.members = [Member(node, locators) for node in plan.nodes]
        self.calms = []
        # Nodes that were lost and back at once.
        self._returned = set()

    def run(self):
        """Returns the outcome; whatever goes wrong is a failure in it."""
        begun = time.monotonic()
        try:
            self._start()
            self._gather("the start")
            for fault in self.plan.faults:
                getattr(self, f"_{fault.kind}")(fault)
        except _Failed as failure:
            self.outcome.failures.append(str(failure))
        except (TimeoutError, Closed, DriverError) as failure:
            self.outcome.failures.append(f"{type(failure).__name__}: {failure}")
        self._check_samples()
        self._close()
        self.outcome.seconds = time.monotonic() - begun
        return self.outcome

    # What happens

    def _start(self):
        with concurrent.futures.ThreadPoolExecutor(len(self.members)) as pool:
            for spawned in [pool.submit(member.spawn) for member in self.members]:
                spawned.result()
        # Who is dialed is there before: a client does not wait for its router.
        left = self.members
        while left:
            ready = [member for member in left if all(self.members[index].up for index in member.node.dials)]
            for opened in [member.start_opening() for member in ready]:
                opened()
            left = [member for member in left if not member.up]

    def _kill(self, fault):
        member = self.members[fault.node]
        with self._storm():
            member.kill()
            if fault.missed:
                self._find_together(f"{member.node.name} was killed")
        if fault.missed:
            self._calm()
        else:
            self._returned.add(fault.node)
        with self._storm():
            member.spawn()
            member.start_opening(None if fault.same_zid else f"2{member.life:x}{member.node.zid[2:]}")()
            self._find_together(f"{member.node.name} was started again")
        self._calm()

    def _stop(self, fault):
        member = self.members[fault.node]
        with self._storm():
            member.stop()
            if fault.missed:
                self._find_together(f"{member.node.name} was stopped")
            else:
                time.sleep(fault.seconds)
        if fault.missed:
            self._calm()
        self._returned.add(fault.node)
        with self._storm():
            member.resume()
            self._find_together(f"{member.node.name} went on")
        self._calm()

    def _gather(self, what):
        with self._storm():
            self._find_together(what)
        self.outcome.recoveries.clear()
        self._calm()

    @contextlib.contextmanager
    def _storm(self):
        """Everybody who runs publishes all the time."""
        done = threading.Event()

        def publish():
            while not done.wait(0.05):
                for member in self._running():
                    member.publish(2)

        thread = threading.Thread(target=publish)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
            self._wait(lambda: all(member.sent_all() for member in self._running()), START_SECONDS, "what was published last to be sent")

    # What is waited for

    def _running(self):
        return [member for member in self.members if member.up]

    def _network(self):
        return Network(self.plan, [member.node.index for member in self._running()], self._returned)

    def _find_together(self, what):
        """Returns when all links are there and samples pass everywhere, and it has stayed so for a while."""
        begun = time.monotonic()
        network = self._network()
        first = None
        while first is None or time.monotonic() < first + _STABLE_SECONDS:
            asked = time.monotonic()
            missing = self._missing_links(network) or self._unheard(network)
            if not missing:
                first = first or asked
            elif asked > begun + RECOVERY_SECONDS:
                raise _Failed(f"{RECOVERY_SECONDS:.0f} s after {what}: {'; '.join(missing[:4])}")
            else:
                first = None
            time.sleep(_POLL_SECONDS)
        self.outcome.recoveries.append(first - begun)

    def _missing_links(self, network):
        missing = []
        for member in self._running():
            known = member.neighbours()
            for other in network.links(member.node.index):
                if self.members[other].session.zid not in known:
                    missing.append(f"{member.node.name} has no link to {self.members[other].node.name}")
        return missing

    def _unheard(self, network):
        """Who does not hear whom within a round: a sample of each, or one of the storm after it."""
        numbers = {}
        for member in self._running():
            numbers[member.sender] = member.published[-1]
        for member in self._running():
            member.publish(1)

        def unheard():
            return [
                f"{listener.node.name} does not hear {sender.node.name}"
                for sender in self._running()
                for listener in self._running()
                if network.hearing(sender.node.index, listener.node.index).certain
                and not listener.log.has(sender.sender, numbers[sender.sender])
            ]

        until = time.monotonic() + _ROUND_SECONDS
        while (missing := unheard()) and time.monotonic() < until:
            time.sleep(_POLL_SECONDS)
        return missing

    def _calm(self):
        """Nothing changes, and everything must come."""
        network, running = self._network(), self._running()
        windows = {member.sender: member.publish(_CALM_COUNT) for member in running}
        calm = Calm(len(self.calms), network, windows, {member.node.index: member.log for member in running})
        self.calms.append(calm)
        self._wait(lambda: all(member.sent_all() for member in running), START_SECONDS, "samples to be sent")
        certain = [
            (sender, listener)
            for sender in running
            for listener in running
            if network.hearing(sender.node.index, listener.node.index).certain
        ]

        def missing():
            return [pair for pair in certain if not pair[1].log.has(pair[0].sender, windows[pair[0].sender][-1])]

        with contextlib.suppress(_Failed):
            # Whether all has come is checked at the end, when there are no more stragglers.
            self._wait(lambda: not missing(), RECOVERY_SECONDS, "samples")
        self._ask_everybody(network, running)

    def _ask_everybody(self, network, running):
        """A query of each node is answered once by each, and each sees the tokens of all."""
        asked = [(member, member.session.get("asked/**", target="all", consolidation="none", timeout_ms=10_000)) for member in running]
        for member, get in asked:
            replies = get.replies(START_SECONDS)
            if errors := [reply.error for reply in replies if reply.error is not None]:
                self.outcome.failures.append(f"{self._when()}: the query of {member.node.name} ended with {errors}")
            self._check_names(member, network, [reply.sample.key for reply in replies if reply.error is None], "answers")
        self._find_tokens(network, running)

    def _find_tokens(self, network, running):
        """Each sees the tokens of those who run and no others; what was withdrawn may take a moment."""
        expected = {f"alive/{index}/{life}" for index, life in (member.sender for member in running)}
        until = time.monotonic() + RECOVERY_SECONDS
        for member in running:
            while True:
                replies = member.session.liveliness_get("alive/**", timeout_ms=10_000).replies(START_SECONDS)
                errors = [reply.error for reply in replies if reply.error is not None]
                keys = [reply.sample.key for reply in replies if reply.error is None]
                whole = self._is_whole(member, network, keys) and set(keys) <= expected and not errors
                if whole or time.monotonic() > until:
                    break
                time.sleep(_POLL_SECONDS)
            if errors:
                self.outcome.failures.append(f"{self._when()}: the token query of {member.node.name} ended with {errors}")
            self._check_names(member, network, keys, "tokens")

    def _is_whole(self, member, network, keys):
        return all(f"alive/{other.node.index}/{other.life}" in keys for other in self._certain(member, network))

    def _certain(self, member, network):
        """The nodes of which a query must get an answer."""
        ours = member.node.index
        return [
            other
            for other in self._running()
            if network.hearing(ours, other.node.index).certain and network.hearing(other.node.index, ours).certain
        ]

    def _check_names(self, member, network, keys, what):
        ours = member.node.index
        counts = collections.Counter(tuple(map(int, key.split("/")[1:])) for key in keys)
        for other in self._running():
            there, back = network.hearing(ours, other.node.index), network.hearing(other.node.index, ours)
            count = counts.pop(other.sender, 0)
            if count == 0 and there.certain and back.certain:
                self.outcome.failures.append(f"{self._when()}: {member.node.name} misses {what} of {other.node.name}")
            elif count > 1 and other is member and what == "tokens" and network.hears_own_token_twice(ours):
                self.outcome.excused["tokens, own token"] += 1
            elif count > 1 and not (there.duplicate or back.duplicate):
                self.outcome.failures.append(f"{self._when()}: {member.node.name} has {count} {what} of {other.node.name}")
            elif count != 1 and there.reachable:
                self.outcome.excused[f"{what}, {there.loss or back.loss}"] += 1
        if counts:
            self.outcome.failures.append(f"{self._when()}: {member.node.name} has {what} of nobody: {dict(counts)}")

    def _when(self):
        return f"calm {len(self.calms) - 1}"

    @staticmethod
    def _wait(satisfied, seconds, what):
        until = time.monotonic() + seconds
        while not satisfied():
            if time.monotonic() > until:
                raise _Failed(f"waited {seconds:.0f} s for {what}")
            time.sleep(_POLL_SECONDS)

    # What is checked at the end

    def _check_samples(self):
        outcome = self.outcome
        certain = set()
        excusable = set()
        calm_numbers = collections.defaultdict(set)
        for calm in self.calms:
            for sender, numbers in calm.windows.items():
                calm_numbers[sender].update(numbers)
                for index, log in calm.logs.items():
                    got = [number for number in log.numbers(sender) if number in numbers]
                    outcome.samples += len(got)
                    hearing = calm.network.hearing(sender[0], index)
                    pair = (sender[0], index)
                    (certain if hearing.certain else excusable).add(pair) if hearing.reachable else None
                    self._check_window(calm, pair, hearing, numbers, got)
        outcome.pairs, outcome.excusable = len(certain), len(excusable - certain)
        for member in self.members:
            for log in member.logs:
                for sender in {other_sender for calm in self.calms for other_sender in calm.windows}:
                    stormy = [number for number in log.numbers(sender) if number not in calm_numbers[sender]]
                    outcome.samples += len(stormy)
                    outcome.storm_repeated += len(stormy) - len(set(stormy))

    def _check_window(self, calm, pair, hearing, numbers, got):
        sender, listener = (self.plan.nodes[index].name for index in pair)
        expected = list(numbers)
        if not hearing.reachable or got == expected:
            return
        lost = len(set(expected) - set(got))
        repeated = len(got) - len(set(got))
        if lost and hearing.loss:
            self.outcome.excused[f"lost, {hearing.loss}"] += 1
        if repeated and hearing.duplicate:
            self.outcome.excused[f"repeated, {hearing.duplicate}"] += 1
        disordered = [*dict.fromkeys(got)] != sorted(set(got))
        if (lost and not hearing.loss) or (repeated and not hearing.duplicate) or (disordered and not (hearing.loss or hearing.duplicate)):
            self.outcome.failures.append(
                f"calm {calm.number}: {listener} of {sender}: {lost} lost, {repeated} repeated{', disordered' if disordered else ''} of {len(expected)}"
            )

    def _close(self):
        for member in self.members:
            try:
                member.close()
            except (RuntimeError, TimeoutError) as failure:
                if member.node.implementation == "weft":
                    self.outcome.failures.append(f"{member.node.name} did not end well: {failure}")


class _Failed(Exception):
    """What was waited for has not come."""
