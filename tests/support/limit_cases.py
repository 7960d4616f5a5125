"""Cases in which what jobs are allowed is not what schedulers plan with."""

import random
from dataclasses import replace
from math import inf

from support.schedule_cases import Case

__all__ = ["with_time_limits"]


def with_time_limits(case: Case, rng: random.Random) -> Case:
    """Give jobs limits of their own: none, the run time, less, more; and some no requested_time either."""
    unknown = rng.choice((0.0, 0.0, 0.2))
    jobs = []
    for job in case.jobs:
        times = (job.run_time, job.requested_time, job.run_time / 2, job.requested_time + job.run_time)
        limit = rng.choice((None, inf, *times))
        requested = inf if rng.random() < unknown else job.requested_time
        jobs.append(replace(job, requested_time=requested, time_limit=limit))
    return replace(case, jobs=tuple(jobs))
