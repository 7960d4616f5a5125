"""Backfilling rules: what one pass starts (S5, S6, S7).

A rule tells whether the pass begins again, since jobs have given up their nodes for another (S16).
"""

from collections.abc import Callable, Iterator
from math import inf

from reference.limits import over_limit
from reference.model import Job, Placement
from reference.plan import Plan, Rectangle
from reference.preemption import preempt_for
from reference.room import Room, in_each_set, room_beside, slots
from reference.state import State


def candidates(state: State) -> Iterator[Job]:
    """Give the queued jobs in order but those over a limit, up to one that holds up all behind it (S13)."""
    for job in state.ordered_queue():
        limit = over_limit(state, job)
        if limit is None:
            yield job
        elif limit.blocks:
            return


def none(state: State, _: int) -> bool:
    for job in candidates(state):
        placement = state.place_now(job)
        if placement is None:
            return preempt_for(state, job)
        state.start(job, placement)
    return False


def first_fit(state: State, _: int) -> bool:
    for job in candidates(state):
        placement = state.place_now(job)
        if placement is not None:
            state.start(job, placement)
        elif preempt_for(state, job):
            return True
    return False


def easy(state: State, reservations: int) -> bool:
    by_shadow_time = reservations == 1 and not state.machine.reservations
    rule = easy_by_shadow_time if by_shadow_time else easy_by_reservations
    return rule(state, reservations)


def easy_by_shadow_time(state: State, _: int) -> bool:
    """Backfill what ends by the shadow time of the head, or leaves room for the head then."""
    head: Job | None = None
    for job in candidates(state):
        placement = state.place_now(job)
        if head is None and placement is None and preempt_for(state, job):
            return True
        if head is None and placement is None:
            head = job
            ends = sorted({each.end for each in state.running_plan()})
            # One that does not fit on what the machine offers has no shadow time, and restrains no other job.
            starts = [
                (next((end for end in ends if fits_at(state, each, end, [])), inf), each)
                for each in in_each_set(job)
            ]
            # In the set where it can start first; the first of those that are equal.
            shadow_time, head = min(starts, key=lambda start: start[0])
        elif placement is not None and (
            head is None
            or state.supposed_end(job, placement) <= shadow_time
            or fits_at(state, head, shadow_time, [(job, placement)])
        ):
            state.start(job, placement)
    return False


def fits_at(state: State, head: Job, instant: float, besides: list[tuple[Job, Placement]]) -> bool:
    """Tell whether the head fits beside those given, when jobs estimated to end by then gave back theirs."""
    remaining = [(each.job, each.placement) for each in state.running_plan() if each.end > instant]
    return state.allocator.place(head, room_beside(state.machine, remaining + besides)) is not None


def easy_by_reservations(state: State, reservations: int) -> bool:
    """Give the first jobs that do not fit a reservation; start what leaves each of these its instant."""
    reserved: Plan = []
    for job in candidates(state):
        placement = state.place_now(job)
        if placement is None and not reserved and preempt_for(state, job):
            return True
        if placement is not None:
            supposed = Rectangle(state.now, state.supposed_end(job, placement), job, placement)
            replaced = place_again(state, supposed, reserved)
            if replaced is not None:
                state.start(job, placement)
                reserved = replaced
        elif len(reserved) < reservations:
            reserved.append(state.reserve_earliest(job, state.running_plan() + reserved))
    return False


def place_again(state: State, supposed: Rectangle, reserved: Plan) -> Plan | None:
    """Place each reservation again at its own instant, beside a supposed start; None where one fails."""
    replaced: Plan = []
    for old in reserved:
        if old.start == inf:
            replaced.append(old)
            continue
        plan = [*state.running_plan(), supposed, *replaced]
        reservation = state.reserve(old.job, plan, [old.start])
        if reservation is None:
            return None
        replaced.append(reservation)
    return replaced


def conservative(state: State, _: int) -> bool:
    """Compress after completions, reserve for new jobs, start what is due (S7); plan disturbed ones anew."""
    queue = state.ordered_queue()
    if state.disturbed:
        state.reservations.clear()
    if state.completed_since_pass:
        for job in [job for job in queue if job.row in state.reservations]:
            reservation = reserve_anew(state, job)
            if reservation.start < state.reservations[job.row].start:
                state.reservations[job.row] = reservation
    for job in queue:
        if job.row not in state.reservations and over_limit(state, job) is None:
            state.reservations[job.row] = reserve_anew(state, job)
    for job in queue:
        if job.row in state.reservations and state.reservations[job.row].start <= state.now:
            start_due(state, job)
    return False


def reserve_anew(state: State, job: Job) -> Rectangle:
    """Give the job's earliest reservation beside the running jobs and all other reservations."""
    others = [reservation for row, reservation in state.reservations.items() if row != job.row]
    return state.reserve_earliest(job, state.running_plan() + others)


def start_due(state: State, job: Job) -> None:
    """Start a due job on its named nodes, or on those of a new reservation for now; else it waits."""
    if over_limit(state, job) is not None:
        del state.reservations[job.row]
        return
    room = state.room_for(job)
    if not is_free(job, room, state.reservations[job.row].placement):
        state.reservations[job.row] = reserve_anew(state, job)
    new = state.reservations[job.row]
    if new.start <= state.now and is_free(job, room, new.placement):
        state.start(job, new.placement)


def is_free(job: Job, room: Room, placement: Placement) -> bool:
    """Tell whether the nodes of a placement, which are all in one node set of the job, have room for it."""
    return all(slots(job, room[node]) >= tasks for node, tasks in placement)


RULES: dict[str, Callable[[State, int], bool]] = {
    "none": none,
    "first_fit": first_fit,
    "easy": easy,
    "easy_by_reservations": easy_by_reservations,  # for the test that at k = 1 it equals the shadow time
    "conservative": conservative,
}
