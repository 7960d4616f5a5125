"""Counterfactual runs: the same run with one job changed, or without some jobs (semantics, S29)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import fsum, nan
from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from batchlab.core.lazy import import_late
from batchlab.core.units import format_count, format_duration
from batchlab.errors import ResultError, WorkloadError, reason_of, shown, suggest
from batchlab.options.run_options import RECORDED
from batchlab.workload.columns import EXEMPT_FROM_LIMITS, TIME_LIMIT
from batchlab.workload.dependencies import DEPENDENCY, DEPENDS_ON
from batchlab.workload.validation import NEXT_STEP
from batchlab.workload.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from batchlab.options import RunOptions
    from batchlab.result.why.wait import Explained, Waits
    from batchlab.workload.event_stream import EventStream

__all__ = ["Change", "Earlier", "WhatIf", "earlier", "what_if"]


@dataclass(frozen=True, eq=False, repr=False)
class Earlier:
    """The requests with which a job would have started earlier. `print` shows the largest ones.

    Parameters
    ----------
    job_id
        The number of the job.
    until
        The time by which it was to start, seconds.
    table
        One row per run: ``requested_time`` (s), ``tasks``, and ``start_time`` (s; null if it had not started
        by then). First the limits with the size of the job, then the sizes with its limit.
    limit
        The largest requested time with which it would have started by then, with its own size; None if none
        of the grid would do.
    tasks
        The largest number of tasks, with its own limit; None if none of the grid would do.
    """

    job_id: int
    until: float
    table: pl.DataFrame
    limit: float | None
    tasks: int | None

    def __repr__(self) -> str:
        return f"<Earlier job {self.job_id} by {self.until:g} s>"

    def __str__(self) -> str:
        found = []
        if self.limit is not None:
            found.append(f"for {format_duration(self.limit)} or less of time")
        if self.tasks is not None:
            found.append(f"for {format_count(self.tasks, 'task')}")
        by = format_duration(self.until)
        count = len(self.table)
        tried = f"({count:,} {'request was' if count == 1 else 'requests were'} tried)"
        if not found:
            return f"No smaller request of job {self.job_id} would have let it start by {by} {tried}."
        asked = " or ".join(found).replace(" or less of time", "")
        return f"Job {self.job_id} would have started by {by} if it had asked {asked} {tried}."


def earlier(run: Waits, row: int, until: float, steps: int) -> Earlier:
    """Try limits from the run time to the requested time, and sizes from one task to those asked for."""
    check_repeatable(run)
    jobs = run.result.workload.jobs
    asked, tasks = float(jobs["requested_time"][row]), int(jobs["tasks"][row])
    limits = [] if jobs["run_time"][row] is None else _limits(float(jobs["run_time"][row]), asked, steps)
    sizes = sorted({round(tasks * step / (steps + 1)) for step in range(1, steps + 1)} - {0, tasks})

    def start(name: str, value: float) -> float | None:
        return _start(run.result, Change(row, {name: value}), until)

    by_limit = [(limit, tasks, start("requested_time", limit)) for limit in limits]
    by_size = [(asked, size, start("tasks", size)) for size in sizes]
    table = pl.DataFrame(
        [*by_limit, *by_size],
        schema={"requested_time": pl.Float64, "tasks": pl.Int64, "start_time": pl.Float64},
        orient="row",
    )
    return Earlier(
        int(run.job_ids[row]),
        until,
        table,
        max((limit for limit, _, start in by_limit if start is not None), default=None),
        max((size for _, size, start in by_size if start is not None), default=None),
    )


def _limits(run_time: float, asked: float, steps: int) -> list[float]:
    """Return limits from the run time on, below the one asked for, in whole seconds where they were whole."""
    if not run_time < asked < np.inf:
        return []
    between = np.linspace(run_time, asked, steps + 1)[:-1]
    return sorted({float(np.ceil(each)) if asked.is_integer() else float(each) for each in between} - {asked})


def _start(result: Explained, change: Change, until: float) -> float | None:
    """Return when the changed job starts; None if it has not started by a time."""
    simulation = import_late("batchlab.simulation", "Simulation")(
        change.applied(result.workload),
        result.system,
        result.policy,
        events=events_of(result, change),
        options=plain(result.options),
    )
    simulation.run_until(until)
    starts = simulation.result().outcome.start_time
    return None if np.isnan(starts[change.row]) else float(starts[change.row])


_CHECKED = ("submit_time", "run_time", "requested_time", TIME_LIMIT, "tasks")
_SHOWN = 3
_FIXED = frozenset({"job_id", DEPENDS_ON, DEPENDENCY})


@dataclass(frozen=True)
class Change:
    """One change of a workload.

    Parameters
    ----------
    row
        The row of the changed job.
    values
        Its new values, by column.
    exact_estimates
        Whether schedulers plan with its true run time.
    without
        The rows of the jobs that are left out.
    priority
        The fixed priority of the job from its submission on; None for that of the order.
    """

    row: int
    values: Mapping[str, object]
    exact_estimates: bool = False
    without: tuple[int, ...] = ()
    priority: float | None = None

    def applied(self, workload: Workload) -> Workload:
        """Return the changed workload.

        Raises
        ------
        ResultError
            If a column is unknown or fixed, or a value is not of its type.
        WorkloadError
            If a value breaks a rule of jobs.
        """
        jobs, values = workload.jobs, dict(self.values)
        known = [name for name in (*jobs.columns, TIME_LIMIT, EXEMPT_FROM_LIMITS) if name not in _FIXED]
        for name in values:
            if name not in known:
                rule = "cannot be changed" if name in _FIXED else "is no column of the jobs"
                raise ResultError(f"what_if: {shown(name)} {rule}.{suggest(name, known)}")
        if self.exact_estimates:
            run_time = jobs["run_time"][self.row]
            if run_time is None:
                rule = "its application has no run time that is known before it ran"
                raise ResultError(f"job {jobs['job_id'][self.row]}: exact_estimates; {rule}.")
            # The limit stays what it was; without a column of limits it would follow.
            values = {TIME_LIMIT: _limit(jobs, self.row), "requested_time": run_time} | values
        elif "requested_time" in values and TIME_LIMIT in jobs.columns:
            values.setdefault(TIME_LIMIT, values["requested_time"])
        jobs = _with_columns(jobs, values)
        for name, value in values.items():
            jobs = _with_value(jobs, self.row, name, value)
        changed = replace(workload, jobs=jobs)
        if values:
            _check(changed, self.row)
        if not self.without:
            return changed
        kept = np.ones(len(jobs), np.bool_)
        kept[list(self.without)] = False
        return changed.filter(pl.lit(pl.Series(kept)))


def _limit(jobs: pl.DataFrame, row: int) -> object:
    return jobs[TIME_LIMIT if TIME_LIMIT in jobs.columns else "requested_time"][row]


def _with_columns(jobs: pl.DataFrame, names: Collection[str]) -> pl.DataFrame:
    """Add the columns that all jobs have by default."""
    if TIME_LIMIT in names and TIME_LIMIT not in jobs.columns:
        jobs = jobs.with_columns(pl.col("requested_time").alias(TIME_LIMIT))
        jobs = jobs.select(_ordered(jobs.columns))
    if EXEMPT_FROM_LIMITS in names and EXEMPT_FROM_LIMITS not in jobs.columns:
        jobs = jobs.with_columns(pl.lit(value=False).alias(EXEMPT_FROM_LIMITS))
    return jobs


def _ordered(columns: list[str]) -> list[str]:
    """Put the column of limits to its place, after the tasks."""
    others = [name for name in columns if name != TIME_LIMIT]
    place = others.index("tasks") + 1
    return [*others[:place], TIME_LIMIT, *others[place:]]


def _with_value(jobs: pl.DataFrame, row: int, name: str, value: object) -> pl.DataFrame:
    column = jobs[name]
    try:
        single = pl.Series(name, [value], dtype=column.dtype, strict=True)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        rule = f"must be of the type {column.dtype} of this column"
        raise ResultError(f"what_if: {name} = {shown(value)}; {rule}: {reason_of(error)}.") from error
    return jobs.with_columns(pl.concat([column[:row], single, column[row + 1 :]]))


def _check(workload: Workload, row: int) -> None:
    """Raise if the values of a job break a rule of jobs."""
    names = [*_CHECKED, *workload.resources, "tasks_per_node", "exclusive"]
    jobs = workload.jobs[row : row + 1]
    checked = jobs.select("job_id", *(name for name in names if name in jobs.columns))
    if checked["run_time"].null_count() == 0:
        resources = list(workload.resources)
        try:
            Workload.from_table(checked, resources=resources, overrun="keep", invalid="raise")
        except WorkloadError as error:
            # What follows is about tables of many jobs.
            rule = str(error).removeprefix("table: row 0: ").removesuffix(f" {NEXT_STEP}")
            raise WorkloadError(f"what_if: {rule}") from None


@dataclass(frozen=True, eq=False, repr=False)
class WhatIf:
    """What would have happened if one thing had been different. `print` shows it as text.

    Parameters
    ----------
    job_id
        The number of the job.
    change
        The change, in words.
    start_time, new_start_time
        The start of the job before and after the change, seconds; NaN if it does not start.
    submit_time, new_submit_time
        Its submission before and after the change, seconds.
    jobs
        The other jobs whose start changed, the most changed first: ``job_id``, ``row`` (of the run as it
        was), ``start_time``, ``new_start_time`` (s; null if it does not start) and ``later`` (s).
    unchanged
        The number of other jobs whose start did not change.
    result
        The run with the change.
    """

    job_id: int
    change: str
    start_time: float
    new_start_time: float
    submit_time: float
    new_submit_time: float
    jobs: pl.DataFrame
    unchanged: int
    result: Explained

    @property
    def earlier(self) -> float:
        """How much earlier the job starts with the change, seconds; negative if it starts later."""
        return self.start_time - self.new_start_time

    @property
    def later_jobs(self) -> int:
        """The number of other jobs that start later with the change."""
        return int((self.jobs["later"] > 0).sum())

    @property
    def earlier_jobs(self) -> int:
        """The number of other jobs that start earlier with the change."""
        return int((self.jobs["later"] < 0).sum())

    @property
    def total_change(self) -> float:
        """The change of the total wait of all other jobs that start in both runs, seconds."""
        return fsum(self.jobs["later"].drop_nulls())

    def __repr__(self) -> str:
        return f"<WhatIf job {self.job_id} with {self.change}>"

    def __str__(self) -> str:
        return self.text()

    def text(self) -> str:
        """Write the answer as text, a sentence per line."""
        lines = [f"With {self.change}, {self._start()}."]
        total = self.total_change
        if not len(self.jobs):
            lines.append("No other job starts at another time.")
        else:
            lines.append(
                f"Other jobs that start earlier: {self.earlier_jobs:,}; later: {self.later_jobs:,}; "
                f"at the same time: {self.unchanged:,}."
            )
            more = "more" if total > 0 else "less"
            lines.append(f"In total, the other jobs wait {format_duration(abs(total))} {more}.")
        return "\n".join(lines)

    def _start(self) -> str:
        job = f"job {self.job_id}"
        if np.isnan(self.new_start_time):
            return f"{job} does not start"
        at = f"{job} starts at {format_duration(self.new_start_time)}"
        if np.isnan(self.start_time):
            return at
        if self.earlier == 0:
            return f"{at}, as before"
        return f"{at}, {format_duration(abs(self.earlier))} {'earlier' if self.earlier > 0 else 'later'}"


def what_if(run: Waits, change: Change) -> WhatIf:
    """Run the jobs again with a change, and compare the starts."""
    check_repeatable(run)
    result = rerun(run.result, change)
    kept = np.delete(np.arange(len(run.submit_times)), change.without)
    before, after = run.outcome.start_time[kept], result.outcome.start_time
    place = int(np.searchsorted(kept, change.row))
    others = kept != change.row
    same = (before == after) | (np.isnan(before) & np.isnan(after))
    differs = np.flatnonzero(others & ~same)
    jobs = pl.DataFrame(
        [
            run.job_ids.gather(kept[differs]),
            pl.Series("row", kept[differs].astype(np.uint32)),
            pl.Series("start_time", before[differs], nan_to_null=True),
            pl.Series("new_start_time", after[differs], nan_to_null=True),
            pl.Series("later", after[differs] - before[differs], nan_to_null=True),
        ]
    ).sort(pl.col("later").abs(), descending=True, nulls_last=False, maintain_order=True)
    new_submit = float(result.workload.jobs["submit_time"][place])
    return WhatIf(
        job_id=int(run.job_ids[change.row]),
        change=_in_words(run, change),
        start_time=float(before[place]),
        new_start_time=float(after[place]) if len(after) else nan,
        submit_time=float(run.submit_times[change.row]),
        new_submit_time=new_submit,
        jobs=jobs,
        unchanged=int((others & same).sum()),
        result=result,
    )


def rerun(result: Explained, change: Change) -> Explained:
    """Run the jobs of a result again, with a change."""
    workload = change.applied(result.workload)
    simulate = import_late("batchlab.simulation", "simulate")
    events = events_of(result, change)
    options = plain(result.options)
    found = simulate(workload, result.system, result.policy, events=events, options=options)
    return cast("Explained", found)


def check_repeatable(run: Waits) -> None:
    """Raise if a run cannot be repeated.

    Parts written in Python have a state, and a result does not say whether its run began in the middle. So
    the first change runs the jobs once more as they were.

    Raises
    ------
    ResultError
        If a run from the beginning is another one.
    """
    _check_parts(run.result)
    if run.repeats is None:
        again = rerun(run.result, Change(0, {})).outcome.start_time
        run.repeats = np.array_equal(again, run.outcome.start_time, equal_nan=True)
    if not run.repeats:
        what = "it is not over, began in an initial state, or was changed on its way"
        raise ResultError(f"what_if cannot repeat this run: from the beginning it has other starts; {what}.")


def _check_parts(result: Explained) -> None:
    """Raise if a run had parts written in Python."""
    rule = "Simulate the changed workload with new ones, and compare the results"
    if not result.policy.is_named:
        raise ResultError(
            f"policy = {result.policy}: what_if cannot repeat policies written in Python. {rule}."
        )
    if result.observers:
        names = ", ".join(result.observers)
        raise ResultError(f"observers {names}: what_if cannot repeat a run with observers. {rule}.")
    if any(control.is_external for control in result.options.controls):
        raise ResultError(f"control: what_if cannot repeat controls written in Python. {rule}.")


def plain(options: RunOptions) -> RunOptions:
    """Return the options of a run without recorded tables, which do not change the schedule."""
    usual = type(options)()
    return replace(options, **{name: getattr(usual, name) for name in RECORDED})


def events_of(result: Explained, change: Change) -> pl.DataFrame | EventStream | None:
    """Return the external events of a run with a change: none of jobs that are left out."""
    events, ids = result.external_events, result.workload.jobs["job_id"]
    fixed = _fixed_priority(result, change)
    if events is None or "job_id" not in events.table.columns:
        return events if fixed is None else pl.concat([fixed, *_tables(events)], how="diagonal")
    gone = pl.col("job_id").is_in(ids.gather([*change.without]).implode())
    # A submission that is among the events would have to agree with the changed job.
    own = ["submit"] if fixed is None else ["submit", "priority"]
    gone |= (pl.col("job_id") == ids[change.row]) & pl.col("event").is_in(own)
    kept = events.table.filter(~gone.fill_null(value=False))
    return kept if fixed is None else pl.concat([fixed, kept], how="diagonal")


def _tables(events: EventStream | None) -> list[pl.DataFrame]:
    return [] if events is None else [events.table]


def _fixed_priority(result: Explained, change: Change) -> pl.DataFrame | None:
    """Return the event that fixes the priority of the changed job before its submission."""
    if change.priority is None:
        return None
    jobs = change.applied(result.workload).jobs
    job_id = result.workload.jobs["job_id"][change.row]
    submit = jobs.filter(pl.col("job_id") == job_id)["submit_time"][0]
    # An instant of the run has nothing more to do by this event.
    before = jobs.filter(pl.col("submit_time") < submit)["submit_time"].max()
    time = np.nextafter(submit, -np.inf) if before is None else before
    event = {"time": time, "event": "priority", "job_id": job_id, "value": float(change.priority)}
    return pl.DataFrame([event])


def _in_words(run: Waits, change: Change) -> str:
    values = [
        "no limit" if name == EXEMPT_FROM_LIMITS and value is True else f"{name} = {value}"
        for name, value in change.values.items()
    ]
    values += [] if change.priority is None else [f"priority = {change.priority:g}"]
    values += ["its true run time as estimate"] if change.exact_estimates else []
    if change.without:
        ids = [str(each) for each in run.job_ids.gather([*change.without[:_SHOWN]])]
        left = len(change.without) - _SHOWN
        more = f" and {left:,} more" if left > 0 else ""
        values.append(f"no job {', '.join(ids)}{more}")
    return " and ".join(values) or "nothing changed"
