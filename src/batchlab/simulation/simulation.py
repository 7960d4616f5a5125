"""A simulation that is driven instant by instant."""

from __future__ import annotations

import dataclasses
import math
import time
from typing import TYPE_CHECKING

import polars as pl

from batchlab import _kernel
from batchlab.errors import PolicyError, SimulationError
from batchlab.options import RunOptions
from batchlab.policy.kernel import OF_COLUMNS, policy_names
from batchlab.policy.policy import as_policy
from batchlab.result.result import Result
from batchlab.seam.view import Columns
from batchlab.simulation.checks import check_asked, check_decides, check_periods, check_time, checked_workload
from batchlab.simulation.decision_point import points
from batchlab.simulation.driver import Driver, PythonComponents, python_components, with_components
from batchlab.simulation.external_events import event_columns, given_events
from batchlab.simulation.inputs import RunInputs
from batchlab.simulation.odd_jobs import with_odd_jobs
from batchlab.simulation.outcome import outcome_of
from batchlab.simulation.overheads import sample_overheads
from batchlab.simulation.sensing import links_seen
from batchlab.simulation.snapshot import Snapshot, digest_of_run, options_as_facts, options_of_facts
from batchlab.simulation.status import Gauges, Status, columns_of, shares_in_use

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Unpack

    from batchlab.core.vocabulary import StopKind
    from batchlab.options import RunArguments
    from batchlab.policy import Policy
    from batchlab.seam.components import Observer, Scheduler
    from batchlab.simulation.decision_point import DecisionPoint
    from batchlab.simulation.external_events import Events
    from batchlab.system import System
    from batchlab.workload import Workload

__all__ = ["Simulation"]

# Maximum nesting of look aheads.
_DEEPEST = 16


class Simulation:
    """A simulation that can be stepped, run to a time, forked and saved.

    Parameters
    ----------
    workload
        The jobs.
    system
        The machine.
    policy
        Which job runs next, and on which nodes: a `Policy`, its spec string, or a `Scheduler`.
    observers
        Objects that observe the run and may change it; see `batchlab.Observer`.
    events
        External events (S18): an `EventStream`, the path of its file, or its rows.
    options
        Settings of the run. [default: `RunOptions()`]
    **arguments
        Fields of `options` by name, as in ``seed=1, walltime="kill"``. They take precedence over `options`.

    Raises
    ------
    SimulationError
        If an option has an invalid value.
    ObserverError
        If an observer is not an `Observer`, or two have the same name.
    PolicyError
        If the policy's spec or its formula is invalid.
    WorkloadError
        If a job names an unknown node group, or an event an unknown job or node.

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
        events: Events | None = None,
        options: RunOptions | None = None,
        **arguments: Unpack[RunArguments],
    ) -> None:
        workload = checked_workload(workload, system)
        policy = as_policy(policy).on(system.policy)
        made = RunOptions.of(options, arguments, function="Simulation()")
        components = python_components(policy, observers, made.controls)
        self._driver: Driver | None = None
        self._make(workload, system, policy, components, made, events=events)
        if components.any:
            columns = Columns(self.workload.jobs, clairvoyant=False)
            self._driver = Driver(components, self._kernel, system, columns)
            self._driver.belong_to(self)
            self._driver.begin()

    def _make(
        self,
        workload: Workload,
        system: System,
        policy: Policy,
        components: PythonComponents,
        options: RunOptions,
        *,
        events: Events | None,
    ) -> None:
        """Build the compiled half, without Python components."""
        self._inputs = (workload, system, policy)
        workload = with_odd_jobs(workload, system, policy, options)
        self._events = given_events(events, workload, system)
        check_periods(workload, options)
        self._options = options
        if options.invocation is not None:
            check_asked(components, policy)
        self._current = (workload, system, policy)
        self._run_digest: str | None = None
        self._elapsed, self._depth, self._assumes_estimates = 0.0, 0, False
        self._look_ahead_policy: str | None = None
        self._overheads = sample_overheads(workload, system, options)
        columns, self._initial_events = event_columns(self._events, workload, system)
        inputs = RunInputs.of(
            workload,
            system,
            policy,
            components.listening,
            options,
            overheads=self._overheads,
            events=columns,
        )
        try:
            self._kernel = _kernel.Simulation(inputs)
        except ValueError as error:
            # All other inputs are checked before, so the formula is invalid.
            raise PolicyError(f"{policy}: {error}") from error

    @property
    def workload(self) -> Workload:
        """The jobs."""
        return self._current[0]

    @property
    def system(self) -> System:
        """The machine."""
        return self._current[1]

    @property
    def policy(self) -> Policy:
        """The policy: which job runs next, and on which nodes."""
        return self._current[2]

    @property
    def now(self) -> float:
        """The present time, seconds since the workload's origin."""
        return self._kernel.now

    @property
    def next_time(self) -> float | None:
        """The next instant with an event, seconds; None if no event is left."""
        return self._kernel.next_time

    @property
    def finished(self) -> int:
        """The number of jobs that completed, were killed or were rejected so far."""
        return self._kernel.finished

    def step(self) -> bool:
        """Process all events of the next instant.

        Returns
        -------
        bool
            False if no event was left.

        Raises
        ------
        SimulationError
            If a loop over `decision_points` must make the decisions.
        """
        if self._driver is None:
            return self._kernel.step()
        check_decides(self._driver, self.policy)
        with self._driver.at_work():
            stop = self._kernel.drive_until(math.inf, self._driver, self._driver.view, instants=1)
        return stop == "instants"

    def run_until(
        self, until: float = math.inf, *, progress: Callable[[int, int], object] | None = None
    ) -> None:
        """Process all events up to and including a time.

        Parameters
        ----------
        until
            Seconds since the workload's origin. [default: the end of the workload]
        progress
            Called about every 0.05 s with the numbers of jobs finished and of all jobs. It may read this
            simulation.

        Raises
        ------
        SimulationError
            If the time is not a number, or a loop over `decision_points` must make the decisions.
        """
        check_time(until)
        report = (
            None if progress is None else lambda finished, _now: progress(finished, len(self._current[0]))
        )
        if self._driver is not None:
            check_decides(self._driver, self.policy)
            self._drive(self._driver, float(until), report)
            return
        begin = time.perf_counter()
        self._kernel.run_until(float(until), report)
        self._elapsed += time.perf_counter() - begin

    def decision_points(self, until: float = math.inf) -> Iterator[DecisionPoint]:
        """Run up to and including a time, and stop at every point at which a scheduler would be called.

        The body of the loop decides through ``point.view``, as `Scheduler.schedule` does. The pass ends when
        the loop continues. A loop that is left by ``break`` or an exception has not ended its pass: the next
        loop begins at the same point, as does a fork or a snapshot taken in the body of the loop.

        Parameters
        ----------
        until
            Seconds since the workload's origin. [default: the end of the workload]

        Returns
        -------
        iterator of DecisionPoint
            One for each call of ``schedule`` that `run_until` would make.

        Raises
        ------
        SimulationError
            If the time is not a number, the policy's scheduler is not an `ExternalScheduler`, or a newer loop
            over the points was started.

        Examples
        --------
        >>> import batchlab as bl
        >>> jobs = {"submit_time": [0, 0, 0], "run_time": [60, 60, 30], "tasks": [2, 4, 1]}
        >>> system = bl.System.homogeneous(nodes=1, resources={"core": 4})
        >>> simulation = bl.Simulation(bl.Workload.from_table(jobs), system, bl.ExternalScheduler())
        >>> for point in simulation.decision_points():
        ...     for job in point.view.candidates():
        ...         started = point.view.start(job)
        >>> simulation.result().jobs["start_time"].to_list()
        [0.0, 60.0, 0.0]
        """
        check_time(until)
        driver = self._driver
        if driver is None or not driver.is_left_to_caller:
            rule = "needs policy = ExternalScheduler(), or a Policy with it as its scheduler"
            raise SimulationError(f"policy = {self.policy} decides itself; decision_points() {rule}.")
        return points(self._kernel, driver, lambda: self._drive(driver, float(until)))

    def _drive(
        self, driver: Driver, until: float, report: Callable[[int, float], object] | None = None
    ) -> StopKind:
        begin = time.perf_counter()
        with driver.at_work():
            stop = self._kernel.drive_until(until, driver, driver.view, report)
        self._elapsed += time.perf_counter() - begin
        return stop

    def fork(self) -> Simulation:
        """Return an independent copy in the present state; Python components are copied deeply."""
        twin = object.__new__(Simulation)
        twin.__dict__.update(self.__dict__)
        twin._kernel = self._kernel.fork()  # our own twin
        if self._driver is not None:
            twin._driver = self._driver.twin(twin._kernel, self.system)
            twin._current = (*self._current[:2], with_components(self.policy, twin._driver.components))
            twin._driver.belong_to(twin)
        return twin

    def snapshot(self) -> bytes:
        """Return the present state as bytes, for `restore` in this or another process.

        The bytes do not contain the jobs, the system and the policy. Components written in Python
        (schedulers, allocators, orders, predictors and observers) are pickled with their state.
        O(jobs + nodes).

        Returns
        -------
        bytes
            The snapshot. It holds pickles, which run code when they are restored.

        Raises
        ------
        SimulationError
            If a Python component cannot be pickled.

        Examples
        --------
        >>> data = simulation.snapshot()  # doctest: +SKIP
        >>> later = Simulation.restore(data, workload, system, "easy")  # doctest: +SKIP
        """
        workload, system, policy = self._inputs
        self._run_digest = self._run_digest or digest_of_run(workload, system)
        facts = {
            "version": _kernel.__version__,
            "build": _kernel.SOURCES,
            "policy": str(policy),
            "run": self._run_digest,
            "options": options_as_facts(self._options),
            "under": self._look_ahead_policy,
            "assumes_estimates": self._assumes_estimates,
            "elapsed": self._elapsed,
            "depth": self._depth,
            "driven": self._driver is not None,
            "events": None if self._events is None else self._events.to_dicts(),
        }
        components = b"" if self._driver is None else self._driver.as_bytes()
        return Snapshot(facts, self._kernel.snapshot(), components).to_bytes()

    @classmethod
    def restore(
        cls,
        data: bytes,
        workload: Workload,
        system: System,
        policy: Policy | Scheduler | str,
    ) -> Simulation:
        """Restore a simulation from a snapshot.

        Parameters
        ----------
        data
            The result of `snapshot`.
        workload, system, policy
            The inputs of the saved simulation. Its options and observers are in the snapshot. Python
            components of the policy are restored with their state at the time of the snapshot.

        Raises
        ------
        SimulationError
            If the bytes are not a snapshot, were written by another build, or belong to other jobs, another
            system or another policy. All of this is checked before anything is unpickled.

        Warnings
        --------
        A snapshot holds pickles, and a malicious one runs its code here. Restore only your own snapshots, or
        those from people whom you trust.
        """
        workload = checked_workload(workload, system)
        policy = as_policy(policy).on(system.policy)
        snapshot = Snapshot.of_bytes(data)
        digest = digest_of_run(workload, system)
        snapshot.check(version=_kernel.__version__, build=_kernel.SOURCES, policy=str(policy), run=digest)
        simulation = cls.__new__(cls)
        with Snapshot.restoring():
            simulation._make_again(snapshot, workload, system, policy)  # noqa: SLF001  # our own
        simulation._run_digest = digest  # noqa: SLF001  # likewise
        return simulation

    def _make_again(self, snapshot: Snapshot, workload: Workload, system: System, policy: Policy) -> None:
        self._driver = None
        options, components = options_of_facts(snapshot.facts["options"]), python_components(policy, ())
        self._make(workload, system, policy, components, options, events=snapshot.facts["events"])
        self._go_on_from(snapshot)

    def _go_on_from(self, snapshot: Snapshot) -> None:
        facts = snapshot.facts
        if facts["under"] is not None:
            self._go_on_under(as_policy(facts["under"]).on(self.system.policy))
        try:
            self._kernel.restore(snapshot.kernel)
        except ValueError as error:
            raise SimulationError(f"{error}; give what the snapshot was taken of.") from error
        if facts["driven"]:
            _, system, policy = self._inputs
            columns = Columns(self.workload.jobs, clairvoyant=False)
            self._driver = Driver(python_components(policy, ()), self._kernel, system, columns)
            self._driver.restored(snapshot.components)
            self._current = (*self._current[:2], with_components(self._current[2], self._driver.components))
            self._driver.belong_to(self)
        self._elapsed, self._depth = facts["elapsed"], facts["depth"]
        if facts["assumes_estimates"]:
            self._assume_run_times()

    def __reduce__(self) -> tuple[Callable[..., Simulation], tuple[object, ...]]:
        return Simulation.restore, (self.snapshot(), *self._inputs)

    def __copy__(self) -> Simulation:
        return self.fork()

    def __deepcopy__(self, _memo: dict[int, object]) -> Simulation:
        return self.fork()

    def look_ahead(self, policy: Policy | str | None = None, *, clairvoyant: bool = False) -> Simulation:
        """Return a copy that continues with the information known at this moment.

        Parameters
        ----------
        policy
            A built-in policy for the copy. [default: a deep copy of the policy of this simulation]
        clairvoyant
            True if the copy knows the future: true run times and later submissions. Otherwise every job runs
            for its estimated run time, and no further job is submitted.

        Returns
        -------
        Simulation
            The copy, to be run, read and discarded.

        Raises
        ------
        PolicyError
            If the policy is written in Python, is a formula, or names a predictor. Estimates do not change in
            a look ahead.
        SimulationError
            If too many look aheads are nested.
        """
        if self._depth >= _DEEPEST:
            rule = "its copy does as a policy does: go on under another, fork('easy'), or keep a flag"
            raise SimulationError(f"{_DEEPEST} look aheads within each other; {rule}.")
        twin = self.fork()
        twin._depth = self._depth + 1  # noqa: SLF001  # our own twin
        if policy is not None:
            twin._go_on_under(as_policy(policy).on(self.system.policy))  # noqa: SLF001  # our own twin
        if not clairvoyant:
            twin._assume_estimates()  # noqa: SLF001  # likewise
        return twin

    def _go_on_under(self, policy: Policy) -> None:
        if not policy.is_named or policy.order_name in OF_COLUMNS:
            rule = (
                "a look ahead goes on under its own policy, or a built-in one whose order asks for no columns"
            )
            raise PolicyError(f"policy = {policy}; {rule}.")
        if policy.predictor != "requested":
            raise PolicyError(f"policy = {policy}; a look ahead keeps the estimates that there are.")
        workload, system, _ = self._current
        self._current = (workload, system, policy)
        self._look_ahead_policy = str(policy)
        self._kernel.adopt(policy_names(policy, self._options.seed, self._current[1]))
        if self._driver is not None:
            self._driver = self._driver.without_policy(self._kernel, system)
            self._driver.belong_to(self)

    def _assume_estimates(self) -> None:
        self._kernel.assume_estimates()
        self._assume_run_times()
        for observer in () if self._driver is None else self._driver.components.observers:
            observer.drop_future_events()

    def _assume_run_times(self) -> None:
        """Show the run times that the kernel assumes in place of the true ones."""
        self._assumes_estimates = True
        workload, system, policy = self._current
        run_times = pl.Series("run_time", self._kernel.run_times())
        # `with_columns` needs the threads of polars, which a forked process does not have.
        jobs = workload.jobs.clone()
        jobs.replace_column(jobs.get_column_index("run_time"), run_times)
        believed = dataclasses.replace(workload, jobs=jobs)
        self._current = (believed, system, policy)

    def status(self, *, latest: int = 0) -> Status:
        """Return which jobs wait, which run on which nodes, and the free resources; O(jobs + nodes).

        Parameters
        ----------
        latest
            How many of the jobs that ended last to include with their nodes. `SimulationError` if it is
            negative.
        """
        columns = columns_of(self._kernel, latest)
        return Status(now=self.now, next_time=self.next_time, system=self.system, **columns)

    def gauges(self) -> Gauges:
        """Return the length of the queue and the utilisation; costs less than `status`."""
        queued, unused = self._kernel.gauges()
        return Gauges(self.now, queued, shares_in_use(self._current[1], unused))

    def result(self) -> Result:
        """Return the outcome of every job so far."""
        outcome = outcome_of(
            self._kernel,
            overheads=self._overheads,
            own_events=None if self._events is None else self._initial_events,
            sensing_links=links_seen(self._options.platform_sensing, self._current[1].platform),
        )
        return Result(
            *self._current,
            outcome,
            options=self._options,
            external_events=self._events,
            elapsed=self._elapsed,
            **({} if self._driver is None else self._driver.observed()),
        )

    def __repr__(self) -> str:
        workload, system, policy = self._current
        done = f"{self.finished:,} of {len(workload):,} jobs done"
        return f"<Simulation of {policy} on {system.nodes:,} nodes at {self.now:g} s: {done}>"
