"""External events of a streamed run. The file is read twice: to check it, and during the run."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from batchlab.core.node_ranges import node_beyond, node_ranges
from batchlab.core.vocabulary import INTERNAL_EVENTS
from batchlab.errors import WorkloadError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from batchlab.system import System

    EventTuple = tuple[float, str, int | None, list[tuple[int, int]], float | None, bool]
    # Time, kind, job_id, ranges of nodes, value, and whether jobs are killed.

__all__ = ["StreamedEvents", "scanned"]

_AT_ONCE = 256


@dataclass(frozen=True)
class StreamedEvents:
    """External events in a checked file.

    `system` is the machine, `count` the number of events. The nodes of `absent` are added before they are
    removed, so they are missing at the beginning.
    """

    path: Path
    system: System
    count: int
    absent: list[int]

    def lists(self) -> Iterator[list[EventTuple]]:
        """Yield the events as tuples for the kernel, in blocks."""
        # Submissions come from the log.
        events = (event for event in _checked(self.path, self.system) if event["event"] != "submit")
        while some := [_for_kernel(event) for event in islice(events, _AT_ONCE)]:
            yield some


def scanned(path: Path, system: System) -> StreamedEvents:
    """Check all events of a file, with memory for the nodes that are added and removed only.

    Parameters
    ----------
    path
        The file.
    system
        The machine. Events may name its nodes.

    Returns
    -------
    StreamedEvents

    Raises
    ------
    WorkloadError
        If an event is invalid, or the events are not sorted by time.
    """
    from batchlab.workload.event_rules import nodes_to_come  # noqa: PLC0415  # --help does without

    # The file is read twice; an option copies a pipe to a file.
    count = 0

    def changes() -> Iterator[tuple[str, str]]:
        nonlocal count
        for event in _checked(path, system):
            count += 1
            yield event["event"], event.get("nodes", "")

    absent = nodes_to_come(changes())
    return StreamedEvents(path, system, count, absent)


def _checked(path: Path, system: System) -> Iterator[dict[str, Any]]:
    """Yield the events, checked as far as possible without the jobs."""
    from batchlab.workload.event_lines import event_lines  # noqa: PLC0415  # --help does without

    before = float("-inf")
    for line, event in event_lines(path):
        place, time, kind = f"{path}:{line}", event["time"], event["event"]
        if kind in INTERNAL_EVENTS:
            rule = "is what a scheduler did. Leave such events out"
            raise WorkloadError(f"{place}: event = {kind!r} {rule}.")
        if time < before:
            rule = f"must be >= that of the event before, {before:g}, with --stream. Sort the events by time"
            raise WorkloadError(f"{place}: time = {time:g}; {rule}, or run without --stream.")
        beyond = node_beyond(event.get("nodes", ""), system.nodes)
        if beyond is not None:
            rule = f"the system has nodes 0 to {system.nodes - 1}"
            raise WorkloadError(f"{place}: {kind} of node {beyond}; {rule}.")
        _check_subject(event, system, place)
        before = time
        yield event


def _check_subject(event: dict[str, Any], system: System, place: str) -> None:
    """Raise for events on limits and reservations: a streamed system has none."""
    from batchlab.workload.event_rules import (  # noqa: PLC0415  # --help does without
        RESERVATION_EVENTS,  # --help does without
        changed_limit,
        changed_reservation,
    )

    try:
        if event["event"] == "limit":
            changed_limit(event, system)
        elif event["event"] in RESERVATION_EVENTS:
            changed_reservation(event, system)
    except WorkloadError as error:
        raise WorkloadError(f"{place}: {error}") from None


def _for_kernel(event: dict[str, Any]) -> EventTuple:
    from batchlab.workload.event_rules import JOB_EVENTS  # noqa: PLC0415  # --help does without

    kind = event["event"]
    job = event["job_id"] if kind in JOB_EVENTS else None
    value = event.get("value") if kind in {"requested_time", "priority"} else None
    ranges = node_ranges(event.get("nodes", ""))
    return event["time"], kind, job, ranges, value, event.get("jobs") == "kill"
