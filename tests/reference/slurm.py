"""One call of Slurm's controller in plain Python, with sets of nodes (S25)."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import inf

from batchlab.slurm import Entry, Held, Situation
from reference.gates import Gate
from reference.slurm_preemption import candidates, victims
from reference.slurm_selection import Chosen, Machine, Weights, evaluate, move, reserved

__all__ = [
    "PREEMPTED",
    "WAITS",
    "Backfill",
    "Verdict",
    "Waiting",
    "backfill",
    "begun",
    "main_begun",
    "main_loop",
]

Verdict = tuple[str, float | None, Chosen, list[int]]

WAITS: Verdict = ("waits", None, [], [])
# Groups of jobs end within so many seconds of the clock, then twice as many.
WINDOW = 30.0


@dataclass(frozen=True)
class Waiting:
    """What of a job bears on whether backfill looks at it and plans it; None: it has no such owner."""

    user: object = None
    association: object = None
    array: object = None
    priority: float = 0.0
    eligible: float = -inf


NOT_TRIED: Verdict = ("not_tried", None, [], [])
PREEMPTED = Gate("resources", detail="preempted")
"""The finding that a call has preempted others for a job."""


@dataclass
class Calls:
    """What both calls do."""

    machine: Machine
    situation: Situation
    weights: Weights
    held: list[Held]
    completing: set[int]
    done: set[int] = field(default_factory=set)
    finding: Gate | None = None
    """What kept the entry that was considered last from being tried, or from its nodes (S15)."""

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
        gone = victims(machine, self.held, entry, free=free, usable=usable, weights=self.weights)
        if not gone:
            return WAITS
        self.done.add(entry.job)
        dismissed = [each.job for each in gone if entry.may_preempt and self.dismiss(each)]
        return ("preempts", None, [], dismissed) if dismissed else WAITS

    def dismiss(self, victim: Held) -> bool:
        """Take a victim from its nodes, or let it have its grace time; False where it has it already."""
        now, rules = self.situation.now, self.machine.precedence
        grace_time = rules.grace_time if rules else 0.0
        if victim.noticed and now < victim.end:
            return False
        self.held = [each for each in self.held if each is not victim]
        if victim.noticed or not grace_time:
            self.completing |= {part.node for part in victim.allotments}
        else:
            self.held.append(replace(victim, end=min(victim.end, now + grace_time), noticed=True))
        return True


@dataclass
class MainLoop(Calls):
    """One call of the main loop."""

    away: set[int] = field(default_factory=set)
    closed: set[int] = field(default_factory=set)
    over: dict[int | None, int] = field(default_factory=dict)
    """The jobs that closed their reservations."""
    looked: Counter[int] = field(default_factory=Counter)
    starts: int = 0
    closings: list[tuple[int, int]] = field(default_factory=list)

    def stopped(self, partition: int, reservation: int | None, *, is_beyond: bool = False) -> Gate | None:
        """Give what keeps the loop from an entry: a job that closed its nodes or reservation, or a depth."""
        nodes, _ = self.machine.partitions[partition]
        closed = [job for job, part in self.closings if nodes & self.machine.partitions[part][0]]
        if reservation is not None:
            closed = [job for own, job in self.over.items() if own == reservation]
        if closed:
            return Gate("order", str(closed[0]))
        if 0 < self.machine.sched_max_job_start <= self.starts:
            return Gate("not_looked_at", detail="sched_max_job_start")
        return Gate("not_looked_at", detail="default_queue_depth") if is_beyond else None

    def consider(self, entry: Entry) -> Verdict:
        nodes, _ = self.machine.partitions[entry.partition]
        self.finding = self.stopped(entry.partition, entry.reservation)
        own, others = reserved(self.situation, entry, self.situation.now)
        if entry.job in self.done or entry.partition in self.closed or entry.reservation in self.over:
            return NOT_TRIED
        if 0 < self.machine.sched_max_job_start <= self.starts:
            return NOT_TRIED
        self.looked[entry.partition] += 1
        if 0 < self.machine.partition_job_depth < self.looked[entry.partition]:
            self.finding = self.finding or Gate("not_looked_at", detail="partition_job_depth")
            return NOT_TRIED
        if not entry.is_open and not entry.is_evaluated:
            return WAITS
        bound = suitable_of(entry, nodes if own is None else nodes & own)
        verdict = self.begin(entry, bound - self.away - others, bound)
        self.starts += verdict[0] == "started"
        self.finding = PREEMPTED if verdict[0] == "preempts" else self.finding
        if verdict[0] != "started" and entry.is_open:
            if entry.reservation is None:
                self.closed.add(entry.partition)
                self.closings.append((entry.job, entry.partition))
                self.away |= nodes
            else:
                self.over[entry.reservation] = entry.job
        return verdict


def suitable_of(entry: Entry, nodes: frozenset[int]) -> frozenset[int]:
    """Give those of the nodes that have what a job asks for."""
    return nodes if entry.suitable is None else nodes & {*entry.suitable}


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
    tested: int = 0
    looked: Counter[tuple[object, ...]] = field(default_factory=Counter)
    plans: list[tuple[int, int]] = field(default_factory=list)
    starts: int = 0
    plans_of_array: Counter[tuple[object, int]] = field(default_factory=Counter)
    puts_off: bool = False
    planned: list[tuple[float, float, int, set[int]]] = field(default_factory=list)
    promise: float | None = None
    """The planned start of the entry that was considered last, if it has one."""

    def consider(self, entry: Entry, waiting: Waiting = Waiting()) -> Verdict:
        array = waiting.array, entry.partition
        self.finding, self.promise = self.stopped(), None
        if self.finding is None and entry.job not in self.done:
            self.finding = self.reached(entry, waiting)
        if self.finding is not None or entry.job in self.done:
            return NOT_TRIED
        self.tested += 1
        self.looked.update(group for _, group, _ in self.groups(entry, waiting))
        is_planned = self.may_be_planned(entry, waiting)
        found = self.earliest(entry, is_planned) if entry.is_open or entry.is_evaluated else None
        if found is None:
            self.finding = self.in_the_way(entry) if entry.is_open else None
            return WAITS
        start, chosen, usable = found
        verdict = self.begin(entry, usable, usable) if start <= self.situation.now else WAITS
        self.starts += verdict[0] == "started"
        if verdict[0] == "started" or not entry.is_open:
            return verdict
        self.finding = PREEMPTED if verdict[0] == "preempts" else self.in_the_way(entry)
        self.promise = start
        self.plans.append((entry.partition, entry.job))
        self.plans_of_array[array] += 1
        self.plan(entry.job, {part.node for part in chosen}, start, start + entry.limit)
        if verdict[0] == "preempts":
            return "preempts", None, chosen, verdict[3]
        return "planned", start, chosen, []

    def see(self, situation: Situation) -> None:
        """Go on after a pause with the nodes and jobs that there are now."""
        self.situation = situation
        self.held, self.completing = held_in(self.machine, situation)

    @property
    def is_over(self) -> bool:
        """Whether as many entries were looked at as may be, or as many jobs started."""
        return self.tested >= self.machine.bf_max_job_test or 0 < self.machine.bf_max_job_start <= self.starts

    def reached(self, entry: Entry, waiting: Waiting) -> Gate | None:
        """Give the depth of an array, a partition or an owner that leaves an entry out."""
        most = max(self.machine.bf_max_job_array_resv, 1)
        if waiting.array is not None and self.plans_of_array[waiting.array, entry.partition] >= most:
            return Gate("not_looked_at", detail="bf_max_job_array_resv")
        groups = self.groups(entry, waiting)
        full = [name for name, group, most in groups if self.looked[group] >= most]
        return Gate("not_looked_at", detail=full[0]) if full else None

    def groups(self, entry: Entry, waiting: Waiting) -> list[tuple[str, tuple[object, ...], int]]:
        """Give what an entry is counted by, with its parameter, and how many entries of it are looked at."""
        part, user, association = entry.partition, waiting.user, waiting.association
        found: list[tuple[str, tuple[object, ...]]] = [("bf_max_job_part", ("partition", part))]
        if user is not None:
            found.append(("bf_max_job_user", ("user", user)))
            found.append(("bf_max_job_user_part", ("user", user, part)))
        if association is not None:
            found.append(("bf_max_job_assoc", ("association", association)))
        most = {name: getattr(self.machine, name) for name, _ in found}
        return [(name, group, most[name]) for name, group in found if most[name]]

    def stopped(self) -> Gate | None:
        """Give the depth that ends the call."""
        if self.tested >= self.machine.bf_max_job_test:
            return Gate("not_looked_at", detail="bf_max_job_test")
        return Gate("not_looked_at", detail="bf_max_job_start") if self.is_over else None

    def in_the_way(self, entry: Entry) -> Gate | None:
        """Give the first plan, by its begin, with a node that an entry would get now without plans."""
        now, machine = self.situation.now, self.machine
        members = machine.partitions[entry.partition][0] & {*self.situation.available}
        own, others = reserved(self.situation, entry, now)
        nodes = suitable_of(entry, members - others if own is None else members & own - others)
        chosen = machine.choose(entry, nodes - self.completing, machine.left(self.held), self.weights)
        if chosen is None:
            return None
        end = now + entry.limit
        taken = {part.node for part in chosen} - self.usable(nodes, now, end)[0]
        plans = [
            (begin, place, job)
            for place, (begin, until, job, held) in enumerate(self.planned)
            if job != entry.job and begin <= end and until > now and held & taken
        ]
        if not plans:
            return None
        begin, _, job = min(plans)
        return Gate("would_delay", str(job), hole=begin - now)

    def may_be_planned(self, entry: Entry, waiting: Waiting) -> bool:
        machine = self.machine
        of_partition = sum(part == entry.partition for part, _ in self.plans)
        if 0 < machine.bf_job_part_count_reserve <= of_partition:
            return False
        if machine.bf_one_resv_per_job and any(job == entry.job for _, job in self.plans):
            return False
        age = self.situation.now - waiting.eligible
        return waiting.priority >= machine.bf_min_prio_reserve and age >= machine.bf_min_age_reserve

    def earliest(self, entry: Entry, is_planned: bool) -> tuple[float, Chosen, frozenset[int]] | None:
        now = self.situation.now
        members = self.machine.partitions[entry.partition][0] & {*self.situation.available}
        time = now
        while True:
            usable, later = self.open(entry, members, time)
            if not is_planned:
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
        usable = suitable_of(entry, usable)
        if others:
            first = min(each.end for each in self.situation.reservations if each.end >= time)
            after = self.rounded_up(first) + 1
            if after < now + self.machine.bf_window and (later is None or after < later):
                later = after
        return usable, later

    def rounded_up(self, time: float) -> float:
        down = self.machine.rounded(time) if time < inf else inf
        return down if down == time else down + self.machine.bf_resolution

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
        found = candidates(machine, self.held, entry)
        for each in found:
            move(left, each.allotments, 1)
        if found and (chosen := machine.choose(entry, usable, left, self.weights)) is not None:
            return now, chosen
        others = [each for each in self.held if each not in found]
        busy = self.busy() if machine.bf_busy_nodes else None
        for removed in self.removals(others, usable):
            for each in removed:
                move(left, each.allotments, 1)
            if (chosen := machine.choose(entry, usable, left, self.weights, busy)) is not None:
                last = removed[-1]
                late = last.end + machine.kill_wait + last.over_time_limit
                return (last.end if last.end > now else max(late, now + 1)), chosen
        return None

    def busy(self) -> frozenset[int]:
        """Give the nodes that jobs hold now, or have not left."""
        return frozenset(part.node for each in self.held for part in each.allotments) | self.completing

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

    def plan(self, job: int, nodes: set[int], start: float, end: float) -> None:
        start = max(self.machine.rounded(start), self.records[0][0])
        end = max(self.machine.rounded(end), start + self.machine.bf_resolution)
        self.planned.append((start, end, job, nodes))
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
    return [
        call.consider(
            entry, Waiting(entry.user, entry.association, entry.array, entry.priority, entry.eligible)
        )
        for entry in situation.queue
    ]


def begun(machine: Machine, situation: Situation, weights: Weights) -> Backfill:
    """Give a call that has looked at no entry yet."""
    held, completing = held_in(machine, situation)
    begin = machine.rounded(situation.now)
    records = [(begin, begin + machine.bf_window, frozenset(situation.available))]
    return Backfill(machine, situation, weights, held, completing, records=records)


def held_in(machine: Machine, situation: Situation) -> tuple[list[Held], set[int]]:
    """Give the jobs that hold nodes for backfill, and the nodes whose jobs are over."""
    held = [*situation.running]
    if machine.select == "linear":
        held += [
            Held(each.job, -inf, each.allotments, may_be_preempted=False) for each in situation.completing
        ]
    return held, {part.node for each in situation.completing for part in each.allotments}
