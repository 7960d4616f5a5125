"""Run a simulation in slices that are short enough for live views."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from batchlab.monitor.pace import Pace, PaceControl
    from batchlab.simulation import Simulation

__all__ = ["drive"]

_TICK = 0.1


def drive(
    simulation: Simulation,
    after_slice: Callable[[], object],
    *,
    meanwhile: Callable[[], object],
    control: PaceControl,
    longest: float = math.inf,
) -> None:
    """Run a simulation to its end in slices; the result does not depend on the slices.

    Parameters
    ----------
    simulation
        The simulation, at any time of its run.
    after_slice
        Called after each slice, and in between while the simulation waits for its pace.
    meanwhile
        Called during long slices, also within an instant, and while the run is paused.
    control
        The pace, which may change.
    longest
        Maximum number of simulated seconds in a slice.
    """

    def wait() -> None:
        while control.pace.is_paused:
            time.sleep(_TICK)
            meanwhile()

    def within(_finished: int, _all: int) -> None:
        meanwhile()
        wait()

    for until in _slices(simulation, longest, control):
        simulation.run_until(until, progress=within)
        after_slice()
        wait()


def _slices(simulation: Simulation, longest: float, control: PaceControl) -> Iterator[float]:
    """Yield ends of slices that follow the clock, starting at the first event; restart on pace changes."""
    kept: Pace | None = None
    began = origin = 0.0
    while (following := simulation.next_time) is not None:
        pace = control.pace
        if pace is not kept:
            began, origin = time.monotonic(), following if kept is None else simulation.now
            kept = pace
        if pace.rate is None:
            yield following + longest
            continue
        reached = origin + (time.monotonic() - began) * pace.rate
        if following > reached:
            time.sleep(min((following - reached) / pace.rate, _TICK))
        yield min(reached, following + longest)
