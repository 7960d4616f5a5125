"""Which nodes a job gets under Slurm, in plain Python: machine, weights and selection (S25, S26)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import groupby
from math import floor, inf

from batchlab.slurm import Allotment, Entry, Held, Precedence, Situation

__all__ = ["Chosen", "Left", "Machine", "Weights", "evaluate", "move", "reserved"]

Left = list[list[int]]
Chosen = list[Allotment]
Weights = list[int]
Filling = Callable[..., dict[int, int] | None]
# So many GPUs of a node are told apart.
MOST_GPUS = 255


@dataclass(frozen=True)
class Machine:
    """What does not change from call to call."""

    # CPUs, memory and generic resources, of which `gpu` is the place of GPUs.
    nodes: Sequence[tuple[int, ...]]
    partitions: Sequence[tuple[frozenset[int], int]]
    select: str
    bf_resolution: float = 60.0
    bf_window: float = 86_400.0
    epoch: float = 0.0
    bf_max_job_test: float = inf
    bf_max_job_part: int = 0
    bf_max_job_user: int = 0
    bf_max_job_user_part: int = 0
    bf_max_job_assoc: int = 0
    bf_job_part_count_reserve: int = 0
    bf_min_prio_reserve: float = 0.0
    bf_min_age_reserve: float = 0.0
    bf_one_resv_per_job: bool = False
    bf_max_job_array_resv: int = 20
    bf_max_job_start: int = 0
    partition_job_depth: int = 0
    sched_max_job_start: int = 0
    kill_wait: float = 30.0
    node_weights: Sequence[int] = ()
    precedence: Precedence | None = None
    tiers: Sequence[int] = ()
    factors: Sequence[float] = ()
    gpu: int | None = None
    cr_lln: bool = False
    pack_serial_at_end: bool = False
    bf_busy_nodes: bool = False
    over_times: Sequence[int | None] = ()

    def weights(self) -> Weights:
        """Give the weights of nodes before any job is evaluated."""
        return [*self.node_weights] or [1] * len(self.nodes)

    def rounded(self, time: float) -> float:
        return floor((time + self.epoch) / self.bf_resolution) * self.bf_resolution - self.epoch

    def left(self, held: Iterable[Held]) -> Left:
        left = [[*node] for node in self.nodes]
        for each in held:
            move(left, each.allotments, -1)
        return left

    def choose(
        self,
        entry: Entry,
        usable: Iterable[int],
        left: Left,
        weights: Weights,
        busy: frozenset[int] | None = None,
    ) -> Chosen | None:
        """Choose nodes; where `busy` is given, those in use before the idle ones."""
        most = self.partitions[entry.partition][1]
        if self.select == "linear":
            return whole_nodes(self, entry, sorted(usable), left)
        # Slurm first tries whether the job fits if all cores are free, with the memory that is free now.
        with_all_cores = {node: [self.nodes[node][0], *left[node][1:]] for node in usable}
        if not entry.exclusive and self.shared(entry, with_all_cores, most, weights, busy) is None:
            return None
        taken = self.shared(entry, {node: left[node] for node in usable}, most, weights, busy)
        if taken is None:
            return None
        return [self.allotment(entry, node, cpus) for node, cpus in sorted(taken.items())]

    def shared(
        self,
        entry: Entry,
        left: Mapping[int, list[int]],
        most: int,
        weights: Weights,
        busy: frozenset[int] | None,
    ) -> dict[int, int] | None:
        """Give the CPUs of a job on each of its nodes, of what is left on the usable ones."""
        offers = [offer(self, entry, node, left[node]) for node in sorted(left)]
        for each in offers:
            each.load = -Fraction(left[each.node][0], self.nodes[each.node][0])
        offered = {each.node: each for each in offers if each.cpus > 0}
        return shared_nodes(entry, offered, most, weights, self.filling(entry, busy))

    def filling(self, entry: Entry, busy: frozenset[int] | None) -> Filling:
        """Give the order in which nodes are taken for a job."""
        if busy is not None:
            return partial(attempt_busy, busy=busy)
        if self.cr_lln:
            return attempt_least_loaded
        is_serial = tasks_of(entry) * entry.cpus_per_task == 1 and entry.nodes <= 1
        return attempt_last if self.pack_serial_at_end and is_serial else attempt

    def allotment(self, entry: Entry, node: int, cpus: int) -> Allotment:
        """Give what a job has on a node where it has so many CPUs."""
        memory = entry.memory * cpus if entry.memory_is_per_cpu else entry.memory
        generic = tuple(self.nodes[node][2:]) if entry.exclusive else ()
        if any(entry.generic) and not entry.exclusive:
            times = cpus // entry.cpus_per_task if entry.generic_is_per_task else 1
            generic = tuple(amount * times for amount in entry.generic)
        return Allotment(node, cpus, memory, generic)

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
        for kind, amount in enumerate(part.generic):
            left[part.node][2 + kind] += sign * amount


def runs(nodes: Iterable[int]) -> list[list[int]]:
    found: list[list[int]] = []
    for node in nodes:
        if found and found[-1][-1] == node - 1:
            found[-1].append(node)
        else:
            found.append([node])
    return found


def whole_nodes(machine: Machine, entry: Entry, usable: list[int], left: Left) -> Chosen | None:
    idle = [node for node in usable if left[node][:2] == [*machine.nodes[node][:2]]]
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
    return [Allotment(node, machine.nodes[node][0], machine.nodes[node][1]) for node in sorted(taken)]


@dataclass
class Offer:
    """What a node offers a job: CPUs; how it ranks beside nodes of its weight; and how much it offers at all.

    By the latter nodes are left out: the CPUs, as if there were generic resources enough, and the GPUs.
    `load` is less the greater a part of its CPUs is free.
    """

    node: int
    cpus: int
    size: int
    gpus: int = 0
    rank: int = 0
    load: Fraction = Fraction(0)

    def cut(self, most: int) -> None:
        """Offer so many CPUs at most."""
        if self.cpus > most:
            self.cpus, self.size = most, most + self.gpus


Offers = dict[int, Offer]


def shared_nodes(
    entry: Entry, offers: Offers, most: int, weights: Weights, fill: Filling
) -> dict[int, int] | None:
    """Give the CPUs of a job on each of its nodes."""
    least = max(entry.nodes, 1)
    taken = fill(entry, offers, most, weights)
    for few in range(1, max((each.size for each in offers.values()), default=0)):
        if taken is not None or len(offers) <= least:
            break
        dropped = [node for node, each in offers.items() if each.size <= few][: len(offers) - least]
        for node in dropped:
            del offers[node]
        if dropped or few == 1:
            taken = fill(entry, offers, most, weights)
    return taken


def tasks_of(entry: Entry) -> int:
    return entry.tasks or max(entry.tasks_per_node, 1) * max(entry.nodes, 1)


def offer(machine: Machine, entry: Entry, node: int, left: list[int]) -> Offer:
    cpus = usable_cpus(machine, entry, node, left)
    if not any(entry.generic):
        return Offer(node, cpus, cpus)
    asked = [(amount, free) for amount, free in zip(entry.generic, left[2:], strict=True) if amount]
    tasks = min(free // amount for amount, free in asked)
    offered = cpus
    if tasks < (max(entry.tasks_per_node, 1) if entry.generic_is_per_task else 1):
        offered = 0
    elif entry.generic_is_per_task and not entry.exclusive:
        offered = min(cpus, tasks * entry.cpus_per_task)
    if machine.gpu is None or not entry.generic[machine.gpu]:
        return Offer(node, offered, cpus)
    gpus = left[2 + machine.gpu]
    is_bounded = not entry.generic_is_per_task and not entry.exclusive
    counted = min(gpus, entry.generic[machine.gpu] if is_bounded else MOST_GPUS, MOST_GPUS)
    return Offer(node, offered, cpus + gpus, gpus, -counted)


def usable_cpus(machine: Machine, entry: Entry, node: int, left: list[int]) -> int:
    cpus, memory = left[:2]
    if entry.exclusive and cpus < machine.nodes[node][0]:
        return 0
    if entry.memory_is_per_cpu and entry.memory:
        cpus = min(cpus, memory // entry.memory)
    elif not entry.memory_is_per_cpu and memory < entry.memory:
        return 0
    if cpus < entry.cpus_per_task * max(entry.tasks_per_node, 1):
        return 0
    return cpus - cpus % entry.cpus_per_task if tasks_of(entry) > 1 else cpus


def attempt(entry: Entry, offers: Offers, most: int, weights: Weights) -> dict[int, int] | None:
    """Fill the job; `offers` keep what was cut where it fails."""
    missing = entry.nodes if entry.exclusive else tasks_of(entry) * entry.cpus_per_task
    nodes_missing = max(entry.nodes, 1)
    most = entry.nodes or most
    taken = dict[int, int]()
    ranks = {node: (weights[node], each.rank) for node, each in offers.items()}
    parts = [[*part] for run in runs(sorted(offers)) for _, part in groupby(run, ranks.__getitem__)]
    while missing > 0 or nodes_missing > 0:
        first = min((ranks[part[0]] for part in parts), default=None)
        part = best_part(
            [part for part in parts if ranks[part[0]] == first], offers, (missing, nodes_missing)
        )
        if part is None:
            return None
        parts.remove(part)
        alone = [node for node in part if offers[node].cpus >= missing] if nodes_missing <= 1 else []
        for node in [min(alone, key=lambda node: offers[node].cpus)] if alone else part:
            if missing <= 0 and nodes_missing <= 0:
                break
            if len(taken) == most:
                return None
            if len(taken) == most - 1 and offers[node].cpus < missing:
                continue
            taken[node] = take(entry, offers[node], missing, nodes_missing)
            missing -= taken[node]
            nodes_missing -= 1
    return taken


def attempt_least_loaded(entry: Entry, offers: Offers, most: int, weights: Weights) -> dict[int, int] | None:
    """Fill the job from nodes of the least weight with the greatest part free on."""
    missing = entry.nodes if entry.exclusive else tasks_of(entry) * entry.cpus_per_task
    nodes_missing = max(entry.nodes, 1)
    taken = dict[int, int]()
    for node in sorted(offers, key=lambda node: (weights[node], offers[node].rank, offers[node].load, node)):
        if len(taken) < (entry.nodes or most) and (missing > 0 or nodes_missing > 0):
            taken[node] = take(entry, offers[node], missing, nodes_missing)
            missing -= taken[node]
            nodes_missing -= 1
    return None if missing > 0 or nodes_missing > 0 else taken


def attempt_last(entry: Entry, offers: Offers, _most: int, weights: Weights) -> dict[int, int] | None:
    """Give a job of one CPU the last node of the least weight."""
    last = min(offers, key=lambda node: (weights[node], offers[node].rank, -node), default=None)
    return None if last is None else {last: take(entry, offers[last], 1, 1)}


def attempt_busy(
    entry: Entry, offers: Offers, most: int, weights: Weights, busy: frozenset[int]
) -> dict[int, int] | None:
    """Fill the job from nodes of the least weight, of these from those in use.

    As in Slurm, it goes on to the idle nodes of a weight though it is done with those in use.
    """
    missing = entry.nodes if entry.exclusive else tasks_of(entry) * entry.cpus_per_task
    nodes_missing, nodes_left = max(entry.nodes, 1), entry.nodes or most
    taken = dict[int, int]()
    ranks = {node: (weights[node], each.rank) for node, each in offers.items()}
    for rank in sorted({*ranks.values()}):
        alike = [node for node in sorted(offers) if ranks[node] == rank]
        is_done = False
        for nodes in ([node for node in alike if node in busy], [node for node in alike if node not in busy]):
            for node in nodes:
                taken[node] = take(entry, offers[node], missing, nodes_missing)
                missing -= taken[node]
                nodes_missing -= 1
                nodes_left -= 1
                if (missing <= 0 and nodes_missing <= 0) or nodes_left == 0:
                    is_done = True
                    break
        if is_done:
            break
    return None if missing > 0 or nodes_missing > 0 else taken


def take(entry: Entry, offer: Offer, missing: int, nodes_missing: int) -> int:
    """Give the CPUs that a job takes of a node, which offers no more from then on."""
    if not entry.exclusive:
        offer.cut(max(missing - max(nodes_missing - 1, 0), 1))
    return entry.tasks_per_node * entry.cpus_per_task or offer.cpus


def best_part(parts: list[list[int]], offers: Offers, missing: tuple[int, int]) -> list[int] | None:
    """Give the part that suffices with the fewest CPUs, or has the most."""
    best: tuple[list[int], bool, int] | None = None
    for part in parts:
        total = sum(offers[node].cpus for node in part)
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
