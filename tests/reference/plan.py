"""The availability of nodes over time: a list of rectangles, and minima by brute force (S7)."""

from dataclasses import dataclass

from reference.model import Job, Machine, Placement
from reference.room import Room, least, room_beside


@dataclass(frozen=True)
class Rectangle:
    """A job that holds its placement over [start, end): running, reserved, or supposed to run."""

    start: float
    end: float
    job: Job
    placement: Placement


Plan = list[Rectangle]


def room_at(machine: Machine, plan: Plan, instant: float) -> Room:
    held = [(each.job, each.placement) for each in plan if each.start <= instant < each.end]
    return room_beside(machine, held)


def room_over(machine: Machine, plan: Plan, start: float, duration: float) -> Room:
    """Give the minimum of what is free over [start, start + duration), or at `start` where duration is 0."""
    # What is free shrinks only where a rectangle begins, so these instants see every minimum.
    begins = {each.start for each in plan if start < each.start < start + duration}
    return least([room_at(machine, plan, instant) for instant in [start, *begins]])
