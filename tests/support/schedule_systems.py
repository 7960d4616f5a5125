"""Machines of the reference as systems of the public API."""

from itertools import accumulate, groupby
from math import inf
from typing import Any

import batchlab as bl
from reference import Conditions, Machine, Sharing
from reference.networks import Network

__all__ = ["system_of"]


def system_of(machine: Machine) -> bl.System:
    """Give the machine as its groups, or one per run of equal nodes."""
    platform, hosts = (None, ()) if machine.network is None else connected(machine.network)
    return bl.System(
        groups_of(machine),
        platform=platform,
        hosts=hosts,
        equivalence={machine.resources[0]: 1},
        partitions=partitions_of(machine),
        queues=tuple(
            bl.JobQueue(each.name, each.partitions, each.priority, conditions_of(each.admits))
            for each in machine.queues
        ),
        accounts=accounts_of(machine),
        qos=tuple(
            bl.QualityOfService(each.name, each.priority, each.usage_factor, each.preempts)
            for each in machine.qualities
        ),
        fair_share=fair_share_of(machine.sharing, machine) if machine.accounts else None,
        limits=limits_of(machine),
        preemption=None if machine.preemption is None else bl.Preemption(**vars(machine.preemption)),
        reservations=reservations_of(machine),
        down=ranges_of(machine.closed),
        core_multiple=machine.core_multiple,
    )


def connected(network: Network) -> tuple[bl.Platform, tuple[str, ...]]:
    """Give a platform with the network, and the hosts that the nodes are."""
    sizes = network.sizes
    match network.kind:
        case "torus":
            platform = bl.Platform.torus(sizes[1:], nodes_per_router=sizes[0], bandwidth=1e9)
        case "dragonfly":
            nodes, blades, chassis, groups = sizes
            platform = bl.Platform.dragonfly(
                groups=groups, chassis=chassis, blades=blades, nodes_per_blade=nodes, bandwidth=1e9
            )
        case _:
            platform = bl.Platform.fat_tree(down=sizes, up=(1,) * len(sizes), bandwidth=1e9)
    names = [host.name for host in platform.nodes]
    return platform, tuple(names[place] for place in network.places)


def groups_of(machine: Machine) -> tuple[bl.NodeGroup, ...]:
    """Give the groups of nodes, or one per run of equal nodes."""
    counts = machine.groups or [len([*nodes]) for _, nodes in groupby(machine.capacity)]
    ends = accumulate(counts)
    sleep_states = machine.sleep_states or ((),) * len(counts)
    return tuple(
        bl.NodeGroup(
            f"group{number}",
            count,
            dict(zip(machine.resources, machine.capacity[end - 1], strict=True)),
            tuple(bl.SleepState(**vars(state)) for state in states),
        )
        for number, (count, end, states) in enumerate(zip(counts, ends, sleep_states, strict=True))
    )


def partitions_of(machine: Machine) -> tuple[bl.Partition, ...]:
    """Give the partitions."""
    return tuple(
        bl.Partition(
            each.name,
            ranges_of(each.nodes),
            tier=each.tier,
            admits=conditions_of(each.admits),
            priority_factor=each.priority_factor,
            exclusive=each.exclusive,
        )
        for each in machine.partitions
    )


def accounts_of(machine: Machine) -> tuple[bl.Account, ...]:
    """Give the accounts; shares that are None are those of the parent."""
    return tuple(
        bl.Account(
            each.name,
            each.parent,
            "parent" if each.shares is None else each.shares,
            {user: "parent" if shares is None else shares for user, shares in each.users},
            each.priority,
        )
        for each in machine.accounts
    )


def limits_of(machine: Machine) -> tuple[bl.Limit, ...]:
    """Give the limits, numbered."""
    return tuple(
        bl.Limit(
            f"limit{number}",
            per=each.per,  # type: ignore[arg-type]  # names of columns
            queues=each.queues,
            partitions=each.partitions,
            applies_to=conditions_of(each.applies_to),
            running_jobs=number_of(each.running_jobs),
            submitted_jobs=number_of(each.submitted_jobs),
            nodes=number_of(each.nodes),
            resources=each.amounts,
            time=None if each.time == inf else each.time,
            running_minutes=each.running_minutes,
            total_minutes=each.total_minutes,
            blocks=each.blocks,
        )
        for number, each in enumerate(machine.limits)
    )


def reservations_of(machine: Machine) -> tuple[bl.Reservation, ...]:
    """Give the reservations of the machine."""
    return tuple(
        bl.Reservation(
            each.name,
            each.start,
            each.duration,
            ranges_of(each.nodes),
            every=each.every or None,
            until=each.until if each.every else None,
            admits=None if each.admits is None else conditions_of(each.admits),
            flexible=each.flexible,
            cancels=each.cancels,
        )
        for each in machine.reservations
    )


def fair_share_of(sharing: Sharing, machine: Machine) -> bl.FairShare:
    """Give how usage is counted as a system's."""
    # The names are those that the reference knows.
    given: Any = {
        name: getattr(sharing, name)
        for name in ("rule", "decay", "half_life", "damping", "max_tres", "decay_factor", "decay_period")
    }
    return bl.FairShare(
        **given,
        least_usage=sharing.least_usage,
        weights=dict(zip(machine.resources, sharing.weights, strict=False)),
        usage={(account, user): amount for account, user, amount in sharing.usage},
    )


def number_of(value: float) -> int | None:
    """Give a number of a limit; None for no limit."""
    return None if value == inf else int(value)


def ranges_of(nodes: frozenset[int]) -> str:
    """Write nodes as a partition's."""
    return ",".join(map(str, sorted(nodes)))


def conditions_of(conditions: Conditions) -> bl.Conditions:
    """Give conditions as a system's."""
    given: dict[str, Any] = {}
    for name in ("processors", "nodes", "time"):
        least, most = getattr(conditions, name)
        given |= {f"min_{name}": least or None, f"max_{name}": None if most == inf else most}
    for name in ("users", "groups", "accounts", "qos"):
        names = getattr(conditions, name)
        given[name] = None if names is None else tuple(sorted(names))
    return bl.Conditions(**given)
