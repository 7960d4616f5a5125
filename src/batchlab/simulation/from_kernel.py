"""Build a simulation from a compiled half that was built without a table of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.simulation.simulation import Simulation

if TYPE_CHECKING:
    from batchlab import _kernel
    from batchlab.options import RunOptions
    from batchlab.policy import Policy
    from batchlab.system import System
    from batchlab.workload import Workload

__all__ = ["simulation_from_kernel"]


def simulation_from_kernel(
    kernel: _kernel.Simulation, workload: Workload, system: System, policy: Policy, options: RunOptions
) -> Simulation:
    """Return a simulation with an existing compiled half and no Python components.

    Parameters
    ----------
    kernel
        The compiled half, built from the other parameters.
    workload, system, policy, options
        The run.
    """
    simulation = object.__new__(Simulation)
    vars(simulation).update(
        _driver=None,
        _events=None,
        _overheads=None,
        _look_ahead_policy=None,
        _options=options,
        _initial_events=0,
        _inputs=(workload, system, policy),
        _current=(workload, system, policy),
        _elapsed=0.0,
        _depth=0,
        _assumes_estimates=False,
        _kernel=kernel,
    )
    return simulation
