"""Which nodes a job gets under Slurm, in plain Python: machine, weights and selection (S25, S26)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import floor, inf

from batchlab.slurm import Allotment, Entry, Held, Precedence, Situation

__all__ = ["Chosen", "Left", "Machine", "Weights", "evaluate", "move", "reserved"]

Left = list[list[int]]
Chosen = list[Allotment]
Weights = list[int]
Verdict = tuple[str, float | None, Chosen, list[int]]


@dataclass(frozen=True)
class Machine:
    """What does not change from call to call."""

    nodes: Sequence[tuple[int, int]]
    partitions: Sequence[tuple[frozenset[int], int]]
    select: str
    resolution: float = 60.0
    window: float = 86_400.0
    epoch: float = 0.0
    max_entries: float = inf
    max_entries_of_partition: int = 0
    max_entries_of_user: int = 0
    max_entries_of_user_in_partition: int = 0
    max_entries_of_association: int = 0
    plans_of_partition: int = 0
    min_priority: float = 0.0
    min_age: float = 0.0
    one_plan_of_job: bool = False
    plans_of_array: int = 20
    max_starts: int = 0
    depth_of_partition: int = 0
    main_starts: int = 0
    kill_wait: float = 30.0
    node_weights: Sequence[int] = ()
    precedence: Precedence | None = None
    tiers: Sequence[int] = ()
    factors: Sequence[float] = ()

    def weights(self) -> Weights:
        """Give the weights of nodes before any job is evaluated."""
        return [*self.node_weights] or [1] * len(self.nodes)

    def rounded(self, time: float) -> float:
        return floor((time + self.epoch) / self.resolution) * self.resolution - self.epoch

    def left(self, held: Iterable[Held]) -> Left:
        left = [[*node] for node in self.nodes]
        for each in held:
            move(left, each.allotments, -1)
        return left

    def choose(self, entry: Entry, usable: Iterable[int], left: Left, weights: Weights) -> Chosen | None:
        most = self.partitions[entry.partition][1]
        if self.select == "linear":
            return whole_nodes(self, entry, sorted(usable), left)
        offers = {node: offer(self, entry, node, left[node]) for node in sorted(usable)}
        return shared_nodes(entry, {node: cpus for node, cpus in offers.items() if cpus > 0}, most, weights)

    def begin(self, entry: Entry, usable: set[int], left: Left, weights: Weights) -> Chosen | None:
        """Choose nodes of a job that has been evaluated."""
        steps = sorted({weights[node] for node in usable}) if self.select == "linear" else [max(weights)]
        for most in steps:
            light = [node for node in usable if weights[node] <= most]
            if (chosen := self.choose(entry, light, left, weights)) is not None:
                return chosen
        return None


def move(left: Left, allotments: Iterable[Allotment], sign: int) -> None:
    for part in allotments:
        left[part.node][0] += sign * part.cpus
        left[part.node][1] += sign * part.memory


def runs(nodes: Iterable[int]) -> list[list[int]]:
    found: list[list[int]] = []
    for node in nodes:
        if found and found[-1][-1] == node - 1:
            found[-1].append(node)
        else:
            found.append([node])
    return found


def whole_nodes(machine: Machine, entry: Entry, usable: list[int], left: Left) -> Chosen | None:
    idle = [node for node in usable if tuple(left[node]) == tuple(machine.nodes[node])]
    wanted = max(entry.nodes, 1)
    if len(idle) < wanted:
        return None
    parts, taken = runs(idle), list[int]()
    while len(taken) < wanted:
        missing = wanted - len(taken)
        sufficient = [part for part in parts if len(part) >= missing]
        part = min(sufficient, key=len) if sufficient else max(parts, key=len)
        parts.remove(part)
        taken += part[:missing]
    return [Allotment(node, *machine.nodes[node]) for node in sorted(taken)]


def shared_nodes(entry: Entry, offers: dict[int, int], most: int, weights: Weights) -> Chosen | None:
    least = max(entry.nodes, 1)
    taken = attempt(entry, offers, most, weights)
    for few in range(1, max(offers.values(), default=0)):
        if taken is not None or len(offers) <= least:
            break
        dropped = [node for node, cpus in offers.items() if cpus <= few][: len(offers) - least]
        for node in dropped:
            del offers[node]
        if dropped or few == 1:
            taken = attempt(entry, offers, most, weights)
    if taken is None:
        return None
    per_cpu = entry.memory if entry.memory_is_per_cpu else 0
    per_node = 0 if entry.memory_is_per_cpu else entry.memory
    return [Allotment(node, cpus, per_node + per_cpu * cpus) for node, cpus in sorted(taken.items())]


def tasks_of(entry: Entry) -> int:
    return entry.tasks or max(entry.tasks_per_node, 1) * max(entry.nodes, 1)


def offer(machine: Machine, entry: Entry, node: int, left: list[int]) -> int:
    cpus, memory = left
    if entry.exclusive and cpus < machine.nodes[node][0]:
        return 0
    if entry.memory_is_per_cpu and entry.memory:
        cpus = min(cpus, memory // entry.memory)
    elif not entry.memory_is_per_cpu and memory < entry.memory:
        return 0
    if cpus < entry.cpus_per_task * max(entry.tasks_per_node, 1):
        return 0
    return cpus - cpus % entry.cpus_per_task if tasks_of(entry) > 1 else cpus


def attempt(entry: Entry, offers: dict[int, int], most: int, weights: Weights) -> dict[int, int] | None:
    """Fill the job; `offers` keep what was cut where it fails."""
    missing = entry.nodes if entry.exclusive else tasks_of(entry) * entry.cpus_per_task
    nodes_missing = max(entry.nodes, 1)
    most = entry.nodes or most
    taken = dict[int, int]()
    parts = [[*part] for run in runs(sorted(offers)) for _, part in groupby(run, weights.__getitem__)]
    while missing > 0 or nodes_missing > 0:
        best = best_part(parts, offers, weights, (missing, nodes_missing))
        if best is None:
            return None
        part = best
        parts.remove(part)
        alone = [node for node in part if offers[node] >= missing] if nodes_missing <= 1 else []
        for node in [min(alone, key=lambda node: offers[node])] if alone else part:
            if missing <= 0 and nodes_missing <= 0:
                break
            if len(taken) == most:
                return None
            if len(taken) == most - 1 and offers[node] < missing:
                continue
            if not entry.exclusive:
                offers[node] = min(offers[node], max(missing - max(nodes_missing - 1, 0), 1))
            taken[node] = entry.tasks_per_node * entry.cpus_per_task or offers[node]
            missing -= taken[node]
            nodes_missing -= 1
    return taken


def best_part(
    parts: list[list[int]], offers: dict[int, int], weights: Weights, missing: tuple[int, int]
) -> list[int] | None:
    """Give the part of the least weight that suffices with the fewest CPUs, or has the most."""
    best: tuple[list[int], bool, int] | None = None
    lightest = min((weights[part[0]] for part in parts), default=0)
    for part in [part for part in parts if weights[part[0]] == lightest]:
        total = sum(offers[node] for node in part)
        suffices = total >= missing[0] and len(part) >= missing[1]
        if (
            best is None
            or (suffices and (not best[1] or total < best[2]))
            or (not suffices and total > best[2])
        ):
            best = part, suffices, total
    return best and best[0]


def evaluate(
    machine: Machine, held: Iterable[Held], entry: Entry, nodes: Iterable[int], weights: Weights
) -> None:
    """Give nodes the weights that they have for this job, until the next one is evaluated."""
    groups = {*entry.counted_in}
    counted = {part.node for each in held if groups & {*each.counted_in} for part in each.allotments}
    fresh = machine.weights()
    of_weight = defaultdict[int, set[int]](set)
    for node in nodes:
        of_weight[fresh[node]].add(node)
    for weight, alike in of_weight.items():
        for node in alike:
            weights[node] = weight + (bool(alike & counted) and node not in counted)


def reserved(
    situation: Situation, entry: Entry, begin: float
) -> tuple[frozenset[int] | None, frozenset[int]]:
    """Give the nodes to which a job is bound that starts then, and those that are reserved for others."""
    end, others = begin + entry.limit, set[int]()
    for number, each in enumerate(situation.reservations):
        if number != entry.reservation and each.begin < end and each.end > begin:
            others |= {*each.nodes}
    own = None if entry.reservation is None else frozenset(situation.reservations[entry.reservation].nodes)
    return own, frozenset(others)
