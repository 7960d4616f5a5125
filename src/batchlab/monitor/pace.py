"""How fast simulated time goes on, which those who look at a run may change."""

from __future__ import annotations

import math
from dataclasses import dataclass

from batchlab.errors import MonitorError, shown

__all__ = ["Pace", "PaceControl"]


@dataclass(frozen=True, eq=False)
class Pace:
    """How fast simulated time goes on.

    Parameters
    ----------
    rate
        Simulated seconds per second; None for as fast as can be.
    is_paused
        Whether it stands still.

    Raises
    ------
    MonitorError
        If the rate is no positive number.
    """

    rate: float | None = None
    is_paused: bool = False

    def __post_init__(self) -> None:
        if self.rate is not None and not 0 < self.rate < math.inf:
            raise MonitorError(f"pace = {shown(self.rate)}; must be a finite number of seconds > 0.")


class PaceControl:
    """The pace of a run: the run reads it again and again, and any thread may replace it.

    Parameters
    ----------
    pace
        The first.
    """

    def __init__(self, pace: Pace) -> None:
        # A pace is one value, so that no thread sees half of a change.
        self.pace = pace
