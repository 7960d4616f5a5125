"""Preemption: which running jobs give up their nodes for one that waits, and what becomes of these (S16)."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from reference.limits import over_limit
from reference.reservations import opened
from reference.room import may_use, room_beside

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reference.model import Job, Machine, Preemption
    from reference.state import Running, State


def preempt_for(state: State, job: Job) -> bool:
    """Take the nodes of others for a job that does not fit; tell whether the pass begins again.

    With a grace time the others run on until that is over, and the pass goes on.
    """
    rules = state.machine.preemption
    if rules is None or any(each.preemptor == job.row for each in state.running):
        return False
    candidates = [each for each in state.running if may_be_victim(state, rules, job, each)]
    candidates.sort(key=lambda each: order_of_victims(state.machine, rules, each))
    for bound in job.in_each_set:
        found = victims(state, bound, candidates)
        if found and rules.grace_time:
            for victim in found:
                victim.grace_end, victim.preemptor = state.now + rules.grace_time, job.row
            return False
        if found:
            for victim in found:
                fall(state, rules, victim)
            state.preemptors.add(job.row)
            return True
    return False


def may_be_victim(state: State, rules: Preemption, job: Job, other: Running) -> bool:
    return (
        may_preempt(state.machine, rules, job, other.job)
        and other.holds
        and other.phase not in {"completing", "suspending"}
        and not other.ends_at(state.now)
        and other.start + rules.exempt_time <= state.now
        and other.job.row not in state.started
        and other.preemptor is None
    )


def may_preempt(machine: Machine, rules: Preemption, job: Job, other: Job) -> bool:
    if rules.by == "tier":
        return job.tier > other.tier
    return any(each.name == job.qos and other.qos in each.preempts for each in machine.qualities)


def order_of_victims(machine: Machine, rules: Preemption, running: Running) -> tuple[float, ...]:
    """Give the key by which victims are sorted: the least important first, of these the fewest nodes."""
    job = running.job
    priorities = {each.name: each.priority for each in machine.qualities}
    importance = job.tier if rules.by == "tier" else priorities.get(job.qos or "", 0.0)
    nodes = 0 if rules.youngest_first else len(running.placement)
    return importance, nodes, -running.start, job.row


def victims(state: State, job: Job, candidates: Sequence[Running]) -> list[Running]:
    """Give those that have to go so that a job fits in its one node set; none where all are not enough."""
    empty = room_beside(state.machine, [])
    there = [each for each in candidates if any(may_use(job, empty[node]) for node, _ in each.placement)]
    found = first_that_suffice(state, job, there)
    if len(found) > 1:
        found = first_that_suffice(state, job, [found[-1], *found[:-1]])
        for each in reversed(found):
            fewer = [other for other in found if other is not each]
            if fits_without(state, job, fewer):
                found = fewer
    return found


def first_that_suffice(state: State, job: Job, candidates: Sequence[Running]) -> list[Running]:
    for count in range(1, len(candidates) + 1):
        if fits_without(state, job, candidates[:count]):
            return list(candidates[:count])
    return []


def fits_without(state: State, job: Job, gone: Sequence[Running]) -> bool:
    """Tell whether a job fits on what would be free without some of the running jobs."""
    stay = [
        (each.job, each.placement)
        for each in state.running
        if each.holds and not any(each is other for other in gone)
    ]
    room = opened(room_beside(state.machine, stay), job, state.machine, state.now)
    return state.allocator.place(job, room) is not None


def fall(state: State, rules: Preemption, victim: Running) -> None:
    """Take a victim from its nodes: it waits again, or ends."""
    if rules.mode == "cancel" or (rules.mode == "requeue" and not victim.job.requeue):
        state.leave(victim)
        state.cancelled.append(victim)
    else:
        state.interrupt(victim, victim.done(state.now) if rules.mode == "suspend" else 0.0)


def end_graces(state: State, kill: Callable[[Running], None]) -> None:
    """Take the victims whose grace time is over from their nodes: they wait again, or are killed.

    The jobs for which they do so come first in the next pass.
    """
    due = [each for each in state.running if each.grace_end <= state.now and not each.ends_at(state.now)]
    for victim in sorted(due, key=attrgetter("job.row")):
        state.disturbed = True
        if victim.preemptor is not None:
            state.preemptors.add(victim.preemptor)
            state.fallen[victim.job.row] = victim.preemptor
        cancels = state.machine.preemption is not None and state.machine.preemption.mode == "cancel"
        state.cut_short(victim, kill, kills=cancels or not victim.job.requeue)


def start_preemptors(state: State) -> None:
    """Start the jobs whose victims have just given up their nodes, if they fit, before all others."""
    for job in state.ordered_queue() if state.preemptors else []:
        if job.row in state.preemptors and over_limit(state, job) is None:
            placement = state.place_now(job)
            if placement is not None:
                state.start(job, placement)
    state.preemptors.clear()
