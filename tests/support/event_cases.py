"""Random cases with overheads and external events."""

import random
from dataclasses import replace
from math import inf

from reference import ExternalEvent, Leg, Overhead, Overheads
from reference.events import CLOSING, OPENING
from support.schedule_cases import Case

__all__ = ["JOB_KINDS", "KINDS", "MACHINE_KINDS", "befallen", "delayed", "eventful", "withdrawn"]

JOB_KINDS = ("cancel", "kill", "end", "requeue", "hold", "release", "requested_time", "priority")
KINDS = (*JOB_KINDS, *sorted(CLOSING), *sorted(OPENING), "scheduler_stop", "scheduler_start")
MACHINE_KINDS = ("limit", "reserve", "unreserve")
"""The events of machines that have limits and reservations."""


def delayed(case: Case, rng: random.Random) -> Case:
    """Give jobs overheads: often none in a phase, sometimes longer than their limits."""
    longest = rng.choice((2, 10, 60))

    def seconds() -> float:
        return 0.0 if rng.random() < 0.4 else float(rng.randint(0, longest))

    of_job = tuple(Overhead(seconds(), seconds(), seconds()) for _ in case.jobs)
    overheads = Overheads(of_job, counted=rng.random() < 0.5, billed=rng.random() < 0.5)
    return replace(case, overheads=overheads)


def withdrawn(case: Case, rng: random.Random) -> Case:
    """Let some jobs have no run time of their own: they are cancelled some time after their submission."""
    latest = rng.choice((5, 30, 200))

    def seconds(submit_time: float) -> float:
        others = [each.submit_time + each.run_time - submit_time for each in case.jobs]
        later = [each for each in others if each > 0]
        # Often as another job ends.
        return rng.choice(later) if later and rng.random() < 0.4 else float(rng.randint(0, latest))

    jobs = []
    for job in case.jobs:
        after = seconds(job.submit_time) if rng.random() < 0.4 else None
        jobs.append(job if after is None else replace(job, run_time=after, cancelled_after=after))
    return replace(case, jobs=tuple(jobs))


def befallen(case: Case, rng: random.Random) -> Case:
    """Let things happen to jobs while they run: they are requeued, suspended, cancelled or killed."""
    longest = rng.choice((3, 20, 100))

    def attempt(seconds: float) -> list[Leg]:
        """Suspend an attempt up to two times, sometimes as it begins or is over, and for no time."""
        times = sorted(rng.choice((0.0, seconds, float(rng.randint(0, int(seconds))))) for _ in range(2))
        pauses = [float(rng.choice((0, rng.randint(1, longest)))) for _ in times]
        return [
            Leg(time, is_suspended=True, pause=pause)
            for time, pause in zip(times, pauses, strict=True)
            if rng.random() < 0.3
        ]

    jobs = []
    for job in case.jobs:
        if rng.random() < 0.4 or job.until is not None:
            jobs.append(job)
            continue
        lengths = [float(rng.randint(0, longest)) for _ in range(rng.choice((0, 0, 1, 2)))]
        legs = [leg for length in lengths for leg in (*attempt(length), Leg(length))]
        legs += attempt(job.run_time)
        ends = rng.choice(("completed", "cancelled", "killed"))
        run_time = max([job.run_time, *lengths])
        jobs.append(replace(job, legs=tuple(legs), last=job.run_time, run_time=run_time, ends=ends))
    return replace(case, jobs=tuple(jobs))


def eventful(case: Case, rng: random.Random) -> Case:
    """Let things happen from outside: to most jobs something, often when something else happens too."""
    starts = [job.submit_time for job in case.jobs]
    first, last = min(starts), max(job.submit_time + job.run_time for job in case.jobs)
    instants = [*starts, *(job.submit_time + job.run_time for job in case.jobs)]

    def time() -> float:
        if rng.random() < 0.5:
            return rng.choice(instants)
        return float(rng.randint(int(first), int(last) + 20))

    events = [random_event(case, rng, time()) for _ in range(rng.randint(1, 2 * len(case.jobs) + 4))]
    # What is stopped is mostly started again, and what is held often released.
    again = {"scheduler_stop": ("scheduler_start", 0.9), "hold": ("release", 0.6)}
    for event in list(events):
        kind, share = again.get(event.kind, ("", 0.0))
        if rng.random() < share:
            events.append(ExternalEvent(event.time + rng.randint(0, 30), kind, event.row))
    case = replace(case, events=tuple(sorted(events, key=lambda event: event.time)))
    if rng.random() < 0.7:
        return case
    count = len(case.machine.capacity)
    closed = frozenset(rng.sample(range(count), rng.randint(1, count)))
    return replace(case, machine=replace(case.machine, closed=closed))


def random_event(case: Case, rng: random.Random, time: float) -> ExternalEvent:
    """Make an event."""
    machine = case.machine
    if machine.limits and rng.random() < 0.2:
        return changed_limit(case, rng, time)
    if machine.reservations and rng.random() < 0.4:
        number = rng.randrange(len(machine.reservations))
        begins = rng.random() < 0.3
        time = machine.reservations[number].start if begins else time
        return ExternalEvent(time, rng.choice(("reserve", "unreserve")), number=number)
    kind = rng.choice(JOB_KINDS) if rng.random() < 0.8 else rng.choice(KINDS)
    if kind in JOB_KINDS:
        row = rng.randrange(len(case.jobs))
        value = None
        if kind == "requested_time":
            value = float(rng.choice((0, rng.randint(1, 10), rng.randint(1, 60))))
        elif kind == "priority" and rng.random() < 0.8:
            value = float(rng.choice((-5, 0, 1, 1000)))
        return ExternalEvent(time, kind, row, value=value)
    if kind.startswith("scheduler"):
        return ExternalEvent(time, kind)
    count = len(case.machine.capacity)
    nodes = tuple(sorted(rng.sample(range(count), rng.randint(1, min(2, count)))))
    return ExternalEvent(time, kind, nodes=nodes, kills=kind == "down" and rng.random() < 0.5)


def changed_limit(case: Case, rng: random.Random, time: float) -> ExternalEvent:
    """Make an event by which a limit allows less or more of what it limits, or any."""
    number = rng.randrange(len(case.machine.limits))
    limit = case.machine.limits[number]
    counts = {"running_jobs": 3, "submitted_jobs": 6, "nodes": 4, "time": 60}
    choices = [(name, most) for name, most in counts.items() if getattr(limit, name) < inf]
    for name in ("amounts", "running_minutes", "total_minutes"):
        choices += [
            (f"{name}.{resource}".replace("amounts", "resources"), 2 * most)
            for resource, most in getattr(limit, name).items()
        ]
    quantity, most = rng.choice(choices)
    value = None if rng.random() < 0.2 else float(rng.randint(0 if rng.random() < 0.2 else 1, most))
    return ExternalEvent(time, "limit", value=value, number=number, quantity=quantity)
