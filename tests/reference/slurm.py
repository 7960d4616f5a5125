"""One call of Slurm's controller in plain Python, with sets of nodes (S25)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import floor, inf

from batchlab.slurm import Allotment, Entry, Held, Situation

__all__ = ["WAITS", "Backfill", "Machine", "Verdict", "backfill", "begun", "main_loop"]

Left = list[list[int]]
Chosen = list[Allotment]
Verdict = tuple[str, float | None, Chosen]

WAITS: Verdict = ("waits", None, [])
# Groups of jobs end within so many seconds of the clock, then twice as many.
WINDOW = 30.0

NOT_TRIED: Verdict = ("not_tried", None, [])


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

    def rounded(self, time: float) -> float:
        return floor((time + self.epoch) / self.resolution) * self.resolution - self.epoch

    def left(self, held: Iterable[Held]) -> Left:
        left = [[*node] for node in self.nodes]
        for each in held:
            move(left, each.allotments, -1)
        return left

    def choose(self, entry: Entry, usable: Iterable[int], left: Left, most: int) -> Chosen | None:
        if self.select == "linear":
            return whole_nodes(self, entry, sorted(usable), left)
        return shared_nodes(self, entry, sorted(usable), left, most)


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


def shared_nodes(machine: Machine, entry: Entry, usable: list[int], left: Left, most: int) -> Chosen | None:
    offers = {node: offer(machine, entry, node, left[node]) for node in usable}
    offers = {node: cpus for node, cpus in offers.items() if cpus > 0}
    least = max(entry.nodes, 1)
    taken = attempt(entry, offers, most)
    for few in range(1, max(offers.values(), default=0)):
        if taken is not None or len(offers) <= least:
            break
        dropped = [node for node, cpus in offers.items() if cpus <= few][: len(offers) - least]
        for node in dropped:
            del offers[node]
        if dropped or few == 1:
            taken = attempt(entry, offers, most)
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


def attempt(entry: Entry, offers: dict[int, int], most: int) -> dict[int, int] | None:
    """Fill the job; `offers` keep what was cut where it fails."""
    missing = entry.nodes if entry.exclusive else tasks_of(entry) * entry.cpus_per_task
    nodes_missing = max(entry.nodes, 1)
    most = entry.nodes or most
    parts, taken = runs(sorted(offers)), dict[int, int]()
    while missing > 0 or nodes_missing > 0:
        best: tuple[list[int], bool, int] | None = None
        for part in parts:
            total = sum(offers[node] for node in part)
            suffices = total >= missing and len(part) >= nodes_missing
            if (
                best is None
                or (suffices and (not best[1] or total < best[2]))
                or (not suffices and total > best[2])
            ):
                best = part, suffices, total
        if best is None:
            return None
        part = best[0]
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


def main_loop(machine: Machine, situation: Situation) -> list[Verdict]:
    """Give what becomes of each entry."""
    left = machine.left(situation.running)
    away = {part.node for held in situation.completing for part in held.allotments}
    closed, started, verdicts = set[int](), set[int](), list[Verdict]()
    for entry in situation.queue:
        nodes, most = machine.partitions[entry.partition]
        if entry.partition in closed or entry.job in started:
            verdicts.append(NOT_TRIED)
        elif not entry.is_open:
            verdicts.append(WAITS)
        elif (chosen := machine.choose(entry, nodes & {*situation.available} - away, left, most)) is None:
            closed.add(entry.partition)
            away |= nodes
            verdicts.append(WAITS)
        else:
            started.add(entry.job)
            move(left, chosen, -1)
            verdicts.append(("started", None, chosen))
    return verdicts


@dataclass
class Backfill:
    """One call of backfill."""

    machine: Machine
    situation: Situation
    held: list[Held]
    records: list[tuple[float, float, frozenset[int]]]
    completing: set[int]
    started: set[int] = field(default_factory=set)
    tested: Counter[int] = field(default_factory=Counter)
    plans: Counter[int] = field(default_factory=Counter)
    puts_off: bool = False

    def consider(self, entry: Entry) -> Verdict:
        part, most = entry.partition, self.machine.max_entries_of_partition
        if entry.job in self.started or self.tested.total() >= self.machine.max_entries:
            return NOT_TRIED
        if most and self.tested[part] >= most:
            return NOT_TRIED
        self.tested[part] += 1
        found = self.earliest(entry) if entry.is_open else None
        if found is None:
            return WAITS
        start, chosen = found
        if start > self.situation.now:
            self.plans[part] += 1
            self.plan({part.node for part in chosen}, start, start + entry.limit)
            return "planned", start, chosen
        self.started.add(entry.job)
        self.held.append(Held(entry.job, start + entry.limit, chosen))
        return "started", None, chosen

    def earliest(self, entry: Entry) -> tuple[float, Chosen] | None:
        now = self.situation.now
        nodes, most = self.machine.partitions[entry.partition]
        nodes = nodes & {*self.situation.available}
        time = now
        while True:
            usable, later = self.usable(nodes, time, max(time, now) + entry.limit)
            if 0 < self.machine.plans_of_partition <= self.plans[entry.partition]:
                return self.now_or_never(entry, usable, most)
            found = self.estimate(entry, usable, most) if len(usable) >= max(entry.nodes, 1) else None
            if found is None:
                if later is None:
                    return None
                time = later
                continue
            self.puts_off |= found[0] < time
            start, chosen = max(found[0], time), found[1]
            own = {part.node for part in chosen}
            if start <= now and own & self.completing:
                start, later = now + 1, None
            if start <= now:
                return start, chosen
            if later is not None and start > later:
                time = later
            elif not self.overlaps(own, start, start + entry.limit):
                return start, chosen
            elif start == time:
                return None
            else:
                time = start

    def now_or_never(self, entry: Entry, usable: frozenset[int], most: int) -> tuple[float, Chosen] | None:
        chosen = self.machine.choose(entry, usable, self.machine.left(self.held), most)
        if chosen is None or {part.node for part in chosen} & self.completing:
            return None
        return self.situation.now, chosen

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

    def estimate(self, entry: Entry, usable: frozenset[int], most: int) -> tuple[float, Chosen] | None:
        now, machine = self.situation.now, self.machine
        left = machine.left(self.held)
        if (chosen := machine.choose(entry, usable, left, most)) is not None:
            return now, chosen
        for removed in self.removals(usable):
            for each in removed:
                move(left, each.allotments, 1)
            if (chosen := machine.choose(entry, usable, left, most)) is not None:
                last = removed[-1].end
                return (last if last > now else now + 1), chosen
        return None

    def removals(self, usable: frozenset[int]) -> Iterator[list[Held]]:
        """Give the jobs that are removed before each trial."""
        held = sorted(self.held, key=lambda each: (each.end, each.job))
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


def backfill(machine: Machine, situation: Situation) -> list[Verdict]:
    """Give what becomes of each entry."""
    call = begun(machine, situation)
    return [call.consider(entry) for entry in situation.queue]


def begun(machine: Machine, situation: Situation) -> Backfill:
    """Give a call that has looked at no entry yet."""
    now = situation.now
    held = [*situation.running]
    if machine.select == "linear":
        held += [Held(each.job, now, each.allotments) for each in situation.completing]
    begin = machine.rounded(now)
    records = [(begin, begin + machine.window, frozenset(situation.available))]
    completing = {part.node for each in situation.completing for part in each.allotments}
    return Backfill(machine, situation, held, records, completing)
