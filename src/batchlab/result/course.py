"""The course of a run (S19): intervals in which jobs are served, the jobs present, and rates of service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.control.controls import plain
from batchlab.core.vocabulary import JOB_STATES
from batchlab.system.controlled_nodes import control_of_node
from batchlab.workload.requests import work_of_jobs

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab.control import RateControl
    from batchlab.options import RunOptions
    from batchlab.result.outcome import Outcome
    from batchlab.system import System
    from batchlab.workload import Workload

    Floats = npt.NDArray[np.float64]
    Numbers = npt.NDArray[np.int64]

__all__ = [
    "Course",
    "RunRecord",
    "ServiceIntervals",
    "Steps",
    "course_of",
    "done_in_runs",
    "intervals_of",
    "overview",
    "processors_of",
    "rates_of",
    "saved_time",
    "service_intervals_table",
    "span_of",
    "work_required",
]


_RAN = tuple(JOB_STATES.index(state) for state in ("running", "completed", "killed", "cancelled"))


@dataclass(frozen=True, eq=False)
class RunRecord:
    """The parts of a result that say how its jobs were served."""

    workload: Workload
    system: System
    options: RunOptions
    outcome: Outcome


@dataclass(frozen=True, eq=False)
class ServiceIntervals:
    """The runs of jobs, those that were cut short first; shape (runs,).

    Parameters
    ----------
    row
        The row of the job.
    start, end
        Seconds: from the start of the run until its nodes were released, or until now.
    begin, over
        Seconds: the interval in which it was served, without launch and completion, and not while it was
        being suspended.
    processors
        The processors held on the nodes of each control, shape (runs, controls + 1); last without a control.
    has_nodes
        Whether it had nodes of each control, also without processors of them; shape (runs, controls + 1).
    saved
        Units of work that it did not have to do again; NaN if it was not cut short.
    """

    row: Numbers
    start: Floats
    end: Floats
    begin: Floats
    over: Floats
    processors: Floats
    has_nodes: npt.NDArray[np.bool_]
    saved: Floats

    @property
    def width(self) -> Floats:
        """The processors of each run."""
        return np.asarray(self.processors.sum(axis=1))


def processors_of(run: RunRecord) -> Floats:
    """Compute the processors that each job asks for, shape (jobs,)."""
    jobs, system = run.workload.jobs, run.system
    tasks = jobs["tasks"].to_numpy().astype(np.float64)
    if "core" not in system.resources:
        return tasks
    if "core" in run.workload.resources:
        return np.asarray(tasks * jobs["core"].to_numpy())
    return np.asarray(tasks * dict(system.equivalence).get("core", 0))


def capacity_of_controls(run: RunRecord) -> Floats:
    """Count the processors of the nodes of each control; last those of the nodes without one."""
    system = run.system
    resource = system.resources.index("core") if "core" in system.resources else None
    of_node = np.ones(system.nodes) if resource is None else system.capacity[:, resource].astype(np.float64)
    counted = np.bincount(_control_of_node(run), of_node, len(run.options.controls) + 1)
    return np.asarray(counted, np.float64)


def intervals_of(run: RunRecord) -> ServiceIntervals:
    """List the runs of all jobs; O(runs + nodes that they held)."""
    outcome, cut = run.outcome, run.outcome.tables.get("interruptions")
    rows = np.flatnonzero(np.isin(outcome.state, _RAN) & ~np.isnan(outcome.start_time))
    ended = np.isnan(outcome.end_time[rows])
    end = np.where(ended, outcome.now, outcome.end_time[rows])
    of_last = _tasks_by_control(
        run, outcome.placement_offsets, outcome.placement_nodes, outcome.placement_tasks
    )
    begin, over = _served(outcome, rows, end)
    parts = [(rows, outcome.start_time[rows], end, begin, over, of_last[rows], np.full(len(rows), np.nan))]
    if cut is not None and len(cut["row"]):
        own = cut["row"].astype(np.int64)
        before = _tasks_by_control(
            run, cut["placement_offsets"], cut["placement_nodes"], cut["placement_tasks"]
        )
        held, served = (cut["start_time"], cut["end_time"]), (cut["work_start"], cut["work_end"])
        parts.insert(0, (own, *held, *served, before, cut["saved"]))
    row, start, until, begin, over, tasks, saved = (np.concatenate(each) for each in zip(*parts, strict=True))
    per_task = processors_of(run) / run.workload.jobs["tasks"].to_numpy()
    processors = tasks * per_task[row, None]
    return ServiceIntervals(row, start, until, begin, over, processors, tasks > 0, saved)


def _served(outcome: Outcome, rows: Numbers, end: Floats) -> tuple[Floats, Floats]:
    """Return when the work of the last runs of jobs began and ended, without launch and completion."""
    start, launch, completion = outcome.start_time[rows], outcome.launch_time, outcome.completion_time
    begin = start if launch is None else np.minimum(start + launch[rows], end)
    spent = 0.0 if completion is None else np.where(np.isnan(outcome.end_time[rows]), 0.0, completion[rows])
    over = np.maximum(end - spent, begin)
    short = outcome.tables.get("short_runs")
    if short is not None and len(short["row"]):
        places = np.searchsorted(rows, short["row"])
        begin = begin.copy()
        begin[places], over[places] = short["work_start"], short["work_end"]
    return begin, over


def _control_of_node(run: RunRecord) -> Numbers:
    """Return the number of each node's control; the number of controls if it has none."""
    controls = run.options.controls
    if len(controls) == 1 and not controls[0].groups:
        return np.zeros(run.system.nodes, np.int64)
    numbers = control_of_node(run.system, controls).astype(np.int64)
    return np.where(numbers == 0, len(controls), numbers - 1)


def _tasks_by_control(
    run: RunRecord, offsets: Numbers, nodes: npt.NDArray[np.uint32], tasks: npt.NDArray[np.uint32]
) -> Floats:
    """Count the tasks of each placement on the nodes of each control."""
    places, controls = len(offsets) - 1, len(run.options.controls) + 1
    owner = np.repeat(np.arange(places), np.diff(offsets))
    flat = owner * controls + _control_of_node(run)[nodes]
    counted = np.bincount(flat, tasks.astype(np.float64), places * controls)
    return np.asarray(counted, np.float64).reshape(places, controls)


_NEVER_THERE = tuple(JOB_STATES.index(state) for state in ("loaded", "rejected") if state in JOB_STATES)
_COMPLETED = JOB_STATES.index("completed")
_CUT_SHORT = tuple(JOB_STATES.index(state) for state in ("killed", "cancelled"))


@dataclass(frozen=True, eq=False)
class Steps:
    """A step function of time, and its integral.

    Parameters
    ----------
    time
        Ascending, seconds; the first value holds before it too.
    value
        From each time on.
    """

    time: Floats
    value: Floats

    def integral(self, until: Floats) -> Floats:
        """Integrate from the first time to others."""
        whole = np.concatenate([[0.0], np.cumsum(self.value[:-1] * np.diff(self.time))])
        at = np.maximum(np.searchsorted(self.time, until, "right") - 1, 0)
        return np.asarray(whole[at] + self.value[at] * (until - self.time[at]))


@dataclass(frozen=True, eq=False)
class Course:
    """What held from each time to the next; shape (times,), of controls (times, controls + 1).

    Parameters
    ----------
    time, duration
        Seconds, from the first submission to the last departure, or to now where jobs are left.
    present, served
        How many jobs waited or ran, and how many were served.
    busy
        Processors of each control that jobs held; last of the nodes without a control.
    rates
        Units of work per second at which each control's nodes served; last 1.
    capacity
        The processors of each control, shape (controls + 1,).
    workload, weighted_workload
        Units of work left at each time; that of each job times its processors.
    fall, weighted_fall
        How much of it was served each second from there on.
    """

    time: Floats
    duration: Floats
    present: Numbers
    served: Numbers
    busy: Floats
    rates: Floats
    capacity: Floats
    workload: Floats
    weighted_workload: Floats
    fall: Floats
    weighted_fall: Floats

    @property
    def span(self) -> float:
        """Seconds in all."""
        return float(self.duration.sum())

    @property
    def is_waiting(self) -> npt.NDArray[np.bool_]:
        """True if a job waited."""
        return self.present > self.served

    def mean(self, values: Floats) -> float | None:
        """Return the average over time of values that hold from each time on; None if no time has passed."""
        return float(np.sum(values * self.duration)) / self.span if self.span > 0 else None


def rates_of(run: RunRecord) -> list[Steps]:
    """Return the rates of each control as step functions; the last is 1, for the nodes without a control."""
    controls, log = run.options.controls, run.outcome.tables.get("rates")
    found = []
    for number, control in enumerate(controls):
        first = np.array([control.first_rate], np.float64)
        if log is None:
            found.append(Steps(np.array([-np.inf]), first))
            continue
        own = log["control"] == number
        first_submission = run.workload.first_submission
        times = np.maximum(np.append(first_submission, log["time"][own]), first_submission)
        found.append(Steps(times, np.concatenate([first, log["rate"][own]])))
    return [*found, Steps(np.zeros(1), np.ones(1))]


def span_of(run: RunRecord) -> tuple[float, float]:
    """Return the first submission, and the last departure (now if jobs are left); no time if none arrived."""
    there = _there(run)
    first = run.workload.first_submission
    if not len(there):
        return first, first
    departure = run.outcome.end_time[there]
    last = run.outcome.now if np.isnan(departure).any() else departure.max()
    return first, float(last)


def _there(run: RunRecord) -> Numbers:
    """Return the rows of the jobs that arrived."""
    outcome = run.outcome
    submit = run.workload.jobs["submit_time"].to_numpy()
    return np.flatnonzero(~np.isin(outcome.state, _NEVER_THERE) & (submit <= outcome.now))


def course_of(run: RunRecord, runs: ServiceIntervals) -> Course:
    """Compute the course of a run. O(n log n), n jobs, runs and changes of rates."""
    outcome = run.outcome
    there = _there(run)
    arrival, departure = run.workload.jobs["submit_time"].to_numpy()[there], outcome.end_time[there]
    departed = departure[~np.isnan(departure)]
    steps = rates_of(run)
    times = _times(arrival, departure, runs, steps, span_of(run))
    rates = np.stack([_at(each, times) for each in steps], axis=1)
    processors, (served, fall, weighted_fall) = processors_of(run), _service(times, rates, runs)
    work, lost = _work(run, runs, done_in_runs(steps, runs))
    entered = [(arrival, work[there], there), *lost]
    duration = np.diff(times, append=times[-1:])
    jumps, weighted = np.zeros(len(times)), np.zeros(len(times))
    for time, amount, row in entered:
        jumps += _added(times, time, amount)
        weighted += _added(times, time, amount * processors[row])
    present = _added(times, arrival, np.ones(len(there))) - _added(times, departed, np.ones(len(departed)))
    return Course(
        time=times,
        duration=duration,
        present=np.rint(np.cumsum(present)).astype(np.int64),
        served=served,
        busy=np.stack([_held(times, runs.start, runs.end, each) for each in runs.processors.T], axis=1),
        rates=rates,
        capacity=capacity_of_controls(run),
        workload=_level(jumps, fall * duration),
        weighted_workload=_level(weighted, weighted_fall * duration),
        fall=fall,
        weighted_fall=weighted_fall,
    )


def saved_time(run: RunRecord, runs: ServiceIntervals) -> Floats:
    """Compute for each run that was cut short how many of its seconds of service are saved.

    If the work is saved in part, the same share of the time counts as saved.
    """
    is_cut = ~np.isnan(runs.saved)
    done, saved = done_in_runs(rates_of(run), runs)[is_cut], runs.saved[is_cut]
    share = np.divide(saved, done, out=np.zeros(len(done)), where=done > 0)
    return np.asarray((runs.over - runs.begin)[is_cut] * np.minimum(share, 1.0))


def done_in_runs(steps: list[Steps], runs: ServiceIntervals) -> Floats:
    """Compute the units of work done in each run: the integral of its slowest rate over its service."""
    done = np.zeros(len(runs.row))
    for members, chosen in _sets(runs):
        times = np.unique(np.concatenate([steps[place].time for place in members]))
        slowest = np.min([_at(steps[place], times) for place in members], axis=0)
        whole = Steps(times, slowest)
        done[chosen] = whole.integral(runs.over[chosen]) - whole.integral(runs.begin[chosen])
    return done


def _sets(runs: ServiceIntervals) -> list[tuple[Numbers, Numbers]]:
    """List the sets of controls whose nodes runs had, each with its runs."""
    has = runs.has_nodes
    # A set is a number whose bits are its controls.
    numbers = has @ (1 << np.arange(has.shape[1]))
    sets = [np.flatnonzero(numbers == number) for number in np.unique(numbers) if number]
    return [(np.flatnonzero(has[chosen[0]]), chosen) for chosen in sets]


def _times(
    arrival: Floats, departure: Floats, runs: ServiceIntervals, steps: list[Steps], span: tuple[float, float]
) -> Floats:
    """Return every time at which something changes, from the first submission to the last departure."""
    first, last = span
    if not len(arrival):
        return np.array([first])
    own = [arrival, departure, runs.start, runs.begin, runs.over, runs.end]
    parts: list[Floats] = [*own, *(each.time for each in steps), np.array(span)]
    times = np.unique(np.concatenate(parts))
    return np.asarray(times[(times >= first) & (times <= last)])


def _service(times: Floats, rates: Floats, runs: ServiceIntervals) -> tuple[Numbers, Floats, Floats]:
    """Compute how many jobs are served from each time on, and how fast work and weighted work decrease."""
    served, fall, weighted = np.zeros(len(times)), np.zeros(len(times)), np.zeros(len(times))
    for members, chosen in _sets(runs):
        slowest = rates[:, members].min(axis=1)
        begin, over = runs.begin[chosen], runs.over[chosen]
        count = _held(times, begin, over, np.ones(len(chosen)))
        served += count
        fall += slowest * count
        weighted += slowest * _held(times, begin, over, runs.width[chosen])
    return np.rint(served).astype(np.int64), fall, weighted


def _work(
    run: RunRecord, runs: ServiceIntervals, done: Floats
) -> tuple[Floats, list[tuple[Floats, Floats, Numbers]]]:
    """Compute the work of each job, and the work that was lost or given up: times, amounts and jobs."""
    outcome = run.outcome
    work = work_of_jobs(run.workload, run.options.reference_rate).copy()
    is_cut = ~np.isnan(runs.saved)
    kept = np.where(is_cut, runs.saved, done)
    done_of_job = np.bincount(runs.row, kept, len(work))
    completed = outcome.state == _COMPLETED
    # The work of a completed job is the work done, including that added by overheads.
    work[completed] = done_of_job[completed]
    killed = np.flatnonzero(np.isin(outcome.state, _CUT_SHORT) & ~np.isnan(outcome.end_time))
    left = np.maximum(work - done_of_job, 0.0)[killed]
    cut = np.flatnonzero(is_cut)
    lost = (runs.end[cut], (done - kept)[cut], runs.row[cut])
    return work, [lost, (outcome.end_time[killed], -left, killed)]


def _at(steps: Steps, times: Floats) -> Floats:
    return np.asarray(steps.value[np.maximum(np.searchsorted(steps.time, times, "right") - 1, 0)])


def _added(times: Floats, when: Floats, amount: Floats) -> Floats:
    """Add up amounts at the times when they come."""
    inside = (when >= times[0]) & (when <= times[-1])
    return np.asarray(
        np.bincount(np.searchsorted(times, when[inside]), amount[inside], len(times)), np.float64
    )


def _held(times: Floats, start: Floats, end: Floats, amount: Floats) -> Floats:
    """Return the amount that is held from each time on."""
    return np.asarray(np.cumsum(_added(times, start, amount) - _added(times, end, amount)))


def _level(jumps: Floats, falls: Floats) -> Floats:
    """Return the level at each time, after its jump; negative rounding errors become 0."""
    before = np.concatenate([[0.0], np.cumsum(falls)[:-1]])
    return np.asarray(np.maximum(np.cumsum(jumps) - before, 0.0))


def work_required(run: RunRecord, runs: ServiceIntervals, done: Floats) -> Floats:
    """Compute the work of each job; if an event ended its run, the work that it had done by then.

    Parameters
    ----------
    run, runs
        A run, and its intervals.
    done
        Units of work done in each interval.
    """
    work = work_of_jobs(run.workload, run.options.reference_rate)
    short = run.outcome.tables.get("short_runs")
    if short is None or not short["ended"].any():
        return work
    kept = np.bincount(runs.row, np.where(np.isnan(runs.saved), done, runs.saved), len(work))
    rows = short["row"][short["ended"]]
    required = work.copy()
    required[rows] = np.minimum(work[rows], kept[rows])
    return required


def service_intervals_table(run: RunRecord, runs: ServiceIntervals) -> pl.DataFrame:
    """List when jobs held their nodes, when they were served, and the work that they did and kept.

    Parameters
    ----------
    run, runs
        A run, and its intervals.

    Returns
    -------
    polars.DataFrame
        By row and time: ``job_id`` (Int64), ``row`` (UInt32), ``start_time``, ``end_time``, ``work_start``
        and ``work_end`` (Float64, s; null if still to come), ``work`` (Float64, units of work, without what
        overheads add; null if it was not done).
    """
    outcome, done = run.outcome, done_in_runs(rates_of(run), runs)
    is_last = np.isnan(runs.saved)
    kept = np.bincount(runs.row[~is_last], runs.saved[~is_last], len(outcome.state))
    required = work_required(run, runs, done)
    left = np.maximum(required - kept, 0.0)
    of_last = np.where(outcome.state == _COMPLETED, left, np.nan)
    goes_on = is_last & np.isnan(outcome.end_time[runs.row])
    waits = goes_on & (runs.begin >= outcome.now)

    def times(name: str, values: Floats, are_to_come: npt.NDArray[np.bool_]) -> pl.Series:
        return pl.Series(name, np.where(are_to_come, np.nan, values), nan_to_null=True)

    table = pl.DataFrame(
        [
            run.workload.jobs["job_id"].gather(runs.row),
            pl.Series("row", runs.row.astype(np.uint32)),
            pl.Series("start_time", runs.start),
            times("end_time", runs.end, goes_on),
            times("work_start", runs.begin, waits),
            times("work_end", runs.over, goes_on & (runs.over >= outcome.now)),
            pl.Series("work", np.where(is_last, of_last[runs.row], runs.saved), nan_to_null=True),
        ]
    )
    table = table.sort("row", "start_time", "end_time", maintain_order=True)
    return table.with_columns(_without_overhead(table, required)) if (kept > required).any() else table


def _without_overhead(table: pl.DataFrame, required: Floats) -> pl.Series:
    """Compute the work of each interval; what jobs keep beyond their work are overheads of execution."""
    at_most = pl.lit(pl.Series(required[table["row"].to_numpy()]))
    so_far = pl.col("work").cum_sum().over("row")
    before = so_far - pl.col("work")
    within = pl.min_horizontal(so_far, at_most) - pl.min_horizontal(before, at_most)
    exact = pl.when(so_far > at_most).then(within).otherwise("work")
    return table.select(pl.when(pl.col("work").is_not_null()).then(exact).alias("work")).to_series()


def overview(run: RunRecord) -> dict[str, object]:
    """Summarise the rates of each control, from the first arrival to the last departure.

    Parameters
    ----------
    run
        The run.

    Returns
    -------
    dict
        Empty without controls. Otherwise ``rates``: by control (``all``, or its node groups as ``cpu|fat``)
        ``mean`` (units of work per second, over time; None if no time passed), ``switches`` (changes of the
        rate), and ``share``, the share of the time by rate.
    """
    controls = run.options.controls
    if not controls:
        return {}
    begin, end = span_of(run)
    steps = rates_of(run)
    return {
        "rates": {_title(each): _of(each, steps[place], begin, end) for place, each in enumerate(controls)}
    }


def _title(control: RateControl) -> str:
    return "|".join(control.groups) or "all"


def _of(control: RateControl, steps: Steps, begin: float, end: float) -> dict[str, object]:
    edges = np.clip(np.append(steps.time, end), begin, end)
    lasts, span = np.diff(edges), end - begin
    changes = (np.diff(steps.value) != 0) & (steps.time[1:] <= end)
    rates = sorted({*control.rates, *steps.value.tolist()})
    shares = {rate: float(lasts[steps.value == rate].sum()) / span if span > 0 else None for rate in rates}
    return {
        # The shares are computed first: times with huge rates would overflow.
        "mean": float((lasts / span) @ steps.value) if span > 0 else None,
        "switches": int(np.count_nonzero(changes)),
        "share": {str(plain(rate)): share for rate, share in shares.items()},
    }
