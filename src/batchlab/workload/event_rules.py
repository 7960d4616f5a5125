"""The rules of events: subject and required keys of each kind; and events read line by line, JSON or CSV."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from batchlab.core.documents import DuplicateKey, without_duplicates
from batchlab.core.node_ranges import node_ranges
from batchlab.core.rules import is_finite, is_whole
from batchlab.core.vocabulary import EXTERNAL_EVENTS, INTERNAL_EVENTS
from batchlab.errors import WorkloadError, shown, suggest
from batchlab.workload.packing import without_packing
from batchlab.workload.source import lines_of, name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


@dataclass(frozen=True)
class EventValue:
    """The rule for the key ``value`` of a kind of event.

    Parameters
    ----------
    rule
        The rule in words, for errors.
    least
        The minimum.
    is_required
        True if the event must have a value.
    """

    rule: str
    least: float = -inf
    is_required: bool = False


EVENT_VALUES: Mapping[str, EventValue] = {
    "requested_time": EventValue("must be a finite number of seconds >= 0", 0, is_required=True),
    "priority": EventValue("must be a finite number, or left out"),
    "limit": EventValue("must be a number >= 0, or left out for no limit", 0),
}
"""The external events with a ``value``; other events ignore the key."""

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
    rule = EVENT_VALUES.get(str(kind))
    if rule is None or (value is None and not rule.is_required):
        return
    if not is_finite(value) or value < rule.least:
        raise WorkloadError(f"{where}: value = {shown(value)}; {rule.rule}.")


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


_FORMS = (".jsonl", ".ndjson", ".json", ".csv")

_NUMBERS: dict[str, Callable[[str], object]] = {"time": float, "job_id": int, "value": float}


def is_csv(source: object) -> bool:
    """Return whether the name of a source has the suffix ``.csv``."""
    return without_packing(name_of(source)).endswith(".csv")


def check_form(path: str | os.PathLike[str]) -> None:
    """Raise if the suffix of an output file is not a known format of events.

    Parameters
    ----------
    path
        The file; without a suffix, JSON lines are written.

    Raises
    ------
    WorkloadError
        If the suffix is unknown.
    """
    suffix = PurePath(path).suffix
    if suffix not in {"", *_FORMS}:
        rule = f"events are written as lines of JSON or as CSV, by the suffix: {', '.join(_FORMS)}"
        raise WorkloadError(f"{os.fspath(path)}: {suffix} is no form of events; {rule}.")


def event_lines(source: object) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read events line by line; only one chunk of the file is in memory.

    Parameters
    ----------
    source
        As for `batchlab.read_events`.

    Yields
    ------
    tuple
        The line number, from 1, and the checked event.

    Raises
    ------
    WorkloadError
        If a line is no event, or an event breaks a rule; the message names file and line.
    """
    name = name_of(source)
    given = _of_csv(lines_of(source), name) if is_csv(source) else _of_json(lines_of(source), name)
    for number, (line, event) in enumerate(given, 1):
        try:
            checked = checked_event(number, event)
        except WorkloadError as error:
            raise WorkloadError(f"{name}:{line}: {error}") from None
        yield line, checked


def _of_json(lines: Iterable[str], name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            event = json.loads(line, object_pairs_hook=without_duplicates)
        except DuplicateKey as error:
            raise WorkloadError(f"{name}:{number}: {error}") from None
        except (ValueError, RecursionError) as error:
            rule = "must be an object of JSON, one on each line"
            raise WorkloadError(f"{name}:{number}: {line.strip()[:60]!r}; {rule} ({error}).") from None
        if not isinstance(event, dict):
            raise WorkloadError(f"{name}:{number}: {line.strip()[:60]!r}; must be an object of JSON.")
        yield number, event


def _of_csv(lines: Iterable[str], name: str) -> Iterator[tuple[int, dict[str, object]]]:
    rows = csv.reader((f"{line}\n" for line in lines), strict=True)
    columns = _next_row(rows, name)
    if columns is None:
        rule = "write a header and a line for each event"
        raise WorkloadError(f"{name}: is no CSV table: it is empty; {rule}.")
    for missing in ("time", "event"):
        if missing not in columns:
            known = ", ".join((*EVENT_KEYS, *SUBJECT_KEYS))
            raise WorkloadError(f"{name}: there is no column {missing!r}; the columns are {known}.")
    while (fields := _next_row(rows, name)) is not None:
        place = f"{name}:{rows.line_num}"
        if len(fields) > len(columns):
            raise WorkloadError(f"{place}: {len(fields)} fields; the header names {len(columns)} columns.")
        given = zip(columns, fields, strict=False)
        yield rows.line_num, {column: _value(column, text, place) for column, text in given if text}


def _next_row(rows: Any, name: str) -> list[str] | None:  # noqa: ANN401  # the reader's type has no name
    """Return the next non-empty row; None at the end."""
    try:
        return next((row for row in rows if row), None)
    except csv.Error as error:
        rule = "write a header and a line for each event"
        raise WorkloadError(f"{name}:{rows.line_num}: is no line of CSV: {error}; {rule}.") from None


def _value(column: str, text: str, place: str) -> object:
    if column not in _NUMBERS:
        return text
    try:
        # float("1_000") is valid in Python, but not in a table.
        return _NUMBERS[column]("" if "_" in text else text)
    except ValueError:
        raise WorkloadError(f"{place}: {column} = {text!r}; must be a number.") from None
