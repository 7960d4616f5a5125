"""Requests and conditions of a workload's jobs as options of ``sbatch``."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from batchlab.core.units import format_count
from batchlab.errors import BridgeError, one_line, shown, suggest
from batchlab.workload import dependencies
from batchlab.workload.columns import Attribute, attribute_in, columns_of, time_limits
from batchlab.workload.dependencies import (
    ARRAY_ID,
    BEGIN_TIME,
    DEPENDENCY,
    DEPENDS_ON,
    JOB_NAME,
    TASK_COLUMNS,
    targets_of,
)
from batchlab.workload.node_columns import CONSTRAINT, Constraint, names_in
from batchlab.workload.run_events import CANCELLED_AFTER

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from batchlab.slurm.configuration.cluster import Selection
    from batchlab.slurm.virtual.configuration import Configuration, Node
    from batchlab.workload import Workload

__all__ = [
    "CORES",
    "LIMIT",
    "MODELLED",
    "SUBMIT",
    "ArrayTask",
    "HandedOn",
    "begin_option",
    "handed_on",
    "table_of",
]


class ArrayTask(NamedTuple):
    """A task of a job array.

    Attributes
    ----------
    array, place
        The number of the array, and the index of the task.
    most
        Maximum number of its tasks that run at once; None for all.
    is_whole
        True if the array is submitted as one. Otherwise its tasks are separate jobs.
    """

    array: int
    place: int
    most: int | None
    is_whole: bool = True


@dataclass
class HandedOn:
    """Options of ``sbatch`` for the rows of a table of jobs.

    Attributes
    ----------
    options
        The options of ``sbatch``, per row.
    columns
        Columns for a model of the cluster, by name; None for jobs without a value.
    left
        The requests that are not passed on, with the reason.
    tasks
        The array tasks of rows; None for other jobs. Empty without arrays.
    """

    options: list[list[str]]
    columns: dict[str, list[object]] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    tasks: list[ArrayTask | None] = field(default_factory=list)

    def add(self, name: str, values: Iterable[object], options: Iterable[Sequence[str]] = ()) -> None:
        """Add a column, and optionally sbatch options per job."""
        self.columns[name] = list(values)
        for row, more in zip(self.options, options, strict=False):
            row.extend(more)

    def leave(self, name: str, count: int, reason: str) -> None:
        """Record that a column of `count` jobs is not passed on; nothing for 0 jobs."""
        if count:
            self.left.append(f"{name} of {format_count(count, 'job')} ({reason})")


SUBMIT, LIMIT, CORES = "_submit", "_limit", "_cores"
"""Additional columns: seconds from the first submission, time limit (s), cores per task."""


def table_of(workload: Workload, equivalence: int, duration: float) -> pl.DataFrame:
    """Return the jobs sorted by time, with the columns `SUBMIT`, `LIMIT` and `CORES`.

    Parameters
    ----------
    workload
        The jobs.
    equivalence
        The cores per task, if the workload has none.
    duration
        Jobs submitted more than this many seconds after the first are dropped.

    Raises
    ------
    BridgeError
        If there are no jobs.
    """
    jobs = workload.jobs.sort("submit_time", maintain_order=True)
    first = jobs["submit_time"].min() if len(jobs) else None
    if first is None:
        name = workload.report.named("virtual nodes: the workload")
        raise BridgeError(f"{name} has no jobs; give one that has.")
    cores = pl.col("core") if "core" in workload.resources else pl.lit(equivalence)
    table = jobs.with_columns(
        pl.Series(LIMIT, time_limits(jobs)),
        (pl.col("submit_time") - first).alias(SUBMIT),
        cores.alias(CORES),
    )
    return table.filter(pl.col(SUBMIT) <= duration)


_KIB = 1024


def _memory_options(
    table: pl.DataFrame, selection: Selection, nodes: Sequence[Node], cores: str
) -> Iterator[list[str]]:
    """Yield the memory option of each job; empty for jobs without a request for memory.

    For a job on whole nodes, Slurm multiplies memory per CPU by all CPUs of a node, so such jobs use memory
    per node. So do jobs with one task per node and memory that is no whole number of MiB per CPU.

    Parameters
    ----------
    table
        The jobs: ``tasks``, ``mem`` (KiB per task), and optionally ``tasks_per_node`` and ``exclusive``.
    selection, nodes
        The selection and the nodes of the cluster.
    cores
        The column with the cores per task.
    """
    columns = [table[name].to_list() for name in ("tasks", cores, "mem")]
    columns += [_or_nothing(table, name) for name in ("tasks_per_node", "exclusive")]
    for tasks, each, amount, most, exclusive in zip(*columns, strict=True):
        if not amount:
            yield []
        elif exclusive or selection.type == "linear":
            yield _of_whole_nodes(nodes, tasks, each, amount, most)
        elif (tasks == 1 or most == 1) and amount % (each * _KIB):
            yield [f"--mem={_mebibytes(amount)}M"]
        else:
            yield [f"--mem-per-cpu={_mebibytes(-(-amount // each))}M"]


def _of_whole_nodes(
    nodes: Sequence[Node], tasks: int, cores: int, amount: int, most: int | None
) -> list[str]:
    """Return the memory per node, and the number of tasks per node if memory determines it."""
    by_cores = max(1, *(node.cores // cores for node in nodes))
    by_memory = max(1, *((node.memory or 0) * _KIB // amount for node in nodes))
    on_node = min(tasks, most or min(by_cores, by_memory))
    spread = not most and by_memory < min(by_cores, tasks)
    return [f"--mem={_mebibytes(on_node * amount)}M", *([f"--ntasks-per-node={on_node}"] if spread else [])]


def _mebibytes(amount: int) -> int:
    return -(-amount // _KIB)


def _or_nothing(table: pl.DataFrame, name: str) -> list[int | bool | None]:
    return table[name].to_list() if name in table.columns else [None] * len(table)


_CONDITIONS = (*TASK_COLUMNS, BEGIN_TIME, DEPENDENCY, CANCELLED_AFTER, "user", JOB_NAME)
"""The columns of conditions that have the same name in a simulation."""


def begin_option(instant: float) -> str:
    """Return the option for a begin time: a UNIX time, rounded up to whole seconds."""
    return f"--begin={datetime.fromtimestamp(math.ceil(instant), UTC):%Y-%m-%dT%H:%M:%S}"


def _conditions(found: HandedOn, table: pl.DataFrame) -> None:
    """Add the conditions of jobs.

    Parameters
    ----------
    found
        Collects the columns. Most options depend on earlier submissions, and are created later.
    table
        The jobs, as from `table_of`.
    """
    first: Any = table["submit_time"].min()
    if BEGIN_TIME in table.columns and table[BEGIN_TIME].count():
        begins = table[BEGIN_TIME].to_list()
        found.add(BEGIN_TIME, [None if at is None else max(0.0, math.ceil(at - first)) for at in begins])
    if CANCELLED_AFTER in table.columns and table[CANCELLED_AFTER].count():
        found.add(CANCELLED_AFTER, table[CANCELLED_AFTER].to_list())
    _dependencies(found, table)
    _arrays(found, table)


def _arrays(found: HandedOn, table: pl.DataFrame) -> None:
    """Add the tasks of arrays; tasks with equal requests and submit times are submitted as one array."""
    if ARRAY_ID not in table.columns or not table[ARRAY_ID].count():
        return
    places = table.select(TASK_COLUMNS).rows()
    nothing: list[object] = [None] * len(table)
    told = [found.columns.get(name, nothing) for name in (BEGIN_TIME, DEPENDENCY, "partition", "constraint")]
    asked = zip(*(table[name] for name in (SUBMIT, LIMIT, "tasks", CORES)), *told, strict=True)
    kinds: dict[int, set[object]] = {}
    for (array, *_), each, options in zip(places, asked, found.options, strict=True):
        if array is not None:
            kinds.setdefault(array, set()).add((*each, *options))
    unlike = {array for array, each in kinds.items() if len(each) > 1}
    count = sum(array in unlike for array, *_ in places)
    found.leave(ARRAY_ID, count, "tasks of one array differ in what they ask for")
    found.tasks = [
        None if array is None else ArrayTask(array, place, most, array not in unlike)
        for array, place, most in places
    ]
    whole = [(None, None, None) if place[0] in unlike else place for place in places]
    for name, values in zip(TASK_COLUMNS, zip(*whole, strict=True), strict=True):
        found.add(name, values)


def _dependencies(found: HandedOn, table: pl.DataFrame) -> None:
    """Add dependencies on jobs that are submitted earlier, as one text per job."""
    names = [name for name in (DEPENDS_ON, DEPENDENCY) if name in table.columns and table[name].count()]
    if not names:
        return
    lists = table[DEPENDS_ON].to_list() if DEPENDS_ON in names else [None] * len(table)
    texts = table[DEPENDENCY].to_list() if DEPENDENCY in names else [None] * len(table)
    pairs = [*zip(lists, texts, strict=True)]
    mixed = sum(bool(others) and dependencies.ANY in (text or "") for others, text in pairs)
    found.leave(DEPENDS_ON, mixed, "sbatch does not combine it with alternatives in dependency")
    joined = [_joined(others, text) for others, text in pairs]
    found.add(DEPENDENCY, joined)
    found.leave(DEPENDENCY, _naming_later_jobs(table, joined), "it names jobs that are not submitted before")
    if any(dependencies.SINGLETON in (text or "") for text in joined):
        _name_singletons(found, table)


def _joined(others: list[int] | None, text: str | None) -> str | None:
    if not others or dependencies.ANY in (text or ""):
        return text
    return dependencies.ALL.join(filter(None, (":".join(["afterok", *map(str, others)]), text)))


def _naming_later_jobs(table: pl.DataFrame, texts: list[str | None]) -> int:
    submitted: set[int] = set()
    count = 0
    for number, text in zip(table["job_id"].to_list(), texts, strict=True):
        count += any(target.job not in submitted for target in targets_of(text))
        submitted.add(number)
    return count


def _name_singletons(found: HandedOn, table: pl.DataFrame) -> None:
    """Name jobs by user and name: Slurm compares both, and has one user for all jobs."""
    users, names = attribute_in(table, "user").to_list(), table[JOB_NAME].to_list()
    pairs = [*zip(users, names, strict=True)]
    numbers = {pair: number for number, pair in enumerate(dict.fromkeys(pairs))}
    found.add("user", users)
    found.add(JOB_NAME, names, ([f"--job-name=name{numbers[pair]}"] for pair in pairs))


MODELLED = ("tasks_per_node", "exclusive", "account", "qos", "nice", "requeue", *_CONDITIONS)
"""Columns, other than resources, that are options of sbatch and have the same name in a simulation."""

_MOST_SHOWN = 3
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
    _conditions(found, table)
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
            options = _memory_options(table, selection, nodes, CORES)
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
    column = next((each for each in columns_of("partition") if each in table.columns), "partition")
    found.leave(column, count, f"the cluster has no {_listed(strange)}")


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


def _listed(names: Collection[str]) -> str:
    first = ", ".join(one_line(name) for name in list(names)[:_MOST_SHOWN])
    more = len(names) - _MOST_SHOWN
    return f"{first} and {more} more" if more > 0 else first
