"""The reasons why jobs do not start under a configuration: their requests, and the resources of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.workload.requests import amounts, on_system

if TYPE_CHECKING:
    from batchlab.result.result import Result

__all__ = ["reasons_of"]

_TOO_LARGE = ("never_fits", "lacks_resource")


def reasons_of(result: Result) -> tuple[str, ...]:
    """Return why jobs of a run did not start, one line per reason.

    Parameters
    ----------
    result
        The run.

    Returns
    -------
    tuple of str
        For example ``20 jobs rejected, never_fits: a task asks for 4 of gpu, a node has at most 1``.
    """
    jobs = result.jobs.with_row_index("row").filter(pl.col("start_time").is_null())
    found = []
    for (state, reason), part in jobs.group_by("state", "reason", maintain_order=True):
        count = f"{part.height:,} {'job' if part.height == 1 else 'jobs'} {state}"
        line = count if reason is None else f"{count}, {reason}"
        lacking = _lacking(result, part["row"].to_numpy()) if reason in _TOO_LARGE else []
        found.append(f"{line}: {', '.join(lacking)}" if lacking else line)
    return tuple(found)


def _lacking(result: Result, rows: np.ndarray) -> list[str]:
    """Return the resources of which a task requests more than any node has."""
    system = result.system
    workload = on_system(result.workload, system)
    found = []
    for name, asked in zip(system.resources, amounts(workload, system), strict=True):
        most = max((group.resources.get(name, 0) for group in system.groups), default=0)
        per_task = int(np.broadcast_to(asked, len(workload.jobs))[rows].max())
        if per_task > most:
            found.append(f"a task asks for {per_task:,} of {name}, a node has at most {most:,}")
    if found:
        return found
    tasks = int(workload.jobs["tasks"].to_numpy()[rows].max())
    return [f"up to {tasks:,} tasks, on {system.nodes:,} nodes"]
