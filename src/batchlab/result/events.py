"""The events of a run as a stream: external events and those of the scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab import _kernel
from batchlab.core.vocabulary import JOB_STATES
from batchlab.workload.columns import TIME_LIMIT
from batchlab.workload.event_rules import SUBJECT_KEYS, about_known_jobs
from batchlab.workload.event_stream import END_EVENTS, EVENT_COLUMNS, EventStream

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab.result.outcome import Outcome
    from batchlab.workload.workload import Workload

__all__ = ["events_of"]

# Order of events with the same time stamp (S2): external events, ends of runs that began before, submissions,
# the runs that begin and end at this instant one after the other, other starts. So every job is submitted
# before it starts, starts before it ends, and finds those nodes free that a run of no duration has left.
_EXTERNAL, _END, _SUBMIT, _MOMENT, _START = range(5)
_ROW = pl.int_range(pl.len(), dtype=pl.Int64)


def events_of(workload: Workload, outcome: Outcome, external: EventStream | None) -> EventStream:
    """Put together the events of a run.

    Parameters
    ----------
    workload
        The jobs.
    outcome
        The outcome of the run.
    external
        The external events.

    Returns
    -------
    EventStream
        By time: ``submit`` of every job with its ``requested_time``, ``tasks`` and what each task asks for;
        ``start`` and ``interrupted`` with ``nodes``; ``completed``, ``killed`` and ``rejected``; and the
        external events, of which ``applied`` (Boolean, null for others) tells whether they changed anything.
        At one instant: external events, ends, submissions, starts; a job that starts and ends at the same
        instant does so before others start.
    """
    # The last start of a job comes after its earlier ones, also at one instant.
    parts = [_submissions(workload, outcome), *_interruptions(workload, outcome)]
    parts += [_starts(workload, outcome), _ends(workload, outcome)]
    if external is not None:
        parts.append(_external(external, workload, outcome))
    places = ["_rank", "_run", "_step"]
    table = pl.concat(parts, how="diagonal").sort("time", *places, maintain_order=True).drop(places)
    order = [*EVENT_COLUMNS, *(name for name in table.columns if name not in EVENT_COLUMNS)]
    missing = {name: kind for name, kind in EVENT_COLUMNS.items() if name not in table.columns}
    nothing = [pl.lit(None, dtype=kind).alias(name) for name, kind in missing.items()]
    return EventStream.of_table(table.with_columns(nothing).select(order))


def _ranked(table: pl.DataFrame, event: str, rank: int) -> pl.DataFrame:
    return _placed(table.with_columns(pl.lit(event).alias("event")), pl.lit(rank))


def _placed(
    table: pl.DataFrame, rank: pl.Expr, runs: pl.Expr | None = None, *, step: int = 0
) -> pl.DataFrame:
    """Add the place among the events of an instant: a rank, the number of the run, the step in the run."""
    run = pl.lit(0, dtype=pl.Int64) if runs is None else pl.when(rank == _MOMENT).then(runs).otherwise(0)
    return table.with_columns(
        rank.cast(pl.Int32).alias("_rank"), run.cast(pl.Int64).alias("_run"), pl.lit(step).alias("_step")
    )


def _submissions(workload: Workload, outcome: Outcome) -> pl.DataFrame:
    jobs = workload.jobs.filter(pl.Series(outcome.state != JOB_STATES.index("loaded")))
    limit = [TIME_LIMIT] if TIME_LIMIT in workload.jobs.columns else []
    own = ["requested_time", *limit, "tasks", *workload.resources]
    return _ranked(jobs.select("job_id", pl.col("submit_time").alias("time"), *own), "submit", _SUBMIT)


def _starts(workload: Workload, outcome: Outcome) -> pl.DataFrame:
    nodes = _kernel.node_ranges(outcome.range_offsets, outcome.range_first, outcome.range_count)
    table = pl.DataFrame(
        [
            workload.jobs["job_id"],
            pl.Series("time", outcome.start_time, nan_to_null=True),
            pl.Series("nodes", nodes, dtype=pl.String),
            pl.Series("_end", outcome.end_time),
        ]
    )
    rank = pl.when(pl.col("time") == pl.col("_end")).then(_MOMENT).otherwise(_START)
    table = _placed(table.with_columns(pl.lit("start").alias("event")), rank, _ROW)
    return table.drop("_end").drop_nulls("time")


def _ends(workload: Workload, outcome: Outcome) -> pl.DataFrame:
    state = pl.Series("event", np.array(JOB_STATES)[outcome.state], dtype=pl.String)
    time = pl.Series("time", outcome.end_time, nan_to_null=True)
    start = pl.Series("_start", outcome.start_time, nan_to_null=True)
    table = pl.DataFrame([workload.jobs["job_id"], time, state, workload.jobs["submit_time"], start])
    # A rejected job ends as it is submitted, or when it is known that what it depends on never comes.
    table = table.with_columns(pl.coalesce("time", "submit_time").alias("time"))
    rank = (
        pl.when(pl.col("_start") == pl.col("time"))
        .then(_MOMENT)
        .when(pl.col("_start").is_null())
        .then(_START)
        .otherwise(_END)
    )
    table = _placed(table, rank, _ROW, step=1).drop("submit_time", "_start")
    return table.filter(pl.col("event").is_in(END_EVENTS))


def _interruptions(workload: Workload, outcome: Outcome) -> list[pl.DataFrame]:
    log = outcome.tables.get("interruptions")
    if log is None or not len(log["row"]):
        return []
    job_id = workload.jobs["job_id"].gather(pl.Series(log["row"]))
    nodes = pl.Series(
        "nodes", _kernel.node_ranges(log["placement_offsets"], log["placement_nodes"]), dtype=pl.String
    )
    is_moment = pl.lit(pl.Series(log["start_time"] == log["end_time"]))
    # They come before the last runs of their jobs.
    runs = _ROW - len(log["row"])

    def at(times: npt.NDArray[np.float64], event: str, rank: int, step: int) -> pl.DataFrame:
        named = pl.Series("event", [event] * len(times), dtype=pl.String)
        table = pl.DataFrame([job_id, pl.Series("time", times), nodes, named])
        return _placed(table, pl.when(is_moment).then(_MOMENT).otherwise(rank), runs, step=step)

    return [at(log["start_time"], "start", _START, 0), at(log["end_time"], "interrupted", _END, 1)]


def _external(stream: EventStream, workload: Workload, outcome: Outcome) -> pl.DataFrame:
    own = [name for name in stream.table.columns if name in (*EVENT_COLUMNS, *SUBJECT_KEYS)]
    table = stream.table.filter(pl.col("event") != "submit").select(own)
    known = outcome.events_applied if outcome.events_applied is not None else np.empty(0, np.bool_)
    # Events of jobs that the log's reader dropped do not apply; the kernel does not know them.
    places = np.flatnonzero(about_known_jobs(table, workload.jobs).to_numpy())
    applied = np.zeros(len(table), np.bool_)
    applied[places[: len(known)]] = known
    return _placed(table.with_columns(pl.Series("applied", applied)), pl.lit(_EXTERNAL))
