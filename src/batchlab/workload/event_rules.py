"""The rules of events: the subject and the required keys of each kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from batchlab.core.node_ranges import node_ranges
from batchlab.core.units import is_finite, is_whole
from batchlab.core.vocabulary import EXTERNAL_EVENTS, INTERNAL_EVENTS
from batchlab.errors import WorkloadError, shown, suggest

__all__ = [
    "EVENT_KEYS",
    "JOB_EVENTS",
    "NODE_EVENTS",
    "RESERVATION_EVENTS",
    "SUBJECT_KEYS",
    "checked_event",
    "nodes_to_come",
    "reservations_to_come",
]

EVENT_KEYS = ("time", "event", "job_id", "nodes", "value", "jobs")
"""The keys of external events; other keys are kept as additional columns."""

SUBJECT_KEYS = ("limit", "quantity", "reservation")
"""Additional text keys of events about limits and reservations."""

JOB_EVENTS = frozenset(
    {"submit", "cancel", "kill", "end", "requeue", "hold", "release", "requested_time", "priority"}
)
"""The external events about a job."""

NODE_EVENTS = frozenset({"drain", "resume", "remove", "add", "down", "up"})
"""The external events about nodes."""

RESERVATION_EVENTS = frozenset({"reserve", "unreserve"})
"""The external events about a reservation of the machine."""

_KINDS = (*EXTERNAL_EVENTS, *INTERNAL_EVENTS)
_EVACUATIONS = ("requeue", "kill")
_BEYOND_INTEGERS = 2**63


def nodes_to_come(changes: Iterable[tuple[str, str]]) -> list[int]:
    """Return the nodes with an ``add`` before any ``remove``: these are absent at the beginning.

    Parameters
    ----------
    changes
        Kind and nodes of each event, by time; kinds other than ``add`` and ``remove`` are ignored.

    Returns
    -------
    list of int
        The nodes, in the order of their events.
    """
    seen: set[int] = set()
    absent: list[int] = []
    for kind, nodes in changes:
        if kind not in {"add", "remove"}:
            continue
        for begin, end in node_ranges(nodes):
            new = [node for node in range(begin, end) if node not in seen]
            seen.update(new)
            absent += new if kind == "add" else []
    return absent


def reservations_to_come(changes: Iterable[tuple[str, str | None]]) -> list[str]:
    """Return the reservations with a ``reserve`` before any ``unreserve``: they are unknown at first.

    Parameters
    ----------
    changes
        Kind and reservation of each event, by time; kinds other than ``reserve`` and ``unreserve`` are
        ignored.

    Returns
    -------
    list of str
        Their names, in the order of events.
    """
    first: dict[str, str] = {}
    for kind, name in changes:
        if kind in RESERVATION_EVENTS and name is not None:
            first.setdefault(name, kind)
    return [name for name, kind in first.items() if kind == "reserve"]


def checked_event(number: int, event: object) -> dict[str, Any]:
    """Check one event.

    Parameters
    ----------
    number
        Its number, from 1.
    event
        The event: must be a mapping.

    Returns
    -------
    dict
        The event without null values: ``time`` as float (s), ``nodes`` as text.

    Raises
    ------
    WorkloadError
        If it breaks a rule.
    """
    if not isinstance(event, Mapping):
        raise WorkloadError(
            f"event {number} = {shown(event)}; must be a mapping, as {{'time': 5, 'event': …}}."
        )
    row = {str(name): value for name, value in event.items() if value is not None}
    kind = row.get("event")
    if kind not in _KINDS:
        rule = f"must be one of {', '.join(EXTERNAL_EVENTS)}"
        raise WorkloadError(f"event {number}: event = {shown(kind)}; {rule}.{suggest(str(kind), _KINDS)}")
    where = f"event {number} ({kind})"
    time = row.get("time")
    if not is_finite(time):
        raise WorkloadError(f"{where}: time = {shown(time)}; must be a finite number of seconds.")
    row["time"] = float(time) + 0.0
    if kind in JOB_EVENTS | set(INTERNAL_EVENTS):
        job = row.get("job_id")
        if not is_whole(job):
            raise WorkloadError(f"{where}: job_id = {shown(job)}; must be a whole number.")
        if not -_BEYOND_INTEGERS <= job < _BEYOND_INTEGERS:
            raise WorkloadError(f"{where}: job_id = {shown(job)}; must fit in 64 bits.")
    if "nodes" in row:
        row["nodes"] = _nodes(where, row["nodes"])
    if kind in NODE_EVENTS and not row.get("nodes"):
        raise WorkloadError(f'{where}: nodes = {shown(row.get("nodes"))}; must name nodes, e.g. "0-3,7".')
    _check_subject(where, kind, row)
    _check_value(where, kind, row.get("value"))
    jobs = row.get("jobs")
    if jobs is not None and (kind != "down" or jobs not in _EVACUATIONS):
        rule = '"requeue" or "kill", of events down only'
        raise WorkloadError(f"{where}: jobs = {shown(jobs)}; must be {rule}.")
    return row


def _nodes(where: str, nodes: object) -> str:
    """Check nodes and return them as text with ranges."""
    if isinstance(nodes, Iterable) and not isinstance(nodes, str | bytes | Mapping):
        nodes = ",".join(map(str, nodes))
    try:
        node_ranges(nodes)
    except ValueError:
        rule = 'must be node numbers or ranges of them, e.g. "0-3,7"'
        raise WorkloadError(f"{where}: nodes = {shown(nodes)}; {rule}.") from None
    return str(nodes)


def _check_subject(where: str, kind: object, row: Mapping[str, object]) -> None:
    """Check that an event about a limit or a reservation names it."""
    needed = "limit" if kind == "limit" else "reservation" if kind in RESERVATION_EVENTS else None
    if needed is not None and not (isinstance(row.get(needed), str) and row[needed]):
        raise WorkloadError(
            f"{where}: {needed} = {shown(row.get(needed))}; must be the name of a {needed} of the system."
        )
    quantity = row.get("quantity")
    if kind == "limit" and not isinstance(quantity, str | None):
        rule = 'must name what the limit limits, e.g. "running_jobs"'
        raise WorkloadError(f"{where}: quantity = {shown(quantity)}; {rule}.")


def _check_value(where: str, kind: object, value: object) -> None:
    if kind == "requested_time":
        if not is_finite(value) or value < 0:
            raise WorkloadError(f"{where}: value = {shown(value)}; must be a finite number of seconds >= 0.")
    elif kind == "limit" and value is not None and (not is_finite(value) or value < 0):
        raise WorkloadError(
            f"{where}: value = {shown(value)}; must be a number >= 0, or left out for no limit."
        )
    elif kind == "priority" and value is not None and not is_finite(value):
        raise WorkloadError(f"{where}: value = {shown(value)}; must be a finite number, or left out.")
