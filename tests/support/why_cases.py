"""The schedule of a random case, as the reference of S29 sees it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

from reference.queues import routed
from reference.why import Run, Schedule

if TYPE_CHECKING:
    from collections.abc import Iterator

    import batchlab as bl
    from reference import Job, Machine, Reservation
    from support.schedule_cases import Case

__all__ = ["schedule_of"]

Closed = tuple[int, float, float, int]


def schedule_of(case: Case, result: bl.Result) -> Schedule:
    """Read the schedule of a case."""
    jobs = [bound(job, case.machine) for job in case.jobs]
    known = [each.name for each in case.machine.reservations]
    uses = {job.row: known.index(job.in_reservation) + 1 for job in jobs if job.in_reservation}
    closed = [*closures(result), *reservations(case)]
    return Schedule(jobs, case.machine.capacity, runs_of(jobs, case.machine, result), closed, uses)


def bound(job: Job, machine: Machine) -> Job:
    """Bind a job to the nodes of its partitions, groups and reservation."""
    found = routed(job, machine)
    job = job if isinstance(found, str) else found
    if not job.node_groups:
        return job
    group_of = [group for group, count in enumerate(machine.groups) for _ in range(count)]
    own = frozenset(node for node, group in enumerate(group_of) if group in job.node_groups)
    sets = job.node_sets or (frozenset(range(len(machine.capacity))),)
    return replace(job, node_sets=tuple(each & own for each in sets))


def runs_of(jobs: list[Job], machine: Machine, result: bl.Result) -> list[Run]:
    """Read all runs, by row and start."""
    placed: dict[int, dict[int, int]] = defaultdict(dict)
    for row, node, tasks in result.placements.select("row", "node", "tasks").iter_rows():
        placed[row][node] = placed[row].get(node, 0) + tasks
    found = []
    for row, (start, end) in enumerate(result.jobs.select("start_time", "end_time").iter_rows()):
        if start is not None:
            found.append((row, start, inf if end is None else end, placed[row]))
    log = result.outcome.tables["interruptions"]
    for place, (start, end) in enumerate(pairwise(log["placement_offsets"].tolist())):
        on: dict[int, int] = {}
        nodes, tasks = log["placement_nodes"][start:end], log["placement_tasks"][start:end]
        for node, count in zip(nodes.tolist(), tasks.tolist(), strict=True):
            on[node] = on.get(node, 0) + count
        times = float(log["start_time"][place]), float(log["end_time"][place])
        found.append((int(log["row"][place]), *times, on))
    found.sort(key=lambda run: run[:3])
    return [
        Run(row, start, end, held_by(jobs[row], machine, on), sum(on.values()))
        for row, start, end, on in found
    ]


def held_by(job: Job, machine: Machine, on: dict[int, int]) -> dict[int, tuple[int, ...]]:
    """Give what a run holds on each of its nodes."""
    if job.exclusive:
        return {node: tuple(machine.capacity[node]) for node in on}
    return {node: tuple(tasks * each for each in job.request) for node, tasks in on.items()}


def closures(result: bl.Result) -> Iterator[Closed]:
    """Read when nodes were closed."""
    log = result.outcome.tables["closures"]
    since: dict[int, float] = {}
    for time, node, closed in zip(log["time"], log["node"], log["closed"], strict=True):
        if closed:
            since[int(node)] = float(time)
        else:
            yield int(node), since.pop(int(node)), float(time), 0
    yield from ((node, time, inf, 0) for node, time in since.items())


def reservations(case: Case) -> Iterator[Closed]:
    """Give when nodes were reserved, while the reservation was known."""
    for number, each in enumerate(case.machine.reservations):
        events = [event for event in case.events if event.number == number]
        changes = [event for event in events if event.kind in {"reserve", "unreserve"}]
        is_known = not changes or changes[0].kind == "unreserve"
        times = [-inf, *(event.time for event in changes), inf]
        states = [is_known, *(event.kind == "reserve" for event in changes)]
        for (since, until), known in zip(pairwise(times), states, strict=True):
            for begin, end in occurrences(each):
                span = max(begin, since), min(end, until)
                if known and span[0] < span[1]:
                    yield from ((node, *span, number + 1) for node in each.nodes)


def occurrences(reservation: Reservation) -> Iterator[tuple[float, float]]:
    """Give begin and end of each occurrence."""
    begin, count = reservation.start, 0
    while True:
        yield begin, begin + reservation.duration
        count += 1
        begin = reservation.start + count * reservation.every
        if not reservation.every or begin >= reservation.until:
            return
