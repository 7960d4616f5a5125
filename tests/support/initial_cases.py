"""Random runs that begin in the middle: cut and begun again, or in states made by hand."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest

import batchlab as bl
from reference.allocators import Allocator
from reference.gates import Gates
from reference.initial_state import InitialJob, InitialState, NoRoomError
from reference.queues import routed
from reference.room import room_beside
from support.combinations import Combinations
from support.discipline_cases import discipline_case
from support.event_cases import delayed, eventful
from support.preemption_cases import preempting
from support.priority_cases import prioritised, scored
from support.queue_cases import limited, queued, reserved
from support.schedule_cases import Case, grouped
from support.schedule_runs import (
    events_of,
    gate_rows_that_differ,
    options_of,
    outcomes_of,
    policy_of,
    simulation_of,
    workload_of,
)
from support.schedule_systems import system_of

if TYPE_CHECKING:
    from reference import Job
    from reference.model import Placement

__all__ = [
    "Begun",
    "begun_case",
    "cut_differences",
    "featured",
    "handmade_differences",
    "handmade_gate_differences",
    "stored",
]


class Begun(NamedTuple):
    """A case, and the state in which it begins."""

    case: Case
    state: InitialState


def featured(number: int) -> Case:
    """Give a case; every twelfth one under a discipline."""
    if number % 12 == 11:
        return replace(discipline_case(number), controls=(), node_events=())
    return replace(FEATURED.case(number), node_events=(), predictor="requested")


def features(case: Case, rng: Random) -> Case:
    """Add some features to a case."""
    case = queued(case, rng) if rng.random() < 0.3 else case
    case = prioritised(case, rng) if rng.random() < 0.25 else case
    case = scored(case, rng) if rng.random() < 0.05 else case
    case = preempting(case, rng) if rng.random() < 0.2 else case
    case = limited(case, rng) if rng.random() < 0.25 else case
    case = reserved(case, rng) if rng.random() < 0.25 else case
    case = grouped(case, rng) if rng.random() < 0.2 else case
    case = delayed(case, rng) if rng.random() < 0.2 else case
    return eventful(case, rng) if rng.random() < 0.25 else case


FEATURED = Combinations(features)


def begun(case: Case, state: bl.InitialState, *, explain: bool = False) -> bl.Simulation:
    """Give the simulation of a case that begins in a state."""
    return bl.Simulation(
        workload_of(case),
        system_of(case.machine),
        policy_of(case),
        options=replace(options_of(case), explain=explain),
        events=events_of(case),
        initial_state=state,
    )


def cut_differences(case: Case, seed: int) -> list[str] | str:
    """Cut a run and begin it anew: list what differs, or say why it has no state at this instant."""
    whole, steps = simulation_of(case), 0
    while whole.step():
        steps += 1
    cut, rng = simulation_of(case), Random(seed)  # noqa: S311 - no secret
    for _ in range(rng.randint(1, max(1, steps))):
        cut.step()
    try:
        state = cut.initial_state()
    except bl.SimulationError as error:
        return str(error)
    state = stored(state, rng)
    again = begun(case, state)
    again.run_until()
    pairs = zip(case.jobs, *(outcomes_of(case, each.result()) for each in (whole, again)), strict=True)
    lines = [f"job {job.row}: expected {one}, got {got}" for job, one, got in pairs if one != got]
    return [f"cut at {state.time}", *lines] if lines else []


def stored(state: bl.InitialState, rng: Random) -> bl.InitialState:
    """Write the state to a file and read it, some of the time."""
    suffix = rng.choice(("", "", "csv", "parquet"))
    if not suffix:
        return state
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"state.{suffix}"
        state.write(path)
        return bl.InitialState.read(path)


def begun_case(case: Case, seed: int) -> Begun:  # the cases are one list of choices
    """Make a state by hand: some jobs run, on nodes at random or none; others are over, wait, or are held."""
    rng = Random(f"by hand {seed}")  # noqa: S311 - no secret
    times = sorted(job.submit_time for job in case.jobs)
    time = rng.choice(times) + rng.choice((0.0, 0.0, 1.0, 2.5, 7.0))
    machine = case.machine
    running: list[tuple[Job, Placement]] = []
    described, jobs = [], list(case.jobs)
    fixing = Random(f"priorities {seed}")  # noqa: S311 - no secret
    for job in rng.sample(case.jobs, len(case.jobs)):
        each = InitialJob(job.row, "queued")
        bound = routed(job, machine)
        is_free = not (job.dependencies or job.depends_on or job.begin_time or job.array is not None)
        if job.submit_time <= time and not isinstance(bound, str) and is_free:
            start = rng.choice((job.submit_time, rng.uniform(job.submit_time, time), time))
            name = rng.choice(("random", "first_fit", "worst_fit"))
            places = Allocator(name, seed, resources=machine.resources)
            rooms = room_beside(machine, running)
            placement = next((at for one in bound.in_each_set if (at := places.place(one, rooms))), None)
            if rng.random() < 0.15:
                end = rng.uniform(start, time)
                each = replace(each, state=rng.choice(("completed", "killed")), start=start, end=end)
                each = each if end > start else replace(each, end=start)
            elif placement is not None and rng.random() < 0.6 and can_run(case, job, time - start):
                run_time = max(job.run_time, time - start + rng.choice((0.0, 1.0, 3.0)))
                jobs[job.row] = replace(job, run_time=run_time)
                running.append((bound, placement))
                each = replace(each, state="running", start=start, placement=placement)
        elif rng.random() < 0.5:
            continue
        if each.state == "queued" and rng.random() < 0.1:
            each = replace(each, state="held")
        if each.end is None and fixing.random() < 0.15:
            each = replace(each, priority=float(fixing.choice((-5, 0, 1, 1000))))
        if each.state != "queued" or each.priority is not None or job.submit_time <= time:
            described.append(each)
    if rng.random() < 0.3:
        # The allocator finds nodes for the last, as it had some.
        last = next((each for each in described if each.state == "running"), None)
        described = [replace(each, placement=None) if each == last else each for each in described]
    closed = frozenset(node for node in range(len(machine.capacity)) if rng.random() < 0.1)
    state = InitialState(time, tuple(described), False, closed if rng.random() < 0.4 else None)
    return Begun(replace(case, jobs=tuple(jobs)), state)


def can_run(case: Case, job: Job, elapsed: float) -> bool:
    """Tell whether a job may have run for so long."""
    return case.walltime == "run" or job.limit > elapsed


def described(state: InitialState) -> bl.InitialState:
    """Give a state as users describe it."""
    rows = []
    for each in state.jobs:
        placement = each.placement or []
        row: dict[str, object] = {"job_id": each.row, "state": each.state}
        row |= {"start_time": each.start, "end_time": each.end, "priority": each.priority}
        row |= {"nodes": [node for node, _ in placement] or None}
        row |= {"node_tasks": [tasks for _, tasks in placement] or None}
        rows.append(row)
    return bl.InitialState(state.time, rows, decided=state.decided, drained=state.drained)


def handmade_differences(case: Case, state: InitialState) -> list[str]:
    """List where kernel and reference differ in a run that begins in a state."""
    try:
        expected = case.expected(initial=state)
    except NoRoomError:
        with pytest.raises(bl.WorkloadError, match="finds no nodes for it"):
            begun(case, described(state))
        return []
    simulation = begun(case, described(state))
    simulation.run_until()
    pairs = zip(case.jobs, expected, outcomes_of(case, simulation.result()), strict=True)
    return [f"job {job.row}: expected {one}, got {got}" for job, one, got in pairs if one != got]


def handmade_gate_differences(case: Case, state: InitialState) -> list[str]:
    """List where gates and promised starts differ in a run that begins in a state."""
    gates = Gates()
    try:
        case.expected([], gates=gates, initial=state)
    except NoRoomError:
        return []
    simulation = begun(case, described(state), explain=True)
    simulation.run_until()
    return gate_rows_that_differ(gates, simulation.result())
