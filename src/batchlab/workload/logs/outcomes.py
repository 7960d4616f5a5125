"""What logs of batch systems say of each job: state, time limit, run events, dependencies, begin time."""

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
