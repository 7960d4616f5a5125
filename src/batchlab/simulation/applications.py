"""Kernel inputs of jobs that carry applications, and of the observed links of the platform."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from batchlab._kernel import ApplicationJobs
from batchlab.errors import PlatformError, SimulationError, suggest
from batchlab.platform.hops import fabric, hop_links
from batchlab.workload.application_columns import are_mapped
from batchlab.workload.requests import application_jobs

if TYPE_CHECKING:
    from batchlab._kernel import ApplicationInputs, Fabric
    from batchlab.options import RunOptions, Sensing
    from batchlab.platform import Platform
    from batchlab.policy import Policy
    from batchlab.system import System
    from batchlab.workload import Workload

__all__ = ["application_inputs", "links_seen", "sensors"]


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
        rule = "messages are counted on one: use System.of(platform), or leave it out"
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
