"""Backfilling rules: what one pass starts (S5, S6, S7).

A rule tells whether the pass begins again, since jobs have given up their nodes for another (S16), or a
start has brought a job with a reservation over a limit (S13).
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import inf, nextafter

from reference.limits import over_limit
from reference.model import Job, Placement
from reference.partitions import Closed, place_of, places_in, places_of, within
from reference.plan import Plan, Rectangle
from reference.preemption import preempt_for
from reference.reservations import instants
from reference.room import Room, room_beside, slots
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
            if any(over_limit(state, each) is not None for _, each in heads.values()):
                return True
    state.reserved = [Rectangle(instant, inf, each, []) for instant, each in heads.values()]
    return False


def shadow(state: State, job: Job) -> tuple[float, Job]:
    """Give the shadow time of a head, and the head bound to the node set where it can start first."""
    ends = sorted({each.end for each in state.running_plan()})
    # One that does not fit on what the machine offers has no shadow time, and restrains no other job.
    starts = [
        (next((end for end in ends if fits_at(state, each, end, [])), inf), each) for each in job.in_each_set
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
                if any(over_limit(state, each.job) is not None for each in reserved):
                    return True
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
    state.reserved = reserved
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
    """Compress after completions, reserve for jobs without a reservation, start what is due (S7).

    Reservations that do not come true are given up, and their room is offered until none is left. Disturbed
    plans are made anew.
    """
    queue = state.ordered_queue()
    if state.disturbed:
        state.reservations.clear()
    gives_up, is_first = give_up(state, queue), True
    while gives_up or is_first:
        if gives_up or state.completed_since_pass:
            compress(state, queue)
        for job in without_reservation(state, queue):
            state.reservations[job.row] = reserve_anew(state, job)
        for job in due(state, queue):
            if comes_true(state, job):
                state.start(job, state.reservations[job.row].placement)
        gives_up, is_first = give_up(state, queue), False
    return False


def give_up(state: State, queue: list[Job]) -> bool:
    """Give up all due reservations that do not come true; return whether there is one.

    A job that is over a limit has no reservation then, one whose nodes are not free an infinite one. While
    overdue jobs are about to end at this instant, nodes may still come free in time.
    """
    waits = bool(ending(state) & {each.job.row for each in state.running_plan() if each.end <= state.now})
    late = [
        job
        for job in due(state, queue)
        if not (comes_true(state, job) or (waits and over_limit(state, job) is None))
    ]
    for job in late:
        if over_limit(state, job) is None:
            state.reservations[job.row] = Rectangle(inf, inf, job, [])
        else:
            del state.reservations[job.row]
    return bool(late)


def ending(state: State) -> set[int]:
    """Return the rows of the jobs that have started in an earlier pass and end at this instant."""
    return {each.job.row for each in state.running if each.ends_at(state.now)} - state.started


def compress(state: State, queue: list[Job]) -> None:
    """Reserve earlier for each job within its limits that has a reservation, where this is possible."""
    for job in queue:
        if job.row in state.reservations and over_limit(state, job) is None:
            reservation = reserve_anew(state, job)
            if reservation.start < state.reservations[job.row].start:
                state.reservations[job.row] = reservation


def without_reservation(state: State, queue: list[Job]) -> Iterator[Job]:
    """List the queued jobs within their limits that have no reservation, or an infinite one, in order.

    One that is over a limit has none then.
    """
    for job in queue:
        start = state.reservations[job.row].start if job.row in state.reservations else inf
        if start < inf or job.row in state.started:
            continue
        if over_limit(state, job) is None:
            yield job
        else:
            state.reservations.pop(job.row, None)


def due(state: State, queue: list[Job]) -> Iterator[Job]:
    """List the queued jobs whose reservation is due, in order."""
    for job in queue:
        if job.row in state.reservations and state.reservations[job.row].start <= state.now:
            yield job


def comes_true(state: State, job: Job) -> bool:
    """Return whether a job with a due reservation is within its limits, and its nodes are free now."""
    placement = state.reservations[job.row].placement
    return over_limit(state, job) is None and is_free(job, state.room_for(job), placement)


def reserve_anew(state: State, job: Job) -> Rectangle:
    """Return the job's earliest reservation beside the running jobs and all other reservations."""
    others = [reservation for row, reservation in state.reservations.items() if row != job.row]
    return reserve_beside(state, job, others, state.now)


def reserve_beside(state: State, job: Job, others: Plan, begin: float) -> Rectangle:
    """Return the earliest reservation, from an instant on, beside the running jobs and others.

    While a job is overdue, the float64 number after now is not tried.
    """
    plan = [each for each in until_now(state) + others if each.start < each.end]
    changes = {time for each in plan for time in (each.start, each.end)} | {*instants(state.machine)}
    least = max(begin, nextafter(state.now, inf) if overdue(state) else state.now)
    later = sorted(time for time in changes if least < time < inf)
    return state.reserve(job, plan, [begin, *later]) or Rectangle(inf, inf, job, [])


def until_now(state: State) -> Plan:
    """List the running jobs; an overdue one holds its nodes now, but at no later instant."""
    after_now, over = nextafter(state.now, inf), overdue(state)
    return [replace(each, end=after_now) if each.job.row in over else each for each in state.running_plan()]


def overdue(state: State) -> set[int]:
    """Return the rows of the jobs that hold their nodes past their expected ends, and do not end now."""
    return {each.job.row for each in state.running_plan() if each.end <= state.now} - ending(state)


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
