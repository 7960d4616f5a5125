"""Reservations: when their nodes are closed to a job, and when a job that uses one can start (S14)."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference.model import Job, Machine, Reservation
    from reference.room import Room
    from reference.state import Running


def occurrences(reservation: Reservation) -> list[tuple[float, float]]:
    """Give the times during which a reservation holds, in order."""
    begins = [reservation.start]
    while reservation.every and (begin := reservation.start + len(begins) * reservation.every) < (
        reservation.until
    ):
        begins.append(begin)
    return [(begin, begin + reservation.duration) for begin in begins]


def instants(machine: Machine) -> list[float]:
    """Give the instants at which a reservation of the machine begins or ends."""
    spans = [span for reservation in machine.known for span in occurrences(reservation)]
    return sorted({time for span in spans for time in span if time < inf})


def cuts(machine: Machine) -> list[float]:
    """Give the instants at which a reservation begins that cancels jobs in the way."""
    return [begin for each in machine.known if each.cancels for begin, _ in occurrences(each)]


def in_the_way(running: list[Running], machine: Machine, now: float) -> list[Running]:
    """List the running jobs that a reservation cancels now, by row; those that end now have ended."""
    cutting = [
        each for each in machine.known if each.cancels and any(begin == now for begin, _ in occurrences(each))
    ]
    found = [
        each
        for each in running
        if not each.ends_at(now)
        and any(
            reservation.name != each.job.in_reservation and reservation.nodes & dict(each.placement).keys()
            for reservation in cutting
        )
    ]
    return sorted(found, key=lambda each: each.job.row)


def in_time(job: Job, machine: Machine, start: float) -> bool:
    """Tell whether a job could end within its reservation; one without a reservation always can."""
    if job.in_reservation is None:
        return True
    own = [each for each in machine.known if each.name == job.in_reservation]
    return any(
        begin <= start < end and start + job.limit <= end for each in own for begin, end in occurrences(each)
    )


def opened(room: Room, job: Job, machine: Machine, start: float) -> Room:
    """Close the nodes that are reserved for others at some time from a start to the job's limit."""
    closed = {
        node
        for each in machine.known
        if each.name != job.in_reservation
        and any(
            start < end and (begin <= start or begin < start + job.limit) for begin, end in occurrences(each)
        )
        for node in each.nodes
    }
    return [node._replace(closed=True) if node.number in closed else node for node in room]


def unused(job: Job, reservation: Reservation) -> bool:
    """Tell whether a job could not even end in the last occurrence of its reservation."""
    begin, end = occurrences(reservation)[-1]
    start = max(begin, job.submit_time)
    return start >= end or start + job.limit > end
