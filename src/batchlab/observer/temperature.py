"""Temperature of nodes: a resistor and a capacitor per node, heated by the node's power."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab import _kernel
from batchlab.core import rules
from batchlab.errors import ObserverError
from batchlab.observer.steps import too_many
from batchlab.seam.components import Observer

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from batchlab.seam.view import View

__all__ = ["NodeWarming", "Temperature"]


@dataclass(frozen=True)
class NodeWarming:
    """Thermal model of a node: dT/dt = (P·R − (T − T_ambient)) / (R·C).

    Parameters
    ----------
    resistance
        R, kelvin per watt between the node and the air. A node at constant power P approaches a temperature
        P·R above the air's.
    capacity
        C, joules per kelvin; R·C is the time constant in seconds.
    ambient
        T_ambient, degrees Celsius.
    initial
        Temperature at the begin of the run, degrees Celsius. [default: steady state of an idle node]

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
        degrees = rules.Number(unit="degrees Celsius")
        rules.hold(
            self,
            ObserverError,
            "NodeWarming: ",
            resistance=rules.POSITIVE,
            capacity=rules.POSITIVE,
            ambient=degrees,
            initial=rules.Optional(degrees),
        )


class Temperature(Observer):
    """Computes the temperature of nodes from their power; needs a `Power` before it in the list of observers.

    Temperatures are exact at all times, because power changes in steps.

    Parameters
    ----------
    nodes
        The thermal model of every node, or of the nodes of each node group by name.
    every
        Interval of the observations, seconds. The first row is at the first submission. The interval does
        not change the schedule.

    Raises
    ------
    ObserverError
        If ``every`` is not above 0, or (at the begin of a run) a node group or the observer of power is
        missing.

    Notes
    -----
    ``view.values["temperature"]`` is a NumPy array, degrees Celsius of each node.
    ``result.observations["temperature"]`` has the columns ``time`` (s), ``mean`` and ``maximum`` (over the
    nodes, at that time); ``result.observations["temperature_per_node"]`` has ``node``, ``temperature`` at
    the end and ``maximum`` over the whole run, also between two rows.
    """

    name = "temperature"

    def __init__(self, nodes: NodeWarming | Mapping[str, NodeWarming], *, every: float = 300.0) -> None:
        self.nodes = nodes
        self.every = rules.check(ObserverError, "every", every, rules.SECONDS_ABOVE_0)
        self._rows: list[tuple[float, float, float]] = []

    def begin(self, view: View) -> None:
        """Start the measurement."""
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
        """Record mean and maximum."""
        if self._rows and (wrong := too_many(self._rows[0][0], view.now, self.every)):
            raise ObserverError(f"Temperature: {wrong}")
        self._rows.append(_row(view))
        # Counted from the first row, so that rounding errors do not add up.
        view.wake(self._rows[0][0] + len(self._rows) * self.every, watching=True)

    def value(self, view: View) -> npt.NDArray[np.float64]:
        """Return degrees Celsius of each node."""
        return _kernel.PowerMeter(view).temperatures[0]

    def observations(self, view: View) -> dict[str, pl.DataFrame]:
        """Return mean and maximum over time, and the last and highest temperature of each node."""
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
