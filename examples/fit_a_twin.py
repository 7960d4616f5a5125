"""Fit a twin to the log of a centre with known hidden parameters, and compare both.

The log comes from a simulation. It has what accounts of Slurm have: neither how late the controller learns of
a job, nor how long nodes are busy after one; and of the depth of backfill and of the weight of the size of
jobs the configuration at hand says something else. All is judged on the second half of the log, of which the
fit knows nothing.

    python fit_a_twin.py          # two hidden overheads and 300 jobs, in seconds
    python fit_a_twin.py --full   # four hidden values and 1,600 jobs, in minutes
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

import batchlab as bl

CONFIGURATION = """ClusterName=made-up
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityWeightJobSize=1000
PriorityMaxAge=12:00:00
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[1-16] CPUs=16
PartitionName=batch Nodes=ALL Default=YES
PartitionName=short Nodes=ALL MaxTime=60
"""
HIDDEN = {"submission": 2.0, "completion": 24.0, "bf_max_job_test": 6.0, "job_size": 200.0}
# How near a fitted value must be: an amount, and a share of the hidden one.
NEAR = {
    "submission": (1.0, 0.0),
    "completion": (1.0, 0.0),
    "bf_max_job_test": (0.0, 0.25),
    "job_size": (0.0, 0.25),
}
MOST_RATIO = 1.1


@dataclass(frozen=True)
class Case:
    """What is hidden, and how large the study is."""

    hidden: tuple[str, ...]
    gap: float
    jobs: int
    trials: int
    test_seeds: int


SMALL = Case(("submission", "completion"), gap=700, jobs=400, trials=80, test_seeds=3)
FULL = Case(tuple(HIDDEN), gap=560, jobs=1600, trials=400, test_seeds=10)
SEEDS = 2
MORNING, EVENING = 8, 20
HOUR = 3600
BY_DAY, BY_NIGHT = 0.5, 1.5
"""How long jobs are apart, in parts of the average."""


def submitted(jobs: int, gap: float, seed: int = 1) -> bl.Workload:
    """Generate jobs with a mean gap in seconds, by day three times as many as by night."""
    chance = np.random.default_rng(seed)
    times, now = [], 0.0
    for apart in chance.exponential(gap, jobs):
        now += apart * (BY_DAY if MORNING <= now / HOUR % 24 < EVENING else BY_NIGHT)
        times.append(round(now))
    limit = chance.choice([900, 3600, 14_400, 43_200], jobs, p=[0.3, 0.3, 0.3, 0.1]).astype(float)
    return bl.Workload.from_table(
        pl.DataFrame(
            {
                "submit_time": times,
                "run_time": (limit * chance.uniform(0.05, 0.95, jobs)).round(0) + 1,
                "requested_time": limit,
                "tasks": chance.choice([1, 4, 16, 32, 64], jobs, p=[0.3, 0.25, 0.25, 0.15, 0.05]),
                "partition": np.where(limit <= HOUR, "short", "batch"),
            }
        )
    )


def logged(workload: bl.Workload, hidden: bl.twin.Twin, seed: int = 12345) -> bl.Workload:
    """Return the log of the centre: starts of a run with the hidden values, and ends of scripts."""
    start = pl.Series("start_time", hidden.run(workload, seed=seed).outcome.start_time)
    return bl.Workload.from_table(workload.jobs.with_columns(start, end_time=start + pl.col("run_time")))


def studied(case: Case, folder: Path) -> tuple[bl.twin.Fit, bl.twin.Assessment, bl.Workload]:
    """Make the log, fit the configured twin on it, and judge the hidden values on the same jobs."""
    folder.joinpath("slurm.conf").write_text(CONFIGURATION)
    configured = bl.twin.read_twin(folder, name="made-up")
    hidden = bl.twin.changed(configured, {name: HIDDEN[name] for name in case.hidden})
    log = logged(submitted(case.jobs, case.gap), hidden)
    sought = [bl.twin.parameter(configured, name) for name in case.hidden]
    found = bl.twin.fit(
        log, configured, parameters=sought, trials=case.trials, seeds=SEEDS, test_seeds=case.test_seeds
    )
    return found, bl.twin.assessed(hidden, log, like=found), log


def is_near(name: str, value: float) -> bool:
    """Return whether a fitted value is near the hidden one."""
    amount, share = NEAR[name]
    return abs(value - HIDDEN[name]) <= max(amount, share * HIDDEN[name])


def main() -> None:
    """Fit, and tell."""
    full = "--full" in sys.argv
    with TemporaryDirectory() as folder:
        found, true, log = studied(FULL if full else SMALL, Path(folder))
    for name, value in found.values.items():
        near = "near" if is_near(name, value) else "not near"
        shown = f" fitted {value:.4g}, hidden {HIDDEN[name]:g}:" if full else ""
        print(f"{name}:{shown} {near}")
    ratio = found.after.median_P / true.median_P
    if full:
        before, after = found.before, found.after
        values = (f"{each.median_P:.1f} s" for each in (before, after, true))
        print("P before, after, hidden:", ", ".join(values))
        counts = (f"{each.unexplained:.0f}" for each in (before, after, true))
        print(f"unexplained before, after, hidden, of {true.jobs}:", ", ".join(counts))
        bl.report.write_fit(found, "fit.html", source=f"{len(log):,} jobs made up")
    print(
        f"P at most {MOST_RATIO} times that with the hidden values: {'yes' if ratio <= MOST_RATIO else 'no'}"
    )


if __name__ == "__main__":
    main()
