"""Streams of jobs in files: what a run wrote, logs, and tables."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from batchlab.errors import AdequacyError, reason_of
from batchlab.workload.logs.jobcomp import read_jobcomp
from batchlab.workload.logs.pbs import read_pbs
from batchlab.workload.logs.sacct import read_sacct
from batchlab.workload.swf import read_swf
from batchlab.workload.unreadable import UNREADABLE

if TYPE_CHECKING:
    import os

    from batchlab.vocabulary import OverrunAction
    from batchlab.workload.workload import Workload

__all__ = ["read"]

_JOBS = "jobs.csv"
_FORMS = f"Give the folder of a run (with {_JOBS}), a table or a log"
_LOOKED_AT = 65_536  # bytes
_GZIP = b"\x1f\x8b"
_PBS = re.compile(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;")


def read(path: str | os.PathLike[str], *, overrun: OverrunAction = "extend") -> pl.DataFrame | Workload:
    """Read a stream of jobs, as `compare` takes it.

    Parameters
    ----------
    path
        The folder that a run was written to (``batchlab run --out``, `Result.write`); a table (``jobs.csv``,
        other CSV, Parquet) with the columns of `Result.jobs`; or a log, known by its first line: a dump of
        Slurm's ``sacct``, a file of its ``jobcomp/filetxt``, an accounting log of PBS or Torque, or else one
        in the Standard Workload Format.
    overrun
        Of a log, what to do where a job ran longer than it asked for; as for `read_swf`, so that a log and a
        run of it agree.

    Returns
    -------
    polars.DataFrame or Workload
        The jobs.

    Raises
    ------
    AdequacyError
        If it cannot be read.
    WorkloadError
        If it is no log.
    """
    file = _file(Path(path))
    name = file.name.lower()
    try:
        if name.endswith((".csv", ".csv.gz")):
            return pl.read_csv(file.read_bytes(), infer_schema_length=None)
        if name.endswith(".parquet"):
            return pl.read_parquet(file, glob=False)
        line = _first_line(file)
    except (OSError, zlib.error, *UNREADABLE) as error:
        raise AdequacyError(f"{file}: cannot be read: {reason_of(error)}. {_FORMS}.") from error
    if line.startswith("JobId="):
        return read_jobcomp(file, overrun=overrun)
    if _PBS.match(line):
        return read_pbs(file, overrun=overrun)
    if "|" in line and not line.startswith(";"):
        return read_sacct(file, overrun=overrun)
    return read_swf(file, overrun=overrun)


def _first_line(file: Path) -> str:
    """Give the first line that says something, of a file that can be read again."""
    if not file.is_file():
        return ""
    with file.open("rb") as opened:
        begin = opened.read(_LOOKED_AT)
    if begin.startswith(_GZIP):
        begin = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16).decompress(begin, _LOOKED_AT)
    lines = begin.decode("utf-8", "replace").splitlines()
    return next((line for line in lines if line.strip()), "")


def _file(path: Path) -> Path:
    """Find the file with the jobs."""
    try:
        file = path / _JOBS if path.is_dir() else path
        found = file.exists()
    except (OSError, ValueError) as error:
        raise AdequacyError(f"{path}: {reason_of(error)}. {_FORMS}.") from error
    if not found:
        raise AdequacyError(f"{file}: is not there. {_FORMS}.")
    return file
