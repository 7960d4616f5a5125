"""Records of requeued jobs, and duplicate records in a dump."""

import polars as pl

from batchlab.workload.logs.notes import Notes
from batchlab.workload.logs.run_events import attempt_terms, note_preempted
from batchlab.workload.run_events import RUN_EVENTS

__all__ = ["joined"]

SAME_RECORD = "the same record again"
OLDER_RECORD = "an older record of a job that has a newer one"
_MERGED = "requeued: its records are one job, from the first submission to the last end"
_RESIZED = "resized while it ran: taken with its last size, from its first start"
_DAY = 86_400
_KEY = ["cluster", "base", "array_index", "component", "range"]


def joined(records: pl.DataFrame, notes: Notes, *, each: bool) -> pl.DataFrame:
    """Merge the records of each job into one row.

    Records with the same number are attempts of one job if their user is the same, the previous attempt did
    not complete, and it ended less than a day before: Slurm reuses its numbers, and submits a requeued job
    again immediately.

    Parameters
    ----------
    records
        The records in the order of lines.
    notes
        Collects remarks on dropped and merged records.
    each
        Whether to keep every attempt as a job.

    Returns
    -------
    polars.DataFrame
        With the column ``attempts``: the number of merged records, or the index of the attempt from 1.
    """
    if _is_single(records) or _is_single(records := _without_repeats(records, notes)):
        return records.with_columns(pl.lit(1, pl.Int64).alias("attempts"), _is_over(pl.lit(value=True)))
    ordered = records.sort("submit", "line", nulls_last=False, maintain_order=True)
    before = {name: pl.col(name).shift(1).over(_KEY) for name in ("user", "state", "end")}
    first = pl.int_range(pl.len()).over(_KEY) == 0
    other = pl.col("user").ne_missing(before["user"])
    done = (before["state"] == "COMPLETED").fill_null(value=False)
    late = (pl.col("submit") - before["end"] > _DAY).fill_null(value=False)
    anew = first | other | done | late
    ordered = ordered.with_columns(anew.cast(pl.Int64).cum_sum().over(_KEY).alias("generation"))
    generation = [*_KEY, "generation"]
    ordered = _resized(ordered, generation, notes)
    if each:
        place = pl.int_range(pl.len()).over(generation)
        last = place == pl.len().over(generation) - 1
        made = ordered.with_columns((place + 1).alias("attempts"), _is_over(last))
        return made.drop("generation").sort("line", maintain_order=True)
    made = ordered.with_columns(
        pl.col("submit").first().over(generation),
        pl.len().over(generation).cast(pl.Int64).alias("attempts"),
        pl.col("eligible").first().over(generation),
        *_run_events(generation),
    ).filter(pl.int_range(pl.len()).over(generation) == pl.len().over(generation) - 1)
    note_preempted(ordered, generation, notes)
    merged = made.filter(pl.col("attempts") > 1)
    notes.add("noted", _MERGED, merged["line"], merged["base"])
    notes.skip("records of attempts before the last", ordered.height - made.height)
    made = made.with_columns(_is_over(pl.lit(value=True)))
    return made.drop("generation").sort("line", maintain_order=True)


def _run_events(generation: list[str]) -> list[pl.Expr]:
    """Concatenate the run events of each job's attempts in order."""
    last = pl.int_range(pl.len()).over(generation) == pl.len().over(generation) - 1
    terms = pl.when(last).then(RUN_EVENTS).otherwise(attempt_terms())
    return [terms.str.join(",", ignore_nulls=True).over(generation).replace("", None).alias(RUN_EVENTS)]


def _is_over(last: pl.Expr) -> pl.Expr:
    """Mark attempts that ended; a job is queued again if its last record is in the state REQUEUED."""
    waits = (pl.col("state") == "REQUEUED").fill_null(value=False) & last
    return (pl.col("ended") & ~waits).alias("ended")


def _is_single(records: pl.DataFrame) -> bool:
    """Return whether each job has one record."""
    return not records.select(pl.struct(_KEY).is_duplicated().any()).item()


def _without_repeats(records: pl.DataFrame, notes: Notes) -> pl.DataFrame:
    """Drop duplicate records, and records written before the end of a job that has a newer one."""
    again = ~pl.struct(*_KEY, "submit", "start", "end", "state").is_first_distinct()
    last = pl.int_range(pl.len()).over(*_KEY, "submit") == pl.len().over(*_KEY, "submit") - 1
    # A resized job has one record per size; all except the last are in this state.
    older = ~pl.col("ended") & ~last & (pl.col("state") != "RESIZING").fill_null(value=True)
    found = records.select(again.alias("again"), older.alias("older"))
    for reason, mask in (SAME_RECORD, found["again"]), (OLDER_RECORD, found["older"] & ~found["again"]):
        out = records.filter(mask)
        notes.add("dropped", reason, out["line"], out["base"])
    return records.filter(~found["again"] & ~found["older"])


def _resized(ordered: pl.DataFrame, generation: list[str], notes: Notes) -> pl.DataFrame:
    """Merge the records of a run's sizes: its first start, and the sum of the elapsed times."""
    resizing = (pl.col("state") == "RESIZING").fill_null(value=False)
    if not ordered.select(resizing.any()).item():
        return ordered
    before = (~resizing).cast(pl.Int64).cum_sum().over(generation) - (~resizing).cast(pl.Int64)
    run = [*generation, "run"]
    ordered = ordered.with_columns(before.alias("run"))
    whole = ordered.with_columns(
        # Records of later sizes have the time of the resize as submit time.
        *(pl.col(name).first().over(run) for name in ("submit", "eligible", "start")),
        pl.col("elapsed").sum().over(run),
        pl.len().over(run).alias("sizes"),
    ).filter(pl.int_range(pl.len()).over(run) == pl.len().over(run) - 1)
    several = whole.filter(pl.col("sizes") > 1)
    notes.add("noted", _RESIZED, several["line"], several["base"])
    notes.skip("records of sizes before the last", ordered.height - whole.height)
    return whole.drop("run", "sizes")
