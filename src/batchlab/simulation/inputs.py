"""The description of a run, from which the compiled half builds a simulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from batchlab.policy.kernel import policy_names
from batchlab.simulation.applications import application_inputs
from batchlab.simulation.columns import conditions, core_index, job_columns
from batchlab.simulation.nodes import service_inputs, sleep_inputs
from batchlab.simulation.priorities import account_inputs, calculation_period

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from batchlab import _kernel
    from batchlab.options import RunOptions
    from batchlab.policy import Policy
    from batchlab.seam.invocation import Invocation
    from batchlab.simulation.overheads import DrawnOverheads
    from batchlab.system import System
    from batchlab.workload import Workload

__all__ = ["RunInputs"]


@dataclass(frozen=True, kw_only=True)
class RunInputs:
    """The description of a run: attributes that the compiled half reads once, to build a simulation.

    Parameters
    ----------
    columns
        The jobs, as columns.
    capacity
        int64, shape (nodes, resources): the amount of each resource on each node.
    core
        The index of the resource that counts as processors; None if there is no such resource.
    policy
        The names of the policy's parts, with their arguments.
    rules
        The options whose values are names of the kernel: ``walltime``, ``order_at_instant``, ``job_check``.
    recorded
        The names of the tables to record.
    listening
        Flags for the calls that Python components need.
    applications, conditions, accounts, events, service, sleep
        The inputs of each feature; None if the run does not use it.
    invocation
        Events for which a scheduler written in Python is called; None for one call per instant.
    period
        Seconds between two calculations of priorities; None if they are not calculated.
    begun
        The first submission of a run that began earlier, seconds; None for that of the jobs.
    """

    columns: _kernel.JobColumns
    capacity: npt.NDArray[np.int64]
    core: int | None
    policy: _kernel.PolicyNames
    rules: RunOptions
    recorded: Sequence[str]
    listening: _kernel.Listening
    applications: _kernel.ApplicationInputs | None
    conditions: _kernel.ConditionColumns | None
    invocation: Invocation | None
    period: float | None
    accounts: _kernel.AccountInputs | None
    events: _kernel.EventColumns | None
    service: _kernel.ServiceInputs | None
    sleep: _kernel.SleepInputs | None
    begun: float | None

    @classmethod
    def of(
        cls,
        workload: Workload,
        system: System,
        policy: Policy,
        listening: _kernel.Listening,
        options: RunOptions,
        *,
        overheads: DrawnOverheads | None,
        events: _kernel.EventColumns | None,
        begun: float | None,
    ) -> RunInputs:
        """Convert the inputs of a run.

        Parameters
        ----------
        workload, system, policy, options
            The run.
        listening
            Flags for the calls that Python components need.
        overheads, events
            The overheads of the jobs, and the external events.
        begun
            The first submission, if it is not that of the workload, seconds.

        Raises
        ------
        WorkloadError
            If a job names something that the system does not have.
        PolicyError
            If the policy needs columns or resources that jobs and system do not have.
        """
        return cls(
            applications=application_inputs(workload, system, policy, options),
            columns=job_columns(workload, system, policy, overheads, options.reference_rate),
            accounts=account_inputs(workload, system, policy, options),
            sleep=sleep_inputs(system, options, workload),
            capacity=system.capacity,
            core=core_index(system),
            policy=policy_names(policy, options.seed, system),
            rules=options,
            recorded=options.recorded,
            listening=listening,
            conditions=conditions(workload),
            invocation=options.scheduler_invocation,
            period=calculation_period(policy, options),
            events=events,
            service=service_inputs(system, options),
            begun=begun,
        )
