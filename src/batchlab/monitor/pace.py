"""The speed of simulated time, which viewers may change."""

from __future__ import annotations

import math
from dataclasses import dataclass

from batchlab.errors import MonitorError, shown

__all__ = ["Pace", "PaceControl"]


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
        if self.rate is not None and not 0 < self.rate < math.inf:
            raise MonitorError(f"pace = {shown(self.rate)}; must be a finite number of seconds > 0.")


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
