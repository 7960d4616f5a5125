"""Random partitions, queues and limits of a system, owners of jobs, and what must hold of them in any run."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, Any

import batchlab as bl
from reference.limits import groups
from reference.model import Conditions, Job, Limit, Machine, Partition, Queue
from reference.queues import least_nodes, routed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from random import Random

    from batchlab.core.vocabulary import JobState

    Amounts = Mapping[str, int]

__all__ = ["Counted", "check_conditions", "check_limits", "check_partitions", "owners", "with_limits"]

_OWNERS: tuple[Any, ...] = ("user", "account", "queue", "partition")
_TERM = re.compile(r"(\w+):(\d+)")


def owners(rng: Random, system: bl.System) -> dict[str, Any]:
    """Say of a job which user and account it is of, and where it may wait and run."""
    names = [each.name for each in system.partitions]
    some = rng.sample(names, rng.randint(1, len(names))) if names else []
    queues = [each.name for each in system.queues]
    return {
        "user": rng.choice(("ann", "ben", None)),
        "account": rng.choice(("physics", "biology", None)),
        "queue": rng.choice(queues) if queues and rng.random() < 0.3 else None,
        "partition": some if names and rng.random() < 0.2 else None,
    }


def with_limits(rng: Random, system: bl.System) -> bl.System:
    """Give a system partitions that overlap, queues and limits."""
    names = [f"part{number}" for number in range(rng.randint(1, 3))]
    partitions = tuple(
        bl.Partition(
            name,
            ",".join(
                map(str, rng.sample(range(system.nodes), rng.randint((system.nodes + 1) // 2, system.nodes)))
            ),
            tier=rng.choice((1, 1, 2)),
            admits=_conditions(rng),
        )
        for name in names
    )
    queues = tuple(
        bl.JobQueue(
            f"queue{number}",
            tuple(rng.sample(names, rng.randint(1, len(names)))),
            priority=rng.randint(0, 2),
            admits=_conditions(rng),
        )
        for number in range(rng.choice((0, 1, 2)))
    )
    limits = tuple(
        _limit(rng, number, names, [each.name for each in queues]) for number in range(rng.randint(0, 3))
    )
    return replace(system, partitions=partitions, queues=queues, limits=limits)


def _conditions(rng: Random) -> bl.Conditions:
    # Jobs that are rejected show nothing else.
    if rng.random() < 0.9:
        return bl.Conditions()
    kind = rng.choice(("users", "accounts", "max_processors", "min_nodes", "max_time"))
    return {
        "users": bl.Conditions(users=("ann",)),
        "accounts": bl.Conditions(accounts=("physics", "biology")),
        "max_processors": bl.Conditions(max_processors=rng.randint(1, 6)),
        "min_nodes": bl.Conditions(min_nodes=rng.randint(1, 2)),
        "max_time": bl.Conditions(max_time=float(rng.randint(4, 12))),
    }[kind]


def _limit(rng: Random, number: int, partitions: list[str], queues: list[str]) -> bl.Limit:
    most: dict[str, Any] = rng.choice(
        (
            {"running_jobs": rng.randint(1, 3)},
            {"running_jobs": rng.randint(1, 3)},
            {"submitted_jobs": rng.randint(4, 10)},
            {"nodes": rng.randint(2, 4)},
            {"resources": {"core": rng.randint(3, 8)}},
        )
    )
    return bl.Limit(
        f"limit{number}",
        per=tuple(rng.sample(_OWNERS, rng.choice((0, 1, 1, 2)))),
        queues=tuple(name for name in queues if rng.random() < 0.2),
        partitions=tuple(name for name in partitions if rng.random() < 0.2),
        applies_to=_conditions(rng),
        blocks=rng.random() < 0.3,
        **most,
    )


@dataclass
class Counted:
    """The jobs of a run as the reference has them, and the groups in which limits count each of them.

    `jobs` are the columns of the workload by row.
    """

    system: bl.System
    jobs: list[dict[str, Any]]

    @cached_property
    def machine(self) -> Machine:
        """The system as the reference has it."""
        nodes = self.system.capacity.tolist()
        return Machine(
            self.system.resources,
            [tuple(amounts) for amounts in nodes],
            partitions=tuple(
                Partition(each.name, _nodes(each, len(nodes)), each.tier, _admits(each.admits))
                for each in self.system.partitions
            ),
            queues=tuple(
                Queue(each.name, each.partitions, each.priority, _admits(each.admits))
                for each in self.system.queues
            ),
            limits=tuple(map(_limit_of, self.system.limits)),
        )

    @cached_property
    def routed(self) -> list[Job | str]:
        """Each job where it may wait and run, or why it is rejected."""
        return [routed(self._job(row, job), self.machine) for row, job in enumerate(self.jobs)]

    @cached_property
    def groups(self) -> list[list[tuple[Limit, Any]]]:
        """The limits of each job, each with the group in which it counts."""
        return [[] if isinstance(job, str) else groups(job, self.machine) for job in self.routed]

    def least_nodes(self, row: int) -> float:
        """Give the fewest nodes that a job can run on."""
        job = self.routed[row]
        return 0 if isinstance(job, str) else least_nodes(job, self.machine)

    def request(self, row: int) -> dict[str, int]:
        """Give what a job asks for on each node, by resource."""
        job = self.routed[row]
        assert not isinstance(job, str)
        return dict(zip(self.machine.resources, job.request, strict=True))

    def is_over(self, view: bl.View, job: bl.Job, tasks: int | None = None) -> bool:
        """Tell whether a waiting job is over a limit now."""
        here = self.groups[job.row]
        if not here:
            return False
        running = [other for other in view.running if other.nodes]
        for limit, group in here:
            members = [other for other in running if group in [name for _, name in self.groups[other.row]]]
            nodes = sum(len(other.nodes) for other in members)
            if len(members) >= limit.running_jobs or nodes + self.least_nodes(job.row) > limit.nodes:
                return True
            for name, most in limit.amounts.items():
                used = sum(self.held(view, other, name) for other in members)
                if used + (tasks or job.tasks) * job.request[name] > most:
                    return True
        return False

    def held(self, view: bl.View, job: bl.Job, name: str) -> int:
        """Give what a running job holds of a resource."""
        if job.exclusive:
            return int(sum(view.capacity[node][view.resources.index(name)] for node in job.nodes))
        return sum(job.nodes.values()) * job.request[name]

    def _job(self, row: int, job: dict[str, Any]) -> Job:
        partition = job.get("partition")
        limit = job.get("time_limit", job["requested_time"])
        return Job(
            row,
            job["submit_time"],
            0.0,
            inf if limit is None else limit,
            job["tasks"],
            tuple(int(name == "core") for name in self.system.resources),
            exclusive=bool(job.get("exclusive")),
            queue=job.get("queue"),
            partitions=tuple(partition.split("|")) if partition else (),
            user=job.get("user"),
            account=job.get("account"),
        )


def _nodes(partition: bl.Partition, count: int) -> frozenset[int]:
    if not partition.nodes:
        return frozenset(range(count))
    return frozenset(chain.from_iterable(range(begin, end) for begin, end in partition.ranges))


def _admits(given: bl.Conditions) -> Conditions:
    return Conditions(
        processors=given.bounds("processors"),
        nodes=given.bounds("nodes"),
        time=given.bounds("time"),
        users=None if given.users is None else frozenset(given.users),
        accounts=None if given.accounts is None else frozenset(given.accounts),
    )


def _limit_of(given: bl.Limit) -> Limit:
    return Limit(
        per=given.per,
        queues=given.queues,
        partitions=given.partitions,
        applies_to=_admits(given.applies_to),
        running_jobs=inf if given.running_jobs is None else given.running_jobs,
        submitted_jobs=inf if given.submitted_jobs is None else given.submitted_jobs,
        nodes=inf if given.nodes is None else given.nodes,
        amounts=dict(given.resources),
        blocks=given.blocks,
    )


@dataclass(frozen=True)
class Stay:
    """A job on nodes from a time to another; `begins` where it was not on other nodes just before."""

    row: int
    start: float
    end: float
    nodes: list[int]
    held: Amounts
    begins: bool


def stays(result: bl.Result) -> list[Stay]:
    """List which job was on which nodes when; those that took no time are left out."""
    found: list[Stay] = []
    until: dict[int, float] = {}
    begun = set(zip(result.interruptions["row"], result.interruptions["start_time"], strict=True))
    begun |= set(enumerate(result.jobs["start_time"]))
    for each in result.allocations.sort("row", "start_time", "end_time").to_dicts():
        row, start = each["row"], each["start_time"]
        end = inf if each["end_time"] is None else each["end_time"]
        held = {
            name.removeprefix("allocated_"): number
            for name, number in each.items()
            if name.startswith("allocated_")
        }
        begins = (row, start) in begun and until.get(row) != start
        until[row] = end
        if start < end:
            found.append(Stay(row, start, end, each["nodes"], held, begins))
    return found


def check_partitions(result: bl.Result, counted: Counted) -> None:
    """Fail where a job is rejected that may run, or was on nodes of none of its partitions."""
    for row, job in enumerate(result.jobs.to_dicts()):
        known = counted.routed[row]
        if isinstance(known, str):
            assert job["state"] in ("rejected", "loaded"), (row, job)
            assert job["reason"] in (known, "lacks_resource", None), (row, job)
            continue
        assert job["reason"] not in ("queue", "partition"), (row, job)
        if counted.system.queues:
            assert job["assigned_queue"] == known.in_queue
        places = [set(nodes) for nodes in known.node_sets]
        if places and job["start_time"] is not None:
            name = next(
                name
                for name, nodes in zip(known.in_partitions, places, strict=True)
                if {*job["nodes"]} <= nodes
            )
            assert job["allocated_partition"] == name
    for stay in stays(result):
        known = counted.routed[stay.row]
        assert not isinstance(known, str)
        assert not known.node_sets or any({*stay.nodes} <= nodes for nodes in known.node_sets), stay


def check_limits(result: bl.Result, counted: Counted) -> None:
    """Fail where jobs of a group have more than its limit at any instant.

    What was already held may be above a limit of nodes and amounts: jobs that are resized, and exclusive
    jobs and those that spread, hold more than they ask for. It is at starts that limits hold.
    """
    if not counted.system.limits:
        return
    every = stays(result)
    for now in sorted({stay.start for stay in every}):
        there = [stay for stay in every if stay.start <= now < stay.end]
        members: dict[Any, list[Stay]] = {}
        limits: dict[Any, Limit] = {}
        for stay in there:
            for limit, group in counted.groups[stay.row]:
                members.setdefault(group, []).append(stay)
                limits[group] = limit
        for group, of_group in members.items():
            assert len(of_group) <= limits[group].running_jobs, (now, group, of_group)
            starting = [stay for stay in of_group if stay.start == now]
            if starting and all(stay.begins for stay in starting):
                _check_amounts(now, of_group, limits[group], counted)
    _check_submissions(result, counted)


def _check_amounts(now: float, of_group: list[Stay], limit: Limit, counted: Counted) -> None:
    """Fail where a start brought a group above its limits; jobs that start count with what they ask for."""

    def total(old: Callable[[Stay], float], new: Callable[[Stay], float]) -> float:
        return sum(new(stay) if stay.start == now else old(stay) for stay in of_group)

    # One that starts on fewer tasks than it asks for counts with its nodes for those that start after it.
    least = total(
        lambda stay: len(stay.nodes), lambda stay: min(len(stay.nodes), counted.least_nodes(stay.row))
    )
    assert least <= limit.nodes, (now, limit, of_group)
    for name, most in limit.amounts.items():

        def asked(stay: Stay, name: str = name) -> float:
            exclusive = counted.jobs[stay.row].get("exclusive")
            return (
                counted.jobs[stay.row]["tasks"] * counted.request(stay.row)[name]
                if exclusive
                else stay.held[name]
            )

        amount = total(lambda stay, name=name: stay.held[name], asked)  # type: ignore[misc]  # its default
        assert amount <= most, (now, limit, of_group)


def _check_submissions(result: bl.Result, counted: Counted) -> None:
    """Fail where too many jobs of a group wait and run, or one was rejected though there were fewer."""
    jobs = result.jobs.to_dicts()
    seen: list[JobState] = ["queued", "running", "completed", "killed", "cancelled"]
    alive = [
        (row, job["submit_time"], inf if job["end_time"] is None else job["end_time"])
        for row, job in enumerate(jobs)
        if job["state"] in seen
    ]

    def in_vain(group: object) -> list[tuple[int, float, float]]:
        """List jobs that waited for others until it was known that they do so in vain."""
        return [
            (row, job["submit_time"], inf)
            for row, job in enumerate(jobs)
            if job["reason"] == "dependency" and group in [name for _, name in counted.groups[row]]
        ]

    for row, job in enumerate(jobs):
        if isinstance(counted.routed[row], str):
            continue
        now = job["submit_time"]
        is_full = False
        for limit, group in counted.groups[row]:
            others = [each for each in alive if group in [name for _, name in counted.groups[each[0]]]]
            strictly = sum(start <= now < end for _, start, end in others)
            loosely = sum(start <= now <= end for _, start, end in [*others, *in_vain(group)])
            assert strictly <= limit.submitted_jobs, (row, limit)
            is_full = is_full or loosely >= limit.submitted_jobs
        assert job["reason"] != "limit" or is_full, (row, job)


def check_conditions(result: bl.Result) -> None:
    """Fail where a job ran before what it waits for, or more tasks of an array ran at once than may."""
    jobs = result.jobs.to_dicts()
    first: dict[int, float] = {}
    for row, start in chain(
        result.interruptions.select("row", "start_time").iter_rows(), enumerate(result.jobs["start_time"])
    ):
        if start is not None:
            first[row] = min(first.get(row, inf), start)
    for row, job in enumerate(jobs):
        text = job.get("dependency")
        if not text or row not in first:
            continue
        met = [_is_met(kind, int(name), jobs, first, first[row]) for kind, name in _TERM.findall(text)]
        assert any(met) if "?" in text else all(met), (row, job)
    every = stays(result)
    for stay in every:
        array, most = (jobs[stay.row].get(name) for name in ("array_id", "array_limit"))
        if most is not None:
            at_once = sum(
                jobs[other.row]["array_id"] == array
                for other in every
                if other.start <= stay.start < other.end
            )
            assert at_once <= most, stay


def _is_met(kind: str, name: int, jobs: list[dict[str, Any]], first: dict[int, float], now: float) -> bool:
    """Tell whether a dependency was met by `now`."""
    rows = [row for row, job in enumerate(jobs) if name in (job["job_id"], job.get("array_id"))]
    states = [jobs[row]["state"] for row in rows]
    ends: Iterable[float] = (jobs[row]["end_time"] or 0.0 for row in rows)
    if kind == "after":
        return all(
            first.get(row, 0.0 if state in ("killed", "cancelled", "rejected") else inf) <= now
            for row, state in zip(rows, states, strict=True)
        )
    over = all(state not in ("queued", "running") for state in states) and max(ends, default=0) <= now
    completed = all(state == "completed" for state in states)
    return over and {"afterok": completed, "afternotok": not completed, "afterany": True}[kind]
