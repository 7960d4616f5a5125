"""The stream that a virtual cluster returns: Slurm's records of every job."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import polars as pl

from batchlab.core.vocabulary import JOB_STATES, JobState
from batchlab.slurm.virtual.node_lists import nodes_in
from batchlab.slurm.virtual.submission import further_columns
from batchlab.workload.logs.jobcomp import fields_in, records_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from batchlab.slurm.virtual.configuration import Node
    from batchlab.slurm.virtual.feed import Fed, Issued

__all__ = ["returned_stream"]

_MINUTE = 60.0
_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "job_id": pl.Int64,
    "state": pl.Enum(JOB_STATES),
    "submit_time": pl.Float64,
    "start_time": pl.Float64,
    "end_time": pl.Float64,
    "run_time": pl.Float64,
    "requested_time": pl.Float64,
    "tasks": pl.Int64,
    "nodes": pl.List(pl.UInt32),
    "allocated_core": pl.Int64,
    "core": pl.Int64,
    "partition": pl.String,
    "planned_partition": pl.String,
    "constraint": pl.String,
    "planned_submit_time": pl.Float64,
    "planned_run_time": pl.Float64,
    "lateness": pl.Float64,
    "slurm_id": pl.Int64,
    "slurm_state": pl.String,
}


def returned_stream(completions: str, fed: Fed, nodes: Sequence[Node]) -> pl.DataFrame:
    """Create the table of a returned stream.

    Parameters
    ----------
    completions
        The file of Slurm's plugin ``jobcomp/filetxt``, with times in UTC.
    fed
        The record of submissions.
    nodes
        The nodes of the cluster.

    Returns
    -------
    polars.DataFrame
        One row per submission, with the columns of a result's jobs: ``job_id``, ``state`` (``"completed"``;
        ``"killed"``: ended otherwise after its start; ``"cancelled"``: by the workload; ``"queued"``: never
        started; ``"rejected"``: by sbatch), ``submit_time``, ``start_time``, ``end_time`` (s since the
        stream's origin, whole as in Slurm), ``run_time`` (s, from start to end), ``requested_time`` (s, the
        limit), ``tasks``, ``nodes``, ``allocated_core``. Then ``core`` (per task), ``partition`` (of the
        run), ``planned_partition`` (as requested, comma-separated), ``constraint``, ``planned_submit_time``,
        ``planned_run_time`` (s, sleep time), ``lateness`` (s, from the planned time to sbatch's reply),
        ``slurm_id`` and ``slurm_state``. The last columns are further requests, such as ``mem``, ``gpu``,
        ``exclusive``, ``account``.
    """
    places = {node.name: place for place, node in enumerate(nodes)}
    records: dict[tuple[int, int | None], list[dict[str, str]]] = {}
    for _, record in records_in(completions):
        fields = fields_in(record)
        index = fields.get("ArrayTaskId")
        key = (int(fields["ArrayJobId"]), int(index)) if index else (int(fields["JobId"]), None)
        records.setdefault(key, []).append(fields)
    rows = [_row(each, records.get(_key(each), []), fed.origin, places) for each in fed.issued]
    return pl.DataFrame(rows, schema=_SCHEMA).with_columns(further_columns([each.job for each in fed.issued]))


def _key(issued: Issued) -> tuple[int, int | None]:
    """Return the key of a job's records: its number, or that of its array with the index of the task."""
    array = issued.job.array
    index = array.place if array is not None and array.is_whole else None
    return (issued.slurm_id or 0, index)


def _row(
    issued: Issued, records: Sequence[Mapping[str, str]], origin: int, places: Mapping[str, int]
) -> dict[str, object]:
    job = issued.job
    row: dict[str, object] = {
        "job_id": job.job_id,
        "state": "rejected" if issued.slurm_id is None else "queued",
        "submit_time": float(math.floor(issued.returned)),
        "requested_time": math.inf if job.limit is None else job.limit * _MINUTE,
        "tasks": job.tasks,
        "nodes": [],
        "allocated_core": 0,
        "core": job.cores,
        "partition": job.partition,
        "planned_partition": job.partition,
        "constraint": job.constraint,
        "planned_submit_time": job.submit_time,
        "planned_run_time": job.run_time,
        "lateness": issued.returned - job.submit_time,
        "slurm_id": issued.slurm_id,
    }
    if not records:
        return row
    # A requeued job has a record for each attempt, each with a later submit time.
    last = records[-1]
    row["submit_time"] = _seconds(records[0]["SubmitTime"], origin)
    row["slurm_id"], row["slurm_state"] = int(last["JobId"]), last["JobState"]
    if job.cancelled_after is not None and last["JobState"].startswith("CANCELLED"):
        row["state"] = "cancelled"
    row["partition"] = last["Partition"]
    if last["TimeLimit"].isdecimal():
        row["requested_time"] = int(last["TimeLimit"]) * _MINUTE
    start, end = _seconds(last["StartTime"], origin), _seconds(last["EndTime"], origin)
    held = nodes_in(last["NodeList"], places)
    if start is None or end is None or not held:
        return row
    ended: JobState = "completed" if last["JobState"] == "COMPLETED" else "killed"
    return row | {
        "state": ended if row["state"] == "queued" else row["state"],
        "start_time": start,
        "end_time": end,
        "run_time": end - start,
        "nodes": held,
        "allocated_core": int(last["ProcCnt"]),
    }


def _seconds(text: str, origin: int) -> float | None:
    try:
        moment = datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        # "Unknown" or "None": the event has not occurred.
        return None
    return moment.timestamp() - origin
