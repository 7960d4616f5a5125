"""The wait of one job: from when to when, on which nodes, and by which unit it is measured (S29)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from batchlab.core.rules import whole_of
from batchlab.core.vocabulary import JOB_STATES
from batchlab.errors import ResultError, shown
from batchlab.result.recorded import Recording
from batchlab.result.why.runs import Pieces, Submissions, pieces_of
from batchlab.result.why.scope import Requests, Unavailable
from batchlab.workload.calendar_time import CalendarTime

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from batchlab.options import RunOptions
    from batchlab.policy.policy import Policy
    from batchlab.result.course import RunRecord
    from batchlab.result.outcome import Outcome
    from batchlab.result.why.runs import Floats, Whole
    from batchlab.result.why.scope import Mask, Span
    from batchlab.system.system import System
    from batchlab.workload.event_stream import EventStream
    from batchlab.workload.workload import Workload

__all__ = ["Explained", "Wait", "Waits"]

_LARGEST = 2**63 - 1  # of job_id


class Explained(Recording, Protocol):
    """The parts of a result by which waits are explained."""

    @property
    def gates(self) -> pl.DataFrame:
        """Why each waiting job could not start."""

    @property
    def workload(self) -> Workload:
        """The jobs."""

    @property
    def system(self) -> System:
        """The machine."""

    @property
    def policy(self) -> Policy:
        """The policy."""

    @property
    def options(self) -> RunOptions:
        """The options of the run."""

    @property
    def outcome(self) -> Outcome:
        """The record of the kernel."""

    @property
    def external_events(self) -> EventStream | None:
        """The external events."""

    @property
    def observers(self) -> tuple[str, ...]:
        """The names of the classes of the observers."""

    @property
    def jobs(self) -> pl.DataFrame:
        """The table of jobs."""

    @property
    def run_record(self) -> RunRecord:
        """How the jobs were served."""


class Waits:
    """The waits of a run, with the indices that all explanations share.

    Parameters
    ----------
    result
        The run.

    Attributes
    ----------
    repeats
        Whether a run from the beginning has the same starts; None if that is not known yet.
    split
        The parts of all waits by holder, once they were computed.
    """

    def __init__(self, result: Explained) -> None:
        self.result = result
        self.outcome = result.outcome
        self.repeats: bool | None = None
        self.split: pl.DataFrame | None = None
        jobs = result.workload.jobs
        self.job_ids = jobs["job_id"]
        self.submit_times: Floats = jobs["submit_time"].to_numpy()

    @cached_property
    def pieces(self) -> Pieces:
        """What jobs held, and when."""
        return pieces_of(self.result.run_record)

    @cached_property
    def requests(self) -> Requests:
        """What jobs ask for, and where."""
        return Requests(self.result.run_record, self.result.policy)

    @cached_property
    def unavailable(self) -> Unavailable:
        """When nodes took no job."""
        return Unavailable(self.result.run_record, self.result.external_events, self.requests.reserved)

    @cached_property
    def submissions(self) -> Submissions:
        """The jobs by submission."""
        return Submissions(self.submit_times, self.pieces)

    @cached_property
    def ends(self) -> Floats:
        """When each wait ended, seconds: at the start, at the end without a start, or at the last time."""
        outcome = self.outcome
        ends = np.where(np.isnan(outcome.end_time), outcome.now, outcome.end_time)
        return np.where(np.isnan(outcome.start_time), ends, outcome.start_time)

    @cached_property
    def calendar(self) -> CalendarTime:
        """The calendar of the run."""
        return CalendarTime.of(self.result.workload.header, self.result.system.start_time)

    def instant(self, time: float, *, seconds: bool = True) -> str:
        """Write an instant: as a date if the run has a calendar, else as a duration since its origin."""
        return self.calendar.written(time, seconds=seconds)

    def row_of(self, job_id: int) -> int:
        """Return the row of a job.

        Raises
        ------
        ResultError
            If no job has this number, or several have it.
        """
        number = whole_of(job_id)
        is_number = number is not None and abs(number) <= _LARGEST
        rows: Sequence[int] = (self.job_ids == number).arg_true().to_list() if is_number else ()
        if len(rows) == 1:
            return int(rows[0])
        if len(rows):
            rule = f"{len(rows)} jobs have this number; give each its own"
            raise ResultError(f"job_id = {shown(job_id)}: {rule}.")
        known, ids = "the run has no jobs", self.job_ids.to_numpy()
        if len(ids) == 1:
            known = f"the only job of the run is {ids[0]}"
        elif len(ids):
            known = f"the run has {len(ids):,} jobs, {ids.min()} to {ids.max()}"
        raise ResultError(f"job_id = {shown(job_id)}: no job of this run has this number; {known}.")

    def of(self, job_id: int) -> Wait:
        """Return the wait of a job.

        Raises
        ------
        ResultError
            If no job has this number, it was not submitted, or it was rejected.
        """
        row = self.row_of(job_id)
        state = JOB_STATES[self.outcome.state[row]]
        if state == "loaded":
            raise ResultError(f"job {job_id} has not been submitted yet: its run goes on.")
        if state == "rejected":
            reason = self.result.jobs["reason"][row]
            rule = f"it was rejected ({reason}) and never waited for nodes; see reason in result.jobs"
            raise ResultError(f"job {job_id} has no wait: {rule}.")
        begin = float(self.submit_times[row])
        return Wait(self, row, begin, max(begin, float(self.ends[row])))

    def has_started(self, row: int) -> bool:
        """Return whether a job has started."""
        return not np.isnan(self.outcome.start_time[row])


@dataclass(frozen=True, eq=False)
class Wait:
    """The wait of one job.

    Parameters
    ----------
    run
        All waits of the run.
    row
        The row of the job.
    begin, end
        Seconds.
    """

    run: Waits
    row: int
    begin: float
    end: float

    @property
    def pieces(self) -> Pieces:
        """What jobs held, and when."""
        return self.run.pieces

    @property
    def job_ids(self) -> pl.Series:
        """The numbers of all jobs."""
        return self.run.job_ids

    @property
    def submit_times(self) -> Floats:
        """When all jobs were submitted, seconds."""
        return self.run.submit_times

    @property
    def start(self) -> int | None:
        """The first piece of the run that ended the wait; None if the job has not started."""
        if not self.run.has_started(self.row):
            return None
        return [first for first, _ in self.pieces.runs_of(self.row)][-1]

    @cached_property
    def nodes(self) -> Mask:
        """The nodes that the job may use."""
        return self.run.requests.nodes(self.row)

    @cached_property
    def asked(self) -> Whole:
        """What the job asked for of each resource: what it got, or what its tasks ask for."""
        if self.start is not None:
            return np.asarray(self.pieces.allocated[self.start])
        tasks = int(self.run.result.workload.jobs["tasks"][self.row])
        return self.run.requests.per_task(self.row) * tasks

    @cached_property
    def _unit(self) -> tuple[int, int]:
        """The index of the resource that is the unit, and the units on the nodes of the job."""
        has = self.run.result.system.capacity[self.nodes].sum(axis=0).tolist()
        asked = self.asked.tolist()
        there = [index for index, amount in enumerate(has) if amount]
        if not there:
            rule = "nodes that it may use have no amount of any resource, by which its wait could be measured"
            raise ResultError(f"job {self.job_ids[self.row]}: the {rule}.")
        best = there[0]
        for index in there[1:]:
            # asked / has, compared without rounding.
            if asked[index] * has[best] > asked[best] * has[index]:
                best = index
        return best, has[best]

    @cached_property
    def unit(self) -> tuple[str, int, int]:
        """The name of the resource that is the unit, the units on the nodes, and how many are asked for."""
        index, units = self._unit
        return self.run.result.system.resources[index], units, int(self.asked[index])

    @cached_property
    def _is_everywhere(self) -> bool:
        return bool(self.nodes.all())

    def units_of(self, pieces: Whole) -> Whole:
        """Return the units that pieces hold on the nodes of the job."""
        if self._is_everywhere:
            return np.asarray(self.pieces.allocated[pieces, self._unit[0]])
        owner, _, units = self.units_on_nodes(pieces)
        found = np.zeros(len(pieces), np.int64)
        np.add.at(found, owner, units)
        return found

    def units_on_nodes(self, pieces: Whole) -> tuple[Whole, Whole, Whole]:
        """Return the piece, the node and the units of each node of the job that pieces hold."""
        owner, node, units, _ = self.pieces.on_nodes(pieces)
        here = self.nodes[node]
        return owner[here], node[here], units[here, self._unit[0]]

    def capacity_of_node(self, node: int) -> int:
        """Return the units of a node."""
        return int(self.run.result.system.capacity[node, self._unit[0]])

    def unavailable(self) -> list[Span]:
        """Return which nodes took no such job in the wait, from when to when."""
        own = self.run.requests.own_reservation(self.row)
        return self.run.unavailable.spans(self.begin, self.end, own)
