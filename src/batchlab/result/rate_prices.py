"""The power of a processor at each rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from batchlab.core import rules
from batchlab.errors import ResultError, shown

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab.observer import NodePower

    Floats = npt.NDArray[np.float64]

__all__ = ["RatePrices"]


@dataclass(frozen=True)
class RatePrices:
    """The power of a processor at each rate.

    Parameters
    ----------
    busy, idle
        Watts by rate: e(r) while a job holds the processor, and e0(r) while none does.
    down
        Watts by rate while the node is closed (drained or failed) and has no job [default: 0]. Nodes that
        sleep, or change their state, have the watts of their `SleepState`.

    Raises
    ------
    ResultError
        If the rates differ, or a value is not a finite number >= 0.

    Examples
    --------
    >>> RatePrices(busy={2.0: 0.041, 2.66: 0.034}, idle={2.0: 0.014, 2.66: 0.018}).busy[2.0]
    0.041
    """

    busy: Mapping[float, float]
    idle: Mapping[float, float]
    down: Mapping[float, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("busy", "idle", "down"):
            prices = getattr(self, name)
            if not isinstance(prices, Mapping) or not (prices or name == "down"):
                raise ResultError(f"{name} = {shown(prices)}; must give watts by rate, as {{2.0: 0.041}}.")
            for value in prices.values():
                rules.check(ResultError, f"{name}: watts", value, rules.NOT_NEGATIVE)
        if set(self.busy) != set(self.idle):
            rates = f"busy has the rates {sorted(self.busy)}, idle {sorted(self.idle)}"
            raise ResultError(f"{rates}; give the same.")
        if unknown := set(self.down) - set(self.busy):
            raise ResultError(f"down has the rate {min(unknown):g}, which busy and idle do not have.")

    def at(self, name: str, rates: Floats) -> Floats:
        """Return the watts at each rate.

        Raises
        ------
        ResultError
            If a rate has no price.
        """
        prices: Mapping[float, float] = getattr(self, name)
        # There are few prices, and many times with a rate.
        known = np.array(sorted(prices), np.float64)
        place = np.minimum(np.searchsorted(known, rates), len(known) - 1)
        missing = rates[known[place] != rates]
        if missing.size:
            raise ResultError(f"{name} has no price of rate {missing[0]:g}; the run served at it. Add it.")
        return np.array([prices[rate] for rate in known.tolist()])[place]

    def of_nodes(self, processors: int, resource: str = "core") -> dict[float, NodePower]:
        """Compute the power of nodes at each rate, in the form that `Power` accepts.

        Parameters
        ----------
        processors
            The number of processors of each node.
        resource
            The resource by which jobs ask for processors.

        Raises
        ------
        ObserverError
            If a processor has less power while a job holds it than while none does.

        Examples
        --------
        >>> prices = RatePrices(busy={1.0: 30, 2.0: 50}, idle={1.0: 10, 2.0: 20})
        >>> prices.of_nodes(4)[2.0]
        NodePower(idle=80, busy=80, per_unit={'core': 30}, drained=0.0)
        """
        from batchlab.observer import NodePower  # noqa: PLC0415  # not needed where no power is measured

        found = {}
        for rate, busy in self.busy.items():
            idle = processors * self.idle[rate]
            more, down = busy - self.idle[rate], processors * self.down.get(rate, 0.0)
            found[rate] = NodePower(idle=idle, per_unit={resource: more}, drained=down)
        return found
