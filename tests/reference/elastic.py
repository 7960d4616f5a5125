"""A whole simulation in the manner of ElastiSim: the scheduler is asked event by event.

Messages and decisions are mappings in the form of ElastiSim's protocol.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from math import ceil, inf
from typing import Any

from reference.applications import Model, Run
from reference.formulas import Value
from reference.moments import Moment, floor, lasted
from reference.sharing import Rule, fair_bottleneck
from reference.world import Platform, World

TYPES = ("rigid", "moldable", "malleable", "evolving", "adaptive")
KINDS = ("periodic", "submit", "completed", "killed", "scheduling_point", "evolving_request")


class State(IntEnum):
    """Of a job; the numbers are the protocol's."""

    EXPECTED = 0
    PENDING = 1
    ALLOCATION = 2
    KILL = 3
    RUNNING = 4
    RECONFIGURATION = 5
    RECONFIGURING = 6
    COMPLETED = 7
    KILLED = 8


@dataclass(eq=False)
class Job:
    """What is known of a job, and what became of it; `nodes` and `gpus` are (least, most)."""

    number: int
    job_type: str
    submit_time: float
    nodes: tuple[int, int]
    model: Model
    arguments: Mapping[str, Value] = field(default_factory=dict)
    gpus: tuple[int, int] = (0, 0)
    walltime: float = inf
    state: State = State.EXPECTED
    start_time: float = -1.0
    end_time: float = -1.0
    begun: Moment = 0.0
    run_time: float = -1.0
    assigned: list[int] = field(default_factory=list)
    executing: list[int] = field(default_factory=list)
    assigned_gpus: int = 0
    run: Run | None = None
    begin: float = inf

    @property
    def executing_gpus(self) -> int:
        return self.gpus[0] if self.job_type == "rigid" else self.assigned_gpus

    @property
    def flexible(self) -> bool:
        return self.job_type in TYPES[2:]


@dataclass
class Node:
    """A host that runs jobs, and expects some."""

    host: int
    running: list[Job] = field(default_factory=list)
    expected: list[Job] = field(default_factory=list)

    @property
    def state(self) -> int:
        return 1 if self.running else 2 if self.expected else 0


@dataclass(frozen=True)
class Settings:
    """When the scheduler is asked: about each event, as by ElastiSim, or once an instant; times in s."""

    event_by_event: bool = True
    on_submit: bool = True
    on_finalise: bool = True
    on_scheduling_point: bool = True
    on_reconfiguration: bool = False
    interval: float = 0.0
    since: float | None = None
    grace: float = 0.0
    launch: float = 0.0
    clip: bool = True


@dataclass(frozen=True)
class Invocation:
    """One question to the scheduler; jobs at `points` wait for it, and ask for so many tasks or 0."""

    time: float
    kind: str
    job: Job | None
    tasks: int
    points: list[tuple[Job, int]]
    changed_jobs: list[Job]
    changed_nodes: list[int]


Decision = Mapping[str, Any]
Decide = Callable[["Elastic", Invocation], Sequence[Decision]]


@dataclass
class Elastic:
    """A simulation: jobs in the order of their numbers, nodes by id, and who decides."""

    platform: Platform
    nodes: list[Node]
    jobs: list[Job]
    decide: Decide
    settings: Settings = field(default_factory=Settings)
    rule: Rule = fair_bottleneck
    invocations: list[Invocation] = field(default_factory=list)
    changed_jobs: dict[Job, None] = field(default_factory=dict)
    changed_nodes: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.world = World(self.platform, self.rule)
        self.mailbox: deque[tuple[Job, str, int]] = deque()
        # Jobs that are done, and end at a later float64 time.
        self.ending: list[tuple[float, Job]] = []
        self.to_come = deque(sorted(self.jobs, key=lambda job: job.submit_time))
        self.hear = {
            "completed": self.hear_completion,
            "scheduling_point": self.hear_scheduling_point,
            "evolving_request": self.hear_evolving_request,
        }
        self.limits: dict[Job, float] = {}
        # Without event-by-event questions, what the scheduler kills is a reason to ask again.
        self.killed = False
        # The clock asks after each interval since an instant, but not before the first submission.
        first = self.to_come[0].submit_time if self.to_come else 0.0
        self.since = first if self.settings.since is None else self.settings.since
        self.intervals = max(ceil((first - self.since) / (self.settings.interval or inf)), 1)
        self.changed_nodes = list(range(len(self.nodes)))

    @property
    def periodic(self) -> float:
        """When the clock asks next."""
        return self.since + self.settings.interval * self.intervals if self.settings.interval else inf

    def next_time(self) -> Moment:
        submission = self.to_come[0].submit_time if self.to_come else inf
        notice = self.world.now if self.mailbox or self.killed else inf
        limit = min(self.limits.values(), default=inf)
        begin = min(job.begin for job in self.jobs)
        end = min((time for time, _ in self.ending), default=inf)
        return min(self.world.next_time(), notice, limit, begin, end, self.periodic, submission)

    def simulate(self, until: float = inf) -> None:
        """Go on until all jobs have ended."""
        while any(job.state < State.COMPLETED for job in self.jobs) and (now := self.next_time()) <= until:
            assert now < inf, "jobs wait for ever"
            self.world.now = now
            self.tell_ends(now)
            if self.settings.event_by_event:
                self.hark(now)
                self.take_one(now)
            else:
                self.take_all(now)

    def tell_ends(self, now: Moment) -> None:
        """Let the jobs whose ends are float64 times after they were done end."""
        due = sorted((entry for entry in self.ending if entry[0] <= now), key=lambda entry: entry[0])
        self.ending = [entry for entry in self.ending if entry[0] > now]
        self.mailbox.extend((job, "completed", 0) for _, job in due)

    def hark(self, now: Moment) -> bool:
        """Tell whether a job has something to say, which comes before the work that takes no time goes on."""
        while not self.mailbox and self.world.take(now):
            pass
        return bool(self.mailbox)

    def take_all(self, now: Moment) -> None:
        """Let all happen that does at this instant, and ask once."""
        is_due, points = self.killed, []
        while self.hark(now):
            is_due = True
            job, notice, tasks = self.mailbox.popleft()
            if job.state >= State.COMPLETED:
                continue
            if notice == "completed":
                self.end(job, State.COMPLETED)
            else:
                self.give_back(job)
                points.append((job, tasks))
        for job in [job for job, limit in self.limits.items() if limit <= now]:
            is_due = True
            self.kill(job)
        self.end_launches(now)
        while self.to_come and self.to_come[0].submit_time <= now:
            is_due = True
            self.to_come.popleft().state = State.PENDING
        self.killed = False
        if is_due:
            self.ask("instant", points=points)

    def take_one(self, now: Moment) -> None:
        """Let happen what comes first: a job's notice, a kill, the clock's call, a submission."""
        late = [job for job, limit in self.limits.items() if limit <= now]
        self.end_launches(now)
        if self.mailbox:
            job, notice, tasks = self.mailbox.popleft()
            if job.state < State.COMPLETED:
                self.hear[notice](job, tasks)
        elif late:
            self.kill(late[0])
            if self.settings.on_finalise:
                self.ask("killed", late[0])
        elif self.periodic <= now:
            self.intervals += 1
            self.ask("periodic")
        elif self.to_come and self.to_come[0].submit_time <= now:
            self.submit(self.to_come.popleft())

    def note(self, job: Job, notice: str, tasks: int) -> None:
        """Hear at once that a job goes on; keep its questions and its end until it is their turn."""
        if notice == "running":
            job.state = State.RUNNING if job.assigned == job.executing else State.RECONFIGURATION
            self.changed_jobs[job] = None
        elif notice == "completed" and self.end_of(job) > self.world.now:
            self.ending.append((self.end_of(job), job))
        else:
            self.mailbox.append((job, notice, tasks))

    def end_of(self, job: Job) -> float:
        """Return the start and the run time by the job's own clock, rounded once."""
        job.run_time = self.settings.launch + lasted(job.begun, self.world.now)
        return job.start_time + job.run_time

    def ask(
        self, kind: str, job: Job | None = None, tasks: int = 0, points: Sequence[tuple[Job, int]] = ()
    ) -> None:
        """Ask the scheduler, and do what it says: first with the jobs that wait for it."""
        jobs, nodes = list(self.changed_jobs), self.changed_nodes
        self.changed_jobs, self.changed_nodes = {}, []
        question = Invocation(floor(self.world.now), kind, job, tasks, list(points), jobs, nodes)
        self.invocations.append(question)
        named = [self.take(decision) for decision in self.decide(self, question)]
        for waiting, _ in points:
            self.go_on(waiting)
        for each in named:
            if each.state == State.ALLOCATION:
                self.start(each)
            elif each.state == State.KILL:
                self.kill(each)
                self.killed = not self.settings.event_by_event
            self.changed_jobs[each] = None
        self.world.settle()

    def take(self, decision: Decision) -> Job:
        """Note what the scheduler wants with a job."""
        job = self.jobs[decision["id"]]
        if decision.get("kill_flag"):
            job.state = State.KILL
            return job
        self.unexpect(job)
        job.assigned = list(decision["assigned_node_ids"])
        if job.job_type != "rigid":
            job.assigned_gpus = decision.get("assigned_num_gpus_per_node", job.gpus[0])
            assert job.gpus[0] <= job.assigned_gpus <= job.gpus[1]
        assert job.nodes[0] <= len(job.assigned) <= job.nodes[1]
        if job.begin < inf:
            self.move(job)
        elif job.run:
            assert job.flexible
            for node in job.assigned:
                assert self.nodes[node].running in ([], [job])
                self.nodes[node].expected.append(job)
            self.changed_nodes += job.assigned
        if job.run and decision.get("modified_runtime_args"):
            job.run.runtime_arguments = decision["runtime_arguments"]
        if job.state == State.PENDING and job.assigned:
            job.state = State.ALLOCATION
        elif job.state in (State.RUNNING, State.RECONFIGURATION):
            job.state = State.RUNNING if job.assigned == job.executing else State.RECONFIGURATION
        return job

    def unexpect(self, job: Job) -> None:
        for node in job.assigned:
            self.nodes[node].expected = [each for each in self.nodes[node].expected if each is not job]
        self.changed_nodes += job.assigned

    def occupy(self, job: Job, nodes: Sequence[int]) -> None:
        for node in nodes:
            assert not self.nodes[node].running, f"node {node} is taken"
            self.nodes[node].running.append(job)
        self.changed_nodes += nodes

    def vacate(self, job: Job, nodes: Sequence[int]) -> None:
        for node in nodes:
            self.nodes[node].running.remove(job)
        self.changed_nodes += nodes

    def hosts(self, job: Job) -> list[int]:
        return [self.nodes[node].host for node in job.executing]

    def move(self, job: Job) -> None:
        """Put a job in its launch on the nodes that it is assigned, at once."""
        assert job.flexible
        self.vacate(job, [node for node in job.executing if node not in job.assigned])
        self.occupy(job, [node for node in job.assigned if node not in job.executing])
        job.executing = job.assigned

    def start(self, job: Job) -> None:
        job.state, job.start_time, job.executing = State.RUNNING, floor(self.world.now), job.assigned
        self.occupy(job, job.executing)
        job.begin = job.start_time + self.settings.launch
        if job.begin <= self.world.now:
            self.begin(job)

    def end_launches(self, now: Moment) -> None:
        """Begin the applications of the jobs whose launch is over, on the nodes that they have by now."""
        for job in [job for job in self.jobs if job.begin <= now]:
            self.begin(job)
            self.world.settle()

    def begin(self, job: Job) -> None:
        job.begin, job.begun = inf, self.world.now
        job.run = Run(
            world=self.world,
            model=job.model,
            job_type=job.job_type,
            limits=job.nodes,
            arguments=job.arguments,
            report=lambda notice, tasks: self.note(job, notice, tasks),
            clip=self.settings.clip,
        )
        job.run.begin(self.hosts(job), job.executing_gpus)
        if job.walltime < inf:
            self.limits[job] = floor(self.world.now) + job.walltime + self.settings.grace

    def go_on(self, job: Job) -> None:
        """Let a job go on from where it asked, on other nodes if it has been given them."""
        if job.state not in (State.RUNNING, State.RECONFIGURATION):
            return
        assert job.run is not None
        held = [node for node in job.executing if job in self.nodes[node].running]
        moves, job.executing = job.state == State.RECONFIGURATION, job.assigned
        if moves:
            job.state = State.RECONFIGURING
            self.unexpect(job)
        self.occupy(job, [node for node in job.executing if node not in held])
        self.vacate(job, [node for node in held if node not in job.executing])
        if moves:
            job.run.reconfigure(self.hosts(job), job.executing_gpus)
        else:
            job.run.go_on()

    def give_back(self, job: Job) -> None:
        """Free what a job at a point loses by an earlier decision; event by event, only once it has asked."""
        if job.state == State.RECONFIGURATION:
            self.vacate(job, [node for node in job.executing if node not in job.assigned])

    def end(self, job: Job, state: State) -> None:
        assert state > State.RECONFIGURING
        self.vacate(job, [node for node in job.executing if job in self.nodes[node].running])
        job.state, job.end_time = state, floor(self.world.now)
        self.unexpect(job)
        self.limits.pop(job, None)
        self.changed_jobs[job] = None

    def kill(self, job: Job) -> None:
        job.begin = inf
        if job.run:
            job.run.stop()
        self.end(job, State.KILLED)

    def submit(self, job: Job) -> None:
        job.state = State.PENDING
        self.changed_jobs[job] = None
        if self.settings.on_submit:
            self.ask("submit", job)

    def hear_completion(self, job: Job, _: int) -> None:
        self.end(job, State.COMPLETED)
        if self.settings.on_finalise:
            self.ask("completed", job)

    def hear_scheduling_point(self, job: Job, _: int) -> None:
        if self.settings.on_scheduling_point:
            self.ask("scheduling_point", job, points=[(job, 0)])
        else:
            self.go_on(job)
            self.world.settle()

    def hear_evolving_request(self, job: Job, tasks: int) -> None:
        self.ask("evolving_request", job, tasks, points=[(job, tasks)])
