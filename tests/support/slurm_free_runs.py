"""Free runs of a recorded stream under `slurm`, beside real runs.

`PYTHONPATH=src:tests python -m support.slurm_free_runs FOLDER` prints a table. The folder has the stream
s1.csv and real runs of it, as far as they are there.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

import polars as pl

import batchlab as bl

__all__ = ["CONFIGURATIONS", "Comparison", "Configuration", "compared"]

SEEDS = range(20)
SYSTEM = bl.System.homogeneous(nodes=32, resources={"core": 1})
# As measured: from the allocation to the begin of the script, and from its end to the release of the last
# node; and from the planned second of a submission to its arrival.
OVERHEADS = bl.Overheads(launch=0.05, completion=0.03)
LAG = 0.013


@dataclass(frozen=True)
class Configuration:
    """A recorded configuration, as a policy, and its real runs."""

    policy: str
    real: tuple[str, ...]


CONFIGURATIONS = (
    Configuration("slurm(backfill=false)", ("fifo_a", "fifo_b")),
    Configuration("slurm(bf_interval=2, bf_resolution=1)", ("bf_a", "bf_b")),
    Configuration("slurm", ("bf30_a",)),
)


@dataclass(frozen=True)
class Comparison:
    """One real run, and as many of the twin as there are seeds: P and mean waits, seconds."""

    real_wait: float
    waits: list[float]
    distances: list[float]


def compared(policy: str, stream: Path, real: Path) -> Comparison:
    """Run the stream with phases drawn from each seed."""
    jobs = pl.read_csv(stream).select(
        job_id="job",
        submit_time=pl.col("submit") + LAG,
        run_time=pl.col("sleep").cast(pl.Float64),
        requested_time=pl.col("limit_min") * 60.0,
        tasks="nodes",
    )
    workload = bl.Workload.from_table(jobs)
    columns = {"job": "job_id", "submit": "submit_time", "start": "start_time", "end": "end_time"}
    asked = jobs.select("job_id", "requested_time", "tasks")
    seen = pl.read_csv(real).rename(columns).select(pl.col(*columns.values())).join(asked, on="job_id")
    waits, distances = [], []
    for seed in SEEDS:
        found = bl.simulate(workload, SYSTEM, policy, seed=seed, overheads=OVERHEADS).jobs
        # Slurm's own times are whole seconds.
        times = pl.col("submit_time", "start_time", "end_time").floor()
        model = found.select("job_id", times, "requested_time", "tasks")
        waits.append(mean_wait(model))
        distances.append(bl.adequacy.compare(seen, model).P)
    return Comparison(mean_wait(seen), waits, distances)


def mean_wait(jobs: pl.DataFrame) -> float:
    """Give the mean of start − submission."""
    return fmean((jobs["start_time"] - jobs["submit_time"]).to_list())


def main(folder: Path) -> None:
    """Print the table."""
    print("| policy | real run | mean wait: real | twin | P |")  # noqa: T201
    print("|---|---|---|---|---|")  # noqa: T201
    for each in CONFIGURATIONS:
        for name in each.real:
            real = next(iter(folder.glob(f"{name}.csv*")), None)
            if real is None:
                continue
            found = compared(each.policy, folder / "s1.csv", real)
            low, high, mean = min(found.waits), max(found.waits), fmean(found.waits)
            least, most = min(found.distances), max(found.distances)
            print(  # noqa: T201
                f"| `{each.policy}` | {name} | {found.real_wait:.1f} | {low:.1f}–{high:.1f} ({mean:.1f}) "
                f"| {median(found.distances):.1f} ({least:.1f}–{most:.1f}) |"
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
