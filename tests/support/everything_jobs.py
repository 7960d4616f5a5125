"""Random jobs of all kinds: with applications, conditions and owners."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import polars as pl

import batchlab as bl
from batchlab import tasks
from support.limited_machines import owners

if TYPE_CHECKING:
    from batchlab.core.vocabulary import JobType

__all__ = ["workload"]

JOB_TYPES: tuple[JobType, ...] = ("rigid", "moldable", "malleable", "evolving", "adaptive")


def application(rng: Random) -> bl.Application:
    """Give phases whose iterations end at whole seconds, mostly."""
    phases = []
    for _ in range(rng.randint(1, 2)):
        work = tasks.Compute(flops=rng.choice((0, 1e9, 2e9, 4e9)), computation_pattern="uniform")
        rest = tasks.Delay(rng.choice((0, 1, 2)))
        request = rng.choice((None, None, "num_nodes + 1", "num_nodes - 1", 2))
        phases.append(
            bl.Phase(
                rng.choice(([work], [rest], [work, rest])),
                iterations=rng.randint(1, 3),
                scheduling_point=rng.random() < 0.8,
                evolving_request=request,
                barrier=rng.random() < 0.7,
            )
        )
    return bl.Application(phases)


def conditions(rng: Random, number: int) -> dict[str, Any]:
    """Let a job wait for others above it, for a begin time, or be an array."""
    text = None
    if number and rng.random() < 0.2:
        kinds = ("after", "afterok", "afternotok", "afterany")
        count = rng.choice((1, 1, 2))
        terms = [f"{rng.choice(kinds)}:{rng.randint(1, number)}" for _ in range(count)]
        text = rng.choice((",", "?")).join(terms)
    return {
        "dependency": text,
        "begin_time": float(rng.randint(0, 15)) if rng.random() < 0.2 else None,
        "array": f"0-{rng.randint(0, 2)}%{rng.randint(1, 2)}" if rng.random() < 0.1 else None,
    }


def workload(rng: Random, cores: int, system: bl.System, *, with_applications: bool = True) -> bl.Workload:
    """Give some jobs, half of which carry applications, unless none is to."""
    jobs: list[bl.JobDescription] = []
    for number in range(rng.randint(2, 12)):
        most = rng.randint(1, cores)
        kind = rng.choice(JOB_TYPES) if rng.random() < 0.5 and with_applications else None
        depends = rng.sample(jobs, min(len(jobs), rng.choice((0, 0, 0, 1, 2))))
        common: dict[str, Any] = {
            "job_id": number + 1,
            "submit_time": float(rng.choice((0, 0, rng.randint(0, 12)))),
            "depends_on": depends,
        }
        limit = rng.choice((None, rng.randint(1, 12)))
        common |= conditions(rng, number) | owners(rng, system)
        if kind is None:
            exclusive = {"exclusive": rng.random() < 0.1}
            run_time = float(rng.choice((0, 1, rng.randint(0, 9))))
            jobs.append(
                bl.JobDescription(
                    run_time=run_time, requested_time=limit, tasks=most, others=exclusive, **common
                )
            )
            continue
        least = most if kind == "rigid" else rng.randint(1, most)
        sizes: dict[str, Any] = {} if kind == "rigid" else {"tasks_min": least, "tasks_max": most}
        jobs.append(
            bl.JobDescription(
                application=application(rng),
                requested_time=limit,
                tasks=rng.randint(least, most),
                job_type=kind,
                others={"exclusive": False},
                **sizes,
                **common,
            )
        )
    made = bl.Workload.from_jobs(jobs, overrun="keep")
    own = Random()  # noqa: S311 - no secret
    own.setstate(rng.getstate())
    return with_limits(made, own) if own.random() < 0.5 else made


def with_limits(workload: bl.Workload, rng: Random) -> bl.Workload:
    """Let jobs be allowed another time than schedulers plan with, or any."""
    requested = workload.jobs["requested_time"]
    limits = [rng.choice((time, math.inf, float(rng.randint(0, 12)))) for time in requested]
    return replace(workload, jobs=workload.jobs.with_columns(time_limit=pl.Series(limits, dtype=pl.Float64)))
