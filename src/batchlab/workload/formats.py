"""Detect the format of a job file by its content, and by its name if the content is ambiguous."""

from __future__ import annotations

import inspect
import re
import stat
import warnings
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from batchlab import workload
from batchlab.errors import WorkloadError, shown
from batchlab.workload.log_options import check_reading
from batchlab.workload.packing import PACKINGS, unpacked
from batchlab.workload.source import name_of, pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from batchlab.core.vocabulary import LogFormat
    from batchlab.workload.mappings.mapping import LogMapping
    from batchlab.workload.workload import Workload


FORM_OPTIONS = frozenset({"mapping", "fields", "log_format"})
"""The options of `ReadingOptions` that select the log readers, whatever the content of the file."""

FURTHER_FIELDS = "the fields of lines from the 19th on are not read"
"""What a reader of SWF cannot parse of the lines of some data sets."""
_TABLES = (".parquet", ".csv", *(f".csv{packing}" for packing in PACKINGS))
_PARQUET = b"PAR1"
# A comma-separated header line with the required column submit_time.
_CSV = re.compile(rb"[^\n;{<]*\bsubmit_time\b[^\n]*,|[^\n;{<]*,[^\n]*\bsubmit_time\b")
_SWF = re.compile(rb";|-?\d+\s+-?[\d.]+\s+-?[\d.]+\s+-?[\d.]+\s")
_MOST_READ = 1 << 16
# The first characters of each format, after blank lines.
_FORMS: tuple[tuple[LogFormat, re.Pattern[bytes]], ...] = (
    ("jobcomp", re.compile(rb"JobId=\d")),
    (
        "sacct",
        re.compile(rb'\{(?=[\s\S]*"jobs"\s*:)(?=[\s\S]*"job_id"\s*:)(?=[\s\S]*"(?:submission|tres)"\s*:)'),
    ),
    ("lsf", re.compile(rb'(?:#[^\n]*\n\s*)*"[A-Z_]+" "\d+\.\d+" \d+')),
    (
        "gwf",
        re.compile(
            rb"WorkflowID\s*,\s*JobID\s*,|(?:#[^\n]*\n\s*)*-?\d+[ \t]+-?\d[\d.]*[ \t]+"
            rb"(?:[^\s;]+[ \t]+){26,27}[^\s;]+[ \t]*\r?(?:\n|$)"
        ),
    ),
    (
        "maui",
        re.compile(
            rb"(?:VERSION[^\n]*\n\s*)?"
            rb"(?:\S+(?:[ \t]+\d+){2}(?:[ \t]+\S+){2}[ \t]+-?\d+[ \t]+[A-Za-z]+[ \t]+\["
            rb"|\d\d:\d\d:\d\d[ \t]+\d+(?::\d+)?[ \t]+[a-z]+[ \t]+\S+[ \t]+[A-Za-z]+(?:[ \t]|$))"
        ),
    ),
    (
        "sge",
        re.compile(
            rb"(?:#[^\n]*\n\s*)*(?:\d+:(?:acct:)|(?!\d+:))(?:[^:\n]*:){5}\d+:[^:\n]*:[^:\n]*:\d+:\d+:\d+:"
        ),
    ),
    (
        "cobalt",
        re.compile(
            rb"(?:\d\d/\d\d/\d{4} \d\d:\d\d:\d\d(?:\.\d+)?[;:,]?[ \t]*){1,2}(?:[A-Z]{2};\d+;|[A-Z];\d+;"
            rb"[^\n]*(?:\bmode=|approx_total_etime=|requester=|[cq]time=\d+\.\d))"
        ),
    ),
    ("pbs", re.compile(rb"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d(?:\.\d+)?;[A-Za-z]{1,2};")),
    (
        "sacct",
        re.compile(
            rb"(?:sacct: [^\n]*\n\s*)*(?:[A-Za-z]+[^A-Za-z\s]+|[A-Za-z]+\t)*JobID(?:Raw)?(?:[^A-Za-z]|$)",
            re.IGNORECASE,
        ),
    ),
)


# The columns of a batchlab table; a file with all of them needs no mapping.
_OF_TABLES = {b"submit_time", b"run_time", b"tasks"}
# A JSON list of objects, or one object per line: a table of rows. A job description is one object.
_OBJECTS = re.compile(rb"\[\s*\{|\{[^\n]*\}\s*\n\s*\{")
_SWF_FIELDS = 18
# A mapping has at least three columns: a time, a duration and a size.
_FEWEST = 3


def is_table(path: Path) -> bool:
    """Return whether a file is a table; otherwise it is a log."""
    return table_form(path) is not None


def table_form(path: Path) -> Literal["csv", "parquet"] | None:
    """Return the format of a table.

    Parameters
    ----------
    path
        A file. A missing file, or one that can be read only once, is recognised by its name.

    Returns
    -------
    str or None
        ``"parquet"`` or ``"csv"``, if the content shows it, or if the name ends in ``.parquet``, ``.csv`` or
        ``.csv.gz`` and the content is not that of a log; otherwise None.
    """
    begin = beginning(path)
    if _is_mapped(begin, path):
        return None
    if begin.startswith(_PARQUET):
        return "parquet"
    if _CSV.match(begin):
        return "csv"
    name = path.name.lower()
    if not name.endswith(_TABLES) or _SWF.match(begin) or _log_form(begin) is not None:
        return None
    return "parquet" if name.endswith(".parquet") else "csv"


def log_format(path: Path) -> LogFormat:
    """Return the format of a log, detected by its first line.

    Parameters
    ----------
    path
        A file, plain or gzip. A source that can be read only once, such as a pipe, is not opened.

    Returns
    -------
    str
        One of `batchlab.core.vocabulary.LOG_FORMATS`: ``"mapped"`` for a data set whose columns match a
        mapping of `read_mapped`; ``"swf"`` if no other format matches.
    """
    begin = beginning(path)
    return "mapped" if _is_mapped(begin, path) else _log_form(begin) or "swf"


def beginning(path: Path) -> bytes:
    """Return the first bytes of a file, unpacked, without leading blanks; empty if unreadable or a pipe."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        # The reader reports the reason.
        return b""
    return _beginning(path, status.st_mtime_ns, status.st_size) if stat.S_ISREG(status.st_mode) else b""


@lru_cache(maxsize=8)
def _beginning(path: Path, _changed: int, _size: int) -> bytes:
    """Read and cache the first bytes of a file; time stamp and size are part of the cache key."""
    try:
        with path.open("rb") as file:
            begin = next(unpacked(pieces(file, str(path)), str(path), _MOST_READ), b"")[:_MOST_READ]
    except (OSError, WorkloadError):
        return b""
    return begin.removeprefix(b"\xef\xbb\xbf").lstrip()


def _is_mapped(begin: bytes, path: Path) -> bool:
    """Return whether a file is a data set with a mapping; the first line excludes most other files."""
    if not _may_be_mapped(begin):
        return False
    try:
        return _recognised(begin, path) is not None
    except WorkloadError:
        # Several mappings fit; the reader raises.
        return True


def _recognised(begin: bytes, source: object) -> LogMapping | None:
    from batchlab.workload.mappings.catalogue import recognised  # noqa: PLC0415  # rarely needed

    return recognised(begin, source)


def _may_be_mapped(begin: bytes) -> bool:
    if begin.startswith(_PARQUET) or _OBJECTS.match(begin):
        return True
    if begin.startswith((b"{", b"[")):
        return False
    if _log_form(begin) not in (None, "sacct"):
        return False
    if _SWF.match(begin):
        lines = (line for line in begin.split(b"\n") if line.strip() and not line.startswith(b";"))
        return len(next(lines, b"").split()) > _SWF_FIELDS
    head = begin.partition(b"\n")[0]
    names = {name.strip(b' \r"') for name in re.split(rb"[,;|\t]", head)}
    # Slurm writes JobID; data sets may have the same fields in lower case.
    return len(names) >= _FEWEST and not names >= _OF_TABLES and b"JobID" not in head


def _log_form(begin: bytes) -> LogFormat | None:
    return next((name for name, form in _FORMS if form.match(begin)), None)


def reader_of(path: Path, known: LogFormat | None = None) -> Callable[..., Workload]:
    """Return the function that reads a log: `read_swf`, `read_sacct`, `read_pbs`, … by its format.

    Parameters
    ----------
    path
        The log.
    known
        Its format, if already known.
    """
    reader: Callable[..., Workload] = getattr(workload, f"read_{known or log_format(path)}")
    return reader


def format_by(path: Path, options: Mapping[str, Any]) -> LogFormat:
    """Return the format of a log from reading options, or else from its first line.

    Parameters
    ----------
    path
        The log.
    options
        Options of `batchlab.workload.log_options.ReadingOptions` by name; all are optional.
    """
    if options.get("mapping") is not None:
        return "mapped"
    known: LogFormat | None = options.get("log_format")
    if known is None and options.get("fields") is not None:
        return "sacct"
    return known or log_format(path)


def foreign_option(form: LogFormat, options: Mapping[str, Any]) -> str | None:
    """Return the first option that the reader of a format does not accept; None if it accepts all."""
    return foreign_to(getattr(workload, f"read_{form}"), options, "log_format")


def foreign_to(reader: Callable[..., Workload], options: Mapping[str, Any], *others: str) -> str | None:
    """Return the first option that is no parameter of a reader, none of `others`, and not ``max_jobs``."""
    names = {*inspect.signature(reader).parameters, *others, "max_jobs"}
    return next((name for name in options if name not in names), None)


def read_by(path: Path, options: Mapping[str, Any]) -> Workload:
    """Read a log with options of `ReadingOptions` and of its reader, by name.

    Parameters
    ----------
    path
        The log.
    options
        The options to pass.

    Raises
    ------
    WorkloadError
        If the reader of the format does not accept an option; also all errors of the reader.
    """
    # The readers check the others.
    check_reading({name: options[name] for name in ("log_format", "max_jobs") if name in options})
    form = format_by(path, options)
    foreign = foreign_option(form, options)
    if foreign is not None:
        rule = f"logs of format {form}, as {path}, have no such option"
        raise WorkloadError(f"{foreign} = {shown(options[foreign])}; {rule}. Leave it out.")
    keywords = _keywords(form)
    found = reader_of(path, form)(path, **{name: options[name] for name in options if name in keywords})
    most = None if "max_jobs" in keywords else options.get("max_jobs")
    found = found if most is None else found.head(most)
    further = {name: options[name] for name in ("log_format", "max_jobs") if options.get(name) is not None}
    known = {**found.report.options, **further}
    return replace(found, report=replace(found.report, options=known))


def _keywords(form: LogFormat) -> set[str]:
    """Return the names of a reader's parameters."""
    return {*inspect.signature(getattr(workload, f"read_{form}")).parameters}


def warn_of_data_set(begin: bytes, source: object, problem: str, level: int = 3) -> None:
    """Warn if a file given to a log reader is a data set with a mapping.

    Parameters
    ----------
    begin
        The first bytes of the file, unpacked.
    source
        The file.
    problem
        What the reader cannot parse.
    level
        Stack level of the warning: the number of calls up to the caller of the reader.
    """
    line = named_data_set(begin, source, problem)
    if line is not None:
        warnings.warn(line, stacklevel=level)


def named_data_set(begin: bytes, source: object, problem: str = FURTHER_FIELDS) -> str | None:
    """Return the warning of `warn_of_data_set`; None if no mapping, or several, fit the file."""
    try:
        found = _recognised(begin, source)
    except WorkloadError:
        return None
    if found is None:
        return None
    step = f"Read it by read_mapped(source, {found.name!r}), or batchlab run --mapping {found.name}"
    return f"{name_of(source)}: {problem}. Its fields are those of the data set {found.name}. {step}."
