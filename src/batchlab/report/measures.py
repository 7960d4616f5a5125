"""The tables of measures: one column per measure, one row per group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from batchlab.core.markup import Html, element, table
from batchlab.core.units import format_duration
from batchlab.plot.estimate import Estimate, estimate
from batchlab.plot.scales import short_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from batchlab.plot.results import Group
    from batchlab.result.result import Result

__all__ = [
    "Measure",
    "cost_measures",
    "measures_table",
    "number",
    "percent",
    "schedule_measures",
    "statistics_table",
]

_STATISTICS = ("mean", "median", "p95", "p99", "max")
_MANY = 1000


@dataclass(frozen=True)
class Measure:
    """A number per replication, its format, and the direction of better values, if any."""

    name: str
    value: Callable[[Group], Sequence[float | None]]
    written: Callable[[float], str]
    better: Literal["lower", "higher"] | None = None


_UNUSUAL = ("killed", "rejected", "cancelled")
"""States that are omitted if no job is in them."""


def number(value: float) -> str:
    """Format a number with three digits, or as an integer if it is large."""
    return f"{value:,.0f}" if abs(value) >= _MANY else f"{value:.3g}"


def percent(share: float) -> str:
    """Format a share in per cent."""
    return f"{100 * share:.2f} %"


def schedule_measures(groups: Sequence[Group]) -> list[Measure]:
    """Return the measures of schedules that have values in these groups."""
    resources = dict.fromkeys(name for group in groups for name in group.results[0].system.resources)
    every = [
        *_times(),
        *(_share("utilisation", name, "in use") for name in resources),
        *(_share("loss_of_capacity", name, "lost") for name in resources),
        Measure("mean queue", _of("queue_length", "mean"), number, "lower"),
        Measure("longest queue", _of("queue_length", "max"), _whole, "lower"),
    ]
    return [measure for measure in every if any(_tells(measure, group) for group in groups)]


def cost_measures(groups: Sequence[Group]) -> list[Measure]:
    """Return the measures of job states and of simulation costs."""
    every = [
        *(Measure(state, _of("jobs", state), _whole) for state in ("completed", *_UNUSUAL)),
        Measure("simulated in", lambda group: [result.elapsed for result in group.results], short_duration),
        Measure("CPU time of decisions", _decisions, short_duration),
    ]
    return [measure for measure in every if any(_tells(measure, group) for group in groups)]


def measures_table(caption: str, groups: Sequence[Group], columns: Sequence[Measure]) -> Html:
    """Build a table of measures, with the best value of each column marked."""
    found = [[estimate(each.value(group)) for each in columns] for group in groups]
    best = [_best(each, [row[index] for row in found]) for index, each in enumerate(columns)]
    rows = []
    for group, estimates in zip(groups, found, strict=True):
        cells = (
            element("td", _estimated(measure, value), class_="best" if value and value.mean == mark else None)
            for measure, value, mark in zip(columns, estimates, best, strict=True)
        )
        rows.append([group.label, *cells])
    return table(caption, ["policy", *(each.name for each in columns)], rows, class_="numbers")


def statistics_table(result: Result) -> Html:
    """Build a table of the distributions of job measures in one result."""
    metrics = result.metrics()
    rows: list[list[str]] = []
    for name in ("wait", "turnaround", "slowdown", "bounded_slowdown", "per_processor_slowdown"):
        written = format_duration if name in {"wait", "turnaround"} else number
        values = cast("Mapping[str, float | None]", metrics[name])
        cells = ("–" if (value := values[each]) is None else written(value) for each in _STATISTICS)
        rows.append([name.replace("_", " ").replace("per processor", "per-processor"), *cells])
    return table("Over the jobs that ran", ["", *_STATISTICS], rows, class_="numbers")


def _times() -> list[Measure]:
    return [
        Measure("mean wait", _of("wait", "mean"), format_duration, "lower"),
        Measure("median wait", _of("wait", "median"), format_duration, "lower"),
        Measure("p95 wait", _of("wait", "p95"), format_duration, "lower"),
        Measure("mean bounded slowdown", _of("bounded_slowdown", "mean"), number, "lower"),
        Measure("p95 bounded slowdown", _of("bounded_slowdown", "p95"), number, "lower"),
        Measure("makespan", _of("makespan"), format_duration, "lower"),
    ]


def _share(metric: str, resource: str, text: str) -> Measure:
    better: Literal["lower", "higher"] = "higher" if metric == "utilisation" else "lower"
    return Measure(f"{resource} {text}", _of(metric, resource), percent, better)


def _of(*path: str) -> Callable[[Group], Sequence[float | None]]:
    def values(group: Group) -> list[float | None]:
        # Equal schedules are measured once; the values count for all of them.
        found = [_at(result.metrics(), path) for result in group.schedules]
        return found * (len(group.results) // len(found))

    return values


def _at(found: object, path: Sequence[str]) -> float | None:
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return float(found) if isinstance(found, int | float) else None


def _decisions(group: Group) -> list[float | None]:
    return [
        None if "dispatch" not in result.outcome.tables else float(result.dispatch["cpu_time"].sum())
        for result in group.results
    ]


def _whole(value: float) -> str:
    return f"{value:,.10g}" if value == int(value) else f"{value:,.1f}"


def _tells(measure: Measure, group: Group) -> bool:
    # Omit states without jobs, and resources that no job uses.
    quiet = measure.name in _UNUSUAL or measure.name.endswith(("in use", "lost"))
    return any(value is not None and not (quiet and value == 0) for value in measure.value(group))


def _best(measure: Measure, values: Sequence[Estimate | None]) -> float | None:
    means = [value.mean for value in values if value is not None]
    if measure.better is None or len(set(means)) < 2:  # noqa: PLR2004  # it takes two
        return None
    return min(means) if measure.better == "lower" else max(means)


def _estimated(measure: Measure, value: Estimate | None) -> str:
    if value is None:
        return "–"
    half = value.half_width
    return measure.written(value.mean) + (f" ± {measure.written(half)}" if half else "")
