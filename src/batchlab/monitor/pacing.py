"""Running a simulation in slices, short enough for others to see it move."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from batchlab.simulation import Simulation

__all__ = ["drive"]

_SHORT, _LONG = 0.02, 0.1
_TICK = 0.1


def drive(
    simulation: Simulation,
    after_slice: Callable[[], object],
    *,
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
    longest
        The most simulated seconds in one slice.
    pace
        Simulated seconds per second; None for as fast as can be.
    """
    slices = _by_effort(simulation, longest) if pace is None else _by_clock(simulation, longest, pace)
    for until in slices:
        simulation.run_until(until)
        after_slice()


def _by_effort(simulation: Simulation, longest: float) -> Iterator[float]:
    """Give slices that take a few hundredths of a second each, however much happens in them."""
    span = min(60.0, longest)
    while (following := simulation.next_time) is not None:
        began = time.perf_counter()
        yield following + span
        took = time.perf_counter() - began
        if took < _SHORT:
            span = min(span * 2, longest)
        elif took > _LONG:
            span /= 2


def _by_clock(simulation: Simulation, longest: float, pace: float) -> Iterator[float]:
    """Give slices that keep step with the clock, beginning with the first event."""
    began, origin = time.monotonic(), simulation.next_time
    while origin is not None and (following := simulation.next_time) is not None:
        reached = origin + (time.monotonic() - began) * pace
        if following > reached:
            time.sleep(min((following - reached) / pace, _TICK))
        yield min(reached, following + longest)
