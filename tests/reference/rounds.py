"""S23, 7 to 10: aggregated message passing, as plain Python.

Scripts are those of `messages`, with ``("flops", amount)`` and ``("collective", number)``: the collective of
that number, which is a list of rounds of messages.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reference.messages import Operation, flat
from reference.sharing import Activity, Floats, Resources, Shared, max_min

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from reference.moments import Moment

CLOSE = 1e-9  # times that differ by less, relatively, are one

__all__ = ["Machine", "Message", "Plan", "Rules", "ends", "plan"]


class Message(NamedTuple):
    """Ranks and payload."""

    source: int
    target: int
    size: float


class Rules(NamedTuple):
    """The options of messages."""

    envelope: float
    threshold: float
    send_overhead: float = 0.0
    receive_overhead: float = 0.0


@dataclass
class Machine:
    """Hosts and links.

    From host to host a list of links, and seconds; links with bytes per second, to each message if `fat`.
    """

    route: Callable[[int, int], tuple[list[int], float]]
    bandwidth: Floats
    fat: NDArray[np.bool_]
    loopback: float = 1e10
    speed: float = 0.0
    """Operations per second of a core."""
    cores: int = 1


@dataclass
class Plan:
    """The rounds of a job as activities, each with its delay; and what passes at the end."""

    activities: list[Activity] = field(default_factory=list)
    rest: float = 0.0


Sent = tuple[Any, ...]
"""Which message: its key, or the collective, the round and the place in it."""


@dataclass
class Ranks:
    """Ranks that go through their operations by clocks of their own."""

    programs: list[list[Operation]]
    collectives: list[list[list[Message]]]
    rules: Rules
    arrival: Callable[[Sent, Message, float], float]
    """When a message arrives that sets out at a time."""
    timed: bool = True
    """Whether computing and overheads take time."""

    @property
    def overheads(self) -> tuple[float, float]:
        """Seconds before a send and after a receive."""
        return (self.rules.send_overhead, self.rules.receive_overhead) if self.timed else (0.0, 0.0)

    def ends(self) -> list[float]:  # noqa: C901  # the rules side by side
        clock, place = [0.0] * len(self.programs), [0] * len(self.programs)
        posts: dict[tuple[str, Sent], float] = {}
        before, after = self.overheads
        every = [operation for program in self.programs for operation in program]
        sizes = {operation[1]: operation[2] for operation in every if operation[0] == "post send"}
        callers = {
            number: [rank for rank, program in enumerate(self.programs) if ("collective", number) in program]
            for number in range(len(self.collectives))
        }

        def next_of(rank: int) -> Operation | None:
            return self.programs[rank][place[rank]] if place[rank] < len(self.programs[rank]) else None

        def arrived(key: Sent) -> float | None:
            eager = sizes[key] < self.rules.threshold
            sides = ["post send"] if eager else ["post send", "post receive"]
            times = [posts[side, key] for side in sides if (side, key) in posts]
            if len(times) < len(sides):
                return None
            return self.arrival(key, Message(key[0], key[1], sizes[key]), max(times))

        def goes_on(rank: int, name: str, what: Any) -> bool:  # noqa: ANN401  # by name
            if name == "compute":
                clock[rank] += what if self.timed else 0.0
            elif name == "collective":
                if any(next_of(other) != (name, what) for other in callers[what]):
                    return False
                for number, messages in enumerate(self.collectives[what]):
                    self.pass_round(clock, messages, (what, number))
                for other in callers[what]:
                    place[other] += other != rank
            elif name.startswith("post"):
                clock[rank] += before if name == "post send" else 0.0
                posts[name, what] = clock[rank]
            elif name == "await receive" or sizes[what] >= self.rules.threshold:
                end = arrived(what)
                if end is None:
                    return False
                clock[rank] = max(clock[rank], end) + (after if name == "await receive" else 0.0)
            return True

        moved = True
        while moved:
            moved = False
            for rank in range(len(self.programs)):
                while (operation := next_of(rank)) and goes_on(rank, *operation[:2]):
                    place[rank] += 1
                    moved = True
        assert all(next_of(rank) is None for rank in range(len(place))), "a deadlock"
        return clock

    def pass_round(self, clock: list[float], messages: list[Message], which: tuple[int, int]) -> None:
        """Post receives, then sends; await the receives, then the sends by rendezvous."""
        receives, arrivals = list(clock), []
        before, after = self.overheads
        for at, message in enumerate(messages):
            clock[message.source] += before
            begin = clock[message.source]
            if message.size >= self.rules.threshold:
                begin = max(begin, receives[message.target])
            arrivals.append(self.arrival((*which, at), message, begin))
        for message, arrival in zip(messages, arrivals, strict=True):
            clock[message.target] = max(clock[message.target], arrival) + after
        for message, arrival in zip(messages, arrivals, strict=True):
            if message.size >= self.rules.threshold:
                clock[message.source] = max(clock[message.source], arrival)


def plan(
    scripts: list[list[Operation]],
    collectives: list[list[list[Message]]],
    rules: Rules,
    machine: Machine,
    hosts: Sequence[int],
) -> Plan:
    """Find the rounds of a job on hosts, their demands, and their delays."""
    shares = [min(1.0, machine.cores / hosts.count(host)) * machine.speed for host in hosts]
    programs = [
        [("compute", each[1] / share) if each[0] == "flops" else each for each in program]
        for program, share in zip(flat(scripts), shares, strict=True)
    ]
    rounds: dict[int, dict[Sent, Message]] = defaultdict(dict)

    def deepen(sent: Sent, message: Message, depth: float) -> float:
        rounds[int(depth)][sent] = message
        return depth + 1

    Ranks(programs, collectives, rules, deepen, timed=False).ends()
    bundles = [_Bundle([*rounds[depth].values()], rules, machine, hosts) for depth in range(len(rounds))]
    takes = {
        sent: seconds
        for depth, bundle in enumerate(bundles)
        for sent, seconds in zip(rounds[depth], bundle.durations(), strict=True)
    }
    arrivals: dict[Sent, float] = {}

    def arrive(sent: Sent, message: Message, begin: float) -> float:
        del message
        arrivals[sent] = begin + takes[sent]
        return arrivals[sent]

    end = max(Ranks(programs, collectives, rules, arrive).ends())
    groups, last = [_Group(machine, [])], 0.0
    for depth, bundle in enumerate(bundles):
        last = max(last, *(arrivals[sent] for sent in rounds[depth]))
        group = _Group(machine, [bundle])
        while groups[-1].bundles and groups[-1].end + group.seconds > last * (1 + CLOSE):
            group = _Group(machine, [*groups.pop().bundles, *group.bundles])
        before = groups[-1].end
        group.end = max(before + group.seconds, last)
        group.delay = group.end - before - group.seconds
        groups.append(group)
    return Plan([group.activity() for group in groups[1:]], max(0.0, end - groups[-1].end))


@dataclass
class _Group:
    """Rounds that are one activity."""

    machine: Machine
    bundles: list[_Bundle]
    delay: float = 0.0
    end: float = 0.0

    @property
    def load(self) -> Floats:
        load: Floats = np.sum([bundle.load for bundle in self.bundles], axis=0)
        return load

    @property
    def inside(self) -> float:
        return sum(bundle.inside for bundle in self.bundles)

    @property
    def seconds(self) -> float:
        """Say how long the group takes alone, without latencies."""
        return max(self.inside, float(np.max(self.load / self.machine.bandwidth, initial=0.0)))

    def activity(self) -> Activity:
        """Give the rounds as one activity, whose rate is that of their largest messages."""
        amount = sum(max(bundle.sizes) for bundle in self.bundles)
        if amount == 0.0:
            return Activity(np.zeros_like(self.load), 0.0, latency=self.delay)
        bound = amount / self.inside if self.inside else inf
        return Activity(self.load / amount, amount, bound, self.delay)


class _Bundle:
    """The messages of a round: their bytes and number on each link."""

    def __init__(self, messages: list[Message], rules: Rules, machine: Machine, hosts: Sequence[int]) -> None:
        self.machine = machine
        self.sizes = [message.size + rules.envelope for message in messages]
        self.routes = [machine.route(hosts[each.source], hosts[each.target]) for each in messages]
        self.load, self.count = np.zeros(len(machine.bandwidth)), np.zeros(len(machine.bandwidth))
        for size, (links, _) in zip(self.sizes, self.routes, strict=True):
            for link in links:
                fat = machine.fat[link]
                self.load[link] = max(self.load[link], size) if fat else self.load[link] + size
                self.count[link] += size > 0
        within = [size for size, (links, _) in zip(self.sizes, self.routes, strict=True) if not links]
        self.inside = max(within, default=0.0) / machine.loopback

    def durations(self) -> list[float]:
        """Say how long each message takes: with all others, but no longer than at an even share."""
        found = []
        for size, (links, latency) in zip(self.sizes, self.routes, strict=True):
            count = np.where(self.machine.fat, 1, self.count)
            shares = [
                min(self.load[link], count[link] * size) / self.machine.bandwidth[link] for link in links
            ]
            found.append(latency + float(max(shares) if links else size / self.machine.loopback))
        return found


def ends(plans: Sequence[Plan], resources: Resources, others: Sequence[Activity] = ()) -> list[float]:
    """Say when jobs are done that all begin at 0, with other activities beside them, and when these are."""
    shared = Shared(max_min, resources)
    now: Moment = 0.0
    jobs = [[*each.activities, Activity(0 * resources.capacity, 0.0, latency=each.rest)] for each in plans]
    done = [0.0] * (len(plans) + len(others))
    running: dict[int, int] = {}
    for at, other in enumerate(others):
        shared.start(0.0, other)
        running[id(other)] = len(plans) + at
    for at, job in enumerate(jobs):
        shared.start(0.0, job[0])
        running[id(job[0])] = at
    while running:
        shared.solve(now)
        now = shared.next_time(now)
        for activity in shared.finish(now):
            which = running.pop(id(activity))
            done[which] = float(now)
            if which < len(jobs) and len(jobs[which]) > 1:
                jobs[which].pop(0)
                running[id(jobs[which][0])] = which
                shared.start(now, jobs[which][0])
    return done
