"""Build the compiled half of a simulation from the inputs of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab import _kernel
from batchlab.errors import PolicyError
from batchlab.policy.kernel import policy_names
from batchlab.simulation.application_inputs import application_inputs
from batchlab.simulation.columns import core_index, job_columns
from batchlab.simulation.conditions import conditions
from batchlab.simulation.priorities import account_inputs, calculation_period
from batchlab.simulation.service import service_inputs
from batchlab.simulation.sleep import sleep_inputs

if TYPE_CHECKING:
    from batchlab.options import RunOptions
    from batchlab.policy import Policy
    from batchlab.simulation.overheads import DrawnOverheads
    from batchlab.system import System
    from batchlab.workload import Workload

__all__ = ["kernel_simulation"]


def kernel_simulation(
    workload: Workload,
    system: System,
    policy: Policy,
    listening: _kernel.Listening,
    options: RunOptions,
    *,
    overheads: DrawnOverheads | None,
    events: _kernel.EventColumns | None,
) -> _kernel.Simulation:
    """Build the compiled half of a simulation, before its first instant.

    Parameters
    ----------
    workload, system, policy, options
        The run.
    listening
        Flags for the calls that Python components need.
    overheads, events
        The overheads of the jobs, and the external events.

    Returns
    -------
    _kernel.Simulation
        Without Python components; the caller adds them.

    Raises
    ------
    WorkloadError
        If a job names something that the system does not have.
    PolicyError
        If the policy needs columns or resources that jobs and system do not have.
    """
    applications = application_inputs(workload, system, policy, options)
    columns = job_columns(workload, system, policy, overheads, options.reference_rate)
    accounts = account_inputs(workload, system, policy, options)
    sleep = sleep_inputs(system, options, workload)
    try:
        return _kernel.Simulation(
            columns,
            system.capacity,
            core_index(system),
            policy_names(policy, options.seed, system),
            walltime=options.walltime,
            order_at_instant=options.order_at_instant,
            job_check=options.job_check,
            record=options.recorded,
            listening=listening,
            applications=applications,
            conditions=conditions(workload),
            invocation=options.scheduler_invocation,
            period=calculation_period(policy, options),
            accounts=accounts,
            events=events,
            service=service_inputs(system, options),
            sleep=sleep,
        )
    except ValueError as error:
        # All other inputs are checked before, so the formula is invalid.
        raise PolicyError(f"{policy}: {error}") from error
