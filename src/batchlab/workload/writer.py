"""Workloads into files of any format: those that batchlab knows by their suffix, and one's own."""

import gzip
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from types import MappingProxyType

from batchlab.errors import WorkloadError, shown, suggest
from batchlab.outputs import output
from batchlab.workload.swf_writer import write_swf
from batchlab.workload.tables import write_table
from batchlab.workload.workload import Workload

__all__ = ["WRITERS", "Writer", "write_workload"]

_ROWS_AT_ONCE = 50_000
_PACKED = ".gz"

WRITERS: Mapping[str, Callable[..., None]] = MappingProxyType(
    {".swf": write_swf, ".swf.gz": write_swf, ".csv": write_table, ".parquet": write_table}
)
"""The formats that `write_workload` knows, by suffix."""


class Writer(ABC):
    """The base of writers of other formats: say how to write a job, and the rest is there.

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

    def head(self, workload: Workload) -> Iterable[str]:  # noqa: ARG002  # for those that override it
        """Give the lines before those of the jobs; none unless overridden."""
        return ()

    @abstractmethod
    def line(self, job: Mapping[str, object]) -> str:
        """Give the line of one job, whose fields are the workload's columns; it may have several lines."""

    def foot(self, workload: Workload) -> Iterable[str]:  # noqa: ARG002  # for those that override it
        """Give the lines after those of the jobs; none unless overridden."""
        return ()

    def write(self, workload: Workload, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a workload, one job after the other; the file is there whole or not at all.

        Parameters
        ----------
        workload
            The workload.
        path
            The file, in UTF-8; with the suffix ``.gz`` it is packed.
        overwrite
            Whether a file that batchlab did not write may be replaced. No output replaces an input.

        Raises
        ------
        OutputError
            If the file is the one that the workload was read from, or one that batchlab did not write.
        OSError
            If the file cannot be written.
        """
        lines = chain(self.head(workload), map(self.line, _jobs(workload)), self.foot(workload))
        texts = (f"{line}\n".encode() for line in lines)
        with output(path, "wb", inputs=workload.sources, overwrite=overwrite) as file:
            if not os.fspath(path).endswith(_PACKED):
                file.writelines(texts)
                return
            # No name and no time inside: equal workloads give equal bytes.
            with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                packed.writelines(texts)


def write_workload(
    workload: Workload,
    path: str | os.PathLike[str],
    *,
    writer: Writer | None = None,
    overwrite: bool = False,
) -> None:
    """Write a workload in the format that its suffix tells, or by a writer of one's own.

    Parameters
    ----------
    workload
        The workload.
    path
        The file; without a writer it ends in ``.swf``, ``.swf.gz``, ``.csv`` or ``.parquet``. A log has no
        fields for resources such as GPUs, so that these need a table.
    writer
        What writes it, whatever the suffix.
    overwrite
        Whether a file that batchlab did not write may be replaced. No output replaces an input.

    Raises
    ------
    OutputError
        If the file is the one that the workload was read from, or one that batchlab did not write.
    WorkloadError
        If the suffix is unknown, `writer` is none, or a number does not fit the format.
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
        suffix = os.path.splitext(name)[1]  # noqa: PTH122  # of any path
        raise WorkloadError(
            f"{os.fspath(path)}: no format has the suffix {suffix!r}.{suggest(suffix, WRITERS)} "
            "Pass a writer for others."
        )
    WRITERS[known](workload, path, overwrite=overwrite)


def _jobs(workload: Workload) -> Iterator[dict[str, object]]:
    for block in workload.jobs.iter_slices(_ROWS_AT_ONCE):
        yield from block.iter_rows(named=True)
