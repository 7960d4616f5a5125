"""Differences of means from the baseline, with confidence intervals that allow for dependent jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from batchlab.errors import QueueingError
from batchlab.plot.results import jobs_of
from batchlab.queueing.intervals import Bootstrap, block_bootstrap
from batchlab.result import metrics

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from batchlab.plot.results import Group
    from batchlab.result.result import Result

    Floats: TypeAlias = npt.NDArray[np.float64]
    Integers: TypeAlias = npt.NDArray[np.int64]

__all__ = ["RESAMPLES", "Difference", "mean_differences"]

RESAMPLES = 400
"""Number of resamples of the block bootstrap."""


@dataclass(frozen=True)
class Difference:
    """A mean minus the baseline's, with the ends of its 95 % confidence interval."""

    estimate: float
    low: float
    high: float


def mean_differences(
    groups: Sequence[Group], baseline: Group
) -> tuple[dict[str, tuple[Difference, Difference]], float] | None:
    """Compare mean waits and mean bounded slowdowns with the baseline's, over the same jobs.

    Blocks of time are drawn with all jobs submitted in them, the same for all policies: see
    `batchlab.queueing.block_bootstrap`. The value of a job is its mean over replications.

    Parameters
    ----------
    groups
        All groups, including the baseline.
    baseline
        The group that others are compared with.

    Returns
    -------
    tuple or None
        By label, the differences of mean wait (s) and of mean bounded slowdown, over jobs that ran under
        all policies; and the length of a block, seconds. None if the jobs differ or are too few.
    """
    others = [group for group in groups if group is not baseline]
    first = baseline.results[0].workload.jobs
    every = [result for group in groups for result in group.results]
    if not all(result.workload.jobs is first or result.workload.jobs.equals(first) for result in every):
        return None
    values = np.stack([_values(group) for group in (baseline, *others)])
    ran = np.isfinite(values).all(axis=(0, 1))
    times, values = first["submit_time"].to_numpy()[ran], values[..., ran]
    apart = (values[1:] - values[0]).reshape(-1, values.shape[-1])

    def statistic(counts: Integers) -> Floats:
        total = counts.sum()
        return np.asarray(apart @ counts / total if total else np.full(len(apart), np.nan))

    try:
        found = block_bootstrap(times, statistic, resamples=RESAMPLES)
    except QueueingError:
        # At least two distinct submit times are required.
        return None
    return {group.label: _pair(found, index) for index, group in enumerate(others)}, found.block


def _pair(found: Bootstrap, index: int) -> tuple[Difference, Difference]:
    ends = (found.estimate, found.low, found.high)
    one, other = ([float(end[2 * index + measure]) for end in ends] for measure in (0, 1))
    return Difference(*one), Difference(*other)


def _values(group: Group) -> Floats:
    """Return the wait and the bounded slowdown of every job: (2, jobs); NaN if the job did not run."""
    found: Floats = np.mean([_of_result(result) for result in group.schedules], axis=0)
    return found


def _of_result(result: Result) -> Floats:
    jobs = jobs_of(result)
    return np.stack(
        [
            measure(jobs).cast(float).fill_null(np.nan).to_numpy()
            for measure in (metrics.wait, metrics.bounded_slowdown)
        ]
    )
