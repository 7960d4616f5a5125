"""What came of a fit: values, and how far the twin is from the log before and after."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from batchlab.twin.durations import amount
from batchlab.twin.fitted import Fitted
from batchlab.twin.lines import wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

    from batchlab.twin.assessment import Assessment
    from batchlab.twin.parameters import Parameter
    from batchlab.twin.twin import Twin

__all__ = ["Fit", "judgement", "written"]

_SECONDS = ("submission", "launch", "completion", "main_phase", "backfill_phase", "batch_sched_delay")


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """A fitted twin; ``str(fit)`` is for people.

    Parameters
    ----------
    configured, twin
        What was configured, and the same with what was fitted.
    parameters
        What was fitted, with bounds and configured values.
    values
        The fitted values, by name.
    before, after
        Both twins against the log, on the jobs of the test period.
    trials
        A row per trial: ``trial`` (from 1), ``discrepancy`` (s) and a column for each parameter.
    train_jobs
        How many jobs were submitted and started in the train period.
    left_out
        How many jobs of the log did not start and end.
    boundary
        Where the test period begins, seconds since the workload's origin.

    seeds, seed
        How many runs each trial had, and the seed of the search.
    interrupted
        Whether Ctrl-C ended the search.
    """

    configured: Twin
    twin: Twin
    parameters: tuple[Parameter, ...]
    values: Mapping[str, float]
    before: Assessment
    after: Assessment
    trials: pl.DataFrame
    train_jobs: int
    left_out: int
    boundary: float

    seeds: int
    seed: int
    interrupted: bool

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    __repr__ = __str__

    @property
    def fitted(self) -> Fitted:
        """What was fitted, to be written to a file and applied to other configurations."""
        return Fitted(
            values=dict(self.values), configured={each.name: each.configured for each in self.parameters}
        )

    @property
    def discrepancies(self) -> tuple[float, float]:
        """What the fit made least, on the train period: of the first trial, and of the best; seconds."""
        column = self.trials["discrepancy"].to_list()
        return column[0], min(column)

    def to_dict(self) -> dict[str, object]:
        """Give all of it as plain values, ready for JSON."""
        first, best = self.discrepancies
        return {
            "configuration": self.configured.name,
            "policy": str(self.twin.policy),
            "parameters": {
                each.name: {
                    "configured": each.configured,
                    "low": each.low,
                    "high": each.high,
                    "fitted": self.values[each.name],
                }
                for each in self.parameters
            },
            "train": {
                "jobs": self.train_jobs,
                "until": self.boundary,
                "first": finite(first),
                "best": finite(best),
            },
            "test": {"before": self.before.to_dict(), "after": self.after.to_dict()},
            "trials": self.trials.height,
            "seeds": self.seeds,
            "seed": self.seed,
            "left_out": self.left_out,
            "interrupted": self.interrupted,
        }


def finite(seconds: float) -> float | None:
    """Give a number that JSON can write; None where some job did not start."""
    return seconds if isfinite(seconds) else None


def written(name: str, value: float | None) -> str:
    """Write a value of a parameter."""
    if value is None:
        return "drawn"
    text = f"{value:.0f}" if float(value).is_integer() else f"{value:.4g}"
    return f"{text}{' s' if name in _SECONDS else ''}"


def _lines(found: Fit) -> Iterator[str]:
    yield from wrapped(f"{found.configured.name}: {found.configured.policy}")
    yield ""
    yield f"trained on  {found.train_jobs:,} jobs submitted and started in the first {amount(found.boundary)}"
    yield f"tested on   {found.after.jobs:,} jobs submitted after that"
    if found.left_out:
        yield f"left out    {found.left_out:,} jobs that did not start and end"
    how = ", ended by Ctrl-C" if found.interrupted else ""
    runs = "1 run" if found.seeds == 1 else f"{found.seeds} runs"
    yield f"search      {found.trials.height:,} trials of {runs} each, seed {found.seed}{how}"
    yield ""
    yield f"{'':<22}{'configured':>14}{'bounds':>24}{'fitted':>16}"
    for each in found.parameters:
        bounds = f"{written('', each.low)} to {written(each.name, each.high)}"
        fitted = written(each.name, found.values[each.name])
        yield f"{each.name:<22}{written(each.name, each.configured):>14}{bounds:>24}{fitted:>16}"
    yield ""
    yield f"{'':<46}{'before':>14}{'after':>16}"
    for name, (before, after) in judgement(found).items():
        yield f"{name:<46}{before:>14}{after:>16}"


def judgement(found: Fit) -> dict[str, tuple[str, str]]:
    """Compare before and after, by what is said of it."""
    both = (found.before, found.after)
    seeds = len(found.after.comparisons)
    first, best = found.discrepancies
    return {
        "train: typical distance of starts and ends": (amount(first), amount(best)),
        f"test: P, median of {seeds} seeds": (amount(both[0].median_P), amount(both[1].median_P)),
        "test: P, least": (amount(min(both[0].P)), amount(min(both[1].P))),
        "test: P, most": (amount(max(both[0].P)), amount(max(both[1].P))),
        f"test: jobs off by more than {amount(found.after.tolerance)}": (
            f"{both[0].unexplained:,.4g}",
            f"{both[1].unexplained:,.4g}",
        ),
    }
