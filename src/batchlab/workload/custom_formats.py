"""Base classes for custom formats, reading of records, and writing by suffix."""

import gzip
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from types import MappingProxyType
from typing import TYPE_CHECKING

import polars as pl

from batchlab.core.arguments import checked
from batchlab.core.outputs import output
from batchlab.core.vocabulary import InvalidAction, OverrunAction
from batchlab.errors import WorkloadError, reason_of, shown, suggest
from batchlab.workload.application_columns import with_skeletons
from batchlab.workload.columns import UNREADABLE
from batchlab.workload.header import Header
from batchlab.workload.swf import write_swf
from batchlab.workload.tables import write_table
from batchlab.workload.validation import admit
from batchlab.workload.workload import Workload, check_workload

if TYPE_CHECKING:
    from batchlab.application import Application


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
        raise _several_kinds(name, error) from error


def _several_kinds(name: str, error: BaseException) -> WorkloadError:
    return WorkloadError(
        f"{name}: a field is of several kinds: {reason_of(error)}. Give each field one kind."
    )


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
        raise _several_kinds(name, error) from error


_ROWS_AT_ONCE = 50_000
_PACKED = ".gz"

WRITERS: Mapping[str, Callable[..., None]] = MappingProxyType(
    {".swf": write_swf, ".swf.gz": write_swf, ".csv": write_table, ".parquet": write_table}
)
"""The formats of `write_workload` by suffix."""


class Writer(ABC):
    """Base class of writers for other formats; subclasses implement `line`.

    Examples
    --------
    >>> class Commands(Writer):
    ...     def line(self, job):
    ...         return f"{job['submit_time']:.0f} {job['tasks']}x{job['run_time']:.0f}"
    >>> workload = Workload.from_table({"submit_time": [0, 9], "run_time": [60, 30], "tasks": [4, 2]})
    >>> Commands().write(workload, "commands.txt")
    >>> from pathlib import Path
    >>> print(Path("commands.txt").read_text(), end="")
    0 4x60
    9 2x30
    """

    def head(self, workload: Workload) -> Iterable[str]:  # noqa: ARG002  # for overriding methods
        """Return the lines before the jobs; by default none."""
        return ()

    @abstractmethod
    def line(self, job: Mapping[str, object]) -> str:
        """Return the text of one job, as one or several lines; keys are the columns of the workload."""

    def foot(self, workload: Workload) -> Iterable[str]:  # noqa: ARG002  # for overriding methods
        """Return the lines after the jobs; by default none."""
        return ()

    def write(self, workload: Workload, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a workload job by job, atomically.

        Parameters
        ----------
        workload
            The workload.
        path
            The file, in UTF-8; with the suffix ``.gz`` it is compressed.
        overwrite
            Whether to replace a file that batchlab did not write. The input of the workload is never
            replaced.

        Raises
        ------
        OutputError
            If the file is the one that the workload was read from, or one that batchlab did not write.
        OSError
            If the file cannot be written.
        """
        check_workload(workload)
        lines = chain(self.head(workload), map(self.line, _jobs(workload)), self.foot(workload))
        texts = (f"{line}\n".encode() for line in lines)
        with output(path, "wb", inputs=workload.sources, overwrite=overwrite) as file:
            if not os.fspath(path).endswith(_PACKED):
                file.writelines(texts)
                return
            # Without a name and a time stamp in it, equal workloads give equal bytes.
            with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                packed.writelines(texts)


@checked(WorkloadError)
def write_workload(
    workload: Workload,
    path: str | os.PathLike[str],
    *,
    writer: Writer | None = None,
    overwrite: bool = False,
) -> None:
    """Write a workload in the format of the file's suffix, or with a custom writer.

    Parameters
    ----------
    workload
        The workload.
    path
        The file; without a writer its suffix must be ``.swf``, ``.swf.gz``, ``.csv`` or ``.parquet``. A log
        in SWF has no fields for resources such as GPUs; write these as a table.
    writer
        A custom writer, used for any suffix.
    overwrite
        Whether to replace a file that batchlab did not write. The input of the workload is never replaced.

    Raises
    ------
    OutputError
        If the file is the one that the workload was read from, or one that batchlab did not write.
    WorkloadError
        If the suffix is unknown, `writer` is no `Writer`, or a number does not fit the format.
    OSError
        If the file cannot be written.

    See Also
    --------
    write_swf, write_table
    """
    if writer is not None:
        if not isinstance(writer, Writer):
            raise WorkloadError(
                f"writer = {shown(writer)}; must be an object of a class derived from Writer."
            )
        writer.write(workload, path, overwrite=overwrite)
        return
    name = os.fspath(path).lower()
    known = next((suffix for suffix in WRITERS if name.endswith(suffix)), None)
    if known is None:
        suffix = os.path.splitext(name)[1]  # noqa: PTH122  # any kind of path
        raise WorkloadError(
            f"{os.fspath(path)}: no format has the suffix {suffix!r}.{suggest(suffix, WRITERS)} "
            "Pass a writer for others."
        )
    WRITERS[known](workload, path, overwrite=overwrite)


def _jobs(workload: Workload) -> Iterator[dict[str, object]]:
    for block in workload.jobs.iter_slices(_ROWS_AT_ONCE):
        yield from block.iter_rows(named=True)
