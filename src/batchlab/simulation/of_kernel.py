"""A simulation whose compiled half was made without a table of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.simulation.simulation import Simulation

if TYPE_CHECKING:
    from batchlab import _kernel
    from batchlab.options import RunOptions
    from batchlab.policy import Policy
    from batchlab.system import System
    from batchlab.workload import Workload

__all__ = ["simulation_of_kernel"]


def simulation_of_kernel(
    kernel: _kernel.Simulation, workload: Workload, system: System, policy: Policy, options: RunOptions
) -> Simulation:
    """Give a simulation whose compiled half is there already; nothing written in Python takes part in it.

    Parameters
    ----------
    kernel
        Made of the other parameters.
    workload, system, policy, options
        The run.
    """
    simulation = object.__new__(Simulation)
    vars(simulation).update(
        _driver=None,
        _events=None,
        _overheads=None,
        _adopted=None,
        _options=options,
        _absent=0,
        _made_of=(workload, system, policy),
        _run_of=(workload, system, policy),
        _elapsed=0.0,
        _depth=0,
        _assumes_estimates=False,
        _kernel=kernel,
    )
    return simulation
