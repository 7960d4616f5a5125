"""Which log a command means: a file, or a log of the catalogue that was fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.cli.failure import wrong_usage

if TYPE_CHECKING:
    from pathlib import Path

    from batchlab.application import Application
    from batchlab.cli.request import Invalid, Overrun, Processors
    from batchlab.system.system import System
    from batchlab.workload.workload import Workload

__all__ = ["catalogued_machine", "check_platform", "located", "read_log"]

_TABLES = (".csv", ".parquet")
_JOBS = ".json"


def located(given: Path) -> tuple[Path, str | None]:
    """Find the log that an argument names.

    Parameters
    ----------
    given
        A file, or a name as `batchlab.traces.find` understands it.

    Returns
    -------
    tuple
        The file; and the log's name, where the catalogue told the file.
    """
    if given.is_dir():
        raise wrong_usage(f"File {str(given)!r} is a directory", "'TRACE'")
    if given.exists():
        return given, None
    missing = f"File {str(given)!r} does not exist"
    if given.name != str(given):
        raise wrong_usage(missing, "'TRACE'")
    from batchlab.errors import TraceError  # noqa: PLC0415  # for names only
    from batchlab.trace import traces  # noqa: PLC0415  # here too

    try:
        name = traces.find(given.name).name
    except TraceError as error:
        raise wrong_usage(f"{missing}; {error}", "'TRACE'") from None
    return traces.path(name), name


def catalogued_machine(name: str | None, cores: int | None) -> System | None:
    """Give the machine of a log that was found by its name.

    Parameters
    ----------
    name
        The name, if it was.
    cores
        ``--cores``; where given, the log's header decides about the rest.

    Returns
    -------
    System or None
        None where the catalogue does not know it.
    """
    if name is None or cores is not None:
        return None
    from batchlab.trace import traces  # noqa: PLC0415  # --help does without

    return traces.system(name) if traces.find(name).nodes else None


def read_log(
    trace: Path,
    *,
    overrun: Overrun,
    invalid: Invalid,
    processors: Processors,
    use_memory: bool,
    applications: Path | None = None,
) -> Workload:
    """Read a log, a table, or the jobs of an ElastiSim project.

    Parameters
    ----------
    trace
        The file.
    overrun, invalid, processors, use_memory
        As for `read_swf`; the last two are refused for what is no SWF log.
    applications
        The folder with the applications' files.
    """
    import batchlab  # noqa: PLC0415  # the library is imported when it is needed

    suffix = trace.suffix.lower()
    if suffix not in (*_TABLES, _JOBS):
        if applications is not None:
            raise wrong_usage(
                f"is about jobs that name applications; {trace} is an SWF log.", "--applications"
            )
        return batchlab.read_swf(
            trace, overrun=overrun, invalid=invalid, processors=processors, use_memory=use_memory
        )
    if processors != "requested" or use_memory:
        option = "--use-memory" if use_memory else "--processors"
        raise wrong_usage(f"is about the fields of an SWF log; {trace} is none. Leave it out.", option)
    if suffix == _JOBS:
        from batchlab.bridge.elastisim import read_workload  # noqa: PLC0415  # only these need it

        return read_workload(trace, folder=applications)
    described = None if applications is None else _applications(applications)
    return batchlab.read_table(trace, overrun=overrun, invalid=invalid, applications=described)


def check_platform(workload: Workload, system: System | None) -> None:
    """Refuse jobs with applications where the machine is no platform."""
    if workload.applications and (system is None or system.platform is None):
        found = "is missing" if system is None else "describes no platform"
        raise wrong_usage(
            f"{found}; jobs with applications run on one: SimGrid's XML, or batchlab's TOML.", "--system"
        )


def _applications(folder: Path) -> dict[str, Application]:
    """Read every application of a folder; its name is that of the file."""
    from batchlab.application import read_application  # noqa: PLC0415  # only these need it

    return {file.stem: read_application(file) for file in sorted(folder.glob("*.json"))}
