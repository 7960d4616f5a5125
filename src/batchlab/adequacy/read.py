"""Read streams of jobs from files: output of runs, logs, and tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import polars as pl

from batchlab.core.arguments import checked
from batchlab.errors import AdequacyError, WorkloadError, reason_of
from batchlab.result.archive import NAME
from batchlab.result.read import read_result
from batchlab.workload.columns import UNREADABLE
from batchlab.workload.event_stream import read_events
from batchlab.workload.formats import FORM_OPTIONS, log_format, read_by
from batchlab.workload.packing import without_packing
from batchlab.workload.source import content_of

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from batchlab.result.result import Result
    from batchlab.workload.event_stream import EventStream
    from batchlab.workload.log_options import ReadingArguments
    from batchlab.workload.workload import Workload


_JOBS = "jobs.csv"
_FORMS = f"Give the folder of a run (with {_JOBS}), a table or a log"


@checked(AdequacyError)
def read(
    path: str | os.PathLike[str], **reading: Unpack[ReadingArguments]
) -> pl.DataFrame | Workload | EventStream | Result:
    """Read a stream of jobs for `compare`.

    Parameters
    ----------
    path
        The output folder of a run (``batchlab run --out``, `Result.write`), a table (``jobs.csv``, other CSV,
        Parquet) with the columns of `Result.jobs`, a stream of events (lines of JSON with the suffix
        ``.jsonl``, CSV), a log (SWF, Slurm's sacct or jobcomp, PBS), or a data set supported by
        `read_mapped`.
    **reading
        For logs: the reading options of the commands, such as ``overrun="cut"``,
        ``timezone="Europe/Berlin"``, ``mapping="pm100"`` or ``max_jobs=100``. [default: as in the log's
        reader, so that a log and a run of it agree]

    Returns
    -------
    polars.DataFrame, Workload, EventStream or Result
        The jobs; with all events of the run for a stream of events or a folder with ``result.zip``.

    Raises
    ------
    AdequacyError
        If the file cannot be read, or if reading options are given for a file that is not a log.
    WorkloadError
        If the file is not a log, or if its format does not have one of the options.
    """
    file = _file(Path(path))
    given = {name: value for name, value in reading.items() if value is not None}
    if _is_log(Path(path), file, given):
        return read_by(file, given)
    if given:
        option = next(iter(given))
        raise AdequacyError(f"{path}: {option} applies to logs, and this is not a log. Leave it out.")
    return read_result(path) if _is_result(Path(path)) else _table(file)


def is_log(path: str | os.PathLike[str], **reading: Unpack[ReadingArguments]) -> bool:
    """Return whether `read` reads a log there, which has options of reading; see there."""
    return _is_log(Path(path), _file(Path(path)), reading)


def _is_result(path: Path) -> bool:
    return path.is_dir() and (path / NAME).exists()


def _is_log(path: Path, file: Path, given: Mapping[str, object]) -> bool:
    if path.is_dir():
        return False
    if not FORM_OPTIONS.isdisjoint(given) or log_format(file) == "mapped":
        return True
    name = file.name.lower()
    return not (without_packing(name).endswith((".jsonl", ".csv")) or name.endswith(".parquet"))


def _table(file: Path) -> pl.DataFrame | EventStream:
    """Read a table of jobs, or a stream of events."""
    name = file.name.lower()
    try:
        if name.endswith(".parquet"):
            return pl.read_parquet(file, glob=False)
        if without_packing(name).endswith(".jsonl"):
            return read_events(file)
        table = pl.read_csv(content_of(file), infer_schema_length=None)
        return read_events(file) if "event" in table.columns else table
    except WorkloadError as error:
        # The error of an event, with its file and line.
        raise AdequacyError(str(error)) from error
    except (OSError, *UNREADABLE) as error:
        raise AdequacyError(f"{file}: cannot be read: {reason_of(error)}. {_FORMS}.") from error


def _file(path: Path) -> Path:
    """Return the file with the jobs."""
    try:
        file = path / _JOBS if path.is_dir() else path
        found = file.exists()
    except (OSError, ValueError) as error:
        raise AdequacyError(f"{path}: {reason_of(error)}. {_FORMS}.") from error
    if not found:
        raise AdequacyError(f"{file}: is not there. {_FORMS}.")
    return file
