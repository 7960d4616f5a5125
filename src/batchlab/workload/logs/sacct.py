"""The reader of the output of Slurm's sacct: text, in which user texts may hold line ends, and JSON.

``sacct --json`` (Slurm 21.08 and later) is converted to the fields of a text dump.
"""

import io
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Unpack

import polars as pl

from batchlab.core.rules import is_finite
from batchlab.errors import WorkloadError, reason_of, shown
from batchlab.workload.formats import warn_of_data_set
from batchlab.workload.logs.jobs import is_in_bounds, workload_of
from batchlab.workload.logs.outcomes import STEP, is_step
from batchlab.workload.logs.quantities import clock_of
from batchlab.workload.logs.reading import OpenLog, Reading, SacctKeywords, opened, takes
from batchlab.workload.logs.slurm_records import WANTED, header_of, records_of
from batchlab.workload.source import LogSource
from batchlab.workload.workload import Workload

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


COMMAND = (
    "sacct --allusers --duplicates --parsable2 --format=JobIDRaw,JobID,User,Account,Partition,QOS,JobName,"
    "State,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,ReqCPUS,AllocCPUS,NNodes,ReqMem,ReqTRES,"
    "AllocTRES,NodeList,ExitCode"
)
_WHOLE_JOB = r"\d+(?:_(?:\d+|\[[^\]|]*\]?))?(?:\+\d+)?"
_JOB = rf"{_WHOLE_JOB}(?:\.[\w+]+)?"
_STEP = re.compile(STEP)
_START = re.compile(_JOB)
_TIME = re.compile(r"(?:Unknown|None|N/A|\d+(?:\.\d+)?|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*)?")
_CLOCK = re.compile(r"(?:INVALID|[\d:.-]*)")
_NUMBER = re.compile(r"[\d.]*[KMGTP]?")
_STATE = re.compile(r"(?:[A-Z_]+(?: by \S+)?\+?)?")
_TRES = re.compile(r"(?:[\w/:.-]+=[\w.]*,?)*\+?")
# Formats of fields. Fields of users may hold any text; all others, any text without line ends.
_FORMS: Mapping[str, re.Pattern[str]] = {
    "jobid": _START,
    "jobidraw": _START,
    **dict.fromkeys(("submit", "start", "end", "eligible"), _TIME),
    **dict.fromkeys(("elapsed", "suspended", "reserved", "planned", "cputime"), _CLOCK),
    **dict.fromkeys(("elapsedraw", "cputimeraw", "ncpus", "reqcpus", "alloccpus"), _NUMBER),
    **dict.fromkeys(("nnodes", "reqnodes", "allocnodes", "uid", "gid", "priority"), _NUMBER),
    "state": _STATE,
    **dict.fromkeys(("reqtres", "alloctres"), _TRES),
    "exitcode": re.compile(r"(?:\d+:\d+)?"),
    "derivedexitcode": re.compile(r"(?:\d+:\d+)?"),
}
_OF_USERS = frozenset(
    (
        *("jobname", "constraints", "comment", "admincomment", "systemcomment", "submitline", "workdir"),
        *("container", "extra", "stdin", "stdout", "stderr"),
    )
)
# JobID and the text up to the next name, or else the text before it.
_HEADER = re.compile(
    r"(?:^|[^a-z])JobID(?:Raw)?([^a-z\s]+|\t)(?:[a-z]|$)|[a-z]([^a-z\s]+|\t)JobID(?:Raw)?\s*$", re.IGNORECASE
)
_USUAL = "|"
_MOST_EXTRA = 64
_MOST_LINES = 256
_CONTINUED = "further lines of the last field of a record"
_TOGETHER = "the record was put together: a field has delimiters or line ends in it"
_UNSPLIT = "has not as many fields as the header"


@dataclass(frozen=True)
class Fields:
    """The fields of a dump: their lower-case names, in order, and the delimiter."""

    names: tuple[str, ...]
    delimiter: str
    trailing: bool

    @property
    def count(self) -> int:
        """Number of delimiters in a record."""
        return len(self.names) - 1 + self.trailing

    @property
    def begins_with_number(self) -> bool:
        """Whether the job number is the first field."""
        return self.names[0] in ("jobid", "jobidraw")


def delimiter_of(line: str) -> str:
    """Detect the delimiter in a header: the text next to the name of the job number."""
    match = _HEADER.search(line)
    return (match[1] or match[2] or _USUAL) if match is not None else _USUAL


def fields_of(line: str, name: str, place: int, delimiter: str | None) -> Fields:
    """Parse the header of a dump.

    Parameters
    ----------
    line, name, place
        The header, the name of the dump, and the line number of the header.
    delimiter
        The delimiter of fields; by default detected.

    Raises
    ------
    WorkloadError
        If the line is no header: it must name the job number.
    """
    ends = delimiter or delimiter_of(line)
    names = [part.strip().lower() for part in line.split(ends)]
    trailing = len(names) > 1 and not names[-1]
    fields = Fields(tuple(names[:-1] if trailing else names), ends, trailing)
    is_for_people = ends not in line.strip() or ends == " "
    if ("jobid" in fields.names or "jobidraw" in fields.names) and not ends.startswith(" "):
        return fields
    if is_for_people and re.match(r"\s*JobID(?:Raw)?\s", line):
        rule = "is sacct's table for people, whose fields are cut; must be a dump of --parsable2"
    else:
        rule = f"is no header of sacct; must name JobID or JobIDRaw between {shown(ends)}"
    raise WorkloadError(f"{name}:{place}: {shown(line[:200])} {rule}. Write it by: {COMMAND}")


def table_of(text: str, first: int, fields: Fields, wanted: Sequence[str], log: OpenLog) -> pl.DataFrame:
    """Return the fields of the records of jobs.

    Parameters
    ----------
    text
        The text after the header.
    first
        The number of its first line.
    fields
        The fields in the header.
    wanted
        The fields to return.
    log
        Rejects records that cannot be split, and counts steps.

    Returns
    -------
    polars.DataFrame
        String columns by lower-case names, and ``line``. Steps are dropped.
    """
    lines = pl.Series("text", text.replace("\r\n", "\n").split("\n"), pl.String)
    frame = lines.to_frame().with_columns(pl.int_range(pl.len()).alias("line") + first)
    bars = pl.col("text").str.count_matches(fields.delimiter, literal=True)
    whole = frame.with_columns((bars == fields.count).alias("whole"))
    columns = [each for each in wanted if each in fields.names]
    good = whole.filter("whole")
    if fields.begins_with_number:
        step = pl.col("text").str.contains(STEP)
        jobs = good.filter(~step)
        log.notes.skip("steps of jobs", good.height - jobs.height)
        good = jobs
    table = _split(good, fields, columns)
    broken = whole.filter(~pl.col("whole"))
    if (broken["text"].str.strip_chars() != "").any():
        table = pl.concat([table, _mended(broken, fields, columns, log)])
    return table.sort("line", maintain_order=True)


def _split(good: pl.DataFrame, fields: Fields, columns: Sequence[str]) -> pl.DataFrame:
    """Split the lines with as many fields as the header."""
    places = [fields.names.index(each) for each in columns]
    schema = {**dict.fromkeys(columns, pl.String), "line": pl.Int64}
    if good.is_empty():
        return pl.DataFrame(schema=schema)
    if len(fields.delimiter) == 1 and fields.delimiter.isascii():
        table = pl.read_csv(
            io.BytesIO("\n".join(good["text"]).encode()),
            separator=fields.delimiter,
            has_header=False,
            columns=sorted(places),
            quote_char=None,
            infer_schema=False,
        )
        if table.height == good.height:
            named = dict(zip(table.columns, (fields.names[place] for place in sorted(places)), strict=True))
            return table.rename(named).select(columns).with_columns(good["line"])
    parts = good["text"].str.split(fields.delimiter)
    got = [parts.list.get(place).alias(name) for place, name in zip(places, columns, strict=True)]
    return pl.DataFrame(got).with_columns(good["line"]).cast(schema)  # type: ignore[arg-type]


def _mended(broken: pl.DataFrame, fields: Fields, columns: Sequence[str], log: OpenLog) -> pl.DataFrame:
    """Rejoin records that are broken by line ends in user texts, and split those that fit."""
    found: list[tuple[object, ...]] = []
    steps = 0
    together: list[int] = []
    for line, text in _torn(broken, fields):
        parts = _fitted(text.split(fields.delimiter), fields)
        if parts is None and _continues(text, fields):
            log.notes.skip(_CONTINUED, 1)
        elif parts is None:
            log.refuse_line(line, text, _UNSPLIT)
        elif _STEP.match(parts["jobid" if "jobid" in parts else "jobidraw"]):
            steps += 1
        else:
            found.append((*(parts[each] or None for each in columns), line))
            together.append(line)
    log.notes.skip("steps of jobs", steps)
    log.notes.add("noted", _TOGETHER, pl.Series(together, dtype=pl.Int64))
    schema = {**dict.fromkeys(columns, pl.String), "line": pl.Int64}
    return pl.DataFrame(found, schema=schema, orient="row")


def _torn(broken: pl.DataFrame, fields: Fields) -> list[tuple[int, str]]:
    """Join the lines of each record: the first of a run, and all lines up to the next possible first line."""
    records: list[tuple[int, list[str]]] = []
    previous = None
    for text, line in broken.select("text", "line").iter_rows():
        follows = previous == line - 1 and bool(records)
        previous = line
        if follows and len(records[-1][1]) < _MOST_LINES and not _is_first(text, records[-1][1], fields):
            records[-1][1].append(text)
        elif text.strip():
            records.append((line, [text]))
    return [(line, "\n".join(texts).rstrip("\n")) for line, texts in records]


def _continues(text: str, fields: Fields) -> bool:
    """Return whether a text continues the last field of the preceding complete record."""
    if fields.trailing or fields.names[-1] not in _OF_USERS:
        return False
    return text.count(fields.delimiter) < fields.count and not _START.match(text)


def _is_first(text: str, before: Sequence[str], fields: Fields) -> bool:
    """Return whether a line begins a new record after the lines of another."""
    if fields.begins_with_number:
        return bool(re.match(rf"{_JOB}{re.escape(fields.delimiter)}", text))
    if sum(each.count(fields.delimiter) for each in before) >= fields.count:
        return True
    # A line that is a complete record does not continue the last field of the previous one.
    return (
        text.count(fields.delimiter) >= fields.count
        and _fitted(text.split(fields.delimiter), fields) is not None
    )


def _fitted(parts: list[str], fields: Fields) -> dict[str, str] | None:
    """Assign the parts of a record to its fields, so that each field matches its format.

    If there are more parts than fields, user texts contain delimiters: additional parts are tried in their
    fields, first fields first. O(fields × extra²) steps.
    """
    count = len(fields.names) + fields.trailing
    extra = len(parts) - count
    if not 0 <= extra <= _MOST_EXTRA:
        return None
    if fields.trailing:
        if parts[-1].strip():
            return None
        parts = parts[:-1]
    # reachable[place]: from the number of extra parts after a field to the number before it.
    came: list[dict[int, int]] = []
    reached = {0}
    for place, name in enumerate(fields.names):
        steps: dict[int, int] = {}
        for used in sorted(reached, reverse=True):
            for more in range(extra - used + 1 if name in _OF_USERS else 1):
                own = parts[place + used : place + used + more + 1]
                if used + more not in steps and _suits(name, own, fields.delimiter):
                    steps[used + more] = used
        came.append(steps)
        reached = set(steps)
    if extra not in reached:
        return None
    values: dict[str, str] = {}
    after = extra
    for place in range(len(fields.names) - 1, -1, -1):
        before = came[place][after]
        values[fields.names[place]] = fields.delimiter.join(parts[place + before : place + after + 1])
        after = before
    return values


def _suits(name: str, parts: Sequence[str], delimiter: str) -> bool:
    if name in _OF_USERS:
        return True
    text = delimiter.join(parts)
    form = _FORMS.get(name)
    return "\n" not in text if form is None else form.fullmatch(text.strip()) is not None


_LINES_BEFORE = 50
_PLAIN_LIMIT = (
    "Timelimit is a number, which sacct does not write: its unit is unknown, the limit is not taken"
)
_NEEDED = {
    "a number": ("jobid", "jobidraw"),
    "the submission": ("submit",),
    "the start": ("start",),
    "the end": ("end", "elapsed", "elapsedraw"),
    "the state": ("state",),
    "the processors": ("ncpus", "alloccpus", "reqcpus", "reqtres", "alloctres"),
    "the time limit": ("timelimit", "timelimitraw"),
}


@takes(SacctKeywords)
def read_sacct(
    source: LogSource,
    *,
    delimiter: str | None = None,
    fields: Sequence[str] | str | None = None,
    **keywords: Unpack[SacctKeywords],
) -> Workload:
    """Read a dump of ``sacct --parsable2``, ``--parsable`` or ``--json`` with the fields that define a job.

    A text dump must have JobID or JobIDRaw; Submit; Start; End, Elapsed or ElapsedRaw; State; one of ReqCPUS,
    NCPUS, AllocCPUS, ReqTRES, AllocTRES; and Timelimit or TimelimitRaw.

    Parameters
    ----------
    source
        A path, an open file (text or binary; compressed files are detected by content), or an iterable of
        lines.
    timezone
        Time zone of the time stamps, as ``"Europe/Berlin"``; not needed for seconds since 1970 and for times
        with an offset. A local time that exists twice, because clocks were set back, is the first of both,
        unless the order of submission, start and end or the elapsed time imply the second. A local time that
        the clocks skipped is read with the offset of the day before.
    time_format
        Format of time stamps (``SLURM_TIME_FORMAT``), if neither ISO 8601 nor ``%s``.
    delimiter
        Delimiter of fields (``--delimiter``); by default detected in the header.
    fields
        The names of the fields, as a list or comma-separated, if the dump has no header (``--noheader``).
    overrun, invalid
        As for `read_swf`.
    processors
        Whether ``tasks`` is the number of ``"requested"`` or ``"allocated"`` processors; if one is unknown,
        the other is used.
    use_memory
        Whether tasks request memory: column ``mem``, kB per processor, from ReqMem or ReqTRES, else 0.
    requeues
        ``"join"`` merges the records of a requeued job into one job, from its first submission to its last
        end; ``"each"`` makes every record a job, all with the same number.
    unfinished
        ``"drop"`` drops jobs that are queued or running; ``"keep"`` uses their run time so far.
    unlimited
        Time limit for ``UNLIMITED`` and ``Partition_Limit``, in seconds, for all jobs or by partition. By
        default, schedulers plan with a year, and the ``time_limit`` is infinite.
    partition_limits
        Time limit for ``Partition_Limit`` by partition, in seconds: MaxTime of slurm.conf. It takes
        precedence over `unlimited`.
    node_names
        Whether to list the nodes of ``node_list`` (``vn[0-3,7]``) in ``node_names``.
    dependencies
        Whether to convert ``logged_dependency`` to the column ``dependency``, without dependencies on jobs
        that are not in the dump.
    log_events
        Whether to replay cancellations and interruptions. If True, jobs that ended before they started wait
        until they are cancelled (column ``cancelled_after``, the seconds from submission to end), and jobs
        that were cancelled, killed or requeued while running are so after the same run time (column
        ``run_events``). If False, jobs that never started have a run time of 0 s, and all others complete.

    Returns
    -------
    Workload
        One row per job, sorted by submission. The origin is the first submission; its time is
        ``header.unix_start_time``. Requests are in the standard columns and, as far as the dump has them, in
        ``logged_id``, ``requested_processors``, ``requested_memory`` (kB per processor, -1: unknown),
        ``requested_nodes``, ``requested_gpus``, ``user``, ``user_id``, ``group``, ``group_id``, ``account``,
        ``qos``, ``partition``, ``reservation``, ``job_name`` and ``logged_dependency`` (from the field
        Dependency or from SubmitLine). Outcomes, which schedulers do not see, are in ``start_time``,
        ``end_time`` and ``eligible_time`` (seconds since the origin; null: none), ``logged_wait_time``,
        ``state``, ``status``, ``attempts``, ``exit_code``, ``exit_signal``, ``cancelled_by``,
        ``allocated_processors``, ``allocated_nodes``, ``node_list`` and ``logged_reason``.

    Raises
    ------
    WorkloadError
        If the source cannot be read, its header lacks required fields, or no record is of a finished job;
        with ``invalid="raise"``, at the first job that breaks a rule.

    Examples
    --------
    >>> dump = ["JobID|Submit|Start|End|State|ReqCPUS|TimelimitRaw", "7|100|160|220|COMPLETED|4|5"]
    >>> read_sacct(dump).jobs.select("job_id", "run_time", "requested_time", "tasks").row(0)
    (7, 60.0, 300.0, 4)
    """
    reading = Reading.of(read_sacct, keywords)
    if delimiter is not None and (not isinstance(delimiter, str) or not delimiter.strip(" \n\r")):
        raise WorkloadError(f"delimiter = {shown(delimiter)}; must be text that ends a field, as '|'.")
    log, text = opened(source, reading)
    form = {
        "fields": fields if fields is None or isinstance(fields, str) else ",".join(fields),
        "delimiter": delimiter,
    }
    log = replace(log, options={name: value for name, value in form.items() if value is not None})
    table = table_of_json(text, WANTED, log) if is_json(text) else _table(text, delimiter, fields, log)
    return workload_of(records_of(table, log), log, header_of(table))


def _table(text: str, delimiter: str | None, given: Sequence[str] | str | None, log: OpenLog) -> pl.DataFrame:
    """Return the text of the fields of each job, under sacct's names."""
    place, line, rest = _first_line(text)
    if given is not None:
        ends = delimiter or "|"
        names = [name.strip() for name in given.split(",")] if isinstance(given, str) else given
        if not {"jobid", "jobidraw"} & {name.lower() for name in names}:
            rule = "must name JobID or JobIDRaw, as sacct's own --format does"
            raise WorkloadError(f"fields = {shown(given)}; {rule}. Write the dump by: {COMMAND}")
        head, body, first = ends.join(filter(None, names)), text, 1
        if line.rstrip().endswith(ends):
            head += ends
    else:
        place, head, body = _header_line(text, log) or (place, line, rest)
        first = place + 1
    fields = fields_of(head, log.name, place, delimiter)
    for what, names in _NEEDED.items():
        if not any(each in fields.names for each in names):
            raise WorkloadError(
                f"{log.name}:{place}: no field for {what} ({' or '.join(names)}) among {shown(head[:300])}. "
                f"Write the dump by: {COMMAND}"
            )
    table = table_of(body, first, fields, WANTED, log)
    number = "jobid" if "jobid" in fields.names else "jobidraw"
    again = (pl.col(number).str.to_lowercase() == number).fill_null(value=False)
    steps, headers = table.select(is_step(number).sum().alias("steps"), again.sum().alias("headers")).row(0)
    log.notes.skip("steps of jobs", steps)
    log.notes.skip("headers again", headers)
    table = table.filter(~is_step(number) & ~again)
    _note_plain_limits(table, head, log)
    return table.with_columns(
        pl.lit(None, pl.String).alias(each) for each in WANTED if each not in table.columns
    )


def _note_plain_limits(table: pl.DataFrame, head: str, log: OpenLog) -> None:
    """Add a remark on limits without a unit: sacct itself writes Timelimit as a clock time."""
    if "timelimit" not in table.columns or "timelimitraw" in table.columns:
        return
    plain = table.filter(pl.col("timelimit").str.contains(r"^\s*\d+(?:\.\d+)?\s*$"))
    if plain.is_empty():
        return
    log.notes.add("noted", _PLAIN_LIMIT, plain["line"])
    problem = "Timelimit is a number of unknown unit, so that schedulers plan with run times"
    warn_of_data_set(f"{head}\n".encode(), log.name, problem, level=5)


def _first_line(text: str) -> tuple[int, str, str]:
    """Return the number of the first line that is not blank, the line, and the rest."""
    rest, place = text, 0
    while rest:
        place += 1
        line, _, rest = rest.partition("\n")
        if line.strip():
            return place, line.rstrip("\r"), rest
    return place or 1, "", ""


def _header_line(text: str, log: OpenLog) -> tuple[int, str, str] | None:
    """Find the header after possible messages of sacct; None without a header."""
    rest, others = text, 0
    for place in range(1, _LINES_BEFORE + 1):
        line, _, rest = rest.partition("\n")
        if re.search(r"(?:^|[^a-z])JobID(?:Raw)?(?:[^a-z]|$)", line, re.IGNORECASE):
            log.notes.skip("lines before the header", others)
            return place, line.rstrip("\r"), rest
        others += bool(line.strip())
    return None
