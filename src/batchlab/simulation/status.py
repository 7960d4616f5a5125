"""The state of a simulation between two steps: waiting jobs, running jobs, free resources."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from batchlab.core import rules
from batchlab.core.markup import card
from batchlab.core.units import format_count, format_duration
from batchlab.core.vocabulary import JOB_STATES
from batchlab.errors import SimulationError
from batchlab.system.queues import waiting_reasons

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab import _kernel
    from batchlab.system import System

__all__ = ["Gauges", "Status"]


@dataclass(frozen=True)
class Gauges:
    """The length of the queue and the utilisation: numbers that are cheap to read.

    Parameters
    ----------
    now
        The present time, seconds since the workload's origin.
    queued
        The number of waiting jobs.
    utilisation
        Share of each resource's capacity in use; NaN if the system has none of it.
    """

    now: float
    queued: int
    utilisation: dict[str, float]


@dataclass(frozen=True, eq=False)
class Status:
    """The state of a simulation at one time; a `Status` does not change when the simulation continues.

    Parameters
    ----------
    now
        The present time, seconds since the workload's origin.
    next_time
        The next instant with an event, seconds; None if no event is left.
    system
        The machine.
    state
        uint8, shape (jobs,): indices into `batchlab.core.vocabulary.JOB_STATES`, in the workload's order.
    start_time, end_time
        float64, shape (jobs,): seconds; NaN if the job has not started, or not ended.
    queue
        uint32: rows of the waiting jobs, in queue order.
    waiting, reasons
        uint32: rows of all jobs that wait, including those outside the queue, and their reasons: an index
        into `batchlab.core.vocabulary.WAITING_REASONS`, or beyond these the index of a limit of the system.
    running
        uint32: rows of the running jobs, in the workload's order.
    ended
        uint32: rows of the jobs that ended last, in the order of their ends; as many as requested.
    allocated_since
        float64, shape (running + ended,): the time since which the running jobs, then the ended ones, hold
        or held their last nodes, seconds: their start, or their latest resize.
    placement_offsets
        int64, shape (running + ended + 1,): the i-th of ``running``, followed by ``ended``, holds the entries
        ``placement_offsets[i]:placement_offsets[i + 1]`` of the two columns that follow.
    placement_nodes, placement_tasks
        uint32: the nodes of these jobs, concatenated, and the number of tasks on each.
    free
        int64, shape (nodes, resources): the amount that a job could allocate on each node.
    idle
        int64, shape (nodes, resources): the amount that no job holds, whether available to jobs or not.
    drained
        bool, shape (nodes,): True if the node accepts no jobs.

    Examples
    --------
    >>> import batchlab as bl
    >>> jobs = {"submit_time": [0, 0, 9], "run_time": [60, 60, 30], "tasks": [3, 2, 1]}
    >>> system = bl.System.homogeneous(nodes=1, resources={"core": 4})
    >>> simulation = bl.Simulation(bl.Workload.from_table(jobs), system, "fcfs")
    >>> simulation.run_until(10)
    >>> status = simulation.status()
    >>> status.counts["running"], status.queue.tolist(), status.utilisation
    (1, [1, 2], {'core': 0.75})
    """

    now: float
    next_time: float | None
    system: System
    state: npt.NDArray[np.uint8]
    start_time: npt.NDArray[np.float64]
    end_time: npt.NDArray[np.float64]
    queue: npt.NDArray[np.uint32]
    waiting: npt.NDArray[np.uint32]
    reasons: npt.NDArray[np.uint32]
    running: npt.NDArray[np.uint32]
    ended: npt.NDArray[np.uint32]
    allocated_since: npt.NDArray[np.float64]
    placement_offsets: npt.NDArray[np.int64]
    placement_nodes: npt.NDArray[np.uint32]
    placement_tasks: npt.NDArray[np.uint32]
    free: npt.NDArray[np.int64]
    idle: npt.NDArray[np.int64]
    drained: npt.NDArray[np.bool_]

    def _repr_html_(self) -> str:
        counted = ", ".join(f"{number:,} {name}" for name, number in self.counts.items() if number)
        shares = ", ".join(f"{name} {100 * share:.1f} %" for name, share in self.utilisation.items())
        following = "–" if self.next_time is None else f"at {format_duration(self.next_time)}"
        facts = [("jobs", counted or "none"), ("in use", shares)]
        drained = f"{int(self.drained.sum()):,} of {format_count(self.system.nodes, 'node')}"
        return card(
            f"Simulation at {format_duration(self.now)}",
            [*facts, ("drained", drained), ("next event", following)],
        )

    @cached_property
    def counts(self) -> dict[str, int]:
        """Number of jobs in each state, by the name of the state."""
        found = np.bincount(self.state, minlength=len(JOB_STATES))
        return {name: int(number) for name, number in zip(JOB_STATES, found, strict=True)}

    @property
    def finished(self) -> int:
        """Number of jobs that completed, were killed, rejected or cancelled."""
        return sum(self.counts[name] for name in ("completed", "killed", "rejected", "cancelled"))

    @cached_property
    def utilisation(self) -> dict[str, float]:
        """Share of each resource's capacity in use; NaN if the system has none of it."""
        return shares_in_use(self.system, self.idle.sum(axis=0).tolist())

    def reason(self, row: int) -> str | None:
        """Return why a job waits (semantics, S15): a reason or a limit's name; None if it does not wait."""
        places = np.flatnonzero(self.waiting == row)
        return waiting_reasons(self.system.limits)[self.reasons[places[0]]] if len(places) else None

    def placement(self, index: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
        """Return the nodes of a running job, or of a job that ended.

        Parameters
        ----------
        index
            Its position in ``running`` followed by ``ended``.

        Returns
        -------
        tuple
            Its nodes, and the number of its tasks on each.
        """
        part = slice(self.placement_offsets[index], self.placement_offsets[index + 1])
        return self.placement_nodes[part], self.placement_tasks[part]


def columns_of(kernel: _kernel.Simulation, latest: int) -> _kernel.StatusColumns:
    """Return the columns of a `Status`.

    Raises
    ------
    SimulationError
        If `latest` is negative.
    """
    # No run has more events.
    return kernel.status(min(rules.check(SimulationError, "latest", latest, rules.WHOLE), sys.maxsize))


def shares_in_use(system: System, idle: list[int]) -> dict[str, float]:
    """Return the share of each resource in use, from the total amounts that no job holds."""
    return {
        name: (total - left) / total if total else float("nan")
        for (name, total), left in zip(system.total.items(), idle, strict=True)
    }
