"""The description of a run for the compiled half. Needs neither NumPy nor polars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from batchlab.policy.kernel import policy_names

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from batchlab import _kernel
    from batchlab.options.run_options import RunOptions
    from batchlab.policy import Policy
    from batchlab.seam.invocation import Invocation
    from batchlab.system import System


__all__ = ["RunInputs"]


@dataclass(frozen=True, kw_only=True)
class RunInputs:
    """The description of a run: attributes that the compiled half reads once, to build a simulation.

    Parameters
    ----------
    machine
        The resources, and the groups of nodes.
    policy
        The names of the policy's parts, with their arguments.
    rules
        The options whose values are names of the kernel: ``walltime``, ``order_at_instant``, ``job_check``.
    columns
        The jobs, as columns; None if they come from a log that the compiled half reads.
    recorded
        The names of the tables to record.
    listening
        Flags for the calls that Python components need; None without components.
    applications, conditions, accounts, events, service, sleep
        The inputs of each feature; None if the run does not use it.
    invocation
        Events for which a scheduler written in Python is called; None for one call per instant.
    period
        Seconds between two calculations of priorities; None if they are not calculated.
    begun
        The first submission of a run that began earlier, seconds. [default: the first one of the jobs]
    """

    machine: _kernel.MachineColumns
    policy: _kernel.PolicyNames
    rules: RunOptions
    columns: _kernel.JobColumns | None = None
    recorded: Sequence[str] = ()
    listening: _kernel.Listening | None = None
    applications: _kernel.ApplicationInputs | None = None
    conditions: _kernel.ConditionColumns | None = None
    invocation: Invocation | None = None
    period: float | None = None
    accounts: _kernel.AccountInputs | None = None
    events: _kernel.EventColumns | None = None
    service: _kernel.ServiceInputs | None = None
    sleep: _kernel.SleepInputs | None = None
    begun: float | None = None

    @classmethod
    def on(cls, system: System, policy: Policy, options: RunOptions) -> Self:
        """Convert the inputs of every run; the other fields have the values of a run without tables."""
        groups = [
            (group.count, [group.resources.get(resource, 0) for resource in system.resources])
            for group in system.groups
        ]
        processor = [system.equivalence.get(resource, 0) for resource in system.resources]
        return cls(
            machine={"resources": list(system.resources), "groups": groups, "processor": processor},
            policy=policy_names(policy, options.seed, system),
            rules=options,
        )
