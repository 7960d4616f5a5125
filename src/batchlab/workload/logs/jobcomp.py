"""The reader of the files of Slurm's plug-in jobcomp/filetxt: a line of ``Key=value`` for each attempt."""

import re
from collections.abc import Iterator, Sequence
from typing import Unpack

import polars as pl

from batchlab.errors import WorkloadError
from batchlab.workload.logs.jobs import workload_of
from batchlab.workload.logs.reading import JobcompKeywords, OpenLog, Reading, opened, takes
from batchlab.workload.logs.slurm_records import WANTED, header_of, records_of
from batchlab.workload.source import LogSource
from batchlab.workload.workload import Workload

TASK_KEYS = ("ArrayJobId", "ArrayTaskId", "HetJobId", "HetJobOffset", "PackJobId", "PackJobOffset")
"""The keys that identify the array or heterogeneous job of a record."""

_OWN_KEYS = (
    *("JobId", "UserId", "GroupId", "Name", "JobState", "Partition", "TimeLimit", "StartTime", "EndTime"),
    *("NodeList", "NodeCnt", "ProcCnt", "WorkDir", "ReservationName", "Tres", "Gres", "Account", "QOS"),
    *("WcKey", "Cluster", "SubmitTime", "EligibleTime", "DerivedExitCode", "ExitCode"),
    *("Reason", "Comment", "Dependency", "Procs"),
)
# User names and directories may contain blanks and "=": only the plug-in's own keys begin a field.
_ANY_KEY = "|".join((*_OWN_KEYS, *TASK_KEYS))
_KEY = re.compile(rf"(?:^|[ \n])({_ANY_KEY})=")
_LATER_KEY = rf"[ \n](?:{_ANY_KEY})="
_FIRST = "JobId="
# A Slurm version writes few orders of keys: one for plain jobs, others for tasks and components.
_MOST_ORDERS = 8
_FEWEST_RECORDS = 100


def records_in(text: str) -> Iterator[tuple[int, str]]:
    """Yield the records of a file with their first line numbers.

    A record ends before the next line that begins a record, since job names may contain line ends. Text
    before the first record is yielded as a record too.
    """
    first = 0
    lines: list[str] = []
    for line, part in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if not lines or part.startswith(_FIRST):
            if any(each.strip() for each in lines):
                yield first, "\n".join(lines).strip()
            first, lines = line, [part]
        else:
            lines.append(part)
    if any(each.strip() for each in lines):
        yield first, "\n".join(lines).strip()


def fields_in(record: str) -> dict[str, str]:
    """Return the stripped values of a record by key; empty if the text is no record."""
    before, *parts = _KEY.split(record)
    return {} if before else dict(zip(parts[::2], map(str.strip, parts[1::2]), strict=True))


def columns_in(text: str, keys: Sequence[str]) -> pl.DataFrame:
    """Split the records of a file into columns.

    Records with the same keys in the same order are split together, one key at a time.

    Parameters
    ----------
    text
        The text of the file.
    keys
        The keys to return.

    Returns
    -------
    polars.DataFrame
        One row per record, in order: ``line``; ``record``, its text; and a text column per key, as from
        `fields_in`.
    """
    rest = _records(text).with_columns(pl.col("record").str.count_matches(_LATER_KEY).alias("count"))
    parts: list[pl.DataFrame] = []
    odd: list[pl.DataFrame] = []
    for _ in range(_MOST_ORDERS):
        if rest.height < _FEWEST_RECORDS:
            break
        split, rest = _split(rest, _KEY.findall(rest["record"][0]))
        if split.is_empty():
            odd.append(rest.head(1))
            rest = rest.slice(1)
        parts.append(split)
    others = pl.concat([*odd, rest]).select("line", "record")
    fields = [fields_in(record) for record in others["record"]]
    others = others.with_columns(
        pl.Series(key, [each.get(key) for each in fields], pl.String) for key in keys
    )
    return pl.concat([others, *parts], how="diagonal").select("line", "record", *keys).sort("line")


def _records(text: str) -> pl.DataFrame:
    """Return the records of a file and their first line numbers."""
    lines = pl.Series("record", text.replace("\r\n", "\n").split("\n"), pl.String)
    frame = lines.str.strip_chars().to_frame().with_columns(pl.int_range(pl.len()).alias("line") + 1)
    frame = frame.filter(pl.col("record") != "")
    if frame["record"].str.starts_with(_FIRST).all():
        return frame
    return pl.DataFrame(list(records_in(text)), {"line": pl.Int64, "record": pl.String}, orient="row")


def _split(records: pl.DataFrame, order: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split the records with exactly these keys in this order; return them and the other records."""
    alike = pl.col("record").str.starts_with(_FIRST) & (pl.col("count") == len(order) - 1)
    values: dict[str, pl.Series] = {}
    text = records.select(pl.when(alike).then(pl.col("record").str.strip_prefix(_FIRST)).alias("text"))[
        "text"
    ]
    before = _FIRST.removesuffix("=")
    for key in order[1:]:
        # The record has as many keys as the order, and each key follows the previous one: no value contains a
        # key.
        pair = text.str.splitn(f" {key}=", 2).struct.unnest()
        values[before], text, before = pair["field_0"], pair["field_1"], key
    values[before] = text
    fit = text.is_not_null()
    if len(values) < len(order):
        fit = ~pl.repeat(value=True, n=len(fit), eager=True)
    columns = [value.str.strip_chars().alias(key) for key, value in values.items()]
    return records.with_columns(columns).filter(fit).drop("count"), records.filter(~fit)


# Names of the keys in sacct.
_SACCT_NAMES = {
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
    source: LogSource,
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


def _table(text: str, log: OpenLog) -> pl.DataFrame:
    """Return the text of the fields of each job, with sacct's names."""
    names = {**_SACCT_NAMES, **{key: key for key in TASK_KEYS}}
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


def _as_sacct(table: pl.DataFrame, log: OpenLog) -> pl.DataFrame:
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
