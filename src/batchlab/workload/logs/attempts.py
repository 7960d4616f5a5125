"""The records of jobs that were requeued, and records that a dump has several times."""

import polars as pl

from batchlab.workload.logs.notes import Notes

__all__ = ["joined"]

SAME_RECORD = "the same record again"
OLDER_RECORD = "an older record of a job that has a newer one"
_MERGED = "requeued: its records are one job, from the first submission to the last end"
_KEY = ["cluster", "base", "array_index", "component", "range"]


def joined(records: pl.DataFrame, notes: Notes, *, each: bool) -> pl.DataFrame:
    """Make one row of the records of each job.

    Records of one number are attempts of one job as long as its user and its name stay, and the attempt
    before did not complete: Slurm begins its numbers anew when they are used up.

    Parameters
    ----------
    records
        In the order of lines.
    notes
        Gets what is left out or put together.
    each
        Whether every attempt stays a job by itself.

    Returns
    -------
    polars.DataFrame
        With the column ``attempts``: how many records became a row, or which of them it is, from 1.
    """
    records = _without_repeats(records, notes)
    if not records.select(pl.struct(_KEY).is_duplicated().any()).item():
        return records.with_columns(pl.lit(1, pl.Int64).alias("attempts"))
    ordered = records.sort("submit", "line", nulls_last=False, maintain_order=True)
    same = pl.all_horizontal(
        pl.col(name).eq_missing(pl.col(name).shift(1).over(_KEY)) for name in ("user", "job_name")
    )
    first = pl.int_range(pl.len()).over(_KEY) == 0
    anew = first | ~same | (pl.col("state").shift(1).over(_KEY) == "COMPLETED").fill_null(value=False)
    ordered = ordered.with_columns(anew.cast(pl.Int64).cum_sum().over(_KEY).alias("generation"))
    generation = [*_KEY, "generation"]
    if each:
        made = ordered.with_columns((pl.int_range(pl.len()).over(generation) + 1).alias("attempts"))
        return made.drop("generation").sort("line", maintain_order=True)
    made = ordered.with_columns(
        pl.col("submit").first().over(generation),
        pl.len().over(generation).cast(pl.Int64).alias("attempts"),
        pl.col("eligible").first().over(generation),
    ).filter(pl.int_range(pl.len()).over(generation) == pl.len().over(generation) - 1)
    merged = made.filter(pl.col("attempts") > 1)
    notes.add("noted", _MERGED, merged["line"], merged["base"])
    notes.skip("records of attempts before the last", ordered.height - made.height)
    return made.drop("generation").sort("line", maintain_order=True)


def _without_repeats(records: pl.DataFrame, notes: Notes) -> pl.DataFrame:
    """Leave out records that are there again, or were written before the job had ended."""
    again = ~pl.struct(*_KEY, "submit", "start", "end", "state").is_first_distinct()
    last = pl.int_range(pl.len()).over(*_KEY, "submit") == pl.len().over(*_KEY, "submit") - 1
    older = ~pl.col("ended") & ~last
    found = records.select(again.alias("again"), older.alias("older"))
    for reason, mask in (SAME_RECORD, found["again"]), (OLDER_RECORD, found["older"] & ~found["again"]):
        out = records.filter(mask)
        notes.add("dropped", reason, out["line"], out["base"])
    return records.filter(~found["again"] & ~found["older"])
