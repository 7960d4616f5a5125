"""Convert ``sacct --json`` (Slurm 21.08 and later) to the fields of a text dump."""

import json
import math
from collections.abc import Mapping, Sequence

import polars as pl

from batchlab.core.rules import is_finite
from batchlab.errors import WorkloadError, reason_of, shown
from batchlab.workload.logs.jobs import is_in_bounds
from batchlab.workload.logs.quantities import clock_of
from batchlab.workload.logs.reading import OpenLog

_COMMAND = "sacct --allusers --duplicates --json"
_NO_JOB = "is no job of sacct --json: it has no job_id"
# Encodings of 32-bit numbers that are not set, or infinite.
_NOT_SET, _INFINITE = 2**32 - 2, 2**32 - 1
_NOT_SET_64 = 2**64 - 2
# In versions up to these, `time.start` may be the eligible time, and memory lacks its upper bits.
_EARLY = ("dbv0.0.37", "dbv0.0.38")


def is_json(text: str) -> bool:
    """Return whether a text begins like a JSON object."""
    return text.lstrip("\ufeff \t\r\n").startswith("{")


def table_of_json(text: str, wanted: Sequence[str], log: OpenLog) -> pl.DataFrame:
    """Parse the jobs in the JSON output of sacct.

    Parameters
    ----------
    text
        One JSON object with a list ``jobs``.
    wanted
        The fields to return, under sacct's names in lower case.
    log
        Rejects entries that are no jobs.

    Returns
    -------
    polars.DataFrame
        String columns, null if missing; and ``line``, the index of the job in the list, from 1.

    Raises
    ------
    WorkloadError
        If the text is not such an object.
    """
    try:
        answer = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise WorkloadError(
            f"{log.name}: is no readable JSON: {reason_of(error)}. Write it by: {_COMMAND}"
        ) from error
    jobs = answer.get("jobs") if isinstance(answer, dict) else None
    if not isinstance(jobs, list):
        raise WorkloadError(f"{log.name}: has no list 'jobs'; must be the answer of: {_COMMAND}")
    is_early = _plugin(answer).endswith(_EARLY)
    rows = []
    for place, job in enumerate(jobs, 1):
        fields = _fields(job, is_early=is_early) if isinstance(job, dict) else {}
        if "jobidraw" in fields:
            rows.append((*(fields.get(name) for name in wanted), place))
        else:
            log.refuse_line(place, shown(job), _NO_JOB)
    schema = {**dict.fromkeys(wanted, pl.String), "line": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _plugin(answer: Mapping[str, object]) -> str:
    """Return the data version, as ``openapi/dbv0.0.37``; later versions have another parser per version."""
    for key in "meta", "metadata":
        found = _at(answer, key, "plugin", "type")
        if isinstance(found, str):
            return found
    return ""


def _fields(job: Mapping[str, object], *, is_early: bool) -> dict[str, str]:
    number = _whole(_at(job, "job_id"))
    found = {
        "jobidraw": number,
        "jobid": _number(job, number),
        "jobname": _text(_at(job, "name")),
        **{
            name: _text(_at(job, name))
            for name in ("user", "group", "account", "partition", "qos", "cluster")
        },
        "constraints": _text(_at(job, "constraints")),
        "reservation": _text(_at(job, "reservation", "name")),
        "nodelist": _text(_at(job, "nodes")),
        "reason": _text(_at(job, "state", "reason")),
        "state": _state(_at(job, "state", "current")),
        "restarts": _whole(_at(job, "restart_cnt")),
        "submitline": _text(_at(job, "submit_line")),
        "nnodes": _whole(_at(job, "allocation_nodes")),
        "reqcpus": _whole(_at(job, "required", "CPUs")),
        "reqtres": _list(_at(job, "tres", "requested")),
        "alloctres": _list(_at(job, "tres", "allocated")),
        "reqmem": None if is_early else _memory(job),
        "timelimitraw": _limit(_at(job, "time", "limit")),
        "exitcode": _exit_code(_at(job, "exit_code")),
        **_times(job, is_early=is_early),
    }
    return {name: text for name, text in found.items() if text}


def _at(given: object, *path: str) -> object:
    """Return the value at a path in nested objects; None if a part of the path is missing."""
    for name in path:
        if not isinstance(given, dict):
            return None
        given = given.get(name)
    return given


def _amount(value: object) -> float | None:
    """Return a number; infinite if unbounded, None if not set. From 23.02 on numbers are objects."""
    if isinstance(value, dict):
        if value.get("infinite") is True or value.get("number") == "Infinity":
            return math.inf
        return _amount(value.get("number")) if value.get("set", True) else None
    if not is_finite(value):
        return None
    if value in {_NOT_SET, _NOT_SET_64}:
        return None
    return math.inf if value == _INFINITE else value


def _whole(value: object) -> str | None:
    number = _amount(value)
    return None if number is None or number < 0 or not is_in_bounds(number) else str(int(number))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(job: Mapping[str, object], number: str | None) -> str | None:
    """Format the number of a job as sacct does: ``12_3`` and ``12_[4-9%2]`` for arrays, ``12+1``."""
    array, het = _whole(_at(job, "array", "job_id")), _whole(_at(job, "het", "job_id"))
    index, several = _whole(_at(job, "array", "task_id")), _text(_at(job, "array", "task"))
    if array not in {None, "0"}:
        if index is not None:
            return f"{array}_{index}"
        if several:
            return f"{array}_[{several}]"
    offset = _whole(_at(job, "het", "job_offset"))
    return f"{het}+{offset}" if het not in {None, "0"} and offset is not None else number


def _state(current: object) -> str | None:
    """Return the state: a word; from 23.11 on, a list of a word and flags."""
    words = current if isinstance(current, list) else [current]
    return next((word for word in words if isinstance(word, str)), None)


def _limit(value: object) -> str:
    minutes = _amount(value)
    if minutes is None:
        return "Partition_Limit"
    return "UNLIMITED" if minutes == math.inf else str(minutes)


def _times(job: Mapping[str, object], *, is_early: bool) -> dict[str, str | None]:
    submit, eligible, start, end, elapsed, suspended = (
        _amount(_at(job, "time", name))
        for name in ("submission", "eligible", "start", "end", "elapsed", "suspended")
    )
    if is_early and end and elapsed is not None:
        start = end - elapsed - (suspended or 0) if elapsed else None
    times = {"submit": submit, "eligible": eligible, "start": start, "end": end}
    return {
        **{
            name: str(int(time)) if time and time > 0 and is_in_bounds(time) else None
            for name, time in times.items()
        },
        "elapsedraw": None if elapsed in {None, math.inf} else str(elapsed),
        "suspended": clock_of(suspended)
        if suspended and math.isfinite(suspended) and suspended > 0
        else None,
    }


def _memory(job: Mapping[str, object]) -> str | None:
    """Format memory with its scope: per processor or per node."""
    for name, kind in ("memory_per_cpu", "c"), ("memory_per_node", "n"):
        amount = _whole(_at(job, "required", name))
        if amount is not None:
            return f"{amount}M{kind}"
    value = _at(job, "required", "memory")
    number = value.get("number") if isinstance(value, dict) else value
    if isinstance(number, bool) or not isinstance(number, int) or not 0 < number < _NOT_SET_64:
        return None
    return f"{number}Mn"


def _list(entries: object) -> str | None:
    """Format a list of trackable resources as sacct does: ``cpu=8,mem=4096M,gres/gpu:a100=2``."""
    parts = []
    for entry in entries if isinstance(entries, list) else []:
        kind, name, count = (_at(entry, key) for key in ("type", "name", "count"))
        amount = _whole(count)
        if isinstance(kind, str) and amount is not None:
            whole = f"{kind}/{name}" if isinstance(name, str) and name else kind
            parts.append(f"{whole.replace(',', ' ')}={amount}{'M' if kind == 'mem' else ''}")
    return ",".join(parts) or None


def _exit_code(value: object) -> str | None:
    code = _whole(_at(value, "return_code"))
    signal = _whole(_at(value, "signal", "id")) or _whole(_at(value, "signal", "signal_id")) or "0"
    return None if code is None else f"{code}:{signal}"
