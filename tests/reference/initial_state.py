"""Runs that begin in the middle (S28): jobs are submitted, started and ended without passes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

from reference.events import CLOSING, OPENING, take
from reference.model import Outcome
from reference.plan import Rectangle
from reference.queues import routed
from reference.reservations import in_time

if TYPE_CHECKING:
    from reference.kernel import Kernel
    from reference.model import Job, Placement

END, SUBMISSION, FLASH, START = range(4)


@dataclass(frozen=True)
class InitialJob:
    """What a state says of a job; `reserved` is the instant and the nodes of its reservation.

    `priority` is the one that is fixed.
    """

    row: int
    state: str
    start: float | None = None
    end: float | None = None
    placement: Placement | None = None
    saved: float = 0.0
    reserved: tuple[float, Placement] | None = None
    priority: float | None = None


@dataclass(frozen=True)
class InitialState:
    """A state; `drained` is None where external events say which nodes are closed."""

    time: float
    jobs: tuple[InitialJob, ...] = ()
    decided: bool = False
    drained: frozenset[int] | None = None


class NoRoomError(Exception):
    """The allocator finds no nodes for a running job that has none."""


def begin_in(kernel: Kernel, given: InitialState) -> None:
    """Begin a simulation in a state."""
    state, named = kernel.state, {each.row: each for each in given.jobs}
    state.holds |= {each.row for each in given.jobs if each.state == "held"}
    state.fixed |= {each.row: each.priority for each in given.jobs if each.priority is not None}
    steps = steps_until(kernel, given)
    while steps:
        pass_time(kernel, steps[0][0])
        now = next(each for each in steps if can_happen(kernel, each))
        assert now[0] == steps[0][0], "the case has no job that started too early"
        steps.remove(now)
        _, step, _, row = now
        if step == SUBMISSION:
            submit(kernel, row, named.get(row))
        elif step == END:
            end(kernel, named[row])
        else:
            start(kernel, named[row])
            if step == FLASH:
                end(kernel, named[row])
    pass_time(kernel, given.time)
    take_events(kernel, given.time)
    if given.drained is not None:
        state.machine = replace(state.machine, closed=given.drained)
    unplaced = [each for each in given.jobs if each.state == "running" and each.placement is None]
    for each in sorted(unplaced, key=lambda each: (each.start, each.row)):
        state.now = given.time
        job = next(job for job in state.queue if job.row == each.row)
        placement = state.place_now(job) if in_time(job, state.machine, given.time) else None
        if placement is None or each.start is None:
            raise NoRoomError
        state.now = each.start
        start(kernel, replace(each, placement=placement))
        pass_time(kernel, given.time)
    waiting = {job.row: job for job in state.queue}
    for each in given.jobs:
        if each.reserved is not None and each.row in waiting:
            (instant, nodes), own = each.reserved, waiting[each.row]
            state.reservations[each.row] = Rectangle(instant, instant + state.estimate(own), own, nodes)
    state.started, state.completed_since_pass = set(), False
    state.disturbed = state.given_back = False
    kernel.entered = not given.decided


def take_events(kernel: Kernel, time: float) -> None:
    """Let the external events until a time happen that are not about jobs; no job leaves its nodes."""
    while kernel.events and kernel.events[0].time <= time:
        event = kernel.events.pop(0)
        if event.kind in CLOSING | OPENING:
            nodes, closed = frozenset(event.nodes), kernel.state.machine.closed
            closed = closed | nodes if event.kind in CLOSING else closed - nodes
            kernel.state.machine = replace(kernel.state.machine, closed=closed)
            kernel.applied.append(True)
        elif event.row is None:
            kernel.applied.append(take(kernel, event))
        else:
            kernel.applied.append(False)


def can_happen(kernel: Kernel, step: tuple[float, int, int, int]) -> bool:
    """Tell whether a job that starts is in the queue: others of the same time may come before it."""
    _, kind, _, row = step
    return kind in {END, SUBMISSION} or any(job.row == row for job in kernel.state.queue)


def steps_until(kernel: Kernel, given: InitialState) -> list[tuple[float, int, int, int]]:
    """List what happens to jobs until the time of a state, in order: time, kind, place and row."""
    steps = [(job.submit_time, SUBMISSION, job.row, job.row) for job in kernel.to_come]
    for place, each in enumerate(given.jobs):
        is_flash = each.end is not None and each.end == each.start
        if each.start is not None and (each.placement is not None or each.state != "running"):
            steps.append((each.start, FLASH if is_flash else START, place, each.row))
        if each.end is not None and not is_flash:
            steps.append((each.end, END, place, each.row))
    return sorted(step for step in steps if step[0] <= given.time)


def pass_time(kernel: Kernel, time: float) -> None:
    """Move the clock; begin times and delays pass, and phases end."""
    state = kernel.state
    while True:
        turning = [each for each in state.running if not each.is_last_phase]
        due = min([each.end for each in turning], default=inf)
        due = min(due, kernel.waiting.next_instant(state.now))
        if due > time:
            break
        state.now = due
        if state.priorities:
            state.priorities.pass_time(due)
        for each in turning:
            if each.end == due:
                state.goes_on(each)
        kernel.let_in()
    state.now = time
    if state.priorities:
        state.priorities.pass_time(time)


def submit(kernel: Kernel, row: int, given: InitialJob | None) -> None:
    """Submit a job: one that waits is checked, others were admitted."""
    job = next(job for job in kernel.to_come if job.row == row)
    if given is not None and given.saved:
        kernel.state.saved[row] = given.saved
    if given is None or given.state in {"queued", "held"}:
        kernel.submit(job)
        return
    kernel.to_come.remove(job)
    bound = routed(job, kernel.state.machine)
    assert not isinstance(bound, str), "it was admitted"
    kernel.waiting.submitted.append(bound)
    kernel.let_in()


def start(kernel: Kernel, given: InitialJob) -> None:
    """Start a job on its nodes; of a job that is over they may be unknown."""
    job = next(job for job in kernel.state.queue if job.row == given.row)
    if given.placement is not None:
        kernel.state.start(job, given.placement)
    kernel.waiting.begun.setdefault(given.row, kernel.state.now)
    kernel.let_in()


def end(kernel: Kernel, given: InitialJob) -> None:
    """End a job that ran, or that waits."""
    running = next((each for each in kernel.state.running if each.job.row == given.row), None)
    now = kernel.state.now
    if running is not None:
        kernel.state.leave(running)
        kernel.outcomes[given.row] = Outcome(given.state, running.start, now, running.placement)
    else:
        waiting: list[list[Job]] = [kernel.state.queue, kernel.waiting.submitted]
        for jobs in waiting:
            jobs[:] = [job for job in jobs if job.row != given.row]
        kernel.outcomes[given.row] = Outcome(given.state, given.start, now, [])
        kernel.waiting.begun.setdefault(given.row, now)
    kernel.let_in()
