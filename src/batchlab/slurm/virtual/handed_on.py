"""Requests of jobs as options of ``sbatch``: memory, generic resources, whole nodes, owners, partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from batchlab.errors import BridgeError, one_line, shown, suggest
from batchlab.slurm.virtual.conditions import CONDITIONS, hand_on_conditions
from batchlab.slurm.virtual.job_options import HandedOn
from batchlab.slurm.virtual.memory import memory_options
from batchlab.slurm.virtual.table import CORES
from batchlab.workload.columns import Attribute, attribute_in, columns_of
from batchlab.workload.node_columns import CONSTRAINT, Constraint, names_in

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from batchlab.slurm.configuration.cluster import Selection
    from batchlab.slurm.virtual.configuration import Configuration, Node

__all__ = ["MODELLED", "handed_on"]

MODELLED = ("tasks_per_node", "exclusive", "account", "qos", "nice", "requeue", *CONDITIONS)
"""Columns, other than resources, that are options of sbatch and have the same name in a simulation."""

_MOST_SHOWN = 3
_KIB = 1024
_DEVICES = "gpu"
_BY_NODE = "sbatch counts it by node, and their nodes may have different numbers of tasks"


def handed_on(
    table: pl.DataFrame, configuration: Configuration, nodes: Sequence[Node], resources: Sequence[str] = ()
) -> HandedOn:
    """Return the sbatch options of jobs, and the requests that cannot be passed on.

    Parameters
    ----------
    table
        The jobs, as from `table_of`.
    configuration, nodes
        The configuration and the nodes of the cluster.
    resources
        The resources that the jobs request; resources of the nodes are always included.

    Raises
    ------
    BridgeError
        If a job requests a feature that no node has, although some nodes have features.
    """
    found = HandedOn([[] for _ in range(len(table))])
    _shape(found, table)
    _memory(found, table, configuration, nodes)
    _devices(found, table, configuration, nodes, resources)
    _owners(found, table, configuration)
    _order(found, table)
    _partitions(found, table, configuration)
    _constraints(found, table, nodes)
    _reservations(found, table, configuration)
    hand_on_conditions(found, table)
    return found


def _shape(found: HandedOn, table: pl.DataFrame) -> None:
    """Add options for the distribution of tasks over nodes."""
    for name, word in (("tasks_per_node", "--ntasks-per-node={}"), ("exclusive", "--exclusive")):
        if name in table.columns:
            values = table[name].to_list()
            found.add(name, values, ([word.format(value)] if value else [] for value in values))
    if "node_group" in table.columns:
        found.leave("node_group", table["node_group"].count(), "Slurm has partitions and features")


def _memory(
    found: HandedOn, table: pl.DataFrame, configuration: Configuration, nodes: Sequence[Node]
) -> None:
    selection = configuration.selection
    asking = len(table.filter(pl.col("mem") > 0)) if "mem" in table.columns else 0
    if any(node.memory for node in nodes):
        if asking:
            options = memory_options(table, selection, nodes, CORES)
            found.add("mem", _with_default(table, selection), options)
        if selection.memory and not selection.default_memory and asking < len(table):
            lacking = len(table) - asking
            found.leave("mem", lacking, "they ask for none: Slurm gives them all memory of their nodes")
    else:
        found.leave("mem", asking, "no node has RealMemory")


def _with_default(table: pl.DataFrame, selection: Selection) -> list[int]:
    """Return the memory per task (KiB) for the model; by default DefMemPerCPU."""
    each = _KIB * selection.default_memory.get("per_cpu", 0) if selection.memory else 0
    asked = table["mem"] if "mem" in table.columns else [0] * len(table)
    return [amount or each * cores for amount, cores in zip(asked, table[CORES], strict=True)]


def _devices(
    found: HandedOn,
    table: pl.DataFrame,
    configuration: Configuration,
    nodes: Sequence[Node],
    resources: Sequence[str],
) -> None:
    """Add generic resources: per node if each node has equally many tasks, else GPUs per task."""
    by_task = _DEVICES if configuration.selection.type != "linear" else ""
    known = {device.name: device for node in nodes for device in node.gres}
    for name in dict.fromkeys((*known, _DEVICES, *resources)):
        if name in {"core", "mem"} or name not in table.columns:
            continue
        amounts = [amount or 0 for amount in table[name].to_list()]
        if name not in known:
            found.leave(name, sum(map(bool, amounts)), "no node has it")
            continue
        on_node = _tasks_on_each_node(table)
        options = [
            _device(name, amount, *each, by_task=name == by_task) if amount else []
            for amount, each in zip(amounts, on_node, strict=True)
        ]
        asks = [*map(bool, options)]
        unsaid = sum(amount > 0 and not asked for amount, asked in zip(amounts, asks, strict=True))
        found.leave(name, unsaid, _BY_NODE)
        given = [amount if asked else 0 for amount, asked in zip(amounts, asks, strict=True)]
        found.add(name, given, options)


def _tasks_on_each_node(table: pl.DataFrame) -> list[tuple[int, int | None]]:
    """Return the tasks of each job, and how many of them each of its nodes has; None if this may vary."""
    most = table["tasks_per_node"].fill_null(0) if "tasks_per_node" in table.columns else [0] * len(table)
    found: list[tuple[int, int | None]] = []
    for tasks, limit in zip(table["tasks"], most, strict=True):
        each = 1 if tasks == 1 else limit
        found.append((tasks, each if each and tasks % each == 0 else None))
    return found


def _device(name: str, amount: int, tasks: int, each: int | None, *, by_task: bool) -> list[str]:
    if each is not None:
        return [f"--gres={name}:{amount * min(each, tasks)}"]
    return [f"--gpus-per-task={amount}"] if by_task else []


def _owners(found: HandedOn, table: pl.DataFrame, configuration: Configuration) -> None:
    owned: tuple[Attribute, ...] = ("account", "qos")
    for name in owned:
        values = attribute_in(table, name)
        if not values.count():
            continue
        if configuration.accounts:
            words = ([] if value is None else [f"--{name}={value}"] for value in values)
            found.add(name, values.to_list(), words)
        else:
            found.leave(name, values.count(), "the configuration needs no accounts")
    users = attribute_in(table, "user")
    if configuration.accounts and users.n_unique() > 1:
        found.leave("user", users.count(), "the user who runs the cluster submits all jobs")


def _order(found: HandedOn, table: pl.DataFrame) -> None:
    if "nice" in table.columns:
        values = [None if value is None else round(value) for value in table["nice"].to_list()]
        found.add("nice", values, ([f"--nice={value}"] if value else [] for value in values))
    if "requeue" in table.columns:
        flags = table["requeue"].to_list()
        words = {True: ["--requeue"], False: ["--no-requeue"], None: []}
        found.add("requeue", flags, map(words.__getitem__, flags))


def _partitions(found: HandedOn, table: pl.DataFrame, configuration: Configuration) -> None:
    """Add the partitions of jobs that the cluster has."""
    known = {*configuration.partitions}
    named = attribute_in(table, "partition").to_list()
    split = [[] if text is None else names_in(text) for text in named]
    found.add(
        "partition",
        [",".join(name for name in names if name in known) or None for names in split],
    )
    strange = dict.fromkeys(name for names in split for name in names if name not in known)
    count = sum(not known.issuperset(names) for names in split)
    found.leave(_column("partition", table), count, f"the cluster has no {_listed(strange)}")


def _reservations(found: HandedOn, table: pl.DataFrame, configuration: Configuration) -> None:
    """Add the reservations of jobs that the configuration creates."""
    named = attribute_in(table, "reservation").to_list()
    strange = {name: None for name in named if name not in (None, *configuration.reservations)}
    count = sum(name in strange for name in named)
    found.leave("reservation", count, f"scontrol.txt makes no {_listed(strange)}")
    kept = [None if name in strange else name for name in named]
    if any(kept):
        found.add("reservation", kept, ([f"--reservation={name}"] if name else [] for name in kept))


def _constraints(found: HandedOn, table: pl.DataFrame, nodes: Sequence[Node]) -> None:
    """Add the features that jobs request; none if no node has features."""
    features = list(dict.fromkeys(name for node in nodes for name in node.features))
    if CONSTRAINT not in table.columns:
        return
    if not features:
        found.leave(CONSTRAINT, table[CONSTRAINT].count(), "no node has features")
        return
    asked = table[CONSTRAINT].to_list()
    for job, text in zip(table["job_id"], asked, strict=True):
        if text is not None:
            _check_constraint(text, f"job {job}: {CONSTRAINT} = {shown(text)}", features)
    found.add(CONSTRAINT, asked)


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


def _column(name: Attribute, table: pl.DataFrame) -> str:
    return next((column for column in columns_of(name) if column in table.columns), name)


def _listed(names: Collection[str]) -> str:
    first = ", ".join(one_line(name) for name in list(names)[:_MOST_SHOWN])
    more = len(names) - _MOST_SHOWN
    return f"{first} and {more} more" if more > 0 else first
