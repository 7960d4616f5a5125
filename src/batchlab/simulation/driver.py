"""Who outside the kernel is asked during a run: pieces of a policy written in Python, and observers."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import numpy as np

from batchlab.errors import PolicyError, SimulationError, shown
from batchlab.observer import Observer
from batchlab.policy.allocator import Allocator
from batchlab.policy.kernel import takes_now
from batchlab.policy.scheduler import Easy, FirstFit, InOrder, Scheduler
from batchlab.predictor import PREDICTORS, Predictor
from batchlab.simulation.view import Columns, Values, View

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    from batchlab import _kernel
    from batchlab.policy import Policy

__all__ = ["Driver", "Pieces", "pieces_of"]

# The compiled module numbers what observers may be told of; in its order.
_CHANGES = (
    "submitted",
    "started",
    "ended",
    "ended",
    "rejected",
    "interrupted",
    "node_closed",
    "node_opened",
    "node_changed",
)
_FIRST_ABOUT_NODES = _CHANGES.index("node_closed")


@dataclass(frozen=True)
class Pieces:
    """What of a run is written in Python."""

    scheduler: Scheduler | None
    allocator: Allocator | None
    predictor: Predictor | None
    order: Callable[..., object] | None
    observers: tuple[Observer, ...]

    @property
    def any(self) -> bool:
        """Whether anybody outside the kernel is asked."""
        outside = (self.scheduler, self.allocator, self.predictor, self.order)
        return bool(self.observers) or any(piece is not None for piece in outside)

    @property
    def listening(self) -> _kernel.Listening:
        """What the kernel must know of them."""
        return {
            "estimates": self.predictor is not None,
            "changes": bool(self.observers) or self.predictor is not None,
            "every_instant": self.scheduler is not None and self.scheduler.every_instant,
        }


def pieces_of(policy: Policy, observers: Sequence[Observer]) -> Pieces:
    """Find what of a run is written in Python.

    Raises
    ------
    SimulationError
        If an observer is none, or two have one name.
    """
    names = [observer.name for observer in observers if observer.name]
    for observer in observers:
        if not isinstance(observer, Observer):
            raise SimulationError(f"observers hold {shown(observer)}; must be objects of batchlab.Observer.")
        if names.count(observer.name) > 1:
            raise SimulationError(f"two observers are named {observer.name!r}; names must differ.")
    allocator = policy.allocator if isinstance(policy.allocator, Allocator) else None
    scheduler = policy.scheduler
    if scheduler is None and allocator is not None:
        rules = {"none": InOrder(), "first_fit": FirstFit(), "easy": Easy(policy.reservations)}
        scheduler = rules[policy.backfill]
    order = None if isinstance(policy.order, str) or not takes_now(policy.order) else policy.order
    return Pieces(scheduler, allocator, _predictor(policy), order, tuple(observers))


def _predictor(policy: Policy) -> Predictor | None:
    if policy.predictor == "requested":
        return None
    return PREDICTORS[policy.predictor]() if isinstance(policy.predictor, str) else policy.predictor


@dataclass
class Driver:
    """The pieces at work on one simulation: hooks that the kernel calls, and the view that they are given."""

    pieces: Pieces
    view: View
    columns: Columns
    _predictor_view: View
    _listeners: dict[str, list[tuple[int, Callable[..., object]]]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, pieces: Pieces, simulation: _kernel.Simulation, resources: Sequence[str], columns: Columns
    ) -> Driver:
        """Put the pieces to work."""
        values = Values({observer.name: observer for observer in pieces.observers if observer.name})
        allocator = None if pieces.allocator is None else pieces.allocator.allocate

        def view(*, clairvoyant: bool) -> View:
            seen = columns.seen_by(clairvoyant=clairvoyant)
            return View(simulation, list(resources), seen, values, allocator, clairvoyant)

        deciders = (pieces.scheduler, pieces.allocator)
        own = view(clairvoyant=any(piece is not None and piece.clairvoyant for piece in deciders))
        values.offer_to(own)
        clairvoyant = pieces.predictor is not None and pieces.predictor.clairvoyant
        driver = cls(pieces, own, columns, view(clairvoyant=clairvoyant))
        driver._listeners = driver._find_listeners()
        return driver

    def begin(self) -> None:
        """Let everybody prepare."""
        for piece in (self.pieces.scheduler, self.pieces.allocator):
            if piece is not None:
                piece.begin(self.view)
        if self.pieces.predictor is not None:
            self.pieces.predictor.begin(self._predictor_view)
        for number, observer in enumerate(self.pieces.observers, start=1):
            self._called_by(number, observer.begin)

    def twin(self, simulation: _kernel.Simulation, resources: Sequence[str]) -> Driver:
        """Give deep copies of the pieces, at work on a fork."""
        order = self.pieces.order
        scheduler, allocator, predictor, observers = copy.deepcopy(
            (self.pieces.scheduler, self.pieces.allocator, self.pieces.predictor, self.pieces.observers)
        )
        pieces = Pieces(scheduler, allocator, predictor, order, observers)
        return Driver.of(pieces, simulation, resources, self.columns)

    def without_policy(self, simulation: _kernel.Simulation, resources: Sequence[str]) -> Driver:
        """Give the observers alone, for a fork that goes on under a built-in policy."""
        pieces = Pieces(None, None, None, None, self.pieces.observers)
        return Driver.of(pieces, simulation, resources, self.columns)

    def observations(self) -> dict[str, pl.DataFrame]:
        """Collect what observers have observed so far."""
        seen = {observer.name: observer.observations(self.view) for observer in self.pieces.observers}
        return {name: table for name, table in seen.items() if name and table is not None}

    # The hooks, by the names that the compiled module asks for.

    @property
    def schedule(self) -> Callable[[View], object] | None:
        """Ask for decisions."""
        return None if self.pieces.scheduler is None else self.pieces.scheduler.schedule

    @property
    def order(self) -> Callable[..., object] | None:
        """Ask for keys."""
        return self.pieces.order

    @property
    def estimate(self) -> Callable[..., float] | None:
        """Ask for an estimate at a submission."""
        return self._predict if self.pieces.predictor is not None else None

    @property
    def expire(self) -> Callable[..., float] | None:
        """Ask for another estimate."""
        return self._correct if self.pieces.predictor is not None else None

    def news(self, changes: list[tuple[int, int]], view: View) -> None:
        """Tell what changed."""
        for change, whom in changes:
            listeners = self._listeners[_CHANGES[change]]
            if listeners:
                subject = whom if change >= _FIRST_ABOUT_NODES else view.job(whom)
                for number, listen in listeners:
                    self._called_by(number, listen, subject)

    def wake(self, whose: int, _view: View) -> None:
        """Answer a timer; the scheduler's own are answered by the pass that follows."""
        if whose > 0:
            self._called_by(whose, self.pieces.observers[whose - 1].wake)

    @property
    def _predictor(self) -> Predictor:
        # Asked for by the hooks of predictors only.
        return cast("Predictor", self.pieces.predictor)

    def _predict(self, job: _kernel.Job, _view: View) -> float:
        view = self._predictor_view
        return self._checked(job, self._predictor.estimate(view.job(job.row), view))

    def _correct(self, job: _kernel.Job, _view: View) -> float:
        view = self._predictor_view
        return self._checked(job, self._predictor.correct(view.job(job.row), view))

    def _checked(self, job: _kernel.Job, estimate: object) -> float:
        if isinstance(estimate, float | int | np.floating | np.integer):
            seconds = float(estimate)
            if np.isfinite(seconds) and seconds >= 0:
                return seconds
        name = type(self.pieces.predictor).__name__
        rule = "must be a finite number of seconds >= 0"
        raise PolicyError(f"{name} estimates job {job.id} at {shown(estimate)}; {rule}.")

    def _learn(self, job: _kernel.Job) -> None:
        view = self._predictor_view
        self._predictor.learn(view.job(job.row), view)

    def _find_listeners(self) -> dict[str, list[tuple[int, Callable[..., object]]]]:
        """List for each change the observers whose classes define a method for it."""
        listeners: dict[str, list[tuple[int, Callable[..., object]]]] = {}
        for name in dict.fromkeys(_CHANGES):
            defined = [
                (number, getattr(observer, name))
                for number, observer in enumerate(self.pieces.observers, start=1)
                if getattr(type(observer), name) is not getattr(Observer, name)
            ]
            listeners[name] = defined
        if self.pieces.predictor is not None:
            listeners["ended"].append((0, lambda job, _view: self._learn(job)))
        return listeners

    def _called_by(self, number: int, method: Callable[..., object], *subject: object) -> None:
        """Call an observer's method; timers that it sets are its own."""
        self.view.caller = number
        try:
            method(*subject, self.view)
        finally:
            self.view.caller = 0
