"""When jobs were served: the runs that were cut short and the last ones together."""

from __future__ import annotations

import polars as pl

__all__ = ["preemptions", "service_intervals"]

_COLUMNS = ("job_id", "row", "start_time", "end_time", "work")


def service_intervals(jobs: pl.DataFrame, interruptions: pl.DataFrame) -> pl.DataFrame:
    """List when jobs held their nodes, and what work was done then that they kept.

    Parameters
    ----------
    jobs
        A table like `Result.jobs`.
    interruptions
        A table like `Result.interruptions`.

    Returns
    -------
    polars.DataFrame
        By row and time: ``job_id`` (Int64), ``row`` (UInt32), ``start_time`` and ``end_time`` (Float64, s;
        null where the job still runs), ``work`` (Float64, seconds of its run time; null where it was not
        done).
    """
    numbered = jobs.select("job_id", "start_time", "end_time", "run_time", "state").with_row_index("row")
    kept = interruptions.group_by("row").agg(pl.col("saved").sum())
    left = (pl.col("run_time") - pl.col("saved").fill_null(0.0)).clip(0.0)
    last = (
        numbered.filter(pl.col("start_time").is_not_null())
        .join(kept, on="row", how="left")
        .with_columns(work=pl.when(pl.col("state") == "completed").then(left))
    )
    cut_short = interruptions.with_columns(work="saved")
    both = pl.concat([each.select(_COLUMNS) for each in (cut_short, last)])
    return both.sort("row", "start_time", "end_time", maintain_order=True)


def preemptions(jobs: pl.DataFrame, interruptions: pl.DataFrame) -> pl.Series:
    """Count for each job the runs that were cut short, and after which it waited again.

    Parameters
    ----------
    jobs
        A table like `Result.jobs`.
    interruptions
        A table like `Result.interruptions`.

    Returns
    -------
    polars.Series
        ``preemptions``, UInt32: one number per job.
    """
    rows = pl.DataFrame({"row": pl.int_range(jobs.height, dtype=pl.UInt32, eager=True)})
    counts = interruptions.group_by("row").agg(preemptions=pl.len().cast(pl.UInt32))
    counted = rows.join(counts, on="row", how="left", maintain_order="left")
    return counted["preemptions"].fill_null(0)
