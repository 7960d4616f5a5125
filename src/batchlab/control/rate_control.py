"""What all controls of service rates have in common, and what one written in Python goes by."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from batchlab.errors import SimulationError, shown
from batchlab.units import is_finite, plain_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from batchlab.vocabulary import KeyEventName

__all__ = ["KernelControl", "RateControl", "RateLoad", "plain"]

KernelControl = dict[str, object]
"""A control as the kernel takes it: `batchlab._kernel.ControlInput`."""

_NOTHING: Mapping[str, object] = {
    "rule": "external",
    "low": [],
    "high": [],
    "weighted": False,
    "printed": False,
    "up": 0.0,
    "down": 0.0,
    "coins": [],
    "seed": 0,
    "threshold": 0.0,
    "window": 0.0,
    "interval": 0.0,
}


@dataclass(frozen=True)
class RateLoad:
    """What a control written in Python is told of.

    Parameters
    ----------
    event
        What happened: ``"arrival"`` or ``"departure"`` of a job.
    now
        Seconds.
    present
        How many jobs wait or run, after it.
    served
        How many of them are served.
    workload
        The work that they have left, in units of work.
    weighted_workload
        The same with the work of each job times its processors.
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
    """At which of its rates a machine, or some of its node groups, serves jobs.

    A job has an amount of work: its column ``work``, or its run_time times the run's ``reference_rate``. At
    rate r it is served r units of it each second; one on nodes of several controls by the slowest. Nodes
    without a control serve at rate 1. The built-in rules are classes of their own; a rule of your own is a
    subclass with the method `rate`. It should keep no state: forks share it.

    Parameters
    ----------
    rates
        The ladder: ascending, in units of work per second. A run begins at the first.
    groups
        The names of the node groups whose rate it sets; all nodes unless given.

    Raises
    ------
    SimulationError
        If the rates do not ascend, or a parameter is out of its range.

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
    positional: ClassVar[tuple[str, ...]] = ()
    """The parameters that a spec string may give by their place."""
    rates: tuple[float, ...] = (1.0, 2.0)
    groups: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("rates", "groups"):
            value = getattr(self, name)
            if isinstance(value, list):
                object.__setattr__(self, name, tuple(value))
        self._check_rates()
        if not isinstance(self.groups, tuple) or not all(isinstance(each, str) for each in self.groups):
            raise SimulationError(f"groups = {shown(self.groups)}; must be names of node groups.")

    def _check_rates(self) -> None:
        rates = self.rates
        is_ladder = isinstance(rates, tuple) and bool(rates) and all(map(is_finite, rates))
        if is_ladder:
            ascends = all(low < high for low, high in pairwise(rates))
            is_ladder = rates[0] >= 0 < rates[-1] and ascends
        if not is_ladder:
            rule = "must be finite numbers >= 0 in ascending order, the last > 0"
            raise SimulationError(f"rates = {shown(rates)}; {rule}.")

    def __str__(self) -> str:
        given = [str(plain(getattr(self, name))) for name in self.positional]
        for field in fields(self):
            value = getattr(self, field.name)
            usual = field.default if field.default is not MISSING else None
            if field.name not in self.positional and value != usual:
                given.append(f"{field.name}={plain(value)!r}")
        name = self.name or type(self).__qualname__
        return f"{name}({', '.join(given)})" if given else name

    @property
    def first_rate(self) -> float:
        """The rate before the first event: that of the lowest level, unless the rule begins with another."""
        level = self.kernel_rule(0).get("first", 0)
        return self.rates[level] if isinstance(level, int) else self.rates[0]

    def rate(self, load: RateLoad) -> float | None:
        """Give the rate after an arrival or departure.

        Parameters
        ----------
        load
            What happened, and what is there to be served.

        Returns
        -------
        float or None
            Units of work per second, finite and >= 0; None: it stays.
        """
        raise NotImplementedError(f"{type(self).__qualname__} must define rate(load).")

    @property
    def is_external(self) -> bool:
        """Whether its rule is written in Python."""
        return type(self).rate is not RateControl.rate

    def kernel_rule(self, seed: int) -> KernelControl:
        """Give the parameters of its rule as the kernel takes them; `seed` is that of the run."""
        del seed
        return {"rule": "external"}

    def for_kernel(self, seed: int) -> KernelControl:
        """Give it as the kernel takes it.

        Raises
        ------
        SimulationError
            If it has no rule.
        """
        if not self.name and not self.is_external:
            raise SimulationError(f"control = {self}; must define rate(load), or be one of the rules.")
        return {**_NOTHING, "rates": list(self.rates), "first": 0, **self.kernel_rule(seed)}


def plain(value: object) -> object:
    """Give a value as a spec string has it."""
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    return plain_number(value) if isinstance(value, float) else value
