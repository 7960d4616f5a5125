"""What jobs are called and belong to: their owners, queue, partitions and reservation, as text."""

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
    """Give an attribute of all jobs.

    Parameters
    ----------
    workload
        The jobs: with a column of this name, or else the one of numbers that logs have (``user_id``,
        ``group_id``, ``queue_id``, ``partition_id``). Numbers become the names that the log's header gives
        them (queues and partitions), or digits; those below 0 are unknown.
    name
        The attribute.

    Returns
    -------
    polars.Series
        String, one entry per job; null where it has none.

    Raises
    ------
    WorkloadError
        If the column holds neither text nor whole numbers.
    """
    return attribute_in(workload.jobs, name, _header_names(workload, name))


def check_known(workload: Workload, named: pl.Series, known: Collection[str], kind: str) -> None:
    """Check that an attribute names what the system has.

    Parameters
    ----------
    workload, named
        The jobs, and the attribute of each.
    known
        The names that the system has.
    kind
        What they are, for the error: ``"a queue"``.

    Raises
    ------
    WorkloadError
        Naming the first job that names another.
    """
    unknown = named.is_not_null() & ~named.is_in(known)
    if unknown.any():
        job = workload.jobs["job_id"].filter(unknown)[0]
        raise unknown_name(job, named.name, named.filter(unknown)[0], known, kind)


def unknown_name(job: int, attribute: str, name: str, known: Collection[str], kind: str) -> WorkloadError:
    """Make the error of a job whose attribute names what the system does not have."""
    rule = f"must be {kind} of the system.{suggest(name, known)}"
    return WorkloadError(f"job {job}: {attribute} = {shown(name)}; {rule}")


def _header_names(workload: Workload, name: Attribute) -> dict[str, str]:
    """Give the names that the header of a log gives to the numbers of queues or partitions."""
    entries = {"queue": workload.header.queues, "partition": workload.header.partitions}.get(name, ())
    described = {str(each.number): each.description.strip() for each in entries if each.number is not None}
    return {number: text for number, text in described.items() if text}
