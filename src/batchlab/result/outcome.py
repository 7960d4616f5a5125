"""The kernel's record of every job: flat NumPy columns, one entry per row of the workload."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from batchlab._kernel import (
        ClosureColumns,
        InterruptionColumns,
        KeyEventColumns,
        LinkColumns,
        MessageColumns,
        PowerStateColumns,
        RankColumns,
        RateColumns,
        ReasonColumns,
        SensedColumns,
        ShortRunColumns,
        StretchColumns,
        TaskTimeColumns,
        UsageColumns,
        WaitingColumns,
    )

__all__ = ["OUTCOME_GROUPS", "Outcome"]

OUTCOME_GROUPS = (
    "waiting",
    "reasons",
    "interruptions",
    "short_runs",
    "resizes",
    "task_times",
    "sensed",
    "usage",
    "power_states",
    "closures",
    "rates",
    "key_events",
    "ranks",
    "messages",
    "links",
)
"""The fields of an outcome that are columns by name, if they were recorded; except ``dispatch``."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """The record of a run, in the workload's order of rows.

    Parameters
    ----------
    state
        uint8, shape (rows,): numbers into `batchlab.vocabulary.JOB_STATES`.
    reason
        uint8, shape (rows,): the reason of rejection: 1 + its position in
        `batchlab.vocabulary.REJECTION_REASONS`; 0 if the job was not rejected.
    start_time, end_time
        float64, shape (rows,): seconds since the workload's origin; NaN if the job has not started, or not
        ended.
    requested_time
        float64, shape (rows,): seconds, as the scheduler saw them.
    time_limit
        float64, shape (rows,): seconds; infinite for a job without a limit. None if all equal the requested
        time.
    allocated
        int64, shape (rows, resources): the total that each job held, in the system's order of resources.
    range_offsets
        int64, shape (rows + 1,): row i has the entries ``range_offsets[i]:range_offsets[i + 1]`` of the next
        three columns, by rising node; by rank if ranks are not in the order of the nodes.
    range_first, range_count, range_tasks
        uint32: the ranges of nodes of all jobs, concatenated: the first node of each, the number of nodes,
        and the number of tasks on each of them.
    now
        The time of the last event, in seconds.
    events_applied
        bool, shape (events,): whether each external event changed anything, for those that have happened.
        None if none were given.
    launch_time, completion_time
        float64, shape (rows,): seconds that each job spent in launch and completion in its latest run. The
        launch includes the time in which its nodes wake. None if jobs have no overheads and no node sleeps.
    waking_time
        float64, shape (rows,): seconds from each job's start until its nodes are on. None if no node
        sleeps.
    application_time
        float64, shape (rows,): seconds that each job's application ran by its own clock, without launch and
        completion; NaN if it neither finished nor reached its limit. None if no job has an application.
    power_states
        One row per change of a node's power state: columns ``time`` (s), ``node`` and ``state``, its new
        number; the first rows say that all nodes are on. None if no node sleeps.
    closures
        One row per change of a node between open and closed (drained, failed, or not there yet): columns
        ``time`` (s), ``node`` and ``closed``. None if this was not recorded.
    dispatch
        One row per scheduling pass, if requested: columns ``time`` (s), ``queue_length``, ``cpu_time`` and
        ``other_cpu_time`` (s), ``memory`` (bytes; 0 if unknown) and ``started`` (jobs).
    waiting
        One row per job that waits at `now`: columns ``row`` and ``reason``, its number as in `reasons`.
    reasons
        One row per interval in which a job waited for one reason, if requested: columns ``row``, ``reason``
        (its number: the position in `WAITING_REASONS`, or after these that of the limit), ``start_time`` and
        ``end_time`` (s; NaN if the job still waits).
    interruptions
        One row per run that was cut short and whose job went back to the queue: columns ``row``,
        ``start_time``, ``end_time``, ``saved`` (s), and ``placement_offsets``, ``placement_nodes``,
        ``placement_tasks`` and ``allocated`` as above. None if there are none.
    short_runs
        Last runs that were cut short in a phase, or ended by an event: columns ``row``, ``work_start`` and
        ``work_end`` (s), ``ended`` (bool; an event ended the work). None if there are none.
    resizes
        One row per resize of a running job, with what it had before: columns ``row``, ``start_time`` (since
        when it had that), ``end_time``, and the others as above. None if no job has an application.
    task_times
        One row per task of a rank, if requested: columns ``row``, ``host`` and ``task`` (numbers),
        ``start_time``, ``end_time`` (s), and the tasks' ``names``.
    sensed
        One row per sample of the platform, if requested: ``time`` (s), ``cpu`` (flops/s) and ``gpu`` (number
        in use) with one column per node, ``network`` (0 to 1), ``links`` (bytes/s) with one per link.
    sensing_links
        The names of those links.
    usage
        One row per calculation of usage, if requested: ``time`` (s), and ``usage`` and ``factor`` with one
        column per node of the tree of accounts.
    rates
        One row per change of a rate, if rates are controlled: ``time`` (s), ``control`` (its number) and
        ``rate`` (units of work per second).
    key_events
        One row per arrival, departure and switch of a rate, if requested: ``time`` (s), ``event`` (its
        position in `KEY_EVENTS`), ``row`` (-1 for a switch), and the values after it: ``rate``, ``workload``,
        ``weighted_workload``, ``present``, ``served`` (jobs) and ``busy`` (processors).
    ranks
        Jobs whose ranks are not in the order of their nodes: columns ``row``, and ``offsets`` and ``nodes``
        like those of placements, with a node for each rank. None if no job has an application.
    messages
        One row per job and class of messages, if requested: ``row``, ``kind`` (the position of the class in
        ``names``), ``messages``, ``bytes``, ``hops``, ``max_hops`` and ``hop_bytes``.
    links
        One row per link of the platform, if requested: ``bytes``, ``peak`` (bytes/s), ``busy`` and
        ``congested`` (s).
    """

    state: npt.NDArray[np.uint8]
    reason: npt.NDArray[np.uint8]
    start_time: npt.NDArray[np.float64]
    end_time: npt.NDArray[np.float64]
    requested_time: npt.NDArray[np.float64]
    allocated: npt.NDArray[np.int64]
    range_offsets: npt.NDArray[np.int64]
    range_first: npt.NDArray[np.uint32]
    range_count: npt.NDArray[np.uint32]
    range_tasks: npt.NDArray[np.uint32]
    now: float
    events_applied: npt.NDArray[np.bool_] | None = None
    time_limit: npt.NDArray[np.float64] | None = None
    launch_time: npt.NDArray[np.float64] | None = None
    completion_time: npt.NDArray[np.float64] | None = None
    dispatch: Mapping[str, npt.NDArray[np.generic]] | None = None
    waiting: WaitingColumns | None = None
    reasons: ReasonColumns | None = None
    interruptions: InterruptionColumns | None = None
    short_runs: ShortRunColumns | None = None
    resizes: StretchColumns | None = None
    task_times: TaskTimeColumns | None = None
    sensed: SensedColumns | None = None
    sensing_links: tuple[str, ...] = ()
    usage: UsageColumns | None = None
    rates: RateColumns | None = None
    key_events: KeyEventColumns | None = None
    waking_time: npt.NDArray[np.float64] | None = None
    power_states: PowerStateColumns | None = None
    closures: ClosureColumns | None = None
    ranks: RankColumns | None = None
    application_time: npt.NDArray[np.float64] | None = None
    messages: MessageColumns | None = None
    links: LinkColumns | None = None

    @cached_property
    def placement_offsets(self) -> npt.NDArray[np.int64]:
        """Where each row begins in the next two columns: int64, shape (rows + 1,)."""
        ends = np.concatenate([[0], np.cumsum(self.range_count, dtype=np.int64)])
        offsets: npt.NDArray[np.int64] = ends[self.range_offsets]
        return offsets

    @cached_property
    def placement_nodes(self) -> npt.NDArray[np.uint32]:
        """The nodes of all jobs, concatenated, uint32; computed from the ranges at the first access."""
        ends = np.cumsum(self.range_count, dtype=np.int64)
        starts = self.range_first - (ends - self.range_count)
        nodes: npt.NDArray[np.int64] = np.repeat(starts, self.range_count)
        nodes += np.arange(len(nodes))
        return nodes.astype(np.uint32)

    @cached_property
    def placement_tasks(self) -> npt.NDArray[np.uint32]:
        """The number of tasks on each of these nodes, uint32."""
        return np.repeat(self.range_tasks, self.range_count)
