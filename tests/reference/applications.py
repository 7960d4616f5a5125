"""What a job does on its nodes: phases and tasks, rank by rank.

Application models are plain mappings, in the form of ElastiSim's JSON.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, floor
from typing import Any

from reference.formulas import Value, evaluate
from reference.sharing import Activity
from reference.world import Barrier, Signal, Steps, World

Model = Mapping[str, Any]
"""A task, a phase, or a whole application."""
Pairs = dict[tuple[int, int], float]
"""Bytes from rank to rank."""

RINGS = {"ring": (1, -1), "ring_clockwise": (1,), "ring_counter_clockwise": (-1,)}


def vector(total: float, pattern: str, ranks: int) -> list[float]:
    """Give each rank its part."""
    parts: dict[str, Callable[[int], float]] = {
        "uniform": lambda rank: total,
        "all_ranks": lambda rank: total / ranks,
        "total": lambda rank: total / ranks,
        "root_only": lambda rank: total if rank == 0 else 0.0,
        "even_ranks": lambda rank: total / ceil(ranks / 2) if rank % 2 == 0 else 0.0,
        "odd_ranks": lambda rank: total / (ranks // 2) if rank % 2 else 0.0,
    }
    return [parts[pattern](rank) for rank in range(ranks)]


def pairs(total: float, pattern: str, ranks: int) -> Pairs:
    """Give the bytes of each ordered pair of ranks."""
    found: Pairs = {}
    if ranks == 1:
        return found
    others = range(1, ranks)
    if pattern == "all_to_all":
        each = total / (ranks * (ranks - 1))
        found = {(i, j): each for i in range(ranks) for j in range(ranks) if i != j}
    elif pattern == "gather":
        found = {(rank, 0): total / ranks for rank in others}
    elif pattern == "scatter":
        found = {(0, rank): total / ranks for rank in others}
    elif pattern == "master_worker":
        each = 2 * total / (ranks - 1)
        found = {pair: each for rank in others for pair in ((0, rank), (rank, 0))}
    else:
        steps = RINGS[pattern]
        for rank in range(ranks):
            for step in steps:
                pair = rank, (rank + step) % ranks
                found[pair] = found.get(pair, 0.0) + total / (len(steps) * ranks)
    return found


def between_gpus(total: float, pattern: str, nodes: int, gpus: int) -> tuple[Pairs, Pairs]:
    """Give the bytes of each pair of nodes, and of each pair of GPUs inside a node."""
    if gpus == 1:
        return pairs(total, pattern, nodes), {}
    everyone = nodes * gpus
    if pattern == "all_to_all":
        each = total / (everyone * (everyone - 1))
        inside = {(i, j): each for i in range(gpus) for j in range(gpus) if i != j}
        return dict.fromkeys(pairs(1.0, pattern, nodes), gpus * gpus * each), inside
    ways = len(RINGS[pattern])
    edge = total / (ways * everyone)
    outside = pairs(edge * ways * nodes, pattern, nodes)
    return outside, pairs(edge * ways * (gpus - 1 if nodes > 1 else gpus), pattern, gpus)


@dataclass
class Cache:
    """What a rank has in the burst buffer of its node: bytes that are to migrate, and that can be read."""

    dirty: float = 0.0
    kept: float = 0.0
    migrations: list[Signal] = field(default_factory=list)


@dataclass
class Team:
    """Ranks that do something together on `hosts`, in the order of ranks, and what formulas see."""

    world: World
    hosts: Sequence[int]
    gpus: int
    names: Mapping[str, Value]
    started: list[Activity]
    sleeping: list[Signal]
    caches: dict[int, Cache]

    def __post_init__(self) -> None:
        count = len(self.hosts)
        self.names = {
            **self.names,
            "num_nodes": count,
            "num_gpus_per_node": self.gpus,
            "num_gpus": count * self.gpus,
        }
        self.barrier = Barrier(self.world, count)

    def start(self, activity: Activity, *, on_disk: bool = False) -> Signal:
        self.started.append(activity)
        return self.world.start(activity, on_disk=on_disk)

    def parts(self, task: Model, what: str, pattern: str) -> list[float] | None:
        """Give what each rank has to do; None if the task has none of it."""
        if task.get(what) is None:
            return None
        if task[pattern] == "vector":
            return list(task[what])
        return vector(evaluate(task[what], self.names), task[pattern], len(self.hosts))

    def traffic(self, task: Model) -> Pairs:
        """Give the bytes between hosts."""
        ranks, pattern = len(self.hosts), task["communication_pattern"]
        if pattern == "matrix":
            ranked = {(i, j): task["bytes"][i * ranks + j] for i in range(ranks) for j in range(ranks)}
        elif task["type"] == "gpu":
            ranked, _ = between_gpus(evaluate(task["bytes"], self.names), pattern, ranks, self.gpus)
        else:
            ranked = pairs(evaluate(task["bytes"], self.names), pattern, ranks)
        return {(self.hosts[i], self.hosts[j]): amount for (i, j), amount in ranked.items()}

    def seconds_inside(self, task: Model) -> float:
        """Give how long the GPUs of a node communicate: as long as the pair with most bytes."""
        if task.get("bytes") is None or self.gpus == 1:
            return 0.0
        total = evaluate(task["bytes"], self.names)
        _, inside = between_gpus(total, task["communication_pattern"], len(self.hosts), self.gpus)
        busiest = max(inside[i, j] + inside.get((j, i), 0.0) for i, j in inside)
        return busiest / self.world.platform.hosts[self.hosts[0]].gpu_bandwidth


def execute(team: Team, rank: int, task: Model, waiting: list[Signal]) -> Steps:
    """Do a task as often as it says; what goes on asynchronously is added to `waiting`."""
    for _ in range(floor(evaluate(task.get("iterations", 1), team.names))):
        if task.get("synchronized", False):
            yield team.barrier.wait()
        if task.get("async", False):
            waiting.extend(TRANSFERS[task["type"]](team, rank, task))
        elif task["type"] in TRANSFERS:
            yield from TRANSFERS[task["type"]](team, rank, task)
        else:
            yield from TASKS[task["type"]](team, rank, task)


def compute(team: Team, rank: int, task: Model) -> Steps:
    """On processors: computation and communication overlap, or go on in step if they are coupled."""
    flops, communicates = team.parts(task, "flops", "computation_pattern"), task.get("bytes") is not None
    if task.get("coupled", False) and flops is not None and communicates:
        yield from by_root(team, rank, task, dict(zip(team.hosts, flops, strict=True)))
        return
    own = {team.hosts[rank]: flops[rank]} if flops and flops[rank] > 0 else None
    computing = [team.start(team.world.platform.parallel_task(own, {}))] if own else []
    if communicates:
        yield from by_root(team, rank, task, {})
    yield from computing


def by_root(team: Team, rank: int, task: Model, flops: Mapping[int, float]) -> Steps:
    """Meet, let the first rank do the task's communication, and meet again."""
    yield team.barrier.wait()
    if rank == 0:
        yield team.start(team.world.platform.parallel_task(flops, team.traffic(task)))
    yield team.barrier.wait()


def compute_on_gpus(team: Team, rank: int, task: Model) -> Steps:
    """On GPUs, which are sleeps; the communication inside the node is one, too."""
    flops, me = team.parts(task, "flops", "computation_pattern"), team.hosts[rank]
    world, own = team.world, []
    if flops and flops[rank] > 0:
        seconds = flops[rank] / team.gpus / world.platform.hosts[me].gpu_speed
        own.append(world.occupy(world.gpus[me], team.gpus, seconds))
    if (seconds := team.seconds_inside(task)) > 0:
        own.append(world.occupy(world.gpu_links[me], 1, seconds))
    if task.get("bytes") is not None:
        yield from by_root(team, rank, task, {})
    yield from own


def parallel_file_system(team: Team, rank: int, task: Model) -> list[Signal]:
    """Move this rank's bytes, striped evenly over its targets."""
    amounts, me = team.parts(task, "bytes", "pattern") or [], team.hosts[rank]
    targets = team.world.platform.hosts[me].targets
    read = task["type"].endswith("read")
    traffic = {(t, me) if read else (me, t): amounts[rank] / len(targets) for t in targets}
    return [team.start(team.world.platform.parallel_task({}, traffic))]


def cache(team: Team, rank: int, task: Model) -> list[Signal]:
    """Write to the node's disk if it has place, whence the bytes migrate; read there what it has."""
    amount, me, world = (team.parts(task, "bytes", "pattern") or [])[rank], team.hosts[rank], team.world
    mine, size = team.caches.setdefault(me, Cache()), float(floor(amount))
    if amount <= 0:
        return []
    if task["type"] == "cache_read":
        if mine.kept < size or not mine.kept:
            return parallel_file_system(team, rank, task)
        return [team.start(world.platform.disk_operation(me, True, amount), on_disk=True)]
    if world.dirty[me] + size > world.platform.hosts[me].capacity:
        return parallel_file_system(team, rank, task)
    world.dirty[me] += size
    mine.dirty += size
    written = team.start(world.platform.disk_operation(me, False, amount), on_disk=True)
    written.then = lambda: migrate_later(team, rank, task, size)
    return [written]


def migrate_later(team: Team, rank: int, task: Model, size: float) -> None:
    """Keep what was written; it migrates once all that ends at this instant has ended."""
    me, world, done = team.hosts[rank], team.world, Signal()
    mine = team.caches[me]
    mine.kept = min(mine.kept + size, world.platform.hosts[me].capacity)
    mine.migrations.append(done)

    def begin() -> None:
        parts = [
            team.start(world.platform.disk_operation(me, True, size), on_disk=True),
            *parallel_file_system(team, rank, task),
        ]
        for part in parts:
            part.then = lambda: end(parts)

    def end(parts: list[Signal]) -> None:
        if all(part.come for part in parts):
            world.dirty[me] -= size
            mine.dirty -= size
            world.give(done)

    world.afterwards.append(begin)


def burst_buffer(team: Team, rank: int, task: Model) -> list[Signal]:
    """Move this rank's bytes from or to its own disk, or striped over all nodes' disks."""
    amounts, me, platform = team.parts(task, "bytes", "pattern") or [], team.hosts[rank], team.world.platform
    read, striping = task["type"].endswith("read"), platform.hosts[me].striping
    if striping is None:
        return [team.start(platform.disk_operation(me, read, amounts[rank]), on_disk=True)]
    part = amounts[rank] / len(team.hosts)
    others = [host for host in team.hosts if host != me]
    flops = {host: (platform.hosts[host].striping or 0.0) * part for host in team.hosts}
    moved = platform.parallel_task(flops, {(host, me) if read else (me, host): part for host in others})
    on_disks = [platform.disk_operation(host, read, part) for host in team.hosts]
    return [team.start(moved), *(team.start(each, on_disk=True) for each in on_disks)]


def idle(team: Team, rank: int, task: Model) -> Steps:
    team.sleeping.append(team.world.sleep((team.parts(task, "delay", "pattern") or [])[rank]))
    yield team.sleeping[-1]


def busy_wait(team: Team, rank: int, task: Model) -> Steps:
    """Compute what the processor does in that time if it is alone."""
    seconds, me = (team.parts(task, "delay", "pattern") or [])[rank], team.hosts[rank]
    platform = team.world.platform
    yield team.start(platform.parallel_task({me: seconds * platform.hosts[me].speed}, {}))


def sequence(team: Team, rank: int, task: Model) -> Steps:
    """Do tasks in order; what they began asynchronously ends with the sequence."""
    waiting: list[Signal] = []
    for part in task["tasks"]:
        yield from execute(team, rank, part, waiting)
    yield from waiting


TASKS: dict[str, Callable[[Team, int, Model], Steps]] = {
    "cpu": compute,
    "gpu": compute_on_gpus,
    "idle": idle,
    "busy_wait": busy_wait,
    "sequence": sequence,
}
TRANSFERS: dict[str, Callable[[Team, int, Model], list[Signal]]] = {
    "pfs_read": parallel_file_system,
    "pfs_write": parallel_file_system,
    "bb_read": burst_buffer,
    "bb_write": burst_buffer,
    "cache_read": cache,
    "cache_write": cache,
}


@dataclass
class Run:
    """A job's application under way; `done` counts iterations of phases, over all phases."""

    world: World
    model: Model
    job_type: str
    limits: tuple[int, int]
    arguments: Mapping[str, Value]
    report: Callable[[str, int], None]
    runtime_arguments: Mapping[str, Value] = field(default_factory=dict)
    clip: bool = True
    done: int = 0
    stopped: bool = False
    started: list[Activity] = field(default_factory=list)
    sleeping: list[Signal] = field(default_factory=list)
    caches: dict[int, Cache] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.steps = [
            (phase, iteration)
            for phase in self.model["phases"]
            for iteration in range(floor(evaluate(phase.get("iterations", 1), self.arguments)))
        ]

    def team_of(self, hosts: Sequence[int], gpus: int) -> Team:
        names = {**self.arguments, **self.runtime_arguments}
        return Team(self.world, hosts, gpus, names, self.started, self.sleeping, self.caches)

    def begin(self, hosts: Sequence[int], gpus: int) -> None:
        self.team = self.team_of(hosts, gpus)
        self.go_on("on_init")

    def reconfigure(self, hosts: Sequence[int], gpus: int) -> None:
        """Let all do on_reconfiguration, and the new ones on_expansion."""
        self.caches.clear()
        new = [host for host in hosts if host not in self.team.hosts]
        self.team = self.team_of(hosts, gpus)
        self.go_on("on_reconfiguration", self.team_of(new, gpus))

    def go_on(self, stage: str = "", newcomers: Team | None = None) -> None:
        for rank in range(len(self.team.hosts)):
            self.world.begin(self.rank(rank, stage, newcomers), lambda: self.stopped)

    def stop(self) -> None:
        self.stopped = True
        self.world.forget(self.started, self.sleeping)
        for host, cached in self.caches.items():
            self.world.dirty[host] -= cached.dirty

    def rank(self, rank: int, stage: str, newcomers: Team | None) -> Steps:
        """Do what a rank does until the end or until the scheduler is asked."""
        yield from once(self.team, rank, self.model.get(stage))
        yield self.team.barrier.wait()
        if rank == 0:
            self.report("running", 0)
        if newcomers and self.team.hosts[rank] in newcomers.hosts:
            new_rank = newcomers.hosts.index(self.team.hosts[rank])
            yield from once(newcomers, new_rank, self.model.get("on_expansion"))
        waiting: list[Signal] = []
        for done, (phase, iteration) in list(enumerate(self.steps))[self.done :]:
            question = self.question(phase, iteration) if done > self.done else None
            if question or phase.get("barrier", True):
                yield from waiting
                waiting.clear()
                if question:
                    yield from self.migrations(rank)
                yield self.team.barrier.wait()
            if question:
                return self.finish(rank, done, *question)
            for task in phase["tasks"]:
                yield from execute(self.team, rank, task, waiting)
        yield from waiting
        yield from self.migrations(rank)
        yield self.team.barrier.wait()
        return self.finish(rank, len(self.steps), "completed", 0)

    def migrations(self, rank: int) -> list[Signal]:
        cached = self.caches.get(self.team.hosts[rank])
        return cached.migrations if cached else []

    def finish(self, rank: int, done: int, notice: str, tasks: int) -> None:
        if rank == 0:
            self.done = done
            self.report(notice, tasks)

    def question(self, phase: Model, iteration: int) -> tuple[str, int] | None:
        """Tell what the scheduler is asked before an iteration, if anything."""
        if self.job_type in ("evolving", "adaptive") and phase.get("evolving_request"):
            low, high = self.limits
            more = {"num_nodes_min": low, "num_nodes_max": high, "phase_iteration": iteration}
            names = {**self.team.names, **self.runtime_arguments, **more}
            wanted = int(evaluate(phase["evolving_request"], names))
            wanted = max(min(wanted, high), low) if self.clip else wanted
            return ("evolving_request", wanted) if wanted != len(self.team.hosts) else None
        if self.job_type in ("malleable", "adaptive") and phase.get("scheduling_point", True):
            return "scheduling_point", 0
        return None


def once(team: Team, rank: int, stage: Model | None) -> Steps:
    """Do what is done once: at the beginning, after a reconfiguration, or by new ranks."""
    waiting: list[Signal] = []
    for _ in range(int(stage.get("iterations", 1)) if stage else 0):
        for task in stage["tasks"] if stage else ():
            yield from execute(team, rank, task, waiting)
    yield from waiting
