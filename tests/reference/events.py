"""External events: what users, administrators and faults do to jobs, nodes and the scheduler (S18)."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

from reference.node_events import victims
from reference.sleep import counts_from

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reference.kernel import Kernel
    from reference.model import ExternalEvent, Job, Machine
    from reference.state import Running

CLOSING = frozenset({"drain", "remove", "down"})
OPENING = frozenset({"resume", "add", "up"})


def absent_nodes(events: Sequence[ExternalEvent]) -> frozenset[int]:
    """Give the nodes that are added before they are removed, which are not there from the beginning."""
    first: dict[int, str] = {}
    for event in events:
        for node in event.nodes if event.kind in {"add", "remove"} else ():
            first.setdefault(node, event.kind)
    return frozenset(node for node, kind in first.items() if kind == "add")


def take(kernel: Kernel, event: ExternalEvent) -> bool:
    """Let an event happen; tell whether it applied."""
    applied = happens(kernel, event)
    if applied and event.kind not in CLOSING | OPENING:
        kind = "job" if event.row is not None else event.kind
        kind = "scheduler" if kind.startswith("scheduler") else kind
        kind = "reservation" if kind in {"reserve", "unreserve"} else kind
        kernel.state.causes.add(kernel.state.now, kind, event.row)
    return applied


def happens(kernel: Kernel, event: ExternalEvent) -> bool:
    """Let an event happen; tell whether it applied."""
    if event.kind in CLOSING | OPENING:
        return change_nodes(kernel, event)
    if event.kind in {"scheduler_stop", "scheduler_start"}:
        stops = event.kind == "scheduler_stop"
        applied = kernel.stopped != stops
        kernel.stopped = stops
        # What was planned before is void.
        kernel.state.disturbed |= applied and not stops
        return applied
    if event.number is not None:
        return (set_limit if event.kind == "limit" else set_known)(kernel, event)
    return change_job(kernel, event)


def change_job(kernel: Kernel, event: ExternalEvent) -> bool:
    """Let happen to a job what happens."""
    job = next((job for job in kernel.jobs if job.row == event.row), None)
    assert job is not None
    match event.kind:
        case "kill" | "requeue" | "end":
            return change_running(kernel, event, job)
        case "cancel" | "hold" | "release":
            return change_waiting(kernel, event, job)
        case "requested_time":
            assert event.value is not None
            return change_limit(kernel, job, event.value)
        case "priority":
            return give_priority(kernel, job, event.value)
    raise AssertionError(event)


def unknown_reservations(events: Sequence[ExternalEvent], machine: Machine) -> frozenset[str]:
    """Give the reservations of which the first event is that they become known."""
    first: dict[int, str] = {}
    for event in events:
        if event.kind in {"reserve", "unreserve"} and event.number is not None:
            first.setdefault(event.number, event.kind)
    return frozenset(machine.reservations[each].name for each, kind in first.items() if kind == "reserve")


def set_limit(kernel: Kernel, event: ExternalEvent) -> bool:
    """Let a limit allow another amount of what it limits; of a resource where the quantity names one."""
    state = kernel.state
    assert event.number is not None
    old = state.machine.limits[event.number]
    name, _, resource = event.quantity.partition(".")
    name = {"resources": "amounts"}.get(name, name)
    value = inf if event.value is None else event.value
    change: dict[str, Any] = {name: {**getattr(old, name), resource: value} if resource else value}
    new = replace(old, **change)
    limits = [new if number == event.number else each for number, each in enumerate(state.machine.limits)]
    state.machine = replace(state.machine, limits=tuple(limits))
    state.disturbed |= new != old
    return new != old


def set_known(kernel: Kernel, event: ExternalEvent) -> bool:
    """Let a reservation be known from now on, or no longer."""
    state = kernel.state
    assert event.number is not None
    names = {state.machine.reservations[event.number].name}
    before = state.machine.unknown
    unknown = before - names if event.kind == "reserve" else before | names
    state.machine = replace(state.machine, unknown=unknown)
    state.disturbed |= unknown != before
    return unknown != before


def change_nodes(kernel: Kernel, event: ExternalEvent) -> bool:
    """Close or open nodes, one after the other; of those that are down the jobs are cut short."""
    state, applied = kernel.state, False
    for node in event.nodes:
        before = state.machine.closed
        closed = before | {node} if event.kind in CLOSING else before - {node}
        state.machine = replace(state.machine, closed=closed)
        changed = closed != before
        if changed:
            state.causes.add(state.now, "node")
        if changed and state.sleep is not None:
            state.sleep.touch([node], state.now)
        for victim in victims(state, node) if event.kind == "down" else []:
            changed = True
            state.cut_short(victim, kernel.kill, kills=event.kills or not victim.job.requeue)
        state.disturbed |= changed
        applied |= changed
    return applied


def running_of(kernel: Kernel, job: Job) -> Running | None:
    return next((each for each in kernel.state.running if each.job.row == job.row), None)


def change_running(kernel: Kernel, event: ExternalEvent, job: Job) -> bool:
    running = running_of(kernel, job)
    if running is None or (event.kind == "requeue" and not job.requeue):
        return False
    if event.kind == "end" and running.phase in {"completing", "suspending"}:
        return False
    if event.kind == "end":
        if running.phase == "launching":
            kernel.state.begin_work(running)
        kernel.state.forgo(running)
        running.work = kernel.state.now - running.begun
        running.end, running.state = kernel.state.now, "completed"
        running.leg = None
        kernel.state.completed_early(job)
        return True
    kernel.state.cut_short(running, kernel.kill, kills=event.kind == "kill")
    kernel.state.disturbed = True
    return True


def change_waiting(kernel: Kernel, event: ExternalEvent, job: Job) -> bool:
    """Take a waiting job out of the queue for good, or until it is released."""
    state, row = kernel.state, job.row
    waiting, held = waiting_job(kernel, row), state.held.get(row)
    if event.kind == "cancel":
        return cancel_job(kernel, job)
    if waiting is None:
        is_to_come = job in kernel.to_come
        applied = is_to_come and (event.kind == "hold" or (event.kind == "release" and row in state.holds))
        if applied:
            # It is held from its submission on, or no longer.
            (state.holds.add if event.kind == "hold" else state.holds.discard)(row)
        return applied
    if event.kind == "hold":
        state.returns.pop(row, None)
        if waiting in kernel.waiting.submitted:
            state.holds.add(row)
        elif waiting in state.queue:
            state.queue.remove(waiting)
            state.reservations.pop(row, None)
            state.held[row] = waiting
            state.disturbed = True
    elif held is not None:
        state.holds.discard(row)
        state.return_held(row)
    elif row in state.holds:
        state.holds.discard(row)
    else:
        return False
    return True


def cancel_job(kernel: Kernel, job: Job) -> bool:
    """Take a waiting job out of the queue for good; a running one ends if it has no run time of its own."""
    waiting, running = waiting_job(kernel, job.row), running_of(kernel, job)
    if waiting is not None:
        kernel.cancel(waiting)
    elif running is not None and job.until is not None:
        kernel.state.disturbed = True
        kernel.kill(running, "cancelled")
    applied = waiting is not None or (running is not None and job.until is not None)
    if applied:
        kernel.state.causes.add(kernel.state.now, "job", job.row)
    return applied


def change_limit(kernel: Kernel, job: Job, seconds: float) -> bool:
    """Give a job that has been submitted and is not over another limit and requested_time."""
    state, row = kernel.state, job.row
    if not is_alive(kernel, job):
        return False
    running = running_of(kernel, job)
    old = running.job if running else waiting_job(kernel, row)
    assert old is not None
    new = replace(old, requested_time=seconds, time_limit=None, first_time_limit=old.first_limit)
    kernel.exchange(old, new)
    state.disturbed |= new.requested_time != old.requested_time
    state.keys.pop(row, None)
    if state.estimate(new) == old.requested_time:
        state.estimates[row] = seconds
        if running is not None and running.phase == "running" and state.predictor.corrects:
            end = counts_from(state, running) + seconds
            running.expiry = end if end > state.now else inf
    if running is not None:
        running.ran_until = state.now
    if running is not None and running.phase == "running":
        state.limit_run(running)
    return True


def waiting_job(kernel: Kernel, row: int) -> Job | None:
    waiting = [*kernel.state.queue, *kernel.waiting.submitted, *kernel.state.held.values()]
    return next((job for job in waiting if job.row == row), None)


def is_alive(kernel: Kernel, job: Job) -> bool:
    """Tell whether a job has been submitted and is not over."""
    return running_of(kernel, job) is not None or waiting_job(kernel, job.row) is not None


def give_priority(kernel: Kernel, job: Job, value: float | None) -> bool:
    """Fix the priority of a job that is not over, or leave it to the order again."""
    state, is_to_come = kernel.state, job in kernel.to_come
    if not (is_to_come or is_alive(kernel, job)):
        return False
    if value is None:
        state.fixed.pop(job.row, None)
    else:
        state.fixed[job.row] = value
    state.keys.pop(job.row, None)
    state.disturbed |= not is_to_come
    return True
