"""Disciplines: which of the jobs present one pass serves (S20)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

from reference.limits import over_limit
from reference.room import may_use, room_beside

if TYPE_CHECKING:
    from reference.model import Job
    from reference.state import Running, State

Nodes = frozenset[int]
Amounts = tuple[int, ...]


@dataclass(eq=False)
class Present:
    """A job present: what it asks for in all and in which node sets; `nodes` is where it counts."""

    job: Job
    running: Running | None
    work: float
    servers: int
    needs: Amounts
    sets: list[Nodes]
    nodes: Nodes = field(default_factory=frozenset)


@dataclass
class Capacity:
    """What is left in each node set, and what jobs that are never suspended hold besides.

    A job counts in one set of its own, and in the whole machine.
    """

    whole: Nodes
    left: dict[Nodes, list[int]]
    kept: dict[Nodes, list[int]]
    server: int

    @property
    def servers(self) -> int:
        return self.left[self.whole][self.server]

    def has(self, nodes: Nodes, needs: Amounts) -> bool:
        fits = [all(map(int.__le__, needs, self.left[each])) for each in {nodes, self.whole}]
        return all(fits)

    def add(self, nodes: Nodes, needs: Amounts, sign: int) -> None:
        for each in {nodes, self.whole}:
            self.left[each] = [left + sign * need for left, need in zip(self.left[each], needs, strict=True)]

    def take(self, present: Present) -> bool:
        """Give a job its share in the first of its sets in which it fits; tell whether there is one."""
        for nodes in present.sets:
            if self.has(nodes, present.needs):
                present.nodes = nodes
                self.add(nodes, present.needs, -1)
                return True
        return False


MOST_SUSPENSIONS = 8
"""How often a job may be suspended at one time."""

Selection = Callable[[list[Present], Capacity], list[Present]]


def prefix(jobs: list[Present], capacity: Capacity) -> list[Present]:
    served = []
    for present in jobs:
        if not capacity.take(present):
            break
        served.append(present)
    return served


def all_that_fit(jobs: list[Present], capacity: Capacity) -> list[Present]:
    return [present for present in jobs if capacity.take(present)]


def easy_literal(jobs: list[Present], capacity: Capacity) -> list[Present]:
    served = prefix(jobs, capacity)
    head, behind = jobs[len(served) : len(served) + 1], jobs[len(served) + 1 :]
    if not head:
        return served
    before = work_before(head[0], served, capacity)
    return served + prefix([each for each in behind if each.work < before], capacity)


def easy_skip(jobs: list[Present], capacity: Capacity) -> list[Present]:
    """Do the same past those that do not fit; those behind the head that are served go on."""
    served = prefix(jobs, capacity)
    head, behind = jobs[len(served) : len(served) + 1], jobs[len(served) + 1 :]
    if not head:
        return served
    before = work_before(head[0], served, capacity)
    served += all_that_fit([each for each in behind if each.running], capacity)
    return served + all_that_fit(
        [each for each in behind if not each.running and each.work < before], capacity
    )


def work_before(head: Present, served: list[Present], capacity: Capacity) -> float:
    """Give the work that has to be done before the head can start: α of the workload vector."""
    return min((work_before_in(nodes, head, served, capacity) for nodes in head.sets), default=inf)


def work_before_in(nodes: Nodes, head: Present, served: list[Present], capacity: Capacity) -> float:
    left = {
        each: [one + other for one, other in zip(amounts, capacity.kept[each], strict=True)]
        for each, amounts in capacity.left.items()
    }
    then = Capacity(capacity.whole, left, capacity.kept, capacity.server)
    if then.has(nodes, head.needs):
        return 0.0
    for present in sorted(served, key=lambda each: each.work):
        then.add(present.nodes, present.needs, 1)
        if then.has(nodes, head.needs):
            return present.work
    return inf


def server_filling(jobs: list[Present], capacity: Capacity) -> list[Present]:
    first: list[Present] = []
    for present in jobs:
        if first and sum(each.servers for each in first) >= capacity.servers:
            break
        first.append(present)
    return all_that_fit(sorted(first, key=lambda each: -each.servers), capacity)


def divisor_filling(jobs: list[Present], capacity: Capacity) -> list[Present]:
    first = jobs[: max(1, capacity.servers)]
    return heaviest(first, capacity, lambda alike: alike[0].servers)


def max_weight(jobs: list[Present], capacity: Capacity) -> list[Present]:
    return heaviest(jobs, capacity, len)


def heaviest(
    jobs: list[Present], capacity: Capacity, weight: Callable[[list[Present]], int]
) -> list[Present]:
    """Select the jobs that weigh most of all that fit; of equals those with most of the widest, and so on."""
    for present in jobs:
        present.nodes = present.sets[0]
    classes: dict[tuple[Amounts, Nodes], list[Present]] = {}
    for present in jobs:
        classes.setdefault((present.needs, present.nodes), []).append(present)
    # Those of equal requests stand in the order of their first jobs.
    alike = sorted(classes.values(), key=lambda each: (each[0].servers, each[0].needs), reverse=True)
    weights = [weight(group) for group in alike]
    _, counts = best(alike, weights, capacity)
    return [present for group, count in zip(alike, counts, strict=True) for present in group[:count]]


def best(alike: list[list[Present]], weights: list[int], capacity: Capacity) -> tuple[int, list[int]]:
    """Give the greatest weight that fits, and the numbers of each class: of equals the greatest numbers."""
    if not alike:
        return 0, []
    found: tuple[int, list[int]] = (-1, [])
    one, taken = alike[0][0], 0
    while True:
        weight, counts = best(alike[1:], weights[1:], capacity)
        found = max(found, (taken * weights[0] + weight, [taken, *counts]))
        if taken == len(alike[0]) or not capacity.has(one.nodes, one.needs):
            break
        capacity.add(one.nodes, one.needs, -1)
        taken += 1
    capacity.add(one.nodes, tuple(taken * need for need in one.needs), 1)
    return found


# What each serves, whether it may suspend, and whether it selects at departures only.
DISCIPLINES: dict[str, tuple[Selection, bool, bool]] = {
    "lcfs": (prefix, True, False),
    "lpf": (prefix, True, True),
    "spf": (prefix, True, True),
    "lpf_np": (prefix, False, False),
    "spf_np": (prefix, False, False),
    "easy_literal": (easy_literal, True, False),
    "easy_skip": (easy_skip, True, False),
    "server_filling": (server_filling, True, False),
    "server_filling_srpt": (server_filling, True, False),
    "divisor_filling": (divisor_filling, True, False),
    "most_servers_first": (all_that_fit, True, False),
    "least_servers_first": (all_that_fit, True, False),
    "max_weight": (max_weight, True, False),
}
KEYS: dict[str, Callable[[Present], float]] = {
    "lcfs": lambda each: -each.job.submit_time,
    "lpf": lambda each: -each.work,
    "spf": lambda each: each.work,
    "lpf_np": lambda each: -each.work,
    "spf_np": lambda each: each.work,
    "server_filling_srpt": lambda each: each.work * each.servers,
    "most_servers_first": lambda each: -each.servers,
    "least_servers_first": lambda each: each.servers,
}


def serve(state: State, name: str) -> None:
    """Suspend the jobs that are no longer selected, and start those that are."""
    select, is_preemptive, at_departures = DISCIPLINES[name]
    has_departed = state.given_back or state.disturbed or not state.running
    if not state.queue or (at_departures and not has_departed):
        return
    sharing = [each for each in state.running if each.holds and each.phase != "completing" and is_preemptive]
    running = [each for each in sharing if each.phase != "suspending"]
    jobs = in_service_order(state, name, [present(state, each.job, each) for each in running])
    served = select(jobs, capacity_of(state, sharing))
    for each in sorted(jobs, key=lambda each: each.job.row):
        is_ending = state.ends_are_taken and each.running and each.running.ends_at(state.now)
        is_often = state.suspended.count((state.now, each.job.row)) >= MOST_SUSPENSIONS
        if each.running and each not in served and not is_ending and not is_often:
            state.preempted = True
            state.suspended.append((state.now, each.job.row))
            state.suspend(each.running)
    for each in served:
        if not each.running and over_limit(state, each.job) is None:
            placement = state.place_now(each.job)
            if placement is not None:
                state.start(each.job, placement)


def in_service_order(state: State, name: str, running: list[Present]) -> list[Present]:
    """Give the running jobs, and the waiting ones that are within their limits, in order."""

    def rank(each: Present) -> tuple[float, ...]:
        job = each.job
        key = KEYS[name](each) if name in KEYS else 0.0
        row = -job.row if name == "lcfs" else job.row
        return -job.tier, -state.fixed[job.row] if job.row in state.fixed else key, job.submit_time, row

    jobs = sorted([*running, *(present(state, job, None) for job in state.queue)], key=rank)
    found, held_up = [], False
    for each in jobs:
        limit = None if each.running else over_limit(state, each.job)
        held_up |= limit is not None and limit.blocks
        if each.running or (limit is None and not held_up):
            found.append(each)
    return found


def present(state: State, job: Job, running: Running | None) -> Present:
    machine = state.machine
    needs = tuple(job.tasks * asked for asked in job.request)
    if running is None or running.phase == "launching":
        work = max(0.0, job.run_time + state.overhead(job).execution - state.saved.get(job.row, 0.0))
    else:
        work = max(0.0, running.work - running.done(state.now))
    empty = room_beside(machine, [])
    sets = [frozenset(n.number for n in empty if may_use(bound, n)) for bound in job.in_each_set]
    if running is not None:
        there = {node for node, _ in running.placement}
        sets = [next(nodes for nodes in sets if there <= nodes)]
    return Present(job, running, work, needs[server_of(state)], needs, sets)


def server_of(state: State) -> int:
    resources = state.machine.resources
    return resources.index("core") if "core" in resources else 0


def capacity_of(state: State, sharing: list[Running]) -> Capacity:
    """Give what is free and what the jobs hold that are or may be suspended, in each node set."""
    machine = state.machine
    whole = frozenset(range(len(machine.capacity)))
    jobs = [*state.queue, *(each.job for each in state.running)]
    sets = {whole, *(nodes for job in jobs for nodes in present(state, job, None).sets)}
    holding = [each for each in state.running if each.holds]
    room = room_beside(machine, [(each.job, each.placement) for each in holding])
    left = {nodes: total([room[node].free for node in nodes], machine.resources) for nodes in sets}
    kept = {nodes: total([], machine.resources) for nodes in sets}
    for each in holding:
        for node, tasks in each.placement:
            amounts = [tasks * asked for asked in each.job.request]
            held = machine.capacity[node] if each.job.exclusive else tuple(amounts)
            of = left if any(each is other for other in sharing) else kept
            for nodes in sets:
                if node in nodes:
                    of[nodes] = total([tuple(of[nodes]), held], machine.resources)
    return Capacity(whole, left, kept, server_of(state))


def total(amounts: list[tuple[int, ...]], resources: tuple[str, ...]) -> list[int]:
    return [sum(each[place] for each in amounts) for place in range(len(resources))]
