"""Random applications on random small platforms, under a scheduler that resizes at random."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from random import Random
from typing import Any

from batchlab.core.vocabulary import JobType, SharingModel
from reference.elastic import Decision, Elastic, Invocation, Job, Node, Settings, State
from reference.network import MAX_MIN, PARALLEL_TASKS, Model
from reference.sharing import RULES
from reference.world import Host, Link, Platform

TYPES: tuple[JobType, ...] = ("rigid", "moldable", "malleable", "malleable", "evolving", "adaptive")
PATTERNS = ("uniform", "all_ranks", "root_only", "even_ranks")
EVERYWHERE = ("all_to_all", "ring", "ring_clockwise", "ring_counter_clockwise")
COMMUNICATIONS = (*EVERYWHERE, "gather", "scatter", "master_worker")
GIGA = 1e9  # so that the precisions of SimGrid do not matter
REQUESTS = (
    "num_nodes + 1",
    "num_nodes_min + phase_iteration",
    "phase_iteration % 2 == 0 ? num_nodes - 1 : num_nodes + 2",
)
SHARINGS: dict[SharingModel, tuple[str, Model]] = {
    "max_min": ("bottleneck_max_min", MAX_MIN),
    "bottleneck_max_min": ("bottleneck_max_min", PARALLEL_TASKS),
    "fair_bottleneck": ("fair_bottleneck", PARALLEL_TASKS),
}
SLOW = 100.0  # bytes/s of disks that count in whole bytes, so that it matters


@dataclass(frozen=True)
class Cable:
    """A link of a case, with its latency (s)."""

    name: str
    bandwidth: float
    latency: float
    fat: bool = False


@dataclass(frozen=True)
class ElasticJob:
    """A job of a case; `nodes` is (least, most)."""

    job_type: JobType
    submit_time: float
    nodes: tuple[int, int]
    gpus: int
    model: Mapping[str, Any]
    arguments: Mapping[str, float]
    walltime: float = inf


@dataclass(frozen=True)
class ElasticCase:
    """Hosts behind cables (`up` and `down`, and a `backbone` where there is one), storage last, and jobs."""

    hosts: tuple[Host, ...]
    cables: tuple[Cable, ...]
    jobs: tuple[ElasticJob, ...]
    sharing: SharingModel
    seed: int
    settings: Settings = field(default_factory=Settings)
    changed: Mapping[str, Any] = field(default_factory=dict)
    resizing: float = 0.1  # how often a job between two points is resized at a question

    @property
    def model(self) -> Model:
        """The network model of the reference; `changed` has its parameters by their names there."""
        return replace(SHARINGS[self.sharing][1], **self.changed)

    def route(self, source: int, target: int) -> tuple[list[int], float]:
        """Give the cables from a host to another, and the latency; the storage is the last host."""
        count = len(self.hosts)
        backbone = [2 * count] if len(self.cables) > 2 * count else []
        cables = [source, *backbone, count + target]
        return cables, sum(self.cables[cable].latency for cable in cables)


@dataclass(frozen=True)
class Seen:
    """What a scheduler sees, by number; jobs at `points` wait for it, and ask for so many tasks or 0."""

    kind: str
    job: int | None
    points: dict[int, int]
    free: list[int]
    pending: list[int]
    running: dict[int, list[int]]


Wish = tuple[int, list[int] | None]
"""A job and the nodes that it is to have, by rank; None kills it."""


def decide(case: ElasticCase, question: int, seen: Seen) -> list[Wish]:
    """Decide at random, but the same for every caller."""
    random = Random(f"{case.seed}/{question}")  # noqa: S311 - no secret
    wishes: dict[int, list[int] | None] = {}
    free, given_up = list(seen.free), []
    for number, tasks in seen.points.items():
        if random.random() < 0.7:
            wanted = tasks if random.random() < 0.8 else 0
            nodes = resized(random, case.jobs[number], seen.running[number], free, wanted)
            given_up += [node for node in seen.running[number] if node not in nodes]
            free = [node for node in free if node not in nodes]
            wishes[number] = nodes
    for number, before in seen.running.items():
        if number in seen.points:
            continue
        if case.jobs[number].job_type in ("malleable", "adaptive") and random.random() < case.resizing:
            nodes = resized(random, case.jobs[number], before, free, 0)
            free = [node for node in free if node not in nodes]
            wishes[number] = nodes
        elif seen.points and random.random() < 0.05:
            wishes[number] = None
    return [*wishes.items(), *starts(random, case, seen, [*free, *given_up])]


def resized(random: Random, job: ElasticJob, before: list[int], free: list[int], wanted: int) -> list[int]:
    """Give other nodes to a running job: some of its own and, if it grows, some that are free."""
    least, most = job.nodes
    number = min(wanted or random.randint(least, most), len(before) + len(free))
    kept = before if number >= len(before) or random.random() < 0.5 else random.sample(before, len(before))
    nodes = [*kept[:number], *random.sample(free, max(0, number - len(before)))]
    return random.sample(nodes, number) if random.random() < 0.2 else nodes


def starts(random: Random, case: ElasticCase, seen: Seen, free: list[int]) -> list[Wish]:
    wishes: list[Wish] = []
    for number in seen.pending:
        least, most = case.jobs[number].nodes
        hurry = not seen.running and not wishes
        if least <= len(free) and (hurry or random.random() < 0.8):
            nodes = random.sample(free, random.randint(least, min(most, len(free))))
            wishes.append((number, nodes))
            free = [node for node in free if node not in nodes]
    return wishes


def random_case(seed: int) -> ElasticCase:
    """Draw a case; amounts are such that two jobs hardly ever do something at one instant."""
    random = Random(seed)  # noqa: S311 - no secret
    count = random.randint(2, 6)
    hosts = tuple(_hosts(random, count))
    cables = tuple(_cables(random, count + 1))
    submit, jobs = 0.0, []
    for _ in range(random.randint(1, 5)):
        submit += random.choice((0.0, random.uniform(0, 10), random.uniform(0, 60)))
        jobs.append(_job(random, submit, hosts))
    settings = Settings(event_by_event=False)
    if random.random() < 0.6:
        interval = random.choice((0.0, 0.0, random.uniform(5, 30)))
        since = 0.0 if seed % 2 else None
        settings = Settings(on_scheduling_point=random.random() < 0.9, interval=interval, since=since)
    sharing = random.choice(list(SHARINGS))
    return ElasticCase(hosts, cables, tuple(jobs), sharing, seed, settings, _changed(random, sharing))


def cached_case(seed: int) -> ElasticCase:
    """Draw a case whose nodes have disks, by way of which most of the data goes to and from the storage."""
    case, random = random_case(seed), Random(f"{seed} cached")  # noqa: S311 - no secret
    first = case.hosts[0]
    scale = SLOW if first.whole_bytes else GIGA
    disk = first.disk or (random.uniform(1, 3) * scale, random.uniform(1, 3) * scale)
    capacity = random.choice((inf, 20 * scale, 5 * scale))
    hosts = [
        replace(host, disk=disk, striping=None, capacity=capacity) if host.targets else host
        for host in case.hosts
    ]
    kinds = ("bb", "bb", "bb") if first.whole_bytes else ("bb", "pfs", "pfs")
    jobs = [replace(job, model=_by_cache(random, kinds, job.model)) for job in case.jobs]
    return replace(case, hosts=tuple(hosts), jobs=tuple(jobs))


def launched_case(seed: int) -> ElasticCase:
    """Draw a case whose jobs are launched for a while, and often resized in it."""
    case, random = random_case(seed), Random(f"{seed} launched")  # noqa: S311 - no secret
    launch = random.choice((random.uniform(0.5, 5), random.uniform(5, 40)))
    # Nodes that are given up in a launch make no event: the clock asks about them.
    interval = (case.settings.interval or random.uniform(5, 30)) if case.settings.event_by_event else 0.0
    return replace(case, settings=replace(case.settings, launch=launch, interval=interval), resizing=0.4)


def _by_cache(random: Random, kinds: Sequence[str], part: Any) -> Any:  # noqa: ANN401 - as JSON is
    """Have transfers of some kinds go by way of the cache, and others read again what they wrote."""
    if isinstance(part, list):
        return [_by_cache(random, kinds, each) for each in part]
    if not isinstance(part, dict):
        return part
    made = {key: _by_cache(random, kinds, value) for key, value in part.items()}
    kind, _, way = str(made.get("type")).partition("_")
    if kind in kinds and random.random() < 0.9:
        made["type"] = f"cache_{'write' if random.random() < 0.3 else way}"
    return made


def _changed(random: Random, sharing: str) -> dict[str, float]:
    changed: dict[str, float] = {"gamma": random.choice((0.0, random.uniform(1e4, 1e7)))}
    if sharing == "max_min":
        changed |= {
            "bandwidth_factor": random.uniform(0.5, 1),
            "latency_factor": random.uniform(1, 15),
            "crosstraffic": True,
        }
    return {name: value for name, value in changed.items() if random.random() < 0.2}


def _hosts(random: Random, count: int) -> list[Host]:
    gpus = random.choice((False, True))
    whole = random.random() < 0.5
    scale = SLOW if whole else GIGA
    disk = random.choice((None, (random.uniform(1, 3) * scale, random.uniform(1, 3) * scale)))
    striping = random.choice((None, random.uniform(0, 1))) if disk else None
    equal = random.random() < 0.7
    speeds = (
        [random.uniform(0.5, 2) * GIGA] * count
        if equal
        else [random.uniform(0.5, 2) * GIGA for _ in range(count)]
    )
    hosts = [
        Host(
            speed=speed,
            targets=(count,),
            gpus=3 if gpus else 0,
            gpu_speed=1.5 * GIGA if gpus else 0.0,
            gpu_bandwidth=7.0 * GIGA if gpus else 0.0,
            disk=disk,
            striping=striping,
            whole_bytes=whole,
        )
        for speed in speeds
    ]
    return [*hosts, Host(speed=0.0)]


def _cables(random: Random, count: int) -> list[Cable]:
    latency = random.choice((0.0, random.uniform(1e-6, 1e-3), random.uniform(1e-3, 1e-2)))
    bandwidth = random.uniform(0.5, 4) * GIGA
    cables = [
        Cable(f"{way}{host}", bandwidth * random.choice((1, 1, random.uniform(0.5, 2))), latency)
        for way in ("up", "down")
        for host in range(count)
    ]
    if random.random() < 0.5:
        cables.append(Cable("backbone", random.uniform(1, 5) * GIGA, latency, random.random() < 0.3))
    return cables


def _job(random: Random, submit: float, hosts: Sequence[Host]) -> ElasticJob:
    job_type = random.choice(TYPES)
    most = random.randint(1, len(hosts) - 1)
    least = most if job_type == "rigid" else random.randint(1, most)
    gpus = random.randint(1, 3) if hosts[0].gpu_speed else 0
    kinds = ["cpu", "cpu", "pfs_read", "pfs_write", "idle", "busy_wait", "sequence"]
    kinds += ["gpu"] * bool(gpus) + ["bb_read", "bb_write"] * bool(hosts[0].disk)
    draw = partial(_task, random, kinds, gpus, SLOW if hosts[0].whole_bytes else GIGA)
    model: dict[str, Any] = {"phases": [_phase(random, draw) for _ in range(random.randint(1, 3))]}
    for stage in ("on_init", "on_reconfiguration", "on_expansion"):
        if random.random() < 0.4:
            model[stage] = {"iterations": random.choice((1, 1, 2)), "tasks": _tasks(random, draw)}
    arguments = {"work": random.uniform(1, 10), "steps": random.randint(1, 4)}
    walltime = random.choice((inf, inf, inf, random.uniform(5, 60)))
    return ElasticJob(job_type, submit, (least, most), gpus, model, arguments, walltime)


def _phase(random: Random, draw: Callable[[int], Mapping[str, Any]]) -> dict[str, Any]:
    phase: dict[str, Any] = {
        "iterations": random.choice((1, 2, 3, "steps", "steps + 1")),
        "tasks": _tasks(random, draw),
        "barrier": random.random() < 0.7,
        "scheduling_point": random.random() < 0.8,
    }
    if random.random() < 0.5:
        phase["evolving_request"] = random.choice(REQUESTS)
    return phase


def _tasks(
    random: Random, draw: Callable[[int], Mapping[str, Any]], depth: int = 0
) -> list[Mapping[str, Any]]:
    return [draw(depth) for _ in range(random.randint(1, 3))]


def _task(random: Random, kinds: Sequence[str], gpus: int, disk: float, depth: int) -> Mapping[str, Any]:
    kind = random.choice([kind for kind in kinds if depth == 0 or kind != "sequence"])
    task: dict[str, Any] = {"type": kind, "name": kind, "synchronized": random.random() < 0.2}
    task["iterations"] = random.choice((1, 1, 1, 2, "num_nodes / 2 + 1"))
    if kind == "sequence":
        task["tasks"] = _tasks(random, partial(_task, random, kinds, gpus, disk), depth + 1)
    elif kind in ("cpu", "gpu"):
        which = random.choice(("flops", "bytes", "both"))
        if which != "bytes":
            task |= {"flops": _amount(random, GIGA), "computation_pattern": random.choice(PATTERNS)}
        if which != "flops":
            patterns = COMMUNICATIONS if kind == "cpu" or gpus == 1 else EVERYWHERE
            task |= {"bytes": _amount(random, GIGA), "communication_pattern": random.choice(patterns)}
        if kind == "cpu":
            task["coupled"] = random.random() < 0.3
    else:
        what = "delay" if kind in ("idle", "busy_wait") else "bytes"
        scale = 1.0 if what == "delay" else disk if kind in ("bb_read", "bb_write") else GIGA
        task |= {what: _amount(random, scale), "pattern": random.choice(PATTERNS)}
        if what == "bytes":
            task["async"] = random.random() < 0.4
    return task


def _amount(random: Random, scale: float) -> float | str:
    number = random.uniform(0.1, 5) * scale
    return random.choice((number, number, 0.0, f"{scale} * work / num_nodes ^ {random.uniform(0.5, 1):.3f}"))


Question = tuple[float, Seen]
"""When the scheduler was asked, and what it saw."""


def expected(case: ElasticCase) -> tuple[list[Question], Elastic]:
    """Simulate by the reference: every question, and the simulation at its end."""
    cables = [Link(cable.bandwidth, cable.fat) for cable in case.cables]
    platform = Platform(case.hosts, cables, case.route, case.model)
    jobs = [_job_of(number, job) for number, job in enumerate(case.jobs)]
    nodes = [Node(host) for host in range(len(case.hosts) - 1)]
    questions: list[Question] = []
    decider = partial(_answer, case, questions)
    simulation = Elastic(platform, nodes, jobs, decider, case.settings, RULES[SHARINGS[case.sharing][0]])
    simulation.simulate()
    return questions, simulation


def _job_of(number: int, job: ElasticJob) -> Job:
    gpus = (job.gpus, job.gpus)
    return Job(number, job.job_type, job.submit_time, job.nodes, job.model, job.arguments, gpus, job.walltime)


def _answer(
    case: ElasticCase, questions: list[Question], simulation: Elastic, asked: Invocation
) -> list[Decision]:
    running = [job for job in simulation.jobs if State.RUNNING <= job.state < State.COMPLETED]
    waiting = [job for job, _ in asked.points]
    seen = Seen(
        asked.kind,
        asked.job.number if asked.job else None,
        {job.number: tasks for job, tasks in asked.points},
        [number for number, node in enumerate(simulation.nodes) if node.state == 0],
        [job.number for job in simulation.jobs if job.state == State.PENDING],
        {job.number: job.assigned if job in waiting else job.executing for job in running},
    )
    questions.append((asked.time, seen))
    return [
        {"id": number, "kill_flag": True}
        if nodes is None
        else {"id": number, "assigned_node_ids": nodes, "assigned_num_gpus_per_node": case.jobs[number].gpus}
        for number, nodes in decide(case, len(questions), seen)
    ]
