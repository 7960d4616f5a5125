"""The reader of the accounting logs of PBS, OpenPBS and Torque."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import IO

import polars as pl

from batchlab.errors import WorkloadError
from batchlab.vocabulary import InvalidAction, OverrunAction, ProcessorField
from batchlab.workload.logs.jobs import workload_of
from batchlab.workload.logs.log import Log
from batchlab.workload.logs.notes import Notes
from batchlab.workload.logs.pbs_records import WANTED, records_of
from batchlab.workload.logs.reading import YEAR, Reading, RequeueAction, UnfinishedAction
from batchlab.workload.source import text_of
from batchlab.workload.workload import Workload

__all__ = ["read_pbs"]

_LINE = re.compile(r"(\d\d/\d\d/\d{4} \d\d:\d\d:\d\d(?:\.\d+)?);([A-Za-z]{1,2});([^;]*);(.*)")
_NUMBER = re.compile(r"(\d{1,18})(\[\d*\]|-\d{1,7})?(?:\.(.*))?")
_ATTRIBUTE = re.compile(r'(?:^|\s)([A-Za-z_][\w.]*)=("[^"]*"|\S*)')
_OF_JOBS = frozenset("QSEADRHT")
_NO_RECORD = "is no record of PBS: date;type;number;attributes"
_NO_JOB = "is no number of a job"
_ARRAY = "records of whole arrays"
_OTHERS = "records that are not of jobs, or change nothing"


def read_pbs(
    source: str | os.PathLike[str] | IO[str] | IO[bytes] | Iterable[str | bytes],
    *,
    timezone: str = "UTC",
    overrun: OverrunAction = "extend",
    invalid: InvalidAction = "drop",
    processors: ProcessorField = "requested",
    use_memory: bool = False,
    requeues: RequeueAction = "join",
    unfinished: UnfinishedAction = "drop",
    unlimited: float | Mapping[str, float] = YEAR,
    node_names: bool = False,
) -> Workload:
    """Read an accounting log of PBS, OpenPBS or Torque: records ``date;type;number;attributes``.

    The records Q (queued), S (started), E (ended), R (rerun), A (aborted) and D (deleted) of a job are put
    together.

    Parameters
    ----------
    source
        A path, an open file (text or binary; gzip is known by its content), or an iterable of lines; logs of
        several days follow one another.
    timezone
        Whose clock the dates of records show, as for `read_sacct`; the attributes are seconds since 1970.
    overrun, invalid, processors, use_memory, requeues, unfinished
        As for `read_sacct`.
    unlimited
        What jobs without ``Resource_List.walltime`` have for a limit, in seconds; or that by queue.
    node_names
        Whether ``node_names`` lists the nodes of ``node_list`` (``n1/0*4+n2/0*4``), each once.

    Returns
    -------
    Workload
        As that of `read_sacct`, with ``queue`` in place of ``partition``, and ``used_memory`` (kB per
        processor) and ``average_cpu_time`` (seconds per processor) of ``resources_used``, which schedulers
        are not shown.

    Raises
    ------
    WorkloadError
        If the source cannot be read, or no line is a record; with ``invalid="raise"``, at the first job that
        breaks a rule.

    Examples
    --------
    >>> line = (
    ...     "03/01/2024 10:02:00;E;7.server;user=ann queue=batch ctime=1709287200 qtime=1709287200 "
    ...     "start=1709287260 end=1709287320 Resource_List.ncpus=4 Resource_List.walltime=00:05:00 "
    ...     "Exit_status=0 resources_used.walltime=00:01:00"
    ... )
    >>> read_pbs([line]).jobs.select("job_id", "run_time", "requested_time", "tasks").row(0)
    (7, 60.0, 300.0, 4)
    """
    reading = Reading(
        timezone=timezone,
        overrun=overrun,
        invalid=invalid,
        processors=processors,
        use_memory=use_memory,
        requeues=requeues,
        unfinished=unfinished,
        unlimited=unlimited,
        node_names=node_names,
    )
    name, text = text_of(source)
    log = Log(name, Notes(), reading)
    table = _table(text, log)
    return workload_of(records_of(table, log), log, {})


def _table(text: str, log: Log) -> pl.DataFrame:
    """Give a row for each run of each job, or for its wait where it never ran: its attributes as text."""
    jobs: dict[str, _History] = {}
    records = 0
    for line, found in _lines(text, log):
        date, kind, number, attributes = found
        match = _NUMBER.fullmatch(number)
        if match is None:
            log.refuse_line(line, number, _NO_JOB)
        elif match[2] == "[]":
            log.notes.skip(_ARRAY, 1)
        else:
            _add(jobs, number, line, (date, kind, attributes))
        records += 1
    if not records:
        line = log.notes.first_line("dropped")
        raise WorkloadError(
            f"{log.name}:{line}: no line is a record of a job: MM/DD/YYYY HH:MM:SS;E;12.server;user=… …. "
            "Give files of server_priv/accounting."
        )
    rows = [{"number": number, **run} for number, history in jobs.items() for run in history.runs()]
    return pl.DataFrame({key: pl.Series([row.get(key) for row in rows], dtype=pl.String) for key in WANTED})


def _lines(text: str, log: Log) -> Iterator[tuple[int, tuple[str, str, str, str]]]:
    """Give the records that are of jobs, with their lines."""
    others = 0
    for line, record in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        match = _LINE.fullmatch(record.strip())
        if match is None:
            if record.strip():
                log.refuse_line(line, record, _NO_RECORD)
        elif match[2] not in _OF_JOBS:
            others += 1
        else:
            yield line, (match[1], match[2], match[3].strip(), match[4])
    log.notes.skip(_OTHERS, others)


def _attributes(text: str) -> dict[str, str]:
    if '"' in text:
        return {key: value.strip('"') for key, value in _ATTRIBUTE.findall(text)}
    return {key: value for key, sign, value in (part.partition("=") for part in text.split()) if sign}


def _add(jobs: dict[str, "_History"], number: str, line: int, record: tuple[str, str, str]) -> None:
    history = jobs.get(number)
    if history is None:
        history = jobs[number] = _History()
    history.add(line, *record)


class _History:
    """What the records of one number say, in the order in which they were written."""

    def __init__(self) -> None:
        self._runs: list[dict[str, str]] = []
        self._known: dict[str, str] = {}
        self._open: tuple[int, str, str] | None = None
        self._deleted = False

    def add(self, line: int, date: str, kind: str, text: str) -> None:
        """Take one more record."""
        if kind in "ST":
            self._open = (line, date, text)
        elif kind in "EAR":
            self._end(line, date, kind, _attributes(text))
        elif kind == "D":
            self._deleted = True
            self._known |= {"line": str(line), "ended": date, "kind": "D"}
        elif kind == "Q" and self._open is None:
            self._known = {"queued": date, **_attributes(text)}
        self._known.setdefault("line", str(line))

    def _end(self, line: int, date: str, kind: str, attributes: dict[str, str]) -> None:
        # The record of an end repeats that of the start, as a rule.
        begun = self._known if "start" in attributes else self._started()
        deleted = {"deleted": "yes"} if self._deleted else {}
        self._runs.append({**begun, **attributes, **deleted, "line": str(line), "ended": date, "kind": kind})
        # A job that is run again was queued when it came back.
        self._known = {**self._known, **attributes, "queued": date} if kind == "R" else {}
        self._open, self._deleted = None, False

    def _started(self) -> dict[str, str]:
        """Give what is known since the start, where there was one."""
        if self._open is None:
            return self._known
        line, date, text = self._open
        return {**self._known, **_attributes(text), "started": date, "line": str(line), "kind": "S"}

    def runs(self) -> list[dict[str, str]]:
        """Give its runs, and then its wait or run that has no end yet."""
        if self._open is not None:
            return [*self._runs, self._started()]
        waits = len(self._known) > 1 and (self._known.get("kind") == "D" or "queued" in self._known)
        return [*self._runs, {"kind": "Q", **self._known}] if waits else self._runs
