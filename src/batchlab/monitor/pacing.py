"""Running a simulation in slices, short enough for others to see it move."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from batchlab.simulation import Simulation

__all__ = ["drive"]

_TICK = 0.1


def drive(
    simulation: Simulation,
    after_slice: Callable[[], object],
    *,
    meanwhile: Callable[[], object],
    longest: float = math.inf,
    pace: float | None = None,
) -> None:
    """Run a simulation to its end, slice by slice; what comes of it does not depend on the slices.

    Parameters
    ----------
    simulation
        At any time.
    after_slice
        Called after each slice, and in between while the simulation waits for its pace.
    meanwhile
        Called within slices that take long, also within one instant.
    longest
        The most simulated seconds in one slice.
    pace
        Simulated seconds per second; None for as fast as can be.
    """
    slices = _of_length(simulation, longest) if pace is None else _by_clock(simulation, longest, pace)
    for until in slices:
        simulation.run_until(until, progress=lambda _finished, _all: meanwhile())
        after_slice()


def _of_length(simulation: Simulation, longest: float) -> Iterator[float]:
    """Give slices of so many seconds, each from an event on."""
    while (following := simulation.next_time) is not None:
        yield following + longest


def _by_clock(simulation: Simulation, longest: float, pace: float) -> Iterator[float]:
    """Give slices that keep step with the clock, beginning with the first event."""
    began, origin = time.monotonic(), simulation.next_time
    while origin is not None and (following := simulation.next_time) is not None:
        reached = origin + (time.monotonic() - began) * pace
        if following > reached:
            time.sleep(min((following - reached) / pace, _TICK))
        yield min(reached, following + longest)
