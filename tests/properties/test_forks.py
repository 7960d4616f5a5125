"""Forks with other run times and arrivals (S30), beside the plain-Python reference."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest

import batchlab as bl
from batchlab.core.vocabulary import JOB_STATES
from support.dependent_cases import conditioned
from support.limit_cases import with_time_limits
from support.schedule_cases import Case, random_case
from support.schedule_runs import outcomes_of, simulation_of

if TYPE_CHECKING:
    from reference import Job, Outcome

CASES, CHUNKS = 600, 6
OVER = [JOB_STATES.index(name) for name in ("completed", "killed", "rejected", "cancelled")]


def some_case(seed: int) -> tuple[Random, Case]:
    """Give a case, some of them with conditions or limits of their own."""
    rng = Random(seed)  # noqa: S311 - no secret
    case = random_case(rng)
    if rng.random() < 0.3:
        case = conditioned(case, rng)
    if rng.random() < 0.3:
        case = with_time_limits(case, rng)
    return rng, case


def under_way(rng: Random, case: Case) -> bl.Simulation:
    """Give the simulation of a case at some instant."""
    simulation = simulation_of(case)
    for _ in range(rng.randint(0, 3 * len(case.jobs))):
        if not simulation.step():
            break
    return simulation


def drawn(rng: Random, simulation: bl.Simulation, job: Job) -> float | None:
    """Give a job another total run time that is possible, or None."""
    status = simulation.status()
    if status.state[job.row] in OVER or rng.random() < 0.3:
        return None
    elapsed = float(simulation.times_run(np.array([job.row]))[0])
    limit = job.limit
    if elapsed >= limit:
        return elapsed + rng.randint(1, 9)
    # Ends on the grid of the case coincide with other events.
    choices = [job.run_time, job.requested_time, limit, elapsed + 1, 2 * elapsed + 3]
    possible = [each for each in choices if elapsed < each <= limit and each != float("inf")]
    return rng.choice(possible) if possible else None


def expected_arrivals(
    case: Case, states: list[int], arrivals: list[tuple[Job, float, int | None]]
) -> dict[int, Outcome]:
    """Give what becomes of each row: the jobs submitted so far, and further ones behind them."""
    jobs = [job for job in case.jobs if states[job.row] != 0]
    first = len(case.jobs)
    rows = [first + number for number in range(len(arrivals))]
    further = [
        replace(job, row=row, submit_time=time, tasks=tasks or job.tasks)
        for row, (job, time, tasks) in zip(rows, arrivals, strict=True)
    ]
    numbers = {job.row: new for new, job in enumerate([*jobs, *further])}
    renumbered = tuple(replace(job, row=numbers[job.row]) for job in [*jobs, *further])
    outcomes = replace(case, jobs=renumbered).expected()
    found = {job.row: outcomes[numbers[job.row]] for job in jobs}
    return found | {job.row: outcomes[numbers[row]] for row, (job, _, _) in zip(rows, arrivals, strict=True)}


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_other_run_times(chunk: int) -> None:
    """A fork with other run times gives the schedule of a workload that always had them."""
    replaced = 0
    for seed in range(chunk, CASES, CHUNKS):
        rng, case = some_case(seed)
        simulation = under_way(rng, case)
        totals = {job.row: drawn(rng, simulation, job) for job in case.jobs}
        run_times = {row: seconds for row, seconds in totals.items() if seconds is not None}
        fork = simulation.fork(run_times=run_times)
        fork.run_until()
        jobs = tuple(replace(job, run_time=run_times.get(job.row, job.run_time)) for job in case.jobs)
        expected = replace(case, jobs=jobs).expected()
        assert outcomes_of(case, fork.result()) == expected, seed
        replaced += len(run_times)
    assert replaced > CASES // CHUNKS


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_samples_equal_forks(chunk: int) -> None:
    """The starts of samples in threads are those of forks, one by one."""
    for seed in range(chunk, CASES // 2, CHUNKS):
        rng, case = some_case(seed)
        simulation = under_way(rng, case)
        status = simulation.status()
        rows = np.flatnonzero(np.isin(status.state, [1, 2]))
        samples = [
            [drawn(rng, simulation, case.jobs[row]) or np.nan for row in rows.tolist()] for _ in range(4)
        ]
        # A job that is not replaced in all samples is left out.
        kept = ~np.isnan(np.array(samples).reshape(4, len(rows))).any(axis=0)
        totals = np.array(samples).reshape(4, len(rows))[:, kept]
        until = rng.choice([np.inf, simulation.now + 20])
        asked = status.waiting
        found = simulation.sample_starts(rows[kept], totals, asked, until=until, threads=2)
        for seconds, starts in zip(totals, found, strict=True):
            whole = np.full(len(case.jobs), np.nan)
            whole[rows[kept]] = seconds
            fork = simulation.fork(run_times=whole)
            fork.run_until(until)
            expected = fork.status().start_time[asked]
            np.testing.assert_array_equal(starts, np.where(np.isnan(expected), np.inf, expected))


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_other_arrivals(chunk: int) -> None:
    """Jobs that have ended are submitted again as further jobs of their kind would be, and no others are."""
    again = 0
    for seed in range(chunk, CASES, CHUNKS):
        rng = Random(seed)  # noqa: S311 - no secret
        case = random_case(rng)
        if case.order == "random" or case.allocator in {"random", "next_fit"}:
            continue
        simulation = under_way(rng, case)
        states = simulation.status().state
        ended = [job for job in case.jobs if states[job.row] in OVER[:2]]
        chosen = rng.sample(ended, rng.randint(0, len(ended)))
        # No two submissions are at one instant, so that rows break no tie.
        times = [simulation.now + 0.37 + 1.61 * number for number in range(len(chosen))]
        sizes = [rng.choice([None, 1, job.tasks]) for job in chosen]
        table = {
            "job_id": [job.row for job in chosen],
            "submit_time": times,
            "tasks": sizes,
        }
        try:
            fork = simulation.fork(arrivals=table if chosen else "none")
        except bl.SimulationError as error:
            # Some orders use the number of nodes.
            if "values of its size" not in str(error):
                raise
            sizes = [None] * len(chosen)
            fork = simulation.fork(arrivals={key: table[key] for key in ("job_id", "submit_time")})
        fork.run_until()
        expected = expected_arrivals(case, states.tolist(), [*zip(chosen, times, sizes, strict=True)])
        found = outcomes_of(case, fork.result())
        assert {row: found[row] for row in expected} == expected, seed
        again += len(chosen)
    assert again > CASES // CHUNKS
