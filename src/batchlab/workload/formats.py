"""Which format a file of jobs has: a table by its name, a log by its content."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from batchlab.errors import WorkloadError
from batchlab.workload.source import unpacked

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from batchlab.vocabulary import LogFormat
    from batchlab.workload.workload import Workload

__all__ = ["is_table", "log_format", "reader_of"]

_TABLES = (".csv", ".csv.gz", ".parquet")
_MOST_READ = 1 << 16
# How a text begins, after blank lines.
_FORMS: tuple[tuple[LogFormat, re.Pattern[bytes]], ...] = (
    ("jobcomp", re.compile(rb"JobId=\d")),
    ("pbs", re.compile(rb"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d(?:\.\d+)?;[A-Za-z]{1,2};")),
    (
        "sacct",
        re.compile(
            rb"(?:sacct: [^\n]*\s+)*(?:[A-Za-z]+[^A-Za-z\s]+|[A-Za-z]+\t)*JobID(?:Raw)?(?:[^A-Za-z]|$)",
            re.IGNORECASE,
        ),
    ),
)


def is_table(path: Path) -> bool:
    """Tell a table from a log, by the file's name: ``.csv``, ``.csv.gz`` or ``.parquet``."""
    return path.name.lower().endswith(_TABLES)


def log_format(path: Path) -> LogFormat:
    """Tell the format of a log by its first line.

    Parameters
    ----------
    path
        A file, plain or gzip. What can be read only once, such as a pipe, is not looked into.

    Returns
    -------
    str
        ``"sacct"``, ``"jobcomp"`` or ``"pbs"``; ``"swf"`` for whatever else.
    """
    if not path.is_file():
        return "swf"
    try:
        with path.open("rb") as file:
            packed = file.read(_MOST_READ)
        begin = next(unpacked(iter([packed]), str(path)), b"")[:_MOST_READ]
    except (OSError, WorkloadError):
        # The reader says why it cannot be read.
        return "swf"
    text = begin.removeprefix(b"\xef\xbb\xbf").lstrip()
    return next((name for name, form in _FORMS if form.match(text)), "swf")


def reader_of(path: Path, known: LogFormat | None = None) -> Callable[..., Workload]:
    """Give the function that reads a log: `read_swf`, `read_sacct`, `read_jobcomp` or `read_pbs`.

    Parameters
    ----------
    path
        The log.
    known
        Its format, where that need not be found out.
    """
    from batchlab import workload  # noqa: PLC0415  # which gives names only as they are asked for

    reader: Callable[..., Workload] = getattr(workload, f"read_{known or log_format(path)}")
    return reader
