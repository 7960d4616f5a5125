"""What the kernel is given of jobs that carry applications."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab._kernel import ApplicationJobs
from batchlab.errors import PlatformError, SimulationError
from batchlab.platform.hops import fabric, hop_links
from batchlab.simulation.sensing import sensors
from batchlab.workload.application_jobs import application_jobs
from batchlab.workload.rank_orders import are_mapped

if TYPE_CHECKING:
    from batchlab._kernel import ApplicationInputs, Fabric
    from batchlab.options import RunOptions
    from batchlab.policy import Policy
    from batchlab.system import System
    from batchlab.workload import Workload

__all__ = ["application_inputs"]


def application_inputs(
    workload: Workload, system: System, policy: Policy, options: RunOptions
) -> ApplicationInputs | None:
    """Give what jobs carry that are more than a row of numbers.

    Parameters
    ----------
    workload, system
        The jobs; and the machine, which needs a platform where a job carries an application.
    policy
        Its allocator may go by what ranks send to each other.
    options
        How activities share the platform, and what is recorded.

    Returns
    -------
    dict or None
        None where every job carries a run time and is rigid.

    Raises
    ------
    SimulationError
        If a job carries an application, or messages are to be counted, and the system has no platform; if
        ranks are to be mapped, and not all nodes are in one network.
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
    # Most runs have no platform, and start without its rooms.
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
        "sensors": sensors(options.sensing, platform),
    }


def _fabric(system: System) -> Fabric:
    """Give where the nodes are in their network."""
    from batchlab.placement.layout import layout_of  # noqa: PLC0415  # as above

    try:
        layout = layout_of(system)
    except PlatformError as error:
        raise SimulationError(f"rank_order = 'mapped': {error}") from None
    return fabric(layout.topology, layout.places)
