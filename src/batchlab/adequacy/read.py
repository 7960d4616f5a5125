"""Read streams of jobs from files: output of runs, logs, and tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from batchlab.errors import AdequacyError, WorkloadError, reason_of
from batchlab.result.read import read_result
from batchlab.result.record import NAME
from batchlab.workload.event_files import read_events
from batchlab.workload.formats import FORM_OPTIONS, log_format, read_by
from batchlab.workload.log_options import ReadingOptions
from batchlab.workload.packing import without_packing
from batchlab.workload.source import content_of
from batchlab.workload.unreadable import UNREADABLE

if TYPE_CHECKING:
    import os

    from batchlab.result.result import Result
    from batchlab.vocabulary import OverrunAction
    from batchlab.workload.event_stream import EventStream
    from batchlab.workload.workload import Workload

__all__ = ["read"]

_JOBS = "jobs.csv"
_USUAL = ReadingOptions()
_FORMS = f"Give the folder of a run (with {_JOBS}), a table or a log"


def read(
    path: str | os.PathLike[str],
    *,
    overrun: OverrunAction | None = None,
    mapping: str | None = None,
    reading: ReadingOptions = _USUAL,
) -> pl.DataFrame | Workload | EventStream | Result:
    """Read a stream of jobs for `compare`.

    Parameters
    ----------
    path
        The output folder of a run (``batchlab run --out``, `Result.write`), a table (``jobs.csv``, other CSV,
        Parquet) with the columns of `Result.jobs`, a stream of events (lines of JSON with the suffix
        ``.jsonl``, CSV), a log (SWF, Slurm's sacct or jobcomp, PBS), or a data set supported by
        `read_mapped`.
    overrun
        For logs: treatment of jobs that ran longer than requested. [default: as in the log's reader, so that
        a log and a run of it agree]
    mapping
        For data sets: the mapping, as for `read_mapped`. [default: found by the columns]
    reading
        For logs: all reading options. The two arguments above take precedence.

    Returns
    -------
    polars.DataFrame, Workload, EventStream or Result
        The jobs; with all events of the run for a stream of events or a folder with ``result.zip``.

    Raises
    ------
    AdequacyError
        If the file cannot be read.
    WorkloadError
        If the file is not a log.
    """
    file = _file(Path(path))
    if Path(path).is_dir() and (file.parent / NAME).exists():
        return read_result(path)
    own = {"overrun": overrun, "mapping": mapping}
    given = {**reading.given, **{name: value for name, value in own.items() if value is not None}}
    if not FORM_OPTIONS.isdisjoint(given) or log_format(file) == "mapped":
        return read_by(file, given)
    name = file.name.lower()
    bare = without_packing(name)
    if reading.given and (bare.endswith((".jsonl", ".csv")) or name.endswith(".parquet")):
        option = next(iter(reading.given))
        raise AdequacyError(f"{file}: {option} is about the fields of a log, and this is none. Leave it out.")
    try:
        if bare.endswith(".jsonl"):
            return read_events(file)
        if bare.endswith(".csv"):
            table = pl.read_csv(content_of(file), infer_schema_length=None)
            return read_events(file) if "event" in table.columns else table
        if name.endswith(".parquet"):
            return pl.read_parquet(file, glob=False)
    except WorkloadError as error:
        # The error of an event, with its file and line.
        raise AdequacyError(str(error)) from error
    except (OSError, *UNREADABLE) as error:
        raise AdequacyError(f"{file}: cannot be read: {reason_of(error)}. {_FORMS}.") from error
    return read_by(file, given)


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
