"""The kernel's record of every job: flat NumPy columns, one entry per row of the workload."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab import _kernel


__all__ = ["LateTable", "Outcome", "Table"]

Table: TypeAlias = Mapping[str, Any]
"""The columns of a recorded table, by name: arrays, and lists of texts."""


class LateTable(Mapping[str, Any]):
    """A recorded table whose columns are made at the first access, since many are never read.

    Pickled and copied as a dict.

    Parameters
    ----------
    log
        The record of the kernel.
    """

    def __init__(self, log: _kernel.TableLog) -> None:
        self._log = log

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401  # an array or a list of texts
        return self._log.columns()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._log.columns())

    def __len__(self) -> int:
        return len(self._log.columns())

    def __reduce__(self) -> tuple[type, tuple[dict[str, Any]]]:
        return dict, (self._log.columns(),)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The record of a run, in the workload's order of rows.

    Parameters
    ----------
    state
        uint8, shape (rows,): numbers into `batchlab.core.vocabulary.JOB_STATES`.
    reason
        uint8, shape (rows,): the reason of rejection: 1 + its position in
        `batchlab.core.vocabulary.REJECTION_REASONS`; 0 if the job was not rejected.
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
        completion; NaN unless it was done or reached its limit. None where no job carries an application.
    sensing_links
        The names of the links of the table ``sensed``.
    tables
        The tables that were recorded, by name, each with its columns by name. Always there: ``waiting``, the
        jobs that wait at `now` (``row``, ``reason``: its number as in ``reasons``); ``interruptions``, the
        runs that were cut short and whose jobs went back to the queue (``row``, ``start_time``, ``end_time``,
        ``work_start``, ``work_end``, ``saved``, and the nodes as ``placement_offsets``, ``placement_nodes``,
        ``placement_tasks`` and ``allocated``); ``short_runs``, last runs that were cut short in a phase, or
        ended by an event (``row``, ``work_start``, ``work_end``, ``ended``); ``closures``, changes of a node
        between open and closed (``time``, ``node``, ``closed``). With applications: ``resizes``, as
        ``interruptions``; ``ranks``, of jobs whose ranks do not follow one another on their nodes (``row``,
        ``offsets``, ``nodes``); ``sensed``, a look at the platform (``time``, ``cpu``, ``gpu``, ``network``,
        ``links``). The others are rows of `batchlab.result.recorded.RecordedTables`, in the numbers of the
        kernel: a column ``names`` has the texts to which numbers refer.
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
    waking_time: npt.NDArray[np.float64] | None = None
    application_time: npt.NDArray[np.float64] | None = None
    sensing_links: tuple[str, ...] = ()
    tables: Mapping[str, Table] = field(default_factory=dict)

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
