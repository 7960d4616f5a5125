"""An experiment with virtual nodes: run a workload in Slurm, and compare the result with our model."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, cast

import polars as pl

from batchlab.slurm.virtual.controller_log import measure
from batchlab.slurm.virtual.feed import feed
from batchlab.slurm.virtual.reservations import reservations_in
from batchlab.slurm.virtual.stream import returned_stream
from batchlab.slurm.virtual.submission import left_out, rounding

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from batchlab.slurm.virtual.clock import Course
    from batchlab.slurm.virtual.cluster import VirtualCluster
    from batchlab.slurm.virtual.configuration import Configuration, Node
    from batchlab.slurm.virtual.controller_log import Measured
    from batchlab.slurm.virtual.dumps import Dump
    from batchlab.slurm.virtual.submission import Submission
    from batchlab.system import Reservation
    from batchlab.workload import Workload

__all__ = ["RealRun", "notes_of", "run_real"]

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
    measured
        Times of the controller's work, from its log; None for a stream created by hand.
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
    measured: Measured | None = None

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
            found.append(f"{len(self.left)} jobs waited when nothing ran, and were cancelled: {listed}")
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
        measure(log, stream, fed.origin),
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
