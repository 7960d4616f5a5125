"""The jobs of a workload in the order in which they are submitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from batchlab.errors import BridgeError
from batchlab.workload.time_limits import time_limits

if TYPE_CHECKING:
    from batchlab.workload import Workload

__all__ = ["CORES", "LIMIT", "SUBMIT", "table_of"]

SUBMIT, LIMIT, CORES = "_submit", "_limit", "_cores"
"""Further columns: seconds from the first submission on, the time limit (s), the cores of each task."""


def table_of(workload: Workload, equivalence: int, duration: float) -> pl.DataFrame:
    """Return the jobs by time, with the columns `SUBMIT`, `LIMIT` and `CORES`.

    Parameters
    ----------
    workload
        The jobs.
    equivalence
        The cores of a task, if the workload does not say.
    duration
        Jobs that come later than so many seconds after the first are left out.

    Raises
    ------
    BridgeError
        If there are no jobs.
    """
    jobs = workload.jobs.sort("submit_time", maintain_order=True)
    first = jobs["submit_time"].min() if len(jobs) else None
    if first is None:
        name = workload.report.named("virtual nodes: the workload")
        raise BridgeError(f"{name} has no jobs; give one that has.")
    cores = pl.col("core") if "core" in workload.resources else pl.lit(equivalence)
    table = jobs.with_columns(
        pl.Series(LIMIT, time_limits(jobs)),
        (pl.col("submit_time") - first).alias(SUBMIT),
        cores.alias(CORES),
    )
    return table.filter(pl.col(SUBMIT) <= duration)
