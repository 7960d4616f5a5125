"""The distance of a twin's runs from a log: the measure P, and the number of unexplained jobs."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.adequacy import Comparison, compare

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from batchlab.slurm.twin.log import Floats, Log, Mask
    from batchlab.slurm.twin.twin import Twin

__all__ = ["Assessment", "assess", "discrepancy"]


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
