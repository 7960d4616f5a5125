"""The state between events, and what backfilling rules may do with it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from math import inf

from reference.allocators import Allocator
from reference.causes import Causes
from reference.model import (
    Interruption,
    Job,
    Leg,
    Machine,
    Multifactor,
    Order,
    Overhead,
    Overheads,
    Placement,
)
from reference.orders import is_dynamic, order_key
from reference.plan import Plan, Rectangle, room_over
from reference.predictors import Predictor
from reference.priorities import Priorities
from reference.rates import Clock, Service
from reference.reservations import in_time, instants, opened
from reference.room import Room, room_beside
from reference.sleep import Sleeping, counts_from, room_awake


@dataclass
class Running:
    """A started job; schedulers do not see what stands below `placement`.

    `end` is that of the present phase: "launching", "running", "suspending" or "completing" (S17). `begun`
    is when the run began, `work` how long it lasts unless it is cut, `overhead` what is before and after it,
    and `state` what the job will be. `holds`: it did not give its nodes back yet.

    `launch` is how long it is launched once all of its nodes are on, at `ready` (S21). What is being
    suspended keeps `kept`, until `suspend_end`. `ran_until` is when its limit was changed. As a victim it
    gives its nodes up at `grace_end`, for the job of the row `preemptor` (S16).

    Where rates are controlled `clock` serves it, from `begun_service` to `end_service` (S19). `limit` is when
    its run would be cut; `left` the work that it had left when it gave up its nodes.
    """

    job: Job
    start: float
    placement: Placement
    overhead: Overhead = field(default_factory=Overhead)
    work: float = 0.0
    phase: str = "launching"
    begun: float = inf
    end: float = inf
    state: str = "completed"
    holds: bool = True
    expiry: float = inf
    grace_end: float = inf
    preemptor: int | None = None
    ran_until: float = 0.0
    clock: Clock | None = None
    begun_service: float = 0.0
    end_service: float = 0.0
    limit: float = inf
    left: float = 0.0
    launch: float = 0.0
    kept: float = 0.0
    suspend_end: float = inf
    ready: float = 0.0
    leg: Leg | None = None

    @property
    def is_leg(self) -> bool:
        """Whether something happens to it where its run is over (S18), so that it waits again."""
        return self.phase == "running" and self.leg is not None and self.state != "killed"

    @property
    def is_last_phase(self) -> bool:
        """Whether it ends when its present phase does."""
        is_run = self.phase == "running" and not self.is_leg
        return self.phase == "completing" or (is_run and not self.overhead.completion)

    def ends_at(self, now: float) -> bool:
        """Tell whether it ends at this instant."""
        return self.is_last_phase and self.end == now

    def done(self, now: float) -> float:
        """Give the seconds that it has run."""
        if self.phase == "suspending":
            return self.kept
        if self.phase != "running":
            return 0.0
        return now - self.begun if self.clock is None else self.clock.at(now) - self.begun_service

    def remaining(self, now: float) -> float:
        """Give the work that it has left."""
        if self.job.until is not None:
            return 0.0
        if self.phase in {"running", "suspending"}:
            return max(0.0, self.work - self.done(now))
        return self.work if self.phase == "launching" else 0.0


@dataclass
class State:
    """Clock, queue, running jobs, and the conservative rule's reservations by row.

    `reserved` has the reservations of EASY at the end of the latest pass.
    """

    machine: Machine
    order: Order
    allocator: Allocator
    walltime: str
    now: float
    queue: list[Job] = field(default_factory=list)
    keys: dict[int, float] = field(default_factory=dict)
    running: list[Running] = field(default_factory=list)
    reservations: dict[int, Rectangle] = field(default_factory=dict)
    reserved: Plan = field(default_factory=list)
    completed_since_pass: bool = False
    disturbed: bool = False
    saved: dict[int, float] = field(default_factory=dict)
    interruptions: list[Interruption] = field(default_factory=list)
    past: list[tuple[Running, float]] = field(default_factory=list)
    started: set[int] = field(default_factory=set)
    preempted: bool = False
    suspended: list[tuple[float, int]] = field(default_factory=list)
    given_back: bool = False
    ends_are_taken: bool = False
    preemptors: set[int] = field(default_factory=set)
    fallen: dict[int, int] = field(default_factory=dict)
    cancelled: list[Running] = field(default_factory=list)
    predictor: Predictor = field(default_factory=Predictor)
    estimates: dict[int, float] = field(default_factory=dict)
    job_check: str = "nodes"
    priorities: Priorities | None = None
    overheads: Overheads = field(default_factory=Overheads)
    holds: set[int] = field(default_factory=set)
    held: dict[int, Job] = field(default_factory=dict)
    returns: dict[int, float] = field(default_factory=dict)
    legs_over: dict[int, int] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    service: Service | None = None
    fixed: dict[int, float] = field(default_factory=dict)
    sleep: Sleeping | None = None
    booted: bool = False
    causes: Causes = field(default_factory=Causes)

    def estimate(self, job: Job) -> float:
        """Give what schedulers take a job's run time to be."""
        return self.estimates.get(job.row, job.requested_time)

    def correct(self, running: Running) -> None:
        """Ask anew for the estimate of a job that has run for it."""
        job = running.job
        old = self.estimate(job)
        self.estimates[job.row] = self.predictor.correct(job, old)
        end = counts_from(self, running) + self.estimate(job)
        running.expiry = end if end > self.now else inf
        self.disturbed |= self.estimate(job) != old

    def ordered_queue(self) -> list[Job]:
        """Give the queue in order: static keys are kept from submission, dynamic ones computed now."""
        if self.priorities:
            if isinstance(self.order, Multifactor) and not self.order.period:
                self.priorities.calculate(self.now)
            self.keys = {job.row: self.priorities.key(job) for job in self.queue}
        for job in [] if self.priorities else self.queue:
            if is_dynamic(self.order) or job.row not in self.keys:
                self.keys[job.row] = order_key(self.order, job, self.machine, self.now, self.estimate(job))
        self.keys |= {job.row: -self.fixed[job.row] for job in self.queue if job.row in self.fixed}
        return sorted(self.queue, key=lambda job: (-job.tier, self.keys[job.row], job.submit_time, job.row))

    def running_plan(self) -> Plan:
        """Give the running jobs until their estimated ends: one past it holds nothing from now on."""
        plan = []
        for each in self.running:
            if each.holds:
                end = max(self.expected_end(each), self.now)
                plan.append(Rectangle(each.start, end, each.job, each.placement))
        return plan

    def expected_end(self, running: Running) -> float:
        """Give when a running job is expected to give back its nodes: by its estimate, or as a victim."""
        end = counts_from(self, running) + self.estimate(running.job)
        return min(end, running.grace_end, running.suspend_end)

    def supposed_end(self, job: Job, placement: Placement) -> float:
        """Give when a job that starts now on some nodes is expected to end."""
        is_free = self.sleep is None or self.sleep.rules.counted
        ready = self.now if is_free or self.sleep is None else self.sleep.ready(placement, self.now)
        return ready + self.estimate(job)

    def room_now(self) -> Room:
        """Give what is really free now: past its estimate a job still holds its nodes."""
        return room_beside(self.machine, [(each.job, each.placement) for each in self.running_plan()])

    def room_for(self, job: Job) -> Room:
        """Give what is free now for a job: not what is reserved for others before it would be gone."""
        return opened(self.room_now(), job, self.machine, self.now)

    def place_now(self, job: Job) -> Placement | None:
        """Place a job in the first of its node sets in which it fits."""
        room = self.room_for(job)
        prefers = self.sleep is not None and self.sleep.rules.prefer_on
        rooms = [room_awake(self, room), room] if prefers else [room]
        # In each of its sets it goes to nodes that are on alone, if it fits there.
        placements = (self.allocator.place(each, part) for each in job.in_each_set for part in rooms)
        return next((placement for placement in placements if placement is not None), None)

    def reserve(self, job: Job, plan: Plan, instants: Iterable[float]) -> Rectangle | None:
        """Reserve at the first of the instants from which the job fits for its whole requested_time."""
        for instant in instants:
            if not in_time(job, self.machine, instant):
                continue
            room = room_over(self.machine, plan, instant, self.estimate(job))
            room = opened(room, job, self.machine, instant)
            for each in job.in_each_set:
                placement = self.allocator.place(each, room)
                if placement is not None:
                    return Rectangle(instant, instant + self.estimate(job), job, placement)
        return None

    def reserve_earliest(self, job: Job, plan: Plan) -> Rectangle:
        """Reserve now, or at the earliest later instant at which something is given back.

        Reservations of the machine begin or end at such instants too (S14). What does not fit on what the
        machine offers is reserved for never, and holds nothing.
        """
        ends = {*(each.end for each in plan), *instants(self.machine)}
        later = sorted(end for end in ends if self.now < end < inf)
        reservation = self.reserve(job, plan, [self.now, *later])
        all_fit = self.job_check == "nodes" and not self.machine.closed and not self.machine.withheld
        # In some of its partitions a job may never fit, nor beside what never ends.
        all_fit = all_fit and not self.machine.reservations and len(job.in_partitions) <= 1
        all_fit = all_fit and all(each.end < inf for each in plan)
        assert reservation is not None or not all_fit
        return reservation or Rectangle(inf, inf, job, [])

    def start(self, job: Job, placement: Placement) -> None:
        overhead = self.overhead(job)
        ready = self.now if self.sleep is None else self.sleep.take(placement, self.now)
        self.booted |= ready > self.now
        running = Running(job, self.now, placement, overhead, self.work_left(job), ready=ready)
        self.running.append(running)
        if self.service:
            self.service.count_busy(self.now, job, placement, 1)
        if self.overheads.billed:
            self.charge(running)
        running.launch = overhead.launch + (overhead.resume if self.saved.get(job.row) else 0.0)
        running.leg = self.next_leg(job)
        if running.launch or ready > self.now:
            running.end = ready + running.launch
        else:
            self.begin_work(running)
        self.queue.remove(job)
        self.causes.add(self.now, "start", job.row)
        self.fallen.pop(job.row, None)
        self.started.add(job.row)
        self.reservations.pop(job.row, None)
        self.allocator.last_node = placement[-1][0]

    def overhead(self, job: Job) -> Overhead:
        """Give the overheads of a job: no more of those that count against its limit than this admits."""
        overhead = self.overheads.of(job)
        if self.walltime == "run" or not self.overheads.counted:
            return overhead
        launch = min(overhead.launch, job.first_limit)
        return replace(overhead, launch=launch, completion=min(overhead.completion, job.first_limit - launch))

    def begin_work(self, running: Running) -> None:
        """Let a job run, whose launch is over."""
        running.phase, running.begun = "running", self.now
        if running.job.until is not None:
            running.work = running.job.until - self.now
        elif self.service:
            self.service.begin(self.now, running)
        self.limit_run(running)
        base = counts_from(self, running)
        expiry = base + self.estimate(running.job)
        was_launched = running.launch or base < running.ready
        if self.predictor.corrects and (expiry > self.now or not was_launched):
            running.expiry = expiry
        if not self.overheads.billed:
            self.charge(running)

    def limit_run(self, running: Running) -> None:
        """Let a run be cut at its limit, or now where that is over, if it is not done before."""
        allowed = running.job.limit
        if self.sleep is not None and self.sleep.rules.counted:
            allowed = max(0.0, allowed - (running.ready - running.start))
        if self.overheads.counted:
            allowed = max(0.0, allowed - running.overhead.launch - running.overhead.completion)
        elapsed = self.now - running.begun
        running.limit = self.now + max(0.0, allowed - elapsed) if self.walltime == "kill" else inf
        self.end_run(running)

    def end_run(self, running: Running) -> None:
        """Let a run end when its work is done at the present rate, or at its limit."""
        end = running.begun + running.work
        if running.job.until is not None:
            end = max(running.job.until, running.begun)
        elif running.clock:
            end = running.clock.time_of(running.end_service)
        # Where the limit is reached as the work is done, the work counts.
        killed = end > running.limit
        running.end = running.limit if killed else end
        goes_on = running.leg is not None or running.job.row in self.ended
        ends = "completed" if goes_on else running.job.ends
        running.state = "killed" if killed else ends

    def follow_rates(self) -> None:
        """Let runs end as the present rates have it."""
        for running in self.running:
            if running.clock:
                self.end_run(running)

    def key_event(self, event: str, job: Job, work: float) -> None:
        """Let controls take note of a job that arrives with this work, or departs with so much of it left."""
        if self.service:
            self.service.key_event(self.now, event, job, work)
            self.follow_rates()

    def work_left(self, job: Job) -> float:
        """Give the work that a job that does not run has left."""
        if self.service and job.until is not None:
            return 0.0
        leg = self.next_leg(job)
        seconds = leg.seconds if leg is not None else job.last if job.legs else job.run_time
        if leg is None or not leg.is_suspended:
            seconds += self.overheads.of(job).execution
        return max(0.0, seconds - self.saved.get(job.row, 0.0))

    def next_leg(self, job: Job) -> Leg | None:
        """Give what happens to a job next while it runs; None on its last run."""
        over = self.legs_over.get(job.row, 0)
        return job.legs[over] if over < len(job.legs) else None

    def completed_early(self, job: Job) -> None:
        """Let nothing more happen to a job whose run an event ended."""
        self.legs_over[job.row] = len(job.legs)
        self.ended.add(job.row)

    def end_leg(self, running: Running, leg: Leg) -> None:
        """End a run after which the job waits again: in the queue, or outside until its pause is over."""
        row = running.job.row
        saved = running.work if leg.is_suspended else 0.0
        self.legs_over[row] = self.legs_over.get(row, 0) + 1
        until = self.now + leg.pause if leg.is_suspended else self.now
        self.give_up(running, saved, leg.seconds if leg.is_suspended else 0.0)
        if until > self.now:
            self.held[row], self.returns[row] = running.job, until
        else:
            self.wait(running.job)

    def return_held(self, row: int) -> None:
        """Let a job that was held wait in the queue."""
        self.returns.pop(row, None)
        self.wait(self.held.pop(row))
        self.disturbed = True

    def forgo(self, running: Running) -> None:
        """Serve a running job no more: what it has left does not count."""
        if self.service:
            self.service.change_work(self.now, running.job, -running.remaining(self.now))
            self.service.end(self.now, running)

    def goes_on(self, running: Running) -> bool:
        """Let a job whose present phase is over go on to its next; tell whether there is one."""
        if running.is_last_phase:
            return False
        if running.phase == "launching":
            self.begin_work(running)
            return True
        if running.is_leg and running.leg is not None:
            self.disturbed = True
            self.end_leg(running, running.leg)
            return True
        if running.phase == "suspending":
            self.disturbed = True
            self.interrupt(running, running.kept)
            return True
        self.forgo(running)
        running.phase, running.end, running.expiry = "completing", self.now + running.overhead.completion, inf
        if not self.overheads.billed:
            self.charge_no_more(running)
        return True

    def charge(self, running: Running) -> None:
        """Charge a job for its nodes from now on."""
        if self.priorities:
            self.priorities.start(running.job, running.placement, self.now)

    def charge_no_more(self, running: Running) -> None:
        """Charge a job no more."""
        if self.priorities:
            self.priorities.end(running.job, self.now)

    def wait(self, job: Job) -> None:
        """Queue a job, which is eligible from now on; one that waits again has its key computed anew."""
        self.queue.append(job)
        self.keys.pop(job.row, None)
        if self.priorities:
            self.priorities.eligible[job.row] = self.now

    def cut_short(
        self, running: Running, kill: Callable[[Running], None], *, kills: bool = False, saved: float = 0.0
    ) -> None:
        """Kill a running job, or let it wait again; if its run is over, only the completion is cut short."""
        if kills or running.phase == "completing":
            kill(running)
        else:
            self.interrupt(running, saved)

    def suspend(self, running: Running) -> None:
        """Let a running job give up its nodes, at once or later, and wait again with its work kept."""
        if running.phase == "suspending":
            return
        if not running.overhead.suspend:
            self.interrupt(running, running.done(self.now))
            return
        running.kept, running.phase = running.done(self.now), "suspending"
        if self.service:
            self.service.end(self.now, running)
        running.end = running.suspend_end = self.now + running.overhead.suspend
        running.expiry = inf
        if not self.overheads.billed:
            self.charge_no_more(running)

    def leave(self, running: Running) -> None:
        """Let a job run no more; `past` keeps what ran until when."""
        self.given_back |= running.holds
        self.causes.add(self.now, "end", running.job.row)
        self.running.remove(running)
        self.past.append((running, self.now))
        if running.holds:
            self.allocator.freed(running.placement)
        running.left = running.remaining(self.now)
        if self.service:
            self.service.count_busy(self.now, running.job, running.placement, -1)
            self.service.end(self.now, running)
        self.charge_no_more(running)
        if self.sleep is not None:
            self.sleep.touch(dict(running.placement), self.now)

    def interrupt(self, running: Running, saved: float) -> None:
        """Let a running job give up its nodes and wait again."""
        self.give_up(running, saved, self.saved.get(running.job.row, 0.0) + saved)
        self.wait(running.job)

    def give_up(self, running: Running, saved: float, saved_in_all: float) -> None:
        """Let a running job give up its nodes; so much of its run is kept, and so much of its attempt."""
        self.leave(running)
        row = running.job.row
        self.saved[row] = saved_in_all
        if self.service:
            again = self.work_left(running.job) - running.left
            self.service.change_work(self.now, running.job, again)
        nodes = running.placement
        self.interruptions.append(Interruption(row, running.start, self.now, saved, nodes))
