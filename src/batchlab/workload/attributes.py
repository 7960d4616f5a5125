"""Attributes of jobs as text: owners, queue, partition and reservation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.errors import WorkloadError, shown, suggest
from batchlab.workload.attribute_columns import attribute_in

if TYPE_CHECKING:
    from collections.abc import Collection

    import polars as pl

    from batchlab.workload.attribute_columns import Attribute
    from batchlab.workload.workload import Workload

__all__ = ["attribute", "check_known", "unknown_name"]


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
