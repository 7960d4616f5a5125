"""Our own model of a virtual cluster: the same machine, the same policy, and the stream that came back."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

import polars as pl

from batchlab.bridge.slurm.configuration import Node
from batchlab.bridge.slurm.partitions import default_partition, partitions_of
from batchlab.errors import BridgeError, one_line
from batchlab.simulation import simulate
from batchlab.system import NodeGroup, System
from batchlab.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from batchlab.bridge.slurm.configuration import Configuration
    from batchlab.bridge.slurm.submission import Submission
    from batchlab.policy import Policy
    from batchlab.result.result import Result

__all__ = ["planned_stream", "policy_of", "run_model", "system_of"]

_DAY = 86_400.0
_DURATION = re.compile(r"(?:([0-9]+)-)?([0-9]+(?::[0-9]+){0,2})")
_WEIGHTS = {
    "age": "priorityweightage",
    "job_size": "priorityweightjobsize",
    "partition": "priorityweightpartition",
}
_COLUMNS = {
    "job_id": pl.Int64,
    "submit_time": pl.Float64,
    "run_time": pl.Float64,
    "requested_time": pl.Float64,
    "tasks": pl.Int64,
    "core": pl.Int64,
}
_RULES = {"sched/builtin": "fcfs", "sched/backfill": "conservative"}
_MINUTE = 60.0


def policy_of(configuration: Configuration) -> str:
    """Give the policy that a ``slurm.conf`` describes, as far as our rules have it.

    ``sched/builtin`` is ``fcfs``; ``sched/backfill`` reserves for every waiting job, so it is
    ``conservative``, or ``easy`` where ``bf_job_part_count_reserve=1`` lets it reserve for one. Of the
    multifactor priority the weights of age, size and partition are taken. Slurm's polling is not modelled.

    Raises
    ------
    BridgeError
        If there is no such rule.
    """
    settings = configuration.settings
    scheduler = settings.get("schedulertype", "sched/backfill").lower()
    if scheduler not in _RULES:
        raise BridgeError(
            f"{configuration.path}: SchedulerType = {one_line(scheduler)}; the model knows "
            f"{', '.join(_RULES)}. Pass the policy."
        )
    rule = _RULES[scheduler]
    if rule == "conservative" and "bf_job_part_count_reserve=1" in _options(
        settings.get("schedulerparameters", "")
    ):
        rule = "easy"
    if settings.get("prioritytype", "priority/basic").lower() != "priority/multifactor":
        return rule
    order = _multifactor(settings)
    if order == "fcfs":
        return rule
    return order if rule == "fcfs" else f"{rule}(order={order})"


def system_of(nodes: Sequence[Node], configuration: Configuration) -> System:
    """Make the machine of a virtual cluster: groups of equal nodes, in its order, and its partitions."""
    runs = [(kind, len(list(each))) for kind, each in groupby((node.cores, node.features) for node in nodes)]
    groups = tuple(
        NodeGroup(name=f"n{place}", count=count, resources={"core": cores}, features=features)
        for place, ((cores, features), count) in enumerate(runs)
    )
    partitions = partitions_of(configuration, nodes)
    return System(groups=groups, name="virtual nodes", partitions=partitions)


def nodes_of(system: System) -> tuple[Node, ...]:
    """Make the virtual nodes of a machine: ``n1`` and so on, in its order, with its cores.

    Raises
    ------
    BridgeError
        If its nodes have no cores.
    """
    each = [group.resources.get("core", 0) for group in system.groups for _ in range(group.count)]
    if 0 in each:
        raise BridgeError("virtual nodes have cores; every node of the machine must have some.")
    return tuple(Node(f"n{number}", cores, (f"CPUs={cores}",)) for number, cores in enumerate(each, 1))


def planned_stream(jobs: Sequence[Submission]) -> pl.DataFrame:
    """Make the table of a stream that is not submitted to a cluster, for model time alone."""
    rows = [
        (
            job.job_id,
            job.submit_time,
            job.run_time,
            job.limit * _MINUTE,
            job.tasks,
            job.cores,
            job.partition,
            job.constraint,
        )
        for job in jobs
    ]
    schema = {**_COLUMNS, "partition": pl.String, "constraint": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def run_model(
    stream: pl.DataFrame,
    nodes: Sequence[Node],
    configuration: Configuration,
    policy: str | Policy | None = None,
    *,
    seed: int = 0,
) -> Result:
    """Simulate a stream under the policy of a virtual cluster.

    Parameters
    ----------
    stream
        Columns ``job_id``, ``submit_time``, ``run_time``, ``requested_time`` (s), ``tasks``, ``core`` (per
        task), ``partition`` and, where nodes have features, ``constraint``. Its start times are not looked
        at; jobs without a run time are left out.
    nodes, configuration
        The cluster's.
    policy
        `policy_of` the configuration unless given.
    seed
        For policies that use chance.
    """
    system = system_of(nodes, configuration)
    named = [pl.col("partition").fill_null(default_partition(configuration))] if system.partitions else []
    named += [pl.col("constraint")] if any(node.features for node in nodes) else []
    table = stream.filter(pl.col("run_time").is_not_null()).select(*_COLUMNS, *named)
    if configuration.whole_nodes:
        table = table.with_columns(exclusive=True)
    # A job that Slurm killed late has run longer than its limit, and does so here.
    workload = Workload.from_table(table, resources=["core"], overrun="keep")
    return simulate(workload, system, policy or policy_of(configuration), seed=seed)


def _multifactor(settings: Mapping[str, str]) -> str:
    """Give the order with the weights that a job has without accounts and partitions."""
    weights = {name: value for name, key in _WEIGHTS.items() if (value := int(settings.get(key, "0") or 0))}
    if not weights:
        return "fcfs"
    parts = [f"{name}={value}" for name, value in weights.items()]
    parts.append(f"max_age={_duration(settings.get('prioritymaxage', '7-0')):g}")
    parts.append(f"period={_duration(settings.get('prioritycalcperiod', '5')):g}")
    if settings.get("priorityfavorsmall", "no").lower() == "yes":
        parts.append("favour=small")
    return f"multifactor({', '.join(parts)})"


def _duration(text: str) -> float:
    """Read one of Slurm's durations, in seconds: ``5`` (minutes), ``5:00``, ``1:00:00``, ``7-0``."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise BridgeError(
            f"{one_line(text)!r} is no duration of Slurm's; write e.g. 1-12:00:00. Or pass the policy."
        )
    days, parts = found[1], [int(part) for part in found[2].split(":")]
    if days is not None:
        hours, minutes, seconds = (*parts, 0, 0)[:3]
    elif len(parts) == len(("hours", "minutes", "seconds")):
        hours, minutes, seconds = parts
    else:
        hours, (minutes, seconds) = 0, (*parts, 0)[:2]
    return int(days or 0) * _DAY + (hours * 60 + minutes) * _MINUTE + seconds


def _options(text: str) -> list[str]:
    return [option.strip() for option in text.lower().split(",")]
