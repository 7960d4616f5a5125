"""The reader of the files of Slurm's plug-in jobcomp/filetxt."""

import os
from collections.abc import Iterable
from typing import IO, Unpack

import polars as pl

from batchlab.errors import WorkloadError
from batchlab.workload.logs.jobcomp_lines import TASK_KEYS, columns_in
from batchlab.workload.logs.jobs import workload_of
from batchlab.workload.logs.log import Log, opened
from batchlab.workload.logs.reading import JobcompKeywords, Reading, takes
from batchlab.workload.logs.slurm_records import WANTED, header_of, records_of
from batchlab.workload.workload import Workload

__all__ = ["read_jobcomp"]

# Names of the keys in sacct.
_KEYS = {
    "JobId": "jobidraw",
    "UserId": "user",
    "GroupId": "group",
    "Name": "jobname",
    "JobState": "state",
    "Partition": "partition",
    "TimeLimit": "timelimitraw",
    "StartTime": "start",
    "EndTime": "end",
    "NodeList": "nodelist",
    "NodeCnt": "nnodes",
    "ProcCnt": "alloccpus",
    "ReservationName": "reservation",
    "Tres": "reqtres",
    "Gres": "reqgres",
    "Account": "account",
    "QOS": "qos",
    "Cluster": "cluster",
    "SubmitTime": "submit",
    "EligibleTime": "eligible",
    "ExitCode": "exitcode",
}
_NEEDED = ("JobId", "JobState", "StartTime", "EndTime", "ProcCnt", "TimeLimit")
_NO_RECORD = "is no record of jobcomp: it does not begin with JobId="
_WITHOUT = "has no {}"
_START = "submission unknown: the start taken, so that its wait is not known"
_UNKNOWN = ["", "Unknown", "unknown", "None"]
_ELIGIBLE = "submission unknown: the time from which it was eligible taken"


@takes(JobcompKeywords)
def read_jobcomp(
    source: str | os.PathLike[str] | IO[str] | IO[bytes] | Iterable[str | bytes],
    **keywords: Unpack[JobcompKeywords],
) -> Workload:
    """Read the file that Slurm's plug-in jobcomp/filetxt writes: a line of ``Key=value`` for each job.

    Parameters
    ----------
    source
        A path, an open file (text or binary; compressed files are detected by content), or an iterable of
        lines.
    timezone, time_format, overrun, invalid, processors, use_memory, requeues, unlimited, partition_limits, \
    log_events
        As for `read_sacct`.
    node_names
        As for `read_sacct`.

    Returns
    -------
    Workload
        As from `read_sacct`. Without SubmitTime, EligibleTime is used, and without that (before 18.08)
        StartTime.

    Raises
    ------
    WorkloadError
        If the source cannot be read, or no line is a record of a job; with ``invalid="raise"``, at the first
        job that breaks a rule.

    Examples
    --------
    >>> line = (
    ...     "JobId=7 UserId=ann(1001) Name=a run JobState=COMPLETED TimeLimit=5 ProcCnt=4 "
    ...     "StartTime=2024-03-01T10:01:00 EndTime=2024-03-01T10:02:00 SubmitTime=2024-03-01T10:00:00"
    ... )
    >>> read_jobcomp([line]).jobs.select("job_id", "run_time", "requested_time", "tasks").row(0)
    (7, 60.0, 300.0, 4)
    """
    reading = Reading.of(read_jobcomp, keywords)
    log, text = opened(source, reading)
    table = _table(text, log)
    return workload_of(records_of(table, log), log, header_of(table))


def _table(text: str, log: Log) -> pl.DataFrame:
    """Return the text of the fields of each job, with sacct's names."""
    names = {**_KEYS, **{key: key for key in TASK_KEYS}}
    table = columns_in(text, [*names])
    lacking = pl.coalesce(pl.when(pl.col(key).is_null()).then(pl.lit(key)) for key in _NEEDED)
    missing = table.select(lacking).to_series()
    for row in missing.is_not_null().arg_true():
        reason = _NO_RECORD if missing[row] == "JobId" else _WITHOUT.format(missing[row])
        log.refuse_line(table["line"][row], table["record"][row], reason)
    table = table.filter(missing.is_null())
    if table.is_empty():
        line = log.notes.first_line("dropped")
        raise WorkloadError(
            f"{log.name}:{line}: no line is a record of jobcomp/filetxt: JobId=… UserId=… JobState=… …. "
            "Give the file that JobCompLoc names in slurm.conf."
        )
    return _as_sacct(table.select("line", *names).rename(names), log)


def _as_sacct(table: pl.DataFrame, log: Log) -> pl.DataFrame:
    known = {"(null)": None, "": None, "0": None, "4294967294": None, "4294967295": None}
    array, het, pack = (pl.col(each).replace(known) for each in ("ArrayJobId", "HetJobId", "PackJobId"))
    number = (
        pl.when(array.is_not_null() & pl.col("ArrayTaskId").str.contains(r"^\d+$"))
        .then(pl.format("{}_{}", "ArrayJobId", "ArrayTaskId"))
        .when(het.is_not_null())
        .then(pl.format("{}+{}", "HetJobId", "HetJobOffset"))
        .when(pack.is_not_null())
        .then(pl.format("{}+{}", "PackJobId", "PackJobOffset"))
    )
    unknown = pl.col("submit").replace(_UNKNOWN, None).is_null()
    times = {name: pl.col(name).replace(_UNKNOWN, None) for name in ("eligible", "start")}
    for reason, where in (
        (_ELIGIBLE, times["eligible"].is_not_null()),
        (_START, times["eligible"].is_null() & times["start"].is_not_null()),
    ):
        taken = table.filter(unknown & where)
        log.notes.add("mended", reason, taken["line"])
    table = table.with_columns(
        pl.coalesce(number, "jobidraw").alias("jobid"),
        pl.when(unknown).then(pl.coalesce(*times.values())).otherwise("submit").alias("submit"),
        *(
            pl.col(name).str.extract(r"\((\d{1,18})\)$").alias(new)
            for name, new in (("user", "uid"), ("group", "gid"))
        ),
        *(pl.col(name).str.replace(r"\(\d+\)$", "").alias(name) for name in ("user", "group")),
    )
    missing = [each for each in WANTED if each not in table.columns]
    return table.select("line", *(each for each in WANTED if each in table.columns)).with_columns(
        pl.lit(None, pl.String).alias(each) for each in missing
    )
