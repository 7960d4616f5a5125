"""Which log a command means: a file, or a log of the catalogue that was fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.cli.failure import wrong_usage

if TYPE_CHECKING:
    from pathlib import Path

    from batchlab.cli.request import Invalid, Overrun, Processors
    from batchlab.system.system import System
    from batchlab.workload.workload import Workload

__all__ = ["catalogued_machine", "located", "read_log"]

_TABLES = (".csv", ".parquet")


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
    trace: Path, *, overrun: Overrun, invalid: Invalid, processors: Processors, use_memory: bool
) -> Workload:
    """Read a log or a table.

    Parameters
    ----------
    trace
        The file.
    overrun, invalid, processors, use_memory
        As for `read_swf`; the last two are refused for tables.
    """
    import batchlab  # noqa: PLC0415  # the library is imported when it is needed

    if trace.suffix.lower() not in _TABLES:
        return batchlab.read_swf(
            trace, overrun=overrun, invalid=invalid, processors=processors, use_memory=use_memory
        )
    if processors != "requested" or use_memory:
        option = "--use-memory" if use_memory else "--processors"
        raise wrong_usage(f"is about the fields of an SWF log; {trace} is a table. Leave it out.", option)
    return batchlab.read_table(trace, overrun=overrun, invalid=invalid)
