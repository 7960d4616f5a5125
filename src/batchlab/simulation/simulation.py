"""A simulation that is driven instant by instant, and the function `simulate`."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import numpy as np

from batchlab import _kernel
from batchlab.core.late import core_markup as markup
from batchlab.core.units import format_count, format_duration
from batchlab.errors import SimulationError, one_line, shown
from batchlab.options import RunOptions
from batchlab.policy.policy import as_policy
from batchlab.simulation.beginning import given_state
from batchlab.simulation.driver import Driver, points, python_components
from batchlab.simulation.forecasting import ForecastsStarts
from batchlab.simulation.run import Run
from batchlab.simulation.snapshot import Snapshot, digest_of_run
from batchlab.simulation.status import Gauges, Status, columns_of, shares_in_use
from batchlab.system.given import check_types
from batchlab.workload.requests import on_system

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence
    from typing import Unpack

    import numpy.typing as npt

    from batchlab.core.vocabulary import StopKind
    from batchlab.options import RunArguments
    from batchlab.policy import Policy
    from batchlab.result.result import Result
    from batchlab.seam.components import Observer, Scheduler
    from batchlab.simulation.driver import DecisionPoint
    from batchlab.simulation.external_events import Events
    from batchlab.simulation.initial_state import InitialState
    from batchlab.simulation.replacements import Arrivals, RunTimes
    from batchlab.system import System
    from batchlab.workload import Workload

__all__ = ["Simulation", "simulate", "simulation_of_log"]


# Maximum nesting of look aheads.
_DEEPEST = 16
_LONGEST = 40


class Simulation(ForecastsStarts):
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
    initial_state
        The state in which the simulation begins (S28), or the path of its file. [default: nothing has been
        submitted]
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
        initial_state: InitialState | str | os.PathLike[str] | None = None,
        options: RunOptions | None = None,
        **arguments: Unpack[RunArguments],
    ) -> None:
        workload = _checked_workload(workload, system)
        policy = as_policy(policy).on(system.policy)
        made = RunOptions.of(options, arguments, function=Simulation)
        components = python_components(policy, observers, made.controls)
        initial = given_state(initial_state)
        begun = None if initial is None else initial.first_submission
        self._run = Run.begin((workload, system, policy), components, made, events, begun)
        if initial is not None:
            self._run.begin_in(initial)
        if components.any:
            self._run.driver = self._run.driver_of(components)
            self._run.driver.belong_to(self)
            self._run.driver.begin()

    @classmethod
    def _of(cls, run: Run) -> Simulation:
        """Return the simulation of a run that has begun."""
        simulation = cls.__new__(cls)
        simulation._run = run  # noqa: SLF001  # its own
        if run.driver is not None:
            run.driver.belong_to(simulation)
        return simulation

    @property
    def workload(self) -> Workload:
        """The jobs."""
        return self._run.workload

    @property
    def system(self) -> System:
        """The machine."""
        return self._run.system

    @property
    def policy(self) -> Policy:
        """The policy: which job runs next, and on which nodes."""
        return self._run.policy

    @property
    def now(self) -> float:
        """The time of the last event so far, seconds since the workload's origin, also after `run_until`."""
        return self._run.kernel.now

    @property
    def next_time(self) -> float | None:
        """The next instant with an event, seconds; None if no event is left."""
        return self._run.kernel.next_time

    @property
    def finished(self) -> int:
        """The number of jobs that completed, were killed or were rejected so far."""
        return self._run.kernel.finished

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
        if self._run.driver is None:
            return self._run.kernel.step()
        _check_decides(self._run.driver, self.policy)
        with self._run.driver.at_work():
            stop = self._run.kernel.drive_until(math.inf, self._run.driver, self._run.driver.view, instants=1)
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
        _check_time(until)
        report = None if progress is None else lambda finished, _now: progress(finished, len(self.workload))
        if self._run.driver is not None:
            _check_decides(self._run.driver, self.policy)
            self._drive(self._run.driver, float(until), report)
            return
        begin = time.perf_counter()
        self._run.kernel.run_until(float(until), report)
        self._run.elapsed += time.perf_counter() - begin

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
        _check_time(until)
        driver = self._run.driver
        if driver is None or not driver.is_left_to_caller:
            rule = "needs policy = ExternalScheduler(), or a Policy with it as its scheduler"
            raise SimulationError(f"policy = {self.policy} decides itself; decision_points() {rule}.")
        return points(self._run.kernel, driver, lambda: self._drive(driver, float(until)))

    def _drive(
        self, driver: Driver, until: float, report: Callable[[int, float], object] | None = None
    ) -> StopKind:
        begin = time.perf_counter()
        with driver.at_work():
            stop = self._run.kernel.drive_until(until, driver, driver.view, report)
        self._run.elapsed += time.perf_counter() - begin
        return stop

    def fork(self, *, run_times: RunTimes | None = None, arrivals: Arrivals = "workload") -> Simulation:
        """Return an independent copy in the present state; Python components are copied deeply.

        Parameters
        ----------
        run_times
            Other true run times of jobs in the copy: seconds by ``job_id``, or float64, shape (jobs,), in
            which NaN leaves a job as it is. Each is the total time of the job: above the time that it has
            already run, and not above its time limit. Schedulers plan with the same requested times.
            [default: the true run times]
        arrivals
            Later submissions of the copy: ``"workload"``; ``"none"`` (and no later external events); or a
            table with the columns ``job_id`` and ``submit_time`` (seconds), and optionally ``tasks`` and
            ``requested_time`` (seconds): these jobs and no others are submitted, each a job that has ended or
            is not yet submitted. A job that has ended forgets its run in the copy. [default: ``"workload"``]

        Returns
        -------
        Simulation
            The copy. Its workload has the other run times and arrivals.

        Raises
        ------
        SimulationError
            If a job is unknown, or cannot have its run time or its submission (semantics, S30).

        Examples
        --------
        >>> import batchlab as bl
        >>> jobs = {"submit_time": [0, 1], "run_time": [60, 30], "requested_time": [90, 30], "tasks": [1, 1]}
        >>> system = bl.System.homogeneous(nodes=1, resources={"core": 1})
        >>> simulation = bl.Simulation(bl.Workload.from_table(jobs), system, "easy")
        >>> simulation.run_until(10)
        >>> later = simulation.fork(run_times={1: 80.0})
        >>> later.result().jobs["start_time"].to_list()
        [0.0, None]
        >>> later.run_until()
        >>> later.result().jobs["start_time"].to_list()
        [0.0, 80.0]
        """
        run = self._run.fork()
        keeps_arrivals = isinstance(arrivals, str) and arrivals == "workload"
        if not keeps_arrivals:
            run.replace_arrivals(arrivals)
        if run_times is not None:
            run.replace_run_times(run_times)
        return self._of(run)

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
        return self._run.snapshot().to_bytes()

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
        workload = _checked_workload(workload, system)
        policy = as_policy(policy).on(system.policy)
        snapshot = Snapshot.of_bytes(data)
        digest = digest_of_run(workload, system)
        snapshot.check(version=_kernel.__version__, build=_kernel.SOURCES, policy=str(policy), run=digest)
        with Snapshot.restoring():
            return cls._of(Run.restored(snapshot, (workload, system, policy), digest))

    def initial_state(self) -> InitialState:
        """Return the present state, in which another simulation can begin (S28).

        A simulation of the same workload that begins in it has the same schedule. Unlike a snapshot, it is a
        table, and may begin with another policy, system or workload.

        Raises
        ------
        SimulationError
            If the simulation is in the middle of an instant, no job has been submitted, or it has something
            that an initial state does not hold (S28).

        Examples
        --------
        >>> simulation.run_until(3600.0)  # doctest: +SKIP
        >>> simulation.initial_state().write("state.csv")  # doctest: +SKIP
        """
        return self._run.initial_state()

    def __reduce__(self) -> tuple[Callable[..., Simulation], tuple[object, ...]]:
        return Simulation.restore, (self.snapshot(), *self._run.given)

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
        if self._run.depth >= _DEEPEST:
            rule = "its copy does as a policy does: go on under another, fork('easy'), or keep a flag"
            raise SimulationError(f"{_DEEPEST} look aheads within each other; {rule}.")
        run = self._run.fork()
        run.depth += 1
        if policy is not None:
            if self._run.options.explain:
                rule = "look_ahead() cannot go on under another policy if explain = True"
                raise SimulationError(f"policy = {policy}; {rule}. Leave policy or explain out.")
            run.adopt(as_policy(policy).on(self.system.policy))
        if not clairvoyant:
            run.assume_estimates()
        return self._of(run)

    def times_run(self, rows: npt.NDArray[np.integer]) -> npt.NDArray[np.float64]:
        """Return how long jobs have run: seconds of completed work that they keep, by row of the workload."""
        return np.array(self._run.kernel.times_run(np.asarray(rows, dtype=np.uint32)), dtype=np.float64)

    def sample_starts(
        self,
        rows: npt.NDArray[np.integer],
        run_times: npt.NDArray[np.float64],
        asked: npt.NDArray[np.integer],
        *,
        until: float = math.inf,
        threads: int = 1,
    ) -> npt.NDArray[np.float64]:
        """Simulate forks that differ in their run times until jobs have started; see `forecast`.

        Parameters
        ----------
        rows
            Shape (r,): rows of the jobs with other run times.
        run_times
            float64, shape (samples, r): their total run times, seconds, as for `fork`.
        asked
            Shape (n,): rows of the jobs whose starts are returned.
        until
            The last instant that is simulated, seconds. [default: none]
        threads
            The number of threads; policies and observers in Python use one.

        Returns
        -------
        numpy.ndarray
            float64, shape (samples, n): the starts, seconds; infinite if a job does not start in time.

        Raises
        ------
        SimulationError
            If a job cannot have a run time.
        """
        return self._run.sample_starts(
            np.asarray(rows, dtype=np.uint32),
            np.ascontiguousarray(run_times, dtype=np.float64),
            np.asarray(asked, dtype=np.uint32),
            until,
            threads,
        )

    def status(self, *, latest: int = 0) -> Status:
        """Return which jobs wait, which run on which nodes, and the free resources; O(jobs + nodes).

        Parameters
        ----------
        latest
            How many of the jobs that ended last to include with their nodes. `SimulationError` if it is
            negative.
        """
        columns = columns_of(self._run.kernel, latest)
        return Status(now=self.now, next_time=self.next_time, system=self.system, **columns)

    def gauges(self) -> Gauges:
        """Return the length of the queue and the utilisation; costs less than `status`."""
        queued, unused = self._run.kernel.gauges()
        return Gauges(self.now, queued, shares_in_use(self.system, unused))

    def result(self) -> Result:
        """Return the outcome of every job so far."""
        return self._run.result()

    def __repr__(self) -> str:
        done = f"{self.finished:,} of {format_count(len(self.workload), 'job')} done"
        policy = one_line(str(self.policy), _LONGEST)
        return (
            f"<Simulation of {policy} on {format_count(self.system.nodes, 'node')} at {self.now:g} s: {done}>"
        )

    def _repr_html_(self) -> str:
        status = self.status()
        following = "–" if status.next_time is None else f"at {format_duration(status.next_time)}"
        shares = ", ".join(f"{name} {100 * share:.1f} %" for name, share in status.utilisation.items())
        counted = ", ".join(f"{number:,} {name}" for name, number in status.counts.items() if number)
        facts = [
            ("now", format_duration(self.now)),
            ("jobs", counted or "none"),
            ("in use", shares),
            ("system", str(self.system)),
            ("next event", following),
        ]
        return markup.card(f"Simulation of {self.policy}", facts)


def simulation_of_log(
    kernel: _kernel.Simulation, workload: Workload, system: System, policy: Policy, options: RunOptions
) -> Simulation:
    """Return the simulation of a log that the kernel has read, without Python components.

    Parameters
    ----------
    kernel
        The compiled half, built by ``SwfLog.simulation``.
    workload, system, policy, options
        The run.
    """
    given = workload, system, policy
    run = Run(kernel=kernel, given=given, workload=workload, system=system, policy=policy, options=options)
    return Simulation._of(run)  # noqa: SLF001  # of this module


def simulate(
    workload: Workload,
    system: System,
    policy: Policy | Scheduler | str,
    *,
    observers: Sequence[Observer] = (),
    events: Events | None = None,
    initial_state: InitialState | str | os.PathLike[str] | None = None,
    options: RunOptions | None = None,
    progress: Callable[[int, int], object] | None = None,
    **arguments: Unpack[RunArguments],
) -> Result:
    """Simulate a workload on a system under a policy to its end.

    Parameters
    ----------
    workload, system, policy, observers, events, initial_state
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
    options = RunOptions.of(options, arguments, function=simulate)
    simulation = Simulation(
        workload,
        system,
        policy,
        observers=observers,
        events=events,
        initial_state=initial_state,
        options=options,
    )
    simulation.run_until(progress=progress)
    return simulation.result()


def _checked_workload(workload: Workload, system: System) -> Workload:
    """Return the workload with its requests expressed in the resources of the system (S3).

    Raises
    ------
    SystemDescriptionError, WorkloadError
        If the arguments are not a workload and a system, or a column named after a resource does not hold
        amounts.
    """
    check_types(workload, system)
    return on_system(workload, system)


def _check_time(until: float) -> None:
    """Raise unless the value is a time, that is, a number.

    Raises
    ------
    SimulationError
        If it is NaN or not a number.
    """
    try:
        is_time = not math.isnan(until)
    except (TypeError, OverflowError):
        is_time = False
    if not is_time:
        raise SimulationError(f"until = {shown(until)}; must be a time in seconds.")


def _check_decides(driver: Driver, policy: Policy) -> None:
    """Raise if the caller makes the decisions but does not loop over the decision points.

    Raises
    ------
    SimulationError
        If the policy's scheduler is an `ExternalScheduler`.
    """
    if driver.is_left_to_caller:
        rule = "make a Simulation, and loop over its decision_points()"
        raise SimulationError(f"policy = {policy} leaves the decisions to the caller; {rule}.")
