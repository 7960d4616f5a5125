"""One call of Slurm's controller in plain Python, with sets of nodes (S25)."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from math import floor, inf

from batchlab.slurm import Allotment, Entry, Held, Precedence, Situation

__all__ = [
    "WAITS",
    "Backfill",
    "Machine",
    "Verdict",
    "Weights",
    "backfill",
    "begun",
    "evaluate",
    "main_begun",
    "main_loop",
]

Left = list[list[int]]
Chosen = list[Allotment]
Weights = list[int]
Verdict = tuple[str, float | None, Chosen, list[int]]

WAITS: Verdict = ("waits", None, [], [])
# Groups of jobs end within so many seconds of the clock, then twice as many.
WINDOW = 30.0
# How often candidates for preemption are put in another order.
REORDERINGS = 2

NOT_TRIED: Verdict = ("not_tried", None, [], [])


@dataclass(frozen=True)
class Machine:
    """What does not change from call to call."""

    nodes: Sequence[tuple[int, int]]
    partitions: Sequence[tuple[frozenset[int], int]]
    select: str
    resolution: float = 60.0
    window: float = 86_400.0
    epoch: float = 0.0
    max_entries: float = inf
    max_entries_of_partition: int = 0
    plans_of_partition: int = 0
    max_starts: int = 0
    depth_of_partition: int = 0
    main_starts: int = 0
    kill_wait: float = 30.0
    node_weights: Sequence[int] = ()
    precedence: Precedence | None = None

    def weights(self) -> Weights:
        """Give the weights of nodes before any job is evaluated."""
        return [*self.node_weights] or [1] * len(self.nodes)

    def rounded(self, time: float) -> float:
        return floor((time + self.epoch) / self.resolution) * self.resolution - self.epoch

    def left(self, held: Iterable[Held]) -> Left:
        left = [[*node] for node in self.nodes]
        for each in held:
            move(left, each.allotments, -1)
        return left

    def choose(self, entry: Entry, usable: Iterable[int], left: Left, weights: Weights) -> Chosen | None:
        most = self.partitions[entry.partition][1]
        if self.select == "linear":
            return whole_nodes(self, entry, sorted(usable), left)
        offers = {node: offer(self, entry, node, left[node]) for node in sorted(usable)}
        return shared_nodes(entry, {node: cpus for node, cpus in offers.items() if cpus > 0}, most, weights)

    def begin(self, entry: Entry, usable: set[int], left: Left, weights: Weights) -> Chosen | None:
        """Choose nodes of a job that has been evaluated."""
        steps = sorted({weights[node] for node in usable}) if self.select == "linear" else [max(weights)]
        for most in steps:
            light = [node for node in usable if weights[node] <= most]
            if (chosen := self.choose(entry, light, left, weights)) is not None:
                return chosen
        return None


def move(left: Left, allotments: Iterable[Allotment], sign: int) -> None:
    for part in allotments:
        left[part.node][0] += sign * part.cpus
        left[part.node][1] += sign * part.memory


def runs(nodes: Iterable[int]) -> list[list[int]]:
    found: list[list[int]] = []
    for node in nodes:
        if found and found[-1][-1] == node - 1:
            found[-1].append(node)
        else:
            found.append([node])
    return found


def whole_nodes(machine: Machine, entry: Entry, usable: list[int], left: Left) -> Chosen | None:
    idle = [node for node in usable if tuple(left[node]) == tuple(machine.nodes[node])]
    wanted = max(entry.nodes, 1)
    if len(idle) < wanted:
        return None
    parts, taken = runs(idle), list[int]()
    while len(taken) < wanted:
        missing = wanted - len(taken)
        sufficient = [part for part in parts if len(part) >= missing]
        part = min(sufficient, key=len) if sufficient else max(parts, key=len)
        parts.remove(part)
        taken += part[:missing]
    return [Allotment(node, *machine.nodes[node]) for node in sorted(taken)]


def shared_nodes(entry: Entry, offers: dict[int, int], most: int, weights: Weights) -> Chosen | None:
    least = max(entry.nodes, 1)
    taken = attempt(entry, offers, most, weights)
    for few in range(1, max(offers.values(), default=0)):
        if taken is not None or len(offers) <= least:
            break
        dropped = [node for node, cpus in offers.items() if cpus <= few][: len(offers) - least]
        for node in dropped:
            del offers[node]
        if dropped or few == 1:
            taken = attempt(entry, offers, most, weights)
    if taken is None:
        return None
    per_cpu = entry.memory if entry.memory_is_per_cpu else 0
    per_node = 0 if entry.memory_is_per_cpu else entry.memory
    return [Allotment(node, cpus, per_node + per_cpu * cpus) for node, cpus in sorted(taken.items())]


def tasks_of(entry: Entry) -> int:
    return entry.tasks or max(entry.tasks_per_node, 1) * max(entry.nodes, 1)


def offer(machine: Machine, entry: Entry, node: int, left: list[int]) -> int:
    cpus, memory = left
    if entry.exclusive and cpus < machine.nodes[node][0]:
        return 0
    if entry.memory_is_per_cpu and entry.memory:
        cpus = min(cpus, memory // entry.memory)
    elif not entry.memory_is_per_cpu and memory < entry.memory:
        return 0
    if cpus < entry.cpus_per_task * max(entry.tasks_per_node, 1):
        return 0
    return cpus - cpus % entry.cpus_per_task if tasks_of(entry) > 1 else cpus


def attempt(entry: Entry, offers: dict[int, int], most: int, weights: Weights) -> dict[int, int] | None:
    """Fill the job; `offers` keep what was cut where it fails."""
    missing = entry.nodes if entry.exclusive else tasks_of(entry) * entry.cpus_per_task
    nodes_missing = max(entry.nodes, 1)
    most = entry.nodes or most
    taken = dict[int, int]()
    parts = [[*part] for run in runs(sorted(offers)) for _, part in groupby(run, weights.__getitem__)]
    while missing > 0 or nodes_missing > 0:
        best = best_part(parts, offers, weights, (missing, nodes_missing))
        if best is None:
            return None
        part = best
        parts.remove(part)
        alone = [node for node in part if offers[node] >= missing] if nodes_missing <= 1 else []
        for node in [min(alone, key=lambda node: offers[node])] if alone else part:
            if missing <= 0 and nodes_missing <= 0:
                break
            if len(taken) == most:
                return None
            if len(taken) == most - 1 and offers[node] < missing:
                continue
            if not entry.exclusive:
                offers[node] = min(offers[node], max(missing - max(nodes_missing - 1, 0), 1))
            taken[node] = entry.tasks_per_node * entry.cpus_per_task or offers[node]
            missing -= taken[node]
            nodes_missing -= 1
    return taken


def best_part(
    parts: list[list[int]], offers: dict[int, int], weights: Weights, missing: tuple[int, int]
) -> list[int] | None:
    """Give the part of the least weight that suffices with the fewest CPUs, or has the most."""
    best: tuple[list[int], bool, int] | None = None
    lightest = min((weights[part[0]] for part in parts), default=0)
    for part in [part for part in parts if weights[part[0]] == lightest]:
        total = sum(offers[node] for node in part)
        suffices = total >= missing[0] and len(part) >= missing[1]
        if (
            best is None
            or (suffices and (not best[1] or total < best[2]))
            or (not suffices and total > best[2])
        ):
            best = part, suffices, total
    return best and best[0]


def evaluate(
    machine: Machine, held: Iterable[Held], entry: Entry, nodes: Iterable[int], weights: Weights
) -> None:
    """Give nodes the weights that they have for this job, until the next one is evaluated."""
    groups = {*entry.counted_in}
    counted = {part.node for each in held if groups & {*each.counted_in} for part in each.allotments}
    fresh = machine.weights()
    of_weight = defaultdict[int, set[int]](set)
    for node in nodes:
        of_weight[fresh[node]].add(node)
    for weight, alike in of_weight.items():
        for node in alike:
            weights[node] = weight + (bool(alike & counted) and node not in counted)


def reserved(
    situation: Situation, entry: Entry, begin: float
) -> tuple[frozenset[int] | None, frozenset[int]]:
    """Give the nodes to which a job is bound that starts then, and those that are reserved for others."""
    end, others = begin + entry.limit, set[int]()
    for number, each in enumerate(situation.reservations):
        if number != entry.reservation and each.begin < end and each.end > begin:
            others |= {*each.nodes}
    own = None if entry.reservation is None else frozenset(situation.reservations[entry.reservation].nodes)
    return own, frozenset(others)


@dataclass
class Calls:
    """What both calls do."""

    machine: Machine
    situation: Situation
    weights: Weights
    held: list[Held]
    completing: set[int]
    done: set[int] = field(default_factory=set)

    def begin(self, entry: Entry, usable: Iterable[int], evaluated: Iterable[int]) -> Verdict:
        """Start a job, or preempt others for it."""
        machine = self.machine
        evaluate(machine, self.held, entry, evaluated, self.weights)
        if not entry.is_open:
            return WAITS
        free = {*usable} - self.completing
        chosen = machine.begin(entry, free, machine.left(self.held), self.weights)
        if chosen is not None:
            self.done.add(entry.job)
            end = self.situation.now + entry.limit
            self.held.append(
                Held(
                    entry.job,
                    end,
                    chosen,
                    may_be_preempted=False,
                    counted_in=entry.counted_in,
                )
            )
            return "started", None, chosen, []
        gone = victims(self, entry, free, usable)
        if not gone:
            return WAITS
        self.done.add(entry.job)
        if entry.may_preempt:
            self.held = [each for each in self.held if each not in gone]
            self.completing |= {part.node for each in gone for part in each.allotments}
            return "preempts", None, [], [each.job for each in gone]
        return WAITS

    def candidates(self, entry: Entry) -> list[Held]:
        """Give the jobs that a job may preempt, in order."""
        rules = self.machine.precedence
        if rules is None:
            return []
        nodes = self.machine.partitions[entry.partition][0]
        found = [
            each
            for each in self.held
            if each.preemption_class in rules.preempts[entry.preemption_class]
            and nodes & {part.node for part in each.allotments}
            and each.may_be_preempted
        ]

        def key(each: Held) -> tuple[float, float, int]:
            within = -each.started if rules.youngest_first else len(each.allotments)
            return rules.importance[each.preemption_class], within, each.job

        return sorted(found, key=key)


def victims(call: Calls, entry: Entry, free: set[int], usable: Iterable[int]) -> list[Held]:
    """Give the jobs that go so that a job fits; none where all are not enough."""
    order = call.candidates(entry)
    nodes_of = {each.job: {part.node for part in each.allotments} for each in order}
    free = free | {node for nodes in nodes_of.values() for node in nodes if node in {*usable}}
    rounds = 0
    while True:
        left, gone = call.machine.left(call.held), list[Held]()
        chosen: Chosen | None = None
        for each in order:
            if not nodes_of[each.job] & free:
                continue
            move(left, each.allotments, 1)
            gone.append(each)
            chosen = call.machine.choose(entry, free, left, call.weights)
            if chosen is not None:
                break
        if chosen is None:
            return []
        own = {part.node for part in chosen}
        rounds += 1
        if rounds > REORDERINGS or len(order) <= rounds:
            return [each for each in gone if nodes_of[each.job] & own]
        last = gone.pop()
        use = {each.job: len(nodes_of[each.job] & own) for each in order[: order.index(last)]}
        use[last.job] = len(call.machine.nodes) + 1
        order = sorted(order, key=lambda each: -use.get(each.job, 0))


@dataclass
class MainLoop(Calls):
    """One call of the main loop."""

    away: set[int] = field(default_factory=set)
    closed: set[int] = field(default_factory=set)
    over: set[int | None] = field(default_factory=set)
    looked: Counter[int] = field(default_factory=Counter)
    starts: int = 0

    def consider(self, entry: Entry) -> Verdict:
        nodes, _ = self.machine.partitions[entry.partition]
        own, others = reserved(self.situation, entry, self.situation.now)
        if entry.job in self.done or entry.partition in self.closed or entry.reservation in self.over:
            return NOT_TRIED
        if 0 < self.machine.main_starts <= self.starts:
            return NOT_TRIED
        self.looked[entry.partition] += 1
        if 0 < self.machine.depth_of_partition < self.looked[entry.partition]:
            return NOT_TRIED
        if not entry.is_open and not entry.is_evaluated:
            return WAITS
        bound = nodes if own is None else nodes & own
        verdict = self.begin(entry, bound - self.away - others, bound)
        self.starts += verdict[0] == "started"
        if verdict[0] != "started" and entry.is_open:
            if entry.reservation is None:
                self.closed.add(entry.partition)
                self.away |= nodes
            else:
                self.over.add(entry.reservation)
        return verdict


def main_loop(machine: Machine, situation: Situation, weights: Weights) -> list[Verdict]:
    """Give what becomes of each entry."""
    call = main_begun(machine, situation, weights)
    return [call.consider(entry) for entry in situation.queue]


def main_begun(machine: Machine, situation: Situation, weights: Weights) -> MainLoop:
    """Give a call that has looked at no entry yet."""
    completing = {part.node for held in situation.completing for part in held.allotments}
    away = {*range(len(machine.nodes))} - {*situation.available}
    return MainLoop(machine, situation, weights, [*situation.running], completing, away=away)


@dataclass
class Backfill(Calls):
    """One call of backfill."""

    records: list[tuple[float, float, frozenset[int]]] = field(default_factory=list)
    tested: Counter[int] = field(default_factory=Counter)
    plans: Counter[int] = field(default_factory=Counter)
    starts: int = 0
    puts_off: bool = False

    def consider(self, entry: Entry) -> Verdict:
        part = entry.partition
        if self.is_passed_over(entry):
            return NOT_TRIED
        self.tested[part] += 1
        found = self.earliest(entry) if entry.is_open or entry.is_evaluated else None
        if found is None:
            return WAITS
        start, chosen, usable = found
        verdict = self.begin(entry, usable, usable) if start <= self.situation.now else WAITS
        self.starts += verdict[0] == "started"
        if verdict[0] == "started" or not entry.is_open:
            return verdict
        self.plans[part] += 1
        self.plan({part.node for part in chosen}, start, start + entry.limit)
        if verdict[0] == "preempts":
            return "preempts", None, chosen, verdict[3]
        return "planned", start, chosen, []

    def is_passed_over(self, entry: Entry) -> bool:
        most = self.machine.max_entries_of_partition
        is_full = bool(most) and self.tested[entry.partition] >= most
        is_full |= 0 < self.machine.max_starts <= self.starts
        return entry.job in self.done or self.tested.total() >= self.machine.max_entries or is_full

    def earliest(self, entry: Entry) -> tuple[float, Chosen, frozenset[int]] | None:
        now = self.situation.now
        members = self.machine.partitions[entry.partition][0] & {*self.situation.available}
        time = now
        while True:
            usable, later = self.open(entry, members, time)
            if 0 < self.machine.plans_of_partition <= self.plans[entry.partition]:
                return self.now_or_never(entry, usable)
            found = self.estimate(entry, usable) if len(usable) >= max(entry.nodes, 1) else None
            if found is None:
                if later is None:
                    return None
                time = later
                continue
            self.puts_off |= found[0] < time
            start, chosen = max(found[0], time), found[1]
            own_nodes = {part.node for part in chosen}
            if start <= now and own_nodes & self.completing:
                start, later = now + 1, None
            if start <= now:
                return start, chosen, usable
            if later is not None and start > later:
                time = later
            elif not self.overlaps(own_nodes, start, start + entry.limit):
                return start, chosen, usable
            elif start == time:
                return None
            else:
                time = start

    def open(self, entry: Entry, members: frozenset[int], time: float) -> tuple[frozenset[int], float | None]:
        """Give the nodes on which a job may run from a time on, and when to look again."""
        now = self.situation.now
        own, others = reserved(self.situation, entry, time)
        nodes = members - others if own is None else members & own - others
        usable, later = self.usable(nodes, time, max(time, now) + entry.limit)
        if others:
            first = min(each.end for each in self.situation.reservations if each.end >= time)
            after = self.rounded_up(first) + 1
            if after < now + self.machine.window and (later is None or after < later):
                later = after
        return usable, later

    def rounded_up(self, time: float) -> float:
        down = self.machine.rounded(time) if time < inf else inf
        return down if down == time else down + self.machine.resolution

    def now_or_never(
        self, entry: Entry, usable: frozenset[int]
    ) -> tuple[float, Chosen, frozenset[int]] | None:
        chosen = self.machine.choose(entry, usable, self.machine.left(self.held), self.weights)
        if chosen is None or {part.node for part in chosen} & self.completing:
            return None
        return self.situation.now, chosen, usable

    def usable(self, nodes: frozenset[int], time: float, end: float) -> tuple[frozenset[int], float | None]:
        free, later = nodes, None
        following = [record[2] for record in self.records[1:]]
        for place, (begin, until, own) in enumerate(self.records):
            if until <= time:
                continue
            if later is None and place < len(following) and not nodes & following[place] <= free & own:
                later = until
            if begin > end:
                break
            free &= own
        return free, later

    def estimate(self, entry: Entry, usable: frozenset[int]) -> tuple[float, Chosen] | None:
        now, machine = self.situation.now, self.machine
        left = machine.left(self.held)
        if (chosen := machine.choose(entry, usable, left, self.weights)) is not None:
            return now, chosen
        candidates = self.candidates(entry)
        for each in candidates:
            move(left, each.allotments, 1)
        if candidates and (chosen := machine.choose(entry, usable, left, self.weights)) is not None:
            return now, chosen
        others = [each for each in self.held if each not in candidates]
        for removed in self.removals(others, usable):
            for each in removed:
                move(left, each.allotments, 1)
            if (chosen := machine.choose(entry, usable, left, self.weights)) is not None:
                last = removed[-1].end
                return (last if last > now else max(last + machine.kill_wait, now + 1)), chosen
        return None

    def removals(self, jobs: list[Held], usable: frozenset[int]) -> Iterator[list[Held]]:
        """Give the jobs that are removed before each trial."""
        held = sorted(jobs, key=lambda each: (each.end, each.job))
        group: list[Held] = []
        edge, span = 0.0, WINDOW
        for place, each in enumerate(held):
            if not {part.node for part in each.allotments} & usable:
                continue
            group.append(each)
            if self.machine.select == "linear":
                yield group
                group = []
                continue
            if not edge:
                clock = each.end + self.machine.epoch
                edge = clock + WINDOW - clock % WINDOW - self.machine.epoch
            following = held[place + 1].end if place + 1 < len(held) else edge
            if following > edge + span:
                yield group
                group = []
                while following > edge + span:
                    span *= 2
        if group:
            yield group

    def overlaps(self, nodes: set[int], start: float, end: float) -> bool:
        start, end = self.machine.rounded(start), self.machine.rounded(end)
        return any(until > start and begin < end and nodes - own for begin, until, own in self.records)

    def plan(self, nodes: set[int], start: float, end: float) -> None:
        start = max(self.machine.rounded(start), self.records[0][0])
        end = max(self.machine.rounded(end), start + self.machine.resolution)
        cut = []
        for begin, until, free in self.records:
            times = sorted({begin, until} | {time for time in (start, end) if begin < time < until})
            cut += [
                (one, other, free - nodes if one >= start and other <= end else free)
                for one, other in pairwise(times)
            ]
        for place, (one, other) in enumerate(pairwise(cut)):
            if one[2] == other[2]:
                cut[place : place + 2] = [(one[0], other[1], one[2])]
                break
        self.records = cut


def backfill(machine: Machine, situation: Situation, weights: Weights) -> list[Verdict]:
    """Give what becomes of each entry."""
    call = begun(machine, situation, weights)
    return [call.consider(entry) for entry in situation.queue]


def begun(machine: Machine, situation: Situation, weights: Weights) -> Backfill:
    """Give a call that has looked at no entry yet."""
    now = situation.now
    held = [*situation.running]
    if machine.select == "linear":
        held += [
            Held(each.job, -inf, each.allotments, may_be_preempted=False) for each in situation.completing
        ]
    begin = machine.rounded(now)
    records = [(begin, begin + machine.window, frozenset(situation.available))]
    completing = {part.node for each in situation.completing for part in each.allotments}
    return Backfill(machine, situation, weights, held, completing, records=records)
