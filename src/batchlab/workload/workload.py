"""Workloads: tables of jobs, checked once, that never change."""

from dataclasses import dataclass, field
from typing import Self

import polars as pl

from batchlab.errors import WorkloadError
from batchlab.units import format_duration
from batchlab.workload import transform
from batchlab.workload.gate import Invalid, Overrun, admit, as_polars
from batchlab.workload.header import Header
from batchlab.workload.report import Report

__all__ = ["Workload"]

COLUMNS = {
    "job_id": pl.Int64,
    "submit_time": pl.Float64,
    "run_time": pl.Float64,
    "requested_time": pl.Float64,
    "tasks": pl.Int64,
}


@dataclass(frozen=True, eq=False, repr=False)
class Workload:
    """A table of jobs, with what is known of where it came from.

    Made by :func:`read_swf`, :func:`read_table`, :func:`read_records` or :meth:`from_table`, which check
    every job; the constructor checks the columns only. Transforms give new workloads.

    Parameters
    ----------
    jobs
        One row per job, in the order of the source. First the columns ``job_id`` (Int64), ``submit_time``,
        ``run_time``, ``requested_time`` (Float64, seconds since the origin, and seconds) and ``tasks``
        (Int64). Then, where present: one Int64 column per resource of ``resources``, ``tasks_per_node``
        (Int64, 0: no limit), ``exclusive`` (Boolean), and any others.
    header
        The comments of the log.
    report
        What was read, mended and dropped.
    resources
        The columns that say how much of a resource each task asks for; empty where each task is one
        processor, which the system's equivalence then translates.

    Raises
    ------
    WorkloadError
        If the columns are not these.
    """

    jobs: pl.DataFrame
    header: Header = field(default_factory=Header)
    report: Report = field(default_factory=Report)
    resources: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        expected = {**COLUMNS, **dict.fromkeys(self.resources, pl.Int64)}
        found = dict(self.jobs.schema)
        first = self.jobs.columns[: len(COLUMNS)] == list(COLUMNS)
        if not first or any(found.get(name) != dtype for name, dtype in expected.items()):
            listed = ", ".join(f"{name} {dtype}" for name, dtype in expected.items())
            raise WorkloadError(
                f"jobs has the columns {', '.join(found)}; the first must be {listed}. "
                "Use Workload.from_table, which checks and converts."
            )

    @classmethod
    def from_table(
        cls,
        table: object,
        *,
        resources: tuple[str, ...] | list[str] | None = None,
        overrun: Overrun = "extend",
        invalid: Invalid = "drop",
        header: Header | None = None,
    ) -> Self:
        """Make a workload of a table, checking every job (DESIGN S3).

        Parameters
        ----------
        table
            A polars or pandas data frame, an Arrow table, or a mapping of columns, with the columns
            ``submit_time``, ``run_time`` (seconds) and ``tasks``. Without ``job_id`` jobs are numbered from
            1; without ``requested_time``, and where it is missing or negative, it is the run time. Other
            columns ride along.
        resources
            The columns that say how much of a resource each task asks for; by default those of ``core``,
            ``mem`` and ``gpu`` that are there.
        overrun
            Where ``run_time > requested_time``: ``"extend"`` raises the requested time, ``"cut"`` cuts the
            run time, ``"keep"`` keeps both.
        invalid
            ``"drop"`` leaves out jobs that break a rule and lists them in the report; ``"raise"`` raises.
        header
            What is known of the log.

        Returns
        -------
        Workload
            With a report whose ``line`` is the row in the table, from 0.

        Raises
        ------
        WorkloadError
            If a column is missing or of a wrong kind, or with ``invalid="raise"`` if a job breaks a rule.

        Examples
        --------
        >>> Workload.from_table({"submit_time": [0, 10], "run_time": [60, 30], "tasks": [4, 2]})
        Workload of 2 jobs submitted over 10 s, of 2 to 4 tasks
          table: 2 jobs read, 2 mended
        """
        jobs, report, names = admit(as_polars(table), resources=resources, overrun=overrun, invalid=invalid)
        return cls(jobs, header or Header(), report, names)

    def filter(self, *predicates: pl.Expr) -> "Workload":
        """Keep the jobs for which all expressions over the columns hold, as ``pl.col("user_id") == 7``."""
        return transform.filter_jobs(self, *predicates)

    def slice_time(self, start: float | None = None, end: float | None = None) -> "Workload":
        """Keep the jobs with ``start <= submit_time < end`` (seconds); their times stay as they are."""
        return transform.slice_time(self, start, end)

    def slice_rows(self, start: int | None = None, stop: int | None = None) -> "Workload":
        """Keep the rows ``start`` to ``stop``, as Python slices do."""
        return transform.slice_rows(self, start, stop)

    def head(self, count: int) -> "Workload":
        """Keep the first ``count`` jobs."""
        return transform.head(self, count)

    def scale_load(self, factor: float) -> "Workload":
        """Multiply the load by ``factor``: the times between submissions are divided by it."""
        return transform.scale_load(self, factor)

    def shift(self, seconds: float) -> "Workload":
        """Submit every job ``seconds`` later (earlier where negative, but not before 0)."""
        return transform.shift(self, seconds)

    def shuffle(self, seed: int) -> "Workload":
        """Permute the jobs over the submit times."""
        return transform.shuffle(self, seed)

    def whole_nodes(self, processors_per_node: int) -> "Workload":
        """Turn each request into one for whole, exclusive nodes of so many processors."""
        return transform.whole_nodes(self, processors_per_node)

    def __len__(self) -> int:
        return self.jobs.height

    def __repr__(self) -> str:
        machine = ", ".join(str(text) for text in (self.header.computer, self.header.installation) if text)
        processors = self.header.max_processors
        facts = [machine, f"{processors:,} processors" if processors else "", self.report.summary()]
        return f"Workload of {_extent(self.jobs)}\n  " + "\n  ".join(fact for fact in facts if fact)


def _extent(jobs: pl.DataFrame) -> str:
    if jobs.is_empty():
        return "0 jobs"
    submit, tasks = jobs["submit_time"].to_numpy(), jobs["tasks"].to_numpy()
    period = format_duration(float(submit.max() - submit.min()))
    fewest, most = int(tasks.min()), int(tasks.max())
    span = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    count = f"{jobs.height:,} {_plural('job', jobs.height)}"
    return f"{count} submitted over {period}, of {span} {_plural('task', most)}"


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"
