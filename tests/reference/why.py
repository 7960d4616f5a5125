"""Why a job waited (S29): who had the machine, and what set its start; from the schedule alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reference.model import Job

HOLDERS = ("own_run", "running", "before", "overtook", "unavailable", "idle_enough", "idle")


@dataclass(frozen=True)
class Run:
    """A run of a job: the amounts that it held by node, and its tasks; the end is infinite if it goes on."""

    row: int
    start: float
    end: float
    held: Mapping[int, tuple[int, ...]]
    tasks: int


@dataclass(frozen=True)
class Schedule:
    """All runs, by row and start; nodes that took no job, from when to when, and for which reservation."""

    jobs: Sequence[Job]
    capacity: Sequence[Sequence[int]]
    runs: Sequence[Run]
    closed: Sequence[tuple[int, float, float, int]] = ()
    uses: Mapping[int, int] | None = None

    def runs_of(self, row: int) -> list[Run]:
        return [run for run in self.runs if run.row == row]

    def nodes(self, job: Job) -> set[int]:
        sets = job.node_sets or (frozenset(range(len(self.capacity))),)
        return {node for each in sets for node in each}

    def is_closed(self, node: int, time: float, job: Job) -> bool:
        own = (self.uses or {}).get(job.row, 0)
        return any(
            each == node and begin <= time < end and not (number and number == own)
            for each, begin, end, number in self.closed
        )

    def precedes(self, row: int, other: int) -> bool:
        return (self.jobs[row].submit_time, row) < (self.jobs[other].submit_time, other)


def unit_of(schedule: Schedule, job: Job, asked: Sequence[int]) -> int:
    """Give the resource that is the unit: the one that the job asks most of, as a share of its nodes."""
    nodes = schedule.nodes(job)
    has = [sum(schedule.capacity[node][k] for node in nodes) for k in range(len(asked))]
    shares = [Fraction(each, most) if most else Fraction(-1) for each, most in zip(asked, has, strict=True)]
    return shares.index(max(shares))


def asked_of(schedule: Schedule, job: Job, *, has_started: bool) -> tuple[int, ...]:
    """Give what it was allocated at its last start, or what its tasks ask for."""
    if not has_started:
        return tuple(job.tasks * each for each in job.request)
    held = schedule.runs_of(job.row)[-1].held.values()
    return tuple(sum(each) for each in zip(*held, strict=True))


def capacity(
    schedule: Schedule, row: int, begin: float, end: float, asked: Sequence[int]
) -> dict[str, float]:
    """Give the unit-seconds of each holder, instant by instant and node by node."""
    job = schedule.jobs[row]
    unit = unit_of(schedule, job, asked)
    edges = {begin, end}
    edges |= {time for run in schedule.runs for time in (run.start, run.end)}
    edges |= {time for _, *span, _ in schedule.closed for time in span}
    times = sorted(time for time in edges if begin <= time <= end)
    found = dict.fromkeys(HOLDERS, 0.0)
    for since, until in pairwise(times):
        for holder, units in holders(schedule, job, since, unit, asked[unit]).items():
            found[holder] += units * (until - since)
    return found


def holders(schedule: Schedule, job: Job, now: float, unit: int, asked: int) -> dict[str, int]:
    """Give the units of each holder from an instant on."""
    found, nodes = dict.fromkeys(HOLDERS, 0), schedule.nodes(job)
    here = [run for run in schedule.runs if run.start <= now < run.end]
    has = sum(schedule.capacity[node][unit] for node in nodes)
    if any(run.row == job.row for run in here):
        return found | {"own_run": has}
    idle = 0
    for node in nodes:
        left = schedule.capacity[node][unit]
        for run in here:
            units = run.held[node][unit] if node in run.held else 0
            meanwhile = "before" if schedule.precedes(run.row, job.row) else "overtook"
            found["running" if run.start < job.submit_time else meanwhile] += units
            left -= units
        if schedule.is_closed(node, now, job):
            found["unavailable"] += left
        else:
            idle += left
    return found | {"idle_enough" if idle >= asked else "idle": idle}


def chain(schedule: Schedule, row: int, begin: float) -> tuple[list[tuple[int, float, float]], str]:
    """Give the links, the latest first: row, begin and end; and how the chain ends."""
    links: list[tuple[int, float, float]] = []
    run = schedule.runs_of(row)[-1]
    while True:
        cause = setting(schedule, run)
        if cause is None:
            return links, "no_end"
        links.append((cause.row, max(cause.start, begin), run.start))
        if cause.start <= begin:
            return links, "reached"
        if came(schedule, cause) == cause.start:
            return links, "at_once"
        run = cause


def came(schedule: Schedule, run: Run) -> float:
    """Give since when a job had waited for a run."""
    runs = schedule.runs_of(run.row)
    place = runs.index(run)
    return runs[place - 1].end if place else schedule.jobs[run.row].submit_time


def setting(schedule: Schedule, run: Run) -> Run | None:
    """Give the run whose end set a start."""
    ended = sorted(
        (each for each in schedule.runs if each.end == run.start and each.start < each.end),
        key=lambda each: each.row,
    )
    for candidates in (
        needed(schedule, run, ended),
        [each for each in ended if each.row in needs(schedule, schedule.jobs[run.row])],
        [each for each in ended if set(each.held) & schedule.nodes(schedule.jobs[run.row])],
        ended,
    ):
        if candidates:
            return candidates[0]
    return None


def needed(schedule: Schedule, run: Run, ended: list[Run]) -> list[Run]:
    """Give those of the ended runs without whose end the job would not fit."""
    kept: list[Run] = []
    for each in reversed(ended):
        if fits_beside(schedule, run, [*kept, each]):
            kept.append(each)
    return [each for each in ended if each not in kept]


def fits_beside(schedule: Schedule, run: Run, kept: list[Run]) -> bool:
    """Tell whether the slots for a run's tasks suffice beside all that runs then and some more."""
    job = schedule.jobs[run.row]
    there = [each for each in schedule.runs if each.start <= run.start < each.end and each.row != run.row]
    sets = job.node_sets or (frozenset(range(len(schedule.capacity))),)
    usable = next((each for each in sets if each >= set(run.held)), schedule.nodes(job))
    room = 0
    for node in usable:
        if node not in run.held and schedule.is_closed(node, run.start, job):
            continue
        others = [each for each in [*there, *kept] if node in each.held]
        if job.exclusive and others:
            continue
        slots = job.tasks_per_node or run.tasks
        for k, asks in enumerate(job.request):
            left = schedule.capacity[node][k] - sum(each.held[node][k] for each in others)
            slots = min(slots, max(left, 0) // asks) if asks else slots
        room += slots
    return room >= run.tasks


def needs(schedule: Schedule, job: Job) -> set[int]:
    """Give the rows of the jobs that a job depends on; a singleton on all earlier ones of its name."""
    found = set(job.depends_on)
    for each in job.dependencies:
        found |= set(each.rows)
        if each.kind == "singleton":
            found |= {
                other.row
                for other in schedule.jobs
                if (other.user, other.name) == (job.user, job.name) and schedule.precedes(other.row, job.row)
            }
    return found


def overtakers(schedule: Schedule, row: int, end: float) -> list[int]:
    """Give the rows of the jobs that were submitted later and started earlier, by start and row."""
    firsts = {run.row: run.start for run in reversed(schedule.runs)}
    found = [other for other, start in firsts.items() if schedule.precedes(row, other) and start < end]
    return sorted(found, key=lambda other: (firsts[other], other))
