"""Kernel inputs of nodes (service rates, sleep) and of jobs that carry applications."""

from __future__ import annotations

from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from batchlab._kernel import ApplicationJobs
from batchlab.errors import PlatformError, SimulationError, suggest
from batchlab.platform.hops import fabric, hop_links
from batchlab.system.controlled_nodes import control_of_node
from batchlab.workload.application_columns import are_mapped
from batchlab.workload.calendar_time import CalendarTime
from batchlab.workload.requests import application_jobs

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab._kernel import ApplicationInputs, ControlInput, Fabric, ServiceInputs, SleepInputs
    from batchlab.options import NodeSleep, RunOptions, Sensing
    from batchlab.platform import Platform
    from batchlab.policy import Policy
    from batchlab.system import NodeGroup, System
    from batchlab.workload import Workload

__all__ = ["application_inputs", "links_seen", "sensors", "service_inputs", "sleep_inputs"]


def service_inputs(system: System, options: RunOptions) -> ServiceInputs | None:
    """Return the controls of node rates for the kernel; None if no rate is controlled.

    Raises
    ------
    SimulationError
        If a control names an unknown group, or two controls set the rate of one node.
    """
    controls = options.controls
    if not controls:
        return None
    numbers = None
    if any(control.groups for control in controls) or len(controls) > 1:
        numbers = control_of_node(system, options.controls)
    governed = any(control.for_kernel(0)["rule"] in ("ondemand", "schedutil") for control in controls)
    processors = _processors(system, numbers, len(controls)) if governed else []
    described = [cast("ControlInput", control.for_kernel(options.seed)) for control in controls]
    return {
        "controls": described,
        "control_of_node": numbers,
        "processors": processors,
        "key_events": options.key_events,
    }


def _processors(system: System, numbers: npt.NDArray[np.uint32] | None, controls: int) -> list[float]:
    """Return the total number of processors of the nodes of each control."""
    resource = list(system.resources).index("core") if "core" in system.resources else None
    of_node = np.ones(system.nodes) if resource is None else system.capacity[:, resource].astype(np.float64)
    if numbers is None:
        return [float(of_node.sum())]
    return [float(of_node[numbers == number].sum()) for number in range(1, controls + 1)]


def sleep_inputs(system: System, options: RunOptions, workload: Workload | None = None) -> SleepInputs | None:
    """Return the sleep states of all nodes and the rules of a run; None if the run has no `NodeSleep`.

    The workload fixes the time of day. Without a workload, the rules are only checked.

    Raises
    ------
    SimulationError
        If no group has sleep states, or none has a state with a named name; or if a deeper state would begin
        before a lighter one.
    """
    rules = options.node_sleep
    if rules is None:
        return None
    _check_names(system, rules)
    counts = [group.count for group in system.groups]
    return {
        "levels": [_levels(group, rules) for group in system.groups],
        "kind_of": np.repeat(np.arange(len(counts), dtype=np.uint32), counts),
        "keep": rules.steps,
        "clock": _clock(system, workload) if rules.is_daily and workload is not None else None,
        "wakes_for_queue": rules.wake == "queue",
        "counted": rules.counted,
        "prefers_on": rules.prefer_on,
    }


def _clock(system: System, workload: Workload) -> list[tuple[float, float]]:
    """Return the offsets of the local clock from simulated time, each with the time it begins."""
    calendar = CalendarTime.of(workload.header, system.start_time)
    return calendar.local_clock(workload.first_submission, workload.last_submission)


def _check_names(system: System, rules: NodeSleep) -> None:
    known = list(dict.fromkeys(state.name for group in system.groups for state in group.sleep_states))
    if not known:
        rule = "needs a node group with sleep states. Add sleep_states to one of the system's groups"
        raise SimulationError(f"sleep = {rules}; {rule}.")
    for name in rules.by_state or {}:
        if name not in known:
            raise SimulationError(f"sleep: no sleep state named {name!r}.{suggest(name, known)}")


def _levels(group: NodeGroup, rules: NodeSleep) -> list[tuple[float, float, float]]:
    """Return for each state the seconds to enter it, to wake from it, and of idleness before it."""
    named = rules.by_state
    if named is None:
        first = rules.after if isinstance(rules.after, int | float) else inf
        after = [first if not place else inf for place in range(len(group.sleep_states))]
    else:
        after = [named.get(state.name, inf) for state in group.sleep_states]
    entered = [(state.name, at) for state, at in zip(group.sleep_states, after, strict=True) if at < inf]
    for (lighter, before), (deeper, at) in pairwise(entered):
        if at <= before:
            rule = f"must be above after[{lighter!r}] = {before:g}, since it is the deeper state"
            raise SimulationError(f"sleep: after[{deeper!r}] = {at:g}; {rule} of group {group.name!r}.")
    return [
        (state.enter_time, state.wake_time, at) for state, at in zip(group.sleep_states, after, strict=True)
    ]


# Loopback links of hosts and the limiters of clusters are not part of the network.
_NO_NETWORK = ("_loopback", "_limiter")


class _Numbers(NamedTuple):
    interval: float
    since: float | None
    network: list[int]
    links: list[int]


def links_seen(sensing: Sensing | None, platform: Platform | None) -> tuple[str, ...]:
    """Return the names of the links observed one by one: the requested ones, then those of storage."""
    if sensing is None or platform is None:
        return ()
    return tuple(dict.fromkeys((*sensing.links, *platform.read_links, *platform.write_links)))


def sensors(sensing: Sensing | None, platform: Platform) -> _Numbers | None:
    """Return the numbers of the observed links, and the times of observation.

    Raises
    ------
    SimulationError
        If the platform has no link with a requested name.
    """
    if sensing is None:
        return None
    numbers = {link.name: number for number, link in enumerate(platform.links)}
    for name in sensing.links:
        if name not in numbers:
            known = suggest(name, numbers)
            raise SimulationError(f"sensing: the platform has no link named {name!r}.{known}")
    apart = [numbers[name] for name in links_seen(sensing, platform)]
    network = [
        number for name, number in numbers.items() if number not in apart and not name.endswith(_NO_NETWORK)
    ]
    return _Numbers(float(sensing.interval), sensing.since, network, apart)


def application_inputs(
    workload: Workload, system: System, policy: Policy, options: RunOptions
) -> ApplicationInputs | None:
    """Build the kernel inputs of jobs that carry an application or are not rigid.

    Parameters
    ----------
    workload, system
        The jobs, and the machine. The machine needs a platform if a job carries an application.
    policy
        The policy. Its allocator may use the messages between ranks.
    options
        How activities share the platform, and which quantities are recorded.

    Returns
    -------
    dict or None
        None if every job has a run time and is rigid.

    Raises
    ------
    SimulationError
        If the system has no platform, and a job carries an application or `options` counts messages; if
        ranks are to be mapped and the nodes are not all in one network.
    """
    platform = system.platform
    if options.messages and platform is None:
        rule = "messages are counted on one: take a platform as the system, or leave it out"
        raise SimulationError(f"messages = True; the system has no platform, and {rule}.")
    jobs = application_jobs(workload)
    if jobs is None:
        return None
    if platform is None:
        rule = "jobs that carry an application, or are not rigid, need one: System.of(platform)"
        raise SimulationError(f"the system has no platform; {rule}.")
    # Imported late: most runs have no platform and start without its modules.
    from batchlab.platform.network_model import NetworkModel  # noqa: PLC0415

    mapped = are_mapped(workload.jobs)
    numbers = {name: number for number, name in enumerate(platform.kernel.hosts)}
    return {
        "platform": platform.kernel,
        "hosts": [numbers[name] for name in system.hosts],
        "gpus": system.resources.index("gpu") if "gpu" in system.resources else None,
        "network": NetworkModel.of(options.sharing).kernel,
        "jobs": ApplicationJobs(jobs),
        "by_messages": mapped or str(policy.allocator).startswith("hop_bytes"),
        "fabric": _fabric(system) if mapped else None,
        "clip_requests": options.clip_requests,
        "log_tasks": options.task_times,
        "hop_links": hop_links(platform).tolist() if options.messages else None,
        "sensors": sensors(options.platform_sensing, platform),
    }


def _fabric(system: System) -> Fabric:
    """Return the network topology and the position of each node in it."""
    from batchlab.placement.orders import layout_of  # noqa: PLC0415  # as above

    try:
        layout = layout_of(system)
    except PlatformError as error:
        raise SimulationError(f"rank_order = 'mapped': {error}") from None
    return fabric(layout.topology, layout.places)
