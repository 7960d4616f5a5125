"""The reader of public data sets and custom tables, based on a mapping of their columns."""

from __future__ import annotations

import os
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING

from batchlab.errors import WorkloadError
from batchlab.workload.formats import beginning
from batchlab.workload.logs.log import Log
from batchlab.workload.logs.notes import Notes
from batchlab.workload.logs.reading import YEAR, Reading
from batchlab.workload.mappings.catalogue import mapping_named
from batchlab.workload.mappings.jobs import workload_of
from batchlab.workload.mappings.mapping import LogMapping
from batchlab.workload.mappings.recognition import recognised
from batchlab.workload.mappings.rows import rows_of
from batchlab.workload.mappings.values import Reader
from batchlab.workload.packing import unpacked
from batchlab.workload.source import name_of, pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from batchlab.core.vocabulary import InvalidAction, OverrunAction, ProcessorField
    from batchlab.workload.log_options import UnfinishedAction
    from batchlab.workload.workload import Workload

__all__ = ["mapping_of_source", "read_mapped"]


def read_mapped(
    source: str | os.PathLike[str] | IO[bytes] | Iterable[str | bytes],
    mapping: LogMapping | str | os.PathLike[str] | None = None,
    *,
    timezone: str | None = None,
    overrun: OverrunAction = "keep",
    invalid: InvalidAction = "drop",
    processors: ProcessorField = "requested",
    use_memory: bool = True,
    unfinished: UnfinishedAction = "drop",
    log_events: bool = True,
    unlimited: float | Mapping[str, float] = YEAR,
) -> Workload:
    """Read a public data set of jobs or a custom table, using a mapping of its columns.

    Parameters
    ----------
    source
        A path, an open file, or an iterable of lines: CSV (plain or compressed), Parquet, JSON (lines or one
        list), or blank-separated fields. From Parquet, only the required columns are read.
    mapping
        The name of a mapping (``batchlab traces list``), the path of a TOML file, or a `LogMapping`. By
        default it is detected by the names of the columns.
    timezone
        Time zone of time stamps without one; by default that in the mapping.
    overrun, invalid
        As for `read_swf`.
    processors
        Whether ``"requested"`` or ``"allocated"`` nodes and cores take precedence.
    use_memory
        Whether tasks request memory, if the mapping has it: column ``mem``, kB (KiB) per task.
    unfinished, log_events, unlimited
        As for `read_sacct`.

    Returns
    -------
    Workload
        One row per job, sorted by submission. ``tasks`` are defined by the mapping, and each amount in it is
        a column of requests per task: ``core``, ``gpu``, ``mem``, and other resources under their names. If
        tasks are nodes, ``tasks_per_node`` is 1. Amounts that do not divide evenly are rounded up, and
        counted in the report. The other columns are those of `read_sacct`, as far as the mapping has them,
        and the columns that it keeps. The origin is the first submission.

    Raises
    ------
    WorkloadError
        If the file or the mapping cannot be read, or not exactly one mapping fits; with ``invalid="raise"``,
        at the first job that breaks a rule.

    Examples
    --------
    >>> own = LogMapping.of({"columns": {"submit": "in", "run_time": "ran", "cores": "n"}})
    >>> read_mapped(["in,ran,n", "100,60,4"], own).jobs.select("run_time", "tasks").row(0)
    (60.0, 4)
    """
    begin, whole = _beginning_of(source)
    chosen = _chosen(mapping, begin, source)
    reading = Reading(
        timezone=timezone or chosen.times.zone,
        overrun=overrun,
        invalid=invalid,
        processors=processors,
        use_memory=use_memory,
        unfinished=unfinished,
        log_events=log_events,
        unlimited=unlimited,
    )
    if chosen.file.format == "pbs":
        return _of_pbs(whole, reading)
    rows = rows_of(whole, chosen, begin)
    named = {"mapping": str(mapping)} if isinstance(mapping, str | os.PathLike) else {}
    log = Log(name_of(source), Notes(), reading, unit="row", options=named)
    return workload_of(rows, Reader(rows.table, chosen), log)


def mapping_of_source(
    source: object, mapping: LogMapping | str | os.PathLike[str] | None = None
) -> LogMapping:
    """Return the mapping of a data set: the argument, or the mapping that fits the columns.

    Raises
    ------
    WorkloadError
        As for `read_mapped`.
    """
    return _chosen(mapping, _beginning_of(source)[0], source)


def _chosen(mapping: LogMapping | str | os.PathLike[str] | None, begin: bytes, source: object) -> LogMapping:
    if isinstance(mapping, LogMapping):
        return mapping
    if mapping is not None:
        return mapping_named(mapping)
    found = recognised(begin, source)
    if found is None:
        raise WorkloadError(
            f"{name_of(source)}: its columns are those of no known data set. Name a mapping (batchlab "
            "traces list), or write one: docs/data-sets.md."
        )
    return found


def _of_pbs(source: object, reading: Reading) -> Workload:
    from batchlab.workload.logs.pbs import read_pbs  # noqa: PLC0415  # few data sets are logs of PBS

    return read_pbs(
        source,  # type: ignore[arg-type]
        timezone=reading.timezone,
        overrun=reading.overrun,
        invalid=reading.invalid,
        processors=reading.processors,
        log_events=reading.log_events,
    )


def _beginning_of(source: object) -> tuple[bytes, object]:
    """Return the first bytes of a source, unpacked, and the source to read from the beginning."""
    name = name_of(source)
    if isinstance(source, str | os.PathLike):
        return beginning(Path(os.fsdecode(source))), source
    blocks = unpacked(pieces(source, name), name)
    first = list(islice(blocks, 1))
    return b"".join(first), _Pieces(chain(first, blocks), name)


class _Pieces:
    """An open file with bytes already read from its beginning."""

    def __init__(self, blocks: chain[bytes], name: str) -> None:
        self._blocks, self.name = blocks, name

    def read(self, _most: int = -1) -> bytes:
        """Return the next chunk; empty at the end."""
        return next((block for block in self._blocks if block), b"")
