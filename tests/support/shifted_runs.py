"""Random runs in which everything happens, shifted in time; and what of their results may differ."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import batchlab as bl
from support.everything_cases import Anything, Meddler, random_run
from support.snapshot_cases import Run, record, simulation_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Outcome", "differences", "is_exact", "outcome_of", "shift_of", "shifted_run"]

# Columns that are points in time; all others are durations, amounts and names.
TIMES = ("time", "submit_time", "start_time", "end_time", "begin_time", "work_start", "work_end")
# Times are multiples of this, s: two of them below 2^31 and all between are float64 without rounding.
UNIT = 2.0**-6
# The finest unit of times that are float64 without rounding up to 2^31 s.
FINEST = 2.0**-21
MINUTE, LONGEST = 60, 1_700_000_000
ACCOUNTS = tuple(bl.Account(name, users={"ann": 2, "ben": 1}) for name in ("physics", "biology"))
ORDERS = ("multifactor(age=1000, fair_share=5000, max_age=100, period=7)", "unicef", "wfp3", "sjf")

Outcome = dict[str, pl.DataFrame | object]


def shift_of(seed: int) -> float:
    """Draw a shift: a multiple of a minute."""
    rng = Random(f"shift/{seed}")  # noqa: S311 - no secret
    return float(MINUTE * rng.choice((1, rng.randrange(1, 10_000), rng.randrange(1, LONGEST // MINUTE))))


def shifted_run(seed: int, shift: float, *, with_applications: bool = False) -> Run:
    """Return a run of everything; the same for the same seed, with all times later by `shift`."""
    run = random_run(seed, with_applications=with_applications)
    rng = Random(f"shifted/{seed}")  # noqa: S311 - no secret
    # What is given up to 3 s before the first submission must not be before time 0.
    begin = shift + 3 + UNIT * rng.randrange(1, 10_000)
    jobs = run.workload.jobs
    later = [begin + UNIT * rng.choice((0, 0, rng.randrange(200))) for _ in range(len(jobs))]
    columns = {"submit_time": jobs["submit_time"] + pl.Series(later)}
    if "begin_time" in jobs.columns:
        columns["begin_time"] = jobs["begin_time"] + begin
    workload = replace(run.workload, jobs=jobs.with_columns(**columns))
    system, policy = _reserved(run.system, begin), run.policy
    if isinstance(policy, str):
        system, policy = _varied(rng, system, policy, begin)
    for piece in (policy, *run.observers):
        if isinstance(piece, Anything | Meddler):
            piece.chance.since, piece.chance.rates = begin, (0.5, 1.0, 2.0)
    return Run(workload, system, policy, [*_observers(rng, run, begin)], _options(run.options, begin))


def _reserved(system: bl.System, begin: float) -> bl.System:
    """Return the system with its reservations of the machine later."""
    later = (
        replace(each, start=each.start + begin, until=None if each.until is None else each.until + begin)
        for each in system.reservations
    )
    return replace(system, reservations=tuple(later))


def _varied(rng: Random, system: bl.System, policy: str, begin: float) -> tuple[bl.System, str]:
    """Reserve nodes, and order jobs by priorities and usage or by their waits, sometimes."""
    if rng.random() < 0.4:
        start, every = begin + rng.randint(0, 20), rng.choice((None, 7.5))
        until = None if every is None else begin + 60.0
        nodes = str(rng.randrange(system.nodes))
        maintenance = bl.Reservation(
            "maintenance", start, 2.5, nodes, every=every, until=until, cancels=rng.random() < 0.5
        )
        system = replace(system, reservations=(*system.reservations, maintenance))
    if policy in ("fcfs", "first_fit", "easy", "conservative") and rng.random() < 0.6:
        order = rng.choice(ORDERS)
        policy = f"{'none' if policy == 'fcfs' else policy}(order={order})"
        decay: Any = rng.choice(("exact", "slurm", "steps"))
        shares = bl.FairShare(decay=decay, half_life=40, decay_period=7, decay_factor=0.5)
        system = replace(system, accounts=ACCOUNTS, fair_share=shares)
    return system, policy


def _observers(rng: Random, run: Run, begin: float) -> Iterator[bl.Observer]:
    """Give the observers with all their instants later; nodes fail by a list."""
    steps = bl.observer.Steps([begin - 3, begin + 4.5, begin + 9, begin + 31], [0.5, 0.25, 1.0, 0.125])
    for each in run.observers:
        if isinstance(each, bl.Power):
            yield bl.Power(each.nodes, cap={"time": [begin, begin + 15.0], "value": [500.0, 1e9]})
            yield bl.EnergyPrice(steps)
            yield bl.Signal("cycle", lambda time: (time - begin) % 7, every=rng.choice((1.0, 2.5, 4.0)))
        elif isinstance(each, bl.Failures):
            count = rng.randint(1, 4)
            outages = {
                "node": [rng.randrange(run.system.nodes) for _ in range(count)],
                "time": [begin + UNIT * rng.randrange(3000) for _ in range(count)],
                "repair_time": [UNIT * rng.randrange(500) for _ in range(count)],
            }
            yield bl.Failures(outages, on_failure="requeue")
        else:
            yield each


def _options(given: Mapping[str, Any], begin: float) -> dict[str, Any]:
    options = dict(given)
    if options.get("events"):
        options["events"] = [{**event, "time": event["time"] + begin} for event in options["events"]]
    sleep = options.get("sleep")
    if sleep is not None and isinstance(sleep.keep, tuple):
        options["sleep"] = replace(sleep, keep=[(time + begin, count) for time, count in sleep.keep])
    return options


def outcome_of(run: Run, shift: float) -> Outcome:
    """Simulate, and return all that came of it, with all times earlier by `shift`."""
    simulation = simulation_of(run)
    seen = record(simulation)
    result = simulation.result()
    tables = {**seen.tables, "timeline": result.timeline, "service": bl.service.workload(result)}
    if "rates" in result.outcome.tables:
        tables["rates"] = result.rates
    found: Outcome = {name: _earlier(table, shift) for name, table in tables.items()}
    measures = (
        result.metrics(),
        bl.service.describe(result),
        seen.now - shift,
        seen.finished,
        _earlier_questions(seen.remembered, shift),
    )
    return found | dict(zip(("metrics", "measures", "now", "finished", "deeds"), measures, strict=True))


def _earlier_questions(remembered: object, shift: float) -> object:
    """Return what a scheduler remembers, with the times at which it was asked earlier by `shift`."""
    if isinstance(remembered, dict) and remembered.get("questions"):
        asked = [(time - shift, seen) for time, seen in remembered["questions"]]
        return {**remembered, "questions": asked}
    return remembered


def _earlier(table: pl.DataFrame, shift: float) -> pl.DataFrame:
    names = [name for name in TIMES if name in table.columns]
    return table.with_columns(pl.col(name) - shift for name in names)


def differences(one: Outcome, other: Outcome) -> list[str]:
    """Name what differs."""
    names = one.keys() | other.keys()
    return sorted(name for name in names if not _are_equal(one.get(name), other.get(name)))


def _are_equal(one: object, other: object) -> bool:
    if isinstance(one, pl.DataFrame) and isinstance(other, pl.DataFrame):
        return one.equals(other)
    return one == other


def is_exact(outcome: Outcome) -> bool:
    """Whether all times of a run stay float64 without rounding when they are shifted."""
    for table in outcome.values():
        if isinstance(table, pl.DataFrame):
            for name in TIMES:
                if name in table.columns:
                    times = table[name].drop_nulls().to_numpy() / FINEST
                    times = times[np.isfinite(times)]
                    if not (times == np.floor(times)).all():
                        return False
    return True
