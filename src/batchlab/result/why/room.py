"""The room that a job had when it started, and the ended runs that it needed for it (semantics, S29)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from batchlab.result.why.runs import Pieces, Whole
    from batchlab.result.why.scope import Mask
    from batchlab.result.why.wait import Waits

__all__ = ["Room", "room_at_start"]


@dataclass(frozen=True, eq=False)
class Room:
    """What was free for a job at its start: what no run held right after it, and what the job itself held.

    Parameters
    ----------
    pieces
        What jobs held.
    free, jobs
        The free amounts, shape (nodes, resources), and the number of other jobs on each node.
    usable
        The nodes on which the job could start.
    per_task
        What a task asks for, shape (resources,).
    tasks, most
        The number of tasks, and the most of them on a node; 0 for any number.
    is_whole
        Whether the job takes nodes whole.
    """

    pieces: Pieces
    free: Whole
    jobs: Whole
    usable: Mask
    per_task: Whole
    tasks: int
    most: int
    is_whole: bool

    def needed(self, ended: Whole) -> list[bool]:
        """Return which of the runs that ended the job needed: it would not fit if they went on.

        The last one is spared first, if the job would fit all the same.
        """
        owner, node, units, _ = self.pieces.on_nodes(ended)
        free, jobs = self.free.copy(), self.jobs.copy()
        needs = [True] * len(ended)
        for place in reversed(range(len(ended))):
            here = owner == place
            np.subtract.at(free, node[here], units[here])
            np.add.at(jobs, node[here], 1)
            if self._fits(free, jobs):
                needs[place] = False
            else:
                np.add.at(free, node[here], units[here])
                np.subtract.at(jobs, node[here], 1)
        return needs

    def _fits(self, free: Whole, jobs: Whole) -> bool:
        """Return whether the slots of all nodes add up to the tasks (S3)."""
        slots = np.full(len(free), self.most or self.tasks, np.int64)
        for resource, asked in enumerate(self.per_task.tolist()):
            left = np.maximum(free[:, resource], 0)
            slots = np.minimum(slots, left // asked) if asked else slots
        slots[~self.usable] = 0
        if self.is_whole:
            slots[jobs > 0] = 0
        return bool(slots.sum() >= self.tasks)


def room_at_start(run: Waits, first: int) -> Room:
    """Return the room that a job had at the start of the run that begins with a piece."""
    pieces, requests = run.pieces, run.requests
    row, time = int(pieces.row[first]), float(pieces.start[first])
    held = pieces.held_after(time)
    held = held[pieces.row[held] != row]
    _, node, units, _ = pieces.on_nodes(held)
    free = run.result.system.capacity.astype(np.int64)
    np.subtract.at(free, node, units)
    jobs = np.bincount(node, minlength=len(free)).astype(np.int64)
    own = np.zeros(len(free), np.bool_)
    own[pieces.nodes_of(first)] = True
    usable = next((each for each in requests.node_sets(row) if each[own].all()), requests.nodes(row))
    closed = run.unavailable.at(time, requests.own_reservation(row)) & ~own
    tasks = int(pieces.tasks[pieces.offsets[first] : pieces.offsets[first + 1]].sum())
    return Room(
        pieces,
        free,
        jobs,
        usable & ~closed,
        requests.per_task(row),
        tasks,
        requests.most_per_node(row),
        requests.takes_whole(row),
    )
