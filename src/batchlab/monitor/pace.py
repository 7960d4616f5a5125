"""How a viewed run proceeds: its speed, its slices, and the address of its page."""

from __future__ import annotations

import ipaddress
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from batchlab.core import rules
from batchlab.errors import MonitorError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from batchlab.simulation import Simulation

__all__ = ["Pace", "PaceControl", "Serving", "drive"]


@dataclass(frozen=True, eq=False)
class Pace:
    """The speed of simulated time.

    Parameters
    ----------
    rate
        Simulated seconds per second; None for no limit.
    is_paused
        True to pause the run.

    Raises
    ------
    MonitorError
        If the rate is not a positive number.
    """

    rate: float | None = None
    is_paused: bool = False

    def __post_init__(self) -> None:
        rate = rules.check(MonitorError, "pace", self.rate, rules.Optional(rules.SECONDS_ABOVE_0))
        rules.set_field(self, "rate", rate)


class PaceControl:
    """The pace of a run: the run reads it repeatedly, and any thread may replace it.

    Parameters
    ----------
    pace
        The initial pace.
    """

    def __init__(self, pace: Pace) -> None:
        # A pace is immutable and replaced as a whole, so no thread sees half of a change.
        self.pace = pace


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


@dataclass(frozen=True)
class Serving:
    """The address of the page.

    Parameters
    ----------
    host
        The listening address. The default can be reached from this machine only.
    port
        The port; 0 for any free port.
    """

    host: str = "127.0.0.1"
    port: int = 0

    @property
    def is_local(self) -> bool:
        """True if only this machine can reach the address."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host.lower() == "localhost"
