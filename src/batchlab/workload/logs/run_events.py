"""Events of running jobs in the logs of batch systems: the column ``run_events`` (semantics, S18)."""

import polars as pl

from batchlab.workload import reasons
from batchlab.workload.logs.notes import Notes
from batchlab.workload.run_events import RUN_EVENTS

__all__ = ["attempt_terms", "note_preempted", "note_run_events", "with_ends"]

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
        With ``state`` as from `batchlab.workload.logs.states.word`, ``ended`` and ``never_started``.
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
