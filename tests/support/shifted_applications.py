"""Random runs of applications with all that they do, shifted in time; their results are equal to rounding."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from random import Random
from typing import TYPE_CHECKING, Any

import polars as pl

import batchlab as bl
from support.application_cases import cached_case, launched_case
from support.application_cases import random_case as elastic_case
from support.application_runs import AsDecided, network_of, platform_of, workload_of
from support.clock_cases import clock_case
from support.shifted_runs import TIMES, UNIT, Outcome
from support.snapshot_cases import Run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from batchlab.core.vocabulary import SharingModel

    # Of each name, how far values may be apart: absolutely, and relative to them.
    Allowed = Mapping[str, tuple[float, float]]

__all__ = ["distances", "has_one_clock", "shifted_application_run"]

ELASTIC = (elastic_case, cached_case, launched_case)
RESIZING = ("malleable", "malleable(order=srtf)", "equipartition")
POLICIES = (
    "fcfs",
    "first_fit",
    "easy",
    "easy(reservations=2)",
    "conservative",
    "easy(order=wfp3)",
    *RESIZING,
)
SHARINGS: tuple[SharingModel, ...] = ("max_min", "fair_bottleneck", "bottleneck_max_min")
RUN_TIME = 1e-9
"""How far run times may be apart, relative to them: they are what the clocks of the jobs count (S1)."""
TIME = 2.0**-20
"""How far times may be apart, s: a few steps of float64 below 2^31 s."""
REST = 1e-6
"""How far apart everything else may be, relative to it."""
JOULES = 20_000 * TIME
"""How far energies may be apart: what the machine draws, at most 2 kW, while its times differ."""
STEPS = ("timeline", "observed power")
"""Tables of what holds from each time on: of instants that are one float64, the last one shows."""


def shifted_application_run(seed: int, shift: float) -> Run:
    """Return a run of applications; the same for the same seed, with all times later by `shift`."""
    rng = Random(f"shifted applications/{seed}")  # noqa: S311 - no secret
    begin = shift + UNIT * rng.randrange(1, 10_000)
    run = _tiny(rng, begin) if rng.random() < 0.3 else _elastic(rng, begin)
    draws = bl.NodePower(idle=90.0, busy=140.0, per_unit={"core": 20.0}, drained=10.0)
    observers = [bl.Power(draws)] if rng.random() < 0.5 else []
    sensing = bl.Sensing(_rounded(rng.uniform(1.0, 10.0))) if rng.random() < 0.3 else None
    recorded = {"dispatch": True, "task_times": rng.random() < 0.4, "sensing": sensing}
    return replace(run, observers=observers, options=run.options | recorded)


def _elastic(rng: Random, begin: float) -> Run:
    """Return jobs that compute, communicate, read, write and are resized, often by a scheduler at random."""
    case = rng.choice(ELASTIC)(rng.randrange(100_000))
    jobs = tuple(
        replace(job, submit_time=begin + _rounded(job.submit_time), walltime=_rounded(job.walltime))
        for job in case.jobs
    )
    settings, invocation = case.settings, None
    policy: bl.Scheduler | str = rng.choice(POLICIES)
    case = replace(case, jobs=jobs)
    if rng.random() < 0.5:
        policy = AsDecided(case)
        if settings.event_by_event:
            invocation = bl.Invocation(
                on_scheduling_point=settings.on_scheduling_point,
                interval=_rounded(settings.interval),
                since=None if settings.since is None else begin + settings.since,
            )
    options: dict[str, Any] = {
        "walltime": rng.choice(("run", "kill")),
        "sharing": network_of(case),
        "invocation": invocation,
    }
    if settings.launch:
        options["overheads"] = bl.Overheads(launch=_rounded(settings.launch), counted=False)
    return Run(workload_of(case), bl.System.of(platform_of(case)), policy, (), options)


def _tiny(rng: Random, begin: float) -> Run:
    """Return jobs whose steps take less than float64 can tell of late times: skeletons, messages, files."""
    case = clock_case(rng)
    policy = rng.choice(RESIZING if case.malleable else POLICIES)
    options: dict[str, Any] = {"sharing": rng.choice(SHARINGS), "messages": rng.random() < 0.5}
    return Run(case.workload(begin), bl.System.of(case.platform), policy, (), options)


def _rounded(time: float) -> float:
    return UNIT * round(time / UNIT) if time < inf else time


def has_one_clock(run: Run) -> bool:
    """Return whether all happens at times of applications and at submissions, which shifts do not round."""
    is_asked = run.options.get("invocation") is not None or isinstance(run.policy, bl.Scheduler)
    return not (is_asked or "overheads" in run.options or run.options.get("walltime") == "kill")


def distances(one: Outcome, other: Outcome, *, has_one_clock: bool) -> list[str]:
    """Name what differs by more than rounding, with both values."""
    jobs = one["jobs"]
    assert isinstance(jobs, pl.DataFrame)
    took = jobs["run_time"].drop_nulls().to_list()
    shortest = min((time for time in took if time > 0), default=1.0)
    # A slowdown is a turnaround, which has the rounding of times, over a run time.
    allowed = {
        "run_time": (0.0 if has_one_clock else TIME, RUN_TIME),
        "slowdown": (0.0, REST + TIME / shortest),
        "energy": (JOULES, REST),
        "now": (TIME, 0.0),
        **dict.fromkeys(TIMES, (TIME, 0.0)),
    }
    return [*_distances("", _settled(one), _settled(other), allowed)]


def _settled(outcome: Outcome) -> Outcome:
    return {
        name: _last_of_each(table) if name in STEPS and isinstance(table, pl.DataFrame) else table
        for name, table in outcome.items()
    }


def _last_of_each(table: pl.DataFrame) -> pl.DataFrame:
    """Leave out the rows that hold no longer than times may be apart."""
    return table.filter((pl.col("time").shift(-1) - pl.col("time")).fill_null(inf) > 2 * TIME)


def _distances(name: str, one: object, other: object, allowed: Allowed) -> Iterator[str]:
    if isinstance(one, pl.DataFrame) and isinstance(other, pl.DataFrame):
        one, other = one.to_dict(as_series=False), other.to_dict(as_series=False)
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for key in one:
            # What is told of a measure is as far apart as the measure.
            within = name if name in allowed else str(key)
            yield from (f"{key}: {each}" for each in _distances(within, one[key], other[key], allowed))
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        for place, pair in enumerate(zip(one, other, strict=True)):
            yield from (f"{place}: {each}" for each in _distances(name, *pair, allowed))
    elif isinstance(one, float) and isinstance(other, float) and one != other:
        absolute, relative = allowed.get(name, (REST, REST))
        if not abs(one - other) <= absolute + relative * abs(one):
            yield f"{one!r}, {other!r}"
    elif one != other:
        yield f"{one!r}, {other!r}"
