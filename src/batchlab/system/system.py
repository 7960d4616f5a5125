"""The described machine: groups of identical nodes with their resources.

It is a description only: the kernel tracks free resources. Needs nothing but NumPy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import accumulate, groupby, pairwise
from typing import TYPE_CHECKING, Annotated

from batchlab.core import rules
from batchlab.core.form import check_fields, reduced
from batchlab.core.late import core_markup as markup
from batchlab.core.late import system_accounts, system_queues, system_reservations
from batchlab.core.node_ranges import node_beyond
from batchlab.core.units import format_count
from batchlab.errors import SystemDescriptionError, one_line, shown, suggest
from batchlab.system.fields import (
    MOST_NODES,
    RESOURCES,
    AtLeastOne,
    Line,
    NodeRanges,
    Resources,
    StartTime,
    Title,
)
from batchlab.system.nodes import NodeGroup

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from batchlab.platform import Host, Platform
    from batchlab.system.accounts import Account, FairShare, QualityOfService
    from batchlab.system.nodes import SleepState
    from batchlab.system.queues import JobQueue, Limit, Partition, Preemption
    from batchlab.system.reservations import Reservation


__all__ = ["System", "check_system"]

_PROCESSOR = "core"
_LARGEST_TOTAL = 2**63 - 1
_SHOWN_GROUPS = 8
_GROUPS = rules.Parts(NodeGroup, least="one group of nodes")


_LONGEST_NAME = 40


@dataclass(frozen=True, repr=False)
class System:
    """A machine: node groups in the order in which their nodes are numbered.

    Parameters
    ----------
    groups
        At least one group; names are unique.
    equivalence
        The resources of one processor of a log; each requested processor becomes one task that requests them.
        [default: one ``core``]
    name
        Name of the machine in outputs.
    start_time
        Date of time 0, in seconds since 1970-01-01 UTC, for dates and times of day. It takes precedence over
        ``UnixStartTime`` in the header of a log. [default: 0, unknown]
    platform
        The platform for jobs with applications: hosts, links and storage.
    hosts
        The names of the platform's hosts that are the nodes, in the order of the nodes.
    partitions
        Named sets of nodes. A job that names none runs in the first one, unless its queue determines another.
        [default: none]
    queues
        Queues of waiting jobs. [default: none]
    accounts
        Accounts with shares and users, in any order. [default: none]
    qos
        Qualities of service. [default: none]
    fair_share
        How usage is counted and compared with shares, if a policy or option uses it.
    limits
        Limits on sets of jobs. [default: none]
    preemption
        Which jobs may preempt running jobs. [default: none]
    reservations
        Nodes reserved for maintenance or for certain jobs, for a time. [default: none]
    requeue
        Default of the column ``requeue``: true if jobs may be requeued and restarted. Other jobs are killed
        when they would be requeued.
    down
        Nodes out of service from the beginning until an event adds them (S18), as ranges of their numbers:
        ``"0-3,7"``. [default: none]
    core_multiple
        Number of ``core`` units that are allocated together on each node: the CPUs of a physical core if
        Slurm allocates whole cores. [default: 1]
    policy
        The spec string of the policy in the machine's configuration, as in Slurm's: the policy
        ``configured``. A ``slurm`` policy from a spec uses its keys as defaults. [default: none]
    note
        One-line summary of settings in the description that the system does not support. [default: empty]

    Raises
    ------
    SystemDescriptionError
        If there is no group, a name is duplicate, the equivalence names an unknown resource, there are more
        than 100 million nodes, the number of hosts differs from the number of nodes, partitions, queues,
        limits or reservations refer to unknown parts, the accounts do not form a tree, or no job could
        preempt another.

    Examples
    --------
    >>> seth = System.homogeneous(nodes=120, resources={"core": 2, "mem": 1_000_000}, name="Seth")
    >>> seth.nodes, seth.processors
    (120, 240)
    """

    groups: Annotated[tuple[NodeGroup, ...], _GROUPS]
    equivalence: Resources = field(default_factory=lambda: {_PROCESSOR: 1}, hash=False)
    name: Title = ""
    start_time: StartTime = 0.0
    platform: Platform | None = field(default=None, metadata={"in_file": False})
    hosts: tuple[str, ...] = field(default=(), metadata={"in_file": False})
    partitions: tuple[Partition, ...] = ()
    queues: tuple[JobQueue, ...] = ()
    accounts: tuple[Account, ...] = ()
    qos: tuple[QualityOfService, ...] = ()
    fair_share: FairShare | None = None
    limits: tuple[Limit, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    preemption: Preemption | None = field(default=None, metadata={"plain": asdict})
    requeue: bool = True
    down: NodeRanges = ""
    core_multiple: AtLeastOne = 1
    policy: Line = ""
    note: Line = field(default="", compare=False)

    def __post_init__(self) -> None:
        check_fields(self, SystemDescriptionError, "")
        self._check_amounts()
        beyond = node_beyond(self.down, self.nodes)
        if beyond is not None:
            raise SystemDescriptionError(
                f"down = {shown(self.down)}; must be nodes from 0 to {self.nodes - 1}."
            )
        listed = (self.partitions, self.queues, self.accounts, self.qos, self.limits, self.reservations)
        if any(listed) or self.fair_share is not None or self.preemption is not None:
            self._check_sharing()
        expected = 0 if self.platform is None else self.nodes
        if len(self.hosts) != expected:
            raise SystemDescriptionError(
                f"hosts names {len(self.hosts)} hosts for {expected} nodes on a platform. "
                "Use System.of(platform)."
            )

    def _check_amounts(self) -> None:
        """Check the numbers of nodes and resources, and the resources of one processor."""
        if self.nodes > MOST_NODES:
            raise SystemDescriptionError(
                f"groups: {self.nodes} nodes in all; must be at most {MOST_NODES}. "
                "Describe fewer, larger nodes."
            )
        self._check_processor()
        for resource, total in self.total.items():
            if total > _LARGEST_TOTAL:
                raise SystemDescriptionError(
                    f"groups: {resource} adds up to {total}; must be at most 2^63 - 1. Choose a larger unit."
                )

    def _check_processor(self) -> None:
        """Check that nodes have the resources of one processor."""
        broken = ""
        for name in self.equivalence:
            if name not in self.resources:
                known = suggest(name, self.resources)
                broken = f"must say what one processor is in resources that nodes have, not {name!r}.{known}"
                break
        if not any(self.equivalence.values()):
            broken = "must be at least 1 of some resource; say what one processor of a log is."
        if broken:
            raise SystemDescriptionError(f"equivalence = {shown(dict(self.equivalence))}; {broken}")

    def _check_sharing(self) -> None:
        """Check the rules by which jobs share the nodes, if any."""
        names = [group.name for group in self.groups]
        system_queues.check_partitions(self.partitions, self.nodes, names)
        system_queues.check_queues(self.queues, self.partitions)
        rules.set_field(self, "accounts", system_accounts.check_accounts(self.accounts))
        system_accounts.check_qualities(self.qos)
        system_accounts.check_fair_share(self.fair_share, self.resources, self.accounts)
        system_queues.check_limits(self.limits, self.queues, self.partitions, self.resources)
        system_queues.check_preemption(self.preemption, self.partitions, self.qos)
        system_queues.check_owners(
            system_queues.conditions_of(self.partitions, self.queues, self.limits), self.accounts, self.qos
        )
        system_reservations.check_reservations(self.reservations, self.nodes, names, self.partitions)
        for at, each in enumerate(self.reservations):
            there = sum(end - begin for begin, end in self.reservation_ranges(replace(each, count=None)))
            if each.count is not None and each.count > there:
                raise SystemDescriptionError(
                    f"reservations[{at}].count = {each.count}; must be at most {there}, as many as it names."
                )

    def __reduce__(self) -> tuple[object, ...]:
        return reduced(self)

    def __str__(self) -> str:
        described = "; ".join(
            f"{group.count} × ({', '.join(f'{amount} {name}' for name, amount in group.resources.items())})"
            for group in self.groups
        )
        return f"{self.name or 'system'}: {self.nodes} nodes, {described}"

    def __repr__(self) -> str:
        name = f" {one_line(self.name, _LONGEST_NAME)}" if self.name else ""
        total = ", ".join(f"{amount:,} {resource}" for resource, amount in self.total.items())
        return f"<System{name}: {format_count(self.nodes, 'node')}, {one_line(total, _LONGEST_NAME)}>"

    def _repr_html_(self) -> str:

        more = ("platform", "partitions", "queues", "accounts", "qos", "limits", "reservations")
        of_each = {name: getattr(self, name) for name in more if getattr(self, name)}
        lengths = (
            (name, f"{len(value):,}" if isinstance(value, tuple) else "yes")
            for name, value in of_each.items()
        )
        facts = [
            ("nodes", f"{self.nodes:,}"),
            *((name, f"{total:,} in all") for name, total in self.total.items()),
        ]
        head = ("group", "nodes", *(f"{name} of a node" for name in self.resources))
        rows = [
            (
                group.name,
                f"{group.count:,}",
                *(f"{group.resources.get(name, 0):,}" for name in self.resources),
            )
            for group in self.groups[:_SHOWN_GROUPS]
        ]
        left = len(self.groups) - len(rows)
        unseen = [("groups", f"{left:,} more than shown")] if left else []
        return markup.card(f"System {self.name}".rstrip(), [*facts, *lengths, *unseen], head, rows)

    @classmethod
    def homogeneous(
        cls,
        *,
        nodes: int,
        resources: Mapping[str, int],
        name: str = "",
        equivalence: Mapping[str, int] | None = None,
        start_time: float = 0.0,
        partitions: tuple[Partition, ...] = (),
        queues: tuple[JobQueue, ...] = (),
        accounts: tuple[Account, ...] = (),
        qos: tuple[QualityOfService, ...] = (),
        fair_share: FairShare | None = None,
        limits: tuple[Limit, ...] = (),
        preemption: Preemption | None = None,
        reservations: tuple[Reservation, ...] = (),
        sleep_states: tuple[SleepState, ...] = (),
    ) -> System:
        """Build a machine of identical nodes.

        Parameters
        ----------
        nodes
            The number of nodes, at least 1.
        resources
            Resources of one node, e.g. ``{"core": 4, "mem": 1_000_000}``.
        name
            Name of the machine.
        equivalence
            The resources of one processor of a log. [default: one ``core``]
        start_time
            Date of time 0, in seconds since 1970-01-01 UTC. [default: 0, unknown]
        preemption
            Which jobs may preempt running jobs. [default: none]
        partitions, queues, limits, reservations
            Named sets of nodes, queues of waiting jobs, limits, and reserved nodes. [default: none]
        accounts, qos, fair_share
            As for `System`. [default: none]
        sleep_states
            Sleep states of the nodes, the lightest first. [default: none]

        Returns
        -------
        System
            With one group, named ``"nodes"``.

        Raises
        ------
        SystemDescriptionError
            As for `System` and `NodeGroup`.
        """
        group = NodeGroup("nodes", nodes, resources, sleep_states)
        processor = {_PROCESSOR: 1} if equivalence is None else equivalence
        made = cls((group,), processor, name, start_time, accounts=accounts, qos=qos, fair_share=fair_share)
        made = replace(made, partitions=partitions, queues=queues, limits=limits)
        return replace(made, reservations=reservations, preemption=preemption)

    @classmethod
    def of(
        cls,
        platform: Platform,
        *,
        hosts: Sequence[str] | None = None,
        resources: Mapping[str, int] | None = None,
        name: str = "",
    ) -> System:
        """Build a machine from the compute hosts of a platform.

        Parameters
        ----------
        platform
            Hosts, links and storage.
        hosts
            The names of the hosts that are the nodes, in the order of the nodes. [default: all compute hosts
            in the order of the platform]
        resources
            Resources of each node. [default: each host's cores as ``core``, and its GPUs as ``gpu``]
        name
            Name of the machine.

        Returns
        -------
        System
            One group for each run of equal hosts.

        Raises
        ------
        SystemDescriptionError
            If a host is not a compute host of the platform, or is listed twice; or a resource is invalid.
        """
        if not hasattr(platform, "nodes"):
            raise SystemDescriptionError(f"platform = {shown(platform)}; must be a Platform.")
        known = {host.name: host for host in platform.nodes}
        if isinstance(hosts, str) or not isinstance(hosts, Iterable | None):
            raise SystemDescriptionError(f"hosts = {shown(hosts)}; must be the names of compute hosts.")
        names = tuple(known) if hosts is None else tuple(hosts)
        for at, host in enumerate(names):
            if host not in known:
                raise SystemDescriptionError(
                    f"hosts[{at}] = {shown(host)}; must be a compute host.{suggest(str(host), known)}"
                )
        if len(set(names)) < len(names):
            raise SystemDescriptionError("hosts names a host twice; each host is one node.")
        groups: list[NodeGroup] = []
        given = (
            None
            if resources is None
            else rules.check(SystemDescriptionError, "resources", resources, RESOURCES)
        )
        of_host = {host: _resources_of(known[host]) if given is None else given for host in names}
        for has, run in groupby(names, key=of_host.__getitem__):
            groups.append(NodeGroup(f"group{len(groups)}", sum(1 for _ in run), has))
        first = groups[0].resources if groups else {}
        processor = _PROCESSOR if _PROCESSOR in first else next(iter(first), _PROCESSOR)
        return cls(tuple(groups), {processor: 1}, name, platform=platform, hosts=names)

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return sum(group.count for group in self.groups)

    @property
    def processors(self) -> int:
        """Number of processors of a log: tasks with one `equivalence` each that fit on the nodes."""
        asked = {name: amount for name, amount in self.equivalence.items() if amount}
        return sum(
            group.count * min(group.resources.get(name, 0) // amount for name, amount in asked.items())
            for group in self.groups
        )

    @cached_property
    def resources(self) -> tuple[str, ...]:
        """The names of the resources, in the order of their first occurrence in the groups."""
        return tuple(dict.fromkeys(resource for group in self.groups for resource in group.resources))

    @cached_property
    def capacity(self) -> npt.NDArray[np.int64]:
        """Resources of each node: int64, shape (nodes, resources), C-contiguous, read-only."""
        # Imported late: streamed runs, which must use little memory, do not need NumPy.
        import numpy as np  # noqa: PLC0415

        amounts = [[group.resources.get(resource, 0) for resource in self.resources] for group in self.groups]
        counts = [group.count for group in self.groups]
        capacity = np.repeat(np.array(amounts, dtype=np.int64), counts, axis=0)
        capacity.flags.writeable = False
        return capacity

    def partition_ranges(self, partition: Partition) -> list[tuple[int, int]]:
        """Return the nodes of a partition as ranges: first node, and the node after the last.

        Returns
        -------
        list of tuple
            Unordered; ranges may overlap. The whole machine if the partition names neither nodes nor groups.
        """
        if not partition.nodes and not partition.groups:
            return [(0, self.nodes)]
        return [*partition.ranges, *(self.group_ranges[name] for name in partition.groups)]

    def reservation_ranges(self, reservation: Reservation) -> list[tuple[int, int]]:
        """Return the nodes of a reservation as ranges: first node, and the node after the last.

        Returns
        -------
        list of tuple
            In ascending order, without overlaps.
        """
        named = [each for each in self.partitions if each.name in reservation.partitions]
        given = [*reservation.ranges, *(self.group_ranges[name] for name in reservation.groups)]
        given += [pair for each in named for pair in self.partition_ranges(each)]
        apart: list[tuple[int, int]] = []
        for begin, end in sorted(given or [(0, self.nodes)]):
            if apart and begin <= apart[-1][1]:
                apart[-1] = (apart[-1][0], max(apart[-1][1], end))
            else:
                apart.append((begin, end))
        left = self.nodes if reservation.count is None else reservation.count
        last: list[tuple[int, int]] = []
        for begin, end in reversed(apart):
            if left > 0:
                last.append((max(begin, end - left), end))
                left -= end - begin
        return last[::-1]

    def has_nodes(self, partition: Partition) -> npt.NDArray[np.bool_]:
        """Return which nodes are in a partition: bool, shape (nodes,)."""
        import numpy as np  # noqa: PLC0415  # as `capacity`

        has = np.zeros(self.nodes, np.bool_)
        for begin, end in self.partition_ranges(partition):
            has[begin:end] = True
        return has

    @cached_property
    def group_ranges(self) -> dict[str, tuple[int, int]]:
        """The nodes of each group: its first node, and the node after its last."""
        bounds = pairwise(accumulate((group.count for group in self.groups), initial=0))
        return {group.name: bound for group, bound in zip(self.groups, bounds, strict=True)}

    @property
    def total(self) -> dict[str, int]:
        """The whole machine's amount of each resource."""
        return {
            resource: sum(group.count * group.resources.get(resource, 0) for group in self.groups)
            for resource in self.resources
        }


def _resources_of(host: Host) -> dict[str, int]:
    """Return the resources of a host as a node."""
    return {_PROCESSOR: host.cores} | ({"gpu": host.gpus} if host.gpus else {})


def check_system(system: object) -> None:
    """Raise an error unless the argument is a system.

    Raises
    ------
    SystemDescriptionError
        If it has another type, such as the path of a description.
    """
    if not isinstance(system, System):
        raise SystemDescriptionError(f"system = {shown(system)}; must be a System, e.g. of read_system().")
