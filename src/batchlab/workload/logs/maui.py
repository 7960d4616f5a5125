"""The reader of Maui's workload traces and Moab's event logs, which share their fields."""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Unpack

import polars as pl

from batchlab.errors import WorkloadError
from batchlab.workload.logs import quantities
from batchlab.workload.logs.jobs import Row, instant, records_of_rows, whole, workload_of
from batchlab.workload.logs.reading import AccountingKeywords, OpenLog, Reading, opened, takes
from batchlab.workload.source import LogSource
from batchlab.workload.workload import Workload

_FEWEST_FIELDS = 33
_BEFORE_FIELDS, _HOSTS = 5, 37
_CLOCK = re.compile(r"\d\d:\d\d:\d\d")
_EVENTS = {
    "JOBSUBMIT": "PENDING",
    "JOBSTART": "RUNNING",
    "JOBRESUME": "RUNNING",
    "JOBEND": "",
    "JOBCANCEL": "CANCELLED",
    "JOBFAILURE": "FAILED",
    "JOBREJECT": "CANCELLED",
    "JOBPREEMPT": "REQUEUED",
}
"""The state of a job after an event of Moab; empty if its fields have the state."""

_STATES = {"COMPLETED": "COMPLETED", "REMOVED": "CANCELLED", "NOTRUN": "PENDING", "VACATED": "REQUEUED"}
_NONE = ("[NONE]", "[DEFAULT]", "NONE", "-", "0", "-1", "")
_NUMBER = re.compile(r"(?:^|\.)(\d{1,18})(?:\[(\d{1,7})\])?(?:\.|$)")
_NO_RECORD = "is no record of Maui or Moab: 44 fields, or a time, a date and an event before them"
_OTHERS = "records of Moab that are not of jobs, or change nothing"
_NOT_SAID = "GPUs and whole nodes are not in the records of Maui and Moab"
_WORDS = "is a record of Moab in words (NAME=value), which are not read"
_KILOBYTES = 1024.0
_SIZE = re.compile(r"(\d{1,15}(?:\.\d*)?)([KMGT]?)B?", re.IGNORECASE)
_UNITS = {"K": 1 / 1024.0, "": 1.0, "M": 1.0, "G": 1024.0, "T": 1024.0**2}


@takes(AccountingKeywords)
def read_maui(
    source: LogSource,
    **keywords: Unpack[AccountingKeywords],
) -> Workload:
    """Read a workload trace of Maui, or the events of jobs of Moab (``events.*``).

    Parameters
    ----------
    source
        A path, an open file (text or binary; compressed files are detected by content), or an iterable of
        lines; files of several days can be concatenated.
    timezone
        Time zone of the site, for the header; time stamps are seconds since 1970.
    overrun, invalid, processors, use_memory, requeues, unfinished, log_events, unlimited, node_names
        As for `read_sacct`.

    Returns
    -------
    Workload
        As from `read_sacct`, with ``queue`` (the class) besides ``partition``, and ``constraint`` from the
        features. ``requested_processors`` are tasks × processors per task.

    Raises
    ------
    WorkloadError
        If the source cannot be read, or no line is a record; with ``invalid="raise"``, at the first job that
        breaks a rule.
    """
    reading = Reading.of(read_maui, keywords)
    log, text = opened(source, reading)
    return workload_of(records_of_rows(_rows(text, log)), log, {})


def _rows(text: str, log: OpenLog) -> list[Row]:
    """Convert the records of Maui, and the last event of each run of Moab's jobs, in the order of lines."""
    rows: list[Row] = []
    running: dict[str, Row] = {}
    for place, fields, event in _records(text, log):
        state = _state(fields, event)
        row = _row(place, fields, state)
        if event is None:
            rows.append(row)
        elif state in ("PENDING", "RUNNING"):
            running[fields[0]] = row
        else:
            running.pop(fields[0], None)
            rows.append(row)
    rows += running.values()
    if not rows:
        raise WorkloadError(
            f"{log.name}:1: no line is a record of a job: 44 fields between blanks, such as '77 2 8 ann "
            "phys 7200 Completed [work:1] …'. Give a trace of Maui, or Moab's events."
        )
    rows.sort(key=_line)
    log.notes.add("noted", _NOT_SAID, pl.Series([_line(rows[0])]))
    return rows


def _line(row: Row) -> int:
    line = row["line"]
    return line if isinstance(line, int) else 0


def _records(text: str, log: OpenLog) -> Iterator[tuple[int, Sequence[str], str | None]]:
    """Yield the line number, Maui's fields and Moab's event of each record."""
    others = 0
    for place, line in enumerate(text.split("\n"), 1):
        fields = line.split()
        if not fields or fields[0].startswith("#") or fields[0] == "VERSION":
            continue
        event = None
        if _CLOCK.fullmatch(fields[0]):
            event = fields[4].upper() if len(fields) > _BEFORE_FIELDS and fields[2] == "job" else ""
            if event not in _EVENTS:
                others += 1
                continue
            if "=" in fields[5]:
                log.refuse_line(place, line.strip(), _WORDS)
                continue
            fields = [fields[3], *fields[5:]]
        if len(fields) < _FEWEST_FIELDS or whole(fields[8]) is None or whole(fields[11]) is None:
            log.refuse_line(place, line.strip(), _NO_RECORD)
            continue
        yield place, fields, event
    log.notes.skip(_OTHERS, others)


def _state(fields: Sequence[str], event: str | None) -> str:
    """Return the state of a job after a record, as named by Slurm."""
    state = _EVENTS.get(event or "", "") or _STATES.get(fields[6].upper(), fields[6].upper())
    start, end, limit = instant(fields[10]), instant(fields[11]), whole(fields[5])
    ran = end - start if start is not None and end is not None else -1.0
    return "TIMEOUT" if state == "CANCELLED" and limit and 0 < limit <= ran else state


def _row(line: int, fields: Sequence[str], state: str) -> Row:
    """Convert the fields to the columns of a job; indices are one less than in the manual."""
    start, end = instant(fields[10]), instant(fields[11])
    per_task = max(whole(fields[31]) or 1, 1)
    tasks, nodes, per_node = (_positive(fields[place]) for place in (2, 1, 22))
    processors = None if tasks is None else tasks * per_task
    given = _positive(fields[21])
    limit = whole(fields[5])
    memory = _megabytes(fields[32])
    hosts = _names(fields[_HOSTS], ":,") if len(fields) > _HOSTS else []
    asked = nodes or (-(-tasks // per_node) if tasks and per_node else None)
    return {
        "line": line,
        "logged_id": _number(fields[0]),
        "submit": instant(fields[8]),
        "eligible": instant(fields[20]),
        "start": start if start is not None and (end is None or start <= end) else None,
        "end": None if state in ("PENDING", "RUNNING") else end,
        "limit": float(limit) if limit is not None and limit > 0 else math.inf,
        "state": state,
        "requested": processors,
        "allocated": given * per_task if given and start is not None else None,
        quantities.MEMORY: memory * _KILOBYTES * tasks if memory and tasks else None,
        "user": _known(fields[3]),
        "group": _known(fields[4]),
        "queue": _known(fields[7].strip("[]").partition(":")[0]),
        "account": _known(fields[25]),
        "qos": _known(fields[23].partition(":")[0]),
        "partition": _known(fields[30]),
        "application": _known(fields[26]),
        "constraint": "&".join(_names(fields[19], "[]")) or None,
        "requested_nodes": asked,
        quantities.MOST_PER_NODE: per_node * per_task if per_node else _share(processors, asked),
        "allocated_nodes": len(hosts) or None,
        "node_list": ",".join(hosts) or None,
    }


def _share(processors: int | None, nodes: int | None) -> int | None:
    return -(-processors // nodes) if processors and nodes else None


def _positive(text: str) -> int | None:
    number = whole(text)
    return number if number is not None and number > 0 else None


def _known(text: str) -> str | None:
    return None if text in _NONE else text


def _names(text: str, separators: str) -> list[str]:
    """Split a list; empty if it holds no names."""
    if text in _NONE:
        return []
    return [each for each in re.split(f"[{re.escape(separators)}]", text) if each not in _NONE]


def _number(text: str) -> str:
    """Extract the number of a job from its name: ``77``, ``server.77.0`` or ``77[3]``."""
    match = _NUMBER.search(text)
    if match is None:
        return text
    return match[1] if match[2] is None else f"{match[1]}[{match[2]}]"


def _megabytes(text: str) -> float | None:
    match = _SIZE.fullmatch(text)
    return float(match[1]) * _UNITS[match[2].upper()] if match is not None else None
