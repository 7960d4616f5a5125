"""The whole configuration of a cluster: ``slurm.conf``, related files, and the policy that they describe."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from batchlab.core.documents import shown_path
from batchlab.errors import SystemDescriptionError, one_line, shown, suggest
from batchlab.policy.slurm import PARAMETERS
from batchlab.slurm.configuration.cluster import (
    Preemption,
    PriorityParameters,
    SchedulerParameters,
    Selection,
    Timing,
)
from batchlab.slurm.configuration.values import (
    MOST_HOSTS,
    YEAR,
    bounded_seconds,
    host_names,
    refuse,
    separated,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from batchlab.slurm.configuration.accounting import Accounting, Quality
    from batchlab.slurm.configuration.nodes import DeviceLine, DownNodes, NodeLine, NodeSet, Topology
    from batchlab.slurm.configuration.partitions import PartitionLine
    from batchlab.slurm.configuration.settings import Setting, UnknownKey
    from batchlab.slurm.configuration.values import Mended, Place

__all__ = ["SlurmConfiguration"]

_CORES = ("select", "cores")
# It requires another order, which is no parameter of the policy.
_OF_PRIORITIES = "bf_min_prio_reserve"


def _names(*, is_of_backfill: bool, requires: tuple[str, str] | None = None) -> list[str]:
    """Return the parameters of the policy that are options of SchedulerParameters with the same name."""
    return [
        name
        for name, each in PARAMETERS.items()
        if each.source.startswith("SchedulerParameters")
        and each.requires == requires
        and name.startswith("bf_") == is_of_backfill
        and name != _OF_PRIORITIES
    ]


_WAITS = ("kill_wait", "message_timeout")
_OFF = -1
_MINUTE = 60


def _policy_of(scheduler: SchedulerParameters, selection: Selection, timing: Timing, order: str) -> str:
    """Return the spec string of the policy ``slurm`` with the parameters of a cluster.

    Parameters
    ----------
    scheduler, selection, timing
        As in `batchlab.slurm.SlurmConfiguration`.
    order
        The spec string of the order.

    Returns
    -------
    str
        The argument of `batchlab.Policy.parse`, without parameters at Slurm's defaults, which the policy
        shares.
    """
    found: list[tuple[str, object]] = []
    if selection.type != "linear":
        found.append(("select", "cores"))
        if "cr_lln" in selection.options:
            found.append(("cr_lln", "true"))
        found += _options(scheduler, _names(is_of_backfill=False, requires=_CORES))
    if timing.epilog:
        found.append(("epilog", "true"))
    found += _options(scheduler, _names(is_of_backfill=False))
    if scheduler.type == "backfill" and scheduler.bf_interval != _OFF:
        found += _options(scheduler, _names(is_of_backfill=True))
        if selection.type != "linear":
            found += _options(scheduler, _names(is_of_backfill=True, requires=_CORES))
        if order.startswith("multifactor"):
            # With the other plug-in, priorities begin at 2**32.
            found += _options(scheduler, (_OF_PRIORITIES,))
    else:
        found.append(("backfill", "false"))
    usual = Timing()
    # A year is equivalent to never.
    waits = ((name, min(getattr(timing, name), YEAR)) for name in _WAITS)
    found += [(name, value) for name, value in waits if value != getattr(usual, name)]
    over = bounded_seconds(timing.over_time_limit)
    found += [("over_time_limit", over)] if over else []
    delay = _requeue_delay(scheduler, timing)
    found += [] if delay == _requeue_delay(SchedulerParameters(), usual) else [("requeue_delay", delay)]
    if order != "fcfs":
        found.append(("order", order))
    arguments = [f"{name}={value}" for name, value in found]
    return f"slurm({', '.join(arguments)})" if arguments else "slurm"


def _options(scheduler: SchedulerParameters, names: Iterable[str]) -> Iterator[tuple[str, object]]:
    """Yield the options that differ from their defaults, in the units of the policy."""
    usual = SchedulerParameters()
    for name in names:
        value = getattr(scheduler, name)
        if value == getattr(usual, name):
            continue
        if name == "bf_window":
            value *= _MINUTE
        # A year is equivalent to never.
        value = YEAR if (name, value) == ("sched_interval", _OFF) else value
        yield name, str(value).lower() if isinstance(value, bool) else value


def _requeue_delay(scheduler: SchedulerParameters, timing: Timing) -> int:
    """Return the delay of a requeued job in seconds: by default until its credential has expired."""
    given = scheduler.requeue_delay
    return min(timing.credential_lifetime if given is None else given, YEAR - 1) + 1


@dataclass(frozen=True)
class SlurmConfiguration:
    """The configuration of a cluster, typed, with Slurm's defaults.

    Attributes
    ----------
    path
        The ``slurm.conf``.
    release
        The release of Slurm whose defaults and keys apply.
    release_from
        How it was determined: ``"given"``, or ``"keys"``: the newest release that has all keys.
    cluster
        ClusterName.
    nodes, node_sets, down_nodes, partitions
        The lines in the order of the files; FUTURE nodes are included.
    scheduler, priority, selection, preemption, timing
        The cluster-wide parameters.
    enforced
        AccountingStorageEnforce in lower case, with the words that each word implies.
    topology, devices
        The contents of ``topology.conf`` and ``gres.conf``; None and empty without these files.
    accounting, qualities
        Accounts and QOS from the files of ``sacctmgr``; None and empty without these files.
    settings
        All settings, with their positions.
    unknown
        Keys that no release has, if they are kept.
    mended
        Values that Slurm corrects with a message.
    files
        All files that were read.
    not_read
        Files of Slurm that exist and are not read, with the reason.
    """

    path: str
    release: str
    release_from: Literal["given", "keys"] = "keys"
    cluster: str = ""
    nodes: tuple[NodeLine, ...] = ()
    node_sets: tuple[NodeSet, ...] = ()
    down_nodes: tuple[DownNodes, ...] = ()
    partitions: tuple[PartitionLine, ...] = ()
    scheduler: SchedulerParameters = field(default_factory=SchedulerParameters)
    priority: PriorityParameters = field(default_factory=PriorityParameters)
    selection: Selection = field(default_factory=Selection)
    preemption: Preemption = field(default_factory=Preemption)
    timing: Timing = field(default_factory=Timing)
    enforced: frozenset[str] = frozenset()
    topology: Topology | None = None
    devices: tuple[DeviceLine, ...] = ()
    accounting: Accounting | None = None
    qualities: tuple[Quality, ...] = ()
    settings: tuple[Setting, ...] = field(default=(), repr=False)
    unknown: tuple[UnknownKey, ...] = ()
    mended: tuple[Mended, ...] = ()
    files: tuple[str, ...] = ()
    not_read: tuple[tuple[str, str], ...] = ()

    @cached_property
    def policy(self) -> str:
        """The spec string of the policy: ``slurm(…)`` with its parameters and the order from `counted`."""
        return _policy_of(self.scheduler, self.selection, self.timing, self.counted.order)

    @cached_property
    def counted(self) -> PriorityParameters:
        """The priority without weights of factors that the files lack, such as accounts, QOS, a database."""
        lines = [line for line in self.nodes if "FUTURE" not in line.state]
        resources = {"cpu"} | {f"gres/{each.name}" for line in lines for each in line.gres if each.consumed}
        if self.selection.memory and any(line.memory is not None for line in lines):
            resources.add("mem")
        has_accounts = self.accounting is not None
        return self.priority.among(resources, accounts=has_accounts, qualities=bool(self.qualities))

    @cached_property
    def default_partition(self) -> PartitionLine | None:
        """The partition of jobs that name none: the last with Default=YES, as in Slurm; None without one."""
        return next((each for each in reversed(self.partitions) if each.default), None)

    @cached_property
    def node_names(self) -> Mapping[str, NodeLine]:
        """The line of each node by name, in the order of the files."""
        return {name: line for line in self.nodes for name in line.names}

    @cached_property
    def in_service(self) -> tuple[str, ...]:
        """The names of all existing nodes: those that are not FUTURE."""
        return tuple(name for name, line in self.node_names.items() if "FUTURE" not in line.state)

    @cached_property
    def out_of_service(self) -> Mapping[str, str]:
        """The existing nodes that accept no jobs: their names, in the order of the files, and their states.

        A node is DOWN, DRAIN, FAIL or FAILING by a line DownNodes=… or by State of its own line. CLOUD nodes
        accept jobs: Slurm starts them on demand.
        """
        states = {name: self.node_names[name].state for name in self.in_service}
        for line in self.down_nodes:
            named = self.node_names if "ALL" in map(str.upper, line.names) else line.names
            states |= {name: line.state for name in named if name in states}
        return {name: state for name, state in states.items() if state in OUT_OF_SERVICE}

    def nodes_of(self, partition: PartitionLine) -> tuple[str, ...]:
        """Return the names of a partition's nodes, in the order of the files.

        Raises
        ------
        SystemDescriptionError
            If it names an unknown node or node set.
        """
        wanted: set[str] = set()
        for part in separated(partition.nodes):
            wanted |= self._named(part, partition.place)
        return tuple(name for name in self.node_names if name in wanted)

    def _named(self, part: str, place: Place) -> set[str]:
        """Return the nodes of one part of a list: all, a node set, nodes with a feature, or node names."""
        if part.upper() == "ALL":
            return set(self.node_names)
        sets = {each.name: each for each in self.node_sets}
        if part in sets:
            named = sets[part]
            found = self._with_feature(named.feature) if named.feature else set()
            for each in separated(named.nodes):
                found |= self._listed(each, named.place)
            return found
        if part.lower().startswith("feature{") and part.endswith("}"):
            return self._with_feature(part[len("feature{") : -1])
        return self._listed(part, place)

    def _with_feature(self, feature: str) -> set[str]:
        return {name for line in self.nodes if feature in line.features for name in line.names}

    def _listed(self, text: str, place: Place) -> set[str]:
        if text.upper() == "ALL":
            return set(self.node_names)
        try:
            names = host_names(text)
        except ValueError as broken:
            refuse(place, f"Nodes = {shown(text)}; {broken}.")
        for name in names:
            if name not in self.node_names:
                known = [*self.node_names][:_MOST_SUGGESTED]
                rule = "is neither a node nor a set of nodes" if len(names) == 1 else "is no node"
                refuse(place, f"Nodes: {one_line(name)} {rule}.{suggest(name, known)}")
        return set(names)


_MOST_SUGGESTED = 1000
OUT_OF_SERVICE = frozenset({"DOWN", "DRAIN", "FAIL", "FAILING"})
"""The states of existing nodes that accept no jobs."""


def check_nodes(nodes: tuple[NodeLine, ...]) -> None:
    """Check that each node is described once, and that Slurm's maximum number of nodes is not exceeded."""
    places: dict[str, Place] = {}
    for line in nodes:
        if line.expression.upper() == "ALL":
            refuse(
                line.place, "NodeName=ALL; ALL means all nodes, and is the name of none. Take another name."
            )
        for name in line.names:
            if name in places:
                refuse(line.place, f"node {one_line(name)} is also at {places[name]}; must be on one line.")
            places[name] = line.place
    if len(places) > MOST_HOSTS:
        refuse(nodes[-1].place, f"{len(places):,} nodes in all; must be at most {MOST_HOSTS:,}.")


def located(path: str | os.PathLike[str]) -> str:
    """Return the path of the ``slurm.conf``: the file itself, or that in a folder."""
    text = os.fspath(path)
    folder = Path(text)
    if not folder.is_dir():
        return text
    file = folder / "slurm.conf"
    if not file.is_file():
        raise SystemDescriptionError(f"{shown_path(text)}: has no slurm.conf. Give its folder, or the file.")
    return os.fspath(file)
