"""The reader of LSF's accounting, lsb.acct."""

import math
import os
from collections.abc import Iterable
from typing import IO, Unpack, get_args

import polars as pl

from batchlab.errors import WorkloadError
from batchlab.workload.logs import chunks
from batchlab.workload.logs.jobs import workload_of
from batchlab.workload.logs.log import Log, opened
from batchlab.workload.logs.lsf_record import LsfRecord, record_of, tokens_of
from batchlab.workload.logs.lsf_resources import MemoryUnit, Requirement, ReservedPer, requirement_of
from batchlab.workload.logs.reading import AccountingKeywords, Reading, takes
from batchlab.workload.logs.rows import Row, instant, records_of_rows, whole
from batchlab.workload.validation import check_choice
from batchlab.workload.workload import Workload

__all__ = ["read_lsf"]

_FINISH = '"JOB_FINISH"'
_NO_RECORD = 'is no record of LSF: "JOB_FINISH" "10.1" …'
_OTHERS = "records of LSF that are not of jobs that ended"
_NO_LIMITS = "limits are not in records of LSF before 9.1: taken as none; unlimited says otherwise, by queue"
_ALTERNATIVES = "several resource requirements: the first taken"
_COMPOUND = "compound resource requirement: nodes, memory and GPUs of its terms are not read"
_TIMED = "resources reserved for a part of the run: taken for all of it"
_NAMED_HOSTS = "asks for hosts by name (-m): not simulated"
_RANGE = "would have taken more processors if they had been free (-n least,most): the least taken"
_NOT_SAID = "suspensions, and runs before the last, are not in LSF's accounting"
_EXCLUSIVE = 0x40
_DONE = "64"
_FIRST_WITH_LIMITS = 9
_UNIX_SIGNALS = 127
_STATES = {
    **dict.fromkeys(("5", "12"), "TIMEOUT"),
    "6": "DEADLINE",
    **dict.fromkeys(("16", "20"), "OUT_OF_MEMORY"),
    **dict.fromkeys(("8", "9", "14", "15", "23", "26", "27"), "CANCELLED"),
    "1": "PREEMPTED",
    **dict.fromkeys(("10", "11"), "REQUEUED"),
    **dict.fromkeys(("19", "22"), "NODE_FAIL"),
}
"""The state of a failed job by exitInfo (IBM, lsb.acct: "Termination reasons")."""


@takes(AccountingKeywords)
def read_lsf(
    source: str | os.PathLike[str] | IO[str] | IO[bytes] | Iterable[str | bytes],
    *,
    memory_unit: MemoryUnit = "MB",
    reserved_per: ReservedPer = "host",
    **keywords: Unpack[AccountingKeywords],
) -> Workload:
    """Read an accounting log of LSF, lsb.acct: the records JOB_FINISH of versions 5.1 to 10.1.

    Parameters
    ----------
    source
        A path, an open file (text or binary; compressed files are detected by content), or an iterable of
        lines.
    timezone
        Time zone of the site, for the header; time stamps are seconds since 1970.
    overrun, invalid, processors, use_memory, requeues, unfinished, log_events, unlimited, node_names
        As for `read_sacct`; ``unlimited`` by queue.
    memory_unit
        The unit of memory in resource requirements (LSF_UNIT_FOR_LIMITS).
    reserved_per
        The owner of an amount in ``rusage[…]``: ``"host"`` or ``"task"`` (RESOURCE_RESERVE_PER_TASK=Y).

    Returns
    -------
    Workload
        As from `read_sacct`, with ``queue`` instead of ``partition``. ``requested_nodes`` and
        ``tasks_per_node`` come from ``span[…]``, ``requested_gpus`` and ``requested_memory`` from
        ``rusage[…]``; ``exclusive`` is ``bsub -x``.

    Raises
    ------
    WorkloadError
        If the source cannot be read, or no line is a record; with ``invalid="raise"``, at the first job that
        breaks a rule.
    """
    check_choice("memory_unit", memory_unit, get_args(MemoryUnit))
    check_choice("reserved_per", reserved_per, get_args(ReservedPer))
    reading = Reading.of(read_lsf, keywords)
    log, text = opened(source, reading)
    rows = _rows(text, log, memory_unit, reserved_per)
    return workload_of(records_of_rows(rows), log, {})


def _rows(text: str, log: Log, unit: MemoryUnit, per: ReservedPer) -> list[Row]:
    rows: list[Row] = []
    remarks: dict[str, list[tuple[int, int | None]]] = {}
    known: dict[str, Requirement] = {}
    others = 0
    for place, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        if not bare.startswith('"'):
            if bare and not bare.startswith("#"):
                log.refuse_line(place, bare, _NO_RECORD)
            continue
        if not bare.startswith(_FINISH):
            others += 1
            continue
        record = record_of(tokens_of(bare))
        if record is None:
            log.refuse_line(place, bare, _NO_RECORD)
            continue
        needs = record.effective_resources or record.resources
        if needs not in known:
            known[needs] = requirement_of(needs, unit, per)
        row = _row(place, record, known[needs])
        rows.append(row)
        for remark in _remarks(record, known[needs]):
            remarks.setdefault(remark, []).append((place, whole(record.number)))
    if not rows:
        raise WorkloadError(
            f'{log.name}:1: no line is a record of a job that ended: "JOB_FINISH" "10.1" 1700007805 …. Give '
            "LSF's lsb.acct."
        )
    log.notes.skip(_OTHERS, others)
    log.notes.add("noted", _NOT_SAID, pl.Series([rows[0]["line"]]))
    for remark, places in remarks.items():
        lines, numbers = zip(*places, strict=True)
        log.notes.add("noted", remark, pl.Series(lines), pl.Series(numbers, dtype=pl.Int64))
    return rows


def _remarks(record: LsfRecord, needs: Requirement) -> list[str]:
    found = {
        _NO_LIMITS: _major(record.version) < _FIRST_WITH_LIMITS,
        _ALTERNATIVES: needs.alternatives,
        _COMPOUND: needs.compound,
        _TIMED: needs.timed,
        _NAMED_HOSTS: bool(record.asked_hosts),
        _RANGE: (whole(record.most_processors) or 0) > (whole(record.processors) or 0),
    }
    return [remark for remark, holds in found.items() if holds]


def _major(version: str) -> int:
    return whole(version.partition(".")[0]) or 0


def _row(line: int, record: LsfRecord, needs: Requirement) -> Row:
    """Convert a record to the columns of a job."""
    start, end, submit = instant(record.start), instant(record.end), instant(record.submit)
    asked = whole(record.processors)
    hosts = _slots(record.hosts)
    given = whole(record.slots) or sum(hosts.values()) or None
    per_node = needs.per_node
    nodes = needs.nodes
    if nodes is None and per_node and asked:
        nodes = -(-asked // per_node)
    counted = nodes or len(hosts) or 1
    gpus = math.ceil(needs.gpus.of_job(asked, counted)) if needs.gpus and asked else None
    index = whole(record.index)
    used = whole(record.memory_used)
    begin = instant(record.begin)
    status = whole(record.exit_status)
    return {
        "line": line,
        "logged_id": f"{record.number}[{index}]" if index else record.number,
        "submit": submit,
        "eligible": submit if begin is None or submit is None else max(begin, submit),
        "start": start,
        "end": end,
        "limit": _limit(record.run_limit),
        "state": _state(record, start),
        "requested": asked,
        "allocated": given,
        chunks.MEMORY: needs.memory.of_job(asked, counted) if needs.memory and asked else None,
        "user": record.user,
        "job_name": record.name or None,
        "queue": record.queue,
        "account": record.project or None,
        "reservation": record.reservation or None,
        "application": record.application or None,
        "logged_dependency": record.dependency or None,
        "requested_nodes": nodes,
        chunks.CHUNKS: nodes if nodes == 1 or gpus else None,
        chunks.MOST_PER_NODE: asked if nodes == 1 else per_node,
        "requested_gpus": gpus,
        chunks.WHOLE: bool((whole(record.options) or 0) & _EXCLUSIVE),
        "allocated_nodes": len(hosts) or None,
        "node_list": ",".join(hosts) or None,
        "exit_code": None if status is None else status >> 8,
        "exit_signal": None if status is None else status & _UNIX_SIGNALS,
        "used_memory": used / given if used and given and used > 0 else None,
        "average_cpu_time": _cpu_time(record, given),
    }


def _slots(hosts: Iterable[str]) -> dict[str, int]:
    """Count the slots on each host: ``n1 n1 n2``, or ``2*n1 1*n2``."""
    found: dict[str, int] = {}
    for text in hosts:
        count, star, name = text.partition("*")
        slots = whole(count) if star else 1
        host = name if star else text
        if slots and slots > 0 and host:
            found[host] = found.get(host, 0) + slots
    return found


def _limit(text: str) -> float:
    seconds = whole(text)
    return float(seconds) if seconds is not None and seconds > 0 else math.inf


def _state(record: LsfRecord, start: float | None) -> str:
    """Return the final state of a job, as named by Slurm."""
    if record.status == _DONE:
        return "COMPLETED"
    return _STATES.get(record.exit_reason, "FAILED" if start is not None else "CANCELLED")


def _cpu_time(record: LsfRecord, processors: int | None) -> float | None:
    try:
        seconds = sum(float(each) for each in record.cpu_times)
    except ValueError:
        return None
    return seconds / processors if processors and 0 <= seconds < math.inf else None
