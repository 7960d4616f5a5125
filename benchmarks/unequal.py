"""EASY where tasks are of unequal size: CPU time in times of the same cores as tasks of one core.

`python benchmarks/unequal.py [--jobs N] [--rounds N]`

A workload like RICC's, on 1,024 nodes of 8 cores: bursts of many like jobs, most of them small; a task has
1 to 8 cores of one node, as in jobs with threads. So a job may fit by the free cores in all but on no nodes,
and EASY counts node by node when its head fits.
"""

import argparse
import statistics
from functools import partial

import numpy as np
import polars as pl
from measure import cpu_time, verdict

import batchlab as bl

NODES, CORES = 1024, 8
SYSTEM = bl.System.homogeneous(nodes=NODES, resources={"core": CORES})
LOAD = 0.87
TARGET = 4.0
CORES_PER_TASK = {1: 0.45, 2: 0.1, 3: 0.03, 4: 0.17, 6: 0.05, 8: 0.2}


def ricc_like(jobs: int, seed: int = 0) -> pl.DataFrame:
    """Make jobs with the cores of a task; bursts of 1 to some hundred like jobs come at random."""
    random = np.random.default_rng(seed)
    bursts = random.zipf(1.6, jobs).clip(1, 500)
    bursts = bursts[: int(np.searchsorted(bursts.cumsum(), jobs)) + 1]
    of_burst = np.repeat(np.arange(len(bursts)), bursts)[:jobs]
    cores = random.choice([*CORES_PER_TASK], len(bursts), p=[*CORES_PER_TASK.values()])
    tasks = np.int64(1) << random.geometric(0.35, len(bursts)).clip(1, 11) - 1
    tasks = np.minimum(tasks, NODES * CORES // 8 // cores)
    typical = random.lognormal(np.log(3600.0), 1.5, len(bursts))
    run_time = (typical[of_burst] * random.lognormal(0.0, 0.3, jobs)).clip(1, 259_200).astype(np.int64)
    factor = random.uniform(1, 5, len(bursts))[of_burst]
    requested_time = np.maximum(np.ceil(run_time * factor / 3600).astype(np.int64) * 3600, run_time)
    area = float((tasks[of_burst] * cores[of_burst] * run_time).sum())
    span = area / (NODES * CORES * LOAD)
    submit_time = np.sort(random.uniform(0, span, len(bursts)))[of_burst].astype(np.int64)
    return pl.DataFrame(
        {
            "submit_time": submit_time,
            "run_time": run_time,
            "requested_time": requested_time,
            "tasks": tasks[of_burst],
            "core": cores[of_burst],
        }
    )


def of_single_cores(jobs: pl.DataFrame) -> pl.DataFrame:
    """Return the jobs with as many cores, as tasks of one core."""
    return jobs.with_columns(tasks=pl.col("tasks") * pl.col("core"), core=pl.lit(1))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--policies", nargs="*", default=["easy"])
    options = parser.parse_args()
    unequal = ricc_like(options.jobs)
    workloads = [bl.Workload.from_table(each) for each in (unequal, of_single_cores(unequal))]
    for policy in options.policies:
        ratios = []
        for _ in range(options.rounds):
            works = [partial(bl.simulate, workload, SYSTEM, policy) for workload in workloads]
            (of_unequal, result), (of_single, _) = (cpu_time(work) for work in works)
            ratios.append(of_unequal / of_single)
            wait = float((result.jobs["start_time"] - result.jobs["submit_time"]).mean() or 0)  # type: ignore[arg-type]
            print(f"{policy}: {of_unequal:.2f} s, single cores {of_single:.2f} s; mean wait {wait:,.0f} s")
        verdict(
            f"{policy}, unequal tasks, in single cores", statistics.median(ratios), TARGET, at_least=False
        )


if __name__ == "__main__":
    main()
