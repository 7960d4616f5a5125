"""The jobs of a workload in order of submission."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from batchlab.errors import BridgeError
from batchlab.workload.columns import time_limits

if TYPE_CHECKING:
    from batchlab.workload import Workload

__all__ = ["CORES", "LIMIT", "SUBMIT", "table_of"]

SUBMIT, LIMIT, CORES = "_submit", "_limit", "_cores"
"""Additional columns: seconds from the first submission, time limit (s), cores per task."""


def table_of(workload: Workload, equivalence: int, duration: float) -> pl.DataFrame:
    """Return the jobs sorted by time, with the columns `SUBMIT`, `LIMIT` and `CORES`.

    Parameters
    ----------
    workload
        The jobs.
    equivalence
        The cores per task, if the workload has none.
    duration
        Jobs submitted more than this many seconds after the first are dropped.

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
