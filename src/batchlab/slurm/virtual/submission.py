"""Convert a workload for a virtual cluster: jobs that sleep, with limits in whole minutes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from batchlab.errors import BridgeError
from batchlab.slurm.virtual.handed_on import CORES, LIMIT, SUBMIT, handed_on, table_of
from batchlab.workload.dependencies import TASK_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from batchlab.slurm.virtual.configuration import Configuration, Node
    from batchlab.slurm.virtual.handed_on import ArrayTask
    from batchlab.workload import Workload

__all__ = ["Rounding", "Submission", "further_columns", "left_out", "rounding", "submissions"]

_MINUTE = 60.0


@dataclass(frozen=True)
class Submission:
    """A job to submit to Slurm.

    Attributes
    ----------
    job_id
        The number in the workload.
    submit_time
        Submit time, in seconds from the origin of the stream.
    run_time, requested_time
        The sleep time, and the requested time limit, in seconds; infinite without a limit.
    limit
        The time limit in whole minutes, rounded up, at least 1; None for a job without a limit.
    tasks, cores
        Number of tasks, and cores per task.
    options
        Further options of ``sbatch``.
    partition
        The partitions of the cluster that the job names, comma-separated.
    constraint
        The features that the job requests, if nodes of the cluster have features.
    columns
        Values passed to Slurm that a model of the cluster needs, by the workload's columns.
    begin
        The earliest start, in seconds from the origin of the stream; None without one.
    dependency
        Conditions on other jobs, with the workload's numbers, in Slurm's syntax.
    array
        The position in a job array.
    cancelled_after
        Delay after the submission at which the job is cancelled; its sleep lasts until then.
    """

    job_id: int
    submit_time: float
    run_time: float
    requested_time: float
    limit: int | None
    tasks: int
    cores: int
    options: tuple[str, ...] = ()
    partition: str | None = None
    constraint: str | None = None
    columns: Mapping[str, object] = field(default_factory=dict, hash=False)
    begin: float | None = None
    dependency: str | None = None
    array: ArrayTask | None = None
    cancelled_after: float | None = None


@dataclass(frozen=True)
class Rounding:
    """The difference between limits and requested times, in seconds: mean and maximum."""

    mean: float
    most: float


def submissions(
    workload: Workload,
    configuration: Configuration,
    *,
    nodes: Sequence[Node] | None = None,
    equivalence: int = 1,
    duration: float | None = None,
) -> list[Submission]:
    """Return the submissions of a workload.

    Parameters
    ----------
    workload
        The workload; its jobs must have run times.
    configuration
        The configuration of the cluster: partitions, selection, and whether it has accounts.
    nodes
        The nodes of the cluster, with the memory, generic resources and features that jobs may request; by
        default those of the configuration.
    equivalence
        The cores per task, if the workload has none.
    duration
        Jobs submitted more than this many seconds (of cluster time) after the first are dropped.

    Returns
    -------
    list of Submission
        Sorted by time; the first job is submitted at 0.

    Raises
    ------
    BridgeError
        If the workload has no jobs, or jobs with applications, or a job requests a feature that no node has
        although some nodes have features.
    """
    if workload.applications:
        raise BridgeError(
            "virtual nodes: jobs sleep, and applications have no run time; run them on a platform."
        )
    table = table_of(workload, equivalence, math.inf if duration is None else duration)
    chosen = configuration.nodes if nodes is None else nodes
    return list(_each(table, configuration, chosen, workload.resources))


def left_out(
    workload: Workload, jobs: Sequence[Submission], configuration: Configuration, nodes: Sequence[Node]
) -> list[str]:
    """Return the requests of a workload that are not passed on to Slurm, each with the reason.

    Parameters
    ----------
    workload
        The argument of `submissions`.
    jobs
        The result of `submissions`.
    configuration, nodes
        The configuration and the nodes of the cluster.
    """
    table = table_of(workload, 1, max((job.submit_time for job in jobs), default=0.0))
    return handed_on(table, configuration, nodes, workload.resources).left


def rounding(jobs: Sequence[Submission]) -> Rounding:
    """Return by how much rounding up to whole minutes lengthens the limits."""
    added = [job.limit * _MINUTE - job.requested_time for job in jobs if job.limit is not None]
    return Rounding(sum(added) / len(added), max(added)) if added else Rounding(0.0, 0.0)


def further_columns(jobs: Sequence[Submission]) -> list[pl.Series]:
    """Return the further columns of the jobs, one row per job, for a simulation."""
    names = dict.fromkeys(name for job in jobs for name in job.columns)
    kinds = {"begin_time": pl.Float64, "cancelled_after": pl.Float64, "dependency": pl.String}
    kinds |= dict.fromkeys(TASK_COLUMNS, pl.Int64)
    return [pl.Series(name, [job.columns.get(name) for job in jobs], kinds.get(name)) for name in names]


def _each(
    table: pl.DataFrame, configuration: Configuration, nodes: Sequence[Node], resources: Sequence[str]
) -> Iterator[Submission]:
    told = handed_on(table, configuration, nodes, resources)
    columns = ("job_id", SUBMIT, "run_time", LIMIT, "tasks", CORES)
    for place, row in enumerate(table.select(columns).iter_rows()):
        job_id, submit, run, asked, tasks, cores = row
        more = {name: values[place] for name, values in told.columns.items()}
        partition: Any = more.pop("partition", None)
        constraint: Any = more.pop("constraint", None)
        options = tuple(told.options[place])
        limit = None if math.isinf(asked) else _minutes(asked)
        begin: Any = more.get("begin_time")
        dependency: Any = more.get("dependency")
        cancelled: Any = more.get("cancelled_after")
        task = told.tasks[place] if told.tasks else None
        job = (job_id, submit, run if cancelled is None else cancelled, asked, limit, tasks, cores)
        conditions = (begin, dependency, task, cancelled)
        yield Submission(*job, options, partition, constraint, more, *conditions)


def _minutes(seconds: float) -> int:
    """Round a limit up to whole minutes, at least 1: 0 means no limit in Slurm."""
    return max(1, math.ceil(seconds / _MINUTE))
