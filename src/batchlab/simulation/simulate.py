"""The one verb."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.simulation.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from batchlab.observer import Observer
    from batchlab.policy import Policy, Scheduler
    from batchlab.result.result import Result
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
    )
    simulation.run_until(progress=progress)
    return simulation.result()
