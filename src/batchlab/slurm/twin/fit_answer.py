"""The answer of a fit: parameters and distances, as text and tables."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from math import isfinite
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from batchlab.adequacy import Comparison, compare
from batchlab.core.units import format_count
from batchlab.slurm.twin.parameters import Fitted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from batchlab.slurm.twin.log import Floats, Log, Mask
    from batchlab.slurm.twin.parameters import Parameter
    from batchlab.slurm.twin.twin import Twin

__all__ = [
    "Assessment",
    "Fit",
    "Unit",
    "amount",
    "amounts",
    "assess",
    "discrepancy",
    "judgement",
    "unit_of",
    "wrapped",
    "written",
]

_MANY = 1000
_UNITS = (("d", 86_400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0))


def amount(seconds: float | None) -> str:
    """Format a duration in one unit, as ``1.5 h``; a dash if unknown."""
    if seconds is None:
        return "–"
    unit = _unit(abs(seconds))
    return f"{unit.plain(seconds)} {unit.name}"


def amounts(seconds: tuple[float, ...]) -> str:
    """Format the minimum and the maximum of durations."""
    least, most = amount(min(seconds)), amount(max(seconds))
    return least if least == most else f"{least} to {most}"


class Unit(NamedTuple):
    """A unit for the durations of a column."""

    name: str
    seconds: float

    def plain(self, seconds: float | None) -> str:
        """Format a duration without its unit; a dash if unknown."""
        return "–" if seconds is None else _digits(seconds / self.seconds)

    def interval(self, seconds: float, low: float, high: float) -> str:
        """Format a duration with its interval, as ``1.5 (0.9 to 2.1)``."""
        return f"{self.plain(seconds)} ({self.plain(low)} to {self.plain(high)})"

    def difference(self, seconds: float, low: float, high: float) -> str:
        """Format a difference with its interval, as ``+1.5 (0.9 to 2.1)``."""
        return f"{'+' if seconds > 0 else ''}{self.interval(seconds, low, high)}"


def unit_of(seconds: Iterable[float | None]) -> Unit:
    """Return a common unit for several durations: the unit of their median."""
    known = sorted(abs(each) for each in seconds if each)
    return _unit(known[len(known) // 2]) if known else Unit(*_UNITS[-1])


def _unit(greatest: float) -> Unit:
    return Unit(*next((each for each in _UNITS if greatest >= each[1]), _UNITS[-1]))


def _digits(value: float) -> str:
    """Format a number with three digits and at most two decimals; without decimals from 1,000 on."""
    exact = float(f"{value:.0f}") if abs(value) >= _MANY else float(f"{value:.3g}")
    rounded = round(exact, 2) + 0.0  # no "-0"
    return f"{rounded:,.12g}".replace("-", "−")


_WIDTH = 80


def wrapped(text: str) -> list[str]:
    """Wrap a text into lines; continuation lines are indented."""
    return textwrap.wrap(text, _WIDTH, subsequent_indent="  ", break_long_words=True)


@dataclass(frozen=True, eq=False)
class Assessment:
    """Comparisons of a twin with a log, for several seeds.

    Parameters
    ----------
    comparisons
        One comparison per seed, on the assessed jobs.
    tolerance
        Maximum error of a job's turnaround, in seconds, to count as explained.
    """

    comparisons: tuple[Comparison, ...]
    tolerance: float

    @property
    def P(self) -> tuple[float, ...]:  # noqa: N802  # the paper's name
        """The measure for each seed, seconds."""
        return tuple(each.P for each in self.comparisons)

    @property
    def median_P(self) -> float:  # noqa: N802  # as above
        """The median of the measure, seconds."""
        return median(self.P)

    @property
    def jobs(self) -> int:
        """Number of compared jobs."""
        return len(self.comparisons[0])

    @property
    def unexplained(self) -> float:
        """Number of jobs with an error above the tolerance: the median over the seeds."""
        return median(
            int(np.count_nonzero(each.differences["residence_difference"].abs().to_numpy() > self.tolerance))
            for each in self.comparisons
        )

    @property
    def typical(self) -> Comparison:
        """The comparison with the median P, or the next below."""
        return sorted(self.comparisons, key=lambda each: each.P)[(len(self.comparisons) - 1) // 2]

    def to_dict(self) -> dict[str, object]:
        """Return a JSON-compatible dictionary."""
        return {
            "P": list(self.P),
            "median_P": self.median_P,
            "jobs": self.jobs,
            "unexplained": self.unexplained,
            "tolerance": self.tolerance,
        }


def assess(
    twin: Twin,
    log: Log,
    assessed: Mask,
    *,
    seeds: Sequence[int],
    tolerance: float,
    progress: Callable[[], object] | None = None,
) -> Assessment:
    """Run a log's jobs under a twin, and compare some of them with the log.

    Parameters
    ----------
    twin, log
        The twin to run, and the log.
    assessed
        Shape (jobs,): the jobs to compare.
    seeds
        Seeds of the runs.
    tolerance
        As for `Assessment`.
    progress
        Called after each run.
    """
    chosen = pl.lit(pl.Series(assessed))
    jobs = log.workload.jobs.select("submit_time", "requested_time", "tasks").with_row_index("job_id")
    found = []
    for seed in seeds:
        modelled = log.modelled(twin.run(log.workload, seed=seed))
        real, model = (_stream(jobs, times).filter(chosen) for times in ((log.start, log.end), modelled))
        found.append(compare(real, model))
        if progress is not None:
            progress()
    return Assessment(tuple(found), tolerance)


def _stream(jobs: pl.DataFrame, times: tuple[Floats, Floats]) -> pl.DataFrame:
    start, end = times
    return jobs.with_columns(pl.Series("start_time", start), pl.Series("end_time", end))


def discrepancy(twin: Twin, log: Log, assessed: Mask, seeds: Sequence[int]) -> float:
    """Return the objective of a fit: the typical distance of starts and ends from the log; seconds.

    With d the differences of starts and of ends, this is the geometric mean of 1 s + abs(d), minus 1 s,
    averaged over the seeds; infinite if a job does not start. P, the root mean square, is dominated by the
    few jobs that a small change moves by hours, so it hardly distinguishes values that explain most jobs to
    the second from others.
    """
    found = []
    for seed in seeds:
        start, end = log.modelled(twin.run(log.workload, seed=seed))
        apart = np.stack([start - log.start, end - log.end])[:, assessed]
        found.append(np.inf if np.isnan(apart).any() else float(np.expm1(np.mean(np.log1p(np.abs(apart))))))
    return float(np.mean(found))


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
    trained = format_count(found.train_jobs, "job")
    yield f"trained on  {trained} submitted and started in the first {amount(found.boundary)}"
    yield f"tested on   {format_count(found.after.jobs, 'job')} submitted after that"
    if found.left_out:
        yield f"left out    {format_count(found.left_out, 'job')} that did not start and end"
    how = ", ended by Ctrl-C" if found.interrupted else ""
    trials = format_count(found.trials.height, "trial")
    yield f"search      {trials} of {format_count(found.seeds, 'run')} each, seed {found.seed}{how}"
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
