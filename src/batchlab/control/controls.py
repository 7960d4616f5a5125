"""The controls of service rates (S19): their base class, the built-in rules, and their spec strings.

A spec string is a name with parameters: ``"workload(1e5, 3e5, rates=[2.0, 2.66])"``. Rules of Rumyantsev,
Morozova and Basmadjian (2018): constant, random, by jobs, by workload. Governors like those of Linux: the
rate follows the load of processors.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, dataclass, fields
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from batchlab.core import rules
from batchlab.core.declared import KERNEL_RULES, hold
from batchlab.core.spec import Grammar
from batchlab.core.spec import plain as value_of
from batchlab.core.units import plain_number
from batchlab.errors import SimulationError, shown, suggest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from batchlab.core.declared import Parameter
    from batchlab.core.vocabulary import KeyEventName

__all__ = [
    "CONTROLS",
    "ConstantRate",
    "CountHysteresis",
    "KernelControl",
    "Ondemand",
    "Performance",
    "Powersave",
    "RandomisedRate",
    "RateControl",
    "RateLoad",
    "Schedutil",
    "WorkloadHysteresis",
    "parse_control",
    "plain",
]

KernelControl = dict[str, object]
"""Settings of a control for the kernel: `batchlab._kernel.ControlInput`."""

_LADDER = "finite numbers >= 0 in ascending order, the last > 0"


@dataclass(frozen=True)
class RateLoad:
    """The load of the nodes of a control, passed to rules written in Python.

    Parameters
    ----------
    event
        The event: ``"arrival"`` or ``"departure"`` of a job.
    now
        Time, seconds.
    present
        Number of jobs that wait or run, after the event.
    served
        Number of these jobs in service.
    workload
        Remaining work of these jobs, in units of work.
    weighted_workload
        The same, with the work of each job times its number of processors.
    rate
        The present rate of the nodes of this control: units of work per second.
    """

    event: KeyEventName
    now: float
    present: int
    served: int
    workload: float
    weighted_workload: float
    rate: float


@dataclass(frozen=True, kw_only=True)
class RateControl:
    """The rate at which a machine, or some of its node groups, serves jobs.

    A job has an amount of work: its column ``work``, or its run_time times the run's ``reference_rate``. At
    rate r, it is served r units per second; a job on nodes of several controls is served at the lowest of
    their rates. Nodes without a control serve at rate 1. Built-in rules have their own classes; define other
    rules as a subclass with the method `rate`. It should have no state, because forks share it.

    Parameters
    ----------
    rates
        The ladder of rates: ascending, in units of work per second. A run begins at the first.
    groups
        Names of the node groups that the control applies to. [default: all nodes]

    Raises
    ------
    SimulationError
        If the rates are not ascending, or a parameter is out of its range.

    References
    ----------
    .. [1] A. Rumyantsev, T. Morozova, R. Basmadjian: Discrete-event modeling of a high-performance computing
       cluster with service rate control. FRUCT 2018

    Examples
    --------
    >>> class Hurry(RateControl):
    ...     def rate(self, load):
    ...         return self.rates[-1] if load.present > 10 else self.rates[0]
    >>> Hurry(rates=(1.0, 1.5)).rates
    (1.0, 1.5)
    """

    name: ClassVar[str] = ""
    parameters: ClassVar[Mapping[str, Parameter]] = MappingProxyType({})
    """The parameters of a built-in rule, from the kernel's table."""
    rates: tuple[float, ...] = (1.0, 2.0)
    groups: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if (rule := KERNEL_RULES["control"].get(cls.name)) is not None:
            cls.parameters = rule.parameters

    @classmethod
    def positional(cls) -> list[str]:
        """Return the parameters that a spec string may list by position."""
        return [name for name, each in cls.parameters.items() if each.positional]

    def __post_init__(self) -> None:
        rate = rules.Each(rules.NOT_NEGATIVE, _LADDER)
        rules.hold(self, SimulationError, rates=rate)
        self._check_rates()
        groups: object = self.groups
        if isinstance(groups, list):
            rules.set_field(self, "groups", tuple(groups))
        if not isinstance(self.groups, tuple) or not all(isinstance(each, str) for each in self.groups):
            raise SimulationError(f"groups = {shown(self.groups)}; must be names of node groups.")
        hold(self, SimulationError, self.parameters)

    def _check_rates(self) -> None:
        rates = self.rates
        if not rates or rates[-1] == 0 or not all(low < high for low, high in pairwise(rates)):
            raise SimulationError(f"rates = {shown(rates)}; must be {_LADDER}.")

    def __str__(self) -> str:
        positional = self.positional()
        given = [str(plain(getattr(self, name))) for name in positional]
        for field in fields(self):
            value = getattr(self, field.name)
            usual = field.default if field.default is not MISSING else None
            if field.name not in positional and value != usual:
                given.append(f"{field.name}={plain(value)!r}")
        name = self.name or type(self).__qualname__
        return f"{name}({', '.join(given)})" if given else name

    @property
    def first_rate(self) -> float:
        """The rate before the first event: the first rate, unless the rule begins at another one."""
        return self.rates[self.first_level]

    @property
    def first_level(self) -> int:
        """The index of the first rate."""
        return 0

    def rate(self, load: RateLoad) -> float | None:
        """Return the rate after an arrival or departure.

        Parameters
        ----------
        load
            The event, and the load after it.

        Returns
        -------
        float or None
            Units of work per second, finite and >= 0; None to keep the present rate.
        """
        raise NotImplementedError(f"{type(self).__qualname__} must define rate(load).")

    @property
    def is_external(self) -> bool:
        """True if the rule is written in Python."""
        return type(self).rate is not RateControl.rate

    def settings(self, seed: int) -> dict[str, object]:
        """Return the parameters of a built-in rule for the kernel; `seed` is the seed of the run."""
        del seed
        values = {name: getattr(self, name) for name in self.parameters}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    def for_kernel(self, seed: int) -> KernelControl:
        """Return the kernel's settings of the control.

        Raises
        ------
        SimulationError
            If the control has no rule.
        """
        if not self.name and not self.is_external:
            raise SimulationError(f"control = {self}; must define rate(load), or be one of the rules.")
        return {
            "rates": list(self.rates),
            "first": self.first_level,
            "rule": "external" if self.is_external else self.name,
            "parameters": {} if self.is_external else self.settings(seed),
        }


def plain(value: object) -> object:
    """Convert a value to its form in a spec string."""
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    return plain_number(value) if isinstance(value, float) else value


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

    def settings(self, seed: int) -> dict[str, object]:
        """Return no parameters: the ladder has the rate."""
        del seed
        return {}


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
    up: float = 0.5
    down: float = 0.5
    coins: tuple[float, ...] = ()
    seed: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        rules.hold(
            self,
            SimulationError,
            coins=rules.Each(rules.Number(0, below=1), "numbers >= 0 and < 1"),
        )

    def settings(self, seed: int) -> dict[str, object]:
        """Return the parameters of the rule for the kernel."""
        # A separate random stream, independent of others with the seed of the run.
        own = self.seed if self.seed is not None else (seed + (zlib.crc32(b"rate control") << 32)) % 2**64
        return {**super().settings(seed), "coins": [float(coin) for coin in self.coins], "seed": own}


@dataclass(frozen=True)
class _Hysteresis(RateControl):
    """Hysteresis with a pair of thresholds for each step of the ladder."""

    low: Thresholds = 0.0
    high: Thresholds = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("low", "high"):
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

    def settings(self, seed: int) -> dict[str, object]:
        """Return the parameters of the rule for the kernel, thresholds one for each step."""
        return {**super().settings(seed), "low": self.steps("low"), "high": self.steps("high")}

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


@dataclass(frozen=True)
class Performance(RateControl):
    """Always the highest rate.

    Examples
    --------
    >>> str(Performance(rates=(1.2, 2.4)))
    'performance(rates=[1.2, 2.4])'
    """

    name: ClassVar[str] = "performance"

    @property
    def first_level(self) -> int:
        """The index of the first rate."""
        return len(self.rates) - 1


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


@dataclass(frozen=True)
class _Governor(RateControl):
    """A governor that samples the load at multiples of an interval while jobs are in service."""

    interval: float = 1.0


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


_SPECS = Grammar("control", SimulationError, '"powersave" or "workload(1e5, 3e5)"')

CONTROLS: Mapping[str, type[RateControl]] = MappingProxyType(
    {
        rule.name: rule
        for rule in (
            ConstantRate,
            RandomisedRate,
            CountHysteresis,
            WorkloadHysteresis,
            Performance,
            Powersave,
            Ondemand,
            Schedutil,
        )
    }
)
"""The built-in rules by their names in spec strings."""


def parse_control(spec: str) -> RateControl:
    """Parse the spec string of a control.

    Parameters
    ----------
    spec
        A name of `CONTROLS`, with parameters in parentheses: by position, or by name.

    Returns
    -------
    RateControl
        ``parse_control(str(control)) == control``.

    Raises
    ------
    SimulationError
        If the rule is unknown, or does not have these parameters.

    Examples
    --------
    >>> parse_control("count(1, 3)").rates
    (1.0, 2.0)
    """
    if not isinstance(spec, str):
        raise SimulationError(
            f"control = {shown(spec)}; must be a RateControl, or its spec: {_SPECS.example}."
        )
    _, call = _SPECS.parse(spec, f"control = {shown(spec)}: ")
    rule = CONTROLS.get(call.name)
    if rule is None:
        raise SimulationError(
            f"control = {spec!r}: no rule named {call.name!r}.{suggest(call.name, CONTROLS)}"
        )
    given = [value_of(each.value) for each in call.values]
    return _made(rule, spec, given, {key: value_of(each.value) for key, each in call.keys.items()})


def _made(rule: type[RateControl], spec: str, given: list[object], named: dict[str, object]) -> RateControl:
    positional = rule.positional()
    if len(given) > len(positional):
        takes = ", ".join(positional) or "none"
        raise SimulationError(f"control = {spec!r}: {len(given)} values by place; {rule.name} takes {takes}.")
    by_place = dict(zip(positional, given, strict=False))
    known = [*positional, *(each.name for each in fields(rule) if rule.name != "constant")]
    known = [*dict.fromkeys([*known, "groups"])]
    for name in named:
        if name not in known:
            raise SimulationError(f"control = {spec!r}: no parameter {name!r}.{suggest(name, known)}")
        if name in by_place:
            raise SimulationError(f"control = {spec!r}: {name} is given twice; give it once.")
    try:
        return rule(**by_place, **named)  # type: ignore[arg-type]  # its constructor checks them
    except SimulationError as error:
        raise SimulationError(f"control = {spec!r}: {error}") from None
