"""Read events from a file line by line: JSON lines or CSV."""

from __future__ import annotations

import csv
import json
import os
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from batchlab.core.documents import DuplicateKey, without_duplicates
from batchlab.errors import WorkloadError
from batchlab.workload.event_rules import EVENT_KEYS, SUBJECT_KEYS, checked_event
from batchlab.workload.packing import without_packing
from batchlab.workload.source import lines_of, name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


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
