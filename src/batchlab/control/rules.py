"""The rules of Rumyantsev, Morozova and Basmadjian (2018): constant, random, by jobs, by workload."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from batchlab.control.rate_control import KernelControl, RateControl, plain
from batchlab.core import rules
from batchlab.errors import SimulationError, shown

__all__ = ["ConstantRate", "CountHysteresis", "RandomisedRate", "WorkloadHysteresis"]

Thresholds = float | Sequence[float]


@dataclass(frozen=True, init=False)
class ConstantRate(RateControl):
    """A constant rate.

    Parameters
    ----------
    value
        Units of work per second, > 0.
    groups
        As in `RateControl`.

    Raises
    ------
    SimulationError
        If the rate is not a finite number > 0.

    Examples
    --------
    >>> str(ConstantRate(2.66))
    'constant(2.66)'
    """

    name: ClassVar[str] = "constant"
    positional: ClassVar[tuple[str, ...]] = ("value",)

    def __init__(self, value: float = 1.0, *, groups: Sequence[str] = ()) -> None:
        value = rules.check(SimulationError, "value", value, rules.POSITIVE)
        super().__init__(rates=(value,), groups=tuple(groups))

    @property
    def value(self) -> float:
        """The rate."""
        return self.rates[0]

    def __str__(self) -> str:
        groups = f", groups={list(self.groups)!r}" if self.groups else ""
        return f"constant({plain(self.value)!r}{groups})"

    def kernel_rule(self, seed: int) -> KernelControl:
        """Return the kernel's settings of the rule."""
        del seed
        return {"rule": "constant"}


@dataclass(frozen=True)
class RandomisedRate(RateControl):
    """A step up at an arrival, and down at a departure, each with a probability ([1]_, II).

    Parameters
    ----------
    up, down
        The probabilities p_H at arrivals and p_L at departures, in [0, 1].
    coins
        Random numbers in [0, 1) for arrivals and departures, in their order; a number below the probability
        causes a step. Drawn if missing or used up.
    seed
        Seed of the drawn numbers. [default: the seed of the run]

    Raises
    ------
    SimulationError
        If a probability or a coin is out of its range.

    References
    ----------
    .. [1] A. Rumyantsev, T. Morozova, R. Basmadjian, FRUCT 2018

    Examples
    --------
    >>> str(RandomisedRate(0.6, 0.4, rates=(2.0, 2.66)))
    'random(0.6, 0.4, rates=[2, 2.66])'
    """

    name: ClassVar[str] = "random"
    positional: ClassVar[tuple[str, ...]] = ("up", "down")
    up: float = 0.5
    down: float = 0.5
    coins: tuple[float, ...] = ()
    seed: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        rules.hold(
            self,
            SimulationError,
            up=rules.PROBABILITY,
            down=rules.PROBABILITY,
            coins=rules.Each(rules.Number(0, below=1), "numbers >= 0 and < 1"),
            seed=rules.Optional(rules.SEED),
        )

    def kernel_rule(self, seed: int) -> KernelControl:
        """Return the kernel's settings of the rule."""
        # A separate random stream, independent of others with the seed of the run.
        own = self.seed if self.seed is not None else (seed + (zlib.crc32(b"rate control") << 32)) % 2**64
        coins = [float(coin) for coin in self.coins]
        return {"rule": "random", "up": float(self.up), "down": float(self.down), "coins": coins, "seed": own}


@dataclass(frozen=True)
class _Hysteresis(RateControl):
    """Hysteresis with a pair of thresholds for each step of the ladder."""

    positional: ClassVar[tuple[str, ...]] = ("low", "high")
    low: Thresholds = 0.0
    high: Thresholds = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.positional:
            given = getattr(self, name)
            if not isinstance(given, str) and isinstance(given, Iterable):
                given = tuple(map(_plain, given))
            rules.set_field(self, name, given if isinstance(given, tuple) else _plain(given))
        low, high = self.steps("low"), self.steps("high")
        pairs = zip(low, high, strict=True)
        for bottom, top in pairs:
            if bottom > top:
                raise SimulationError(
                    f"low = {bottom:g} > high = {top:g}; a rate comes down where it is less."
                )

    def steps(self, name: str) -> list[float]:
        """Return the thresholds of one direction, one for each step of the ladder.

        Raises
        ------
        SimulationError
            If their number is wrong, they are not ascending, or one is not a number >= 0.
        """
        given = getattr(self, name)
        several = given if isinstance(given, tuple) else (given,)
        values = [rules.check(SimulationError, name, each, self._threshold) for each in several]
        if len(values) != len(self.rates) - 1 or sorted(values) != values:
            rule = f"must ascend, one for each of the {len(self.rates) - 1} steps of the rates"
            raise SimulationError(f"{name} = {shown(given)}; {rule}.")
        return [float(value) for value in values]

    def _threshold(self, value: object) -> float:
        # At an infinite threshold the step is never taken.
        return rules.Number(0, finite=False)(value)


def _plain(value: object) -> object:
    """Return a number as Python has it; `steps` refuses what is none."""
    number = rules.number_of(value)
    return value if number is None else number


@dataclass(frozen=True)
class CountHysteresis(_Hysteresis):
    """Hysteresis of the number of jobs that wait or run ([1]_, III.A).

    An arrival after which more than ``high`` jobs are present causes a step up, a departure after which at
    most ``low`` jobs are present a step down.

    Parameters
    ----------
    low, high
        Integers k_L <= k_H >= 0, or infinite; with more than two rates, a sequence each, one for each step.

    Raises
    ------
    SimulationError
        If the thresholds do not match the rates.

    References
    ----------
    .. [1] A. Rumyantsev, T. Morozova, R. Basmadjian, FRUCT 2018

    Examples
    --------
    >>> str(CountHysteresis(1, 3))
    'count(1, 3)'
    """

    name: ClassVar[str] = "count"

    def _threshold(self, value: object) -> float:
        number = rules.number_of(value)
        if number is not None and number >= 0 and (number == math.inf or number % 1 == 0):
            return number
        return rules.WHOLE(value)

    def kernel_rule(self, seed: int) -> KernelControl:
        """Return the kernel's settings of the rule."""
        del seed
        return {"rule": "count", "low": self.steps("low"), "high": self.steps("high")}


@dataclass(frozen=True)
class WorkloadHysteresis(_Hysteresis):
    """Hysteresis of the workload, the remaining work of the present jobs ([1]_, III.C).

    A step up if the workload is more than ``high`` after an arrival or departure; a step down if it is at
    most ``low``, at the exact time at which it decreases to this value.

    Parameters
    ----------
    low, high
        Thresholds k_L <= k_H >= 0, in units of work; with more than two rates, a sequence each.
    weighted
        True to count the work of a job once for each of its processors; the paper does not.
    printed
        True to use the paper's formula for the time of the step down (T + (W − k_L)/R). It assumes that the
        workload decreases at the rate of one job, and is late if several are in service.

    Raises
    ------
    SimulationError
        If the thresholds do not match the rates.

    References
    ----------
    .. [1] A. Rumyantsev, T. Morozova, R. Basmadjian, FRUCT 2018

    Examples
    --------
    >>> str(WorkloadHysteresis(1e5, 3e5, rates=(2.0, 2.66)))
    'workload(100000, 300000, rates=[2, 2.66])'
    """

    name: ClassVar[str] = "workload"
    weighted: bool = False
    printed: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        rules.hold(self, SimulationError, weighted=rules.truth, printed=rules.truth)

    def kernel_rule(self, seed: int) -> KernelControl:
        """Return the kernel's settings of the rule."""
        del seed
        flags = {"weighted": self.weighted, "printed": self.printed}
        return {"rule": "workload", "low": self.steps("low"), "high": self.steps("high"), **flags}
