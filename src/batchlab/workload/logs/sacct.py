"""The reader of the output of Slurm's sacct."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import IO, Unpack

import polars as pl

from batchlab.errors import WorkloadError, shown
from batchlab.workload.formats import warn_of_data_set
from batchlab.workload.logs import sacct_rows
from batchlab.workload.logs.jobs import workload_of
from batchlab.workload.logs.log import Log, opened
from batchlab.workload.logs.numbers import is_step
from batchlab.workload.logs.reading import Reading, SacctKeywords, takes
from batchlab.workload.logs.sacct_json import is_json, table_of_json
from batchlab.workload.logs.slurm_records import WANTED, header_of, records_of
from batchlab.workload.workload import Workload

__all__ = ["read_sacct"]

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
    source: str | os.PathLike[str] | IO[str] | IO[bytes] | Iterable[str | bytes],
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


def _table(text: str, delimiter: str | None, given: Sequence[str] | str | None, log: Log) -> pl.DataFrame:
    """Return the text of the fields of each job, under sacct's names."""
    place, line, rest = _first_line(text)
    if given is not None:
        ends = delimiter or "|"
        names = [name.strip() for name in given.split(",")] if isinstance(given, str) else given
        head, body, first = ends.join(filter(None, names)), text, 1
        if line.rstrip().endswith(ends):
            head += ends
    else:
        place, head, body = _header_line(text, log) or (place, line, rest)
        first = place + 1
    fields = sacct_rows.fields_of(head, log.name, place, delimiter)
    for what, names in _NEEDED.items():
        if not any(each in fields.names for each in names):
            raise WorkloadError(
                f"{log.name}:{place}: no field for {what} ({' or '.join(names)}) among {shown(head[:300])}. "
                f"Write the dump by: {sacct_rows.COMMAND}"
            )
    table = sacct_rows.table_of(body, first, fields, WANTED, log)
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


def _note_plain_limits(table: pl.DataFrame, head: str, log: Log) -> None:
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


def _header_line(text: str, log: Log) -> tuple[int, str, str] | None:
    """Find the header after possible messages of sacct; None without a header."""
    rest, others = text, 0
    for place in range(1, _LINES_BEFORE + 1):
        line, _, rest = rest.partition("\n")
        if re.search(r"(?:^|[^a-z])JobID(?:Raw)?(?:[^a-z]|$)", line, re.IGNORECASE):
            log.notes.skip("lines before the header", others)
            return place, line.rstrip("\r"), rest
        others += bool(line.strip())
    return None
