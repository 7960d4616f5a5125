"""The base class of service-rate controls, and the load passed to controls written in Python."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from batchlab.core import rules
from batchlab.core.parameters import KERNEL_RULES, hold
from batchlab.core.units import plain_number
from batchlab.errors import SimulationError, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from batchlab.core.parameters import Parameter
    from batchlab.core.vocabulary import KeyEventName

__all__ = ["KernelControl", "RateControl", "RateLoad", "plain"]

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
