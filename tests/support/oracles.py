"""Schedules that other programs and a real Slurm made: kept beside the repository, not in it."""

from pathlib import Path

import polars as pl
import pytest

import batchlab as bl

__all__ = ["STARTS", "compared", "differing", "find", "first_differences", "mean_wait", "starts"]

SHARED = Path(__file__).parents[3] / "shared"
STARTS = pl.col("start_time"), pl.col("oracle_start")


def find(name: str) -> Path:
    """Give a file's path, or skip the test where the file is absent."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"no file ../shared/{name} beside the repository")
    return path


def starts(name: str) -> pl.DataFrame:
    """Read `job_id` and `oracle_start` (s) of all jobs of an oracle."""
    table = pl.read_csv(find(f"oracles/{name}.csv.gz"))
    return table.select("job_id", oracle_start=pl.col("start").cast(pl.Float64))


def compared(result: bl.Result, oracle: pl.DataFrame) -> pl.DataFrame:
    """Join the jobs of a result and of an oracle: the same jobs, all of them started."""
    columns = ("job_id", "submit_time", "start_time", "end_time", "run_time", "tasks")
    table = result.jobs.select(columns).join(oracle, on="job_id", how="full", coalesce=True, validate="1:1")
    assert table.null_count().sum_horizontal().item() == 0
    return table.sort("submit_time", "job_id")


def differing(table: pl.DataFrame) -> int:
    """Count the jobs whose starts differ."""
    start, oracle = STARTS
    return table.filter(start != oracle).height


def mean_wait(table: pl.DataFrame, start: str = "start_time") -> float:
    """Give the mean wait, s, to two decimals."""
    return round(float((table[start] - table["submit_time"]).to_numpy().mean()), 2)


def first_differences(table: pl.DataFrame) -> list[float]:
    """Give the instants (s) at which the schedules part, having agreed before.

    Two schedules agree again when the last job whose start differs has ended in both; the first difference
    after that has a cause of its own, the others follow from it.
    """
    start, oracle = STARTS
    spans = table.filter(start != oracle).select(
        begin=pl.min_horizontal(start, oracle), end=pl.max_horizontal(start, oracle) + pl.col("run_time")
    )
    instants, until = [], -1.0
    for begin, end in spans.sort("begin").iter_rows():
        if begin > until:
            instants.append(begin)
        until = max(until, end)
    return instants
