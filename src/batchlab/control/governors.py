"""Governors modelled on Linux's: the rate follows the load of processors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from batchlab.control.rate_control import KernelControl, RateControl
from batchlab.core import rules
from batchlab.errors import SimulationError, shown

__all__ = ["Ondemand", "Performance", "Powersave", "Schedutil"]


@dataclass(frozen=True)
class Performance(RateControl):
    """Always the highest rate.

    Examples
    --------
    >>> str(Performance(rates=(1.2, 2.4)))
    'performance(rates=[1.2, 2.4])'
    """

    name: ClassVar[str] = "performance"

    def kernel_rule(self, seed: int) -> KernelControl:
        """Return the kernel's settings of the rule."""
        del seed
        return {"rule": "constant", "first": len(self.rates) - 1}


@dataclass(frozen=True)
class Powersave(RateControl):
    """Always the lowest rate, which must be > 0.

    Raises
    ------
    SimulationError
        If the lowest rate is 0.

    Examples
    --------
    >>> str(Powersave())
    'powersave'
    """

    name: ClassVar[str] = "powersave"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rates[0] == 0:
            rule = "the lowest must be > 0, for it is the only one in use"
            raise SimulationError(f"rates = {shown(self.rates)}; {rule}.")

    def kernel_rule(self, seed: int) -> KernelControl:
        """Return the kernel's settings of the rule."""
        del seed
        return {"rule": "constant"}


@dataclass(frozen=True)
class _Governor(RateControl):
    """A governor that samples the load at multiples of an interval while jobs are in service."""

    interval: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        rules.hold(self, SimulationError, interval=rules.SECONDS_ABOVE_0)


@dataclass(frozen=True)
class Ondemand(_Governor):
    """Linux's ondemand governor: the highest rate if the load exceeds a threshold, otherwise proportional.

    At each sample, the load is the mean share of processors held by jobs since the previous sample. Above
    ``threshold``, the rate is the highest; otherwise it is the lowest rate of the ladder that is at least
    r_min + load · (r_max − r_min).

    Parameters
    ----------
    threshold
        In (0, 1].
    interval
        Seconds between two samples, > 0.

    Raises
    ------
    SimulationError
        If a parameter is out of its range.

    References
    ----------
    .. [1] V. Pallipadi, A. Starikovskiy: The ondemand governor. Linux Symposium 2006
    """

    name: ClassVar[str] = "ondemand"
    threshold: float = 0.8

    def __post_init__(self) -> None:
        super().__post_init__()
        rules.hold(self, SimulationError, threshold=rules.Number(above=0, most=1))

    def kernel_rule(self, seed: int) -> KernelControl:
        """Return the kernel's settings of the rule."""
        del seed
        return {"rule": "ondemand", "threshold": float(self.threshold), "interval": float(self.interval)}


@dataclass(frozen=True)
class Schedutil(_Governor):
    """Modelled on Linux's schedutil: 1.25 times the highest rate times the utilisation, rounded up to a rate.

    The utilisation is the share of processors held by jobs, times the present rate over the highest, as an
    exponential average with a half-life of ``window`` seconds.

    Parameters
    ----------
    window
        Seconds, > 0.
    interval
        Seconds between two samples, > 0.

    Raises
    ------
    SimulationError
        If a parameter is out of its range.

    References
    ----------
    .. [1] Linux kernel: Documentation/scheduler/schedutil.rst
    """

    name: ClassVar[str] = "schedutil"
    window: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        rules.hold(self, SimulationError, window=rules.SECONDS_ABOVE_0)

    def kernel_rule(self, seed: int) -> KernelControl:
        """Return the kernel's settings of the rule."""
        del seed
        return {"rule": "schedutil", "window": float(self.window), "interval": float(self.interval)}
