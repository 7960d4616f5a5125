"""What is submitted to a virtual cluster: a workload's jobs as sleeps, with limits in whole minutes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from batchlab.bridge.slurm.handed_on import handed_on
from batchlab.bridge.slurm.table import CORES, LIMIT, SUBMIT, table_of
from batchlab.errors import BridgeError
from batchlab.workload.arrays import TASK_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from batchlab.bridge.slurm.configuration import Configuration, Node
    from batchlab.bridge.slurm.job_options import ArrayTask
    from batchlab.workload import Workload

__all__ = ["Rounding", "Submission", "further_columns", "left_out", "rounding", "submissions"]

_MINUTE = 60.0


@dataclass(frozen=True)
class Submission:
    """A job as Slurm is given it.

    Attributes
    ----------
    job_id
        The workload's.
    submit_time
        When, in seconds from the first second of the stream.
    run_time, requested_time
        What the job sleeps, and its time limit as asked, in seconds; infinite without a limit.
    limit
        The time limit in whole minutes, rounded up, at least 1; None for a job without a limit.
    tasks, cores
        How many, and of how many cores each.
    options
        Further options of ``sbatch``.
    partition
        The partitions of the cluster that the job names, separated by commas.
    constraint
        The features that the job asks for, if nodes of the cluster have some.
    columns
        What else Slurm is told, for a model of the cluster: values by the workload's columns.
    begin
        The earliest start, in seconds from the first second of the stream; None without one.
    dependency
        What must have become of other jobs, by the workload's numbers, in Slurm's syntax.
    array
        The place in an array.
    cancelled_after
        So many seconds after its submission the job is cancelled; it sleeps until then.
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
    """By how much limits are longer than what was requested, in seconds: on average, and at most."""

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
    """Say what is submitted of a workload, and when.

    Parameters
    ----------
    workload
        Its jobs have run times.
    configuration
        The cluster's: its partitions, what it selects, and whether it has accounts.
    nodes
        The cluster's, whose memory, generic resources and features jobs may ask for; those of the
        configuration unless given.
    equivalence
        The cores of a task, where the workload does not say.
    duration
        Jobs that come later than so many seconds (of the cluster's time) after the first are left out.

    Returns
    -------
    list of Submission
        By time; the first job is submitted at 0.

    Raises
    ------
    BridgeError
        If the workload has jobs that cannot be slept, or none; or one asks for a feature that no node has,
        where some have features.
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
    """Return what the jobs of a workload ask for and Slurm is not told, each with the reason.

    Parameters
    ----------
    workload
        Given to `submissions`.
    jobs
        What `submissions` returned.
    configuration, nodes
        The cluster's.
    """
    table = table_of(workload, 1, max((job.submit_time for job in jobs), default=0.0))
    return handed_on(table, configuration, nodes, workload.resources).left


def rounding(jobs: Sequence[Submission]) -> Rounding:
    """Return by how much whole minutes lengthen the limits."""
    added = [job.limit * _MINUTE - job.requested_time for job in jobs if job.limit is not None]
    return Rounding(sum(added) / len(added), max(added)) if added else Rounding(0.0, 0.0)


def further_columns(jobs: Sequence[Submission]) -> list[pl.Series]:
    """Return what Slurm is told besides, in columns of a row per job, as a simulation takes them."""
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
    """Round a limit up as Slurm takes it; 0 would be its word for no limit."""
    return max(1, math.ceil(seconds / _MINUTE))
