"""Look for jobs that wait although they could start without delaying a reservation that stands (S7)."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, nextafter
from typing import TYPE_CHECKING

from reference.backfill import fits_at, place_again
from reference.limits import over_limit
from reference.plan import Plan, Rectangle, room_over
from reference.reservations import opened

Rank = tuple[float, float, float, int]

if TYPE_CHECKING:
    from reference.model import Job, Placement
    from reference.state import State
    from support.schedule_cases import Case


@dataclass
class IdleRoom:
    """Collects the jobs that wait although they could start, with the time; and counts what was looked at.

    Each waiting job is looked at after each pass; also counted are those that are over a limit, and passes
    during which overdue jobs hold nodes.
    """

    case: Case
    found: list[tuple[float, int]] = field(default_factory=list)
    looked_at: int = 0
    over_limit: int = 0
    overdue: int = 0

    def look(self, state: State) -> None:
        """Look at the jobs that wait after a pass."""
        standing = self.standing(state)
        protected = {each.job.row for each in standing}
        self.overdue += any(each.end <= state.now for each in state.running_plan())
        started = [rank(state, each.job) for each in state.running if each.job.row in state.started]
        for job in state.queue:
            if over_limit(state, job) is not None:
                self.over_limit += 1
            elif job.row not in protected and not self.was_placed_before(state, job, started):
                self.looked_at += 1
                if self.could_start(state, job, standing):
                    self.found.append((state.now, job.row))

    def standing(self, state: State) -> Plan:
        """Return the reservations that stand.

        Those of conservative that are due wait for jobs that are about to end at this instant.
        """
        if self.case.backfill == "conservative":
            return [each for each in state.reservations.values() if each.start < inf]
        return [each for each in state.reserved if each.start < inf and over_limit(state, each.job) is None]

    def was_placed_before(self, state: State, job: Job, started: list[Rank]) -> bool:
        """Return whether EASY came to a job before others started, after which it may go to other nodes."""
        return self.case.backfill == "easy" and any(rank(state, job) < each for each in started)

    def could_start(self, state: State, job: Job, standing: Plan) -> bool:
        """Return whether a job, placed now for its whole estimate, leaves each reservation where it is."""
        if self.case.backfill == "conservative":
            return could_start_in_plan(state, job, standing)
        placement = state.place_now(job)
        if placement is None:
            return False
        if self.case.reservations == 1 and not state.machine.reservations:
            return all(keeps_shadow_time(state, job, placement, head) for head in standing)
        supposed = Rectangle(state.now, state.supposed_end(job, placement), job, placement)
        return place_again(state, supposed, standing) is not None


def rank(state: State, job: Job) -> Rank:
    """Return the place of a job in the order of the latest pass."""
    return -job.tier, state.keys[job.row], job.submit_time, job.row


def could_start_in_plan(state: State, job: Job, standing: Plan) -> bool:
    """Return whether a job fits now for its whole estimate beside all that runs and all reservations."""
    after_now = nextafter(state.now, inf)
    running = [
        Rectangle(each.start, max(each.end, after_now), each.job, each.placement)
        for each in state.running_plan()
    ]
    room = room_over(state.machine, running + standing, state.now, state.estimate(job))
    room = opened(room, job, state.machine, state.now)
    return any(state.allocator.place(each, room) is not None for each in job.in_each_set)


def keeps_shadow_time(state: State, job: Job, placement: Placement, head: Rectangle) -> bool:
    """Return whether EASY's head still fits at its shadow time beside a job that starts now."""
    is_over = state.supposed_end(job, placement) <= head.start
    return is_over or fits_at(state, head.job, head.start, [(job, placement)])
