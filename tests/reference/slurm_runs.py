"""Whole runs under Slurm's controller in plain Python: both threads wake at each of their times (S25)."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import ceil, floor, inf

from batchlab.slurm import Allotment, Entry, Held, ReservedNodes, Situation
from reference.gates import Gate
from reference.slurm import Verdict, Waiting, begun, main_begun, suitable_of
from reference.slurm_ages import Ages
from reference.slurm_asking import fits_idle, least_nodes, suitable, tasks_of_node, whole
from reference.slurm_cycle import Cycle
from reference.slurm_gates import Finding, SlurmGates, turns
from reference.slurm_jobs import KEYS, Begun, Controller, DrainedNode, Kept, Requeue, Rules, SlurmJob
from reference.slurm_selection import Machine, Weights, evaluate

__all__ = ["Place", "run"]

Place = tuple[float, tuple[tuple[int, int], ...]]


@dataclass
class Run:
    """A run under way. Of a job that holds nodes: its start, what it has, and when its run is over."""

    machine: Machine
    controller: Controller
    jobs: Sequence[SlurmJob]
    drained: Sequence[DrainedNode]
    requeues: Sequence[Requeue]
    launch: float
    completion: float
    order: str
    rules: Rules
    reservations: Sequence[Kept]
    begun: Begun | None = None
    gates: SlurmGates = field(default_factory=SlurmGates)
    now: float = 0.0
    queue: list[SlurmJob] = field(default_factory=list)
    holding: dict[SlurmJob, tuple[float, list[Allotment], float]] = field(default_factory=dict)
    places: dict[int, Place] = field(default_factory=dict)
    changed: float = -inf
    is_wanted: bool = False
    main_latest: float = -inf
    call_latest: float = -inf
    late_call: bool | None = None
    full_latest: float = -inf
    backfill_latest: float = -inf
    weights: Weights = field(default_factory=list)
    first_victims: dict[SlurmJob, float] = field(default_factory=dict)
    again: dict[SlurmJob, float] = field(default_factory=dict)
    eligible: dict[SlurmJob, float] = field(default_factory=dict)
    gone: list[SlurmJob] = field(default_factory=list)
    notices: dict[SlurmJob, tuple[float, float]] = field(default_factory=dict)
    fall_for: dict[SlurmJob, int] = field(default_factory=dict)
    """For which job those in their grace time were chosen."""
    over_time: dict[SlurmJob, int] = field(default_factory=dict)
    cycle: Cycle | None = None
    part_end: float = 0.0
    rests: bool = False
    ages: Ages = field(init=False)

    def __post_init__(self) -> None:
        self.weights = self.machine.weights()
        self.ages = Ages(self.order, min(job.submit_time for job in self.jobs))

    def waiting(self) -> list[tuple[SlurmJob, int]]:
        """Give the entries that a call looks at, each a job and one of its partitions, in order."""
        may_start = [
            (job, partition) for job in self.queue if self.may_start(job) for partition in job.partitions
        ]
        precedence, ordered = self.machine.precedence, list[tuple[SlurmJob, int]]()
        for entry in sorted(may_start, key=self.rank):
            below = precedence.preempts[entry[0].quality] if precedence else ()
            place = next((at for at, other in enumerate(ordered) if other[0].quality in below), len(ordered))
            ordered.insert(place, entry)
        return sorted(ordered, key=lambda entry: entry[0].reservation is None)

    def rank(self, entry: tuple[SlurmJob, int]) -> tuple[float, ...]:
        """Give the place of an entry: the tier of its partition, its priority there, and when it came."""
        job, partition = entry
        tier = self.machine.tiers[partition] if self.machine.tiers else 1
        return -tier, self.key(job, partition), job.submit_time, job.row

    def key(self, job: SlurmJob, partition: int) -> float:
        factor = self.machine.factors[partition] / max(self.machine.factors) if self.machine.factors else 1.0
        return KEYS[self.order](job, self.now, factor, self.ages.of(job))

    def note_called(self) -> None:
        """Let the jobs age that a call has in its queue."""
        begins = [each.begin for each in self.reservations] + [0.0]
        found = [job for job in self.queue if self.may_start(job)]
        eligible = {job: max(self.eligible[job], begins[job.at_reservation]) for job in found}
        self.ages.call(eligible, self.again, self.now)

    def waiting_of(self, job: SlurmJob, partition: int) -> Waiting:
        association = None if (job.user, job.account) == (None, None) else (job.user, job.account)
        return Waiting(job.user, association, job.array, -self.key(job, partition), floor(self.eligible[job]))

    def is_in_time(self, job: SlurmJob) -> bool:
        if job.reservation is None:
            return True
        own = self.reservations[job.reservation]
        return own.begin <= self.now < own.end and self.now + job.limit <= own.end

    def counters(self, job: SlurmJob) -> tuple[int, ...]:
        """Give numbers of the limits on nodes that count a job."""
        own = (job.quality,) if job.quality in self.rules.nodes else ()
        by_user = (
            (100 + 10 * job.quality + (job.user or 0),) if job.quality in self.rules.nodes_of_user else ()
        )
        return own + by_user

    def limits(self, job: SlurmJob) -> tuple[bool, bool]:
        """Tell whether a job is within its limits, and else whether it is evaluated all the same."""
        name = self.limit_over(job)
        return name is None, name is not None and not name.startswith("jobs")

    def limit_over(self, job: SlurmJob) -> str | None:
        """Give the first limit that a job is over."""
        rules, alike = self.rules, [other for other in self.holding if other.quality == job.quality]
        mine = [other for other in alike if other.user == job.user]

        def nodes_with(jobs: list[SlurmJob]) -> int:
            return sum(len(self.holding[other][1]) for other in jobs) + least_nodes(self.machine, job)

        if nodes_with(alike) > rules.nodes.get(job.quality, 10**6):
            return f"all q{job.quality}"
        if nodes_with(mine) > rules.nodes_of_user.get(job.quality, 10**6):
            return f"nodes q{job.quality}"
        is_over = len(mine) >= rules.jobs_of_user.get(job.quality, 10**6)
        return f"jobs q{job.quality}" if is_over else None

    def entry(self, job: SlurmJob, partition: int) -> Entry:
        per_node = 0 if whole(self.machine, job) else min(job.tasks_per_node, job.tasks)
        if per_node and job.tasks % per_node:
            per_node = 0
        nodes = 0
        if whole(self.machine, job):
            nodes = ceil(job.tasks / tasks_of_node(self.machine, job, partition))
        elif per_node:
            nodes = ceil(job.tasks / per_node)
        is_open, is_evaluated = self.limits(job)
        # Whole seconds, as the controller's clock shows them.
        first = floor(self.first_victims.get(job, -1e9))
        notice = self.controller.kill_wait + self.controller.message_timeout
        entry = Entry(
            job.row,
            job.limit,
            partition,
            is_open=is_open,
            is_evaluated=is_evaluated,
            preemption_class=job.quality,
            may_preempt=first <= floor(self.now) - notice,
            counted_in=self.counters(job),
            reservation=job.reservation,
            nodes=nodes,
            tasks=job.tasks,
            cpus_per_task=job.cpus,
            tasks_per_node=per_node,
            memory=job.memory // job.cpus,
            memory_is_per_cpu=True,
            generic=(job.gpus,) if len(self.machine.nodes[0]) > 2 else (),
            generic_is_per_task=True,
            suitable=suitable(self.machine, job, partition),
            exclusive=job.exclusive,
        )
        return entry if fits_idle(self.machine, entry) else replace(entry, is_open=False, is_evaluated=False)

    def situation(self, queue: list[Entry]) -> Situation:
        running, completing = list[Held](), list[Held]()
        for job, (start, parts, over) in self.holding.items():
            group = running if over > self.now else completing
            may_be_preempted = start < self.now and start + self.rules.exempt_time <= self.now
            end = self.notices[job][0] if job in self.notices else floor(start) + job.limit
            group.append(
                Held(
                    job.row,
                    end,
                    parts,
                    preemption_class=job.quality,
                    started=start,
                    may_be_preempted=may_be_preempted,
                    counted_in=self.counters(job),
                    over_time_limit=self.over_time[job],
                    noticed=job in self.notices,
                )
            )
        away = {each.node for each in self.drained if each.begin <= self.now < each.end}
        available = [node for node in range(len(self.machine.nodes)) if node not in away]
        fraction = self.now - floor(self.now)
        kept = [
            ReservedNodes([*each.nodes], each.begin - fraction, each.end - fraction)
            for each in self.reservations
        ]
        return Situation(floor(self.now), available, running, completing, queue, kept)

    def next_late_call(self) -> float:
        """Give when the call that is put off is made."""
        return inf if self.late_call is None else self.call_latest + self.controller.sched_min_interval / 1e6

    def make_late_call(self) -> None:
        """Make the call that was put off until now, if there is one."""
        if self.now == self.next_late_call():
            is_full, self.late_call = bool(self.late_call), None
            self.main(is_full=is_full)

    def ask_main(self, *, is_full: bool) -> None:
        """Make a call of the main loop, unless it comes too soon after the latest."""
        interval = self.controller.sched_min_interval / 1e6
        if interval >= 0.01 and (self.late_call is not None or self.now < self.call_latest + interval):
            self.late_call = is_full or bool(self.late_call)
        else:
            self.main(is_full=is_full)

    def main(self, *, is_full: bool) -> None:
        self.call_latest = self.now
        self.note_called()
        whole_queue = self.waiting()
        queue = whole_queue if is_full else whole_queue[: self.controller.default_queue_depth + 1]
        call = main_begun(self.machine, self.situation([]), self.weights)
        self.gates.calls += 1
        for job, partition in queue:
            entry = self.entry(job, partition)
            verdict = call.consider(entry)
            self.take(job, entry, verdict)
            self.note(job, call.finding)
            if entry.is_open and verdict[0] == "waits" and not self.rests:
                self.change()
        for job, partition in whole_queue[len(queue) :]:
            self.note(job, call.stopped(partition, job.reservation, is_beyond=True))

    def note(
        self,
        job: SlurmJob,
        finding: Finding,
        cycle: Cycle | None = None,
        planned: float | None = None,
    ) -> None:
        """Note what a call found of an entry, if its job waits."""
        if self.may_start(job):
            number = self.gates.calls if cycle is None else cycle.number
            self.gates.note(job, finding, by_cycle=cycle is not None, call=number, planned=planned)

    def make_cycle(self) -> float:
        """Begin a cycle, or go on with one; give when the thread wakes next."""
        cycle = self.cycle
        if cycle is None:
            self.note_called()
            call = begun(self.machine, self.situation([]), self.weights)
            left = [(job, part, self.waiting_of(job, part)) for job, part in self.waiting()]
            self.gates.calls += 1
            cycle = self.cycle = Cycle(self.now, call, left, self.gates.calls)
        elif cycle.is_disturbed and not self.controller.bf_continue:
            self.leave_out(cycle, "bf_continue")
            return self.end_cycle(cycle, self.now)
        else:
            cycle.call.see(self.situation([]))
        time = self.make_part(cycle)
        if time is not None:
            cycle.is_disturbed, cycle.has_paused = False, True
            return time + self.controller.bf_yield_sleep / 1e6
        self.leave_out(cycle, "bf_max_time")
        return self.end_cycle(cycle, self.part_end)

    def leave_out(self, cycle: Cycle, parameter: str) -> None:
        """Note that a cycle ends before its last entries, by a depth or else by another parameter."""
        for job, _, _ in cycle.left:
            finding = cycle.call.stopped() or Gate("not_looked_at", detail=parameter)
            self.note(job, finding, cycle)

    def make_part(self, cycle: Cycle) -> float | None:
        """Decide on entries; give when the part is over where the cycle goes on after it."""
        rules, call, before = self.controller, cycle.call, cycle.call.tested
        self.part_end = self.now
        while cycle.left and not call.is_over:
            if floor(self.part_end) - floor(cycle.begin) >= rules.bf_max_time:
                return None
            if (call.tested - before) * rules.bf_test_time >= rules.bf_yield_interval / 1e6:
                return self.part_end
            job, partition, waiting = cycle.left.pop(0)
            if self.may_start(job):
                entry = self.entry(job, partition)
                verdict = call.consider(entry, replace(waiting, eligible=floor(self.eligible[job])))
                self.take(job, entry, verdict)
                self.note(job, call.finding, cycle, call.promise)
            self.part_end = self.now + (call.tested - before) * rules.bf_test_time
        return None

    def may_start(self, job: SlurmJob) -> bool:
        """Tell whether a job waits, and may start now."""
        return job in self.queue and self.again.get(job, self.now) <= self.now and self.is_in_time(job)

    def end_cycle(self, cycle: Cycle, end: float) -> float:
        """Give when the thread wakes after a cycle; what changed in it counts as of its end."""
        self.cycle, self.backfill_latest = None, floor(end)
        may_be_cut = end - cycle.begin > self.controller.bf_max_time - 1
        is_irregular = cycle.has_paused or may_be_cut or bool(cycle.left and not cycle.call.is_over)
        if is_irregular and not cycle.has_changed and self.is_idle():
            self.rests, self.changed = True, -inf
        elif cycle.has_changed or cycle.call.puts_off:
            self.change()
        return end + self.controller.bf_interval

    def is_idle(self) -> bool:
        """Tell whether no job runs or waits after a preemption or requeue, and no reservation is to come."""
        notice = self.controller.kill_wait + self.controller.message_timeout
        waits = any(time > self.now for time in self.again.values())
        waits |= any(floor(first) > floor(self.now) - notice for first in self.first_victims.values())
        return not self.holding and not waits and all(each.end <= self.now for each in self.reservations)

    def change(self) -> None:
        """Take note of a change that makes backfill work; one during a cycle waits for its end."""
        self.rests = False
        self.changed = max(floor(self.now), self.backfill_latest)
        if self.cycle is not None:
            self.cycle.is_disturbed = self.cycle.has_changed = True

    def take(self, job: SlurmJob, entry: Entry, verdict: Verdict) -> None:
        kind, _, parts, victims = verdict
        if kind == "preempts":
            by_row = {each.row: each for each in self.jobs}
            self.preempt(job, [by_row[row] for row in victims])
        if kind == "started":
            self.start(job, entry, parts)

    def start(self, job: SlurmJob, entry: Entry, parts: list[Allotment]) -> None:
        left = job.tasks
        spread = list[tuple[int, int]]()
        of_node = tasks_of_node(self.machine, job, entry.partition) if whole(self.machine, job) else None
        for part in parts:
            tasks = min(of_node or part.cpus // job.cpus, left)
            left -= tasks
            spread.append((part.node, tasks))
        self.queue.remove(job)
        self.first_victims.pop(job, None)
        self.again.pop(job, None)
        own = self.machine.over_times[entry.partition] if self.machine.over_times else None
        self.over_time[job] = self.controller.over_time_limit if own is None else own
        self.holding[job] = self.now, parts, self.end_of_run(job)
        self.places[job.row] = self.now, tuple(spread)
        self.change()

    def end_of_run(self, job: SlurmJob) -> float:
        """Give when the run of a job that starts now is over: done, or ended at a look at the limits."""
        begin = self.now + self.launch
        look = self.controller.limit_phase
        while look < floor(self.now) + job.limit + self.over_time[job]:
            look += 30
        return min(begin + job.run_time, max(look, begin))

    def preempt(self, job: SlurmJob, victims: list[SlurmJob]) -> None:
        """Take victims from their nodes; they wait again, or end, when the calls of this instant are over.

        Where they have a grace time that has not begun, they run on until a look at the limits after it.
        """
        self.first_victims.setdefault(job, self.now)
        self.change()
        for victim in victims:
            if self.rules.grace_time and victim not in self.notices:
                limit = floor(self.holding[victim][0]) + victim.limit
                end = min(limit, floor(self.now) + self.rules.grace_time)
                self.notices[victim] = end, self.look_after(end)
                self.fall_for[victim] = job.row
                continue
            self.leave(victim)
            self.gone.append(victim)
            if self.may_wait_again(victim):
                self.put_off(victim)

    def look_after(self, end: float) -> float:
        """Give the first look at the limits, later than now, by which a grace time is over."""
        look = self.controller.limit_phase
        while look < end or look <= self.now:
            look += 30
        return look

    def leave(self, job: SlurmJob) -> None:
        del self.holding[job]
        self.notices.pop(job, None)
        self.fall_for.pop(job, None)

    def take_fallen(self) -> list[SlurmJob]:
        """Take victims from their nodes whose grace time is over, and whose run is not."""
        found = list[SlurmJob]()
        for job, (_, look) in [*self.notices.items()]:
            start, _, over = self.holding[job]
            is_launched = self.now > start + self.launch or not self.launch
            if look == self.now and (over > self.now or not is_launched):
                self.leave(job)
                found.append(job)
                if self.may_wait_again(job):
                    self.put_off(job)
        return found

    def may_wait_again(self, victim: SlurmJob) -> bool:
        return victim.requeue and not self.rules.cancels

    def put_off(self, job: SlurmJob) -> None:
        """Let a job wait again that has lost its nodes; it may not start at once."""
        del self.places[job.row]
        self.ages.forget(job)
        self.again[job] = self.eligible[job] = self.now + self.controller.requeue_delay

    def dismiss(self) -> bool:
        """Let victims wait again, whose epilog calls the main loop; whether there are any."""
        gone, self.gone = self.gone, []
        if gone:
            again = [victim for victim in gone if self.may_wait_again(victim)]
            self.queue += again
            self.enter(again)
            self.change()
            self.is_wanted = True
            if self.calls_at_once():
                self.ask_main(is_full=False)
        return bool(gone)

    def calls_at_once(self) -> bool:
        """Tell whether nodes that come free call the main loop themselves."""
        return self.controller.epilog and not self.controller.defer

    def take_events(self) -> bool:
        """Take what happens now; whether nodes were released."""
        arrived = [job for job in self.jobs if job.submit_time == self.now]
        if self.begun is not None and self.now == self.begun.time:
            arrived = []
            self.begin_in(self.begun)
        requeued, ended = self.take_requeues()
        fallen = self.take_fallen()
        requeued += [job for job in fallen if self.may_wait_again(job)]
        ended += [job for job in fallen if not self.may_wait_again(job)]
        turned = bool(requeued or ended) or any(self.now in (each.begin, each.end) for each in self.drained)
        over = any(over == self.now for _, _, over in self.holding.values())
        gone = [job for job, (_, _, over) in self.holding.items() if over + self.completion == self.now]
        for job in gone:
            self.leave(job)
        gone += ended
        self.queue += [*arrived, *requeued]
        self.enter([*arrived, *requeued])
        for job in arrived:
            self.eligible[job] = self.now
            self.evaluate(job)
        turns = any(self.now in (each.begin, each.end) for each in self.reservations)
        turned |= turns and bool(self.queue)
        if arrived or turned or over or gone:
            self.change()
        self.is_wanted |= bool(arrived) or turned or (bool(gone) and not self.calls_at_once())
        return bool(gone)

    def enter(self, jobs: Sequence[SlurmJob]) -> None:
        """Note jobs that enter the queue."""
        for job in jobs:
            self.gates.enter(job, self.now)

    def begin_in(self, begun: Begun) -> None:
        """Begin in a state: jobs run, wait or are over, and everything has changed (S28)."""
        by_row = {job.row: job for job in self.jobs}
        for row, (start, spread) in begun.running.items():
            job, self.now = by_row[row], start
            nodes = {node for node, _ in spread}
            partition = next(each for each in job.partitions if nodes <= self.machine.partitions[each][0])
            self.queue.append(job)
            self.start(job, self.entry(job, partition), self.held_on(job, partition, spread))
            self.places[row] = start, spread
        self.now = begun.time
        here = [job for job in self.jobs if job.submit_time <= begun.time]
        self.queue = [job for job in here if job.row not in begun.over and job not in self.holding]
        self.eligible |= {job: job.submit_time for job in self.queue}
        begins = [each.begin for each in self.reservations] + [0.0]
        waiting = [job for job in self.queue if self.may_start(job)]
        since = {job: max(floor(self.eligible[job]), begins[job.at_reservation]) for job in waiting}
        self.ages.recall(since)
        self.change()
        self.is_wanted = True
        self.gates.begin(self, begun)

    def held_on(self, job: SlurmJob, partition: int, spread: tuple[tuple[int, int], ...]) -> list[Allotment]:
        """Return the allotments of a job on nodes with so many of its tasks on each."""
        entry, machine = self.entry(job, partition), self.machine
        if machine.select == "linear":
            return [Allotment(node, machine.nodes[node][0], machine.nodes[node][1]) for node, _ in spread]
        cpus = {node: machine.nodes[node][0] if job.exclusive else tasks * job.cpus for node, tasks in spread}
        return [machine.allotment(entry, node, cpus[node]) for node in cpus]

    def take_requeues(self) -> tuple[list[SlurmJob], list[SlurmJob]]:
        """Take jobs from their nodes; give those that wait again, and those that had only to leave."""
        begin = -inf if self.begun is None else self.begun.time
        rows = {each.row for each in self.requeues if begin < each.time == self.now}
        may_be = [(job, over) for job, (_, _, over) in self.holding.items() if job.requeue]
        taken = [(job, over) for job, over in may_be if job.row in rows]
        again = [job for job, over in taken if over >= self.now]
        for job, _ in taken:
            self.leave(job)
        for job in again:
            self.put_off(job)
        return again, [job for job, over in taken if over < self.now]

    def evaluate(self, job: SlurmJob) -> None:
        """Let nodes have the weights of a job that is submitted."""
        running = self.situation([]).running
        for partition in job.partitions if job.reservation is None else ():
            entry, nodes = self.entry(job, partition), self.machine.partitions[partition][0]
            evaluate(self.machine, running, entry, suitable_of(entry, nodes), self.weights)

    def wake_main(self) -> None:
        rules, second = self.controller, floor(self.now)
        is_full = second - self.full_latest >= rules.sched_interval
        if is_full or (self.is_wanted and second - self.main_latest >= rules.batch_sched_delay):
            self.ask_main(is_full=is_full)
            self.main_latest, self.is_wanted = second, False
            self.full_latest = second if is_full else self.full_latest

    def wake_backfill(self) -> float:
        """Give when the thread wakes next."""
        has_work = self.changed > -inf and self.changed >= self.backfill_latest
        return self.make_cycle() if self.cycle is not None or has_work else self.now + 1

    def next_event(self) -> float:
        if self.begun is not None and self.now < self.begun.time:
            return self.begun.time
        times = [job.submit_time for job in self.jobs]
        times += [time for each in self.drained for time in (each.begin, each.end)]
        times += [each.time for each in self.requeues]
        times += [time for each in self.reservations for time in (each.begin, each.end)]
        times += [look for _, look in self.notices.values()]
        times += turns(self)
        times += [time for _, _, over in self.holding.values() for time in (over, over + self.completion)]
        return min((time for time in times if time > self.now), default=inf)


def run(
    machine: Machine,
    controller: Controller,
    jobs: Sequence[SlurmJob],
    drained: Sequence[DrainedNode] = (),
    *,
    requeues: Sequence[Requeue] = (),
    launch: float = 0.0,
    completion: float = 0.0,
    order: str = "fcfs",
    rules: Rules | None = None,
    reservations: Sequence[Kept] = (),
    begun: Begun | None = None,
    gates: SlurmGates | None = None,
) -> dict[int, Place]:
    """Give when and where each job starts, with how many tasks on each node; some jobs never start.

    A run may begin in a state. `gates` are filled in if they are given.
    """
    state = Run(
        machine,
        controller,
        jobs,
        drained,
        requeues,
        launch,
        completion,
        order,
        rules or Rules(),
        reservations,
        begun,
        gates or SlurmGates(is_asked=False),
    )
    interval, period = controller.sched_interval, 1 + controller.main_lag
    first = min([job.submit_time for job in jobs] + [each.begin for each in drained])
    first = first if begun is None else begun.time
    origin = controller.main_phase + floor(first / interval) * interval
    state.main_latest = state.full_latest = floor(origin) - interval
    number, state.now = -interval, first - 1.0
    start = max(first, controller.backfill_start)
    backfill = ceil(start - controller.backfill_phase) + controller.backfill_phase
    # Where nothing happens for so long, nothing is left to happen.
    idle, quiet = 0.0, 3.0 * (interval + controller.bf_interval) + controller.batch_sched_delay
    quiet += controller.requeue_delay + controller.sched_min_interval / 1e6 + start - first
    while True:
        event, main = state.next_event(), origin + number * period
        state.now = min(event, main, backfill, state.next_late_call())
        if event == inf and not state.queue and not state.holding:
            return state.places
        if event < inf or state.holding:
            idle = state.now
        elif state.now > idle + quiet:
            return state.places
        state.ages.calculate(state.now)
        if state.now == event and state.take_events() and state.calls_at_once():
            state.ask_main(is_full=False)
        if state.now == main:
            state.wake_main()
            number += 1
        state.make_late_call()
        if state.now == backfill:
            backfill = state.wake_backfill() if controller.backfill else inf
        state.gates.look(state)
        while state.dismiss():
            # A thread that wakes at this instant and has not called sees the nodes that victims have left.
            if state.now == main and state.main_latest < floor(main):
                state.wake_main()
            state.gates.look(state)
