"""The reader of the Grid Workloads Format, of the Grid Workloads Archive.

Iosup et al., "The Grid Workloads Archive", Future Generation Computer Systems 24(7), 2008; and the archive's
page on the format.
"""

import re
from collections.abc import Sequence
from typing import Unpack

import polars as pl

from batchlab.errors import WorkloadError
from batchlab.workload.logs.jobs import Row, number, records_of_rows, workload_of
from batchlab.workload.logs.reading import GwfKeywords, Notes, OpenLog, Reading, takes
from batchlab.workload.source import LogSource, text_of
from batchlab.workload.workload import Workload

_FIELDS = 29
_STRUCTURE = 18
_STATES = {"1": "COMPLETED", "0": "FAILED", "5": "CANCELLED"}
_WORKFLOWS = ("WorkflowID", "JobID", "SubmitTime", "RunTime", "NProcs", "ReqNProcs", "Dependencies")
_HEADER = re.compile(r"\s*,\s*".join(_WORKFLOWS))
_NO_RECORD = "is no record of the Grid Workloads Format: 29 fields between blanks"
_NO_TASK = "is no task of a workflow with a run time: seven fields between commas"
_NEVER_RAN = "never ran, and when it left the queue is unknown"
_NO_STATUS = "status unknown: completed taken"
_NO_WAIT = "waiting time unknown: it has no start_time"
_LOST = "depends on a task that is not in its workflow: left out"
_NOT_SAID = "nodes and GPUs are not in the Grid Workloads Format: processors may be on any node"


@takes(GwfKeywords)
def read_gwf(
    source: LogSource,
    **keywords: Unpack[GwfKeywords],
) -> Workload:
    """Read a log in the Grid Workloads Format: lines of 29 fields, or a table of the tasks of workflows.

    Parameters
    ----------
    source
        A path, an open file (text or binary; compressed files are detected by content), or an iterable of
        lines.
    timezone
        Time zone of the site, for the header; time stamps are seconds since 1970.
    overrun, invalid, processors, use_memory, unfinished, log_events, unlimited
        As for `read_sacct`.

    Returns
    -------
    Workload
        As from `read_sacct`, with ``queue``, ``partition``, ``application``, ``origin_site``, ``run_site``
        and ``job_structure``. Dependencies between the tasks of a workflow are in the column ``dependency``.

    Raises
    ------
    WorkloadError
        If the source cannot be read, or no line is a record; with ``invalid="raise"``, at the first job that
        breaks a rule.

    Examples
    --------
    >>> line = "0 1109251200 5 100 4 -1 -1 4 900 -1 1 U1 G1 X1 Q1 -1 s0/c0 s0 UNITARY" + " -1" * 8 + " V0 P1"
    >>> read_gwf([line]).jobs.select("job_id", "run_time", "requested_time", "tasks", "user").row(0)
    (0, 100.0, 900.0, 4, 'U1')
    """
    name, text = text_of(source)
    head = next((line for line in text.split("\n") if line.strip()), "")
    is_table = _HEADER.match(head.strip()) is not None
    reading = Reading.of(
        read_gwf,
        keywords,
        # Every line is a job.
        requeues="each",
        dependencies=is_table,
    )
    log = OpenLog(name, Notes(), reading)
    rows = _tasks(text, log) if is_table else _jobs(text, log)
    if not rows and not log.notes.table("dropped").height:
        raise WorkloadError(f"{name}:1: no line is a job. Give a log of the Grid Workloads Archive.")
    if rows:
        log.notes.add("noted", _NOT_SAID, pl.Series([rows[0]["line"]]))
    return workload_of(records_of_rows(rows), log, {})


def _jobs(text: str, log: OpenLog) -> list[Row]:
    rows: list[Row] = []
    remarks: dict[tuple[str, str], list[int]] = {}
    for place, line in enumerate(text.split("\n"), 1):
        fields = line.split()
        if not fields or fields[0].startswith(("#", ";")):
            continue
        if len(fields) == _FIELDS + 1:
            # Some logs have an additional field of unknown meaning.
            del fields[_STRUCTURE]
        numbers = [number(each) for each in fields[1:11]]
        if len(fields) != _FIELDS or None in numbers:
            log.refuse_line(place, line.strip(), _NO_RECORD)
            continue
        row, remark = _job(place, fields, [each or 0.0 for each in numbers])
        if remark is not None:
            remarks.setdefault(("dropped" if row is None else "mended", remark), []).append(place)
        if row is not None:
            rows.append(row)
    for (outcome, reason), places in remarks.items():
        log.notes.add(outcome, reason, pl.Series(places))
    return rows


def _job(line: int, fields: Sequence[str], numbers: Sequence[float]) -> tuple[Row | None, str | None]:
    """Convert the fields to the columns of a job, with a remark; None for one that never ran."""
    submit, wait, run, given, cpu, used, asked, limit, memory, _ = numbers
    remark = None
    if run < 0 and wait < 0:
        return None, _NEVER_RAN
    state = _STATES.get(fields[10])
    if state is None:
        state, remark = "COMPLETED" if run >= 0 else "CANCELLED", _NO_STATUS
    elif wait < 0:
        remark = _NO_WAIT
    start = submit + wait if wait >= 0 and run >= 0 else None
    end = submit + wait + max(run, 0.0) if wait >= 0 else None
    return {
        "line": line,
        "logged_id": fields[0],
        "submit": submit,
        "start": start,
        "end": end,
        "elapsed": run if start is None and run > 0 else None,
        "limit": limit if limit > 0 else None,
        "state": state,
        "requested": asked if asked >= 1 else None,
        "allocated": given if given >= 1 else None,
        "memory": memory if memory >= 0 else None,
        "used_memory": used if used >= 0 else None,
        "average_cpu_time": cpu if cpu >= 0 else None,
        **{
            column: None if fields[place] in ("-1", "") else fields[place]
            for column, place in (
                ("user", 11),
                ("group", 12),
                ("application", 13),
                ("queue", 14),
                ("partition", 15),
                ("origin_site", 16),
                ("run_site", 17),
                ("job_structure", 18),
                ("account", 28),
            )
        },
    }, remark


def _tasks(text: str, log: OpenLog) -> list[Row]:
    """Read the table of workflow tasks; task numbers are local to a workflow."""
    found: list[tuple[int, list[str], list[float]]] = []
    for place, line in enumerate(text.split("\n"), 1):
        fields = [each.strip() for each in line.split(",")]
        if not line.strip() or _HEADER.match(line.strip()):
            continue
        numbers = [number(each) for each in fields[2:6]]
        if len(fields) != len(_WORKFLOWS) or None in numbers or (numbers[1] or 0) < 0:
            log.refuse_line(place, line.strip(), _NO_TASK)
            continue
        found.append((place, fields, [each or 0.0 for each in numbers]))
    number_of = {(fields[0], fields[1]): place for place, (_, fields, _) in enumerate(found, 1)}
    rows: list[Row] = []
    lost: list[int] = []
    for task, (place, fields, (submit, run, given, asked)) in enumerate(found, 1):
        names = [each for each in fields[6].split() if each != "-1"]
        known = [number_of[fields[0], each] for each in names if (fields[0], each) in number_of]
        if len(known) < len(names):
            lost.append(place)
        rows.append(
            {
                "line": place,
                "logged_id": str(task),
                "submit": submit,
                "elapsed": run,
                "state": "COMPLETED",
                "requested": asked if asked >= 1 else None,
                "allocated": given if given >= 1 else None,
                "workflow": fields[0],
                "logged_dependency": "afterok:" + ":".join(map(str, known)) if known else None,
            }
        )
    log.notes.add("noted", _LOST, pl.Series(lost, dtype=pl.Int64))
    return rows
