"""Random cases with partitions, queues, limits and reservations (S11, S13, S14)."""

import random
from dataclasses import replace
from math import inf

from reference import Conditions, Job, Limit, Partition, Queue, Reservation
from support.schedule_cases import Case


def queued(case: Case, rng: random.Random) -> Case:
    """Give the machine partitions that overlap and queues, and let jobs name some of them (S11)."""
    nodes = range(len(case.machine.capacity))
    names = [f"part{number}" for number in range(rng.randint(1, 4))]
    partitions = tuple(
        Partition(
            name,
            frozenset(rng.sample(nodes, rng.randint(1, len(nodes)))),
            tier=rng.choice((1, 1, 1, 2, 3)),
            admits=random_conditions(rng, case),
        )
        for name in names
    )
    queues = tuple(
        Queue(
            f"queue{number}",
            tuple(rng.sample(names, rng.randint(1, len(names)))),
            priority=rng.randint(-2, 2),
            admits=random_conditions(rng, case),
        )
        for number in range(rng.choice((0, 0, 1, 2, 3)))
    )
    partitions = () if queues and rng.random() < 0.1 else partitions
    if not partitions:
        queues = tuple(replace(each, partitions=()) for each in queues)
    naming = rng.choice((0.2, 0.9))
    known = [each.name for each in partitions]

    def with_names(job: Job) -> Job:
        names_queue = queues and rng.random() < 0.5
        names_partitions = known and rng.random() < naming
        return replace(
            job,
            queue=rng.choice(queues).name if names_queue else None,
            partitions=tuple(rng.sample(known, rng.randint(1, len(known)))) if names_partitions else (),
            user=rng.choice(("ann", "ben", None)),
            account=rng.choice(("physics", None)),
        )

    machine = replace(case.machine, partitions=partitions, queues=queues)
    return replace(case, machine=machine, jobs=tuple(with_names(job) for job in case.jobs))


def limited(case: Case, rng: random.Random) -> Case:
    """Limit what jobs may have at a time, by owners, queues and partitions (S13)."""
    kinds = ("running", "submitted", "nodes", "amounts", "time", "running_minutes", "total")
    chosen = [rng.choice(kinds) for _ in range(rng.randint(1, 3))]
    if {"running_minutes", "total"} & {*chosen}:
        case = prolonged(case)
    owners = ("user", "account", "group", "qos", "queue", "partition")
    sizes = sorted(job.tasks for job in case.jobs)
    limits = []
    for kind in chosen:
        amounts = {
            name: rng.choice(sizes) * rng.randint(1, 3) for name in rng.sample(case.machine.resources, 1)
        }
        limit = Limit(
            per=tuple(rng.sample(owners, rng.choice((0, 1, 1, 2)))),
            queues=tuple(each.name for each in case.machine.queues if rng.random() < 0.3),
            partitions=tuple(each.name for each in case.machine.partitions if rng.random() < 0.3),
            applies_to=random_conditions(rng, case),
            running_jobs=rng.randint(1, 3) if kind == "running" else inf,
            submitted_jobs=rng.randint(2, 6) if kind == "submitted" else inf,
            nodes=rng.randint(1, 4) if kind == "nodes" else inf,
            amounts=amounts if kind == "amounts" else {},
            time=rng.choice(case.jobs).requested_time if kind == "time" else inf,
            running_minutes=random_minutes(rng, case) if kind == "running_minutes" else {},
            total_minutes=random_minutes(rng, case, most=8) if kind == "total" else {},
            blocks=rng.random() < 0.25,
        )
        limits.append(limit)
    return replace(case, machine=replace(case.machine, limits=tuple(limits)))


def prolonged(case: Case) -> Case:
    """Let jobs take minutes where they take seconds."""
    jobs = tuple(
        replace(
            job,
            submit_time=job.submit_time * 60,
            run_time=job.run_time * 60,
            requested_time=job.requested_time * 60,
        )
        for job in case.jobs
    )
    return replace(case, jobs=jobs)


def random_minutes(rng: random.Random, case: Case, most: int = 3) -> dict[str, int]:
    """Allow what some of the jobs ask for of a resource over their time, in minutes."""
    at = rng.randrange(len(case.machine.resources))
    job = rng.choice(case.jobs)
    minutes = max(1, round(job.tasks * max(1, job.request[at]) * job.requested_time / 60))
    return {case.machine.resources[at]: minutes * rng.randint(1, most)}


def reserved(case: Case, rng: random.Random) -> Case:
    """Reserve nodes for maintenance and for jobs, often at instants at which others come or end (S14)."""
    nodes = range(len(case.machine.capacity))
    times = sorted({time for job in case.jobs for time in (job.submit_time, job.requested_time) if time})
    # A job that is started when it is submitted runs beyond its limit then.
    overruns = [
        job.submit_time + (job.requested_time + job.run_time) / 2
        for job in case.jobs
        if job.run_time > job.requested_time
    ]
    spans = [job.requested_time for job in case.jobs if job.requested_time] or [1.0]
    reservations = []
    for number in range(rng.randint(1, 3)):
        duration = rng.choice(spans) * rng.choice((0.5, 1, 2, 4))
        repeats = rng.random() < 0.4
        cancels = rng.random() < 0.5
        start = rng.choice((overruns if cancels else []) or times or [0.0])
        every = duration * rng.choice((1, 1.5, 3)) if repeats else 0.0
        reservation = Reservation(
            f"reservation{number}",
            frozenset(rng.sample(nodes, rng.randint(1, len(nodes)))),
            start=start,
            duration=inf if not repeats and rng.random() < 0.1 else duration,
            every=every,
            until=start + every * rng.randint(1, 6) if repeats else inf,
            admits=rng.choice((None, Conditions(), random_conditions(rng, case))),
        )
        flexible = reservation.admits is not None and rng.random() < 0.4
        reservations.append(replace(reservation, flexible=flexible, cancels=cancels))
    names = [each.name for each in reservations]
    naming = rng.choice((0.0, 0.2, 0.6))
    jobs = tuple(
        replace(job, reservation=rng.choice(names)) if rng.random() < naming else job for job in case.jobs
    )
    return replace(case, machine=replace(case.machine, reservations=tuple(reservations)), jobs=jobs)


def random_conditions(rng: random.Random, case: Case) -> Conditions:
    """Make conditions that admit most jobs."""
    if rng.random() < 0.6:
        return Conditions()
    times = sorted(job.requested_time for job in case.jobs)
    sizes = sorted(job.tasks for job in case.jobs)
    bounds = ((0, inf), (0, inf), (1, rng.choice(sizes)), (rng.choice(sizes), inf))
    return Conditions(
        processors=rng.choice(bounds),
        nodes=rng.choice(((0, inf), (0, inf), (1, 2), (2, inf))),
        time=rng.choice(((0, inf), (0, rng.choice(times)), (rng.choice(times), inf))),
        users=rng.choice((None, None, None, frozenset({"ann"}), frozenset({"ann", "ben"}))),
        accounts=rng.choice((None, None, None, frozenset({"physics"}))),
    )
