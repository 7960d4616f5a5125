"""The course of a run: the jobs present, and the rates of service, from event to event (S19)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from batchlab.core.vocabulary import JOB_STATES
from batchlab.result.service_intervals import (
    RunRecord,
    ServiceIntervals,
    capacity_of_controls,
    processors_of,
)
from batchlab.workload.work import work_of_jobs

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Numbers = npt.NDArray[np.int64]

__all__ = ["Course", "Steps", "course_of", "done_in_runs", "rates_of", "saved_time", "span_of"]

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
