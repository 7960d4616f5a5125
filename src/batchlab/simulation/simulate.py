"""The function `simulate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.options import RunOptions
from batchlab.simulation.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Unpack

    from batchlab.options import RunArguments
    from batchlab.policy import Policy
    from batchlab.result.result import Result
    from batchlab.seam.components import Observer, Scheduler
    from batchlab.simulation.external_events import Events
    from batchlab.system import System
    from batchlab.workload import Workload

__all__ = ["simulate"]


def simulate(
    workload: Workload,
    system: System,
    policy: Policy | Scheduler | str,
    *,
    observers: Sequence[Observer] = (),
    events: Events | None = None,
    options: RunOptions | None = None,
    progress: Callable[[int, int], object] | None = None,
    **arguments: Unpack[RunArguments],
) -> Result:
    """Simulate a workload on a system under a policy to its end.

    Parameters
    ----------
    workload, system, policy, observers, events
        As for `Simulation`.
    options
        Settings of the run. [default: `RunOptions()`]
    progress
        Called about every 0.05 s with the number of jobs finished and the number of all jobs.
    **arguments
        Fields of `options` by name, as in ``seed=1, walltime="kill"``. They take precedence over `options`.

    Returns
    -------
    Result
        The outcome of every job.

    Raises
    ------
    SimulationError
        If an option has an invalid value.
    ObserverError
        If an observer is not an `Observer`, or two have the same name.
    PolicyError
        If the policy's spec or its formula is invalid.

    Examples
    --------
    >>> import batchlab as bl
    >>> jobs = {"submit_time": [0, 0, 0], "run_time": [60, 60, 30], "tasks": [2, 4, 1]}
    >>> system = bl.System.homogeneous(nodes=1, resources={"core": 4})
    >>> bl.simulate(bl.Workload.from_table(jobs), system, "easy").jobs["start_time"].to_list()
    [0.0, 60.0, 0.0]
    """
    options = RunOptions.of(options, arguments, function="simulate()")
    simulation = Simulation(workload, system, policy, observers=observers, events=events, options=options)
    simulation.run_until(progress=progress)
    return simulation.result()
