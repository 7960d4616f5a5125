"""The one verb."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.simulation.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from batchlab.observer import Observer
    from batchlab.platform import NetworkModel
    from batchlab.policy import Policy, Scheduler
    from batchlab.result.result import Result
    from batchlab.simulation.invocation import Invocation
    from batchlab.simulation.sensing import Sensing
    from batchlab.system import System
    from batchlab.workload import Workload

__all__ = ["simulate"]


def simulate(
    workload: Workload,
    system: System,
    policy: Policy | Scheduler | str,
    *,
    seed: int = 0,
    walltime: str = "run",
    order_at_instant: str = "completions_first",
    dispatch: bool = False,
    observers: Sequence[Observer] = (),
    invocation: Invocation | None = None,
    sharing: str | NetworkModel = "max_min",
    clip_requests: bool = True,
    task_times: bool = False,
    sensing: Sensing | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Result:
    """Run a workload on a system under a policy, to its end.

    Parameters
    ----------
    workload
        The jobs.
    system
        The machine.
    policy
        Who runs next, and where: a `Policy`, its spec string, as ``"easy(order=sjf)"``, or a `Scheduler`.
    seed
        Of everything random; an integer in [0, 2^64). Same inputs and seed, same result.
    walltime
        ``"run"``: every job runs its run_time. ``"kill"``: it is killed at its requested_time.
    order_at_instant
        ``"completions_first"``, or ``"arrivals_first"`` with a pass after every event.
    dispatch
        Whether to record the cost of every scheduling pass, for `Result.dispatch`.
    observers
        Who watches the run; see `batchlab.Observer`.
    invocation
        Which events a scheduler written in Python is asked about, one by one; unless given, it is asked once
        an instant.
    sharing
        How what applications do shares the platform: a `NetworkModel` that knows parallel tasks, or the name
        of one: ``"max_min"``, ``"fair_bottleneck"`` as ElastiSim does, ``"bottleneck_max_min"``.
    clip_requests
        Whether an application that asks for other tasks gets what its job's limits admit; else it cannot go
        on with a request beyond them.
    task_times
        Whether to record when each task of an application began and ended, for `Result.task_times`.
    sensing
        What of the platform to look at, and how often, for `Result.utilisation`.
    progress
        Called now and then with the number of jobs finished and the number of all jobs.

    Returns
    -------
    Result
        What became of every job.

    Raises
    ------
    SimulationError
        If an option is not one of its values.
    PolicyError
        If the policy's spec or its formula is wrong.

    Examples
    --------
    >>> import batchlab as bl
    >>> jobs = {"submit_time": [0, 0, 0], "run_time": [60, 60, 30], "tasks": [2, 4, 1]}
    >>> system = bl.System.homogeneous(nodes=1, resources={"core": 4})
    >>> bl.simulate(bl.Workload.from_table(jobs), system, "easy").jobs["start_time"].to_list()
    [0.0, 60.0, 0.0]
    """
    simulation = Simulation(
        workload,
        system,
        policy,
        seed=seed,
        walltime=walltime,
        order_at_instant=order_at_instant,
        dispatch=dispatch,
        observers=observers,
        invocation=invocation,
        sharing=sharing,
        clip_requests=clip_requests,
        task_times=task_times,
        sensing=sensing,
    )
    simulation.run_until(progress=progress)
    return simulation.result()
