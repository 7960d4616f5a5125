"""Node power and energy, measured in the kernel, and a power cap for policies.

The rules for charging energy to jobs and nodes are in docs/semantics.md, "Power".
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
import polars as pl

from batchlab import _kernel
from batchlab.core.rules import Number, Optional, check, hold, is_finite, set_field
from batchlab.errors import ObserverError, shown, suggest
from batchlab.observer.steps import Source, Steps, steps_of
from batchlab.seam.components import Observer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy.typing as npt

    from batchlab._kernel import Job
    from batchlab.seam.view import View
    from batchlab.system import SleepState, System

    Draws: TypeAlias = "NodePower | Mapping[float, NodePower]"
    NodeDraws: TypeAlias = "Draws | Mapping[str, Draws]"

__all__ = ["NodePower", "Power", "PowerNow", "draws_of_groups"]

# Sums over machines and years are finite.
_WATTS = Number(0, most=10**15, unit="watts")


@dataclass(frozen=True)
class NodePower:
    """Power draw of a node, in watts.

    Parameters
    ----------
    idle
        With no job, and open.
    busy
        With at least one job, whatever resources it uses; not below ``idle``. [default: ``idle``]
    per_unit
        Extra watts per unit of a resource that jobs hold, by name: ``{"core": 10}``.
    drained
        With no job, and drained or failed.

    Raises
    ------
    ObserverError
        If a number is negative or not finite, or ``busy`` is below ``idle``.
    """

    idle: float
    busy: float | None = None
    per_unit: Mapping[str, float] = field(default_factory=dict, hash=False)
    drained: float = 0.0

    def __post_init__(self) -> None:
        hold(self, ObserverError, "NodePower: ", idle=_WATTS, busy=Optional(_WATTS), drained=_WATTS)
        set_field(self, "busy", self.idle if self.busy is None else self.busy)
        watts = {
            key: check(ObserverError, f"NodePower: per_unit[{key!r}]", drawn, _WATTS)
            for key, drawn in self.per_unit.items()
        }
        set_field(self, "per_unit", watts)
        if self.lit < self.idle:
            raise ObserverError(
                f"NodePower: busy = {self.lit:g} W; must not be below idle = {self.idle:g} W."
            )

    @property
    def lit(self) -> float:
        """Watts with at least one job."""
        return self.idle if self.busy is None else self.busy

    def draw(self, resources: tuple[str, ...], sleep_states: tuple[SleepState, ...] = ()) -> _kernel.Draw:
        """Return the draw for the kernel, in the order of the system's resources, with the sleep states.

        Raises
        ------
        ObserverError
            If a resource is unknown.
        """
        for name in self.per_unit:
            if name not in resources:
                raise ObserverError(f"NodePower: no resource named {name!r}.{suggest(name, resources)}")
        per_unit = [float(self.per_unit.get(name, 0.0)) for name in resources]
        return {
            "idle": float(self.idle),
            "busy": float(self.lit),
            "drained": float(self.drained),
            "per_unit": per_unit,
            "asleep": [watts for state in sleep_states for watts in self._asleep(state)],
        }

    def _asleep(self, state: SleepState) -> tuple[float, float, float]:
        """Return the watts while entering a sleep state, in it, and while waking from it."""
        transitions = (state.enter_power, state.wake_power)
        entering, waking = (float(self.idle if watts is None else watts) for watts in transitions)
        return entering, state.power, waking


class PowerNow:
    """The present power, for policies: ``view.values["power"]``. It follows the starts of a pass."""

    __slots__ = ("_cap", "_meter", "_view")

    def __init__(self, view: View, cap: Steps | None) -> None:
        self._view = view
        self._meter = _kernel.PowerMeter(view)
        self._cap = cap

    def __deepcopy__(self, memo: dict[int, object]) -> PowerNow:
        # A component of a fork needs the power of the fork, whose view is in the memo.
        return PowerNow(deepcopy(self._view, memo), self._cap)

    @property
    def total(self) -> float:
        """Watts of all nodes together."""
        return self._meter.power

    @property
    def nodes(self) -> npt.NDArray[np.float64]:
        """Watts of each node."""
        return self._meter.node_power

    @property
    def energy(self) -> float:
        """Joules of all nodes so far."""
        return self._meter.energy

    @property
    def steps(self) -> Steps:
        """Watts of all nodes together over time; the last step begins now."""
        return Steps(*self._meter.steps)

    @property
    def cap(self) -> float:
        """Watts that the machine may draw now; infinite without a cap."""
        return inf if self._cap is None else self._cap.at(self._view.now)

    def lowest_cap(self, until: float) -> float:
        """Return the lowest cap from now until a time, watts."""
        return inf if self._cap is None else self._cap.lowest(self._view.now, until)

    def with_job(self, job: Job, nodes: Mapping[int, int] | Iterable[int] | None = None) -> float | None:
        """Return the power after the start of a waiting job, exactly the value that `total` would have.

        Parameters
        ----------
        job
            The job.
        nodes
            Where it would start, as in ``view.start``. [default: the allocator's choice]

        Returns
        -------
        float or None
            Watts of all nodes together; None if the job does not fit.
        """
        return self._meter.power_with(job, nodes)

    def added_by(self, job: Job, nodes: Mapping[int, int] | Iterable[int] | None = None) -> float | None:
        """Return the power that starting a waiting job would add, in watts; None if it does not fit."""
        power = self.with_job(job, nodes)
        return None if power is None else power - self.total

    def allows(self, job: Job, nodes: Mapping[int, int] | Iterable[int] | None = None) -> bool:
        """Return whether a waiting job fits and stays below the cap for its estimated run time."""
        power = self.with_job(job, nodes)
        return power is not None and power <= self.lowest_cap(self._view.now + job.estimate)

    def __repr__(self) -> str:
        return f"<PowerNow: {self.total:g} W of at most {self.cap:g} W>"


class Power(Observer):
    """Measures the power draw of nodes and the energy of jobs, and shows power and cap to policies.

    Parameters
    ----------
    nodes
        The power draw of every node, or of the nodes of each node group by name. If it depends on the rate at
        which nodes serve jobs (`RateControl`), use ``{1.0: NodePower(…), 1.5: NodePower(…)}`` in place of a
        `NodePower`.
    cap
        Maximum power of the machine, in watts: a number, or a function of time: a table with the columns
        ``time`` (s) and ``value``, the path of such a CSV file, or `batchlab.observer.Steps`. It is not
        enforced: policies read it from ``view.values["power"]``, and are called when it changes.

    Raises
    ------
    ObserverError
        If the cap is invalid, or (at the begin of a run) a node group is missing or unknown, or a rate has
        no watts.

    Notes
    -----
    ``result.observations["power"]`` has the columns ``time`` (s) and ``power`` (W), the power of all nodes
    from each time on; the last time is the end of the run. ``result.observations["energy_per_node"]`` has
    ``node``, ``group``, ``energy`` (J). ``result.observations["energy_per_state"]`` has ``group``, ``state``
    (idle, busy, drained, sleep states, and transitions to and from them), ``energy`` (J) and
    ``node_seconds`` (s). ``result.jobs["energy"]`` (J) is the energy of each job in all its runs.

    Examples
    --------
    >>> import batchlab as bl
    >>> workload = bl.Workload.from_table({"submit_time": [0], "run_time": [3600], "tasks": [4]})
    >>> system = bl.System.homogeneous(nodes=2, resources={"core": 4})
    >>> power = Power(NodePower(idle=100, busy=150, per_unit={"core": 25}))
    >>> result = bl.simulate(workload, system, "easy", observers=[power])
    >>> result.observations["power"].rows()
    [(0.0, 350.0), (3600.0, 200.0)]
    >>> result.jobs["energy"].to_list()
    [540000.0]
    """

    name = "power"

    def __init__(self, nodes: NodeDraws, *, cap: Source | None = None) -> None:
        self.nodes = nodes
        self.cap = None if cap is None else steps_of(cap, "Power: cap")
        if self.cap is not None and (lowest := self.cap.values.min()) < 0:
            raise ObserverError(f"Power: cap = {lowest:g}; must be >= 0, in watts, at all times.")

    def begin(self, view: View) -> None:
        """Start the measurement."""
        given = draws_of_groups(self.nodes, view.system)
        counts = [group.count for group in view.system.groups]
        kinds = np.repeat(np.arange(len(counts), dtype=np.uint32), counts)
        meter = _kernel.PowerMeter(view)
        draws, rates = [], []
        for group, by_rate in zip(view.system.groups, given, strict=True):
            if isinstance(by_rate, NodePower):
                alike, known = [by_rate], []
            else:
                first, _ = view.system.group_ranges[group.name]
                _check_rates(by_rate, meter.rates_of(first), group.name)
                alike, known = list(by_rate.values()), [float(rate) for rate in by_rate]
            draws.append([each.draw(view.system.resources, group.sleep_states) for each in alike])
            rates.append(known)
        meter.measure(kinds, draws, rates)
        self._await_change(view)

    def wake(self, view: View) -> None:
        """Schedule the next change of the cap; the wake-up itself calls policies."""
        self._await_change(view)

    def value(self, view: View) -> PowerNow:
        """Return the present power."""
        return PowerNow(view, self.cap)

    def observations(self, view: View) -> dict[str, pl.DataFrame]:
        """Return the power over time, and the energy of nodes and jobs."""
        meter = _kernel.PowerMeter(view)
        times, powers = meter.steps
        groups = [group.name for group in view.system.groups for _ in range(group.count)]
        energy = meter.node_energy
        nodes = pl.Series("node", np.arange(len(energy), dtype=np.uint32))
        return {
            "power": pl.DataFrame({"time": times, "power": powers}),
            "energy_per_node": pl.DataFrame([nodes, pl.Series("group", groups), pl.Series("energy", energy)]),
            "energy_per_state": _per_state(view.system, meter.spent),
            "jobs": pl.DataFrame({"energy": meter.job_energy}),
        }

    def _await_change(self, view: View) -> None:
        change = inf if self.cap is None else self.cap.next_change(view.now)
        if isfinite(change):
            view.wake(change)


def draws_of_groups(given: NodeDraws, system: System) -> list[Draws]:
    """Return the power draw of the nodes in each group of a system.

    Parameters
    ----------
    given
        As the argument of `Power`.
    system
        The machine.

    Raises
    ------
    ObserverError
        If a group is unknown, or has no power draw.
    """
    if isinstance(given, NodePower) or not any(isinstance(name, str) for name in given):
        return [cast("Draws", given)] * len(system.groups)
    nodes = cast("Mapping[str, Draws]", given)
    names = [group.name for group in system.groups]
    for name in nodes:
        if name not in names:
            raise ObserverError(f"Power: no node group named {shown(name)}.{suggest(str(name), names)}")
    missing = [name for name in names if name not in nodes]
    if missing:
        raise ObserverError(f"Power: what do nodes of group {missing[0]!r} draw? Add it to nodes.")
    return [nodes[name] for name in names]


def _check_rates(given: Mapping[float, NodePower], served: list[float], group: str) -> None:
    """Raise unless nodes have watts for each rate at which they serve jobs."""
    for rate, draw in given.items():
        if not is_finite(rate) or rate < 0 or not isinstance(draw, NodePower):
            rule = "must give a NodePower by rate, a finite number >= 0"
            raise ObserverError(f"Power: nodes of group {group!r}: {shown(rate)}: {shown(draw)}; {rule}.")
    for rate in served:
        if rate not in given:
            known = ", ".join(f"{each:g}" for each in given)
            raise ObserverError(
                f"Power: nodes of group {group!r} serve at rate {rate:g}, which has no watts; "
                f"those given are of {known or 'no rate'}. Add it to nodes."
            )


def _per_state(system: System, spent: list[list[tuple[float, float]]]) -> pl.DataFrame:
    """Return the energy and time of each group's nodes in each state."""
    rows = []
    for group, amounts in zip(system.groups, spent, strict=True):
        states = ["idle", "busy", "drained", *(label for each in group.sleep_states for label in each.labels)]
        rows += [(group.name, state, *amount) for state, amount in zip(states, amounts, strict=True)]
    schema = {"group": pl.String, "state": pl.String, "energy": pl.Float64, "node_seconds": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")
