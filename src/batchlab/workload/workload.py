"""Workloads: immutable, checked tables of jobs."""

import math
import operator
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self, SupportsIndex

import numpy as np
import polars as pl

from batchlab.core.markup import card
from batchlab.core.rules import is_finite
from batchlab.core.units import format_count, format_duration
from batchlab.core.vocabulary import InvalidAction, OverrunAction
from batchlab.errors import WorkloadError, reason_of, shown
from batchlab.workload import application_columns, dependencies, description, node_columns
from batchlab.workload.application_columns import with_skeletons
from batchlab.workload.columns import UNREADABLE
from batchlab.workload.dependencies import BEGIN_TIME
from batchlab.workload.header import Header
from batchlab.workload.report import Report
from batchlab.workload.run_events import cancellation_events, without_node_failures
from batchlab.workload.validation import admit, as_polars

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy.typing as npt

    from batchlab.application import Application
    from batchlab.workload.description import JobDescription
    from batchlab.workload.event_stream import EventStream


# Sources in a report that are no paths.
_NO_FILES = ("table", "lines", "file", "anonymised")
_CHECKING = "Use Workload.from_table, which checks and converts."
_LATEST = _MOST_PROCESSORS = 2**53
COLUMNS = {
    "job_id": pl.Int64,
    "submit_time": pl.Float64,
    "run_time": pl.Float64,
    "requested_time": pl.Float64,
    "tasks": pl.Int64,
}


@dataclass(frozen=True, eq=False, repr=False)
class Workload:
    """An immutable table of jobs, with the header and the report of its source.

    Created by :func:`read_swf`, :func:`read_table`, :func:`read_records` or :meth:`from_table`, which check
    every job; the constructor only checks the columns. Transforms return new workloads.

    Parameters
    ----------
    jobs
        One row per job, in the order of the source. First the columns ``job_id`` (Int64), ``submit_time``,
        ``run_time``, ``requested_time`` (Float64, seconds since the origin, and seconds) and ``tasks``
        (Int64). Optional columns: one Int64 column per resource of ``resources``, ``tasks_per_node`` (Int64,
        0: no limit), ``exclusive`` (Boolean), ``node_group`` (String, the names of the node groups that the
        job may use, ``cpu|fat``; null: all nodes), ``time_limit`` (Float64, seconds; infinite for a job
        without a limit; without the column, the limit is the ``requested_time``), and any others.
    header
        The comments of the log.
    report
        The report on jobs read, changed and dropped.
    resources
        The columns with the requests per task; empty if each task is one processor, which the equivalence of
        the system translates.
    applications
        The applications of jobs with a null ``run_time``, by the names in the column ``application``. Such a
        workload also has the columns ``job_type`` (String), ``tasks_min`` and ``tasks_max`` (Int64), and
        optionally ``arguments`` (String, a JSON object); its ``requested_time`` is infinite for no limit. Any
        workload may have ``depends_on`` (List(Int64)), the ``job_id`` of jobs that must end before;
        ``dependency`` (String), conditions on other jobs in Slurm's syntax; ``begin_time`` (Float64,
        seconds), the earliest start; ``cancelled_after`` (Float64, seconds after the submission), the
        cancellation of a job that did not start, with a ``run_time`` of 0; ``run_events`` (String, as
        ``requeue:600,suspend:60:30,cancel``), the events of a running job; and ``array_id``, ``array_index``
        and ``array_limit`` (Int64), the position of a task in a job array.

    Raises
    ------
    WorkloadError
        If a column is missing or has another type.
    """

    jobs: pl.DataFrame
    header: Header = field(default_factory=Header)
    report: Report = field(default_factory=Report)
    resources: tuple[str, ...] = ()
    applications: "Mapping[str, Application]" = field(default_factory=dict)

    def __post_init__(self) -> None:
        expected = {**COLUMNS, **dict.fromkeys(self.resources, pl.Int64)}
        _check_frame(self.jobs)
        found = dict(self.jobs.schema)
        first = self.jobs.columns[: len(COLUMNS)] == list(COLUMNS)
        if not first or any(found.get(name) != dtype for name, dtype in expected.items()):
            listed = ", ".join(f"{name} {dtype}" for name, dtype in expected.items())
            raise WorkloadError(
                f"jobs has the columns {', '.join(found)}; the first must be {listed}. {_CHECKING}"
            )
        jobs = node_columns.with_node_groups(self.jobs, "jobs")
        object.__setattr__(self, "jobs", node_columns.with_constraints(jobs, "jobs"))
        if self.applications:
            object.__setattr__(
                self, "applications", application_columns.check_applications(self.applications)
            )

    @classmethod
    def from_table(
        cls,
        table: object,
        *,
        resources: tuple[str, ...] | list[str] | None = None,
        overrun: OverrunAction = "extend",
        invalid: InvalidAction = "drop",
        header: Header | None = None,
        applications: "Mapping[str, Application] | None" = None,
    ) -> Self:
        """Create a workload from a table, and check every job (semantics, S3).

        Parameters
        ----------
        table
            A polars or pandas data frame, an Arrow table, or a mapping of columns, with the columns
            ``submit_time``, ``run_time`` (seconds) and ``tasks``. Without ``job_id``, jobs are numbered from
            1. ``time_limit`` is the maximum run time, infinite or missing for a job without a limit, and
            ``requested_time`` the time that schedulers plan with, which may also be infinite. Without a
            column ``time_limit``, the limit is the requested time. A requested time that is missing or
            negative is set to the limit, or without limits to the run time. ``depends_on`` lists the numbers
            of the jobs that must end before a job starts; ``node_group`` names the groups of nodes that it
            may use, as ``"cpu|fat"`` or a list. ``dependency``, as ``"afterok:12,after:7+30"``, and
            ``begin_time`` (seconds) are further conditions for its start; a row with an ``array``, as
            ``"0-99%4"``, becomes one job per index. Other columns are kept.
        resources
            The columns with the requests per task; by default the existing ones of ``core``, ``mem`` and
            ``gpu``.
        overrun
            How to treat jobs with ``run_time > requested_time``: ``"extend"`` raises the requested time and
            keeps the ``time_limit``, ``"cut"`` cuts the run time, ``"keep"`` keeps both.
        invalid
            ``"drop"`` drops jobs that break a rule and lists them in the report; ``"raise"`` raises.
        header
            The header of the log.
        applications
            Applications by name. With them, a job without ``run_time`` names one in the column
            ``application``, and may have a ``job_type``, ``tasks_min``, ``tasks_max`` and ``arguments``;
            without a ``requested_time`` it has no limit.

        Returns
        -------
        Workload
            With a report in which ``line`` is the row in the table, from 0.

        Raises
        ------
        WorkloadError
            If a column is missing or has the wrong type, or with ``invalid="raise"`` if a job breaks a rule.

        Examples
        --------
        >>> Workload.from_table({"submit_time": [0, 10], "run_time": [60, 30], "tasks": [4, 2]})
        Workload of 2 jobs submitted over 10 s, of 2 to 4 tasks
          table: 2 jobs read, 2 mended
        """
        rows, applications = with_skeletons(as_polars(table), applications, "table")
        jobs, report, names = admit(
            rows,
            resources=resources,
            overrun=overrun,
            invalid=invalid,
            applications=applications,
        )
        return cls(jobs, header or Header(), report, names, applications or {})

    @classmethod
    def from_jobs(
        cls,
        jobs: "Iterable[JobDescription]",
        *,
        applications: "Mapping[str, Application] | None" = None,
        overrun: OverrunAction = "extend",
    ) -> Self:
        """Create a workload from descriptions of jobs.

        Parameters
        ----------
        jobs
            The jobs; those without a ``job_id`` are numbered by position, from 1.
        applications
            Applications that jobs refer to by name; application objects in jobs need not be listed.
        overrun
            As for :meth:`from_table`.

        Returns
        -------
        Workload
            With a report in which ``line`` is the position of the job, from 0.

        Raises
        ------
        WorkloadError
            If a job breaks a rule, or names an unknown application or job.

        Examples
        --------
        >>> from batchlab import Application, JobDescription, Phase, tasks
        >>> work = Application([Phase([tasks.Idle("60 / num_nodes")], iterations=10)])
        >>> first = JobDescription(tasks=1, run_time=30)
        >>> second = JobDescription(
        ...     application=work, job_type="malleable", tasks_min=1, tasks_max=4, depends_on=[first]
        ... )
        >>> Workload.from_jobs([first, second]).jobs["tasks"].to_list()
        [1, 1]
        """
        table, known, resources = description.table(jobs, applications or {})
        return cls.from_table(
            table, resources=resources, overrun=overrun, invalid="raise", applications=known
        )

    @property
    def first_submission(self) -> float:
        """Submit time of the first job, seconds, even if it is rejected; 0 without jobs.

        Integrals, averages and equal intervals of a run begin at this time.
        """
        times = self.jobs["submit_time"].to_numpy()
        return float(times.min()) if len(times) else 0.0

    @property
    def last_submission(self) -> float:
        """Submit time of the last job, seconds; 0 without jobs."""
        return float(self.jobs["submit_time"].to_numpy().max(initial=0.0))

    def filter(self, *predicates: pl.Expr) -> "Workload":
        """Keep the jobs for which all expressions over the columns hold, as ``pl.col("user_id") == 7``.

        Raises
        ------
        WorkloadError
            If an expression names an unknown column or is not Boolean.
        """
        try:
            kept = self.jobs.filter(*predicates)
        except UNREADABLE as error:
            raise WorkloadError(
                f"filter: {reason_of(error)}. The columns are {', '.join(self.jobs.columns)}."
            ) from error
        return self._with_only(kept)

    def slice_time(self, start: float | None = None, end: float | None = None) -> "Workload":
        """Keep the jobs with ``start <= submit_time < end`` (seconds); times are unchanged."""
        for name, bound in (("start", start), ("end", end)):
            # Infinity is a bound too.
            if bound is not None and not (is_finite(bound) or bound in (-math.inf, math.inf)):
                raise WorkloadError(f"{name} = {shown(bound)}; must be a number of seconds, or None.")
        submit = pl.col("submit_time")
        low, high = -math.inf if start is None else start, math.inf if end is None else end
        return self._with_only(self.jobs.filter((submit >= low) & (submit < high)))

    def slice_rows(self, start: int | None = None, stop: int | None = None) -> "Workload":
        """Keep the rows ``start`` to ``stop``, as in a Python slice."""
        bounds = (("start", start), ("stop", stop))
        return self._with_only(
            self.jobs[slice(*(None if bound is None else _whole(name, bound) for name, bound in bounds))]
        )

    def head(self, count: int) -> "Workload":
        """Keep the first ``count`` jobs."""
        number = _whole("count", count)
        if number < 0:
            raise WorkloadError(
                f"count = {shown(count)}; must be >= 0. Use slice_rows to count from the end."
            )
        return self.slice_rows(None, number)

    def _with_only(self, jobs: pl.DataFrame) -> "Workload":
        """Return the workload with a part of its jobs, without dependencies on the others."""
        return replace(self, jobs=dependencies.without_missing(jobs))

    def scale_load(self, factor: float) -> "Workload":
        """Multiply the load by ``factor``: divide the intervals between submissions by it.

        The first submission is unchanged, and so are run times and requests. Intervals from a submission to a
        begin time are divided too.

        Raises
        ------
        WorkloadError
            If the factor is not a positive number, or so small that times leave the exact range of 2^53
            seconds.
        """
        if not (is_finite(factor) and factor > 0):
            raise WorkloadError(
                f"factor = {shown(factor)}; must be a positive number, as in 1.2 for 20 % more load."
            )
        submit = self.jobs["submit_time"].to_numpy()
        first = submit.min() if submit.size else 0.0
        with np.errstate(over="ignore"):
            scaled = first + (submit - first) / factor
            begin = first + (pl.col(BEGIN_TIME) - first) / factor
            return self._submitted_at(scaled, f"factor = {shown(factor)}", begin)

    def starting_at(self, start_time: float) -> "Workload":
        """Set the origin of the times in the header, in seconds since 1970 UTC.

        Times of jobs are unchanged. Functions that use hours, weekdays and months need the origin:
        `generate.like`, `generate.compare` and `plot.arrivals`.
        """
        return replace(self, header=self.header.with_start_time(start_time))

    def shift(self, seconds: float) -> "Workload":
        """Submit every job ``seconds`` later (earlier if negative, but not before 0)."""
        by = seconds if is_finite(seconds) else math.nan
        submit = self.jobs["submit_time"].to_numpy() + by
        return self._submitted_at(submit, f"seconds = {shown(seconds)}", pl.col(BEGIN_TIME) + by)

    def _submitted_at(
        self, times: "npt.NDArray[np.float64]", argument: str, begin_time: pl.Expr
    ) -> "Workload":
        if times.size and not (times.min() >= 0 and times.max() <= _LATEST):
            raise WorkloadError(
                f"{argument}; would submit a job at {times.min():g} s to {times.max():g} s; "
                "must be from 0 to 2^53 s."
            )
        # A begin time before the submission has no effect, nor has one before the origin.
        begin = [begin_time.clip(lower_bound=0.0)] if BEGIN_TIME in self.jobs.columns else []
        submit = pl.Series("submit_time", times, pl.Float64)
        return replace(self, jobs=self.jobs.with_columns(submit, *begin))

    def shuffle(self, seed: int) -> "Workload":
        """Permute the jobs over the submit times: these stay in their rows, all other columns move.

        The permutation is drawn from NumPy's ``default_rng(seed)``, and is the same on every platform.
        """
        try:
            generator = np.random.default_rng(operator.index(seed))
        except (TypeError, ValueError) as error:
            raise WorkloadError(f"seed = {shown(seed)}; must be a whole number >= 0.") from error
        jobs = self.jobs[generator.permutation(self.jobs.height)]
        return replace(self, jobs=jobs.with_columns(self.jobs["submit_time"]))

    def whole_nodes(self, processors_per_node: int) -> "Workload":
        """Convert each request to one for whole, exclusive nodes with this number of processors.

        A job of ``tasks`` processors becomes a job of ``ceil(tasks / processors_per_node)`` tasks, at most
        one per node. Each node has the requests of as many processors as the job has on it.
        """
        if self.applications:
            raise WorkloadError(
                "whole_nodes: the tasks of jobs with applications are nodes. Filter them out first."
            )
        of_node = _whole("processors_per_node", processors_per_node)
        if not 1 <= of_node <= _MOST_PROCESSORS:
            rule = "must be >= 1." if of_node < 1 else "must be <= 2^53."
            raise WorkloadError(f"processors_per_node = {shown(processors_per_node)}; {rule}")
        if "exclusive" in self.jobs.columns and self.jobs["exclusive"].any():
            raise WorkloadError("whole_nodes: some jobs are exclusive already. Filter them out first.")
        tasks = pl.col("tasks")
        together = pl.min_horizontal(tasks, pl.lit(of_node, pl.Int64))
        jobs = self.jobs.with_columns(
            *(pl.col(name) * together for name in self.resources),
            tasks=(tasks + (of_node - 1)) // of_node,
            tasks_per_node=pl.lit(1, pl.Int64),
            exclusive=pl.lit(value=True),
        )
        return replace(self, jobs=jobs)

    def without_node_failures(self) -> "Workload":
        """Return the workload without the node failures in its log (S18).

        For simulations with node outages as events (`read_node_events`), which interrupt the simulated jobs.
        The run time of a job that was ended by a failed node in the log is the time that it ran there.
        """
        return replace(self, jobs=without_node_failures(self.jobs))

    @property
    def events(self) -> "EventStream":
        """The external events of jobs (S18): cancellations of jobs that did not start.

        The column ``cancelled_after`` has the same information, and a simulation uses it without these
        events. Events of running jobs depend on their simulated start, so they are in the column
        ``run_events`` instead.
        """
        from batchlab.workload.event_stream import EventStream  # noqa: PLC0415  # few workloads need it

        return EventStream(cancellation_events(self.jobs))

    @property
    def sources(self) -> tuple[Path, ...]:
        """The file that the jobs were read from, which outputs must not replace; empty if there is none."""
        return () if self.report.source in _NO_FILES else (Path(self.report.source),)

    def __len__(self) -> int:
        return self.jobs.height

    def __repr__(self) -> str:
        return f"Workload of {_extent(self.jobs)}\n  " + "\n  ".join(self._facts)

    def _repr_html_(self) -> str:
        columns = [name for name in self.jobs.columns if self.jobs[name].null_count() < self.jobs.height]
        log = zip(("log", *[""] * len(self._facts)), self._facts, strict=False)
        facts = [("jobs", _extent(self.jobs)), *log, ("columns", ", ".join(columns))]
        return card("Workload", facts)

    @property
    def _facts(self) -> list[str]:
        machine = ", ".join(str(text) for text in (self.header.computer, self.header.installation) if text)
        processors = self.header.max_processors
        facts = [machine, format_count(processors, "processor") if processors else "", self.report.summary()]
        return [fact for fact in facts if fact]


def _extent(jobs: pl.DataFrame) -> str:
    if jobs.is_empty():
        return "0 jobs"
    submit, tasks = jobs["submit_time"].to_numpy(), jobs["tasks"].to_numpy()
    period = format_duration(float(submit.max() - submit.min()))
    fewest, most = int(tasks.min()), int(tasks.max())
    tasks_of = format_count(most, "task")
    if fewest != most:
        tasks_of = f"{fewest:,} to {tasks_of}"
    return f"{format_count(jobs.height, 'job')} submitted over {period}, of {tasks_of}"


def _whole(argument: str, value: SupportsIndex) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise WorkloadError(f"{argument} = {shown(value)}; must be a whole number.") from None


def _check_frame(jobs: object) -> None:
    if not isinstance(jobs, pl.DataFrame):
        raise WorkloadError(f"jobs is of {shown(type(jobs))}; must be a polars data frame. {_CHECKING}")


def check_workload(workload: object, argument: str = "workload") -> None:
    """Raise an error unless the argument is a workload.

    Raises
    ------
    WorkloadError
        If it has another type, such as the path of a log.
    """
    if not isinstance(workload, Workload):
        rule = "must be a Workload, e.g. of read_swf(). See Workload.from_table()"
        if isinstance(workload, str | os.PathLike):
            rule = f"must be a Workload. Read a log first: bl.read_swf({os.fspath(workload)!r})"
        raise WorkloadError(f"{argument} = {shown(workload)}; {rule}.")
