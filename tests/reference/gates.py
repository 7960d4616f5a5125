"""Why jobs wait (S15): the gate of each waiting job after each pass, as intervals."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING

from reference.backfill import fits_at, reserve_beside, until_now
from reference.causes import Cause
from reference.disciplines import DISCIPLINES
from reference.limits import FALLEN, OUT_OF_TIME, over_limit
from reference.partitions import Closed, place_of
from reference.plan import Rectangle, room_at
from reference.reasons import need_of
from reference.reservations import occurrences
from reference.room import Room, may_use, room_beside, slots

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reference.dependencies import Waiting
    from reference.initial_state import InitialState
    from reference.kernel import Kernel
    from reference.model import Job, Placement, Reservation
    from reference.state import State


@dataclass(frozen=True)
class Gate:
    """What would have to go for a job to start now; gates with other numbers are equal."""

    name: str
    subject: str | None = None
    detail: str | None = None
    asked: int | None = field(default=None, compare=False)
    free: int | None = field(default=None, compare=False)
    delay: float | None = field(default=None, compare=False)
    hole: float | None = field(default=None, compare=False)


Promise = tuple[int, float, float | None, float, str, int | None]
"""Row, begin, end, the promised start, and what happened when the promise was made, with its job."""
Interval = tuple[int, float, float | None, Gate]
"""Row, begin, end and gate."""
Closing = tuple["Job", str | None, frozenset[int]]
"""A job that closed nodes for those behind it, the limit that did so, and the nodes."""

_PLACES = ("unavailable", "resources", "window")


@dataclass
class Promises:
    """The promised starts of waiting jobs after the passes of each instant."""

    instants: list[tuple[float, dict[int, float], Cause]] = field(default_factory=list)

    def look(self, state: State, arrivals: Iterable[int], *, stopped: bool) -> None:
        """Note the instants of the reservations of jobs of the queue: all of conservative, those of easy.

        While the scheduler is stopped, the promises of the jobs in the queue stand. `arrivals` are the rows
        of the jobs that have entered the queue at this instant.
        """
        reserved = {**{each.job.row: each for each in state.reserved}, **state.reservations}
        planned = {job.row: reserved[job.row].start for job in state.queue if job.row in reserved}
        if stopped:
            known = self.instants[-1][1] if self.instants else {}
            planned = {job.row: known[job.row] for job in state.queue if job.row in known}
        finite = {row: start for row, start in planned.items() if start < inf}
        self.note(state.now, finite, state.causes.at(state.now, arrivals))

    def note(self, now: float, promised: dict[int, float], cause: Cause = ("time", None)) -> None:
        """Note the promised starts after the passes of an instant; the latest of an instant stands."""
        if self.instants and self.instants[-1][0] == now:
            self.instants.pop()
        self.instants.append((now, promised, cause))

    def intervals(self) -> list[Promise]:
        """Return the times during which a promise stood, by row and time; those that go on have no end."""
        current, over = dict[int, tuple[float, float, Cause]](), list[Promise]()
        for now, promises, cause in self.instants:
            for row, (since, promised, made) in list(current.items()):
                if promises.get(row) != promised:
                    over.append((row, since, now, promised, *made))
                    del current[row]
            for row, promised in promises.items():
                current.setdefault(row, (now, promised, cause))
        going_on: list[Promise] = [
            (row, since, None, promised, *made) for row, (since, promised, made) in current.items()
        ]
        return sorted([*over, *going_on], key=lambda each: each[:2])


@dataclass
class Gates:
    """The gates of waiting jobs, since when each is in the queue, and the intervals that are over."""

    current: dict[int, tuple[Gate, float]] = field(default_factory=dict)
    entered: dict[int, float] = field(default_factory=dict)
    over: list[Interval] = field(default_factory=list)
    promises: Promises = field(default_factory=Promises)

    def look(
        self, state: State, waiting: Waiting, rule: tuple[str, int], seen: set[int], *, stopped: bool
    ) -> None:
        """Look at the jobs after a pass, and at the plan; `seen` are the rows that the pass has seen."""
        self.entered = {row: self.entered.get(row, state.now) for row in sorted(seen)}
        arrivals = [row for row, time in self.entered.items() if time == state.now]
        self.promises.look(state, arrivals, stopped=stopped)
        gates = {job.row: Gate(need_of(job, state, waiting)) for job in waiting.submitted}
        gates |= dict.fromkeys(state.held, Gate("held"))
        gates |= Look(state, *rule, self.entered, stopped).gates()
        for row, (gate, since) in list(self.current.items()):
            if gates.get(row) != gate:
                del self.current[row]
                if state.now > since:
                    self.over.append((row, since, state.now, gate))
        for row, gate in gates.items():
            self.current.setdefault(row, (gate, state.now))

    def begin(self, kernel: Kernel, given: InitialState) -> None:
        """Begin in a state: jobs have waited before, until they started or until the first pass."""
        jobs = {job.row: job for job in kernel.jobs}
        for each in given.jobs:
            until = each.end if each.start is None else each.start
            if until is not None and until > jobs[each.row].submit_time:
                self.over.append((each.row, jobs[each.row].submit_time, until, Gate("before_state")))
        for job in [*kernel.state.queue, *kernel.waiting.submitted, *kernel.state.held.values()]:
            self.current[job.row] = Gate("before_state"), job.submit_time

    def intervals(self) -> list[Interval]:
        """Return all intervals by row and time; those that go on have no end."""
        going_on: list[Interval] = [(row, since, None, gate) for row, (gate, since) in self.current.items()]
        return sorted([*self.over, *going_on], key=lambda each: each[:2])


@dataclass
class Look:
    """A look at the jobs of the queue after a pass of a rule."""

    state: State
    backfill: str
    reservations: int
    entered: dict[int, float]
    stopped: bool

    def gates(self) -> dict[int, Gate]:
        """Return the gates of the queue, which is gone through as the rule does."""
        closed, closings = Closed(self.state), list[Closing]()
        found = {}
        for job in [each for each in self.state.ordered_queue() if each.row in self.entered]:
            bound, limit, before = closed.open_to(job), over_limit(self.state, job), self.shut(closed)
            name = None
            if limit is OUT_OF_TIME:
                found[job.row] = Gate("own_reservation", job.in_reservation)
            elif limit is FALLEN:
                found[job.row] = Gate("promised", str(self.state.fallen[job.row]))
            elif limit is not None:
                name = f"limit{self.state.machine.limits.index(limit)}"
                found[job.row] = Gate("limit", name)
                if limit.blocks and bound is not None and self.backfill != "conservative":
                    closed.close_connected(job)
            else:
                found[job.row] = self.of_place(job) or self.of_rule(job, bound, closings)
                if self.backfill == "none" and bound is not None and self.state.place_now(bound) is None:
                    closed.close(job)
            closings.append((job, name, self.shut(closed) - before))
        return found

    def shut(self, closed: Closed) -> frozenset[int]:
        """Return the nodes that are closed to jobs behind; all on a machine without partitions."""
        return frozenset(range(len(self.state.machine.capacity))) if closed.whole else closed.nodes

    def of_place(self, job: Job) -> Gate | None:
        """Return the gate of the node set with the last of 4 to 6; None if the job fits in one of them."""
        gates = [self.of_set(each) for each in job.in_each_set]
        if None in gates:
            return None
        return max((gate for gate in gates if gate is not None), key=lambda gate: _PLACES.index(gate.name))

    def of_set(self, job: Job) -> Gate | None:
        """Return the gate of a job that is bound to one node set."""
        state = self.state
        offered = self.open_at(room_beside(state.machine, []), job, state.now)
        most = sum(slots(job, node) for node in offered)
        if most < job.tasks:
            return Gate("unavailable", asked=job.tasks, free=most)
        room = self.open_at(state.room_now(), job, state.now)
        if state.allocator.place(job, room) is None:
            return self.lacking(job, room)
        if state.allocator.place(job, state.room_for(job)) is None:
            return self.window(job)
        return None

    def open_at(self, room: Room, job: Job, until: float) -> Room:
        """Close the nodes of others' reservations that are under way, or begin until some time."""
        closed = {
            node
            for each, begin in self.others(job)
            if begin <= max(until, self.state.now)
            for node in each.nodes
        }
        return [node._replace(closed=True) if node.number in closed else node for node in room]

    def others(self, job: Job) -> list[tuple[Reservation, float]]:
        """List the reservations of others, each with the begin of its occurrence that is or comes next."""
        found = []
        for each in self.state.machine.known:
            begins = [begin for begin, end in occurrences(each) if end > self.state.now]
            if each.name != job.in_reservation and begins:
                found.append((each, begins[0]))
        return found

    def window(self, job: Job) -> Gate:
        """Return the gate of a job that fits, but would be in the way of a reservation."""
        others = [(begin, each) for each, begin in self.others(job) if begin > self.state.now]
        for begin in sorted({begin for begin, _ in others}):
            room = self.open_at(self.state.room_now(), job, begin)
            if self.state.allocator.place(job, room) is None:
                name = next(each.name for other, each in others if other == begin)
                return Gate("window", name, hole=begin - self.state.now)
        raise AssertionError("some reservation is in the way")

    def lacking(self, job: Job, room: Room) -> Gate:
        """Return the gate of a job that does not fit on what is free."""
        machine = self.state.machine
        nodes = [node for node in room if may_use(job, node) and not node.closed]
        amounts = []
        for place, resource in enumerate(machine.resources):
            asked, free = job.tasks * job.request[place], sum(node.free[place] for node in nodes)
            if free < asked:
                amounts.append((Fraction(asked, free) if free else inf, -place, resource, asked, free))
        beside = [
            (each.job, each.placement) for each in self.state.running_plan() if not self.overtakes(each, job)
        ]
        later = self.open_at(room_beside(machine, beside), job, self.state.now)
        held_by = "earlier" if self.state.allocator.place(job, later) is None else "overtakers"
        if any(each.preemptor == job.row for each in self.state.running):
            held_by = "victims"
        if amounts:
            *_, resource, asked, free = max(amounts)
            return Gate("resources", resource, held_by, asked, free)
        return Gate("resources", None, held_by, job.tasks, sum(slots(job, node) for node in room))

    def overtakes(self, running: Rectangle, job: Job) -> bool:
        """Return whether a running job was submitted later than a waiting one, and started meanwhile."""
        is_later = (running.job.submit_time, running.job.row) > (job.submit_time, job.row)
        return is_later and running.start >= self.entered[job.row]

    def of_rule(self, job: Job, bound: Job | None, closings: Iterable[Closing]) -> Gate:
        """Return the gate of a job that fits."""
        if self.stopped:
            return Gate("not_looked_at")
        if self.backfill in DISCIPLINES:
            return Gate("policy")
        placement = None if bound is None else self.state.place_now(bound)
        if placement is not None:
            rules = {"easy": self.delayed, "conservative": self.delayed_in_plan}
            delayed = rules[self.backfill](job, placement) if self.backfill in rules else None
            return delayed or Gate("not_looked_at")
        own = {node.number for node in self.state.room_now() if may_use(job, node)}
        other, limit = next((other, limit) for other, limit, nodes in closings if nodes & own)
        return Gate("order", str(other.row), limit)

    def delayed(self, job: Job, placement: Placement) -> Gate | None:
        """Return the gate of a job that would delay one with a reservation if it started on these nodes."""
        end = self.state.supposed_end(job, placement)
        if self.reservations == 1 and not self.state.machine.reservations:
            return self.delayed_head(job, placement, end)
        supposed, replaced = Rectangle(self.state.now, end, job, placement), list[Rectangle]()
        for old in self.state.reserved:
            if old.start == inf:
                continue
            plan = [*self.state.running_plan(), supposed, *replaced]
            again = self.state.reserve(old.job, plan, [old.start])
            if again is None:
                later = self.state.reserve_earliest(old.job, plan).start
                return self.delaying(old, later)
            replaced.append(again)
        return None

    def delayed_head(self, job: Job, placement: Placement, end: float) -> Gate | None:
        """Return the gate of a job that would delay the head on whose nodes it would be placed."""
        state, place = self.state, place_of(self.state.machine, dict(placement))
        for head in state.reserved:
            nodes = head.job.node_sets[0] if head.job.node_sets else ()
            if place_of(state.machine, nodes) == place:
                if end <= head.start or fits_at(state, head.job, head.start, [(job, placement)]):
                    return None
                ends = sorted({end, *(other.end for other in state.running_plan())})
                starts = (
                    time
                    for time in ends
                    if fits_at(state, head.job, time, [(job, placement)] if end > time else [])
                )
                return self.delaying(head, next(starts, inf))
        return None

    def delayed_in_plan(self, job: Job, placement: Placement) -> Gate | None:
        """Return the gate of a job that would need nodes which the plan of conservative has for another."""
        state, now = self.state, self.state.now
        end = now + state.estimate(job)
        others = [
            each for row, each in state.reservations.items() if row != job.row and each.start < each.end
        ]
        begins = {max(each.start, now) for each in others}
        for begin in sorted(each for each in begins if each < end or each == now):
            room = room_at(state.machine, [*until_now(state), *others], begin)
            lacking = {node for node, tasks in placement if slots(job, room[node]) < tasks}
            if lacking:
                old = min(
                    (
                        each
                        for each in others
                        if max(each.start, now) == begin and lacking & dict(each.placement).keys()
                    ),
                    key=lambda each: (each.job.submit_time, each.job.row),
                )
                left = [each for each in others if each is not old]
                supposed = Rectangle(now, end, job, placement)
                return self.delaying(old, reserve_beside(state, old.job, [*left, supposed], old.start).start)
        return None

    def delaying(self, old: Rectangle, later: float) -> Gate:
        """Return the gate of a job that would delay a reservation."""
        delay, hole = later - old.start, old.start - self.state.now
        return Gate("would_delay", str(old.job.row), delay=delay, hole=hole)
