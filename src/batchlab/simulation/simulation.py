"""The stepper: one simulation, instant by instant."""

from __future__ import annotations

import dataclasses
import math
import time
import weakref
from typing import TYPE_CHECKING, cast

import polars as pl

from batchlab import _kernel
from batchlab.errors import PolicyError, SimulationError, SystemDescriptionError, WorkloadError, shown
from batchlab.options import RunOptions
from batchlab.policy.kernel import policy_names
from batchlab.policy.policy import as_policy
from batchlab.result.outcome import Outcome
from batchlab.result.result import Result
from batchlab.simulation.application_inputs import application_inputs, dependencies
from batchlab.simulation.columns import core_index, job_columns
from batchlab.simulation.driver import Driver, PythonComponents, python_components
from batchlab.simulation.sensing import links_seen
from batchlab.simulation.status import Gauges, Status, shares_in_use
from batchlab.simulation.view import Columns
from batchlab.system import System
from batchlab.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Unpack

    from batchlab.observer import Observer
    from batchlab.options import RunArguments
    from batchlab.policy import Policy, Scheduler

__all__ = ["Simulation"]

# Look aheads within each other.
_DEEPEST = 16


class Simulation:
    """A simulation that can be driven step by step, and forked.

    Parameters
    ----------
    workload
        The jobs.
    system
        The machine.
    policy
        Who runs next, and where: a `Policy`, its spec string, or a `Scheduler`.
    observers
        What watches the run, and may change it; see `batchlab.Observer`.
    options
        How it is run: a `RunOptions`, which describes every option; the usual ones unless given.
    **arguments
        Single options by name, as ``seed=1, walltime="kill"``; they replace those of `options`.

    Raises
    ------
    SimulationError
        If an option is not one of its values, or an observer is none.
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
        policy: Policy | Scheduler | str,
        *,
        observers: Sequence[Observer] = (),
        options: RunOptions | None = None,
        **arguments: Unpack[RunArguments],
    ) -> None:
        policy = as_policy(policy)
        _check_types(workload, system)
        self._options = options = RunOptions.of(options, arguments, function="Simulation()")
        inputs = application_inputs(workload, system, options)
        if inputs is not None:
            options.check_order("jobs with applications")
        components = python_components(policy, observers)
        if options.invocation is not None:
            _check_asked(components, policy)
        self._run_of = (workload, system, policy)
        self._elapsed = 0.0
        self._depth = 0
        try:
            self._kernel = _kernel.Simulation(
                job_columns(workload, system, policy),
                system.capacity,
                core_index(system),
                policy_names(policy, options.seed),
                walltime=options.walltime,
                order_at_instant=options.order_at_instant,
                dispatch=options.dispatch,
                listening=components.listening,
                applications=inputs,
                dependencies=dependencies(workload),
                invocation=options.invocation,
            )
        except ValueError as error:
            # Everything else has been checked: it is the formula.
            raise PolicyError(f"{policy}: {error}") from error
        self._driver: Driver | None = None
        if components.any:
            columns = Columns(workload.jobs, clairvoyant=False)
            self._driver = Driver(components, self._kernel, system, columns)
            self._let_look_ahead(self._driver)
            self._driver.begin()

    @property
    def workload(self) -> Workload:
        """The jobs."""
        return self._run_of[0]

    @property
    def system(self) -> System:
        """The machine."""
        return self._run_of[1]

    @property
    def policy(self) -> Policy:
        """Who runs next, and where."""
        return self._run_of[2]

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
        if self._driver is None:
            return self._kernel.step()
        with self._driver.at_work():
            return self._kernel.drive_until(math.inf, self._driver, self._driver.view, instants=1)

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
        if self._driver is None:
            self._kernel.run_until(float(until), report)
        else:
            with self._driver.at_work():
                self._kernel.drive_until(float(until), self._driver, self._driver.view, report)
        self._elapsed += time.perf_counter() - begin

    def fork(self) -> Simulation:
        """Give an independent copy in the present state; what is written in Python is copied deeply."""
        twin = object.__new__(Simulation)
        twin.__dict__.update(self.__dict__)
        twin._kernel = self._kernel.fork()  # our own twin
        if self._driver is not None:
            system = self._run_of[1]
            twin._driver = self._driver.twin(twin._kernel, system)
            twin._let_look_ahead(twin._driver)
        return twin

    def look_ahead(self, policy: Policy | str | None = None, *, clairvoyant: bool = False) -> Simulation:
        """Give a copy that goes on by what is known at this moment.

        Parameters
        ----------
        policy
            A built-in policy under which the copy goes on; unless given, a deep copy of this one.
        clairvoyant
            Whether the copy knows the future: true run times, and jobs that are still to come. Unless set,
            every job runs for its estimate and no further job comes.

        Returns
        -------
        Simulation
            To be run on, asked and thrown away.

        Raises
        ------
        PolicyError
            If the policy is written in Python, is a formula, or names a predictor: estimates stay what they
            are.
        SimulationError
            If too many look aheads are made within each other.
        """
        if self._depth >= _DEEPEST:
            rule = "its copy does as a policy does: go on under another, fork('easy'), or keep a flag"
            raise SimulationError(f"{_DEEPEST} look aheads within each other; {rule}.")
        twin = self.fork()
        twin._depth = self._depth + 1  # noqa: SLF001  # our own twin
        if policy is not None:
            twin._go_on_under(as_policy(policy))  # noqa: SLF001  # our own twin
        if not clairvoyant:
            twin._believe_estimates()  # noqa: SLF001  # likewise
        return twin

    def _go_on_under(self, policy: Policy) -> None:
        if not policy.is_named or policy.order_name == "expression":
            rule = "a look ahead goes on under its own policy or a built-in one, other than a formula"
            raise PolicyError(f"policy = {policy}; {rule}.")
        if policy.predictor != "requested":
            raise PolicyError(f"policy = {policy}; a look ahead keeps the estimates that there are.")
        workload, system, _ = self._run_of
        self._run_of = (workload, system, policy)
        self._kernel.adopt(policy_names(policy, self._options.seed))
        if self._driver is not None:
            self._driver = self._driver.without_policy(self._kernel, system)

    def _believe_estimates(self) -> None:
        workload, system, policy = self._run_of
        self._kernel.believe_estimates()
        run_times = pl.Series("run_time", self._kernel.run_times())
        believed = dataclasses.replace(workload, jobs=workload.jobs.with_columns(run_times))
        self._run_of = (believed, system, policy)
        for observer in () if self._driver is None else self._driver.pieces.observers:
            observer.forget_future()

    def _let_look_ahead(self, driver: Driver) -> None:
        """Let those who see a view look ahead, without keeping this simulation alive."""
        me = weakref.ref(self)
        for view in driver.views:
            view._simulation = lambda: cast("Simulation", me())  # noqa: SLF001  # our own

    def status(self) -> Status:
        """Give who waits, who runs where, and what is free; costs O(jobs + nodes)."""
        system = self._run_of[1]
        return Status(now=self.now, next_time=self.next_time, system=system, **self._kernel.status())

    def gauges(self) -> Gauges:
        """Give the length of the queue and the utilisation; costs nothing to speak of."""
        queued, unused = self._kernel.gauges()
        return Gauges(self.now, queued, shares_in_use(self._run_of[1], unused))

    def result(self) -> Result:
        """Give what has become of every job so far."""
        workload, system, policy = self._run_of
        outcome = Outcome(
            **self._kernel.outcome(),
            requested_time=workload.jobs["requested_time"].to_numpy(),
            now=self.now,
            dispatch=self._kernel.dispatch(),
            interruptions=self._kernel.interruptions(),
            resizes=self._kernel.resizes(),
            task_times=self._kernel.task_times(),
            sensed=self._kernel.sensed(),
            sensing_links=self._links_seen(system),
        )
        return Result(
            workload,
            system,
            policy,
            outcome,
            options=self._options,
            elapsed=self._elapsed,
            observations={} if self._driver is None else self._driver.observations(),
        )

    def _links_seen(self, system: System) -> tuple[str, ...]:
        sensing, platform = self._options.sensing, system.platform
        return () if sensing is None or platform is None else links_seen(sensing, platform)

    def __repr__(self) -> str:
        workload, system, policy = self._run_of
        done = f"{self.finished:,} of {len(workload):,} jobs done"
        return f"<Simulation of {policy} on {system.nodes:,} nodes at {self.now:g} s: {done}>"


def _check_types(workload: object, system: object) -> None:
    if not isinstance(system, System):
        raise SystemDescriptionError(f"system = {shown(system)}; must be a System, e.g. of read_system().")
    if not isinstance(workload, Workload):
        raise WorkloadError(f"workload = {shown(workload)}; must be a Workload. See Workload.from_table().")


def _check_asked(components: PythonComponents, policy: Policy) -> None:
    if components.scheduler is None:
        rule = "only a scheduler written in Python is asked event by event. Leave invocation out"
        raise SimulationError(f"invocation with policy = {policy}; {rule}.")
