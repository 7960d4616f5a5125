"""The event loop (S2): what happens at one instant, and in which order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from reference.allocators import Allocator
from reference.backfill import RULES
from reference.dependencies import Waiting
from reference.disciplines import DISCIPLINES, serve
from reference.events import absent_nodes, cancel_job, take, unknown_reservations
from reference.gates import Gates
from reference.initial_state import InitialState, begin_in
from reference.limits import refuses_submission
from reference.mappings import mapping_of
from reference.model import (
    ExternalEvent,
    Interruption,
    Job,
    Machine,
    Multifactor,
    NodeEvent,
    NodeSleep,
    Order,
    Outcome,
    Overheads,
)
from reference.node_events import apply
from reference.predictors import Predictor
from reference.preemption import end_graces, start_preemptors
from reference.priorities import Priorities
from reference.queues import routed
from reference.rates import Control, Service
from reference.reasons import Reasons
from reference.reservations import cuts, in_the_way, instants
from reference.room import Room, may_use, room_beside
from reference.sleep import Interval, sleeping_of
from reference.state import Running, State
from reference.whole_cores import in_whole_cores


@dataclass
class Kernel:
    """A simulation under way: its state, the jobs yet to come, and the outcomes so far by row."""

    state: State
    backfill: str
    reservations: int
    to_come: list[Job]
    node_events: list[NodeEvent]
    outcomes: dict[int, Outcome]
    after_each: bool = False
    asked_at_timers: bool = False
    entered: bool = False
    passed: bool = False
    by_start: bool = False
    reasons: Reasons | None = None
    gates: Gates | None = None
    events: list[ExternalEvent] = field(default_factory=list)
    applied: list[bool] = field(default_factory=list)
    stopped: bool = False
    after_pass: Callable[[State], None] | None = None
    power_states: list[Interval] = field(default_factory=list)
    jobs: list[Job] = field(init=False)
    waiting: Waiting = field(init=False)

    def __post_init__(self) -> None:
        self.jobs = list(self.to_come)
        self.waiting = Waiting(self.jobs, self.outcomes)

    def next_instant(self) -> float:
        submissions = [job.submit_time for job in self.to_come]
        ends = [min(each.end, each.expiry, each.grace_end) for each in self.state.running]
        if self.state.running:
            ends += [time for time in cuts(self.state.machine) if time > self.state.now]
        due = [*(each.start for each in self.state.reservations.values()), *self.exemptions()]
        due += instants(self.state.machine) if self.state.queue else []
        # A reservation that was due and still has to wait gets no second pass at the same instant.
        next_instant = min(
            [
                *submissions,
                *(event.time for event in self.events[:1] if self.is_any_left()),
                *(job.until for job in self.to_be_cancelled() if job.until is not None),
                *self.state.returns.values(),
                *ends,
                *(time for time in due if time > self.state.now and not self.stopped),
                self.waiting.next_instant(self.state.now),
                self.next_switch(),
            ],
            default=inf,
        )
        if next_instant < inf or self.node_events_may_help():
            next_instant = min([next_instant, *(event.time for event in self.node_events)])
        if self.state.sleep is None or next_instant == inf:
            # What nodes do keeps no run going.
            return next_instant
        return min(next_instant, self.state.sleep.next_instant(self.state))

    def node_events_may_help(self) -> bool:
        """Tell whether node events keep the run going when nothing else is to come."""
        following = min(self.node_events, key=lambda event: event.time, default=None)
        if following is None or any(event.purpose == "act" for event in self.node_events):
            return following is not None
        up = room_beside(replace(self.state.machine, closed=frozenset(), withheld={}), [])
        return following.purpose == "repair" and any(
            self.state.allocator.place(set_of, up) is not None
            for job in self.state.queue
            for set_of in job.in_each_set
        )

    def next_switch(self) -> float:
        return self.state.service.next_switch() if self.state.service else inf

    def switch(self) -> None:
        """Let controls switch, or look, whose times have come."""
        while self.state.service and self.next_switch() <= self.state.now:
            self.state.service.switch(self.state.now)
            self.state.follow_rates()

    def is_any_left(self) -> bool:
        """Tell whether a job is to come, waits or runs."""
        waiting = (self.waiting.submitted, self.state.queue, self.state.held)
        return any((self.to_come, self.state.running, *waiting))

    def to_be_cancelled(self) -> list[Job]:
        """List the jobs there that have no run time of their own, by row."""
        waiting = [*self.state.queue, *self.waiting.submitted, *self.state.held.values()]
        there = [*waiting, *(running.job for running in self.state.running)]
        return sorted((job for job in there if job.until is not None), key=lambda job: job.row)

    def change_nodes(self) -> None:
        cancelled = {job.row: job for job in self.to_be_cancelled() if job.until == self.state.now}
        returned = [row for row, time in self.state.returns.items() if time == self.state.now]
        for row in sorted([*cancelled, *returned]):
            if row in cancelled:
                cancel_job(self, cancelled[row])
            else:
                self.state.return_held(row)
        due = [event for event in self.events if event.time == self.state.now and self.is_any_left()]
        self.events = self.events[len(due) :]
        self.applied += [take(self, event) for event in due]
        for event in [event for event in self.node_events if event.time == self.state.now]:
            self.node_events.remove(event)
            # A rule written in Python decides also where an event changes nothing.
            self.entered |= self.asked_at_timers
            apply(self.state, event, self.kill)
        end_graces(self.state, self.kill)
        for running in in_the_way(self.state.running, self.state.machine, self.state.now):
            self.state.disturbed = True
            self.kill(running)

    def completions_first(self) -> None:
        is_due = self.is_due()
        self.let_in()
        self.change_nodes()
        is_due = is_due or self.state.disturbed or bool(self.submissions())
        # Whatever the order of the completions, one pass follows them all.
        is_due = self.complete_and_correct() or is_due
        for job in self.submissions():
            self.submit(job)
        # No pass follows a node event that changes nothing, or a begin time at which no job enters the queue.
        if is_due or self.entered:
            self.make_pass()
        while self.turning() or self.expiring() or self.entered:
            if self.complete_and_correct() or self.entered:
                self.make_pass()

    def complete_and_correct(self) -> bool:
        """Let phases and jobs end, by row, and correct estimates; tell whether a pass is to follow."""
        is_due = False
        while turning := self.turning():
            is_due |= self.complete(self.first_of(turning))
        self.switch()
        expiring = self.expiring()
        for running in expiring:
            self.state.correct(running)
        return is_due or bool(expiring)

    def arrivals_first(self) -> None:
        is_due = self.is_due()
        self.state.ends_are_taken = False
        self.let_in()
        self.change_nodes()
        is_looked_at = self.entered or self.state.disturbed
        if is_looked_at:
            self.make_pass()
        is_looked_at = is_looked_at or bool(self.expiring())
        self.correct_each()
        ending = self.ending()
        for running in ending:
            running.holds = running.end < self.state.expected_end(running)
            self.state.given_back |= not running.holds
            if not running.holds:
                self.state.causes.add(self.state.now, "end", running.job.row)
                self.state.allocator.freed(running.placement)
        self.state.ends_are_taken = True
        if is_due and not is_looked_at and not ending and not self.submissions():
            self.make_pass()
        for job in self.submissions():
            self.submit(job)
            self.make_pass()
            self.correct_each()
        while self.turning():
            # Runs that the passes start end in the next round.
            round_of = {id(each): each for each in self.state.running}
            while turning := [each for each in self.turning() if id(each) in round_of]:
                if self.complete(self.first_of(turning)):
                    self.make_pass()
            self.correct_each()
        self.switch()

    def event_by_event(self) -> None:
        """Take completions, corrections and submissions one by one, with a pass after each."""
        is_due, self.passed = self.is_due(), False
        self.let_in()
        self.change_nodes()
        if self.entered or self.state.disturbed:
            self.make_pass()
        while due := self.next_kind():
            if due == "phases":
                if self.complete(self.first_of(self.turning())):
                    self.make_pass()
            elif due == "switches":
                self.switch()
            elif due == "estimates":
                self.state.correct(self.expiring()[0])
                self.make_pass()
            else:
                self.submit(self.submissions()[0])
                self.make_pass()
        self.switch()
        if is_due and not self.passed:
            self.make_pass()

    def next_kind(self) -> str:
        """Name what is taken next at this instant; nothing where it is over."""
        switches = [time for time in [self.next_switch()] if time <= self.state.now]
        kinds: dict[str, Sequence[object]] = {
            "phases": self.turning(),
            "switches": switches,
            "estimates": self.expiring(),
            "submissions": self.submissions(),
        }
        return next((kind for kind, events in kinds.items() if events), "")

    def correct_each(self) -> None:
        """Let each estimate that has run out be corrected, with a pass after each."""
        while expiring := self.expiring():
            self.state.correct(expiring[0])
            self.make_pass()

    def expiring(self) -> list[Running]:
        """List the jobs that go on although their estimates run out now, by row."""
        found = [each for each in self.state.running if each.expiry == self.state.now != each.end]
        return sorted(found, key=lambda each: each.job.row)

    def is_due(self) -> bool:
        """Tell whether a reservation stands for now, of a job or the machine, or an exempt time is over."""
        if self.stopped:
            return False
        due = any(each.start == self.state.now for each in self.state.reservations.values())
        due = due or self.state.now in instants(self.state.machine)
        return due or self.state.now in self.exemptions()

    def exemptions(self) -> list[float]:
        """Give when running jobs have run long enough to be preempted; none where no rule does that."""
        rules = self.state.machine.preemption
        if (
            rules is None
            or rules.exempt_time == 0
            or self.backfill in ("conservative", "reject", *DISCIPLINES)
        ):
            return []
        return [each.start + rules.exempt_time for each in self.state.running]

    def turning(self) -> list[Running]:
        """List the jobs of which a phase ends now, in the order of their starts."""
        return [running for running in self.state.running if running.end == self.state.now]

    def first_of(self, turning: list[Running]) -> Running:
        """Give the first of those of which a phase ends now: of each clock the first by service time (S19).

        Of these it is the first by row, or by start.
        """
        order = {id(each): place for place, each in enumerate(turning)}

        def rank(running: Running) -> int:
            return order[id(running)] if self.by_start else running.job.row

        def served_until(running: Running) -> float:
            return running.end_service if running.clock and running.end < running.limit else 0.0

        clocks = {id(each.clock) if served_until(each) else 0 for each in turning}
        groups = [
            [each for each in turning if (id(each.clock) if served_until(each) else 0) == clock]
            for clock in clocks
        ]
        return min(
            (min(group, key=lambda each: (served_until(each), rank(each))) for group in groups), key=rank
        )

    def ending(self) -> list[Running]:
        """List those of them that end with it."""
        return [running for running in self.state.running if running.ends_at(self.state.now)]

    def submissions(self) -> list[Job]:
        return [job for job in self.to_come if job.submit_time == self.state.now]

    def complete(self, running: Running) -> bool:
        """Let a job end, or go on to its next phase; tell whether it ended."""
        gives_up = running.phase == "suspending" or running.is_leg
        if self.state.goes_on(running):
            return gives_up
        self.state.leave(running)
        self.state.completed_since_pass = True
        self.end(running, running.state, running.end)
        self.let_in()
        return True

    def kill(self, running: Running, state: str = "killed") -> None:
        """End a job; of one whose run is over only the completion is cut short."""
        self.state.leave(running)
        self.end(running, running.state if running.phase == "completing" else state, self.state.now)
        self.let_in()

    def end(self, running: Running, state: str, time: float) -> None:
        self.outcomes[running.job.row] = Outcome(state, running.start, time, running.placement)
        self.state.key_event("departure", running.job, running.left)
        self.state.predictor.learn(running.job, time - running.start)

    def submit(self, job: Job) -> None:
        """Queue a job, or reject it where it would not fit on the empty system."""
        self.to_come.remove(job)
        self.state.estimates[job.row] = self.state.predictor.estimate(job)
        empty = room_beside(replace(self.state.machine, closed=frozenset(), withheld={}), [])
        bound = routed(job, self.state.machine)
        if isinstance(bound, str):
            self.reject(job, bound)
        elif self.waiting.dependency(job, self.state.now) is False:
            self.reject(job, "dependency")
        elif self.backfill == "reject" or not self.passes(bound, empty):
            self.reject(job, "policy" if self.backfill == "reject" else "never_fits")
        elif refuses_submission(self.state, bound, self.waiting.submitted):
            self.reject(job, "limit")
        else:
            self.waiting.submitted.append(bound)
            self.state.key_event("arrival", bound, self.state.work_left(bound))
        self.let_in()
        if bound in self.to_be_cancelled() and bound.until == self.state.now:
            cancel_job(self, bound)

    def reject(self, job: Job, reason: str) -> None:
        self.outcomes[job.row] = Outcome("rejected", None, None, [], reason)
        self.waiting.begun.setdefault(job.row, self.state.now)

    def let_in(self) -> None:
        """Reject what waits in vain, and what waits for that, and let those into the queue that may now."""
        while in_vain := self.waiting.in_vain(self.state.now):
            for job in in_vain:
                self.waiting.submitted.remove(job)
                self.state.key_event("departure", job, self.state.work_left(job))
                self.reject(job, "dependency")
        entering = self.waiting.enter(self.state.now)
        for job in entering:
            if job.row in self.state.holds:
                self.state.held[job.row] = job
            else:
                self.state.wait(job)
                self.entered = True

    def cancel(self, job: Job) -> None:
        """Take a waiting job away for good."""
        for waiting in (self.state.queue, self.waiting.submitted):
            if job in waiting:
                waiting.remove(job)
        self.state.held.pop(job.row, None)
        self.state.returns.pop(job.row, None)
        self.state.reservations.pop(job.row, None)
        self.state.disturbed = True
        self.state.key_event("departure", job, self.state.work_left(job))
        self.outcomes[job.row] = Outcome("cancelled", None, self.state.now, [])
        self.waiting.begun.setdefault(job.row, self.state.now)
        self.let_in()

    def exchange(self, old: Job, new: Job) -> None:
        """Put a job that was changed in the place of the old one."""
        for waiting in (self.state.queue, self.waiting.submitted):
            if old in waiting:
                waiting[waiting.index(old)] = new
        if old.row in self.state.held:
            self.state.held[old.row] = new
        for running in self.state.running:
            if running.job.row == old.row:
                running.job = new

    def passes(self, job: Job, empty: Room) -> bool:
        """Tell whether a job may wait: it fits on the empty system, or in its total, or is not checked."""
        if self.state.job_check == "none":
            return True
        if self.state.job_check == "nodes":
            return any(self.state.allocator.place(each, empty) is not None for each in job.in_each_set)
        return any(self.has_in_all(each, empty) for each in job.in_each_set)

    def has_in_all(self, job: Job, empty: Room) -> bool:
        nodes = [node for node in empty if may_use(job, node)]
        totals = [sum(node.free[place] for node in nodes) for place in range(len(job.request))]
        return all(job.tasks * asked <= total for asked, total in zip(job.request, totals, strict=True))

    def make_pass(self) -> None:
        self.entered = False
        if self.stopped:
            return
        self.passed = True
        self.state.started, self.state.preempted, self.state.booted = set(), False, False
        if self.backfill in DISCIPLINES:
            serve(self.state, self.backfill)
        elif self.backfill != "reject":
            start_preemptors(self.state)
            while RULES[self.backfill](self.state, self.reservations):
                # Victims wait at their places, and what waited for those that are cancelled may be let in.
                self.end_cancelled()
                start_preemptors(self.state)
        if self.after_pass is not None:
            self.after_pass(self.state)
        self.state.completed_since_pass = self.state.given_back = False
        # What was planned does not know that the nodes of jobs wake first.
        self.state.disturbed = self.backfill == "conservative" and self.state.booted
        for running in self.state.running:
            self.waiting.begun.setdefault(running.job.row, self.state.now)
        seen = {job.row for job in self.state.queue}
        self.let_in()
        # Those that a discipline suspended may fit elsewhere.
        self.entered |= self.state.preempted or self.state.disturbed
        if self.state.sleep is not None:
            self.state.sleep.look(self.state)
        if self.reasons is not None:
            self.reasons.look(self.state, self.waiting)
        self.look_at_gates(seen)
        if self.after_each and self.entered:
            self.make_pass()

    def look_at_gates(self, seen: set[int]) -> None:
        if self.gates is not None:
            rule = self.backfill, self.reservations
            self.gates.look(self.state, self.waiting, rule, seen, stopped=self.stopped)

    def look_while_stopped(self) -> None:
        if self.stopped:
            self.look_at_gates({job.row for job in self.state.queue})

    def end_cancelled(self) -> None:
        """End the jobs that were cancelled for another; the pass that goes on sees what that lets in."""
        for running in self.state.cancelled:
            self.end(running, "killed", self.state.now)
        self.state.cancelled.clear()
        self.let_in()
        self.entered = False

    def run(self, order_at_instant: str) -> None:
        """Simulate to the end; a run that begins in a state which is not decided begins with its instant."""
        state, is_over = self.state, False
        if self.entered:
            getattr(self, order_at_instant)()
            self.look_while_stopped()
        while (instant := self.next_instant()) < inf:
            state.now = instant
            if state.priorities:
                state.priorities.pass_time(instant)
            if state.sleep is not None:
                state.sleep.advance(state)
            getattr(self, order_at_instant)()
            self.look_while_stopped()
            if state.sleep is not None:
                state.sleep.decide(state)
                # Node events to come keep no run going whose jobs are done.
                self.power_states = self.power_states if is_over else state.sleep.intervals(instant)
            is_over = not self.is_any_left() and self.next_switch() == inf

    def leave_waiting(self, *, may_wait: bool) -> None:
        """Write down the jobs that still wait when nothing comes any more."""
        for job in [*self.state.queue, *self.waiting.submitted, *self.state.held.values()]:
            assert may_wait, "otherwise no job waits for ever"
            self.outcomes[job.row] = Outcome("queued", None, None, [])


def simulate(
    jobs: Sequence[Job],
    machine: Machine,
    order: Order = "fcfs",
    backfill: str = "none",
    allocator: str = "first_fit",
    *,
    reservations: int = 1,
    seed: int = 0,
    walltime: str = "run",
    order_at_instant: str = "completions_first",
    node_events: Sequence[NodeEvent] = (),
    interruptions: list[Interruption] | None = None,
    reasons: Reasons | None = None,
    gates: Gates | None = None,
    predictor: Predictor | None = None,
    job_check: str = "nodes",
    asked_at_timers: bool = False,
    overheads: Overheads | None = None,
    events: Sequence[ExternalEvent] = (),
    applied: list[bool] | None = None,
    controls: Sequence[Control] = (),
    switches: list[tuple[float, int, float]] | None = None,
    sleep: NodeSleep | None = None,
    power_states: list[Interval] | None = None,
    launched: dict[int, float] | None = None,
    after_pass: Callable[[State], None] | None = None,
    initial: InitialState | None = None,
) -> list[Outcome]:
    """Simulate to the end; outcomes stand in the order of rows. `interruptions` receives those, in order.

    `power_states` receives what nodes were when (S21), and `launched` from when on the nodes of the last run
    of each row were on. `after_pass` is called with the state at the end of each pass.
    The run begins in `initial`, if that is given (S28).
    With `asked_at_timers` every node event has a pass, as with schedulers written in Python.
    """
    jobs = [in_whole_cores(job, machine) for job in jobs]
    to_come = sorted(jobs, key=lambda job: job.row)
    places = Allocator(allocator, seed, resources=machine.resources)
    places.mapping = mapping_of(allocator, len(machine.capacity), machine.network)
    state = State(machine, order, places, walltime, -inf)
    state.predictor, state.job_check = predictor or Predictor(), job_check
    state.overheads = overheads or Overheads()
    begin = min((job.submit_time for job in jobs), default=0.0)
    state.service = Service(controls, machine, begin) if controls else None
    state.sleep = sleeping_of(machine, sleep, begin)
    if isinstance(order, Multifactor):
        state.priorities = Priorities(machine, order, begin)
    each = order_at_instant != "completions_first"
    kernel = Kernel(state, backfill, reservations, to_come, list(node_events), {}, each, asked_at_timers)
    kernel.gates = gates
    kernel.reasons, kernel.by_start = reasons, order_at_instant == "arrivals_first"
    kernel.after_pass, kernel.events = after_pass, sorted(events, key=lambda event: event.time)
    unknown = unknown_reservations(kernel.events, machine)
    state.machine = replace(machine, closed=machine.closed | absent_nodes(kernel.events), unknown=unknown)
    if initial is not None:
        begin_in(kernel, initial)
        if gates is not None:
            gates.begin(kernel, initial)
    kernel.run(order_at_instant)
    may_wait = (
        node_events
        or events
        or machine.closed
        or initial
        or job_check != "nodes"
        or machine.limits
        or machine.reservations
    )
    kernel.leave_waiting(may_wait=bool(may_wait))
    assert len(kernel.outcomes) == len(jobs), "no job is lost"
    if switches is not None and state.service:
        switches.extend(state.service.switches)
    if applied is not None:
        applied.extend([*kernel.applied, *(False for _ in kernel.events)])
    if power_states is not None:
        power_states.extend(kernel.power_states)
    if launched is not None:
        launched.update({running.job.row: running.ready for running, _ in state.past})
    if interruptions is not None:
        interruptions.extend(state.interruptions)
    return [kernel.outcomes[row] for row in sorted(kernel.outcomes)]
