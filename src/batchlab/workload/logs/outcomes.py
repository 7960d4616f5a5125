"""What logs of batch systems say of each job: its number, state, time limit, run events and dependencies."""

import math
from collections.abc import Mapping

import polars as pl

from batchlab.workload import dependencies, reasons
from batchlab.workload.columns import TIME_LIMIT
from batchlab.workload.logs.reading import YEAR, Notes, Reading
from batchlab.workload.run_events import RUN_EVENTS

COMPLETED, FAILED, CANCELLED = 1, 0, 5
STATUS_OF = {
    "COMPLETED": COMPLETED,
    **dict.fromkeys(("FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL"), FAILED),
    **dict.fromkeys(("LAUNCH_FAILED", "RECONFIG_FAIL", "SPECIAL_EXIT"), FAILED),
    **dict.fromkeys(("DEADLINE", "CANCELLED", "PREEMPTED", "REQUEUED", "REVOKED", "DELETED"), CANCELLED),
}
"""The final states of jobs, with the corresponding status of the Standard Workload Format."""

_UNFINISHED = (
    *("PENDING", "RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "RESIZING", "REQUEUE_FED"),
    *("REQUEUE_HOLD", "RESV_DEL_HOLD", "SIGNALING", "STAGE_OUT", "STOPPED", "POWER_UP_NODE"),
    *("EXPEDITING",),
)
KNOWN_STATES = (*STATUS_OF, *_UNFINISHED)
"""All known states of Slurm."""
_FEWEST_LETTERS = 3
_MOST_NAMED = 20
_LONGEST_NAME = 30


def word(column: str) -> pl.Expr:
    """Return the word of a state, without the user who cancelled; complete a word truncated by ``+``."""
    text = pl.col(column).str.strip_chars().str.to_uppercase()
    first = text.str.extract(r"^([A-Z_]+)")
    cut = text.str.ends_with("+").fill_null(value=False)
    whole = {
        state[:length]: state
        for state in (*_UNFINISHED, *STATUS_OF)
        for length in range(_FEWEST_LETTERS, len(state))
    }
    return pl.when(cut).then(first.replace(whole)).otherwise(first).alias(column)


def is_ended() -> pl.Expr:
    """Return a mask of the jobs that ended; for an unknown state, whether the job has an end time."""
    state = pl.col("state")
    final = state.is_in([*STATUS_OF]).fill_null(value=False)
    alive = state.is_in([*_UNFINISHED]).fill_null(value=False)
    return (final | (~alive & pl.col("end").is_not_null())).alias("ended")


def note_unknown(records: pl.DataFrame, notes: Notes) -> None:
    """Add remarks on states that no known batch system writes.

    Parameters
    ----------
    records
        With ``state`` as from `word`, ``ended``, ``line`` and ``base``.
    notes
        Collects one reason for each of the first 20 words.
    """
    state = pl.col("state")
    odd = records.filter(state.is_not_null() & ~state.is_in([*STATUS_OF, *_UNFINISHED]))
    known = odd["state"].unique(maintain_order=True).head(_MOST_NAMED).to_list()
    named = (
        pl.when(state.is_in(known)).then(state.str.head(_LONGEST_NAME)).otherwise(pl.lit("of another name"))
    )
    for (name, ended), part in odd.group_by(named.alias("name"), "ended", maintain_order=True):
        taken = "ended, as the log has an end" if ended else "not ended"
        notes.add("noted", f"state {name} is unknown: taken as {taken}", part["line"], part["base"])


OF_PARTITION = "limit of the partition"
"""Record column: whether a job has the maximum time limit of its partition."""


def with_limits(jobs: pl.DataFrame, notes: Notes, reading: Reading) -> pl.DataFrame:
    """Add ``requested_time``, and ``time_limit`` if a job has no limit.

    Parameters
    ----------
    jobs
        With ``limit``, seconds: infinite for no limit, null if unknown; ``run_time``, ``partition``,
        ``queue``, and optionally `OF_PARTITION`.
    notes
        Collects remarks on assumed limits.
    reading
        The substitutes for no limit, and for the limit of a partition.
    """
    unlimited = (pl.col("limit") == math.inf).fill_null(value=False)
    taken = _of_places(reading.unlimited, YEAR)
    if OF_PARTITION in jobs.columns and reading.partition_limits:
        own = _of_places(reading.partition_limits, None)
        taken = pl.coalesce(pl.when(pl.col(OF_PARTITION)).then(own), taken)
    jobs = jobs.with_columns(
        unlimited.alias("unlimited"),
        pl.when(unlimited).then(taken).otherwise("limit").alias("requested_time"),
    )
    endless = pl.col("unlimited") & (pl.col("requested_time") == YEAR)
    if jobs.select(endless.any()).item():
        unknown = jobs.filter(pl.col("requested_time").is_null())
        notes.add("mended", reasons.REQUESTED_TIME_UNKNOWN, unknown["line"], unknown["job_id"])
        known = pl.coalesce("requested_time", "run_time")
        # The planned time is not a limit at which a job is killed.
        jobs = jobs.with_columns(known, pl.when(endless).then(math.inf).otherwise(known).alias(TIME_LIMIT))
    free = jobs.filter("unlimited")
    for seconds, part in free.group_by("requested_time", maintain_order=True):
        reason = f"no time limit of its own: {seconds[0]:,.0f} s taken"
        notes.add("mended", reason, part["line"], part["job_id"])
    return jobs.drop("unlimited", OF_PARTITION, strict=False)


def _of_places(given: float | Mapping[str, float], default: float | None) -> pl.Expr:
    """Return a number of seconds for all jobs, or the value of each job's partition or queue."""
    if not isinstance(given, Mapping):
        return pl.lit(float(given))
    names, values = list(given), [float(each) for each in given.values()]
    return pl.coalesce("partition", "queue").replace_strict(
        names, values, default=default, return_dtype=pl.Float64
    )


_CANCELLED = ("CANCELLED", "DELETED", "REVOKED")
_KILLED = ("OUT_OF_MEMORY", "DEADLINE")
NODE_FAILED = ("NODE_FAIL", "BOOT_FAIL")
"""The states of jobs that ended because of a node failure."""
_PREEMPTED = "PREEMPTED"
_REQUEUED = "requeued while it ran: requeued after the same run time"
_SUSPENDED = "suspended: suspended after the same run time, for as long"
_UNKNOWN_PAUSE = "suspended, but the log does not say when: not suspended"
_NODE = "its node failed: ends or is requeued after the same run time, unless node events are given"
_MISSING_RUNS = "restarted, but its earlier runs are not in the log (sacct --duplicates): not requeued"
_PREEMPTION = "preempted: left to the simulated policy"


def attempt_terms() -> pl.Expr:
    """Return how an attempt with successors ended, after its suspensions; null if it did not start.

    A preemption is not an event: it is a decision of the scheduler, which the simulated scheduler makes
    itself.
    """
    span = pl.col("end") - pl.col("start") - pl.col("suspended").fill_null(0)
    seconds = pl.coalesce("elapsed", span)
    word = (
        pl.when(pl.col("state").is_in(NODE_FAILED)).then(pl.lit("node_requeue")).otherwise(pl.lit("requeue"))
    )
    ended = pl.format("{}:{}", word, seconds)
    holds = (seconds > 0) & ~pl.col("never_started") & pl.col("state").ne_missing(_PREEMPTED)
    return pl.when(holds.fill_null(value=False)).then(_together(RUN_EVENTS, ended))


def note_preempted(attempts: pl.DataFrame, job: list[str], notes: Notes) -> None:
    """Add a remark on attempts that were preempted and have successors."""
    is_last = pl.int_range(pl.len()).over(job) == pl.len().over(job) - 1
    found = attempts.filter((pl.col("state") == _PREEMPTED).fill_null(value=False) & ~is_last)
    notes.add("noted", _PREEMPTION, found["line"], found["base"])


def with_ends(jobs: pl.DataFrame) -> pl.DataFrame:
    """Add the ends of jobs that were cancelled or killed while running to the column ``run_events``.

    Parameters
    ----------
    jobs
        With ``state`` as from `batchlab.workload.logs.outcomes.word`, ``ended`` and ``never_started``.
    """
    if RUN_EVENTS not in jobs.columns:
        jobs = jobs.with_columns(pl.lit(None, pl.String).alias(RUN_EVENTS))
    words = {"cancel": _CANCELLED, "kill": _KILLED, "node_kill": NODE_FAILED}
    ends = pl.coalesce(
        pl.when(pl.col("state").is_in(states)).then(pl.lit(word)) for word, states in words.items()
    )
    ran = pl.col("ended") & ~pl.col("never_started")
    end = pl.when(ran.fill_null(value=False)).then(ends)
    # A job that was cancelled after it was requeued has no last run.
    kept = pl.when(~pl.col("never_started")).then(_together(RUN_EVENTS, end))
    return jobs.with_columns(kept.replace("", None).alias(RUN_EVENTS))


def note_run_events(jobs: pl.DataFrame, notes: Notes) -> None:
    """Add remarks on jobs that were requeued, suspended, cancelled or killed while running.

    Parameters
    ----------
    jobs
        With ``run_events``, ``state``, ``suspended``, ``restarts`` (number of restarts, null if unknown),
        ``attempts``, ``line`` and ``job_id``.
    notes
        Collects one reason per kind of event.
    """
    text = pl.col(RUN_EVENTS).fill_null("")
    paused = text.str.contains("suspend:", literal=True)
    for reason, where in (
        (reasons.CUT_RUN, text.str.contains(r"(?:^|,)(?:cancel|kill)$")),
        (_REQUEUED, text.str.contains(r"(?:^|,)requeue:")),
        (_SUSPENDED, paused),
        (_UNKNOWN_PAUSE, ~paused & (pl.col("suspended") > 0).fill_null(value=False)),
        (_NODE, text.str.contains("node_", literal=True)),
        (_PREEMPTION, (pl.col("state") == _PREEMPTED).fill_null(value=False)),
    ):
        found = jobs.filter(where)
        notes.add("noted", reason, found["line"], found["job_id"])
    missing = jobs.filter((pl.col("restarts") >= pl.col("attempts")).fill_null(value=False))
    notes.add("noted", _MISSING_RUNS, missing["line"], missing["job_id"])


def _together(*parts: str | pl.Expr) -> pl.Expr:
    return pl.concat_str(*parts, separator=",", ignore_nulls=True)


_UNREADABLE = "dependency cannot be read: left out"
_NOT_THERE = "dependency on jobs that are not there, or whose number others have too: left out"


def with_dependency(table: pl.DataFrame, lines: pl.Series, notes: Notes) -> pl.DataFrame:
    """Add the column ``dependency``: the part of ``logged_dependency`` that concerns jobs in the table.

    Parameters
    ----------
    table
        Jobs with their numbers and the columns of array tasks.
    lines
        Their line numbers in the log.
    notes
        Collects remarks on dropped dependencies.
    """
    if "logged_dependency" not in table.columns:
        return table
    given = table["logged_dependency"]
    sound = pl.Series(
        [text is not None and dependencies.parse_dependency(text) is not None for text in given]
    )
    names = dependencies.nameable_numbers(table["job_id"], table)
    several = names.filter(names.is_duplicated()).unique()
    once = table.filter(~pl.col("job_id").is_in(several.implode()))
    column = given.alias(dependencies.DEPENDENCY).set(~sound, None)
    # Resolve each text in a table of the jobs with unique numbers.
    known = once.select("job_id", *(name for name in table.columns if name in ("array_id", "array_index")))
    kept = dependencies.kept_among(column, known)
    for reason, wrong in (
        (_UNREADABLE, ~sound & given.is_not_null()),
        (_NOT_THERE, sound & column.ne_missing(kept)),
    ):
        notes.add("noted", reason, lines.filter(wrong), table["job_id"].filter(wrong))
    return table.with_columns(kept)


def with_begin_times(table: pl.DataFrame) -> pl.DataFrame:
    """Add the column ``begin_time``: the eligible time of jobs, if it is after their submission.

    Jobs with dependencies in the simulation, and tasks of arrays with a limit, have none. A begin time is
    never after the logged start.

    Parameters
    ----------
    table
        Jobs with ``submit_time``, ``eligible_time`` and ``start_time``, seconds since the origin.
    """
    eligible = pl.min_horizontal("eligible_time", pl.coalesce("start_time", "eligible_time"))
    later = (pl.col("eligible_time") > pl.col("submit_time")) & (eligible > pl.col("submit_time"))
    for name in (dependencies.DEPENDENCY, "array_limit"):
        if name in table.columns:
            later &= pl.col(name).is_null()
    begin = table.select(pl.when(later).then(eligible).alias(dependencies.BEGIN_TIME)).to_series()
    return table.with_columns(begin) if begin.count() else table


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
    found = dependencies.indices_of(whole)
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
