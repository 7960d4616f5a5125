"""An experiment with virtual nodes: run a workload in Slurm, and return the stream of its jobs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, cast

import polars as pl

from batchlab.core.units import format_count
from batchlab.core.vocabulary import JOB_STATES, JobState
from batchlab.slurm.virtual.controller_log import measure
from batchlab.slurm.virtual.feed import feed
from batchlab.slurm.virtual.processes import nodes_in, reservations_in
from batchlab.slurm.virtual.submission import further_columns, left_out, rounding
from batchlab.workload.logs.jobcomp import fields_in, records_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from batchlab.slurm.virtual.clock import Course
    from batchlab.slurm.virtual.cluster import VirtualCluster
    from batchlab.slurm.virtual.configuration import Configuration, Node
    from batchlab.slurm.virtual.controller_log import Measured
    from batchlab.slurm.virtual.feed import Dump, Fed, Issued
    from batchlab.slurm.virtual.submission import Submission
    from batchlab.system import Reservation
    from batchlab.workload import Workload

__all__ = ["RealRun", "notes_of", "returned_stream", "run_real"]

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


_MOST_SHOWN = 5
_MINUTE = 60.0
# Slurm records whole seconds, so the mean overhead of fewer jobs is not significant. Above the limit (s), a
# clock is too fast.
_LEAST_JOBS, _MOST_OVERHEAD = 30, 0.2


@dataclass(frozen=True, eq=False)
class RealRun:
    """The outcome of a workload in Slurm on virtual nodes.

    Attributes
    ----------
    jobs
        The resulting jobs: see `returned_stream`.
    origin
        The UNIX time that is 0 in the stream.
    slurm
        The version of Slurm.
    configuration
        The text of its ``slurm.conf``.
    nodes
        The virtual nodes.
    refusals
        The messages of sbatch for rejected jobs, by id.
    left
        The ids of jobs that Slurm would never have started.
    completions
        The output of Slurm's plugin jobcomp/filetxt, with times in UTC: for `read_jobcomp`.
    accounting
        The output of sacct at the end, with times in UTC: for `read_sacct`. Empty without accounts.
    course
        The real and virtual time of the cluster's clock; None for a stream created by hand.
    reservations
        The reservations at the beginning of the stream.
    dumps
        The dumps of jobs and nodes at the requested times.
    log
        The log of slurmctld, with times in UTC; empty for a stream created by hand.
    """

    jobs: pl.DataFrame
    origin: int
    slurm: str
    configuration: str
    nodes: tuple[Node, ...]
    refusals: dict[int, str] = field(default_factory=dict)
    left: tuple[int, ...] = ()
    completions: str = ""
    accounting: str = ""
    course: Course | None = None
    reservations: tuple[Reservation, ...] = ()
    dumps: tuple[Dump, ...] = ()
    log: str = field(default="", repr=False)

    @cached_property
    def measured(self) -> Measured | None:
        """Times of the controller's work, from its log; None for a stream created by hand."""
        return measure(self.log, self.jobs, self.origin) if self.log else None

    def started(self) -> pl.DataFrame:
        """Return the jobs that Slurm started, without those that the workload cancels."""
        return self.jobs.filter(pl.col("run_time").is_not_null(), pl.col("state") != "cancelled")

    def overhead(self) -> float | None:
        """Return the mean excess of the run time of completed jobs over their sleep time, in seconds."""
        ended = self.jobs.filter(pl.col("slurm_state") == "COMPLETED")
        return cast("float | None", (ended["run_time"] - ended["planned_run_time"]).mean())

    def lateness(self) -> dict[str, float]:
        """Return the delay of submissions, in seconds: mean and max."""
        late = self.jobs["lateness"].to_list()
        return {"mean": fmean(late), "max": max(late)} if late else {"mean": 0.0, "max": 0.0}

    def notes(self) -> list[str]:
        """Return remarks on jobs that did not run to completion, one sentence each."""
        found = [f"job {job}: refused: {message}" for job, message in self.refusals.items()]
        if self.left:
            listed = ", ".join(map(str, self.left))
            found.append(f"cancelled when nothing ran: {format_count(len(self.left), 'job')}, {listed}")
        overhead = self.overhead()
        if overhead is not None and overhead > _MOST_OVERHEAD and len(self.jobs) >= _LEAST_JOBS:
            found.append(
                f"jobs lasted {overhead:.2f} s longer than they slept, on average; above {_MOST_OVERHEAD} s "
                "the machine is too busy, or the clock too fast: the schedule may differ from real time's"
            )
        return found


def run_real(
    cluster: VirtualCluster,
    jobs: Sequence[Submission],
    *,
    dumps: Sequence[float] = (),
    patience: float = 120.0,
    progress: Callable[[int, int], None] | None = None,
) -> RealRun:
    """Start a virtual cluster, submit the jobs, collect the results, and stop it.

    Parameters
    ----------
    cluster
        The cluster, not started.
    jobs
        The jobs to submit, sorted by time.
    dumps, patience, progress
        As for `feed`.

    Raises
    ------
    ClusterError
        If the cluster does not start, or a daemon ends.
    """
    with cluster:
        text = Path(cluster.directory, "slurm.conf").read_text("utf-8")
        listed = cluster.command("scontrol", "show", "reservation", "--oneliner")
        fed = feed(cluster, jobs, dumps=dumps, patience=patience, progress=progress)
        course = cluster.clock.course()
        completions, accounting = cluster.completions(), cluster.accounting()
        log = Path(cluster.directory, "log/slurmctld.log").read_text("utf-8", "replace")
        text = text.replace(str(cluster.directory), "DIRECTORY")
    stream = returned_stream(completions, fed, cluster.nodes)
    waiting = stream.filter(pl.col("start_time").is_null(), pl.col("slurm_id").is_in([*fed.left]))
    return RealRun(
        stream,
        fed.origin,
        cluster.version,
        text,
        cluster.nodes,
        {each.job.job_id: each.refusal for each in fed.issued if each.refusal is not None},
        tuple(waiting["job_id"]),
        completions,
        accounting,
        course,
        reservations_in(listed, fed.origin, [node.name for node in cluster.nodes]),
        tuple(fed.dumps),
        log,
    )


def notes_of(
    workload: Workload,
    configuration: Configuration,
    jobs: list[Submission],
    nodes: Sequence[Node] | None = None,
) -> list[str]:
    """Return the features of a workload and a configuration that a virtual cluster lacks, one sentence each.

    Parameters
    ----------
    workload, configuration, nodes
        The arguments of `submissions`.
    jobs
        The jobs that `submissions` returned.
    """
    found = []
    if left := left_out(workload, jobs, configuration, configuration.nodes if nodes is None else nodes):
        found.append(f"not handed on to Slurm: {'; '.join(left)}")
    if over := sum(job.limit is not None and job.run_time > job.limit * _MINUTE for job in jobs):
        found.append(f"jobs that run longer than their time limit, at which Slurm kills them: {over:,}")
    if configuration.replaced:
        named = ", ".join(configuration.replaced[:_MOST_SHOWN])
        others = len(configuration.replaced) - _MOST_SHOWN
        more = f" and {others} more" if others > 0 else ""
        found.append(f"{configuration.path}: the cluster has its own {named}{more}")
    if configuration.accounts:
        found.append("the model has no accounts: shares and qualities of service do not count there")
    added = rounding(jobs)
    if added.most > 0:
        found.append(
            f"limits are whole minutes: {added.mean:.1f} s longer on average, {added.most:.1f} s at most"
        )
    return found
