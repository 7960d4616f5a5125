"""The outcome of a fit: fitted values, and the distance of the twin from the log before and after."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from batchlab.slurm.twin.durations import amount
from batchlab.slurm.twin.fitted import Fitted
from batchlab.slurm.twin.lines import wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

    from batchlab.slurm.twin.assessment import Assessment
    from batchlab.slurm.twin.parameters import Parameter
    from batchlab.slurm.twin.twin import Twin

__all__ = ["Fit", "judgement", "written"]

_SECONDS = ("submission", "launch", "completion", "main_phase", "backfill_phase", "batch_sched_delay")


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """A fitted twin; ``str(fit)`` is a readable summary.

    Parameters
    ----------
    configured, twin
        The configured twin, and the twin with the fitted values.
    parameters
        The fitted parameters, with bounds and configured values.
    values
        The fitted values, by name.
    before, after
        Both twins compared with the log, on the jobs of the test period.
    trials
        A row per trial: ``trial`` (from 1), ``discrepancy`` (s) and a column for each parameter.
    train_jobs
        Number of jobs submitted and started in the training period.
    left_out
        Number of jobs in the log that did not start and end.
    boundary
        Begin of the test period, seconds since the workload's origin.

    seeds, seed
        Number of runs per trial, and the seed of the search.
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
        """The fitted values, to write to a file and to apply to other configurations."""
        return Fitted(
            values=dict(self.values), configured={each.name: each.configured for each in self.parameters}
        )

    @property
    def discrepancies(self) -> tuple[float, float]:
        """The objective on the training period, for the first and the best trial; seconds."""
        column = self.trials["discrepancy"].to_list()
        return column[0], min(column)

    def to_dict(self) -> dict[str, object]:
        """Return a JSON-compatible dictionary."""
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
    """Return a number that JSON can represent; None if some job did not start."""
    return seconds if isfinite(seconds) else None


def written(name: str, value: float | None) -> str:
    """Format a value of a parameter."""
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
    """Return the compared quantities with their values before and after the fit."""
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
