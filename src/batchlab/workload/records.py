"""Create workloads from an iterable of records, or from a custom reader."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

import polars as pl

from batchlab.core.vocabulary import InvalidAction, OverrunAction
from batchlab.errors import WorkloadError, reason_of, shown
from batchlab.workload.header import Header
from batchlab.workload.skeleton_columns import with_skeletons
from batchlab.workload.unreadable import UNREADABLE
from batchlab.workload.validation import admit
from batchlab.workload.workload import Workload

if TYPE_CHECKING:
    from batchlab.application import Application

__all__ = ["Reader", "read_records"]

_RECORDS_AT_ONCE = 50_000


class Reader(ABC):
    """Base class of readers for other formats; subclasses implement `records`.

    Examples
    --------
    >>> class Burst(Reader):
    ...     name = "burst"
    ...
    ...     def records(self):
    ...         for number in range(3):
    ...             yield {"submit_time": 0, "run_time": 60, "tasks": 1 + number}
    >>> Burst().read().jobs["tasks"].to_list()
    [1, 2, 3]
    """

    name: str = "records"
    """The name of the source in reports and errors."""

    resources: tuple[str, ...] | None = None
    """The fields that are requests of a resource per task; None: core, mem, gpu."""

    @abstractmethod
    def records(self) -> Iterator[Mapping[str, object]]:
        """Yield one mapping per job, with the columns of :meth:`Workload.from_table` as keys."""

    def header(self) -> Header:
        """Return the header of the source; called after `records`."""
        return Header()

    def read(
        self,
        *,
        overrun: OverrunAction = "extend",
        invalid: InvalidAction = "drop",
        max_jobs: int | None = None,
    ) -> Workload:
        """Read the workload; the arguments are those of :func:`read_records`."""
        return read_records(self, overrun=overrun, invalid=invalid, max_jobs=max_jobs)


def read_records(
    source: Reader | Iterable[Mapping[str, object]],
    *,
    resources: tuple[str, ...] | list[str] | None = None,
    overrun: OverrunAction = "extend",
    invalid: InvalidAction = "drop",
    max_jobs: int | None = None,
    applications: "Mapping[str, Application] | None" = None,
) -> Workload:
    """Read a workload from records, one mapping per job.

    Parameters
    ----------
    source
        A :class:`Reader`, or an iterable of mappings with the columns of :meth:`Workload.from_table` as keys.
        Keys that are missing in some records are null there.
    resources, overrun, invalid, applications
        As for :meth:`Workload.from_table`.
    max_jobs
        Maximum number of records to read.

    Returns
    -------
    Workload
        With a report in which ``line`` is the number of a record, from 0.

    Raises
    ------
    WorkloadError
        If a record is no mapping; also the errors of :meth:`Workload.from_table`.
    """
    reader = source if isinstance(source, Reader) else None
    name = reader.name if reader else "records"
    records = reader.records() if reader else iter(_iterable(source))
    if max_jobs is not None:
        records = islice(records, max_jobs)
    table = _table(records, name)
    if reader and resources is None:
        resources = reader.resources
    table, applications = with_skeletons(table, applications, name)
    jobs, report, names = admit(
        table,
        resources=resources,
        overrun=overrun,
        invalid=invalid,
        source=name,
        applications=applications,
    )
    return Workload(jobs, reader.header() if reader else Header(), report, names, applications or {})


def _iterable(source: object) -> Iterable[Mapping[str, object]]:
    if isinstance(source, Iterable) and not isinstance(source, Mapping | str | bytes):
        return source
    raise WorkloadError(
        f"source = {shown(source)}; must be a Reader or an iterable of mappings, one per job."
    )


def _table(records: Iterator[Mapping[str, object]], name: str) -> pl.DataFrame:
    """Collect records in blocks, so that only the mappings of one block are in memory."""
    blocks: list[pl.DataFrame] = []
    first = 0
    while block := list(islice(records, _RECORDS_AT_ONCE)):
        blocks.append(_block(block, first, name))
        first += len(block)
    if not blocks:
        return pl.DataFrame(schema={"submit_time": pl.Float64, "run_time": pl.Float64, "tasks": pl.Int64})
    try:
        return pl.concat(blocks, how="diagonal_relaxed")
    except UNREADABLE as error:
        raise WorkloadError(
            f"{name}: a field is of several kinds: {reason_of(error)}. Give each field one kind."
        ) from error


def _block(block: list[Mapping[str, object]], first: int, name: str) -> pl.DataFrame:
    for index, record in enumerate(block):
        if not isinstance(record, Mapping):
            raise WorkloadError(
                f"{name}: record {first + index} is {shown(record)}; must be a mapping of fields to values."
            )
    keys = dict.fromkeys(str(key) for record in block for key in record)
    try:
        return pl.DataFrame({key: [record.get(key) for record in block] for key in keys}, strict=False)
    except UNREADABLE as error:
        raise WorkloadError(
            f"{name}: a field is of several kinds: {reason_of(error)}. Give each field one kind."
        ) from error
