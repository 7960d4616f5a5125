"""The points at which the caller of a simulation decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from batchlab.errors import SimulationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from batchlab import _kernel
    from batchlab.core.vocabulary import StopKind
    from batchlab.seam.invocation import Cause
    from batchlab.seam.view import View
    from batchlab.simulation.driver import Driver

__all__ = ["DecisionPoint", "points"]


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
