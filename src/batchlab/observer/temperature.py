"""How warm nodes get: a resistor and a capacitor per node, heated by the power that it draws."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab import _kernel
from batchlab.errors import ObserverError, shown
from batchlab.observer.periods import too_many
from batchlab.seam.components import Observer
from batchlab.units import is_finite

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from batchlab.seam.view import View

__all__ = ["NodeWarming", "Temperature"]


@dataclass(frozen=True)
class NodeWarming:
    """How a node gets warm: dT/dt = (P·R − (T − T_ambient)) / (R·C).

    Parameters
    ----------
    resistance
        R, kelvin per watt between the node and the air; a node that draws P watts for long gets P·R warmer
        than it.
    capacity
        C, joules per kelvin; R·C is the time constant in seconds.
    ambient
        T_ambient, degrees Celsius.
    initial
        At the beginning of the run, degrees Celsius; unless given, that of a node that idles for long.

    Raises
    ------
    ObserverError
        If R or C is not above 0, or a number not finite.
    """

    resistance: float
    capacity: float
    ambient: float = 22.0
    initial: float | None = None

    def __post_init__(self) -> None:
        for name in ("resistance", "capacity"):
            number = getattr(self, name)
            if not 0 < number < inf:
                raise ObserverError(f"NodeWarming: {name} = {shown(number)}; must be a number > 0.")
        for name in ("ambient", "initial"):
            number = getattr(self, name)
            if number is not None and not is_finite(number):
                raise ObserverError(f"NodeWarming: {name} = {shown(number)}; must be in degrees Celsius.")


class Temperature(Observer):
    """Tells how warm the nodes are, from what they draw: a `Power` must stand before it among the observers.

    Temperatures are exact whenever they are asked for, since power changes in steps.

    Parameters
    ----------
    nodes
        How every node gets warm, or by name of the node group how its nodes do.
    every
        Seconds between two rows of the observations, the first of which is of the first submission; these
        looks change no schedule.

    Raises
    ------
    ObserverError
        If ``every`` is not above 0, or (as a run begins) a node group is missing, or the power not observed.

    Notes
    -----
    ``view.values["temperature"]`` is a NumPy array, degrees Celsius node by node.
    ``result.observations["temperature"]`` has the columns ``time`` (s), ``mean`` and ``maximum`` (over the
    nodes, at that time); ``result.observations["temperature_per_node"]`` has ``node``, ``temperature`` at
    the end and ``maximum``, the most that it ever was, between two looks too.
    """

    name = "temperature"

    def __init__(self, nodes: NodeWarming | Mapping[str, NodeWarming], *, every: float = 300.0) -> None:
        if not 0 < every < inf:
            raise ObserverError(f"every = {shown(every)}; must be a number of seconds > 0.")
        self.nodes = nodes
        self.every = every
        self._rows: list[tuple[float, float, float]] = []

    def begin(self, view: View) -> None:
        """Begin to tell temperatures."""
        if "power" not in view.values:
            raise ObserverError(
                "Temperature needs Power before it: pass observers=[Power(…), Temperature(…)]."
            )
        meter = _kernel.PowerMeter(view)
        idle = meter.node_power
        warms: list[_kernel.Warms] = []
        first = 0
        for group in view.system.groups:
            warms.append(_warms(self._of(group.name), float(idle[first])))
            first += group.count
        meter.measure_temperature(warms)
        self._rows = []
        begin = view.first_submission
        if wrong := too_many(begin, view.columns["submit_time"].max(initial=begin), self.every):
            raise ObserverError(f"Temperature: {wrong}")
        if begin > view.now:
            view.wake(begin, watching=True)
        else:
            self.wake(view)

    def wake(self, view: View) -> None:
        """Write down how warm it is."""
        if self._rows and (wrong := too_many(self._rows[0][0], view.now, self.every)):
            raise ObserverError(f"Temperature: {wrong}")
        self._rows.append(_row(view))
        # Counted from the first look, so that rounding does not add up.
        view.wake(self._rows[0][0] + len(self._rows) * self.every, watching=True)

    def value(self, view: View) -> npt.NDArray[np.float64]:
        """Give degrees Celsius, node by node."""
        return _kernel.PowerMeter(view).temperatures[0]

    def observations(self, view: View) -> dict[str, pl.DataFrame]:
        """Give mean and maximum over time, and what each node came to."""
        now, most = _kernel.PowerMeter(view).temperatures
        rows = [*self._rows]
        if not rows or rows[-1][0] != view.now:
            rows.append(_row(view))
        over_time = pl.DataFrame(rows, schema=["time", "mean", "maximum"], orient="row")
        node = np.arange(len(now), dtype=np.uint32)
        return {
            "temperature": over_time,
            "temperature_per_node": pl.DataFrame({"node": node, "temperature": now, "maximum": most}),
        }

    def _of(self, group: str) -> NodeWarming:
        if isinstance(self.nodes, NodeWarming):
            return self.nodes
        if group not in self.nodes:
            raise ObserverError(f"Temperature: how do nodes of group {group!r} get warm? Add it to nodes.")
        return self.nodes[group]


def _warms(node: NodeWarming, idle: float) -> _kernel.Warms:
    initial = node.ambient + idle * node.resistance if node.initial is None else node.initial
    return {
        "resistance": float(node.resistance),
        "capacity": float(node.capacity),
        "ambient": float(node.ambient),
        "initial": float(initial),
    }


def _row(view: View) -> tuple[float, float, float]:
    now = _kernel.PowerMeter(view).temperatures[0]
    return view.now, float(now.mean()), float(now.max())
