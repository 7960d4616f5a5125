"""The log of a twin, and its waiting times beside the simulated ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import polars as pl

from batchlab.adequacy.stream import with_starts
from batchlab.core import rules
from batchlab.errors import TwinError
from batchlab.workload.routing import attribute

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab.result.result import Result
    from batchlab.workload import Workload

    Floats = npt.NDArray[np.float64]
    Integers = npt.NDArray[np.int64]
    Mask = npt.NDArray[np.bool_]

__all__ = [
    "GROUPED_BY",
    "LEAST_JOBS",
    "STATISTICS",
    "GroupedBy",
    "GroupedWaits",
    "Grouping",
    "Log",
    "checked_name",
    "groupings",
]

GroupedBy = Literal["all", "partition", "qos", "account", "size"]

GROUPED_BY: tuple[GroupedBy, ...] = get_args(GroupedBy)

_MOST_GROUPS = 30
_OTHERS, _NONE = "(others)", "(none)"
# The maximum numbers of processors of the size classes, except for the last.
_SIZES = (1, 4, 16, 64, 256, 1024)


@dataclass(frozen=True, eq=False)
class Grouping:
    """The group of each job.

    Parameters
    ----------
    by
        The attribute by which jobs are grouped.
    names
        The names of groups: most jobs first, or sizes in ascending order.
    number
        int64, shape (jobs,): the group of each job, an index of `names`.
    """

    by: GroupedBy
    names: tuple[str, ...]
    number: npt.NDArray[np.int64]


def groupings(workload: Workload) -> tuple[Grouping, ...]:
    """Group jobs by all attributes that their log contains.

    Parameters
    ----------
    workload
        The jobs.

    Returns
    -------
    tuple of Grouping
        All jobs; by partition, QOS and account, if any job has one; by size, the number of requested
        processors. If there are more than 30 groups, those with the fewest jobs are combined as ``(others)``.
    """
    found = [Grouping("all", ("all",), np.zeros(len(workload), np.int64))]
    for name in ("partition", "qos", "account"):
        values = attribute(workload, name)
        if values.count():
            found.append(_named(name, values))
    return (*found, _sized(workload))


def _named(by: GroupedBy, values: pl.Series) -> Grouping:
    labels = values.fill_null(_NONE)
    counted = labels.value_counts().sort(["count", labels.name], descending=[True, False])
    names = counted[labels.name].to_list()
    if len(names) > _MOST_GROUPS:
        names = [*names[: _MOST_GROUPS - 1], _OTHERS]
    places = {name: place for place, name in enumerate(names)}
    number = labels.replace_strict(places, default=len(names) - 1, return_dtype=pl.Int64)
    return Grouping(by, tuple(names), number.to_numpy())


def _sized(workload: Workload) -> Grouping:
    processors = workload.jobs["tasks"]
    if "core" in workload.resources:
        processors = processors * workload.jobs["core"]
    # The bounds are inclusive.
    number = np.searchsorted(np.array(_SIZES), processors.to_numpy(), side="left")
    there, places = np.unique(number, return_inverse=True)
    return Grouping("size", tuple(_size(int(each)) for each in there), places.astype(np.int64))


def _size(number: int) -> str:
    """Return the name of a class: ``1``, ``2–4``, …, ``> 1024`` processors."""
    if number == len(_SIZES):
        return f"> {_SIZES[-1]}"
    least = _SIZES[number - 1] + 1 if number else 1
    return f"{least}–{_SIZES[number]}" if least < _SIZES[number] else str(least)


STATISTICS = ("mean", "median", "p95")
_QUANTILES = (0.5, 0.95)


class GroupedWaits:
    """The waits of groups of jobs under one configuration.

    Waits are sorted once, so that the statistics of all groups cost O(jobs × seeds) for any counts.

    Parameters
    ----------
    waits
        Shape (seeds, jobs): seconds, for the runs with each seed, which are pooled.
    grouping
        The groups.
    """

    def __init__(self, waits: Floats, grouping: Grouping) -> None:
        seeds, jobs = waits.shape
        group = np.tile(grouping.number, seeds)
        values = waits.ravel()
        order = np.lexsort((values, group))
        self._values = values[order]
        self._job = np.tile(np.arange(jobs), seeds)[order]
        self._begins = np.searchsorted(group[order], np.arange(len(grouping.names)))
        self._ends = np.append(self._begins[1:], len(order))

    def statistics(self, counts: Integers) -> Floats:
        """Return mean, median and 95 % quantile of each group.

        Parameters
        ----------
        counts
            Shape (jobs,): the count of each job, as in a resample.

        Returns
        -------
        numpy.ndarray
            float64, shape (groups, 3), seconds: NaN if all counts in a group are 0. A quantile is the
            smallest wait that this fraction of the jobs does not exceed.
        """
        weights = counts[self._job]
        before = np.concatenate([[0], np.cumsum(weights)])
        sums = np.concatenate([[0.0], np.cumsum(weights * self._values)])
        first, total = before[self._begins], before[self._ends] - before[self._begins]
        with np.errstate(invalid="ignore"):
            means = (sums[self._ends] - sums[self._begins]) / total
        columns = [means, *(self._quantile(before, first, total, part) for part in _QUANTILES)]
        found = np.stack(columns, axis=1)
        found[total == 0] = np.nan
        return found

    def _quantile(self, before: Integers, first: Integers, total: Integers, part: float) -> Floats:
        # The first position with a sufficient cumulative count is the quantile.
        reached = first + np.maximum(np.ceil(part * total - 1e-9), 1)
        places = np.searchsorted(before[1:], reached, side="left")
        waits: Floats = self._values[np.minimum(places, len(self._values) - 1)]
        return waits


LEAST_JOBS = 50
"""The minimum number of jobs for a meaningful fit."""


@dataclass(frozen=True, eq=False)
class Log:
    """Jobs with logged starts and ends.

    Parameters
    ----------
    workload
        The jobs that started and ended.
    start, end
        float64, shape (jobs,), seconds since the workload's origin.
    left_out
        Number of jobs in the log that did not start and end.
    ends_at_release
        Whether logged ends are the times when nodes were released, as in the table of a simulation with
        overheads: jobs then last longer than their run times. Otherwise, as in Slurm's accounting, the run
        time spans start to end and includes the launch, and the time for which nodes remain busy is unknown.
    """

    workload: Workload
    start: Floats
    end: Floats
    left_out: int
    ends_at_release: bool

    @classmethod
    def of(cls, workload: Workload) -> Log:
        """Create from the logged starts and ends of a workload.

        Raises
        ------
        AdequacyError
            If the log has no starts.
        TwinError
            If the log has no jobs, or too few jobs that started and ended.
        """
        name = checked_name(workload)
        jobs = with_starts(workload.jobs, name)
        start = jobs["start_time"].cast(pl.Float64).fill_null(np.nan).to_numpy()
        run_time = jobs["run_time"].cast(pl.Float64).fill_null(np.nan).to_numpy()
        has_ends = "end_time" in jobs.columns
        end = jobs["end_time"].cast(pl.Float64).fill_null(np.nan).to_numpy() if has_ends else start + run_time
        known = np.isfinite(start) & np.isfinite(end)
        kept = int(np.count_nonzero(known))
        if kept < 2 * LEAST_JOBS:
            rule = f"must be >= {2 * LEAST_JOBS} to fit on some and test on others"
            raise TwinError(f"{name}: {kept:,} of {len(jobs):,} jobs started and ended; {rule}.")
        beyond = float(np.median((end - start - run_time)[known]))
        return cls(
            workload=workload.filter(pl.lit(pl.Series(known))),
            start=start[known],
            end=end[known],
            left_out=len(jobs) - kept,
            ends_at_release=beyond > 0,
        )

    @property
    def submit(self) -> Floats:
        """Submit times; float64, shape (jobs,), seconds."""
        return self.workload.jobs["submit_time"].to_numpy()

    def boundary(self, share: float) -> float:
        """Return the time before which this fraction of the jobs was submitted.

        Raises
        ------
        TwinError
            If the share is not between 0 and 1.
        """
        share = rules.check(TwinError, "train", share, rules.Number(above=0, below=1))
        submit = np.sort(self.submit)
        return float(submit[min(int(share * len(submit)), len(submit) - 1)])

    def first_period(self, boundary: float) -> tuple[Log, Mask]:
        """Return the jobs submitted before a time, and a mask of those that also started before it.

        Starts after that time also depend on jobs that were submitted later.
        """
        before = self.submit < boundary
        part = Log(
            workload=self.workload.filter(pl.lit(pl.Series(before))),
            start=self.start[before],
            end=self.end[before],
            left_out=0,
            ends_at_release=self.ends_at_release,
        )
        return part, part.start < boundary

    def modelled(self, result: Result) -> tuple[Floats, Floats]:
        """Return the starts and ends of a run in the log's definition; NaN if a job did not start."""
        start = result.outcome.start_time
        if self.ends_at_release:
            return start, result.outcome.end_time
        return start, start + (self.end - self.start)


def checked_name(workload: Workload) -> str:
    """Return the name of a log for messages: its file, if any.

    Raises
    ------
    TwinError
        If the log has no jobs.
    """
    report = workload.report
    name = report.named("the log")
    if workload.jobs.is_empty():
        found = f"{report.read:,} were read and {report.kept:,} kept"
        raise TwinError(f"{name}: has no jobs: {found}. Give a log of jobs that ran on the cluster.")
    return name
