"""ElastiSim's output files: their names, columns and number formats."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.bridge.elastisim.ledger import COMPLETED, KILLED
from batchlab.core.outputs import check_output, output
from batchlab.errors import BridgeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from batchlab.bridge.elastisim.ledger import JobEntry, Use

__all__ = [
    "clear",
    "job_statistics",
    "network_activity",
    "node_utilization",
    "pfs_utilization",
    "shares",
    "task_times",
    "write_lines",
]

_STATUS = {COMPLETED: "completed", KILLED: "killed"}
_STATES = ("free", "allocated", "reserved")
_CANNOT = "the output file cannot be written"
_OTHER_PLACE = "change the path in the configuration"


def clear(paths: Iterable[Path], *, inputs: Iterable[Path] = (), overwrite: bool = False) -> None:
    """Remove output files of an earlier run, so that a failed run leaves no stale files.

    ElastiSim also empties its output files at the start. Missing folders are created, so that an unwritable
    path is reported before the simulation.

    Parameters
    ----------
    paths
        The output files of a project.
    inputs, overwrite
        As for `batchlab.core.outputs.check_output`.

    Raises
    ------
    OutputError
        If a file is an input, or one that batchlab did not write.
    BridgeError
        If a file cannot be removed, or its folder cannot be made or written to.
    """
    paths, inputs = [*paths], [*inputs]
    for path in paths:
        check_output(path, inputs, overwrite=overwrite)
    for path in paths:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_file():
                path.unlink()
        except OSError as error:
            raise BridgeError(f"{path}: {_CANNOT} ({error.strerror}); {_OTHER_PLACE}.") from None
        if path.is_dir():
            raise BridgeError(f"{path}: {_CANNOT} (it is a folder); {_OTHER_PLACE}.")
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise BridgeError(f"{path}: {_CANNOT} (its folder is read-only); {_OTHER_PLACE}.")


def write_lines(path: Path, lines: Iterable[str], *, overwrite: bool = False) -> None:
    """Write a file line by line, atomically; create its folder if missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with output(path, overwrite=overwrite) as file:
        file.writelines(f"{line}\n" for line in lines)


def job_statistics(jobs: Iterable[JobEntry]) -> Iterator[str]:
    """Yield the lines of ``job_statistics.csv``: submit, start and end of jobs, seconds; -1 for never."""
    yield "ID,Type,Submit Time,Start Time,End Time,Wait Time,Makespan,Turnaround Time,Status"
    for entry in jobs:
        submit, start, end = entry.job.submit_time, entry.start_time, entry.end_time
        over = entry.state in _STATUS
        times = (
            submit,
            start,
            end,
            start - submit if start >= 0 else -1.0,
            end - start if over else -1.0,
            end - submit if over else -1.0,
        )
        status = _STATUS.get(entry.state, "pending" if start < 0 else "running")
        yield f"{entry.id},{entry.job.type},{_digits(times)},{status}"


def node_utilization(uses: Iterable[Use], names: Sequence[str]) -> Iterator[str]:
    """Yield the lines of ``node_utilization.csv``: one row per change of the jobs on a node.

    Parameters
    ----------
    uses
        The changes.
    names
        The host names of the nodes, by id.
    """
    yield "Time,Node,State,Running jobs,Expected jobs"
    for use in uses:
        running, expected = (
            ";".join([str(job.id) for job in jobs]) or "none" for jobs in (use.running, use.expected)
        )
        time, rest = f"{use.time:g}", f"{_STATES[use.state]},{running},{expected}"
        for node in use.nodes:
            yield f"{time},{names[node]},{rest}"


def task_times(tasks: Iterable[tuple[float, int, str, str, float]]) -> Iterator[str]:
    """Yield the lines of ``task_times.csv``: end of the task, job id, host, task name, seconds."""
    yield "Time,Job,Node,Task,Duration"
    for end, job, host, name, duration in tasks:
        yield f"{end:g},{job},{host},{name},{duration:g}"


def shares(times: Iterable[float], table: pl.DataFrame) -> Iterator[str]:
    """Yield the lines of ``cpu_utilization.csv`` or ``gpu_utilization.csv``.

    Parameters
    ----------
    times
        The sampling times, seconds.
    table
        One column per host with its utilisation at each time.
    """
    yield ",".join(["Time", *table.columns])
    # Most rows equal the previous row; format only rows that differ.
    values = table.to_numpy()
    is_new = np.r_[True, (values[1:] != values[:-1]).any(axis=1)][: len(values)]
    distinct = table.filter(pl.Series(is_new)).write_csv(include_header=False, float_precision=6).splitlines()
    for time, row in zip(times, (is_new.cumsum() - 1).tolist(), strict=True):
        yield f"{time:g},{distinct[row]}"


def network_activity(times: Iterable[float], activity: Iterable[float]) -> Iterator[str]:
    """Yield the lines of ``network_activity.csv``: the mean utilisation of the links."""
    yield "Time,Utilization"
    for time, share in zip(times, activity, strict=True):
        yield _digits((time, share))


def pfs_utilization(
    times: Iterable[float], loads: Iterable[tuple[float, float]], bandwidths: tuple[float, float]
) -> Iterator[str]:
    """Yield the lines of ``pfs_utilization.csv``: read and write rates in B/s, and relative rates."""
    yield "Time,Read,Write,Read (rel.),Write (rel.)"
    before, written = None, ""
    for time, load in zip(times, loads, strict=True):
        if load != before:
            relative = (amount / most if most else 0.0 for amount, most in zip(load, bandwidths, strict=True))
            before, written = load, _digits((*load, *relative))
        yield f"{time:g},{written}"


def _digits(numbers: Iterable[float]) -> str:
    """Format numbers with six significant digits, as C++ streams do."""
    return ",".join([f"{number:g}" for number in numbers])
