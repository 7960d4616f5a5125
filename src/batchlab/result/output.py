"""The files of a result: ``jobs.csv``, ``metrics.json``, ``manifest.json``, and others of some runs.

The same run writes the same bytes: no file holds a date or a duration of the simulation itself.
"""

from __future__ import annotations

import hashlib
import io
import json
from typing import TYPE_CHECKING, get_args

import numpy as np
import polars as pl

from batchlab import _kernel
from batchlab.application.files import document_of
from batchlab.result.archive import NAME, write_members
from batchlab.result.manifest import output_files
from batchlab.result.recorded import TABLES
from batchlab.workload.application_columns import COLUMNS
from batchlab.workload.columns import TIME_LIMIT, Attribute, has_own_limits
from batchlab.workload.dependencies import (
    BEGIN_TIME,
    DEPENDENCY,
    DEPENDS_ON,
    JOB_NAME,
    TASK_COLUMNS,
    USERS,
    with_text_lists,
)
from batchlab.workload.node_columns import CONSTRAINT, NODE_GROUP

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from batchlab.result.recorded import Recording
    from batchlab.workload.event_stream import EventStream
    from batchlab.workload.workload import Workload

__all__ = ["further_tables", "identify", "write"]

# Optional columns that may affect the schedule; the last ones only through singletons.
_CONDITIONS = (
    *(DEPENDS_ON, NODE_GROUP, CONSTRAINT, DEPENDENCY, BEGIN_TIME),
    *(*TASK_COLUMNS, *get_args(Attribute)),
)
_NAMES = (*USERS, JOB_NAME)


def write(
    target: Path,
    content: Mapping[str, object],
    jobs: pl.DataFrame,
    more: Mapping[str, pl.DataFrame],
    metrics: Mapping[str, object],
    *,
    record: Mapping[str, object] | None = None,
    texts: Mapping[str, str] | None = None,
    inputs: Iterable[str | os.PathLike[str]] = (),
    overwrite: bool = False,
) -> None:
    """Write the files of a run as a set.

    All are complete on disk under temporary names before the first is renamed, and the manifest is renamed
    last. It has the hashes of the others, so a set that was left half replaced, because the process was
    killed, can be recognised.

    Parameters
    ----------
    target
        The directory, created if necessary. The files replace those of an earlier run.
    content
        The contents of the manifest.
    jobs
        The contents of ``jobs.csv``; nodes are written as ranges (``0-3,7``).
    more
        Further tables, by the names of their files, CSV or Parquet.
    metrics
        The contents of ``metrics.json``.
    record
        The contents of ``result.zip``: see `record_members` [default: it is not written].
    texts
        Further files, by name.
    inputs, overwrite
        As for `batchlab.core.outputs.check_output`.

    Raises
    ------
    OutputError
        If a file must not be replaced.
    OSError
        If a file cannot be written.
    """
    table = _csv(jobs)
    names = [*more, *(texts or {}), *(() if record is None else (NAME,))]
    with output_files(target, names, inputs=inputs, overwrite=overwrite) as files:
        files.jobs.write(table)
        for name, frame in more.items():
            files.more[name].write(_parquet(frame) if name.endswith(".parquet") else _csv(frame))
        for name, text in (texts or {}).items():
            files.more[name].write(text.encode("utf-8", "backslashreplace"))
        if record is not None:
            write_members(files.more[NAME], record)
        files.complete(metrics, content)


def _csv(table: pl.DataFrame) -> memoryview:
    flat = with_text_lists(table)
    if isinstance(flat.schema.get("nodes"), pl.List):
        flat = flat.with_columns(_ranges(flat["nodes"]))
    unwritable = [
        name for name, kind in flat.schema.items() if kind.is_nested() or kind in (pl.Object, pl.Binary)
    ]
    flat = flat.with_columns(pl.Series(name, map(_text, flat[name]), dtype=pl.String) for name in unwritable)
    buffer = io.BytesIO()
    flat.write_csv(buffer)
    return buffer.getbuffer()


def _parquet(table: pl.DataFrame) -> memoryview:
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    return buffer.getbuffer()


def _ranges(nodes: pl.Series) -> pl.Series:
    offsets = np.concatenate([[0], np.cumsum(nodes.list.len().to_numpy())]).astype(np.int64)
    each = nodes.explode().drop_nulls().to_numpy().astype(np.uint32)
    # A job that did not run has no nodes: an empty field, not an empty text in quotes.
    texts = [text or None for text in _kernel.node_ranges(offsets, each)]
    return pl.Series("nodes", texts, dtype=pl.String)


def _text(value: object) -> str | None:
    if value is None:
        return None
    return str(value.to_list() if isinstance(value, pl.Series) else value)


def identify(workload: Workload, events: EventStream | None = None) -> dict[str, object]:
    """Compute what identifies the jobs, independently of where they came from.

    Parameters
    ----------
    workload, events
        The jobs, and the external events.

    Returns
    -------
    dict
        ``jobs`` (their number), ``sha256`` (of all that affects the schedule) and ``report`` (what the reader
        did), with events their number as ``external_events``; ready for JSON.
    """
    digest = hashlib.sha256()
    optional: list[str] = [name for name in ("tasks_per_node", "exclusive") if name in workload.jobs.columns]
    if has_own_limits(workload.jobs):
        optional.append(TIME_LIMIT)
    columns = [
        "job_id",
        "submit_time",
        "run_time",
        "requested_time",
        "tasks",
        *workload.resources,
        *optional,
    ]
    for name in columns:
        values = workload.jobs[name].to_numpy()
        digest.update(name.encode() + b"\0")
        digest.update(np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<"))).data)
    # Without such columns nothing more is hashed: old manifests stay valid.
    names = (*_CONDITIONS, *(_NAMES if DEPENDENCY in workload.jobs.columns else ()))
    described = [name for name in dict.fromkeys(names) if name in workload.jobs.columns]
    if workload.applications:
        applications = {name: document_of(each) for name, each in workload.applications.items()}
        digest.update(json.dumps(applications).encode())
        described += [name for name in (*COLUMNS, "arguments") if name in workload.jobs.columns]
    for name in described:
        digest.update(f"{name}\0{workload.jobs[name].to_list()}".encode())
    if events is not None:
        digest.update(json.dumps(events.to_dicts()).encode())
    report = workload.report
    reading = {"read": report.read, "kept": report.kept, **report.counts()}
    known = {} if events is None else {"external_events": len(events)}
    return {"jobs": len(workload.jobs), **known, "sha256": digest.hexdigest(), "report": reading}


def further_tables(result: Recording) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the tables that only some runs have, each under the name of its file."""
    for table in TABLES.values():
        if table.has(result) and table.is_written(result):
            yield table.file, getattr(result, table.name)
    if "sensed" in result.outcome.tables:
        for name, frame in result.utilisation.items():
            values = frame.drop("time")
            # A machine without GPUs, or without storage, has nothing to show.
            if name == "cpu" or (values.width and values.max_horizontal().max()):
                yield f"utilisation_{name}.csv", frame
