"""The events of a run as a stream: what came from outside, and what the scheduler did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab import _kernel
from batchlab.vocabulary import JOB_STATES
from batchlab.workload.event_rules import SUBJECT_KEYS
from batchlab.workload.event_stream import END_EVENTS, EVENT_COLUMNS, EventStream
from batchlab.workload.event_subjects import about_known_jobs

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab.result.outcome import Outcome
    from batchlab.workload.workload import Workload

__all__ = ["events_of"]

# Of what happens at one instant, what came from outside stands first, then ends, submissions and starts (S2).
_EXTERNAL, _END, _SUBMIT, _START = range(4)


def events_of(workload: Workload, outcome: Outcome, external: EventStream | None) -> EventStream:
    """Put together the events of a run.

    Parameters
    ----------
    workload
        The jobs.
    outcome
        What became of them.
    external
        What came from outside.

    Returns
    -------
    EventStream
        By time: ``submit`` of every job with its ``requested_time``, ``tasks`` and what each task asks for;
        ``start`` and ``interrupted`` with ``nodes``; ``completed``, ``killed`` and ``rejected``; and the
        external events, of which ``applied`` (Boolean, null for others) tells whether they changed anything.
    """
    # The last start of a job stands behind those before it, also at one instant.
    parts = [_submissions(workload, outcome), *_interruptions(workload, outcome)]
    parts += [_starts(workload, outcome), _ends(workload, outcome)]
    if external is not None:
        parts.append(_external(external, workload, outcome))
    table = pl.concat(parts, how="diagonal").sort("time", "_rank", maintain_order=True).drop("_rank")
    order = [*EVENT_COLUMNS, *(name for name in table.columns if name not in EVENT_COLUMNS)]
    missing = {name: kind for name, kind in EVENT_COLUMNS.items() if name not in table.columns}
    nothing = [pl.lit(None, dtype=kind).alias(name) for name, kind in missing.items()]
    return EventStream.of_table(table.with_columns(nothing).select(order))


def _ranked(table: pl.DataFrame, event: str, rank: int) -> pl.DataFrame:
    return table.with_columns(pl.lit(event).alias("event"), pl.lit(rank).alias("_rank"))


def _submissions(workload: Workload, outcome: Outcome) -> pl.DataFrame:
    jobs = workload.jobs.filter(pl.Series(outcome.state != JOB_STATES.index("loaded")))
    own = ["requested_time", "tasks", *workload.resources]
    return _ranked(jobs.select("job_id", pl.col("submit_time").alias("time"), *own), "submit", _SUBMIT)


def _starts(workload: Workload, outcome: Outcome) -> pl.DataFrame:
    nodes = _kernel.node_ranges(outcome.range_offsets, outcome.range_first, outcome.range_count)
    table = pl.DataFrame(
        [
            workload.jobs["job_id"],
            pl.Series("time", outcome.start_time, nan_to_null=True),
            pl.Series("nodes", nodes, dtype=pl.String),
        ]
    )
    return _ranked(table.drop_nulls("time"), "start", _START)


def _ends(workload: Workload, outcome: Outcome) -> pl.DataFrame:
    state = pl.Series("event", np.array(JOB_STATES)[outcome.state], dtype=pl.String)
    time = pl.Series("time", outcome.end_time, nan_to_null=True)
    table = pl.DataFrame([workload.jobs["job_id"], time, state, workload.jobs["submit_time"]])
    # A rejected job ends as it is submitted, or when it is known that what it depends on never comes.
    table = table.with_columns(pl.coalesce("time", "submit_time").alias("time")).drop("submit_time")
    rank = pl.when(pl.col("event") == "rejected").then(_START).otherwise(_END).alias("_rank")
    return table.filter(pl.col("event").is_in(END_EVENTS)).with_columns(rank)


def _interruptions(workload: Workload, outcome: Outcome) -> list[pl.DataFrame]:
    log = outcome.interruptions
    if log is None or not len(log["row"]):
        return []
    job_id = workload.jobs["job_id"].gather(pl.Series(log["row"]))
    nodes = pl.Series(
        "nodes", _kernel.node_ranges(log["placement_offsets"], log["placement_nodes"]), dtype=pl.String
    )

    def at(times: npt.NDArray[np.float64]) -> pl.DataFrame:
        return pl.DataFrame([job_id, pl.Series("time", times), nodes])

    begun, cut = at(log["start_time"]), at(log["end_time"])
    return [_ranked(begun, "start", _START), _ranked(cut, "interrupted", _END)]


def _external(stream: EventStream, workload: Workload, outcome: Outcome) -> pl.DataFrame:
    own = [name for name in stream.table.columns if name in (*EVENT_COLUMNS, *SUBJECT_KEYS)]
    table = stream.table.filter(pl.col("event") != "submit").select(own)
    known = outcome.events_applied if outcome.events_applied is not None else np.empty(0, np.bool_)
    # Events of jobs that the log's reader dropped do not apply; the kernel does not know them.
    places = np.flatnonzero(about_known_jobs(table, workload.jobs).to_numpy())
    applied = np.zeros(len(table), np.bool_)
    applied[places[: len(known)]] = known
    return table.with_columns(pl.Series("applied", applied), pl.lit(_EXTERNAL).alias("_rank"))
