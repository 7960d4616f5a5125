"""What is submitted to a virtual cluster: a workload's jobs as sleeps, with limits in whole minutes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from batchlab.errors import BridgeError
from batchlab.workload.attribute_columns import Attribute, attribute_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from batchlab.bridge.slurm.configuration import Configuration
    from batchlab.workload import Workload

__all__ = ["Rounding", "Submission", "rounding", "submissions", "unused_columns"]

_MINUTE = 60.0
_CONDITIONS = ("depends_on", "dependency", "begin_time", "array_id", "node_group", "reservation", "nice")
_OWNED: tuple[Attribute, ...] = ("account", "qos")


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
        In seconds, after compression.
    limit
        The requested time in whole minutes, rounded up, at least 1.
    tasks, cores
        How many, and of how many cores each.
    options
        Further options of ``sbatch``.
    partition
        The partition, where the job names one that the cluster has.
    """

    job_id: int
    submit_time: float
    run_time: float
    requested_time: float
    limit: int
    tasks: int
    cores: int
    options: tuple[str, ...] = ()
    partition: str | None = None


@dataclass(frozen=True)
class Rounding:
    """By how much limits are longer than what was requested, in seconds: on average, and at most."""

    mean: float
    most: float


def submissions(
    workload: Workload,
    configuration: Configuration,
    *,
    equivalence: int = 1,
    speed: float = 1.0,
    duration: float | None = None,
) -> list[Submission]:
    """Say what is submitted of a workload, and when.

    Parameters
    ----------
    workload
        Its jobs have run times, and ask for cores only.
    configuration
        The cluster's: its partitions, and whether it has accounts.
    equivalence
        The cores of a task, where the workload does not say.
    speed
        All times are divided by it. Limits are rounded up to minutes afterwards.
    duration
        Jobs that come later than so many seconds (of the cluster's time) after the first are left out.

    Returns
    -------
    list of Submission
        By time; the first job is submitted at 0.

    Raises
    ------
    BridgeError
        If the workload has jobs that cannot be slept, or none.
    """
    more = [name for name in workload.resources if name != "core"]
    if more:
        raise BridgeError(f"virtual nodes have cores only; the jobs ask for {', '.join(more)}. Leave it out.")
    if workload.applications:
        raise BridgeError(
            "virtual nodes: jobs sleep, and applications have no run time; run them on a platform."
        )
    jobs = workload.jobs.sort("submit_time", maintain_order=True)
    first = jobs["submit_time"].min() if len(jobs) else None
    if first is None:
        name = workload.report.named("virtual nodes: the workload")
        raise BridgeError(f"{name} has no jobs; give one that has.")
    cores = pl.col("core") if "core" in workload.resources else pl.lit(equivalence)
    table = jobs.with_columns(
        _submit=(pl.col("submit_time") - first) / speed,
        _run=pl.col("run_time") / speed,
        _requested=pl.col("requested_time") / speed,
        _cores=cores,
    )
    if duration is not None:
        table = table.filter(pl.col("_submit") <= duration)
    return list(_each(table, configuration))


def rounding(jobs: Sequence[Submission]) -> Rounding:
    """Give by how much whole minutes lengthen the limits."""
    added = [job.limit * _MINUTE - job.requested_time for job in jobs]
    return Rounding(sum(added) / len(added), max(added)) if added else Rounding(0.0, 0.0)


def unused_columns(workload: Workload) -> list[str]:
    """Give the columns that say what jobs wait for, and which a virtual cluster is not given."""
    return [name for name in _CONDITIONS if name in workload.jobs.columns and workload.jobs[name].count()]


def _each(table: pl.DataFrame, configuration: Configuration) -> Iterator[Submission]:
    options, partitions = _options(table, configuration), _partitions(table, configuration)
    columns = ("job_id", "_submit", "_run", "_requested", "tasks", "_cores")
    for row, more, named in zip(table.select(columns).iter_rows(), options, partitions, strict=True):
        job_id, submit, run, requested, tasks, cores = row
        yield Submission(job_id, submit, run, requested, _minutes(requested), tasks, cores, more, named)


def _minutes(seconds: float) -> int:
    """Round a limit up as Slurm takes it; 0 would be its word for no limit."""
    return max(1, math.ceil(seconds / _MINUTE))


def _options(table: pl.DataFrame, configuration: Configuration) -> list[tuple[str, ...]]:
    found: list[list[str]] = [[] for _ in range(len(table))]
    for name, word in (("tasks_per_node", "--ntasks-per-node={}"), ("exclusive", "--exclusive")):
        if name in table.columns:
            for row, value in enumerate(table[name]):
                found[row] += [word.format(value)] if value else []
    for name in _OWNED if configuration.accounts else ():
        for row, value in enumerate(attribute_in(table, name)):
            found[row] += [f"--{name}={value}"] if value else []
    return [tuple(each) for each in found]


def _partitions(table: pl.DataFrame, configuration: Configuration) -> list[str | None]:
    known = {*configuration.partitions}
    return [name if name in known else None for name in attribute_in(table, "partition")]
