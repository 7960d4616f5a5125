"""How far a twin's runs are from a log: the measure P, and the jobs that stay unexplained."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.adequacy import Comparison, compare

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from batchlab.twin.log import Floats, Log, Mask
    from batchlab.twin.twin import Twin

__all__ = ["Assessment", "assess", "discrepancy"]


@dataclass(frozen=True, eq=False)
class Assessment:
    """A twin against a log, with several seeds.

    Parameters
    ----------
    comparisons
        One for each seed, of the jobs that are assessed.
    tolerance
        Up to so many seconds a job's time from submission to end may be off, and it is explained.
    """

    comparisons: tuple[Comparison, ...]
    tolerance: float

    @property
    def P(self) -> tuple[float, ...]:  # noqa: N802  # the paper's name
        """The measure with each seed, seconds."""
        return tuple(each.P for each in self.comparisons)

    @property
    def median_P(self) -> float:  # noqa: N802  # as above
        """The median of the measure, seconds."""
        return median(self.P)

    @property
    def jobs(self) -> int:
        """How many jobs were compared."""
        return len(self.comparisons[0])

    @property
    def unexplained(self) -> float:
        """How many jobs are further off than the tolerance: the median over the seeds."""
        return median(
            int(np.count_nonzero(each.differences["residence_difference"].abs().to_numpy() > self.tolerance))
            for each in self.comparisons
        )

    @property
    def typical(self) -> Comparison:
        """The comparison whose P is the median, or the next below."""
        return sorted(self.comparisons, key=lambda each: each.P)[(len(self.comparisons) - 1) // 2]

    def to_dict(self) -> dict[str, object]:
        """Give plain values, ready for JSON."""
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
        What is run.
    assessed
        Shape (jobs,): which jobs are compared.
    seeds
        Of the runs.
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
    """Give what a fit makes least: how far starts and ends typically are from the log's; seconds.

    With d the differences of starts and of ends, the geometric mean of 1 s + abs(d), less 1 s; the mean
    over the seeds, and infinite where a job does not start. P, the root of the mean square, is ruled by
    the few jobs that a small change moves by hours: it hardly tells values that explain most jobs to the
    second from others.
    """
    found = []
    for seed in seeds:
        start, end = log.modelled(twin.run(log.workload, seed=seed))
        apart = np.stack([start - log.start, end - log.end])[:, assessed]
        found.append(np.inf if np.isnan(apart).any() else float(np.expm1(np.mean(np.log1p(np.abs(apart))))))
    return float(np.mean(found))
