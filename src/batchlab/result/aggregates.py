"""The aggregate measures of a run: their places in `Result.metrics`, titles, formats and better directions.

Every table of measures takes its columns from here: the summary, `batchlab compare`, experiments and reports.
Needs no NumPy, so that the summary of a short run starts fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from batchlab.core.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "AGGREGATES",
    "QUANTITIES",
    "STATISTICS",
    "Aggregate",
    "Quantity",
    "jobs_in",
    "number",
    "of_resource",
    "percent",
]

STATISTICS = ("mean", "median", "p95", "p99", "max")
"""Statistics of a quantity over jobs, in the order of tables."""
_DAY = 86_400


def number(value: float) -> str:
    """Format a number with three digits, or as an integer if it is large."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.3g}"  # noqa: PLR2004  # enough to read


def percent(share: float) -> str:
    """Format a share in per cent."""
    return f"{100 * share:.1f} %"


def _whole(value: float) -> str:
    return f"{value:,.10g}" if value == int(value) else f"{value:,.1f}"


def _a_day(rate: float) -> str:
    return number(_DAY * rate)


@dataclass(frozen=True)
class Quantity:
    """A quantity that every job has: its title, and the format of its values."""

    title: str
    written: Callable[[float], str]


QUANTITIES = {
    "wait": Quantity("wait", format_duration),
    "turnaround": Quantity("turnaround", format_duration),
    "slowdown": Quantity("slowdown", number),
    "bounded_slowdown": Quantity("bounded slowdown", number),
    "per_processor_slowdown": Quantity("per-processor slowdown", number),
}
"""The quantities of `batchlab.metrics` that are described by statistics."""


@dataclass(frozen=True)
class Aggregate:
    """A number that describes a run.

    Parameters
    ----------
    path
        The keys that lead to it in `Result.metrics`.
    title
        Its title in tables.
    written
        The format of a value.
    better
        Which values are better, if that is clear.
    """

    path: tuple[str, ...]
    title: str
    written: Callable[[float], str]
    better: Literal["lower", "higher"] | None = None

    @property
    def column(self) -> str:
        """Its name in the table of an experiment, as ``wait_mean``."""
        return "_".join(self.path)

    def of(self, metrics: Mapping[str, Any]) -> float | None:
        """Return its value in the measures of a run; None if they have none."""
        found: object = metrics
        for name in self.path:
            found = found.get(name) if isinstance(found, dict) else None
        return float(found) if isinstance(found, int | float) else None

    def text(self, metrics: Mapping[str, Any]) -> str:
        """Return its value in the measures of a run as text."""
        value = self.of(metrics)
        return "–" if value is None else self.written(value)


def _statistic(quantity: str, statistic: str) -> Aggregate:
    title, written = QUANTITIES[quantity].title, QUANTITIES[quantity].written
    most = "longest" if quantity in {"wait", "turnaround"} else "largest"
    word = most if statistic == "max" else statistic
    return Aggregate((quantity, statistic), f"{word} {title}", written, "lower")


_ALL = (
    *(_statistic(quantity, statistic) for quantity in QUANTITIES for statistic in STATISTICS),
    Aggregate(("queue_length", "mean"), "mean queue", number, "lower"),
    Aggregate(("queue_length", "max"), "longest queue", _whole, "lower"),
    Aggregate(("makespan",), "makespan", format_duration, "lower"),
    Aggregate(("throughput",), "jobs a day", _a_day, "higher"),
)
AGGREGATES = {each.column: each for each in _ALL}
"""The aggregates of every run, by their names in the table of an experiment."""


def jobs_in(state: str) -> Aggregate:
    """Return the number of jobs in a state."""
    return Aggregate(("jobs", state), state, _whole)


def of_resource(measure: Literal["utilisation", "loss_of_capacity"], resource: str) -> Aggregate:
    """Return the utilisation, or the loss of capacity, of one resource."""
    is_use = measure == "utilisation"
    title = f"{resource} {'in use' if is_use else 'lost'}"
    return Aggregate((measure, resource), title, percent, "higher" if is_use else "lower")
