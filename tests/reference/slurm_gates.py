"""Why jobs wait under Slurm's controller (S15): what bars them, and what the latest call found."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING

from reference.gates import Gate, Interval, Promises
from reference.slurm import PREEMPTED
from reference.slurm_asking import whole

if TYPE_CHECKING:
    from reference.slurm_jobs import Begun, Kept, SlurmJob
    from reference.slurm_runs import Run
    from reference.slurm_selection import Machine

__all__ = ["Finding", "SlurmGates"]

Finding = Gate | None
"""What a call found of an entry: what kept it from it, or None where it tried it and found no nodes."""

_FURTHER = ("not_looked_at", "order", "would_delay", "resources")
_PLACES = ("unavailable", "resources", "window")
_AMOUNTS = ("core", "mem", "gpu")


@dataclass
class Found:
    """What a call found of a job; `is_missed` if the job could not have started since.

    `promised` is the start that the latest cycle with the job in its queue has planned.
    """

    finding: Finding
    by_cycle: bool
    call: int
    promised: float | None = None
    is_missed: bool = False


@dataclass
class SlurmGates:
    """The gates of waiting jobs, since when each is in the queue, and the intervals that are over."""

    is_asked: bool = True
    current: dict[int, tuple[Gate, float]] = field(default_factory=dict)
    entered: dict[int, float] = field(default_factory=dict)
    over: list[Interval] = field(default_factory=list)
    found: dict[int, Found] = field(default_factory=dict)
    promises: Promises = field(default_factory=Promises)
    calls: int = 0

    def enter(self, job: SlurmJob, now: float) -> None:
        """Note a job that enters the queue; no call has come upon it."""
        self.entered[job.row] = now
        self.found.pop(job.row, None)

    def note(
        self, job: SlurmJob, finding: Finding, *, by_cycle: bool, call: int, planned: float | None = None
    ) -> None:
        """Note what a call found of an entry: of the entries of a job, what is furthest down the table."""
        old = self.found.get(job.row)
        if old is None:
            self.found[job.row] = Found(finding, by_cycle, call, planned)
            return
        if old.by_cycle and not by_cycle and finding != PREEMPTED:
            return
        promised = planned if by_cycle else old.promised
        if old.call == call:
            promised = min((each for each in (planned, old.promised) if each is not None), default=None)
            if rank(finding) <= rank(old.finding):
                old.promised = promised
                return
        self.found[job.row] = Found(finding, by_cycle or old.by_cycle, call, promised)

    def begin(self, run: Run, begun: Begun) -> None:
        """Begin in a state: jobs have waited before, until they started or ended, or until now."""
        by_row = {job.row: job for job in run.jobs}
        until = {row: start for row, (start, _) in begun.running.items()}
        until |= dict.fromkeys(begun.over, begun.time)
        for row, end in until.items():
            if end > by_row[row].submit_time:
                self.over.append((row, by_row[row].submit_time, end, Gate("before_state")))
        for job in run.queue:
            self.enter(job, run.now)
            self.current[job.row] = Gate("before_state"), job.submit_time

    def look(self, run: Run) -> None:
        """Look at the jobs of the queue at the end of an instant, if gates are asked for."""
        if not self.is_asked:
            return
        room = Room(run)
        gates = {job.row: self.gate_of(job, run, room) for job in run.queue}
        for row, (gate, since) in list(self.current.items()):
            if gates.get(row) != gate:
                del self.current[row]
                if run.now > since:
                    self.over.append((row, since, run.now, gate))
        for row, gate in gates.items():
            self.current.setdefault(row, (gate, run.now))
        found = {job.row: self.found[job.row].promised for job in run.queue if job.row in self.found}
        self.promises.note(run.now, {row: start for row, start in found.items() if start is not None})

    def gate_of(self, job: SlurmJob, run: Run, room: Room) -> Gate:
        """Return the first gate that holds."""
        found = self.found.get(job.row)
        name, gate = run.limit_over(job), None
        if job.reservation is not None and not is_before_its_end(run, job):
            gate = Gate("own_reservation", f"r{job.reservation}")
        elif found is None and job in run.again:
            gate = Gate("begin_time")
        elif name is not None:
            gate = Gate("limit", name)
        gate = gate or room.gate_of(job, self.entered[job.row])
        if gate is not None:
            if found is not None:
                found.is_missed = True
            return gate
        if found is None:
            return Gate("not_looked_at")
        if found.is_missed:
            return Gate("not_looked_at", detail="bf_interval" if found.by_cycle else None)
        return found.finding or Gate("resources", detail="selection")

    def intervals(self) -> list[Interval]:
        """Return all intervals by row and time; those that go on have no end."""
        going_on: list[Interval] = [(row, since, None, gate) for row, (gate, since) in self.current.items()]
        return sorted([*self.over, *going_on], key=lambda each: each[:2])


def is_before_its_end(run: Run, job: SlurmJob) -> bool:
    """Return whether the reservation of a job has begun, and goes on for more than its limit."""
    own = run.reservations[job.at_reservation]
    return own.begin <= run.now < own.end - job.limit


def turns(run: Run) -> list[float]:
    """Return when waiting jobs come too late for their reservations, or into the way of others'."""
    times = list[float]()
    for job in run.queue:
        for number, each in enumerate(run.reservations):
            times.append((each.end if number == job.reservation else each.begin) - job.limit)
    return times


def rank(finding: Finding) -> int:
    """Return the place of a finding in the table."""
    return -1 if finding is None else _FURTHER.index(finding.name)


class Room:
    """What is free at an instant, and who holds the rest."""

    def __init__(self, run: Run) -> None:
        self.run, self.machine = run, run.machine
        self.drained = {each.node for each in run.drained if each.begin <= run.now < each.end}
        self.amounts = [list(node) for node in self.machine.nodes]
        self.is_idle = [True] * len(self.amounts)
        for job in run.holding:
            take(self.machine, job, run.places[job.row][1], self.amounts, self.is_idle)

    def gate_of(self, job: SlurmJob, entered: float) -> Gate | None:
        """Return the gate of the partition with the last one in the table; None if the job fits in one."""
        gates = [self.of_partition(job, partition, entered) for partition in job.partitions]
        if None in gates:
            return None
        return max((gate for gate in gates if gate is not None), key=lambda gate: _PLACES.index(gate.name))

    def of_partition(self, job: SlurmJob, partition: int, entered: float) -> Gate | None:
        """Return the gate of a job in one of its partitions."""
        nodes = self.nodes_of(job, partition) - self.reserved(job, self.run.now)
        most = sum(self.slots(job, node, self.machine.nodes[node], is_idle=True) for node in nodes)
        if most < job.tasks:
            return Gate("unavailable", asked=job.tasks, free=most)
        slots = self.slots_on(job, nodes)
        if slots >= job.tasks:
            return self.window(job, nodes)
        held_by = "overtakers" if self.fits_without_overtakers(job, nodes, entered) else "earlier"
        held_by = "victims" if job.row in self.run.fall_for.values() else held_by
        lacking = []
        for place, asked in enumerate((job.cpus, job.memory, job.gpus)[: len(self.machine.nodes[0])]):
            free, total = sum(self.amounts[node][place] for node in nodes), asked * job.tasks
            if free < total:
                ratio = Fraction(total, free) if free else inf
                lacking.append((ratio, -place, _AMOUNTS[place], total, free))
        if lacking:
            *_, name, total, free = max(lacking)
            return Gate("resources", name, held_by, total, free)
        return Gate("resources", None, held_by, job.tasks, slots)

    def slots_on(self, job: SlurmJob, nodes: frozenset[int]) -> int:
        """Return how many tasks of a job find room on what is free of some nodes."""
        return sum(self.slots(job, node, self.amounts[node], is_idle=self.is_idle[node]) for node in nodes)

    def nodes_of(self, job: SlurmJob, partition: int) -> frozenset[int]:
        """Return the nodes of a partition that a job may use, and that are not drained."""
        nodes = self.machine.partitions[partition][0] - self.drained
        if job.reservation is not None:
            nodes &= self.run.reservations[job.reservation].nodes
        return nodes if job.bound is None else nodes & job.bound

    def reserved(self, job: SlurmJob, until: float) -> frozenset[int]:
        """Return the nodes in others' reservations that are under way, or begin until some time."""
        others = [each for each in self.others(job) if each.begin <= max(until, self.run.now)]
        return frozenset(node for each in others for node in each.nodes)

    def others(self, job: SlurmJob) -> list[Kept]:
        """Return the reservations of others that are not over."""
        known = enumerate(self.run.reservations)
        return [each for number, each in known if number != job.reservation and each.end > self.run.now]

    def window(self, job: SlurmJob, nodes: frozenset[int]) -> Gate | None:
        """Return the gate of a job that fits on these nodes, but would be in the way of a reservation."""
        now = self.run.now
        begins = {each.begin for each in self.others(job)}
        for begin in sorted(each for each in begins if each > now >= each - job.limit):
            if self.slots_on(job, nodes - self.reserved(job, begin)) < job.tasks:
                number = next(
                    number
                    for number, each in enumerate(self.run.reservations)
                    if number != job.reservation and each.begin == begin
                )
                return Gate("window", f"r{number}", hole=begin - now)
        return None

    def fits_without_overtakers(self, job: SlurmJob, nodes: frozenset[int], entered: float) -> bool:
        """Tell whether a job would fit once the nodes of its overtakers were free."""
        amounts, is_idle = [list(node) for node in self.machine.nodes], [True] * len(self.amounts)
        for other, (start, _, _) in self.run.holding.items():
            is_later = (other.submit_time, other.row) > (job.submit_time, job.row)
            if not (is_later and start >= entered):
                take(self.machine, other, self.run.places[other.row][1], amounts, is_idle)
        found = sum(self.slots(job, node, amounts[node], is_idle=is_idle[node]) for node in nodes)
        return found >= job.tasks

    def slots(self, job: SlurmJob, node: int, free: list[int] | tuple[int, ...], *, is_idle: bool) -> int:
        """Return how many tasks of a job find room on a node; on whole nodes only if it is idle."""
        if node in self.drained or (whole(self.machine, job) and not is_idle):
            return 0
        asked = job.cpus, job.memory, job.gpus
        most = min(left // amount for left, amount in zip(free, asked, strict=False) if amount)
        return max(min(most, job.tasks_per_node or most), 0)


def take(
    machine: Machine,
    job: SlurmJob,
    spread: tuple[tuple[int, int], ...],
    amounts: list[list[int]],
    is_idle: list[bool],
) -> None:
    """Take what the tasks of a job hold on its nodes; all of them where it holds these alone."""
    for node, tasks in spread:
        is_idle[node] = False
        asked = job.cpus, job.memory, job.gpus
        for place, left in enumerate(amounts[node]):
            held = left if job.exclusive else asked[place] * tasks
            amounts[node][place] -= held
