"""Find and read the log of a command: a file, or a fetched log of the catalogue."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from batchlab.cli.failure import wrong_usage
from batchlab.cli.progress import reading_bar
from batchlab.cli.recognised import check_kind, kind_of
from batchlab.core.declared import option_of
from batchlab.workload.log_options import ReadingOptions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from batchlab.application import Application
    from batchlab.cli.request import LogRequest
    from batchlab.core.vocabulary import LogFormat
    from batchlab.system.system import System
    from batchlab.workload.mappings.mapping import LogMapping
    from batchlab.workload.workload import Workload

__all__ = [
    "check_platform",
    "data_set_warnings",
    "format_of",
    "gives_memory",
    "is_log",
    "located",
    "mapping_of",
    "read_log",
]

_JOBS = ".json"
_OF_TABLES, _OF_JSON = {"overrun", "invalid", "max_jobs"}, {"max_jobs"}
# A line of a sacct dump: the job number and at least five fields.
_NO_HEADER = re.compile(rb"\d+(?:_\d+|\+\d+)?(?:\.\w+)?\|(?:[^|\n]*\|){4}")


def located(given: Path, *, stream: bool = False) -> tuple[Path, str | None]:
    """Find the file of a log.

    Parameters
    ----------
    given
        A file, a name for `batchlab.traces.find`, or ``-`` for standard input.
    stream
        True if the log is read in one pass. Otherwise input that can be read only once (a pipe) is copied.

    Returns
    -------
    tuple
        The file, and the name of the log if the file came from the catalogue.
    """
    if str(given) == "-" or not (given.is_file() or given.is_dir()):
        from batchlab.cli.spooled import piped, spooled  # noqa: PLC0415  # most logs are files

        given = (piped if stream else spooled)(given, "'TRACE'")
    check_kind(given, "'TRACE'", "log", "table", "elastisim_jobs", "batsim")
    if given.is_dir():
        raise wrong_usage(f"File {str(given)!r} is a directory", "'TRACE'")
    if given.exists():
        return given, None
    missing = f"File {str(given)!r} does not exist"
    if given.name != str(given):
        raise wrong_usage(missing, "'TRACE'")
    from batchlab.core.outputs import protect  # noqa: PLC0415  # here too
    from batchlab.errors import TraceError  # noqa: PLC0415  # for names only
    from batchlab.trace import traces  # noqa: PLC0415  # here too

    try:
        name = traces.find(given.name).name
    except TraceError as error:
        raise wrong_usage(f"{missing}; {error}", "'TRACE'") from None
    path = traces.path(name)
    protect(path)
    return path, name


def read_log(log: LogRequest, *systems: System | None) -> Workload:
    """Read a log, a table, the jobs of an ElastiSim project, or a workload of Batsim.

    Parameters
    ----------
    log
        The file, and how to read it. Options on fields of logs are an error for other files.
    systems
        The described machines, if any. Their partitions have the limits that a Slurm log names, and they
        decide whether jobs request memory unless the log request does.

    Raises
    ------
    WorkloadError
        If the file cannot be read, or all its jobs were dropped.
    """
    with reading_bar(log.trace):
        workload = _read_any(log, [each for each in systems if each is not None])
    workload.report.check_kept()
    return workload


def _read_any(log: LogRequest, systems: Sequence[System]) -> Workload:
    import batchlab  # noqa: PLC0415  # the library is imported when it is needed

    if is_log(log):
        return _read(log, systems)
    is_json = _is_json(log.trace)
    known = _OF_JSON if is_json else _OF_TABLES
    for name, value in log.given.items():
        # Without memory on the machine, use_memory=False is harmless.
        if name not in known and (name, value) != ("use_memory", False):
            raise wrong_usage(
                f"is about the fields of a log; {log.trace} is none. Leave it out.",
                option_of(ReadingOptions, name),
            )
    if is_json:
        read = _read_json(log)
    else:
        described = None if log.applications is None else _applications(log.applications)
        read = batchlab.read_table(
            log.trace, overrun=log.swf_overrun, invalid=log.invalid, applications=described
        )
    return read if log.max_jobs is None else read.head(log.max_jobs)


def _read_json(log: LogRequest) -> Workload:
    from batchlab.bridge import batsim, elastisim  # noqa: PLC0415  # only these need them

    if kind_of(log.trace) != "batsim":
        return elastisim.read_workload(log.trace, folder=log.applications)
    if log.applications is not None:
        rule = f"{log.trace} is a workload of Batsim, which has its profiles in it"
        raise wrong_usage(f"is about jobs that name applications; {rule}.", "--applications")
    return batsim.read_workload(log.trace)


def is_log(log: LogRequest) -> bool:
    """Return whether the file is a log, not a table or jobs of another simulator; by content or format."""
    from batchlab.workload.formats import FORM_OPTIONS, is_table  # noqa: PLC0415  # --help does without

    if not FORM_OPTIONS.isdisjoint(log.given):
        return True
    return format_of(log) != "swf" or not (is_table(log.trace) or _is_json(log.trace))


def _is_json(path: Path) -> bool:
    from batchlab.workload.formats import beginning  # noqa: PLC0415  # --help does without

    return path.suffix.lower() == _JOBS or beginning(path).startswith(b"{")


def format_of(log: LogRequest) -> LogFormat:
    """Return the format of a log: as given, or by its first line."""
    from batchlab.workload.formats import format_by  # noqa: PLC0415  # --help does without

    if log.mapping is not None and log.log_format not in (None, "mapped"):
        raise wrong_usage(
            "is about files that --mapping describes; leave one of the two out.", "--log-format"
        )
    return format_by(log.trace, log.given)


def data_set_warnings(log: LogRequest) -> list[str]:
    """Return the warning that a log read as SWF is a data set with a mapping, which SWF does not describe."""
    if log.log_format != "swf":
        # Data sets are recognised by their content otherwise.
        return []
    from batchlab.workload.formats import beginning, named_data_set  # noqa: PLC0415  # --help does without

    line = named_data_set(beginning(log.trace), log.trace)
    return [] if line is None else [line]


def mapping_of(log: LogRequest) -> LogMapping | None:
    """Return the mapping of a data set, as given or found by its columns; None for other files."""
    if format_of(log) != "mapped":
        return None
    from batchlab.workload.mappings.read import mapping_of_source  # noqa: PLC0415  # most files are others

    return mapping_of_source(log.trace, log.mapping)


def _read(log: LogRequest, systems: Sequence[System]) -> Workload:
    from batchlab.workload.formats import foreign_option, read_by  # noqa: PLC0415  # the library, when needed

    if log.applications is not None:
        raise wrong_usage(f"is about jobs that name applications; {log.trace} is a log.", "--applications")
    form = format_of(log)
    given = {**log.given}
    foreign = foreign_option(form, given)
    if foreign is not None:
        raise wrong_usage(
            f"is no option of logs of format {form}; {log.trace} is one. Leave it out.",
            option_of(ReadingOptions, foreign),
        )
    if form == "swf":
        _check_header(log)
    elif form != "mapped" and log.use_memory is None:
        given["use_memory"] = any(map(gives_memory, systems))
    if form in {"sacct", "jobcomp"}:
        given["partition_limits"] = _partition_limits(systems)
    read = read_by(log.trace, given)
    if log.use_memory is None:
        # Systems with memory use the column by its name; others ignore it.
        return replace(read, resources=tuple(name for name in read.resources if name != "mem"))
    return read


def _check_header(log: LogRequest) -> None:
    """Raise if a dump of sacct has no header: no reader recognises it."""
    from batchlab.workload.formats import beginning  # noqa: PLC0415  # the library, when it is needed

    if _NO_HEADER.match(beginning(log.trace)):
        step = "name its fields as in sacct --format: --fields JobID,User,Submit,…"
        raise wrong_usage(f"{log.trace} looks like a dump of sacct without a header; {step}", "'TRACE'")


def gives_memory(system: System) -> bool:
    """Return whether a system is that of a slurm.conf that allocates memory to jobs."""
    if "mem" not in system.resources or not system.policy:
        return False
    from batchlab.policy.load import policy_of  # noqa: PLC0415  # the library, when it is needed

    return policy_of(system.policy).slurm is not None


def _partition_limits(systems: Sequence[System]) -> dict[str, float]:
    """Return the maximum time limit of partitions, seconds, for those that have one."""
    found = [partition for system in reversed(systems) for partition in system.partitions]
    return {each.name: each.admits.max_time for each in found if each.admits.max_time is not None}


def check_platform(workload: Workload, system: System | None) -> None:
    """Raise if jobs have applications and the machine is not a platform."""
    if workload.applications and (system is None or system.platform is None):
        found = "is missing" if system is None else "describes no platform"
        raise wrong_usage(
            f"{found}; jobs with applications run on one: SimGrid's XML, or batchlab's TOML.", "--system"
        )


def check_counting(system: System | None) -> None:
    """Raise if messages are to be counted and the machine is not a platform."""
    if system is None or system.platform is None:
        rule = "counts messages on a platform: give --system SimGrid's XML, or batchlab's TOML of one"
        raise wrong_usage(f"{rule}.", "--messages")


def _applications(folder: Path) -> dict[str, Application]:
    """Read every application of a folder, keyed by file name without the suffix."""
    from batchlab.application import read_application  # noqa: PLC0415  # only these need it

    return {file.stem: read_application(file) for file in sorted(folder.glob("*.json"))}
