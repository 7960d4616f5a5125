"""A run: the compiled half of a simulation, its inputs, and its components written in Python."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab import _kernel
from batchlab.errors import PolicyError, SimulationError
from batchlab.observer.steps import too_many
from batchlab.policy.kernel import policy_names
from batchlab.policy.policy import as_policy
from batchlab.policy.registry import ORDERS
from batchlab.result.result import Result
from batchlab.seam.view import Columns
from batchlab.simulation.beginning import begin_in, present_state
from batchlab.simulation.columns import with_odd_jobs
from batchlab.simulation.driver import Driver, PythonComponents, python_components, with_components
from batchlab.simulation.external_events import event_columns, given_events
from batchlab.simulation.inputs import outcome_of, run_inputs
from batchlab.simulation.nodes import links_seen
from batchlab.simulation.overheads import sample_overheads
from batchlab.simulation.replacements import NewArrivals, named_refusals, replace_run_times
from batchlab.simulation.snapshot import Snapshot, digest_of_run, options_as_facts, options_of_facts

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab.options import RunOptions
    from batchlab.policy import Policy
    from batchlab.simulation.external_events import Events
    from batchlab.simulation.initial_state import InitialState
    from batchlab.simulation.overheads import DrawnOverheads
    from batchlab.simulation.replacements import Arrivals, RunTimes
    from batchlab.system import System
    from batchlab.workload import Workload
    from batchlab.workload.event_stream import EventStream

__all__ = ["Run"]

# Between two looks whether the jobs asked about have started.
_INSTANTS = 32


@dataclass(kw_only=True)
class Run:
    """All that a simulation consists of; `replace` copies it for a fork.

    Parameters
    ----------
    kernel
        The compiled half.
    given
        Workload, system and policy as the caller passed them.
    workload, system, policy
        The present ones: odd jobs are marked, and a look ahead may replace run times and the policy.
    options
        The options of the run.
    events, own_events
        The external events, and how many of the first events of the kernel batchlab added.
    overheads
        The overheads of the jobs.
    begun
        The first submission of the run, if it is not that of the workload, seconds.
    driver
        The Python components; None without any.
    look_ahead_policy
        The spec of the policy of a look ahead, if it is another one.
    assumes_estimates
        True if the run times of jobs are those that the kernel has: estimates as in a look ahead, or others.
    has_other_arrivals
        True if jobs are submitted that the workload submits at another time, or not again.
    depth
        The number of nested look aheads.
    elapsed
        Seconds of wall time spent in the kernel.
    digest
        The digest of workload and system, once it was computed.
    """

    kernel: _kernel.Simulation
    given: tuple[Workload, System, Policy]
    workload: Workload
    system: System
    policy: Policy
    options: RunOptions
    events: EventStream | None = None
    own_events: int = 0
    overheads: DrawnOverheads | None = None
    begun: float | None = None
    driver: Driver | None = None
    look_ahead_policy: str | None = None
    assumes_estimates: bool = False
    has_other_arrivals: bool = False
    depth: int = 0
    elapsed: float = 0.0
    digest: str | None = None

    @classmethod
    def begin(
        cls,
        given: tuple[Workload, System, Policy],
        components: PythonComponents,
        options: RunOptions,
        events: Events | None,
        begun: float | None = None,
    ) -> Run:
        """Build the compiled half of a run, without Python components."""
        workload, system, policy = given
        workload = with_odd_jobs(workload, system, policy, options)
        stream = given_events(events, workload, system)
        _check_periods(workload, options)
        if options.invocation is not None:
            _check_asked(components, policy)
        overheads = sample_overheads(workload, system, options)
        columns, own_events = event_columns(stream, workload, system)
        listening = components.listening
        inputs = run_inputs(
            workload, system, policy, listening, options, overheads=overheads, events=columns, begun=begun
        )
        try:
            kernel = _kernel.Simulation(inputs)
        except ValueError as error:
            # All other inputs are checked before, so the formula is invalid.
            raise PolicyError(f"{policy}: {error}") from error
        return cls(
            kernel=kernel,
            given=given,
            workload=workload,
            system=system,
            policy=policy,
            options=options,
            events=stream,
            own_events=own_events,
            overheads=overheads,
            begun=begun,
        )

    def driver_of(self, components: PythonComponents) -> Driver:
        """Create the driver of some components."""
        columns = Columns(self.workload.jobs, clairvoyant=False)
        return Driver(components, self.kernel, self.system, columns)

    def fork(self) -> Run:
        """Return an independent copy; Python components are copied deeply."""
        twin = replace(self, kernel=self.kernel.fork())
        if self.driver is not None:
            twin.driver = self.driver.twin(twin.kernel, self.system)
            twin.policy = with_components(self.policy, twin.driver.components)
        return twin

    def snapshot(self) -> Snapshot:
        """Return the state, without jobs, system and policy.

        Raises
        ------
        SimulationError
            If the run is a fork with a table of arrivals.
        """
        if self.has_other_arrivals:
            rule = "the workload does not have these submissions. Take the snapshot before fork()"
            raise SimulationError(f"a fork with a table of arrivals has no snapshot: {rule}.")
        self.digest = self.digest or digest_of_run(*self.given[:2])
        facts = {
            "version": _kernel.__version__,
            "build": _kernel.SOURCES,
            "policy": str(self.given[2]),
            "run": self.digest,
            "options": options_as_facts(self.options),
            "under": self.look_ahead_policy,
            "assumes_estimates": self.assumes_estimates,
            "elapsed": self.elapsed,
            "depth": self.depth,
            "driven": self.driver is not None,
            "events": None if self.events is None else self.events.to_dicts(),
            "begun": self.begun,
        }
        components = b"" if self.driver is None else self.driver.as_bytes()
        return Snapshot(facts, self.kernel.snapshot(), components)

    @classmethod
    def restored(cls, snapshot: Snapshot, given: tuple[Workload, System, Policy], digest: str) -> Run:
        """Continue from a snapshot of a run of this workload, system and policy, with this digest."""
        facts, policy = snapshot.facts, given[2]
        components = python_components(policy, ())
        options = options_of_facts(facts["options"])
        run = cls.begin(given, components, options, facts["events"], facts["begun"])
        run.digest = digest
        if facts["under"] is not None:
            run.adopt(as_policy(facts["under"]).on(run.system.policy))
        try:
            run.kernel.restore(snapshot.kernel)
        except ValueError as error:
            raise SimulationError(f"{error}; give what the snapshot was taken of.") from error
        if facts["driven"]:
            run.driver = run.driver_of(components)
            run.driver.restored(snapshot.components)
            run.policy = with_components(run.policy, run.driver.components)
        run.elapsed, run.depth = facts["elapsed"], facts["depth"]
        if facts["assumes_estimates"]:
            run.show_assumed_times()
        return run

    def begin_in(self, state: InitialState) -> None:
        """Begin in a state, before the first event."""
        begin_in(self.kernel, state, self.workload, self.system, self.policy)

    def initial_state(self) -> InitialState:
        """Return the present state, in which another run can begin."""
        return present_state(self.kernel, self.workload, self.system)

    def adopt(self, policy: Policy) -> None:
        """Continue under another policy, as a look ahead does.

        Raises
        ------
        PolicyError
            If the policy needs inputs that this run does not have.
        """
        if not policy.is_named or ORDERS[policy.order_name].needs:
            rule = (
                "a look ahead goes on under its own policy, or a built-in one whose order asks for no columns"
            )
            raise PolicyError(f"policy = {policy}; {rule}.")
        if policy.predictor != "requested":
            raise PolicyError(f"policy = {policy}; a look ahead keeps the estimates that there are.")
        self.policy, self.look_ahead_policy = policy, str(policy)
        self.kernel.adopt(policy_names(policy, self.options.seed, self.system))
        if self.driver is not None:
            self.driver = self.driver.without_policy(self.kernel, self.system)

    def assume_estimates(self) -> None:
        """Run every job for its estimate from now on, without further submissions."""
        self.kernel.assume_estimates()
        self.show_assumed_times()
        for observer in () if self.driver is None else self.driver.components.observers:
            observer.drop_future_events()

    def replace_run_times(self, run_times: RunTimes) -> None:
        """Replace the true run times of jobs from now on.

        Raises
        ------
        SimulationError
            If a component knows the true run times, or a job cannot have its run time.
        """
        components = () if self.driver is None else self.driver.components.all
        seeing = [each for each in components if getattr(each, "clairvoyant", False)]
        if seeing:
            rule = "it knows the true ones. Leave run_times out, or set clairvoyant = False on the class"
            raise SimulationError(f"run_times: {type(seeing[0]).__name__} is clairvoyant; {rule}.")
        replace_run_times(self.kernel, self.workload, run_times)
        self.show_assumed_times()

    def replace_arrivals(self, arrivals: Arrivals) -> None:
        """Replace the later submissions of the workload, and end its external events.

        Raises
        ------
        SimulationError
            If the table is invalid, or a job cannot be submitted again.
        """
        found = NewArrivals.of(self.workload, arrivals)
        for observer in () if self.driver is None else self.driver.components.observers:
            observer.drop_future_events()
        if found is None:
            self.kernel.close_feed()
            return
        found.apply(self.kernel, self.workload)
        self.workload = replace(self.workload, jobs=found.shown_in(self.workload))
        self.has_other_arrivals = True

    def sample_starts(
        self,
        rows: npt.NDArray[np.uint32],
        run_times: npt.NDArray[np.float64],
        asked: npt.NDArray[np.uint32],
        until: float,
        threads: int,
    ) -> npt.NDArray[np.float64]:
        """Return the starts of jobs in forks with other run times, infinite if a job does not start in time.

        Raises
        ------
        SimulationError
            If a job cannot have a run time.
        """
        if self.driver is None:
            with named_refusals(self.workload, rows, "run_times"):
                return self.kernel.sample_starts(rows, run_times, asked, until, threads)
        return np.array([self._starts_of_fork(rows, seconds, asked, until) for seconds in run_times])

    def _starts_of_fork(
        self,
        rows: npt.NDArray[np.uint32],
        seconds: npt.NDArray[np.float64],
        asked: npt.NDArray[np.uint32],
        until: float,
    ) -> npt.NDArray[np.float64]:
        twin = self.fork()
        whole = np.full(len(self.workload), np.nan)
        whole[rows] = seconds
        twin.replace_run_times(whole)
        while twin.driver is not None:
            with twin.driver.at_work():
                stop = twin.kernel.drive_until(until, twin.driver, twin.driver.view, instants=_INSTANTS)
            starts = np.asarray(twin.kernel.status(0)["start_time"])[asked]
            if stop != "instants" or not np.isnan(starts).any():
                break
        return np.where(np.isnan(starts), np.inf, starts)

    def show_assumed_times(self) -> None:
        """Show the run times that the kernel assumes in place of the true ones."""
        self.assumes_estimates = True
        run_times = pl.Series("run_time", self.kernel.run_times())
        # `with_columns` needs the threads of polars, which a forked process does not have.
        jobs = self.workload.jobs.clone()
        jobs.replace_column(jobs.get_column_index("run_time"), run_times)
        self.workload = replace(self.workload, jobs=jobs)

    def result(self) -> Result:
        """Return the outcome of every job so far."""
        outcome = outcome_of(
            self.kernel,
            overheads=self.overheads,
            own_events=None if self.events is None else self.own_events,
            sensing_links=links_seen(self.options.platform_sensing, self.system.platform),
        )
        return Result(
            self.workload,
            self.system,
            self.policy,
            outcome,
            options=self.options,
            external_events=self.events,
            elapsed=self.elapsed,
            **({} if self.driver is None else self.driver.observed()),
        )


def _check_asked(components: PythonComponents, policy: Policy) -> None:
    """Raise unless an `Invocation` comes with a scheduler outside the kernel.

    Raises
    ------
    SimulationError
        If the policy has no such scheduler.
    """
    if components.scheduler is None:
        rule = "only a scheduler written in Python is asked event by event. Leave invocation out"
        raise SimulationError(f"invocation with policy = {policy}; {rule}.")


def _check_periods(workload: Workload, options: RunOptions) -> None:
    """Raise if a periodic timer fires too often during the span of submissions.

    Raises
    ------
    SimulationError
        If an interval is too short.
    """
    intervals = {
        "sensing": options.platform_sensing,
        "invocation": options.scheduler_invocation,
    }
    first, last = workload.first_submission, workload.last_submission
    for name, asked in intervals.items():
        if asked and asked.interval and (wrong := too_many(first, last, asked.interval)):
            raise SimulationError(f"{name}: the interval: {wrong}")
