"""Build node groups and partitions from the lines of a ``slurm.conf``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.core.node_ranges import ranges_of
from batchlab.errors import SystemDescriptionError, one_line
from batchlab.slurm.configuration.keys import at
from batchlab.slurm.configuration.values import bounded_seconds, refuse
from batchlab.system.nodes import NodeGroup
from batchlab.system.queues import Conditions, Partition
from batchlab.workload.resource_names import resource_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from batchlab.slurm import NodeLine, PartitionLine, SlurmConfiguration
    from batchlab.slurm.configuration.report import Remarks

__all__ = ["core_multiple", "down_ranges", "groups_of", "partitions_of"]

KILOBYTES = 1024
"""Kilobytes in a MiB, as in Slurm's logs."""

_LONGEST = 200
_HIERARCHICAL = "23.02"


def groups_of(configuration: SlurmConfiguration, remarks: Remarks) -> tuple[NodeGroup, ...]:
    """Build a group for each line of nodes that are not FUTURE.

    Raises
    ------
    SystemDescriptionError
        If there are no such nodes.
    """
    lines = [line for line in configuration.nodes if "FUTURE" not in line.state]
    if not lines:
        raise SystemDescriptionError(
            f"{configuration.path}: has no line NodeName=… of nodes that are there; a system has some. "
            "Are they in a file that is not included?"
        )
    found = []
    for number, line in enumerate(lines):
        try:
            resources = _resources(line, configuration, remarks)
            named = _name(line, number), len(line.names), resources
            found.append(NodeGroup(*named, weight=line.weight, features=line.features))
        except SystemDescriptionError as error:
            refuse(line.place, str(error))
    return tuple(found)


def cpus_together(line: NodeLine, configuration: SlurmConfiguration) -> int:
    """Return how many CPUs of a node are allocated together: one, a core's or a socket's."""
    cores = line.sockets * line.cores_per_socket
    of_unit = {"core": line.cpus // max(cores, 1), "socket": line.cpus // max(line.sockets, 1)}
    return max(of_unit.get(configuration.selection.unit, 1), 1)


def core_multiple(configuration: SlurmConfiguration) -> int:
    """Return how many CPUs are allocated together on all nodes; 1 if nodes differ."""
    found = {cpus_together(line, configuration) for line in configuration.nodes if "FUTURE" not in line.state}
    return found.pop() if len(found) == 1 else 1


def down_ranges(configuration: SlurmConfiguration) -> str:
    """Return the ranges of the nodes that are out of service."""
    down = configuration.out_of_service
    return ranges_of([place for place, name in enumerate(configuration.in_service) if name in down])


def _name(line: NodeLine, number: int) -> str:
    """Return the node names of a line as the name of its group."""
    name = line.expression.strip()
    return name if len(name) <= _LONGEST and name.isprintable() and "|" not in name else f"nodes{number}"


def _resources(line: NodeLine, configuration: SlurmConfiguration, remarks: Remarks) -> dict[str, int]:
    found = {"core": line.cpus - line.reserved_cpus}
    if configuration.selection.memory and line.memory is not None:
        found["mem"] = max(line.memory - line.reserved_memory, 0) * KILOBYTES
    elif line.memory is not None:
        says = "memory is not given to jobs by SelectTypeParameters, and nodes have none here"
        remarks.add("RealMemory", "nodes", says, line.place)
    own = cpus_together(line, configuration)
    if own not in {1, core_multiple(configuration)}:
        unit = configuration.selection.unit
        says = f"jobs get whole {unit}s of {own} CPUs in Slurm, and single CPUs here, since nodes differ"
        remarks.add("ThreadsPerCore", "nodes", says, line.place)
    for each in line.gres:
        if not each.consumed:
            says = f"{each.name} is not used up by jobs; nodes have none of it here"
            remarks.add("Gres", "nodes", says, line.place)
            continue
        if each.type:
            says = (
                f"types such as {each.name}:{each.type} are not distinguished; "
                f"a node has one total of {each.name}"
            )
            remarks.add("Gres", "nodes", says, line.place)
        name = resource_of(f"gres/{each.name}")
        found[name] = found.get(name, 0) + each.count
    return found


def partitions_of(configuration: SlurmConfiguration, remarks: Remarks) -> tuple[Partition, ...]:
    """Build the partitions that have nodes, the default partition first.

    Raises
    ------
    SystemDescriptionError
        If a partition names unknown nodes, or admits no job at all.
    """
    places = {name: at for at, name in enumerate(configuration.in_service)}
    found = []
    for each in _up(configuration, remarks):
        nodes = sorted(places[name] for name in configuration.nodes_of(each) if name in places)
        if not nodes:
            says = f"partition {each.name} has no nodes, and is left out; jobs that name it are refused"
            remarks.add("Nodes", "partitions", says, each.place)
            continue
        _remark_on_sharing(each, remarks)
        over = each.over_time_limit
        try:
            admits = _conditions(each, configuration, remarks)
            found.append(
                Partition(
                    name=each.name,
                    nodes=ranges_of(nodes),
                    tier=each.tier,
                    admits=admits,
                    priority_factor=each.job_factor,
                    over_time_limit=None if over is None else bounded_seconds(over),
                    exclusive=configuration.selection.type == "linear" or each.exclusive == "node",
                )
            )
        except SystemDescriptionError as error:
            refuse(each.place, str(error))
    if found and configuration.default_partition is None:
        says = f"no partition is the default; jobs that name none run in {found[0].name}"
        remarks.add("Default", "partitions", says)
    return tuple(found)


def _remark_on_sharing(each: PartitionLine, remarks: Remarks) -> None:
    if each.sharing != "NO":
        says = f"jobs of partition {each.name} may share CPUs in Slurm; here each has its own"
        remarks.add("OverSubscribe", "partitions", says, each.place)


_STATES = {
    "DOWN": "queues jobs and starts none",
    "DRAIN": "takes no new job, and starts those that wait",
    "INACTIVE": "takes no job and starts none",
}


def _up(configuration: SlurmConfiguration, remarks: Remarks) -> list[PartitionLine]:
    """Return the partitions that are UP, the default one first; all partitions if none is UP."""
    default = configuration.default_partition
    ordered = sorted(configuration.partitions, key=lambda each: each is not default)
    up = [each for each in ordered if each.state == "UP"]
    if ordered and not up:
        says = "no partition is UP; all of them count as UP here"
        remarks.add("State", "partitions", says, ordered[0].place)
        return ordered
    for each in ordered:
        if each.state != "UP":
            does = f"partition {each.name} is {each.state}: Slurm {_STATES[each.state]}"
            says = f"{does}; it is left out, so that jobs that name it are odd jobs"
            remarks.add("State", "partitions", says, each.place)
    return up


def _conditions(each: PartitionLine, configuration: SlurmConfiguration, remarks: Remarks) -> Conditions:
    max_nodes = None if each.max_nodes is None else max(each.max_nodes, 1)
    return Conditions(
        min_nodes=each.min_nodes,
        max_nodes=max_nodes,
        max_time=None if each.max_time is None else each.max_time * 60.0,
        groups=each.allow_groups,
        accounts=_accounts(each, configuration, remarks),
        qos=_qos(each, configuration, remarks),
    )


def _accounts(
    each: PartitionLine, configuration: SlurmConfiguration, remarks: Remarks
) -> tuple[str, ...] | None:
    """Return the accounts that a partition admits: those allowed, or all that are not denied."""
    accounting = configuration.accounting
    known = None if accounting is None else [account.account for account in accounting.accounts]
    if each.allow_accounts is None and not each.deny_accounts:
        return None
    deep = at(configuration.release) >= at(_HIERARCHICAL)

    def with_all_below(names: Iterable[str]) -> set[str]:
        below: Callable[[str], Sequence[str]] = (
            accounting.below if accounting and deep else lambda name: (name,)
        )
        return {inner.lower() for name in names for inner in below(_spelled(name, known))}

    if each.allow_accounts is not None:
        named = with_all_below(each.allow_accounts)
        return _among(named, known, "AllowAccounts", each, remarks)
    if known is None:
        says = "the accounts are not known (there is no file of sacctmgr); all may use the partition here"
        remarks.add("DenyAccounts", "partitions", says, each.place)
        return None
    denied = with_all_below(each.deny_accounts)
    return _among({name.lower() for name in known} - denied, known, "DenyAccounts", each, remarks)


def _qos(each: PartitionLine, configuration: SlurmConfiguration, remarks: Remarks) -> tuple[str, ...] | None:
    known = [quality.name for quality in configuration.qualities] or None
    if each.allow_qos is not None:
        return _among(set(each.allow_qos), known, "AllowQos", each, remarks)
    if not each.deny_qos:
        return None
    if known is None:
        says = "the QOS are not known (there is no file of sacctmgr); all may use the partition here"
        remarks.add("DenyQos", "partitions", says, each.place)
        return None
    return _among(set(known) - set(each.deny_qos), known, "DenyQos", each, remarks)


def _spelled(name: str, known: Sequence[str] | None) -> str:
    """Return the name of an account as spelled in the file of accounts."""
    return next((each for each in known or () if each.lower() == name.lower()), name)


def _among(
    names: set[str], known: Sequence[str] | None, key: str, each: PartitionLine, remarks: Remarks
) -> tuple[str, ...]:
    """Return the known ones of these names, in their order; all names if the known ones are not given."""
    if known is None:
        return tuple(sorted(names))
    found = tuple(name for name in known if name.lower() in names)
    missing = sorted(names - {name.lower() for name in known})
    if missing:
        says = f"{', '.join(map(one_line, missing[:5]))}: not in the files of sacctmgr; no job has it here"
        remarks.add(key, "partitions", says, each.place)
    if not found:
        rule = f"{key} of partition {one_line(each.name)} leaves none that the files of sacctmgr have"
        refuse(each.place, f"{rule}. Take the partition out, or pass the right files.")
    return found
