"""The jobs of a live cluster as a table: the columns of a workload."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from batchlab.errors import DumpError, one_line, shown, suggest
from batchlab.slurm.configuration.values import YEAR
from batchlab.workload.dependencies import parse_dependency, targets_of
from batchlab.workload.node_columns import Constraint
from batchlab.workload.resource_names import resource_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from batchlab.slurm import PartitionLine, SlurmConfiguration
    from batchlab.slurm.dumps.state import LiveJob, LiveState
    from batchlab.system import System

__all__ = [
    "MOST_SUGGESTED",
    "LiveRow",
    "Remarked",
    "TaskRequest",
    "first_names",
    "holding_of",
    "request_of",
    "rows_of",
    "shares_of",
    "table_of",
]

_MOST_NAMED = 5


@dataclass
class Remarked:
    """Remarks, and the jobs, nodes or reservations that each is about."""

    found: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, sentence: str, name: object = "", count: int = 1) -> None:
        """Add something that a remark is about; `count` jobs, if it stands for several."""
        names = self.found.setdefault(sentence, {})
        key = one_line(str(name))
        names[key] = names.get(key, 0) + count

    def as_text(self) -> tuple[str, ...]:
        """Return the remarks: ``"… (3: 12, 13, 17)"``."""
        return tuple(f"{sentence}{_listed(names)}" for sentence, names in self.found.items())


def _listed(names: dict[str, int]) -> str:
    if [*names] == [""]:
        return ""
    return f" ({sum(names.values()):,}: {first_names(names)})"


def first_names(names: Collection[str]) -> str:
    """Return the first names of jobs, nodes or reservations, separated by commas."""
    return ", ".join([*names][:_MOST_NAMED]) + (", …" if len(names) > _MOST_NAMED else "")


_KILOBYTES = 1024
_LARGEST = 2**53


@dataclass(frozen=True)
class TaskRequest:
    """A request as equal tasks.

    Attributes
    ----------
    tasks, core
        Number of tasks, and CPUs of each.
    tasks_per_node
        Most tasks on a node; 0 for no bound.
    memory
        kB of each task; None if unknown.
    resources
        Generic resources of each task.
    """

    tasks: int
    core: int
    tasks_per_node: int
    memory: int | None
    resources: Mapping[str, int]


def request_of(job: LiveJob) -> TaskRequest:
    """Convert the request of a job that waits to tasks.

    A job has its own tasks, unless CPUs do not follow from them. It has one task on each node if it asks for
    whole nodes or for generic resources of each node, and as many equal tasks as possible if it asks for
    generic resources in all.
    """
    nodes = job.nodes_least
    is_exact = job.nodes_most == nodes and nodes > 1
    if job.exclusive or job.gres_per_node:
        return _request(job, nodes, -(-job.cpus // nodes), 1)
    tasks = _tasks(job)
    most = job.tasks_per_node or 0
    if is_exact and not most:
        most = -(-tasks // nodes)
    return _request(job, tasks, -(-job.cpus // tasks), most)


def _tasks(job: LiveJob) -> int:
    if job.gres_per_job:
        return max(math.gcd(job.cpus, *job.gres_per_job.values()), 1)
    if job.gres_per_task and job.tasks:
        return job.tasks
    if job.tasks and (job.cpus_per_task is None or job.tasks * job.cpus_per_task == job.cpus):
        return job.tasks if job.cpus % job.tasks == 0 else job.cpus
    return job.cpus


def _request(job: LiveJob, tasks: int, core: int, most: int) -> TaskRequest:
    """Build a request with the shares of memory and generic resources of each task."""
    memory = None
    if job.memory_per_node is not None:
        memory = -(-job.memory_per_node * job.nodes_least // tasks) * _KILOBYTES
    elif job.memory_per_cpu is not None:
        memory = job.memory_per_cpu * core * _KILOBYTES
    resources = {name: -(-total // tasks) for name, total in _totals(job, job.nodes_least, tasks).items()}
    return _bounded(tasks, core, most, memory, resources)


def holding_of(job: LiveJob, shares: Sequence[int]) -> tuple[TaskRequest, tuple[int, ...]]:
    """Convert the CPUs, memory and generic resources that a job holds to tasks.

    Parameters
    ----------
    job
        The job.
    shares
        Its CPUs on each of its nodes.

    Returns
    -------
    tuple
        The tasks, and their numbers on the nodes. There is one on each node if shares are equal; also if the
        job holds generic resources, and its CPUs then count with the smallest share. Else tasks are as large
        as possible. Amounts are rounded down, so that jobs fit where they run.
    """
    nodes = len(shares)
    generic = job.gres_per_node or job.gres_per_task or job.gres_per_job
    if len(set(shares)) == 1 or generic:
        core, on_nodes = min(shares), (1,) * nodes
    else:
        core = math.gcd(*shares)
        on_nodes = tuple(share // core for share in shares)
    tasks = sum(on_nodes)
    memory = None
    if job.memory_per_node is not None:
        memory = job.memory_per_node * _KILOBYTES // max(on_nodes)
    elif job.memory_per_cpu is not None:
        memory = job.memory_per_cpu * core * _KILOBYTES
    resources = {name: total // tasks for name, total in _totals(job, nodes, tasks).items()}
    return _bounded(tasks, core, int(max(on_nodes) == 1), memory, resources), on_nodes


def _totals(job: LiveJob, nodes: int, tasks: int) -> dict[str, int]:
    """Return the generic resources of a job in all."""
    totals: dict[str, int] = {}
    amounts = (job.gres_per_node, nodes), (job.gres_per_task, job.tasks or tasks), (job.gres_per_job, 1)
    for each, times in amounts:
        for name, amount in each.items():
            resource = resource_of(f"gres/{name}")
            totals[resource] = totals.get(resource, 0) + amount * times
    return totals


def _bounded(
    tasks: int, core: int, most: int, memory: int | None, resources: Mapping[str, int]
) -> TaskRequest:
    kilobytes = None if memory is None else min(memory, _LARGEST)
    return TaskRequest(
        tasks, core, most, kilobytes, {name: min(each, _LARGEST) for name, each in resources.items() if each}
    )


def shares_of(jobs: Iterable[LiveJob], room: Mapping[str, int]) -> dict[int, tuple[int, ...]]:
    """Return the CPUs of jobs on each of their nodes, by the number of the job.

    Parameters
    ----------
    jobs
        Jobs that hold nodes.
    room
        The CPUs that jobs hold on each node, or the CPUs that it has.

    Returns
    -------
    dict
        The CPUs in the dump. Jobs without them follow: equal shares, else shares that fit the remaining CPUs
        of each node, else shares as equal as possible.
    """
    left = dict(room)
    found: dict[int, tuple[int, ...]] = {}
    for job in sorted(jobs, key=_is_unknown):
        shares = job.cpus_on_nodes
        if shares is None:
            shares = _fitted(job, [left.get(name, 0) for name in job.nodes])
        for name, cpus in zip(job.nodes, shares, strict=True):
            left[name] = left.get(name, 0) - cpus
        found[job.job_id] = shares
    return found


def _is_unknown(job: LiveJob) -> tuple[bool, bool]:
    """Sort jobs: known shares, then equal shares, then others."""
    is_unknown = job.cpus_on_nodes is None and len(job.nodes) > 1
    return is_unknown, is_unknown and job.cpus % len(job.nodes) > 0


def _fitted(job: LiveJob, left: Sequence[int]) -> tuple[int, ...]:
    """Return shares of at least 1 that fit, as equal as possible."""
    nodes = max(len(job.nodes), 1)
    share, rest = divmod(max(job.cpus, nodes), nodes)
    equal = tuple(share + (at < rest) for at in range(nodes))
    if nodes == 1 or all(cpus <= room for cpus, room in zip(equal, left, strict=True)):
        return equal
    shares = [1] * nodes
    missing = max(job.cpus, nodes) - nodes
    # Nodes with little room are filled first, so that the others share the rest equally.
    for place, at in enumerate(sorted(range(nodes), key=left.__getitem__)):
        more = min(-(-missing // (nodes - place)), max(left[at] - 1, 0))
        shares[at] += more
        missing -= more
    return equal if missing else tuple(shares)


_MINUTE = 60.0
_MOST_JOBS = 4_000_000
MOST_SUGGESTED = 1000
"""The number of names among which a suggestion is looked for."""
_HET = "components of a heterogeneous job count as separate jobs"
_NAMED_NODES = "nodes requested or excluded by name are not modelled: jobs take any node of the partition"
_LICENSES = "licenses are not modelled"
_NO_LIMIT = f"no time limit: {YEAR:,} s taken as the estimate"
_NO_CONSTRAINT = "features that are not requested by & and | of features of slurm.conf are left out"
_NO_RESOURCE = "generic resources that the nodes of slurm.conf do not have are left out"
_OTHER_DEPENDENCY = "dependencies but after, afterok, afternotok, afterany and singleton are left out"
_MISSING_TARGET = "dependencies on jobs that are not in the dump are left out"
_NO_RESERVATION = "the reservation that jobs name is not in a dump of reservations: they count as held"
_DOWN_PARTITION = "partitions that are not UP in slurm.conf start no job: waiting jobs count as held"
_FAILED = "dependencies that can never be fulfilled: the jobs count as held"
_SUSPENDED = "suspended jobs count as running"
_COMPLETING = "completing jobs count as ended: their nodes are free"
_UNEVEN = "CPUs on each node are not in the dump: taken as equal as they fit"


@dataclass(frozen=True)
class LiveRow:
    """A job of the table: a record, with the index of one task of an array.

    Attributes
    ----------
    job
        The record.
    number
        The ``job_id`` in the workload: Slurm's number, except for waiting tasks of arrays after the first.
    index
        The index in the array; None without one.
    is_held
        True if it will not start.
    """

    job: LiveJob
    number: int
    index: int | None
    is_held: bool

    @property
    def slurm_id(self) -> str:
        """The number in Slurm's form: ``12``, ``12_3`` of an array, ``12+1`` of a heterogeneous job."""
        if self.index is not None:
            return f"{self.job.array_id}_{self.index}"
        if self.job.het_id is not None:
            return f"{self.job.het_id}+{self.job.het_offset}"
        return str(self.job.job_id)


def rows_of(state: LiveState, system: System, remarks: Remarked) -> list[LiveRow]:
    """Return the jobs that run or wait, one for each task of an array.

    They are in the order of submission. Of jobs submitted at one time those that run come first, so that
    running tasks of an array have its places.
    """
    alive = [*state.running, *state.waiting]
    for job in state.holding:
        if not job.runs:
            remarks.add(_COMPLETING, job.job_id)
    count = sum(job.count for job in alive)
    if count > _MOST_JOBS:
        raise DumpError(
            f"{state.files[0]}: has {count:,} jobs and tasks of arrays; must be at most {_MOST_JOBS:,}."
        )
    following = max((job.job_id for job in state.jobs), default=0) + 1
    following = max([following, *((job.array_id or 0) + 1 for job in alive)])
    partitions = {each.name for each in system.partitions}
    reservations = {each.name for each in system.reservations}
    rows = []
    for job in sorted(alive, key=lambda each: (each.submit_time, each.waits, each.job_id)):
        is_held = _is_held(job, partitions, reservations, remarks)
        for at, index in enumerate(job.array_indices or (None,)):
            rows.append(LiveRow(job, job.job_id if at == 0 else following, index, is_held))
            following += at > 0
        _remark(job, remarks)
    return rows


def _is_held(
    job: LiveJob, partitions: Collection[str], reservations: Collection[str], remarks: Remarked
) -> bool:
    if not job.waits or job.phase == "held":
        return job.phase == "held"
    reasons = (
        (job.is_dependency_failed, _FAILED),
        (bool(job.reservation) and job.reservation not in reservations, _NO_RESERVATION),
        (bool(job.partitions) and not set(job.partitions) & set(partitions), _DOWN_PARTITION),
    )
    for is_so, remark in reasons:
        if is_so:
            remarks.add(remark, job.job_id, job.count)
            return True
    return False


def _remark(job: LiveJob, remarks: Remarked) -> None:
    is_uneven = job.runs and job.cpus_on_nodes is None and len(job.nodes) > 1
    for is_so, remark in (
        (job.het_id is not None, _HET),
        (job.waits and bool(job.required_nodes or job.excluded_nodes), _NAMED_NODES),
        (bool(job.licenses), _LICENSES),
        (job.phase == "suspended", _SUSPENDED),
        (is_uneven, _UNEVEN),
    ):
        if is_so:
            remarks.add(remark, job.job_id, job.count)


def table_of(
    rows: list[LiveRow],
    state: LiveState,
    configuration: SlurmConfiguration,
    system: System,
    *,
    shares: Mapping[int, tuple[int, ...]],
    origin: float,
    remarks: Remarked,
) -> pl.DataFrame:
    """Return the columns of a workload for the jobs.

    Parameters
    ----------
    rows
        The jobs.
    state, configuration
        The state of the cluster, and its configuration.
    system
        The machine: its partitions, resources and reservations.
    shares
        The CPUs of jobs on each of their nodes, by the number of the job.
    origin
        The instant of time 0, seconds since 1970 UTC.
    remarks
        Collects remarks.

    Raises
    ------
    DumpError
        If a job names a partition that the configuration does not have.
    """
    lines = {each.name: each for each in configuration.partitions}
    features = {name for line in configuration.nodes for name in line.features}
    names = _Names(
        state.files[0],
        lines,
        {each.name for each in system.partitions},
        frozenset(features),
        {each.name for each in system.reservations},
        _numbers(rows),
        remarks,
    )
    resources = dict.fromkeys(name for group in system.groups for name in group.resources)
    priorities = _priorities(state)
    # Some dumps have the limit of an array in the record of its waiting tasks only.
    limits = {row.job.array_id: row.job.array_limit for row in rows if row.job.array_limit is not None}
    found: dict[int, dict[str, object]] = {}
    records = []
    for row in rows:
        job = row.job
        if id(job) not in found:
            limit = _limit(job, lines)
            if math.isinf(limit):
                remarks.add(_NO_LIMIT, job.job_id, job.count)
            found[id(job)] = {
                **_times(job, state.now, origin, limit),
                **_asked(job, shares.get(job.job_id), [*resources], remarks),
                **names.of(job),
                "array_limit": limits.get(job.array_id),
                "priority": priorities.get(job.job_id, job.priority or 0),
            }
        records.append(
            {"job_id": row.number, "slurm_id": row.slurm_id, "array_index": row.index, **found[id(job)]}
        )
    schema = {**_SCHEMA, **{name: pl.Int64() for name in resources}}
    table = pl.DataFrame(records, schema=schema, orient="row")
    empty = [name for name in _MAY_BE_EMPTY if table[name].null_count() == table.height]
    return table.drop(empty)


def _limit(job: LiveJob, lines: dict[str, PartitionLine]) -> float:
    """Return the time limit, seconds: its own, else the default or the longest of its partitions."""
    if job.time_limit is not None:
        return job.time_limit
    longest = 0.0
    for name in job.partitions:
        line = lines.get(name)
        minutes = None if line is None else line.max_time
        if job.waits and line is not None and line.default_time is not None:
            minutes = line.default_time
        longest = max(longest, math.inf if minutes is None else minutes * _MINUTE)
    return longest or math.inf


def _times(job: LiveJob, now: float, origin: float, limit: float) -> dict[str, object]:
    """Return the times: a job that runs is taken to run for its limit, or until now if it is beyond it."""
    # A job that runs beyond its limit (OverTimeLimit) may end at any time.
    ran = 0.0 if job.start_time is None else max(now - job.start_time, 0.0)
    limit = max(limit, ran)
    estimate = float(YEAR) if math.isinf(limit) else limit
    begin = job.eligible_time if job.waits and (job.eligible_time or 0) > now else None
    return {
        # Clocks differ, and dumps take a while: nothing is later than now.
        "submit_time": min(job.submit_time, job.start_time or now, now) - origin,
        "run_time": estimate,
        "requested_time": estimate,
        "time_limit": limit,
        "begin_time": None if begin is None else begin - origin,
    }


def _asked(
    job: LiveJob, shares: tuple[int, ...] | None, known: list[str], remarks: Remarked
) -> dict[str, object]:
    request = request_of(job) if shares is None else holding_of(job, shares)[0]
    if request.resources.keys() - set(known):
        remarks.add(_NO_RESOURCE, job.job_id, job.count)
    amounts: dict[str, object] = {name: request.resources.get(name, 0) for name in known}
    if "mem" in amounts:
        amounts["mem"] = request.memory or 0
    return {
        **amounts,
        "core": request.core,
        "tasks": request.tasks,
        "tasks_per_node": request.tasks_per_node,
        "exclusive": job.exclusive or (job.memory_per_node == 0 and "mem" in amounts),
        "nice": job.nice,
        "requeue": job.requeue,
        "array_id": job.array_id,
    }


@dataclass
class _Names:
    """The names that jobs may use, and the jobs that dependencies may name."""

    file: str
    lines: dict[str, PartitionLine]
    partitions: set[str]
    features: frozenset[str]
    reservations: set[str]
    numbers: set[int]
    remarks: Remarked

    def of(self, job: LiveJob) -> dict[str, object]:
        """Return the names of a job as columns."""
        return {
            "user": job.user or None,
            "job_name": job.name or None,
            "account": job.account or None,
            "qos": job.qos or None,
            "partition": self._partition(job),
            "constraint": self._constraint(job) if job.waits else None,
            "reservation": job.reservation if job.reservation in self.reservations else None,
            "dependency": self._dependency(job) if job.waits and not job.is_dependency_failed else None,
        }

    def _partition(self, job: LiveJob) -> str | None:
        for name in job.partitions:
            if name not in self.lines:
                rule = f"slurm.conf has no such partition.{suggest(name, [*self.lines][:MOST_SUGGESTED])}"
                raise DumpError(f"{self.file}: job {job.job_id}: partition = {shown(name)}; {rule}")
        return ",".join(name for name in job.partitions if name in self.partitions) or None

    def _constraint(self, job: LiveJob) -> str | None:
        if not job.constraint:
            return None
        try:
            constraint = Constraint.of(job.constraint)
        except ValueError:
            constraint = None
        if constraint is None or not self.features.issuperset(constraint.names):
            self.remarks.add(_NO_CONSTRAINT, f"{job.job_id}: {one_line(job.constraint)}", job.count)
            return None
        return job.constraint

    def _dependency(self, job: LiveJob) -> str | None:
        if not job.dependency:
            return None
        if parse_dependency(job.dependency) is None:
            self.remarks.add(_OTHER_DEPENDENCY, f"{job.job_id}: {one_line(job.dependency)}", job.count)
            return None
        if any(target.job not in self.numbers for target in targets_of(job.dependency)):
            self.remarks.add(_MISSING_TARGET, f"{job.job_id}: {one_line(job.dependency)}", job.count)
        return job.dependency


def _numbers(rows: Iterable[LiveRow]) -> set[int]:
    """Return the numbers of jobs and arrays that a dependency may name."""
    return {number for row in rows for number in (row.job.job_id, row.job.array_id) if number is not None}


def _priorities(state: LiveState) -> dict[int, int]:
    """Return the largest priority of each job, of the dump of priorities or by partition."""
    found: dict[int, int] = {job.job_id: max(job.priorities.values()) for job in state.jobs if job.priorities}
    largest: dict[int, int] = {}
    for each in state.priorities or ():
        largest[each.job_id] = max(largest.get(each.job_id, 0), each.priority)
    return found | largest


_SCHEMA: dict[str, pl.DataType] = {
    "job_id": pl.Int64(),
    "submit_time": pl.Float64(),
    "run_time": pl.Float64(),
    "requested_time": pl.Float64(),
    "time_limit": pl.Float64(),
    "tasks": pl.Int64(),
    "core": pl.Int64(),
    "tasks_per_node": pl.Int64(),
    "exclusive": pl.Boolean(),
    "slurm_id": pl.String(),
    "user": pl.String(),
    "account": pl.String(),
    "qos": pl.String(),
    "partition": pl.String(),
    "job_name": pl.String(),
    "constraint": pl.String(),
    "reservation": pl.String(),
    "dependency": pl.String(),
    "begin_time": pl.Float64(),
    "array_id": pl.Int64(),
    "array_index": pl.Int64(),
    "array_limit": pl.Int64(),
    "requeue": pl.Boolean(),
    "nice": pl.Int64(),
    "priority": pl.Int64(),
}
_MAY_BE_EMPTY = (
    *("user", "account", "qos", "partition", "job_name", "constraint", "reservation", "dependency"),
    *("begin_time", "array_id", "array_index", "array_limit", "requeue"),
)
