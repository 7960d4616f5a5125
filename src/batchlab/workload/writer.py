"""Write workloads to files of any format: built-in formats by suffix, and custom ones."""

import gzip
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from types import MappingProxyType

from batchlab.core.outputs import output
from batchlab.errors import WorkloadError, shown, suggest
from batchlab.workload.given import check_workload
from batchlab.workload.swf_writer import write_swf
from batchlab.workload.tables import write_table
from batchlab.workload.workload import Workload

__all__ = ["WRITERS", "Writer", "write_workload"]

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
