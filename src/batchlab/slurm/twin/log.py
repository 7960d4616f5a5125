"""The log to which a twin is fitted: logged starts and ends of its jobs, and its two periods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.adequacy.stream import with_starts
from batchlab.core import rules
from batchlab.errors import TwinError

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab.result.result import Result
    from batchlab.workload import Workload

    Floats = npt.NDArray[np.float64]
    Mask = npt.NDArray[np.bool_]

__all__ = ["LEAST_JOBS", "Log", "checked_name"]

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
