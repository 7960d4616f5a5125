"""The records of jobs that were requeued, and records that a dump has several times."""

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
    """Make one row of the records of each job.

    Records of one number are attempts of one job as long as its user stays, and the attempt before did not
    complete and ended less than a day before: Slurm begins its numbers anew when they are used up, and a job
    that it requeues is submitted again at once.

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
    """Put together what happened in the attempts of each job, one after the other."""
    last = pl.int_range(pl.len()).over(generation) == pl.len().over(generation) - 1
    terms = pl.when(last).then(RUN_EVENTS).otherwise(attempt_terms())
    return [terms.str.join(",", ignore_nulls=True).over(generation).replace("", None).alias(RUN_EVENTS)]


def _is_over(last: pl.Expr) -> pl.Expr:
    """Return which attempts ended: a job whose last record says that it was requeued waits again."""
    waits = (pl.col("state") == "REQUEUED").fill_null(value=False) & last
    return (pl.col("ended") & ~waits).alias("ended")


def _is_single(records: pl.DataFrame) -> bool:
    """Tell whether each job has one record."""
    return not records.select(pl.struct(_KEY).is_duplicated().any()).item()


def _without_repeats(records: pl.DataFrame, notes: Notes) -> pl.DataFrame:
    """Leave out records that are there again, or were written before the job had ended."""
    again = ~pl.struct(*_KEY, "submit", "start", "end", "state").is_first_distinct()
    last = pl.int_range(pl.len()).over(*_KEY, "submit") == pl.len().over(*_KEY, "submit") - 1
    # A job that was resized has a record for each size, which all but the last are in this state.
    older = ~pl.col("ended") & ~last & (pl.col("state") != "RESIZING").fill_null(value=True)
    found = records.select(again.alias("again"), older.alias("older"))
    for reason, mask in (SAME_RECORD, found["again"]), (OLDER_RECORD, found["older"] & ~found["again"]):
        out = records.filter(mask)
        notes.add("dropped", reason, out["line"], out["base"])
    return records.filter(~found["again"] & ~found["older"])


def _resized(ordered: pl.DataFrame, generation: list[str], notes: Notes) -> pl.DataFrame:
    """Make one record of the sizes of a run: its first start, and the time elapsed in all of them."""
    resizing = (pl.col("state") == "RESIZING").fill_null(value=False)
    if not ordered.select(resizing.any()).item():
        return ordered
    before = (~resizing).cast(pl.Int64).cum_sum().over(generation) - (~resizing).cast(pl.Int64)
    run = [*generation, "run"]
    ordered = ordered.with_columns(before.alias("run"))
    whole = ordered.with_columns(
        # A record of a later size says that it was submitted when the size changed.
        *(pl.col(name).first().over(run) for name in ("submit", "eligible", "start")),
        pl.col("elapsed").sum().over(run),
        pl.len().over(run).alias("sizes"),
    ).filter(pl.int_range(pl.len()).over(run) == pl.len().over(run) - 1)
    several = whole.filter(pl.col("sizes") > 1)
    notes.add("noted", _RESIZED, several["line"], several["base"])
    notes.skip("records of sizes before the last", ordered.height - whole.height)
    return whole.drop("run", "sizes")
