"""Read and write files of events: JSON lines or CSV."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import polars as pl

from batchlab.core.outputs import output, remember_source, source_of
from batchlab.errors import WorkloadError, shown
from batchlab.workload.event_lines import check_form, event_lines, is_csv
from batchlab.workload.event_rules import SUBJECT_KEYS
from batchlab.workload.event_stream import EVENT_COLUMNS, EventStream, events_table

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["read_events", "write_events"]


def read_events(source: str | os.PathLike[str] | Iterable[str]) -> EventStream:
    """Read a stream of events.

    Parameters
    ----------
    source
        A path (plain or ``.gz``), an open file, or an iterable of lines. Lines are JSON objects, one per
        event, or CSV with a header if the path ends in ``.csv``. `EventStream` lists the keys and columns.

    Returns
    -------
    EventStream

    Raises
    ------
    WorkloadError
        If a line has an invalid format or an event breaks a rule; the message names file and line.

    Examples
    --------
    >>> import batchlab as bl
    >>> len(bl.read_events(['{"time": 5, "event": "cancel", "job_id": 3}']))
    1
    """
    table = events_table([event for _, event in event_lines(source)])
    if is_csv(source):
        texts = [name for name in table.columns if name not in (*EVENT_COLUMNS, *SUBJECT_KEYS)]
        table = table.with_columns(_inferred(table[name]) for name in texts)
    return remember_source(EventStream.of_table(table), source)


def write_events(stream: EventStream, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a stream of events atomically.

    Parameters
    ----------
    stream
        The events.
    path
        The file: CSV for the suffix ``.csv``; JSON lines for ``.jsonl``, ``.ndjson``, ``.json`` or no suffix.
        Reading the file returns an equal stream.
    overwrite
        Whether to replace a file that batchlab did not write. The input of the stream is never replaced.

    Raises
    ------
    OutputError
        If the file is the one that the stream was read from, or one that batchlab did not write.
    WorkloadError
        If the suffix is unknown.
    OSError
        If the file cannot be written.
    """
    check_form(path)
    if not isinstance(stream, EventStream):
        raise WorkloadError(f"stream = {shown(stream)}; must be an EventStream, e.g. of read_events().")
    with output(path, inputs=source_of(stream), overwrite=overwrite) as file:
        if os.fspath(path).endswith(".csv"):
            file.write(stream.table.write_csv())
        else:
            file.writelines(json.dumps(event) + "\n" for event in stream)


def _inferred(texts: pl.Series) -> pl.Series:
    """Infer the type of an additional CSV column: integer, float, boolean, or else text."""
    for kind in (pl.Int64, pl.Float64):
        numbers = texts.cast(kind, strict=False)
        if numbers.null_count() == texts.null_count():
            return numbers
    return texts == "true" if texts.drop_nulls().is_in(["true", "false"]).all() else texts
