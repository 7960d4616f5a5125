"""The reader of Grid Engine's accounting (SGE, OGE and UGE), and of the requests in its field ``category``.

Options as in qsub(1), units as in complex(5): k, m, g are powers of 1000, K, M, G of 1024.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Unpack, get_args

import polars as pl

from batchlab.errors import WorkloadError, shown
from batchlab.workload.logs import quantities
from batchlab.workload.logs.jobs import Row, amount, instant, records_of_rows, whole, workload_of
from batchlab.workload.logs.reading import AccountingKeywords, OpenLog, Reading, opened, takes
from batchlab.workload.source import LogSource
from batchlab.workload.validation import check_choice
from batchlab.workload.workload import Workload

_OPTION = re.compile(r"(?:^|\s)-(?=[a-zA-Z])")
_SIZE = re.compile(r"(\d{1,18}(?:\.\d*)?)([kmgtKMGT]?)(?:[bB])?")
_CLOCK = re.compile(r"(\d{1,9}):(\d{1,9}):(\d{1,9}(?:\.\d*)?)")
_EXPONENTS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_KILOBYTE = 1024.0
_TRUE = ("true", "1")


@dataclass(frozen=True)
class Category:
    """The hard requests of a job: resources by name, and its project."""

    resources: dict[str, str] = field(default_factory=dict)
    project: str | None = None
    reservation: str | None = None

    def first(self, names: Sequence[str]) -> str | None:
        """Return the value of the first of several resources that the job requests."""
        return next((self.resources[name] for name in names if name in self.resources), None)

    @property
    def exclusive(self) -> bool:
        """True if the job requests exclusive hosts."""
        return self.resources.get("exclusive", self.resources.get("excl", "")).lower() in _TRUE


def category_of(text: str) -> Category:
    """Parse a category; requests after ``-soft`` are ignored, since they are not required.

    Examples
    --------
    >>> category_of("-l gpu=1,h_rt=7200 -soft -l arch=x -pe mpi 16").resources
    {'gpu': '1', 'h_rt': '7200'}
    """
    resources: dict[str, str] = {}
    project = reservation = None
    is_soft = False
    for option in _OPTION.split(text):
        name, _, value = option.strip().partition(" ")
        if name in ("soft", "hard"):
            is_soft = name == "soft"
        elif name == "l" and not is_soft:
            pairs = (pair.partition("=") for pair in value.strip().split(","))
            resources |= {key.strip(): found.strip() or "TRUE" for key, _, found in pairs if key.strip()}
        elif name == "P":
            project = value.strip() or None
        elif name == "ar":
            reservation = value.strip() or None
    return Category(resources, project, reservation)


def kilobytes_of(text: str | None) -> float | None:
    """Parse a memory request as kB of 1024 bytes; None if invalid."""
    match = None if text is None else _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    base = 1000.0 if match[2].islower() else _KILOBYTE
    return float(match[1]) * base ** _EXPONENTS[match[2].lower()] / _KILOBYTE


def seconds_of(text: str | None) -> float | None:
    """Parse a time request as seconds: ``7200`` or ``2:00:00``; None if invalid."""
    bare = "" if text is None else text.strip()
    clock = _CLOCK.fullmatch(bare)
    if clock is not None:
        return (float(clock[1]) * 60 + float(clock[2])) * 60 + float(clock[3])
    return float(bare) if re.fullmatch(r"\d{1,15}(?:\.\d*)?", bare) else None


ConsumablePer = Literal["slot", "job", "host"]
"""The scope of an amount of memory or GPUs: the column ``consumable`` of the complex, which no log has."""

_MEMORY = ("h_vmem", "m_mem_free", "mem_free", "virtual_free", "s_vmem")
_GPUS = ("gpu", "gpus", "ngpus", "cuda", "num_gpus")
_FEWEST_FIELDS = 43
_OLDEST_FIELDS = 40
_ACCT, _OF_REPORTING = "acct", 2
_MILLISECONDS = 1e11
_PE_TASK, _MAXVMEM, _QDEL = 41, 42, 46
_NO_ACCOUNT = ("NONE", "sge", "", None)
_NO_RECORD = "is no record of Grid Engine's accounting: 43 fields or more between colons"
_OTHERS = "records of Grid Engine's reporting that are not of jobs that ended"
_NO_WAITS = "a job that is deleted while it waits has no record in Grid Engine's accounting: the log has none"
_NO_SUSPENSIONS = "suspensions are not in Grid Engine's accounting"
_NO_NODES = "nodes of parallel jobs are not in Grid Engine's accounting: slots may be on any node"
_SLAVES = "records of tasks of parallel jobs"
_NONE = "NONE"
_NOT_STARTED = range(1, 12)
_OF_SIGNAL = 128
_KILLED = (128 + 9, 128 + 10, 128 + 12, 128 + 24)
"""The exit statuses of jobs killed at a limit: SIGKILL, SIGUSR1, SIGUSR2 and SIGXCPU."""
_STATES = {"22": "NODE_FAIL", "24": "REQUEUED", "25": "REQUEUED", "37": "TIMEOUT"}
_AFTER_JOB = "100"


@takes(AccountingKeywords)
def read_sge(
    source: LogSource,
    *,
    memory: Sequence[str] = _MEMORY,
    gpus: Sequence[str] = _GPUS,
    consumable_per: ConsumablePer = "slot",
    **keywords: Unpack[AccountingKeywords],
) -> Workload:
    """Read an accounting log, or a reporting file, of Grid Engine: SGE 5.3 to 8.1, OGE and UGE.

    Parameters
    ----------
    source
        A path, an open file (text or binary; compressed files are detected by content), or an iterable of
        lines.
    timezone
        Time zone of the site, for the header; time stamps are seconds or milliseconds since 1970.
    overrun, invalid, processors, use_memory, requeues, unfinished, log_events, unlimited, node_names
        As for `read_sacct`; ``unlimited`` by queue.
    memory, gpus
        The names of memory and GPU resources at the site; if a job requests several, the first counts.
    consumable_per
        The scope of their amounts: per ``"slot"``, for the ``"job"``, or per ``"host"``.

    Returns
    -------
    Workload
        As from `read_sacct`, with ``queue`` instead of ``partition``.

    Raises
    ------
    WorkloadError
        If the source cannot be read, or no line is a record; with ``invalid="raise"``, at the first job that
        breaks a rule.
    """
    check_choice("consumable_per", consumable_per, get_args(ConsumablePer))
    for name, given in (("memory", memory), ("gpus", gpus)):
        if isinstance(given, str) or not all(isinstance(each, str) for each in given):
            raise WorkloadError(f"{name} = {shown(given)}; must be a list of names of resources.")
    reading = Reading.of(read_sge, keywords)
    log, text = opened(source, reading)
    site = _Site(tuple(memory), tuple(gpus), consumable_per)
    rows = [_row(attempt, site) for attempt in _attempts(text, log)]
    return workload_of(records_of_rows(rows), log, {})


@dataclass(frozen=True)
class _Site:
    """The names of resources at a site, and the scope of their amounts."""

    memory: Sequence[str]
    gpus: Sequence[str]
    per: ConsumablePer

    def of_job(self, amount: float | None, slots: int, hosts: int) -> float | None:
        """Return the total amount of a job."""
        times = {"slot": slots, "job": 1, "host": hosts}[self.per]
        return None if amount is None else amount * times


@dataclass
class _Attempt:
    """The record of a run, with the hosts and the times of its parallel tasks."""

    line: int
    fields: list[str]
    hosts: dict[str, None] = field(default_factory=dict)
    starts: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)

    def join(self, fields: Sequence[str]) -> None:
        """Add the host and the times of a record."""
        self.hosts[fields[1]] = None
        for times, place in ((self.starts, 9), (self.ends, 10)):
            seconds = _time(fields[place])
            if seconds is not None:
                times.append(seconds)


def _attempts(text: str, log: OpenLog) -> list[_Attempt]:
    """Split the records, and join the records of parallel tasks to their jobs."""
    found: list[_Attempt] = []
    # Records of tasks without a job so far, and the last record of each job.
    waiting: dict[tuple[str, str], list[tuple[int, list[str]]]] = {}
    last: dict[tuple[str, str], _Attempt] = {}
    others = slaves = 0
    for place, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        fields = bare.split(":")
        if len(fields) > 1 and fields[1] != _ACCT and fields[0].isdecimal():
            others += 1
            continue
        fields = fields[_OF_REPORTING:] if len(fields) > 1 and fields[1] == _ACCT else fields
        if not _is_record(fields):
            log.refuse_line(place, bare, _NO_RECORD)
            continue
        key = (fields[5], fields[35])
        if len(fields) > _PE_TASK and fields[_PE_TASK] not in (_NONE, ""):
            slaves += 1
            waiting.setdefault(key, []).append((place, fields))
            continue
        attempt = _Attempt(place, fields)
        attempt.join(fields)
        for _, other in waiting.pop(key, []):
            attempt.join(other)
        found.append(attempt)
        last[key] = attempt
    found += _of_tasks_alone(waiting, last)
    if not found:
        raise WorkloadError(
            f"{log.name}:1: no line is a record of a job: queue:host:group:user:name:number:…. Give Grid "
            "Engine's file accounting."
        )
    log.notes.skip(_OTHERS, others)
    log.notes.skip(_SLAVES, slaves)
    _remark(found, log)
    return sorted(found, key=lambda attempt: attempt.line)


def _of_tasks_alone(
    waiting: Mapping[tuple[str, str], list[tuple[int, list[str]]]], last: Mapping[tuple[str, str], _Attempt]
) -> list[_Attempt]:
    """Join task records after the last record of their job to it; create a job for tasks without one."""
    found = []
    for key, records in waiting.items():
        attempt = last.get(key)
        if attempt is None:
            attempt = _Attempt(*records[0])
            found.append(attempt)
        for _, fields in records:
            attempt.join(fields)
    return found


def _remark(found: Sequence[_Attempt], log: OpenLog) -> None:
    """Add one remark per fact that the format lacks."""
    first = pl.Series([min(attempt.line for attempt in found)])
    log.notes.add("noted", _NO_WAITS, first)
    log.notes.add("noted", _NO_SUSPENSIONS, first)
    parallel = [each.line for each in found if each.fields[33] != _NONE and len(each.hosts) == 1]
    if parallel:
        log.notes.add("noted", _NO_NODES, pl.Series(parallel[:1]))


def _is_record(fields: Sequence[str]) -> bool:
    enough = len(fields) >= _OLDEST_FIELDS and (len(fields) >= _FEWEST_FIELDS or fields[39] != "")
    return enough and fields[5].isdecimal() and all(whole(fields[place]) is not None for place in (8, 9, 10))


def _time(text: str) -> float | None:
    """Return seconds since 1970; from 8.2 on, UGE writes milliseconds."""
    seconds = instant(text)
    return seconds / 1000 if seconds is not None and seconds > _MILLISECONDS else seconds


def _row(attempt: _Attempt, site: _Site) -> Row:
    """Convert a record to the columns of a job."""
    fields = attempt.fields
    category = category_of(fields[39]) if fields[39] != _NONE else Category()
    slots = whole(fields[34]) or None
    limit = seconds_of(category.first(("h_rt", "s_rt")))
    failed = fields[11].partition(" ")[0]
    started = bool(attempt.starts) and whole(failed) not in _NOT_STARTED
    start = min(attempt.starts) if started else None
    end = max(attempt.ends, default=None)
    run = end - start if start is not None and end is not None else 0.0
    status = whole(fields[12])
    hosts = _hosts(attempt)
    gpus = site.of_job(amount(category.first(site.gpus)), slots or 1, hosts or 1)
    task = whole(fields[35])
    accounts = (each for each in (fields[31], category.project, fields[6]) if each not in _NO_ACCOUNT)
    return {
        "line": attempt.line,
        "logged_id": f"{fields[5]}[{task}]" if task else fields[5],
        "submit": _time(fields[8]),
        "start": start,
        "end": end,
        "limit": math.inf if limit is None else limit,
        "state": _state(failed, status, _deleted(fields), run, limit),
        "requested": slots,
        "allocated": slots if started else None,
        quantities.MEMORY: site.of_job(kilobytes_of(category.first(site.memory)), slots or 1, hosts or 1),
        "user": fields[3],
        "group": fields[2],
        "job_name": fields[4],
        "queue": fields[0],
        "account": next(accounts, None),
        "reservation": category.reservation,
        "requested_nodes": 1 if fields[33] == _NONE else None,
        "requested_gpus": None if gpus is None else math.ceil(gpus),
        quantities.CHUNKS: 1 if fields[33] == _NONE and slots != 1 else None,
        quantities.WHOLE: category.exclusive,
        "allocated_nodes": hosts if started else None,
        "node_list": ",".join(attempt.hosts) if started and hosts else None,
        "exit_code": 0 if _is_signal(status) else status,
        "exit_signal": None if status is None else status - _OF_SIGNAL if _is_signal(status) else 0,
        "used_memory": _share(amount(fields[_MAXVMEM] if len(fields) > _MAXVMEM else ""), slots, 1024.0),
        "average_cpu_time": _share(amount(fields[36]), slots, 1.0),
    }


def _hosts(attempt: _Attempt) -> int | None:
    """Count the hosts of a job; None if one record covers all hosts of a parallel job."""
    is_parallel = attempt.fields[33] != _NONE
    return None if is_parallel and len(attempt.hosts) == 1 else len(attempt.hosts)


def _share(amount: float | None, slots: int | None, unit: float) -> float | None:
    return amount / unit / slots if amount is not None and slots and slots > 0 else None


def _is_signal(status: int | None) -> bool:
    return status is not None and _OF_SIGNAL < status <= _OF_SIGNAL + 64


def _deleted(fields: Sequence[str]) -> bool:
    return len(fields) > _QDEL and "@" in fields[_QDEL]


def _state(failed: str, status: int | None, deleted: bool, run: float, limit: float | None) -> str:
    """Return the final state of a job, as named by Slurm (codes of accounting(5) and sge_status(5))."""
    if failed in _STATES:
        return _STATES[failed]
    if failed == _AFTER_JOB:
        if limit is not None and run >= limit and status in _KILLED:
            return "TIMEOUT"
        return "CANCELLED"
    if failed == "0" and status in (0, None):
        return "COMPLETED"
    return "CANCELLED" if deleted else "FAILED"
