"""Calls from the kernel to Python: components of the policy, observers, and callers that decide."""

from __future__ import annotations

import copy
import math
import weakref
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, TypedDict, cast

import polars as pl

from batchlab import _kernel
from batchlab.control import RateLoad
from batchlab.errors import DecisionError, SimulationError, shown
from batchlab.observer.description import checked_observers
from batchlab.policy.kernel import takes_now
from batchlab.predictor import PREDICTORS
from batchlab.result.table import ALLOCATED, JOBS, RESULT_COLUMNS
from batchlab.seam.components import Allocator, ExternalScheduler, Observer, Predictor
from batchlab.seam.view import Columns, Values, View
from batchlab.simulation.snapshot import components_as_bytes, components_of_bytes
from batchlab.workload.validation import as_polars, is_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from batchlab.control import RateControl
    from batchlab.core.vocabulary import StopKind
    from batchlab.policy import Policy
    from batchlab.seam.components import Scheduler
    from batchlab.seam.invocation import Cause
    from batchlab.system import System

__all__ = ["DecisionPoint", "Driver", "PythonComponents", "points", "python_components", "with_components"]


# Methods of observers, indexed by the number of the change.
_CHANGES = _kernel.names()["change"]
_ABOUT_NODES = frozenset(number for number, name in enumerate(_CHANGES) if name.startswith("node_"))
_ANSWER = "must be a list of jobs to be started in order, or None where view.start(job) started them"


class Observed(TypedDict, total=False):
    """Tables of the observers, and the names of their classes."""

    observations: dict[str, pl.DataFrame]
    observers: tuple[str, ...]


@dataclass(frozen=True)
class PythonComponents:
    """The components of a run that are written in Python."""

    scheduler: Scheduler | None
    allocator: Allocator | None
    predictor: Predictor | None
    order: Callable[..., object] | None
    observers: tuple[Observer, ...]
    controls: tuple[RateControl, ...] = ()

    @property
    def any(self) -> bool:
        """True if the run has any component outside the kernel."""
        outside = (self.scheduler, self.allocator, self.predictor, self.order)
        asked = any(component is not None for component in outside)
        return asked or bool(self.observers) or any(control.is_external for control in self.controls)

    @property
    def all(self) -> tuple[object, ...]:
        """All components, with the order and the observers."""
        return self.scheduler, self.allocator, self.predictor, self.order, *self.observers

    @property
    def listening(self) -> _kernel.Listening:
        """Flags for the kernel: which calls these components need."""
        return {
            "estimates": self.predictor is not None,
            "changes": sum(1 << number for number, name in enumerate(_CHANGES) if self._heeds(name)),
            "every_instant": self.scheduler is not None and self.scheduler.every_instant,
        }

    def _heeds(self, change: str) -> bool:
        """Return whether a component handles this change."""
        learns = change == "ended" and _learns(self.predictor)
        return learns or any(_defines(observer, change) for observer in self.observers)


def python_components(
    policy: Policy, observers: Sequence[Observer], controls: tuple[RateControl, ...] = ()
) -> PythonComponents:
    """Collect the components of a run that are written in Python.

    Raises
    ------
    ObserverError
        If an observer is not an `Observer`, or two have the same name.
    """
    allocator = policy.allocator if isinstance(policy.allocator, Allocator) else None
    order = None if isinstance(policy.order, str) or not takes_now(policy.order) else policy.order
    predictor, observed = _predictor(policy), checked_observers(observers)
    return PythonComponents(policy.scheduler, allocator, predictor, order, observed, controls)


def with_components(policy: Policy, components: PythonComponents) -> Policy:
    """Return the policy with its Python components replaced by these."""
    own: dict[str, Any] = {
        name: component
        for name in ("scheduler", "allocator", "order")
        if (component := getattr(components, name)) is not None
    }
    if isinstance(policy.predictor, Predictor):
        own["predictor"] = components.predictor
    return replace(policy, **own)


def _predictor(policy: Policy) -> Predictor | None:
    if policy.predictor == "requested":
        return None
    return PREDICTORS[policy.predictor]() if isinstance(policy.predictor, str) else policy.predictor


class Driver:
    """The components of one simulation: hooks that the kernel calls, and the views passed to them.

    Parameters
    ----------
    components
        The components to call.
    simulation
        The compiled half of the simulation.
    system
        The machine.
    columns
        The workload's columns, without the true run times.
    """

    def __init__(
        self, components: PythonComponents, simulation: _kernel.Simulation, system: System, columns: Columns
    ) -> None:
        self.components = components
        self._columns = columns
        self._simulation = simulation
        self._is_at_work = False
        self._is_telling = False
        self.loop: object = None
        """The latest loop over decision points."""
        self._values = Values()
        self._pending: deque[tuple[int, int, int]] = deque()
        """Changes not yet delivered: the change, its subject (job or node) and the number of the observer."""
        allocator = None if components.allocator is None else self._allocate

        def view(*components: object) -> View:
            clairvoyant = any(getattr(component, "clairvoyant", False) for component in components)
            seen = columns.seen_by(clairvoyant=clairvoyant)
            found = View(simulation, list(system.resources), seen, self._values, allocator, clairvoyant)
            found.system = system
            return found

        self.view = view(components.scheduler, components.allocator)
        self._order_view = view(components.order)
        self.predictor_view = view(components.predictor)
        self._put_to_work(components)

    @property
    def views(self) -> tuple[View, ...]:
        """The views that components hold."""
        return self.view, self._order_view, self.predictor_view

    def belong_to(self, simulation: object) -> None:
        """Connect the views to their simulation by a weak reference, for look aheads."""
        me = cast("Callable[[], Any]", weakref.ref(simulation))
        for view in self.views:
            view._simulation = me  # noqa: SLF001  # our own

    def own_objects(self) -> dict[str, object]:
        """Return the objects that a snapshot refers to by name; a restored simulation has its own."""
        names = ("view", "order_view", "predictor_view")
        return dict(zip(names, self.views, strict=True)) | {
            "values": self._values,
            "columns": self._columns,
        }

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Mark the simulation as running, and raise if a component drives it meanwhile.

        Raises
        ------
        SimulationError
            If a component of this simulation calls this from within one of its methods.
        """
        if self._is_at_work:
            rule = "it cannot be driven by its own policy or observers; view.fork() gives a copy that can"
            raise SimulationError(f"this simulation is under way; {rule}.")
        self._is_at_work = True
        try:
            self._notify_pending()
            yield
        finally:
            self._is_at_work = False

    def begin(self) -> None:
        """Call `begin` of all components."""
        # First the observers: a scheduler may read their values in `begin`.
        for number, observer in enumerate(self.components.observers, start=1):
            self._called_by(number, observer.begin)
        for component in (self.components.scheduler, self.components.allocator):
            if component is not None:
                component.begin(self.view)
        if self.components.predictor is not None:
            self.components.predictor.begin(self.predictor_view)

    def twin(self, simulation: _kernel.Simulation, system: System) -> Driver:
        """Return a driver for a fork, with deep copies of the components; views and jobs are the fork's."""
        twin = Driver(self.components, simulation, system, self._columns)
        twin._pending.extend(self._pending)
        seen = zip((*self.views, self._values), (*twin.views, twin._values), strict=True)
        copies: dict[int, object] = {id(own): its for own, its in seen}
        names = ("scheduler", "allocator", "predictor", "order", "observers", "controls")
        own = tuple(getattr(self.components, name) for name in names)
        twin._put_to_work(PythonComponents(*copy.deepcopy(own, copies)))
        return twin

    def without_policy(self, simulation: _kernel.Simulation, system: System) -> Driver:
        """Return a driver with the predictor and the observers only, for a fork under a built-in policy."""
        own = self.components
        components = PythonComponents(None, None, own.predictor, None, own.observers, own.controls)
        alone = Driver(components, simulation, system, self._columns)
        alone._pending.extend(self._pending)
        return alone

    def as_bytes(self) -> bytes:
        """Pickle the components, for a snapshot."""
        return components_as_bytes(self.components, self.own_objects())

    def restored(self, data: bytes) -> None:
        """Install the components of a snapshot."""
        components = components_of_bytes(data, self.own_objects())
        whole = {each.name for each in fields(PythonComponents)}
        if not isinstance(components, PythonComponents) or not whole <= vars(components).keys():
            rule = "take another snapshot"
            raise SimulationError(f"the snapshot's Python components are none; {rule}.")
        self._put_to_work(components)

    def _put_to_work(self, components: PythonComponents) -> None:
        self.components = components
        named = {observer.name: observer for observer in components.observers if observer.name}
        self._values.offer(named, self.view, self._catch_up)
        self._listeners = self._find_listeners()

    def observed(self) -> Observed:
        """Return the tables of the observers for a result."""
        names = tuple(type(each).__name__ for each in self.components.observers)
        return {"observations": self.observations(), "observers": names}

    def observations(self) -> dict[str, pl.DataFrame]:
        """Collect the tables of the observers.

        Raises
        ------
        If two tables have the same name, or one is not a table; if a column of the table ``jobs`` does not
        have one value per job, or has the name of a column of the result.
            value per job, or the name of a column of the result.
        """
        found: dict[str, pl.DataFrame] = {}
        of_jobs: dict[str, pl.Series] = {}
        for observer in self.components.observers:
            seen = observer.observations(self.view)
            tables = seen if isinstance(seen, Mapping) else {observer.name: seen}
            for name, table in tables.items():
                if not name or table is None:
                    continue
                if not is_frame(table):
                    raise SimulationError(
                        f"{type(observer).__name__} observed {shown(table)} as {name!r}; must be a polars or "
                        "pandas DataFrame."
                    )
                table = as_polars(table)  # noqa: PLW2901  # the same table
                if name == JOBS:
                    of_jobs |= {column.name: column for column in self._of_jobs(table, observer)}
                elif name in found:
                    raise SimulationError(f"two observers observed {name!r}; names must differ.")
                else:
                    found[name] = table
        return found | ({JOBS: pl.DataFrame([*of_jobs.values()])} if of_jobs else {})

    def _of_jobs(self, table: pl.DataFrame, observer: Observer) -> list[pl.Series]:
        rows = len(self._columns["job_id"])
        kind = type(observer).__name__
        if len(table) != rows:
            raise SimulationError(f"{kind} observed {len(table)} rows of jobs; must be {rows}, one per job.")
        for name in table.columns:
            if name in RESULT_COLUMNS or name.startswith(ALLOCATED):
                raise SimulationError(
                    f"{kind} observed {name!r} of jobs, which result.jobs has of its own. Name it otherwise."
                )
        return table.get_columns()

    # Hooks. The kernel looks them up by these names.

    @property
    def is_left_to_caller(self) -> bool:
        """True if the loop that drives the simulation makes the decisions."""
        return isinstance(self.components.scheduler, ExternalScheduler)

    @property
    def schedule(self) -> Callable[[View], object] | None:
        """Hook for decisions; None if the caller makes them."""
        return None if self.components.scheduler is None or self.is_left_to_caller else self._decide

    def _decide(self, view: View) -> Iterable[object] | None:
        scheduler = cast("Scheduler", self.components.scheduler)
        # A user's method may return anything; the kernel checks the elements.
        chosen: object = scheduler.schedule(view)
        if chosen is None or isinstance(chosen, Iterable):
            return chosen
        returned = f"{type(scheduler).__name__}.schedule() returned {shown(chosen)} at {self.view.now} s"
        raise DecisionError(f"{returned}; {_ANSWER}.")

    @property
    def order(self) -> Callable[..., object] | None:
        """Hook for the keys of the queue order."""
        return None if self.components.order is None else self._keys

    @property
    def estimate(self) -> Callable[..., float] | None:
        """Hook for an estimate at submission."""
        return None if self.components.predictor is None else self.components.predictor.estimate

    @property
    def correct(self) -> Callable[..., float] | None:
        """Hook for a corrected estimate."""
        return None if self.components.predictor is None else self.components.predictor.correct

    @property
    def control(self) -> Callable[[int, dict[str, Any]], float | None] | None:
        """Hook for the rate of a control."""
        return self._rate if any(control.is_external for control in self.components.controls) else None

    @property
    def learn(self) -> Callable[..., None] | None:
        """Hook that reports a finished job to the predictor."""
        predictor = self.components.predictor
        return predictor.learn if predictor is not None and _learns(predictor) else None

    @property
    def allocate(self) -> Callable[..., object] | None:
        """Hook for the nodes of a job."""
        return None if self.components.allocator is None else self._allocate

    @property
    def changed(self) -> Callable[..., None] | None:
        """Hook that reports changes to observers."""
        return self._tell if self.components.observers else None

    def _tell(self, changes: list[tuple[int, int]], _view: View) -> None:
        for change, about in changes:
            numbers = self._listeners[_CHANGES[change]]
            self._pending.extend((change, about, number) for number in numbers)
        self._notify_pending()

    def _catch_up(self) -> None:
        """Deliver the changes of this pass so far, unless a delivery is in progress."""
        if self._is_at_work and not self._is_telling:
            self._simulation.tell_changes(self, self.view)

    def _notify_pending(self) -> None:
        """Deliver changes one at a time; a fork made by an observer delivers the remaining ones itself."""
        self._is_telling = True
        try:
            while self._pending:
                change, about, number = self._pending.popleft()
                subject = about if change in _ABOUT_NODES else self.view.job(about)
                self._called_by(number, self._listeners[_CHANGES[change]][number], subject)
        finally:
            # Each change is delivered once, even if an observer raises.
            self._pending.clear()
            self._is_telling = False

    def wake(self, whose: int, _view: View) -> None:
        """Call the observer that set a timer; a scheduler's timer is handled by the next pass."""
        if whose > 0:
            self._called_by(whose, self.components.observers[whose - 1].wake)

    def _keys(self, _queue: _kernel.Queue, now: float) -> object:
        order = cast("Callable[..., object]", self.components.order)
        return order(self._order_view.queue, now)

    def _allocate(self, job: _kernel.Job, view: View) -> object:
        return cast("Allocator", self.components.allocator).allocate(job, view)

    def _rate(self, control: int, load: dict[str, Any]) -> float | None:
        asked = self.components.controls[control]
        # A user's method may return anything.
        rate: object = asked.rate(RateLoad(**load))
        if rate is None:
            return None
        if not isinstance(rate, Real) or not 0 <= float(rate) < math.inf:
            rule = "must be a finite number >= 0, or None where it stays"
            raise SimulationError(f"control = {asked}: rate = {shown(rate)}; {rule}.")
        return float(rate)

    def _find_listeners(self) -> dict[str, dict[int, Callable[..., object]]]:
        """Return for each change the methods of the observers that define one, keyed by observer number."""
        return {
            name: {
                number: getattr(observer, name)
                for number, observer in enumerate(self.components.observers, start=1)
                if _defines(observer, name)
            }
            for name in dict.fromkeys(_CHANGES)
        }

    def _called_by(self, number: int, method: Callable[..., object], *subject: object) -> None:
        """Call an observer's method; timers set meanwhile belong to this observer."""
        before, self.view.caller = self.view.caller, number
        try:
            method(*subject, self.view)
        finally:
            self.view.caller = before


def _defines(observer: Observer, change: str) -> bool:
    return getattr(type(observer), change) is not getattr(Observer, change)


def _learns(predictor: Predictor | None) -> bool:
    return predictor is not None and type(predictor).learn is not Predictor.learn


@dataclass(frozen=True)
class DecisionPoint:
    """A point of a run at which the scheduler is called; created by `Simulation.decision_points`.

    Parameters
    ----------
    now
        The time, seconds since the workload's origin.
    cause
        Why the scheduler is called; its kind is ``"instant"`` unless the run has an `Invocation`.
    view
        The state, and the decisions: ``point.view.start(job)``. Always the same object, which shows the
        present state. Decisions are possible until the loop continues.
    """

    now: float
    cause: Cause
    view: View


def points(
    kernel: _kernel.Simulation, driver: Driver, drive: Callable[[], StopKind]
) -> Iterator[DecisionPoint]:
    """Drive a simulation from one decision of the caller to the next.

    Parameters
    ----------
    kernel
        The compiled half of the simulation.
    driver
        Its Python half. Only the latest loop may drive it.
    drive
        Runs to the next decision, or to the end.

    Raises
    ------
    SimulationError
        If another loop was started since.
    """
    driver.loop = loop = object()

    def go_on() -> Iterator[DecisionPoint]:
        while drive() == "decision":
            yield DecisionPoint(driver.view.now, driver.view.cause, driver.view)
            if driver.loop is not loop:
                rule = "go on with that one, or begin another"
                raise SimulationError(f"a newer loop over decision_points() drives the simulation; {rule}.")
            kernel.end_decision()

    return go_on()
