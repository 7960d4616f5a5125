"""Why jobs wait (S15), as intervals of one reason each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reference.limits import FALLEN, OUT_OF_TIME, over_limit
from reference.partitions import Closed
from reference.room import Room, may_use, room_beside, slots

if TYPE_CHECKING:
    from reference.dependencies import Waiting
    from reference.model import Job
    from reference.state import State

Interval = tuple[int, str, float, float | None]


@dataclass
class Reasons:
    """The reasons of the waiting jobs now, and the intervals that are over: row, reason, start, end."""

    current: dict[int, tuple[str, float]] = field(default_factory=dict)
    over: list[Interval] = field(default_factory=list)

    def look(self, state: State, waiting: Waiting) -> None:
        """Look at all waiting jobs after a pass."""
        reasons = reasons_of(state) | {job.row: need_of(job, state, waiting) for job in waiting.submitted}
        reasons |= dict.fromkeys(state.held, "held")
        for row, (reason, since) in list(self.current.items()):
            if reasons.get(row) != reason:
                del self.current[row]
                if state.now > since:
                    self.over.append((row, reason, since, state.now))
        for row, reason in reasons.items():
            self.current.setdefault(row, (reason, state.now))

    def intervals(self) -> list[Interval]:
        """Give all intervals by row and time; those that go on have no end."""
        going_on: list[Interval] = [
            (row, reason, since, None) for row, (reason, since) in self.current.items()
        ]
        return sorted([*self.over, *going_on], key=lambda each: (each[0], each[2]))


def need_of(job: Job, state: State, waiting: Waiting) -> str:
    """Give what a job outside the queue waits for."""
    if job.row in state.holds:
        return "held"
    if not waiting.dependency(job, state.now):
        return "dependency"
    return "begin_time" if job.begin_time > state.now else "array_limit"


def reasons_of(state: State) -> dict[int, str]:
    """Give the reasons of the jobs of the queue."""
    offered = room_beside(state.machine, [])
    before: set[int] = set()
    held_up = Closed(state)
    found = {}
    for job in state.ordered_queue():
        limit = over_limit(state, job)
        own = {node.number for node in offered if may_use(job, node)}
        if limit is OUT_OF_TIME:
            found[job.row] = "reservation"
        elif limit is FALLEN:
            found[job.row] = "priority"
        elif limit is not None:
            if limit.blocks:
                held_up.close_connected(job)
            found[job.row] = f"limit{state.machine.limits.index(limit)}"
        elif not may_ever_fit(job, offered, state):
            found[job.row] = "unavailable"
        else:
            is_held_up = held_up.open_to(job) is None
            found[job.row] = "priority" if is_held_up or own & before else "resources"
            before |= own
    return found


def may_ever_fit(job: Job, offered: Room, state: State) -> bool:
    """Tell whether the nodes of one of the job's sets have enough slots on what they offer."""
    if not state.machine.closed and not any(any(each) for each in state.machine.withheld.values()):
        return True
    return any(sum(slots(each, node) for node in offered) >= job.tasks for each in job.in_each_set)
