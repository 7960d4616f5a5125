"""Streams of jobs for the measure of adequacy: by hand, of Table I, and of a real Slurm."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["SLURM", "first_case", "shifted", "slurm", "slurm_oracle", "stream", "table_one"]

# An extract of ../shared/oracles/slurm: 220 jobs on 32 nodes, under FIFO and with backfilling, each twice.
SLURM = Path(__file__).parents[1] / "adequacy/slurm_runs.csv"


def stream(**columns: object) -> pl.DataFrame:
    """Make a table of jobs of one task and 1,000 s, which start when they are submitted and run for 10 s."""
    given = pl.DataFrame(columns, strict=False)
    jobs = pl.DataFrame({"job_id": range(1, given.height + 1)}).with_columns(
        submit_time=pl.col("job_id") * 10.0,
        requested_time=pl.lit(1000.0),
        tasks=pl.lit(1),
    )
    jobs = jobs.with_columns(given.get_columns())
    if "start_time" not in columns:
        jobs = jobs.with_columns(start_time=pl.col("submit_time"))
    if "end_time" not in columns:
        jobs = jobs.with_columns(end_time=pl.col("start_time") + 10.0)
    return jobs


def shifted(jobs: pl.DataFrame, rows: Sequence[int], seconds: float = 60.0) -> pl.DataFrame:
    """Start and end some of the jobs later."""
    late = pl.Series(np.isin(np.arange(jobs.height), rows)).cast(pl.Float64) * seconds
    return jobs.with_columns(start_time=jobs["start_time"] + late, end_time=jobs["end_time"] + late)


def first_case() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Give five jobs whose residence times differ for three of them, and whose waits for two."""
    residence, other = np.array([100, 250, 90, 400, 60]), np.array([100, 310, 90, 340, 61])
    processing, processed = np.array([50, 100, 40, 300, 30]), np.array([50, 100, 40, 300, 31])
    submit = np.array([0, 30, 30, 90, 700])
    real = stream(submit_time=submit, start_time=submit + residence - processing, end_time=submit + residence)
    model = stream(submit_time=submit, start_time=submit + other - processed, end_time=submit + other)
    return real, model


def table_one() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Give 1,000 jobs of which as many are 60 s late as Table I says, where 13 is read as 9."""
    late = {100: 4, 250: 9, 500: 20, 750: 28, 1000: 35}
    rows: list[int] = []
    for k, count in late.items():
        rows += range(k - (count - len(rows)), k)
    jobs = stream(submit_time=np.arange(1000) * 30.0)
    return jobs, shifted(jobs, rows)


def slurm(run: str) -> pl.DataFrame:
    """Give a real run: fifo_a, fifo_b, bf_a or bf_b; whole seconds."""
    return _renamed(pl.read_csv(SLURM).rename({f"{run}_start": "start", f"{run}_end": "end"}))


def slurm_oracle(path: Path) -> pl.DataFrame:
    """Read the whole table of a real run, as it was recorded."""
    return _renamed(pl.read_csv(path))


def _renamed(table: pl.DataFrame) -> pl.DataFrame:
    return table.select(
        pl.col("job").alias("job_id"),
        pl.col("submit").alias("submit_time"),
        pl.col("nodes").alias("tasks"),
        requested_time=pl.col("limit_min") * 60,
        start_time="start",
        end_time="end",
    )
