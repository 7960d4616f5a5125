"""Schedules made by other programs and a real Slurm: small ones in the repository, all of them beside it."""

import atexit
import os
import shutil
import tarfile
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import polars as pl
import pytest

import batchlab as bl

__all__ = [
    "FACTS",
    "STARTS",
    "compared",
    "differing",
    "fact",
    "find",
    "first_differences",
    "mean_wait",
    "starts",
]

SHARED = Path(os.environ.get("BATCHLAB_SHARED") or Path(__file__).parents[3] / "shared")
FACTS = Path(__file__).parents[1] / "oracles" / "facts"
STARTS = pl.col("start_time"), pl.col("oracle_start")


def find(name: str) -> Path:
    """Give the path of a file or folder: beside the repository, or what this has of it; or skip the test."""
    path = SHARED / name
    if path.exists():
        return path
    kept = fact(name.removeprefix("oracles/")) if name.startswith("oracles/") else None
    if kept is None:
        pytest.skip(f"no file ../shared/{name} beside the repository")
    return kept


def fact(name: str) -> Path | None:
    """Give what the repository has: the file, the packed file, or a file of a packed folder."""
    for path in (FACTS / name, FACTS / f"{name}.gz"):
        if path.exists():
            return path
    for folder in (Path(name), *Path(name).parents):
        packed = FACTS / f"{folder}.tar.xz"
        if packed.is_file():
            path = _unpacked(packed) / folder.name / Path(name).relative_to(folder)
            return path if path.exists() else None
    return None


@cache
def _unpacked(packed: Path) -> Path:
    folder = Path(mkdtemp(prefix="batchlab-facts-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    return folder


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
