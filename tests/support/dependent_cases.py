"""Random cases whose jobs wait for others, for begin times and for places in arrays."""

import random
from collections.abc import Sequence
from dataclasses import replace
from math import inf

from reference import Dependency, Job
from support.schedule_cases import Case


def conditioned(case: Case, rng: random.Random) -> Case:
    """Let jobs wait for others, for begin times and for places in arrays."""
    jobs = in_arrays(case.jobs, rng) if rng.random() < 0.5 else list(case.jobs)
    named = [replace(job, user=rng.choice(("ann", "ben", None)), name=rng.choice("ab")) for job in jobs]
    # On machines with accounts, jobs are of their users.
    keeps = bool(case.machine.accounts)
    jobs = [replace(new, user=old.user if keeps else new.user) for old, new in zip(jobs, named, strict=True)]
    # A task of an array is like the others.
    like = {job.row: job.row if job.array is None else job.array for job in jobs}
    members = {row: tuple(other for other in like if like[other] == like[row]) for row in like}
    share, singletons = rng.choice((0.1, 0.3, 0.7)), rng.random() < 0.3
    for first in [job for job in jobs if like[job.row] == job.row]:
        # A singleton waits for all that were submitted before: none of these may wait for it.
        late = {job.row for job in jobs if singletons and job.submit_time > first.submit_time}
        above = [row for row in members if row < first.row and row not in late]
        made = waiting(first, rng, [members[row] for row in above], share, singletons=singletons)
        for row in members[first.row]:
            keep = jobs[row]
            jobs[row] = replace(made, row=row, run_time=keep.run_time, requested_time=keep.requested_time)
    return replace(case, jobs=tuple(jobs))


def in_arrays(jobs: Sequence[Job], rng: random.Random) -> list[Job]:
    """Make arrays of jobs that follow each other; these differ in nothing but their times."""
    made: list[Job] = []
    while len(made) < len(jobs):
        count = min(rng.choice((1, 1, 2, 5)), len(jobs) - len(made))
        first = jobs[len(made)]
        if count > 1:
            first = replace(first, array=first.row, array_limit=rng.choice((None, 1, 1, 2, 3)))
        times = [(job.run_time, job.requested_time) for job in jobs[len(made) : len(made) + count]]
        made += [
            replace(first, row=first.row + place, run_time=run, requested_time=requested)
            for place, (run, requested) in enumerate(times)
        ]
    return made


def waiting(
    job: Job, rng: random.Random, above: Sequence[tuple[int, ...]], share: float, *, singletons: bool
) -> Job:
    """Let a job wait for some of those above it, jobs or arrays."""
    if rng.random() < share:
        step = rng.choice((1.0, job.run_time, job.requested_time if job.requested_time < inf else 1.0))
        job = replace(job, begin_time=max(0.0, job.submit_time + rng.randint(-1, 4) * step))
    if not above or rng.random() > share:
        return job
    if rng.random() < 0.2:
        # One that is in no array is named by its number alone.
        alone = [rows[0] for rows in above if len(rows) == 1]
        job = replace(job, depends_on=tuple(rng.sample(alone, min(len(alone), rng.randint(1, 2)))))
    dependencies = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        kind = rng.choice(("after", "after", "afterok", "afternotok", "afterany"))
        delay = rng.choice((0.0, 0.0, 60.0)) if kind == "after" else 0.0
        dependencies.append(Dependency(kind, rng.choice(above), delay))
    if singletons and rng.random() < 0.5:
        dependencies.append(Dependency("singleton"))
    return replace(job, dependencies=tuple(dependencies), any_dependency=rng.random() < 0.3)
