"""Streams of events in files: lines of JSON, or CSV."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import polars as pl

from batchlab.atomic import atomic_write
from batchlab.errors import WorkloadError
from batchlab.workload.event_stream import EVENT_COLUMNS, EventStream
from batchlab.workload.source import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["read_events", "write_events"]

_NUMBERS = ("job_id",)
_SECONDS = ("time", "value")
_TEXTS = {"event": pl.String, "nodes": pl.String, "jobs": pl.String}


def read_events(source: str | os.PathLike[str] | Iterable[str]) -> EventStream:
    """Read a stream of events.

    Parameters
    ----------
    source
        The path of a file, plain or ``.gz``, an open file, or lines: of JSON, an object for each event; or
        CSV with a header, where the name of a path says so. The keys and columns are those of `EventStream`.

    Returns
    -------
    EventStream

    Raises
    ------
    WorkloadError
        If a line is none of these, or an event breaks a rule; the message names file and line.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import batchlab as bl
    >>> len(bl.read_events(['{"time": 5, "event": "cancel", "job_id": 3}']))
    1
    """
    name, text = text_of(source)
    is_csv = name.removesuffix(".gz").endswith(".csv")
    events = _of_csv(text, name) if is_csv else [*_of_json(text, name)]
    try:
        return EventStream(events)
    except WorkloadError as error:
        raise WorkloadError(f"{name}: {error}") from None


def write_events(stream: EventStream, path: str | os.PathLike[str]) -> None:
    """Write a stream of events; the file is there whole or not at all.

    Parameters
    ----------
    stream
        The events.
    path
        The file: CSV where its suffix is ``.csv``, else lines of JSON. What is read back is an equal stream.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    with atomic_write(path) as file:
        if os.fspath(path).endswith(".csv"):
            file.write(stream.table.write_csv())
        else:
            file.writelines(json.dumps(event) + "\n" for event in stream)


def _of_json(text: str, name: str) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            event = json.loads(line)
        except ValueError as error:
            rule = "must be an object of JSON, one on each line"
            raise WorkloadError(f"{name}:{number}: {line.strip()[:60]!r}; {rule} ({error}).") from None
        if not isinstance(event, dict):
            raise WorkloadError(f"{name}:{number}: {line.strip()[:60]!r}; must be an object of JSON.")
        yield event


def _of_csv(text: str, name: str) -> pl.DataFrame:
    try:
        table = pl.read_csv(text.encode(), infer_schema_length=None, schema_overrides=_TEXTS)
    except pl.exceptions.PolarsError as error:
        first = str(error).splitlines()[0]
        rule = "write a header and a line for each event"
        raise WorkloadError(f"{name}: is no CSV table: {first}; {rule}.") from None
    for missing in ("time", "event"):
        if missing not in table.columns:
            known = ", ".join(EVENT_COLUMNS)
            raise WorkloadError(f"{name}: there is no column {missing!r}; the columns are {known}.")
    numbers = dict.fromkeys(_NUMBERS, pl.Int64) | dict.fromkeys(_SECONDS, pl.Float64)
    for column, kind in numbers.items():
        if column in table.columns:
            made = table[column].cast(kind, strict=False)
            wrong = (made.is_null() & table[column].is_not_null()).arg_true()
            if len(wrong):
                value = table[column][wrong[0]]
                raise WorkloadError(f"{name}:{wrong[0] + 2}: {column} = {value!r}; must be a number.")
            table = table.with_columns(made)
    return table
