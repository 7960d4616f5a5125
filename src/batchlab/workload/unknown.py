"""What is unknown to a system of the jobs that are rejected or left out for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from batchlab.workload.workload import Workload

__all__ = ["UNKNOWN", "left_out", "unknown_things"]

UNKNOWN = "unknown"
"""The column that says what of a job is unknown to the system; null for other jobs."""

_LEFT_OUT = "left out, as the system does not have it: "


def left_out(what: pl.Expr) -> pl.Expr:
    """Return the reason for which a report lists a job that was left out."""
    return pl.lit(_LEFT_OUT) + what


def unknown_things(workload: Workload) -> tuple[dict[str, int], bool]:
    """Count the odd jobs of a run by what is unknown of them.

    Parameters
    ----------
    workload
        The jobs of the run, and the report of what was left out.

    Returns
    -------
    tuple
        The number of jobs by what is unknown, most first; and whether they were rejected, else left out.
    """
    rejected = UNKNOWN in workload.jobs.columns
    if rejected:
        things = workload.jobs[UNKNOWN].drop_nulls()
    else:
        reasons = workload.report.dropped["reason"]
        things = reasons.filter(reasons.str.starts_with(_LEFT_OUT)).str.strip_prefix(_LEFT_OUT)
    counted = things.value_counts().sort("count", things.name, descending=[True, False])
    return dict(counted.iter_rows()), rejected
