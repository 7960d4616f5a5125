"""A result on disk: ``jobs.csv``, ``metrics.json``, ``manifest.json``, and what only some runs have.

The same run writes the same bytes: no file holds a date or a duration of the simulation itself.
"""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab import _kernel
from batchlab.application.write import document_of
from batchlab.errors import ResultError
from batchlab.result.manifest import manifest, output_files
from batchlab.workload.dependencies import DEPENDS_ON, with_text_lists
from batchlab.workload.elastic import COLUMNS
from batchlab.workload.node_groups import NODE_GROUP

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from batchlab.result.result import Result
    from batchlab.workload.workload import Workload

__all__ = ["identify", "write"]


def write(
    result: Result,
    directory: str | os.PathLike[str],
    *,
    inputs: Mapping[str, str | os.PathLike[str]] | None = None,
    command: str | None = None,
) -> Path:
    """Write a result into a directory.

    ``jobs.csv`` has the columns of `Result.jobs`, nodes as ranges (``0-3,7``); ``metrics.json`` is
    `Result.metrics`; ``manifest.json`` says what the run was made from: hashes of the inputs, versions,
    policy, seed and options. Where jobs were resized, ``allocations.csv`` is `Result.allocations`; where
    tasks were recorded, ``task_times.csv`` is `Result.task_times`; where the platform was looked at,
    ``utilisation_cpu.csv`` and so on are the tables of `Result.utilisation` that show something. All are
    complete on disk under temporary names before the first takes its place, and the manifest is the last to
    do so. It holds the hashes of the others, so a set that an ill-timed kill left half replaced is told from
    a whole one.

    Parameters
    ----------
    result
        What to write.
    directory
        Where to; made if it is not there. Files of these names are replaced, others left alone.
    inputs
        The files that the run was made from, by role, to be hashed.
    command
        The command line that made the run.

    Returns
    -------
    Path
        The directory.

    Raises
    ------
    ResultError
        A file cannot be read or written.
    """
    target = Path(directory)
    try:
        content = manifest(
            result.policy,
            result.system,
            options=result.options,
            workload=identify(result.workload),
            inputs=inputs or {},
            command=command,
        )
        table = _csv(result.jobs)
        more = dict(_more(result))
        with output_files(target, more) as files:
            files.jobs.write(table)
            for name, file in files.more.items():
                file.write(_csv(more[name]))
            files.complete(result.metrics(), content)
    except OSError as error:
        where = error.filename or target
        raise ResultError(
            f"{where}: {error.strerror}. The result was not written; choose another directory."
        ) from error
    return target


def _more(result: Result) -> Iterator[tuple[str, pl.DataFrame]]:
    """Give the tables that only some runs have, each under the name of its file."""
    if not result.resizes.is_empty():
        yield "allocations.csv", result.allocations
    if result.outcome.task_times is not None:
        yield "task_times.csv", result.task_times
    if result.outcome.sensed is not None:
        for name, table in result.utilisation.items():
            values = table.drop("time")
            # A machine without GPUs, or without storage, has nothing to tell of them.
            if name == "cpu" or (values.width and values.max_horizontal().max()):
                yield f"utilisation_{name}.csv", table


def _csv(table: pl.DataFrame) -> memoryview:
    flat = with_text_lists(table)
    if "nodes" in flat.columns:
        flat = flat.with_columns(_ranges(flat["nodes"]))
    unwritable = [
        name for name, kind in flat.schema.items() if kind.is_nested() or kind in (pl.Object, pl.Binary)
    ]
    flat = flat.with_columns(pl.Series(name, map(_text, flat[name]), dtype=pl.String) for name in unwritable)
    buffer = io.BytesIO()
    flat.write_csv(buffer)
    return buffer.getbuffer()


def _ranges(nodes: pl.Series) -> pl.Series:
    offsets = np.concatenate([[0], np.cumsum(nodes.list.len().to_numpy())]).astype(np.int64)
    each = nodes.explode().drop_nulls().to_numpy().astype(np.uint32)
    # A job that did not run has no nodes: nothing between the commas, rather than an empty text in quotes.
    texts = [text or None for text in _kernel.node_ranges(offsets, each)]
    return pl.Series("nodes", texts, dtype=pl.String)


def _text(value: object) -> str | None:
    if value is None:
        return None
    return str(value.to_list() if isinstance(value, pl.Series) else value)


def identify(workload: Workload) -> dict[str, object]:
    """Identify the jobs themselves, wherever they came from.

    Parameters
    ----------
    workload
        The jobs.

    Returns
    -------
    dict
        ``jobs`` (their number), ``sha256`` (of what bears on the schedule) and ``report`` (what the reader
        did); ready for JSON.
    """
    digest = hashlib.sha256()
    optional = [name for name in ("tasks_per_node", "exclusive") if name in workload.jobs.columns]
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
    # Of workloads without such columns nothing more is hashed: old manifests stay right.
    described = [name for name in (DEPENDS_ON, NODE_GROUP) if name in workload.jobs.columns]
    if workload.applications:
        applications = {name: document_of(each) for name, each in workload.applications.items()}
        digest.update(json.dumps(applications).encode())
        described += [name for name in (*COLUMNS, "arguments") if name in workload.jobs.columns]
    for name in described:
        digest.update(f"{name}\0{workload.jobs[name].to_list()}".encode())
    report = workload.report
    reading = {"read": report.read, "kept": report.kept, **report.counts()}
    return {"jobs": len(workload.jobs), "sha256": digest.hexdigest(), "report": reading}
