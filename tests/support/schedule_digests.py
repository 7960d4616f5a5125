"""Digests of schedules in `tests/kept/schedules.txt`: a change of code that changes a schedule is seen.

A line of the file has the name of a case and the digest of its schedules: the id, state, start, end and
nodes of each job, and of each run that was cut short. Oracle cases also have
digests of completion times. Times count to the last bit. Digests were recorded on Linux with glibc on x86-64;
another C library may round logarithms otherwise.

`BATCHLAB_SCHEDULES=FOLDER pytest …` writes schedules to a folder. If the folder has the schedule of a case,
and it differs, the test lists the first jobs that differ. To see a change, run the test with the earlier
code, then with the new code, with one folder.

`UPDATE_SCHEDULES=1 pytest …` (in one process) records the digests of what runs. A commit that does so names
the cases that changed and the rule that changed them.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import islice, zip_longest
from pathlib import Path
from urllib.parse import quote

import polars as pl
import pytest

import batchlab as bl

__all__ = ["Case", "check", "check_tables", "digest", "recorded", "schedule"]

FILE = Path(__file__).parents[1] / "kept" / "schedules.txt"
UPDATE = "UPDATE_SCHEDULES"
FOLDER = "BATCHLAB_SCHEDULES"
LENGTH = 10
# So many are listed of the cases that differ, and of the jobs of each.
LISTED = 5

Case = tuple[str, Callable[[], Sequence[bl.Result]]]
"""A name without spaces, and what runs the case."""


@cache
def recorded() -> dict[str, str]:
    """Read the recorded digests by the names of their cases."""
    return dict(line.split() for line in FILE.read_text("utf-8").splitlines()) if FILE.exists() else {}


def schedule(results: Iterable[bl.Result]) -> pl.DataFrame:
    """Return a row per job and per run that was cut short, the results one after another."""
    return pl.concat([part for result in results for part in (_jobs(result), _cut_short(result))])


def digest(table: pl.DataFrame) -> str:
    """Return the first digits of the SHA-256 of a schedule."""
    found = hashlib.sha256()
    for column in table.iter_columns():
        if column.dtype == pl.String:
            found.update("\n".join(column.to_list()).encode())
        else:
            found.update(column.fill_null(float("nan")).to_numpy().tobytes())
    return found.hexdigest()[:LENGTH]


def check(cases: Iterable[Case]) -> None:
    """Fail if the schedule of a case is another than the recorded one, or has none."""
    check_tables({name: schedule(run()) for name, run in cases})


def check_tables(found: Mapping[str, pl.DataFrame]) -> None:
    """Fail if the table of a case has another digest than the recorded one, or none is recorded."""
    digests = {name: digest(table) for name, table in found.items()}
    seen = {name: _compared(name, table) for name, table in found.items()} if os.environ.get(FOLDER) else {}
    if os.environ.get(UPDATE):
        recorded().update(digests)
        FILE.write_text("".join(f"{name} {each}\n" for name, each in sorted(recorded().items())), "utf-8")
    others = [name for name, each in digests.items() if recorded().get(name) != each]
    if others:
        lines = [f"{len(others)} of {len(digests)} schedules differ from {FILE.name}, first of all:"]
        lines += [
            f"{name}: {recorded().get(name, 'not recorded')}, now {digests[name]}" for name in others[:LISTED]
        ]
        lines += [line for name in others[:LISTED] for line in seen.get(name, ())]
        lines += [f"{FOLDER}=FOLDER shows the jobs, {UPDATE}=1 records the digests: see {__name__}"]
        pytest.fail("\n".join(lines), pytrace=False)


def _jobs(result: bl.Result) -> pl.DataFrame:
    placed = result.placements.group_by("row", maintain_order=True).agg(
        placed=pl.format("{}*{}", "tasks", "node").str.join(" ")
    )
    return (
        result.jobs.with_row_index("row")
        .with_columns(pl.col("row").cast(placed["row"].dtype))
        .join(placed, on="row", how="left", maintain_order="left")
        .select(
            pl.col("job_id").cast(pl.Int64),
            pl.col("state").cast(pl.String),
            pl.col("start_time", "end_time").cast(pl.Float64),
            pl.col("placed").fill_null("").alias("nodes"),
        )
    )


def _cut_short(result: bl.Result) -> pl.DataFrame:
    return result.interruptions.select(
        pl.col("job_id").cast(pl.Int64),
        pl.lit("cut short").alias("state"),
        pl.col("start_time", "end_time").cast(pl.Float64),
        pl.col("nodes").list.eval(pl.element().cast(pl.String)).list.join(" "),
    )


def _compared(name: str, table: pl.DataFrame) -> list[str]:
    """List the first jobs that differ from the schedule in the folder; write it if the folder has none."""
    path = Path(os.environ[FOLDER]) / f"{quote(name, safe='')}.parquet"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        table.write_parquet(path)
        return []
    before = pl.read_parquet(path)
    pairs = zip_longest(before.iter_rows(), table.iter_rows())
    others = ((one, other) for one, other in pairs if one != other)
    return [f"{name}: {one}, now {other}" for one, other in islice(others, LISTED)]
