"""What is submitted to a virtual cluster: a workload's jobs as sleeps, with limits in whole minutes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from batchlab.errors import BridgeError, shown, suggest
from batchlab.workload.attribute_columns import Attribute, attribute_in
from batchlab.workload.constraints import CONSTRAINT, Constraint

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from batchlab.bridge.slurm.configuration import Configuration, Node
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
        In seconds.
    limit
        The requested time in whole minutes, rounded up, at least 1.
    tasks, cores
        How many, and of how many cores each.
    options
        Further options of ``sbatch``.
    partition
        The partition, where the job names one that the cluster has.
    constraint
        The features that the job asks for, where nodes of the cluster have some.
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
    constraint: str | None = None


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
        Its jobs have run times, and ask for cores only.
    configuration
        The cluster's: its partitions, and whether it has accounts.
    nodes
        The cluster's, whose features jobs may ask for; those of the configuration unless given.
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
        _submit=pl.col("submit_time") - first,
        _run=pl.col("run_time"),
        _requested=pl.col("requested_time"),
        _cores=cores,
    )
    if duration is not None:
        table = table.filter(pl.col("_submit") <= duration)
    features = _features(configuration.nodes if nodes is None else nodes)
    return list(_each(table, configuration, features))


def rounding(jobs: Sequence[Submission]) -> Rounding:
    """Give by how much whole minutes lengthen the limits."""
    added = [job.limit * _MINUTE - job.requested_time for job in jobs]
    return Rounding(sum(added) / len(added), max(added)) if added else Rounding(0.0, 0.0)


def unused_columns(workload: Workload, jobs: Sequence[Submission]) -> list[str]:
    """Give the columns that say what jobs wait for or ask for, and which a virtual cluster is not given."""
    names = _CONDITIONS if any(job.constraint for job in jobs) else (*_CONDITIONS, CONSTRAINT)
    return [name for name in names if name in workload.jobs.columns and workload.jobs[name].count()]


def _each(
    table: pl.DataFrame, configuration: Configuration, features: Collection[str]
) -> Iterator[Submission]:
    options, partitions = _options(table, configuration), _partitions(table, configuration)
    columns = ("job_id", "_submit", "_run", "_requested", "tasks", "_cores")
    constraints = _constraints(table, features)
    rows = zip(table.select(columns).iter_rows(), options, partitions, constraints, strict=True)
    for row, more, named, asked in rows:
        job_id, submit, run, requested, tasks, cores = row
        limit = _minutes(requested)
        yield Submission(job_id, submit, run, requested, limit, tasks, cores, more, named, asked)


def _features(nodes: Sequence[Node]) -> list[str]:
    return list(dict.fromkeys(name for node in nodes for name in node.features))


def _constraints(table: pl.DataFrame, features: Collection[str]) -> list[str | None]:
    """Give the features that each job asks for; none where no node has any."""
    if not features or CONSTRAINT not in table.columns:
        return [None] * len(table)
    asked = table[CONSTRAINT].to_list()
    for job, text in zip(table["job_id"], asked, strict=True):
        if text is not None:
            _check_constraint(text, f"job {job}: {CONSTRAINT} = {shown(text)}", features)
    return asked


def _check_constraint(text: str, where: str, features: Collection[str]) -> None:
    try:
        names = Constraint.of(text).names
    except ValueError as broken:
        raise BridgeError(f"{where}: {broken}.") from None
    unknown = next((name for name in names if name not in features), None)
    if unknown is not None:
        raise BridgeError(
            f"{where}: no node has the feature {unknown!r}. Give it to nodes in slurm.conf, or change the "
            f"column.{suggest(unknown, features)}"
        )


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
