"""The reader of Cobalt's accounting: records in PBS syntax, of jobs on whole nodes."""

import re
from collections.abc import Mapping
from typing import Unpack

import polars as pl

from batchlab.workload.logs.hostlist import hosts
from batchlab.workload.logs.jobs import workload_of
from batchlab.workload.logs.pbs import table_of
from batchlab.workload.logs.pbs_records import Request, records_of, whole_number
from batchlab.workload.logs.reading import AccountingKeywords, Reading, opened, takes
from batchlab.workload.source import LogSource
from batchlab.workload.workload import Workload

_STAMP = r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d"
_STAMP_TWICE = re.compile(rf"(?m)^{_STAMP}(?:\.\d+)?[;:,]?[ \t]*(?={_STAMP};)")
_INDICES = r"^\d{1,9}(?:-\d{1,9})?(?:,\d{1,9}(?:-\d{1,9})?)*$"
_NOT_SAID = "memory and GPUs are not in Cobalt's accounting"


@takes(AccountingKeywords)
def read_cobalt(
    source: LogSource,
    **keywords: Unpack[AccountingKeywords],
) -> Workload:
    """Read an accounting log of Cobalt, the scheduler of Argonne's Blue Gene and Cray machines.

    Parameters
    ----------
    source
        A path, an open file (text or binary; compressed files are detected by content), or an iterable of
        lines.
    timezone, overrun, invalid, processors, use_memory, requeues, unfinished, log_events, unlimited
        As for `read_pbs`.
    node_names
        As for `read_pbs`.

    Returns
    -------
    Workload
        As from `read_pbs`. Jobs are ``exclusive``; ``requested_nodes`` is ``Resource_List.nodect``, and
        ``tasks`` the number of processors (``ncpus``), or else one per node.

    Raises
    ------
    WorkloadError
        If the source cannot be read, or no line is a record; with ``invalid="raise"``, at the first job that
        breaks a rule.

    Examples
    --------
    >>> line = (
    ...     "11/14/2023 22:50:00;E;901;Exit_status=0 Resource_List.ncpus=256 Resource_List.nodect=4 "
    ...     "Resource_List.walltime=1:00:00 ctime=1700000000.25 end=1700002200.75 queue=default "
    ...     'exec_host="0-1,4-5" start=1700000600.25 user=ann'
    ... )
    >>> read_cobalt([line]).jobs.select("run_time", "requested_nodes", "tasks", "exclusive").row(0)
    (1600.5, 4, 256, True)
    """
    reading = Reading.of(read_cobalt, keywords)
    log, text = opened(source, reading)
    # Some dumps repeat the time stamp in each line.
    table = table_of(_STAMP_TWICE.sub("", text), log)
    records = records_of(table, log, parse=_request_of, aborted="TIMEOUT")
    log.notes.add("noted", _NOT_SAID, records["line"].head(1))
    return workload_of(_with_nodes(records), log, {})


def _request_of(attributes: Mapping[str, str]) -> Request:
    nodes, processors = (
        whole_number(attributes.get(f"Resource_List.{name}")) for name in ("nodect", "ncpus")
    )
    if not nodes:
        return Request(float(processors) if processors else None, exclusive=True)
    of_all = max(processors or nodes, nodes)
    return Request(float(of_all), nodes, -(-of_all // nodes), exclusive=True)


def _with_nodes(records: pl.DataFrame) -> pl.DataFrame:
    """Parse the index list of the allocated nodes."""
    indices = pl.col("node_list").str.contains(_INDICES).fill_null(value=False)
    bracketed = records.select(pl.when(indices).then(pl.format("[{}]", "node_list"))).to_series()
    known = {text: hosts(text) for text in bracketed.unique().drop_nulls()}
    counts = [None if text is None else len(known[text] or ()) or None for text in bracketed]
    nodes = pl.Series("allocated_nodes", counts, pl.Int64)
    of_nodes = nodes * pl.col("requested") / pl.col("requested_nodes")
    started = pl.when(pl.col("start").is_not_null()).then("requested")
    return records.with_columns(
        pl.coalesce(bracketed.alias("brackets"), "node_list").alias("node_list"),
        nodes,
        pl.coalesce(of_nodes, started).alias("allocated"),
    )
