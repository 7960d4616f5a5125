"""The rules of events: subject and required keys of each kind; limits and reservations of a system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from batchlab.core.node_ranges import node_ranges
from batchlab.core.rules import is_finite, is_whole
from batchlab.core.vocabulary import EXTERNAL_EVENTS, INTERNAL_EVENTS
from batchlab.errors import WorkloadError, shown, suggest

if TYPE_CHECKING:
    import polars as pl

    from batchlab.system import Limit, System


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


_COUNTS = ("running_jobs", "submitted_jobs", "nodes", "time")
_AMOUNTS = ("resources", "running_minutes", "total_minutes")
_LARGEST = 2**53


def about_known_jobs(events: pl.DataFrame, jobs: pl.DataFrame) -> pl.Series:
    """Return a mask of the events that concern a known job or no job.

    Parameters
    ----------
    events
        With ``event`` and ``job_id``.
    jobs
        With ``job_id``.

    Returns
    -------
    polars.Series
        Boolean, one for each event.
    """
    there = events["job_id"].is_in(jobs["job_id"].implode()).fill_null(value=False)
    return there | ~events["event"].is_in(list(JOB_EVENTS))


def changed_limit(event: Mapping[str, object], system: System) -> tuple[int, str, int]:
    """Find the limit that an event changes.

    Parameters
    ----------
    event
        An event ``limit`` with ``limit``, ``quantity`` and ``value``, checked by `checked_event`.
    system
        The machine with its limits.

    Returns
    -------
    tuple
        The index of the limit, the name of the quantity, and the index of its resource; for ``nodes`` that
        index is the number of resources, for other quantities without a resource 0.

    Raises
    ------
    WorkloadError
        If the system has no such limit, or the limit has no such quantity.
    """
    number = _place("limit", event["limit"], [limit.name for limit in system.limits])
    quantities = _quantities(system.limits[number])
    named = event.get("quantity")
    if named is None and len(quantities) > 1:
        rule = f"limits {', '.join(quantities)}. Say which of them as its quantity"
        raise WorkloadError(f"limit = {shown(event['limit'])} {rule}.")
    quantity = quantities[0] if named is None else str(named)
    if quantity not in quantities:
        rule = f"must be what this limit limits: {', '.join(quantities)}"
        raise WorkloadError(
            f"limit = {shown(event['limit'])}, quantity = {shown(quantity)}; {rule}. "
            "Describe others with a large number, to have them changed later."
        )
    _check_new_limit(quantity, event.get("value"))
    name, _, resource = quantity.partition(".")
    if name == "nodes":
        return number, name, len(system.resources)
    return number, name, list(system.resources).index(resource) if resource else 0


def changed_reservation(event: Mapping[str, object], system: System) -> int:
    """Find the reservation that an event is about.

    Parameters
    ----------
    event
        An event ``reserve`` or ``unreserve`` with its ``reservation``.
    system
        The machine with its reservations.

    Returns
    -------
    int
        Its index.

    Raises
    ------
    WorkloadError
        If the system has no such reservation.
    """
    return _place("reservation", event["reservation"], [each.name for each in system.reservations])


def _place(kind: str, name: object, known: list[str]) -> int:
    if name not in known:
        there = suggest(str(name), known) if known else f" The system has no {kind}s; describe it there."
        raise WorkloadError(f"{kind} = {shown(name)}; must be a {kind} of the system.{there}")
    return known.index(str(name))


def _quantities(limit: Limit) -> list[str]:
    """Return the names of the limited quantities: ``running_jobs``, ``resources.core``."""
    counts = [name for name in _COUNTS if getattr(limit, name) is not None]
    return counts + [f"{name}.{resource}" for name in _AMOUNTS for resource in getattr(limit, name)]


def _check_new_limit(quantity: str, value: object) -> None:
    is_whole = quantity == "time" or value is None or float(str(value)).is_integer()
    if value is not None and (not is_whole or float(str(value)) > _LARGEST):
        kind = "a number of seconds" if quantity == "time" else "a whole number"
        raise WorkloadError(f"{quantity}: value = {shown(value)}; must be {kind} from 0 to 2^53.")
