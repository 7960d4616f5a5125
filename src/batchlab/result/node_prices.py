"""The power of nodes in each mode and at each rate, and the energy (semantics, "Power").

`batchlab.observer.Power` and the measures of `batchlab.service` use the same `Draw`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from batchlab._kernel import watts_by_mode
from batchlab.errors import ResultError
from batchlab.observer.power import NodePower, draws_of_groups
from batchlab.result.course import Steps, rates_of, span_of
from batchlab.result.node_modes import modes_of
from batchlab.result.rate_prices import RatePrices
from batchlab.system.controlled_nodes import control_of_node

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from batchlab._kernel import Draw
    from batchlab.observer.power import NodeDraws
    from batchlab.result.node_modes import NodeModes
    from batchlab.result.service_intervals import RunRecord
    from batchlab.system import NodeGroup, System

    Floats = npt.NDArray[np.float64]
    Numbers = npt.NDArray[np.int64]

    Prices: TypeAlias = RatePrices | NodeDraws

__all__ = ["energy_of_nodes", "power_of_nodes"]


def energy_of_nodes(run: RunRecord, prices: Prices, span: tuple[float, float] | None = None) -> Floats:
    """Return the energy of each node.

    Parameters
    ----------
    run
        The jobs, the machine, and how the jobs were served.
    prices
        Watts of a processor by rate, or of nodes in the form that `Power` accepts.
    span
        The beginning and end, in seconds [default: from the first arrival to the last departure, or to now if
        jobs are left].

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
    energy = np.zeros(run.system.nodes)
    for part in _parts(run, prices, modes):
        start, end = modes.start[part.chosen], modes.end[part.chosen]
        joules = np.zeros(len(start))
        for watts, share in part.shares:
            of = share != 0
            course = Steps(part.rates.time, watts)
            joules[of] += share[of] * (course.integral(end[of]) - course.integral(start[of]))
        np.add.at(energy, modes.node[part.chosen], joules)
    return energy


def power_of_nodes(run: RunRecord, prices: Prices, span: tuple[float, float] | None = None) -> Steps:
    """Return the power of all nodes together over time, of which `energy_of_nodes` is the integral.

    Parameters
    ----------
    run, prices, span
        As for `energy_of_nodes`.

    Returns
    -------
    Steps
        Watts, from the beginning of the span to its end.

    Raises
    ------
    ResultError, ObserverError
        As for `energy_of_nodes`.
    """
    begin, end = span or span_of(run)
    modes = modes_of(run, begin, end)
    parts = list(_parts(run, prices, modes))
    changes = [part.rates.time[(part.rates.time > begin) & (part.rates.time < end)] for part in parts]
    times = np.unique(np.concatenate([[begin, end], modes.start, modes.end, *changes]))
    power = np.zeros(len(times))
    for part in parts:
        at = np.maximum(np.searchsorted(part.rates.time, times, "right") - 1, 0)
        first = np.searchsorted(times, modes.start[part.chosen])
        last = np.searchsorted(times, modes.end[part.chosen])
        for watts, share in part.shares:
            change = np.zeros(len(times))
            np.add.at(change, first, share)
            np.subtract.at(change, last, share)
            power += np.cumsum(change) * watts[at]
    # At the end of the span there is no next value: the last one holds until there.
    power[1:][-1:] = power[:-1][-1:]
    return Steps(times, power)


@dataclass(frozen=True, eq=False)
class _Part:
    """Nodes with one price and one control: their intervals, and their watts from each change of the rate on.

    Each pair in ``shares`` has watts by rate, and for each interval the factor of these watts.
    """

    chosen: npt.NDArray[np.bool_]
    rates: Steps
    shares: list[tuple[Floats, Floats]]


def _parts(run: RunRecord, prices: Prices, modes: NodeModes) -> Iterator[_Part]:
    controls = control_of_node(run.system, run.options.controls)
    steps = rates_of(run)
    if isinstance(prices, RatePrices):
        for control in np.unique(controls).tolist():
            prices.at("busy", steps[control - 1].value)
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
            yield _Part(chosen, rates, list(_shares(modes.mode[chosen], modes.units[chosen], draws)))


def _shares(mode: Numbers, units: Floats, draws: list[Draw]) -> Iterator[tuple[Floats, Floats]]:
    by_mode = [watts_by_mode(draw) for draw in draws]
    for number in np.unique(mode).tolist():
        yield np.array([watts[number] for watts in by_mode]), (mode == number).astype(np.float64)
    for place in range(units.shape[1]):
        if units[:, place].any():
            yield np.array([_of_unit(draw, place) for draw in draws]), units[:, place]


def _at_rate(by_rate: Mapping[float | None, Draw], rate: float, group: str) -> Draw:
    draw = by_rate.get(rate, by_rate.get(None))
    if draw is None:
        raise ResultError(f"group {group!r} has no price of rate {rate:g}; the run served at it. Add it.")
    return draw


def _of_unit(draw: Draw, place: int) -> float:
    """Return the watts of a unit of a resource; tasks, the last, have a price on machines without cores."""
    return draw["per_unit"][place] if place < len(draw["per_unit"]) else 0.0


def _by_group(prices: Prices, system: System) -> list[Mapping[float | None, Draw]]:
    """Return the power of the nodes of each group, by rate; under None if it does not depend on the rate."""
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
    """Return the power of the nodes of a group, from the prices of their processors."""
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
