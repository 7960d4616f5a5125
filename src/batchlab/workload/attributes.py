"""Attributes of jobs as text (owner, queue, partition, reservation), and names that a system lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from batchlab.errors import WorkloadError, shown, suggest
from batchlab.workload.columns import attribute_in

if TYPE_CHECKING:
    from collections.abc import Collection

    from batchlab.workload.columns import Attribute
    from batchlab.workload.workload import Workload


def attribute(workload: Workload, name: Attribute) -> pl.Series:
    """Return an attribute of all jobs.

    Parameters
    ----------
    workload
        The jobs, with a column of this name or the numbered column of logs (``user_id``, ``group_id``,
        ``queue_id``, ``partition_id``). Numbers become the names in the log's header (queues and partitions)
        or digits; numbers below 0 are unknown.
    name
        The attribute.

    Returns
    -------
    polars.Series
        String, one entry per job; null if the job has none.

    Raises
    ------
    WorkloadError
        If the column holds neither text nor whole numbers.
    """
    return attribute_in(workload.jobs, name, _header_names(workload, name))


def check_known(workload: Workload, named: pl.Series, known: Collection[str], kind: str) -> None:
    """Check that the system has all names of an attribute.

    Parameters
    ----------
    workload, named
        The jobs, and the attribute of each.
    known
        The names that the system has.
    kind
        The kind of name for the error message: ``"a queue"``.

    Raises
    ------
    WorkloadError
        If a name is unknown; the message names the first such job.
    """
    unknown = named.is_not_null() & ~named.is_in(known)
    if unknown.any():
        job = workload.jobs["job_id"].filter(unknown)[0]
        raise unknown_name(job, named.name, named.filter(unknown)[0], known, kind)


def unknown_name(job: int, attribute: str, name: str, known: Collection[str], kind: str) -> WorkloadError:
    """Return the error for a job with an attribute that the system does not have."""
    rule = f"must be {kind} of the system.{suggest(name, known)}"
    return WorkloadError(f"job {job}: {attribute} = {shown(name)}; {rule}")


def _header_names(workload: Workload, name: Attribute) -> dict[str, str]:
    """Return the names of numbered queues or partitions in the header of a log."""
    entries = {"queue": workload.header.queues, "partition": workload.header.partitions}.get(name, ())
    described = {str(each.number): each.description.strip() for each in entries if each.number is not None}
    return {number: text for number, text in described.items() if text}


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
