"""The stepper: one simulation, instant by instant."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from batchlab import _kernel
from batchlab.errors import PolicyError, SimulationError, SystemDescriptionError, WorkloadError, shown
from batchlab.policy import Policy
from batchlab.policy.kernel import policy_names
from batchlab.result.outcome import Outcome
from batchlab.result.result import Result
from batchlab.simulation.columns import core_index, job_columns
from batchlab.simulation.status import Gauges, Status, shares_in_use
from batchlab.system import System
from batchlab.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable


__all__ = ["Simulation"]

_CHOICES = {"walltime": ("run", "kill"), "order_at_instant": ("completions_first", "arrivals_first")}
_LARGEST_SEED = 2**64 - 1


class Simulation:
    """A simulation that can be driven step by step, and forked.

    Parameters
    ----------
    workload
        The jobs.
    system
        The machine.
    policy
        Who runs next, and where: a `Policy` or its spec string.
    seed
        Of everything random; an integer in [0, 2^64).
    walltime
        ``"run"``: every job runs its run_time. ``"kill"``: it is killed at its requested_time (S4).
    order_at_instant
        ``"completions_first"``: at one instant completions, submissions, one scheduling pass (S2).
        ``"arrivals_first"``: submissions, completions, a pass after each, as PYSS does.
    dispatch
        Whether to record the cost of every scheduling pass.

    Raises
    ------
    SimulationError
        If an option is not one of its values.
    PolicyError
        If the policy's spec or its formula is wrong.

    Examples
    --------
    >>> simulation = Simulation(workload, system, "easy")  # doctest: +SKIP
    >>> simulation.run_until(3600.0)  # doctest: +SKIP
    >>> simulation.fork().result().summary()  # doctest: +SKIP
    """

    def __init__(  # all parameters are described above
        self,
        workload: Workload,
        system: System,
        policy: Policy | str,
        *,
        seed: int = 0,
        walltime: str = "run",
        order_at_instant: str = "completions_first",
        dispatch: bool = False,
    ) -> None:
        policy = Policy.parse(policy) if isinstance(policy, str) else policy
        _check_types(workload, system, policy)
        self._options = {"seed": seed, "walltime": walltime, "order_at_instant": order_at_instant}
        _check(self._options)
        self._run_of = (workload, system, policy)
        self._elapsed = 0.0
        try:
            self._kernel = _kernel.Simulation(
                job_columns(workload, system, policy),
                system.capacity,
                core_index(system),
                policy_names(policy, seed),
                walltime=walltime,
                order_at_instant=order_at_instant,
                dispatch=dispatch,
            )
        except ValueError as error:
            # Everything else has been checked: it is the formula.
            raise PolicyError(f"{policy}: {error}") from error

    @property
    def now(self) -> float:
        """The present time, seconds since the workload's origin."""
        return self._kernel.now

    @property
    def next_time(self) -> float | None:
        """The next instant at which something happens, seconds; None when all is done."""
        return self._kernel.next_time

    @property
    def finished(self) -> int:
        """The number of jobs that completed, were killed or were rejected so far."""
        return self._kernel.finished

    def step(self) -> bool:
        """Do everything that happens at the next instant.

        Returns
        -------
        bool
            False if nothing was left to happen.
        """
        return self._kernel.step()

    def run_until(
        self, until: float = math.inf, *, progress: Callable[[int, int], object] | None = None
    ) -> None:
        """Do everything that happens until a time, inclusive.

        Parameters
        ----------
        until
            Seconds since the workload's origin; the end of the workload unless given.
        progress
            Called now and then with the number of jobs finished and the number of all jobs.

        Raises
        ------
        SimulationError
            If the time is not a number.
        """
        if math.isnan(until):
            raise SimulationError("until = nan; must be a time in seconds.")
        total = len(self._run_of[0])
        begin = time.perf_counter()
        report = None if progress is None else lambda finished, _now: progress(finished, total)
        self._kernel.run_until(float(until), report)
        self._elapsed += time.perf_counter() - begin

    def fork(self) -> Simulation:
        """Give an independent copy in the present state."""
        twin = object.__new__(Simulation)
        twin.__dict__.update(self.__dict__)
        twin._kernel = self._kernel.fork()  # our own twin
        return twin

    def status(self) -> Status:
        """Give who waits, who runs where, and what is free; costs O(jobs + nodes)."""
        system = self._run_of[1]
        return Status(now=self.now, next_time=self.next_time, system=system, **self._kernel.status())

    def gauges(self) -> Gauges:
        """Give the length of the queue and the utilisation; costs nothing to speak of."""
        queued, free = self._kernel.gauges()
        return Gauges(self.now, queued, shares_in_use(self._run_of[1], free))

    def result(self) -> Result:
        """Give what has become of every job so far."""
        workload, system, policy = self._run_of
        outcome = Outcome(
            **self._kernel.outcome(),
            requested_time=workload.jobs["requested_time"].to_numpy(),
            now=self.now,
            dispatch=self._kernel.dispatch(),
        )
        return Result(workload, system, policy, outcome, options=self._options, elapsed=self._elapsed)

    def __repr__(self) -> str:
        workload, system, policy = self._run_of
        done = f"{self.finished:,} of {len(workload):,} jobs done"
        return f"<Simulation of {policy} on {system.nodes:,} nodes at {self.now:g} s: {done}>"


def _check_types(workload: object, system: object, policy: object) -> None:
    if not isinstance(policy, Policy):
        raise PolicyError(f"policy = {shown(policy)}; must be a Policy or its spec string, e.g. 'easy'.")
    if not isinstance(system, System):
        raise SystemDescriptionError(f"system = {shown(system)}; must be a System, e.g. of read_system().")
    if not isinstance(workload, Workload):
        raise WorkloadError(f"workload = {shown(workload)}; must be a Workload. See Workload.from_table().")


def _check(options: dict[str, object]) -> None:
    for name, choices in _CHOICES.items():
        if options[name] not in choices:
            known = " or ".join(map(repr, choices))
            raise SimulationError(f"{name} = {shown(options[name])}; must be {known}.")
    seed = options["seed"]
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= _LARGEST_SEED:
        raise SimulationError(f"seed = {shown(seed)}; must be an integer in [0, 2^64).")
