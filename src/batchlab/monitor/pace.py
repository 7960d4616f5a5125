"""The speed of simulated time, which viewers may change."""

from __future__ import annotations

from dataclasses import dataclass

from batchlab.core import rules
from batchlab.errors import MonitorError

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
