"""Read and write workloads as CSV and Parquet files."""

import io
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from batchlab.core.arguments import checked
from batchlab.core.outputs import write_table_file
from batchlab.core.vocabulary import InvalidAction, OverrunAction
from batchlab.errors import OutputError, WorkloadError, reason_of, shown
from batchlab.workload import dependencies
from batchlab.workload.application_columns import with_skeletons
from batchlab.workload.columns import UNREADABLE
from batchlab.workload.formats import table_form
from batchlab.workload.header import Header
from batchlab.workload.packing import PACKINGS
from batchlab.workload.source import content_of
from batchlab.workload.validation import admit
from batchlab.workload.workload import Workload, check_workload

if TYPE_CHECKING:
    from collections.abc import Mapping

    from batchlab.application import Application


# polars renames duplicate columns in this way.
_TWICE = re.compile(r"(.+)_duplicated_\d+")


@checked(WorkloadError)
def read_table(
    path: str | os.PathLike[str],
    *,
    resources: tuple[str, ...] | list[str] | None = None,
    overrun: OverrunAction = "extend",
    invalid: InvalidAction = "drop",
    applications: "Mapping[str, Application] | None" = None,
    start_time: float | None = None,
) -> Workload:
    """Read a workload from a CSV (plain or compressed) or Parquet file; the format is detected by content.

    Parameters
    ----------
    path
        The file; its columns are those of :meth:`Workload.from_table`.
    resources, overrun, invalid, applications
        As for :meth:`Workload.from_table`.
    start_time
        The origin of its times, in seconds since 1970 UTC, if calendar time is needed.

    Returns
    -------
    Workload
        With a report in which ``line`` is the row in the table, from 0.

    Raises
    ------
    WorkloadError
        If the file cannot be read or has another format; also the errors of :meth:`Workload.from_table`.
    """
    name = os.fspath(path)
    kind = table_form(Path(path)) or _kind(name)
    table, applications = with_skeletons(_read(Path(path), name, kind), applications, name)
    jobs, report, names = admit(
        table,
        resources=resources,
        overrun=overrun,
        invalid=invalid,
        source=name,
        applications=applications,
    )
    header = Header() if start_time is None else Header().with_start_time(start_time)
    return Workload(jobs, header, report, names, applications or {})


@checked(WorkloadError)
def write_table(workload: Workload, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write the jobs of a workload as CSV or Parquet, by the suffix, atomically.

    Header, report and applications are not written; for applications, see write_application.

    Parameters
    ----------
    workload
        The workload.
    path
        A file ending in ``.csv`` or ``.parquet``.
    overwrite
        Whether to replace a file that batchlab did not write. The input of the workload is never replaced.

    Raises
    ------
    OutputError
        If the file is the one that the workload was read from, or one that batchlab did not write.
    WorkloadError
        If the suffix is unknown, or a column cannot be written as CSV.
    OSError
        If the file cannot be written.
    """
    name = os.fspath(path)
    kind = _kind(name)
    if name.endswith(PACKINGS):
        raise WorkloadError(f"{name}: tables are not written packed. Use the suffix .csv or .parquet.")
    check_workload(workload)
    try:
        jobs = workload.jobs if kind == "parquet" else dependencies.with_text_lists(workload.jobs)
        write_table_file(jobs, path, inputs=workload.sources, overwrite=overwrite)
    except OutputError:
        raise
    except UNREADABLE as error:
        raise WorkloadError(
            f"{name}: cannot be written as {kind}: {reason_of(error)}. Drop the column, or use .parquet."
        ) from error


def _read(path: Path, name: str, kind: str) -> pl.DataFrame:
    try:
        if kind == "parquet":
            # Parquet has its index at the end, and a pipe has no random access.
            source = path if path.is_file() else io.BytesIO(path.read_bytes())
            return pl.read_parquet(source, glob=False)
        table = pl.read_csv(content_of(path), infer_schema_length=None)
    except OSError as error:
        raise WorkloadError(
            f"{name}: cannot be read: {reason_of(error)}. Give the path of a table."
        ) from error
    except UNREADABLE as error:
        raise WorkloadError(
            f"{name}: is no readable {kind} table: {reason_of(error)}. Write it anew, with one row per job."
        ) from error
    _check_names(table, name)
    return table


def _check_names(table: pl.DataFrame, name: str) -> None:
    """Raise for duplicate column names and separators other than commas, which polars accepts silently."""
    for column in table.columns:
        twice = _TWICE.fullmatch(column)
        if twice and twice[1] in table.columns:
            raise WorkloadError(f"{name}: two columns are called {shown(twice[1])}; keep one of them.")
    first = table.columns[0]
    separator = next((sign for sign in ";\t|" if sign in first), None)
    if table.width == 1 and separator:
        rule = "separate columns by commas"
        raise WorkloadError(
            f"{name}:1: {shown(first)} is one column, with {separator!r} in its name; {rule}."
        )


def _kind(name: str) -> str:
    lowered = name.lower()
    if lowered.endswith((".csv", *(f".csv{packing}" for packing in PACKINGS))):
        return "csv"
    if lowered.endswith(".parquet"):
        return "parquet"
    raise WorkloadError(
        f"{name}: must end in .csv, .csv.gz (.bz2, .xz, .zip, .zst) or .parquet, to say what it is. "
        "For logs, use read_swf."
    )
