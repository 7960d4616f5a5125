"""What nodes draw in each mode and at each rate, and what that adds up to (semantics, "Power").

`batchlab.observer.Power` and the measures of `batchlab.service` price nodes by the same `Draw`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from batchlab.errors import ResultError
from batchlab.observer.power import NodePower, draws_of_groups
from batchlab.result.course import Steps, rates_of, span_of
from batchlab.result.node_modes import modes_of
from batchlab.result.rate_prices import RatePrices
from batchlab.system.controlled_nodes import control_of_node

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from batchlab._kernel import Draw
    from batchlab.observer.power import NodeDraws
    from batchlab.result.node_modes import NodeModes
    from batchlab.result.service_intervals import ServedRun
    from batchlab.system import NodeGroup, System

    Floats = npt.NDArray[np.float64]

    Prices: TypeAlias = RatePrices | NodeDraws

__all__ = ["energy_of_nodes"]


def energy_of_nodes(run: ServedRun, prices: Prices, span: tuple[float, float] | None = None) -> Floats:
    """Return what each node drew.

    Parameters
    ----------
    run
        The jobs, the machine, and how the jobs were served.
    prices
        Watts of a processor by rate, or of nodes as `Power` takes them.
    span
        From when to when, seconds; from the first arrival to the last departure, or to now if jobs are left,
        unless given.

    Returns
    -------
    float64, shape (nodes,)
        Joules.

    Raises
    ------
    ResultError
        If a rate has no price.
    ObserverError
        If a group of nodes has no price.
    """
    modes = modes_of(run, *(span or span_of(run)))
    controls = control_of_node(run.system, run.options.controls)
    steps = rates_of(run)
    if isinstance(prices, RatePrices):
        for control in np.unique(controls).tolist():
            prices.at("busy", steps[control - 1].value)
    energy = np.zeros(run.system.nodes)
    first = 0
    for group, by_rate in zip(run.system.groups, _by_group(prices, run.system), strict=True):
        own = slice(first, first + group.count)
        first += group.count
        for control in np.unique(controls[own]).tolist():
            members = np.flatnonzero(controls == control)
            members = members[(members >= own.start) & (members < own.stop)]
            chosen = np.isin(modes.node, members)
            rates = steps[control - 1]
            draws = [_at_rate(by_rate, rate, group.name) for rate in rates.value.tolist()]
            drawn = _drawn(modes, chosen, draws, rates)
            np.add.at(energy, modes.node[chosen], drawn)
    return energy


def _drawn(modes: NodeModes, chosen: npt.NDArray[np.bool_], draws: list[Draw], rates: Steps) -> Floats:
    """Return the joules of some intervals of nodes that have one price and one control."""
    start, end, mode, units = modes.start[chosen], modes.end[chosen], modes.mode[chosen], modes.units[chosen]
    joules = np.zeros(len(start))

    def integral(watts: list[float], of: npt.NDArray[np.bool_]) -> Floats:
        course = Steps(rates.time, np.array(watts))
        return course.integral(end[of]) - course.integral(start[of])

    for number in np.unique(mode).tolist():
        of = mode == number
        joules[of] += integral([_watts(draw, number) for draw in draws], of)
    for place in range(units.shape[1]):
        of = units[:, place] != 0
        if of.any():
            joules[of] += units[of, place] * integral([_of_unit(draw, place) for draw in draws], of)
    return joules


def _at_rate(by_rate: Mapping[float | None, Draw], rate: float, group: str) -> Draw:
    draw = by_rate.get(rate, by_rate.get(None))
    if draw is None:
        raise ResultError(f"group {group!r} has no price of rate {rate:g}; the run served at it. Add it.")
    return draw


def _watts(draw: Draw, mode: int) -> float:
    """Return the watts of a node in a mode, without those of the units that jobs hold."""
    usual = (draw["idle"], draw["busy"], draw["drained"])
    return usual[mode] if mode < len(usual) else draw["asleep"][mode - len(usual)]


def _of_unit(draw: Draw, place: int) -> float:
    """Return what a unit of a resource draws; tasks, the last, have a price on machines without cores."""
    return draw["per_unit"][place] if place < len(draw["per_unit"]) else 0.0


def _by_group(prices: Prices, system: System) -> list[Mapping[float | None, Draw]]:
    """Return what the nodes of each group draw, by rate; by None if that does not depend on it."""
    if isinstance(prices, RatePrices):
        return [_of_processors(prices, group, system) for group in system.groups]
    found: list[Mapping[float | None, Draw]] = []
    for group, given in zip(system.groups, draws_of_groups(prices, system), strict=True):
        by_rate = {None: given} if isinstance(given, NodePower) else dict(given)
        found.append(
            {rate: each.draw(system.resources, group.sleep_states) for rate, each in by_rate.items()}
        )
    return found


def _of_processors(prices: RatePrices, group: NodeGroup, system: System) -> dict[float | None, Draw]:
    """Return what the nodes of a group draw by the prices of their processors."""
    has_cores = "core" in system.resources
    count = group.resources.get("core", 0) if has_cores else 1
    place = system.resources.index("core") if has_cores else len(system.resources)
    found: dict[float | None, Draw] = {}
    for rate, busy in prices.busy.items():
        idle, down = prices.idle[rate], prices.down.get(rate, 0.0)
        node = NodePower(idle=count * idle, drained=count * down)
        per_unit = [0.0] * (len(system.resources) + 1)
        per_unit[place] = busy - idle
        found[rate] = {**node.draw(system.resources, group.sleep_states), "per_unit": per_unit}
    return found
