"""A result on disk: ``jobs.csv``, ``metrics.json`` and ``manifest.json``.

The same run writes the same bytes: no file holds a date or a duration of the simulation itself.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab import _kernel
from batchlab.atomic import atomic_write
from batchlab.errors import ResultError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from batchlab.result.outcome import Outcome
    from batchlab.result.result import Result
    from batchlab.system.system import System
    from batchlab.workload.workload import Workload

__all__ = ["write"]

MANIFEST_FORMAT = 1


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
    policy, seed and options. All three are complete on disk under temporary names before the first takes its
    place, and the manifest is the last to do so. It holds the hashes of the other two, so a set that an
    ill-timed kill left half replaced is told from a whole one.

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
        jobs = _csv(result)
        metrics = _json(result.metrics())
        manifest = _json({**_manifest(result, inputs or {}, command), "outputs": _outputs(jobs, metrics)})
        target.mkdir(parents=True, exist_ok=True)
        _replace(target, {"jobs.csv": jobs, "metrics.json": metrics, "manifest.json": manifest})
    except OSError as error:
        where = error.filename or target
        raise ResultError(
            f"{where}: {error.strerror}. The result was not written; choose another directory."
        ) from error
    return target


def _replace(directory: Path, contents: Mapping[str, bytes | memoryview]) -> None:
    with ExitStack() as renames:
        # The stack unwinds from its end, so the last file of the mapping is renamed last.
        for name, content in reversed(list(contents.items())):
            file = renames.enter_context(atomic_write(directory / name, "wb"))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())


def _csv(result: Result) -> memoryview:
    outcome = result.outcome
    ranges = _kernel.node_ranges(outcome.placement_offsets, _rising(outcome))
    flat = result.jobs.with_columns(pl.Series("nodes", ranges, dtype=pl.String))
    unwritable = [
        name for name, kind in flat.schema.items() if kind.is_nested() or kind in (pl.Object, pl.Binary)
    ]
    flat = flat.with_columns(pl.Series(name, map(_text, flat[name]), dtype=pl.String) for name in unwritable)
    buffer = io.BytesIO()
    flat.write_csv(buffer)
    return buffer.getbuffer()


def _rising(outcome: Outcome) -> npt.NDArray[np.uint32]:
    """Give the nodes of every row in their order; allocators take them in others."""
    nodes = outcome.placement_nodes
    rows = np.repeat(np.arange(len(outcome.state)), np.diff(outcome.placement_offsets))
    falls = (nodes[1:] < nodes[:-1]) & (rows[1:] == rows[:-1])
    return nodes[np.lexsort((nodes, rows))] if falls.any() else nodes


def _text(value: object) -> str | None:
    if value is None:
        return None
    return str(value.to_list() if isinstance(value, pl.Series) else value)


def _json(content: Mapping[str, object]) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False, default=str) + "\n").encode()


def _manifest(
    result: Result, inputs: Mapping[str, str | os.PathLike[str]], command: str | None
) -> dict[str, object]:
    return {
        "format": MANIFEST_FORMAT,
        "command": command,
        "policy": str(result.policy),
        "seed": result.options.get("seed"),
        "options": {name: value for name, value in result.options.items() if name != "seed"},
        "inputs": {role: _file(Path(path)) for role, path in inputs.items()},
        "workload": _workload(result.workload),
        "system": _system(result.system),
        "versions": {
            "batchlab": _kernel.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "polars": pl.__version__,
        },
    }


def _file(path: Path) -> dict[str, object]:
    if not path.is_file():
        # A pipe can be read but once.
        return {"path": str(path), "bytes": None, "sha256": None}
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"path": str(path), "bytes": path.stat().st_size, "sha256": digest}


def _workload(workload: Workload) -> dict[str, object]:
    """Identify the jobs themselves, wherever they came from: a hash of what bears on the schedule."""
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
    report = workload.report
    reading = {"read": report.read, "kept": report.kept, **report.counts()}
    return {"jobs": len(workload.jobs), "sha256": digest.hexdigest(), "report": reading}


def _system(system: System) -> dict[str, object]:
    groups = [
        {"name": group.name, "count": group.count, "resources": dict(group.resources)}
        for group in system.groups
    ]
    return {"name": system.name, "groups": groups, "equivalence": dict(system.equivalence)}


def _outputs(jobs: memoryview, metrics: bytes) -> dict[str, object]:
    contents: dict[str, memoryview | bytes] = {"jobs.csv": jobs, "metrics.json": metrics}
    return {
        name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in contents.items()
    }
