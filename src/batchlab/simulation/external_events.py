"""Kernel inputs of a stream of external events (S18)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.core.node_ranges import node_beyond, node_ranges
from batchlab.core.vocabulary import EXTERNAL_EVENTS, INTERNAL_EVENTS
from batchlab.errors import WorkloadError
from batchlab.workload.event_rules import (
    JOB_EVENTS,
    RESERVATION_EVENTS,
    about_known_jobs,
    changed_limit,
    changed_reservation,
    nodes_to_come,
    reservations_to_come,
)
from batchlab.workload.event_stream import EventStream, read_events

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from batchlab._kernel import EventColumns
    from batchlab.system import System
    from batchlab.workload import Workload

    Events = EventStream | str | os.PathLike[str] | pl.DataFrame | Iterable[Mapping[str, object]]

__all__ = ["event_columns", "given_events"]


def given_events(events: Events | None, workload: Workload, system: System) -> EventStream | None:
    """Read and check the external events of a run.

    Parameters
    ----------
    events
        A stream, the path of a file, or the rows of a stream.
    workload, system
        The jobs and nodes that events may name.

    Returns
    -------
    EventStream or None
        None without events.

    Raises
    ------
    WorkloadError
        If an event names an unknown job, node, limit or reservation, is not an external event, or submits a
        job at another time than the workload.
    """
    if events is None:
        return None
    stream = read_events(events) if isinstance(events, str | os.PathLike) else EventStream(events)
    table = stream.table
    internal = table.filter(pl.col("event").is_in(INTERNAL_EVENTS))
    if len(internal):
        time, kind = internal.row(0, named=True)["time"], internal["event"][0]
        rule = "is what a scheduler did. Give the external events: stream.external"
        raise WorkloadError(f"event at {time:g} s: event = {kind!r} {rule}.")
    _check_jobs(table, workload)
    _check_nodes(table, system)
    _subjects(table, system)
    return stream


def _check_jobs(table: pl.DataFrame, workload: Workload) -> None:
    about = table.filter(pl.col("event").is_in(list(JOB_EVENTS)))
    named = _named(about, workload)
    found = about.join(named, on="job_id", how="left", maintain_order="left")
    # Events of jobs that the reader dropped are ignored.
    dropped = pl.col("job_id").is_in(workload.report.dropped["job_id"].drop_nulls().implode())
    unknown = found.filter(pl.col("submit_time").is_null() & ~dropped)
    if len(unknown):
        event = unknown.row(0, named=True)
        raise WorkloadError(
            f"event at {event['time']:g} s: {event['event']} of job_id = {event['job_id']}; "
            "the workload has no such job. Leave the event out, or add the job."
        )
    repeated = named["job_id"].filter(named["job_id"].is_duplicated())
    ambiguous = about.filter(pl.col("job_id").is_in(repeated.implode()))
    if len(ambiguous):
        event = ambiguous.row(0, named=True)
        raise WorkloadError(
            f"event at {event['time']:g} s: {event['event']} of job_id = {event['job_id']}; "
            "several jobs of the workload have it. Give each its own."
        )
    other = found.filter((pl.col("event") == "submit") & (pl.col("time") != pl.col("submit_time")))
    if len(other):
        event = other.row(0, named=True)
        raise WorkloadError(
            f"event at {event['time']:g} s: submit of job_id = {event['job_id']}; the workload submits it at "
            f"{event['submit_time']:g} s. Both must say the same; leave the event out."
        )


def _named(events: pl.DataFrame, workload: Workload) -> pl.DataFrame:
    """Return the jobs that events name: ``row``, ``job_id``, ``submit_time``."""
    jobs = workload.jobs.select("job_id", "submit_time").with_row_index("row")
    return jobs.filter(pl.col("job_id").is_in(events["job_id"].drop_nulls().implode()))


def _check_nodes(table: pl.DataFrame, system: System) -> None:
    texts = table["nodes"].drop_nulls().unique().to_list()
    beyond = {text: node for text in texts if (node := node_beyond(text, system.nodes)) is not None}
    wrong = table.filter(pl.col("nodes").is_in(list(beyond)))
    if len(wrong):
        event = wrong.row(0, named=True)
        rule = f"the system has nodes 0 to {system.nodes - 1}"
        raise WorkloadError(
            f"event at {event['time']:g} s: {event['event']} of node {beyond[event['nodes']]}; {rule}."
        )


def _subjects(table: pl.DataFrame, system: System) -> tuple[dict[int, tuple[int, str, int]], dict[int, int]]:
    """Find the limits and the reservations that events change, keyed by the position of the event."""
    limits: dict[int, tuple[int, str, int]] = {}
    reservations: dict[int, int] = {}
    about = table.with_row_index("place").filter(pl.col("event").is_in(["limit", *RESERVATION_EVENTS]))
    for event in about.iter_rows(named=True):
        try:
            if event["event"] == "limit":
                limits[event["place"]] = changed_limit(event, system)
            else:
                reservations[event["place"]] = changed_reservation(event, system)
        except WorkloadError as error:
            raise WorkloadError(f"event at {event['time']:g} s: {event['event']}: {error}") from None
    return limits, reservations


def _initial_removals(table: pl.DataFrame, workload: Workload, system: System) -> EventStream:
    """Return events that remove the nodes and reservations missing at the beginning of the run."""
    changes = table.filter(pl.col("event").is_in(["add", "remove"])).select("event", "nodes")
    nodes = nodes_to_come(changes.iter_rows())
    own: list[dict[str, object]] = [
        {"event": "remove", "nodes": each} for each in (nodes, system.down) if each
    ]
    if "reservation" in table.columns:
        names = reservations_to_come(table.select("event", "reservation").iter_rows())
        own += [{"event": "unreserve", "reservation": name} for name in names]
    if not own:
        return EventStream()
    submitted = workload.jobs["submit_time"].to_numpy().min(initial=np.inf)
    first = min([float(submitted), *map(float, table["time"].head(1))])
    if first == np.inf:
        # Nothing happens without jobs and events.
        return EventStream()
    return EventStream([{"time": first, **event} for event in own])


def event_columns(
    stream: EventStream | None, workload: Workload, system: System
) -> tuple[EventColumns | None, int]:
    """Build the columns of the events for the kernel.

    Parameters
    ----------
    stream
        The result of `given_events`.
    workload, system
        The rows, limits and reservations that events name.

    Returns
    -------
    tuple
        Columns with one entry per event, sorted by time, or None without events; and how many of the first
        events only remove nodes and reservations missing at the beginning of the run.
    """
    if stream is None and not system.down:
        return None, 0
    table = (stream or EventStream()).table.filter(pl.col("event") != "submit")
    table = table.filter(about_known_jobs(table, workload.jobs))
    absent = _initial_removals(table, workload, system)
    if len(absent):
        table = pl.concat([absent.table, table], how="diagonal")
    limits, reservations = _subjects(table, system)
    found = table.select("job_id").join(
        _named(table, workload), on="job_id", how="left", maintain_order="left"
    )
    texts = table["nodes"].fill_null("")
    ranges_of = {text: node_ranges(text) for text in texts.unique()}
    ranges = [ranges_of[text] for text in texts]
    numbers = {name: number for number, name in enumerate(EXTERNAL_EVENTS)}
    columns: EventColumns = {
        "time": table["time"].to_numpy(),
        "kind": table["event"].replace_strict(numbers, return_dtype=pl.UInt8).to_numpy(),
        "row": found["row"].cast(pl.Int64).fill_null(-1).to_numpy(),
        "value": table["value"].fill_null(float("nan")).to_numpy(),
        "until": np.cumsum([len(each) for each in ranges], dtype=np.int64),
        "ranges": [each for event in ranges for each in event],
        "kills": (table["jobs"] == "kill").fill_null(value=False).to_numpy(),
        "limits": limits,
        "reservations": reservations,
    }
    return columns, len(absent)
