"""Backfilling rules: what one pass starts (S5, S6, S7).

A rule tells whether the pass begins again, since jobs have given up their nodes for another (S16).
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import inf

from reference.limits import over_limit
from reference.model import Job, Placement
from reference.partitions import Closed, place_of, places_in, places_of, within
from reference.plan import Plan, Rectangle
from reference.preemption import preempt_for
from reference.room import Room, in_each_set, room_beside, slots
from reference.state import State


def candidates(state: State, closed: Closed) -> Iterator[tuple[Job, Job]]:
    """Yield the queued jobs in order but those over a limit (S13), each also bound to what is open to it.

    A limit that blocks closes the partitions that are connected with those of its job.
    """
    for job in state.ordered_queue():
        bound = closed.open_to(job)
        if bound is None:
            continue
        limit = over_limit(state, job)
        if limit is None:
            yield job, bound
        elif limit.blocks:
            closed.close_connected(job)


def none(state: State, _: int) -> bool:
    closed = Closed(state)
    for job, bound in candidates(state, closed):
        placement = state.place_now(bound)
        if placement is not None:
            state.start(job, placement)
        elif preempt_for(state, bound):
            return True
        else:
            closed.close(job)
    return False


def first_fit(state: State, _: int) -> bool:
    for job, bound in candidates(state, Closed(state)):
        placement = state.place_now(bound)
        if placement is not None:
            state.start(job, placement)
        elif preempt_for(state, bound):
            return True
    return False


def easy(state: State, reservations: int) -> bool:
    by_shadow_time = reservations == 1 and not state.machine.reservations
    rule = easy_by_shadow_time if by_shadow_time else easy_by_reservations
    return rule(state, reservations)


def easy_by_shadow_time(state: State, _: int) -> bool:
    """Backfill what ends by the shadow time of the head, or leaves room for the head then.

    There is a head in each set of connected partitions (S11).
    """
    machine = state.machine
    heads: dict[int, tuple[float, Job]] = {}
    for job, bound in candidates(state, Closed(state)):
        placement = state.place_now(bound)
        if placement is None:
            headless = within(machine, bound, places_in(machine) - heads.keys())
            if headless is None:
                continue
            if preempt_for(state, headless):
                return True
            shadow_time, head = shadow(state, headless)
            # Of several sets it takes none in which it cannot start.
            if shadow_time < inf or len(places_of(machine, job)) <= 1:
                place = place_of(machine, head.node_sets[0] if head.node_sets else ())
                heads |= {} if place is None else {place: (shadow_time, head)}
            continue
        known = heads.get(place_of(machine, dict(placement)) or 0)
        if (
            known is None
            or state.supposed_end(job, placement) <= known[0]
            or fits_at(state, known[1], known[0], [(job, placement)])
        ):
            state.start(job, placement)
    return False


def shadow(state: State, job: Job) -> tuple[float, Job]:
    """Give the shadow time of a head, and the head bound to the node set where it can start first."""
    ends = sorted({each.end for each in state.running_plan()})
    # One that does not fit on what the machine offers has no shadow time, and restrains no other job.
    starts = [
        (next((end for end in ends if fits_at(state, each, end, [])), inf), each) for each in in_each_set(job)
    ]
    # The first of those that are equal.
    return min(starts, key=lambda start: start[0])


def fits_at(state: State, head: Job, instant: float, besides: list[tuple[Job, Placement]]) -> bool:
    """Tell whether the head fits beside those given, when jobs estimated to end by then gave back theirs."""
    remaining = [(each.job, each.placement) for each in state.running_plan() if each.end > instant]
    return state.allocator.place(head, room_beside(state.machine, remaining + besides)) is not None


def easy_by_reservations(state: State, reservations: int) -> bool:
    """Give the first jobs that do not fit a reservation; start what leaves each of these its instant.

    There are so many in each set of connected partitions (S11).
    """
    machine = state.machine
    reserved: Plan = []
    count: Counter[int] = Counter()
    for job, bound in candidates(state, Closed(state)):
        placement = state.place_now(bound)
        if placement is not None:
            supposed = Rectangle(state.now, state.supposed_end(job, placement), job, placement)
            replaced = place_again(state, supposed, reserved)
            if replaced is not None:
                state.start(job, placement)
                reserved = replaced
            continue
        first = within(machine, bound, {place for place in places_in(machine) if not count[place]})
        if first is not None and preempt_for(state, first):
            return True
        left = within(machine, bound, {place for place in places_in(machine) if count[place] < reservations})
        if left is None:
            continue
        reservation = state.reserve_earliest(left, state.running_plan() + reserved)
        own = places_of(machine, job)
        if reservation.start == inf:
            # Of several sets it takes none in which it cannot start.
            if len(own) == 1:
                count.update(own)
                reserved.append(reservation)
            continue
        own = {place_of(machine, dict(reservation.placement)) or 0}
        count.update(own)
        # When it is placed again it stays there.
        reserved.append(replace(reservation, job=within(machine, left, own) or left))
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
