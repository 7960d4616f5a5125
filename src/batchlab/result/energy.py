"""Power and energy of nodes: their modes over time, power by mode and rate, and summaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from batchlab._kernel import watts_by_mode
from batchlab.core import rules
from batchlab.core.late import observer
from batchlab.errors import ResultError, shown
from batchlab.observer.power import NodePower, draws_of_groups
from batchlab.result.course import Steps, rates_of, span_of
from batchlab.result.table import cut_since, since
from batchlab.system.controlled_nodes import control_of_node
from batchlab.workload.requests import amounts

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from batchlab._kernel import Draw
    from batchlab.observer.power import NodeDraws
    from batchlab.result.course import RunRecord
    from batchlab.system import NodeGroup, System

    Floats = npt.NDArray[np.float64]
    Numbers = npt.NDArray[np.int64]
    Prices: TypeAlias = "RatePrices | NodeDraws"


__all__ = [
    "IDLE",
    "RatePrices",
    "energy_of_nodes",
    "holdings_of",
    "on_since",
    "overview",
    "power_of_nodes",
    "spread",
]


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
        found = {}
        for rate, busy in self.busy.items():
            idle = processors * self.idle[rate]
            more, down = busy - self.idle[rate], processors * self.down.get(rate, 0.0)
            found[rate] = observer.NodePower(idle=idle, per_unit={resource: more}, drained=down)
        return found


IDLE, BUSY, CLOSED = range(3)
"""The modes of a node that is on; in power state k > 0 its mode is k + 2, even if jobs hold it."""


@dataclass(frozen=True, eq=False)
class Holdings:
    """Amounts that jobs held on nodes, and when; shape (holdings,).

    Parameters
    ----------
    row, node
        The numbers of the job and of the node.
    start, end
        Seconds; the end is now if the job still runs.
    units
        The amounts of each resource, shape (holdings, resources + 1); the last column has tasks.
    """

    row: Numbers
    node: Numbers
    start: Floats
    end: Floats
    units: Floats


@dataclass(frozen=True, eq=False)
class NodeModes:
    """The intervals in which a node was in one mode and jobs held the same there; shape (intervals,).

    Parameters
    ----------
    node, mode
        Of each interval.
    start, end
        Seconds.
    units
        The amounts of each resource that jobs held, shape (intervals, resources + 1); the last column has
        tasks.
    """

    node: Numbers
    mode: Numbers
    start: Floats
    end: Floats
    units: Floats


def holdings_of(run: RunRecord) -> Holdings:
    """Return what jobs held on nodes, for each interval in which they kept the same nodes."""
    outcome = run.outcome
    rows = np.arange(len(outcome.state))
    ends = np.where(np.isnan(outcome.end_time), outcome.now, outcome.end_time)
    placed = outcome.placement_offsets, outcome.placement_nodes, outcome.placement_tasks
    parts = [spread(run, rows, (since(outcome), ends), placed, outcome.allocated)]
    for log, starts in (
        (outcome.tables.get("interruptions"), cut_since(outcome)),
        (outcome.tables.get("resizes"), None),
    ):
        if log is not None and len(log["row"]):
            placed = log["placement_offsets"], log["placement_nodes"], log["placement_tasks"]
            begin = log["start_time"] if starts is None else starts
            parts.append(spread(run, log["row"], (begin, log["end_time"]), placed, log["allocated"]))
    row, node, start, end, units = (np.concatenate(each) for each in zip(*parts, strict=True))
    return Holdings(row, node, start, end, units)


def spread(
    run: RunRecord,
    row: npt.NDArray[np.integer],
    times: tuple[Floats, Floats],
    placed: tuple[Numbers, npt.NDArray[np.uint32], npt.NDArray[np.uint32]],
    held: Numbers,
) -> tuple[Numbers, Numbers, Floats, Floats, Floats]:
    """List a holding for each node of each placement: what it holds there of each resource, and its tasks."""
    offsets, nodes, tasks = placed
    owner = np.repeat(np.arange(len(row)), np.diff(offsets))
    of_job, node = row[owner].astype(np.int64), nodes.astype(np.int64)
    total = np.bincount(owner, tasks, len(row))
    units = np.empty((len(owner), len(run.system.resources) + 1))
    units[:, -1] = tasks
    is_whole = np.zeros(len(owner), np.bool_)
    for place, amount in enumerate(amounts(run.workload, run.system)):
        per_task = np.broadcast_to(np.asarray(amount, np.float64), len(run.outcome.state))
        units[:, place] = tasks * per_task[of_job]
        # A job on exclusive nodes holds more than its tasks ask for.
        is_whole |= (held[:, place] != total * per_task[row])[owner]
    units[is_whole, :-1] = run.system.capacity[node[is_whole]]
    return of_job, node, times[0][owner], times[1][owner], units


def on_since(run: RunRecord, held: Holdings) -> Floats:
    """Return when the node of each holding was on: from the start, or from when it had woken; seconds."""
    log = run.outcome.tables.get("power_states")
    if log is None:
        return held.start
    order = np.lexsort((np.arange(len(log["time"])), log["time"], log["node"]))
    time, node, is_on = log["time"][order], log["node"][order].astype(np.int64), log["state"][order] == 0
    # The first entry from each on at which its node is on; a node that is not on again has none.
    place = np.where(is_on, np.arange(len(time)), len(time))
    following = np.minimum.accumulate(place[::-1])[::-1]
    instants = np.unique(np.concatenate([time, held.start]))
    width = len(instants)
    known = node * width + np.searchsorted(instants, time)
    asked = held.node * width + np.searchsorted(instants, held.start)
    latest = np.searchsorted(known, asked, "right") - 1
    then = following[np.maximum(latest, 0)]
    is_there = (then < len(time)) & (node[np.minimum(then, len(time) - 1)] == held.node)
    began = np.where(is_there, time[np.minimum(then, len(time) - 1)], held.end)
    return np.minimum(np.maximum(began, held.start), held.end)


def modes_of(run: RunRecord, begin: float, end: float) -> NodeModes:
    """Return the modes of all nodes from one time to another. O(n log n), n holdings and changes of nodes."""
    holdings, nodes = holdings_of(run), run.system.nodes
    times, places = [np.full(nodes, begin)], [np.arange(nodes)]
    jobs, units = [np.zeros(nodes)], [np.zeros((nodes, holdings.units.shape[1]))]
    marks = [np.zeros((nodes, 2))]
    for time, sign in ((holdings.start, 1.0), (holdings.end, -1.0)):
        times.append(np.clip(time, begin, end))
        places.append(holdings.node)
        jobs.append(np.full(len(time), sign))
        units.append(sign * holdings.units)
        marks.append(np.full((len(time), 2), np.nan))
    for column, (time, node, value) in enumerate(_changes(run)):
        times.append(np.clip(time, begin, end))
        places.append(node.astype(np.int64))
        jobs.append(np.zeros(len(time)))
        units.append(np.zeros((len(time), holdings.units.shape[1])))
        mark = np.full((len(time), 2), np.nan)
        mark[:, column] = value
        marks.append(mark)
    when, where = np.concatenate(times), np.concatenate(places)
    order = np.lexsort((when, where))
    when, where = when[order], where[order]
    present = np.cumsum(np.concatenate(jobs)[order])
    held = np.cumsum(np.concatenate(units)[order], axis=0)
    closed, state = _filled(np.concatenate(marks)[order])
    # The values after an instant hold until the next of the same node.
    until = np.append(when[1:], end)
    until[np.append(where[1:] != where[:-1], True)] = end
    mode = np.where(np.rint(present) > 0, BUSY, np.where(closed > 0, CLOSED, IDLE))
    mode = np.where(state > 0, state + CLOSED, mode).astype(np.int64)
    lasts = until > when
    held[mode > CLOSED] = 0.0
    return NodeModes(where[lasts], mode[lasts], when[lasts], until[lasts], held[lasts])


def _changes(run: RunRecord) -> list[tuple[Floats, npt.NDArray[np.integer], npt.NDArray[np.generic]]]:
    """List when nodes closed and opened, and when their power states changed."""
    closures, states = run.outcome.tables.get("closures"), run.outcome.tables.get("power_states")
    nothing = np.empty(0), np.empty(0, np.uint32), np.empty(0)
    closed = nothing if closures is None else (closures["time"], closures["node"], closures["closed"])
    asleep = nothing if states is None else (states["time"], states["node"], states["state"])
    return [closed, asleep]


def _filled(marks: Floats) -> Floats:
    """Carry the last value of each column forward; the first entry of each node has a value."""
    filled = []
    for column in marks.T:
        last = np.maximum.accumulate(np.where(np.isnan(column), 0, np.arange(len(column))))
        filled.append(column[last])
    return np.stack(filled)


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


_SUMS = {"price": "cost", "carbon": "emissions"}


def overview(observations: Mapping[str, pl.DataFrame]) -> dict[str, object]:
    """Sum up energy, cost and emissions, if they were observed.

    Parameters
    ----------
    observations
        The observations of a result.

    Returns
    -------
    dict
        ``energy``: ``total`` and ``jobs`` (J; the rest was used by idle nodes, not by jobs), ``mean_power``
        and ``peak_power`` (W), and if nodes sleep ``states``, the joules by the states of nodes; ``cost``
        and ``emissions``, the totals of the signals per kilowatt-hour. Each only if it was observed.
    """
    found: dict[str, object] = {}
    power = observations.get("power")
    if power is not None and {"time", "power"} <= set(power.columns) and len(power):
        states = _of_states(observations.get("energy_per_state"))
        found["energy"] = {**_energy(power, observations.get("jobs")), **states}
    for name, column in _SUMS.items():
        table = observations.get(name)
        if table is not None and column in table.columns:
            found[column] = float(table[column].sum())
    return found


def _energy(power: pl.DataFrame, jobs: pl.DataFrame | None) -> dict[str, float | None]:
    lasts = pl.col("time").shift(-1) - pl.col("time")
    span = float(power["time"][-1] - power["time"][0])
    total = float(power.select((pl.col("power") * lasts).sum()).item())
    of_jobs = float(jobs["energy"].sum()) if jobs is not None and "energy" in jobs.columns else None
    mean = total / span if span > 0 else None
    return {"total": total, "jobs": of_jobs, "mean_power": mean, "peak_power": _highest(power)}


def _of_states(table: pl.DataFrame | None) -> dict[str, object]:
    """Sum up the energy of nodes by their states, if they have others than idle, busy and drained."""
    if table is None or "energy" not in table.columns or len(table) <= 3 * table["group"].n_unique():
        return {}
    sums = table.group_by("state", maintain_order=True).agg(pl.col("energy").sum())
    return {"states": dict(sums.rows())}


def _highest(power: pl.DataFrame) -> float:
    # The power at the end lasts no time; it counts only if nothing else was recorded.
    drawn = power["power"][:-1] if len(power) > 1 else power["power"]
    return max(float(value) for value in drawn)
