"""Unknown names in jobs that are rejected or dropped because the system lacks them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from batchlab.workload.workload import Workload

__all__ = ["UNKNOWN", "left_out", "unknown_things"]

UNKNOWN = "unknown"
"""The column that names what a system lacks for a job; null for other jobs."""

_LEFT_OUT = "left out, as the system does not have it: "


def left_out(what: pl.Expr) -> pl.Expr:
    """Return the reason in a report for a job that was dropped."""
    return pl.lit(_LEFT_OUT) + what


def unknown_things(workload: Workload) -> tuple[dict[str, int], bool]:
    """Count the affected jobs of a run by what the system lacks.

    Parameters
    ----------
    workload
        The jobs of the run, and the report on dropped jobs.

    Returns
    -------
    tuple
        The number of jobs by unknown name, in descending order; and whether they were rejected (or else
        dropped).
    """
    rejected = UNKNOWN in workload.jobs.columns
    if rejected:
        things = workload.jobs[UNKNOWN].drop_nulls()
    else:
        reasons = workload.report.dropped["reason"]
        things = reasons.filter(reasons.str.starts_with(_LEFT_OUT)).str.strip_prefix(_LEFT_OUT)
    counted = things.value_counts().sort("count", things.name, descending=[True, False])
    return dict(counted.iter_rows()), rejected
