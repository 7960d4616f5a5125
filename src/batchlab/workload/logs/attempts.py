"""The numbers of jobs, array tasks and components in Slurm and PBS, and the records of one job."""

import polars as pl

from batchlab.workload import arrays
from batchlab.workload.logs.outcomes import attempt_terms, note_preempted
from batchlab.workload.logs.reading import Notes
from batchlab.workload.run_events import RUN_EVENTS

# 12, 12_3, 12_[3-9%2], 12[3] and 12[] of PBS, 12+1; a dump may truncate the text in brackets.
_PLAIN = r"^\d{1,18}$"
_PARTS = r"^(\d{1,18})(?:_?\[([^\]]*)\]?|_(\d{1,7}))?(?:\+(\d{1,6}))?$"
# A step cannot follow an open bracket: the dots in 12_[1,3,... mark a truncated list.
STEP = r"^\d+(?:_(?:\d+|\[[^\]]*\]))?(?:\+\d+)?\."
"""Pattern for the beginning of a step's number."""

_MOST_TASKS = 4_000_001
_CUT_SHORT = "the array's list of indices is cut short: those that are there are taken"
_NOT_INDICES = "the array's list of indices cannot be read: taken as one job"


def is_step(column: str) -> pl.Expr:
    """Return a mask of the records of steps: ``12.batch``, ``12_3.0``, ``12+1.extern``."""
    return pl.col(column).str.contains(STEP).fill_null(value=False)


def with_parts(records: pl.DataFrame) -> pl.DataFrame:
    """Split ``logged_id`` into the columns ``base``, ``range``, ``array_index`` and ``component``."""
    text = pl.col("logged_id").str.strip_chars()
    plain = text.str.contains(_PLAIN)
    # Extracting groups is slow, and most numbers have no parts.
    parts = pl.when(~plain).then(text).str.extract_groups(_PARTS)
    number = pl.when(plain).then(text).otherwise(parts.struct.field("1"))
    bracket = parts.struct.field("2")
    is_one = bracket.str.contains(r"^\d{1,7}$").fill_null(value=False)
    index = pl.coalesce(parts.struct.field("3"), pl.when(is_one).then(bracket))
    # Array indices in Slurm are smaller; a larger number is invalid.
    sound = index.is_null() | (index.cast(pl.Int64, strict=False) < _MOST_TASKS)
    return records.with_columns(
        pl.when(sound).then(number).cast(pl.Int64, strict=False).alias("base"),
        pl.when(~is_one).then(bracket).alias("range"),
        index.cast(pl.Int64, strict=False).alias("array_index"),
        parts.struct.field("4").cast(pl.Int64, strict=False).alias("component"),
    )


def expanded(records: pl.DataFrame, notes: Notes) -> pl.DataFrame:
    """Expand records of several tasks into one row per task without a record of its own.

    Add ``array_limit``: the maximum number of running tasks of the array, if one of its records has it.
    """
    ranges = records.filter(pl.col("range").is_not_null())
    if ranges.is_empty():
        return records.with_columns(pl.lit(None, pl.Int64).alias("array_limit"))
    taken = set(records.filter(pl.col("array_index").is_not_null()).select("base", "array_index").iter_rows())
    rows: list[int] = []
    indices: list[int | None] = []
    limits: dict[int, int] = {}
    for row, line, base, text in (
        records.with_row_index("row")
        .filter(pl.col("range").is_not_null())
        .select("row", "line", "base", "range")
        .iter_rows()
    ):
        found, limit, remark = _indices(text)
        if remark is not None:
            notes.add("noted", remark, pl.Series([line]), pl.Series([base]))
        if limit is not None:
            limits[base] = limit
        if not found:
            rows.append(row)
            indices.append(None)
            continue
        own = [index for index in found if (base, index) not in taken]
        taken.update((base, index) for index in own)
        if not own:
            notes.skip("records of arrays whose tasks have their own", 1)
        rows += [row] * len(own)
        indices += own
    tasks = records[rows].with_columns(pl.Series("array_index", indices, pl.Int64))
    first = pl.int_range(pl.len()).over("line") == 0
    tasks = tasks.with_columns(pl.when(first).then("raw").alias("raw"))
    tasks = tasks.with_columns(
        logged_id=pl.when(pl.col("array_index").is_not_null())
        .then(pl.format("{}_{}", "base", "array_index"))
        .otherwise("logged_id")
    )
    together = pl.concat([records.filter(pl.col("range").is_null()), tasks]).sort("line", maintain_order=True)
    limit_of = pl.col("base").replace_strict(
        list(limits), list(limits.values()), default=None, return_dtype=pl.Int64
    )
    return together.with_columns(
        pl.when(pl.col("array_index").is_not_null()).then(limit_of).alias("array_limit")
    )


def _indices(text: str) -> tuple[list[int], int | None, str | None]:
    """Return the indices of the tasks, the limit of running tasks, and a remark."""
    items, _, limit = text.partition("%")
    remark = None
    if "..." in items:
        items, remark = items.partition("...")[0].rstrip(",-"), _CUT_SHORT
    whole = f"{items}%{limit}" if limit else items
    found = arrays.indices_of(whole)
    if found is None or len(found[0]) > _MOST_TASKS:
        return [], None, _NOT_INDICES
    return found[0], found[1], remark


def highest(records: pl.DataFrame) -> int:
    """Return the largest job number in a log."""
    numbers = records.select(pl.max_horizontal(pl.col("raw").max(), pl.col("base").max()))
    return int(numbers.item() or 0)


def numbered(jobs: pl.DataFrame, known: int) -> pl.DataFrame:
    """Assign each job a ``job_id``, and each task of an array its task columns.

    Jobs keep the number from the log. Others get numbers above ``known``, in order, so that they differ from
    the numbers of dropped jobs, which dependencies may name.
    """
    plain = pl.col("array_index").is_null() & pl.col("component").is_null()
    own = pl.coalesce("raw", pl.when(plain).then("base"))
    jobs = jobs.with_columns(own.alias("job_id"))
    # A record of several tasks has the number of its array, which the last task takes over.
    again = pl.col("range").is_not_null() & pl.col("job_id").is_duplicated()
    jobs = jobs.with_columns(pl.when(~again).then("job_id").alias("job_id"))
    missing = pl.col("job_id").is_null()
    above = known + missing.cum_sum().cast(pl.Int64)
    jobs = jobs.with_columns(pl.when(missing).then(above).otherwise("job_id").alias("job_id"))
    if not jobs["array_index"].count():
        return jobs.drop("array_index", "array_limit")
    once = pl.col("array_index").is_not_null() & pl.struct("base", "array_index").is_first_distinct()
    tasks = jobs.select(
        pl.when(once).then("base").alias("array_id"),
        pl.when(once).then("array_index").alias("array_index"),
        pl.when(once).then("array_limit").alias("array_limit"),
    )
    return jobs.drop("array_index", "array_limit").with_columns(tasks.get_columns())


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
