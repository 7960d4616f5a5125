"""Allocators: an order of the nodes, filled greedily."""

from dataclasses import dataclass

from reference.mappings import Mapping
from reference.model import Job, Placement
from reference.numbers import mix
from reference.room import Room, load, slots


@dataclass
class Allocator:
    """An allocator by name; `last_node` took the last task of the latest start."""

    name: str
    seed: int
    last_node: int = 0
    resources: tuple[str, ...] = ()
    mapping: Mapping | None = None

    def place(self, job: Job, room: Room) -> Placement | None:
        """Give the job's placement, or None where it does not fit."""
        if self.mapping is not None:
            return self.mapping.place(job, room)
        placement: Placement = []
        left = job.tasks
        for index in self.nodes_in_order(job, room):
            tasks = min(left, slots(job, room[index]))
            left -= tasks
            if tasks > 0:
                placement.append((index, tasks))
            if left == 0:
                return placement
        return None

    def freed(self, placement: Placement) -> None:
        """Take note that a job gave back its nodes."""
        if self.mapping is not None:
            self.mapping.freed(placement)

    def nodes_in_order(self, job: Job, room: Room) -> list[int]:
        nodes = list(range(len(room)))
        orders = {  # sorting is stable: ties stay by index
            "first_fit": lambda: nodes,
            "best_fit": lambda: sorted(nodes, key=lambda node: -load(room[node])),
            "worst_fit": lambda: sorted(nodes, key=lambda node: load(room[node])),
            "best_fit(by=free)": lambda: sorted(nodes, key=lambda node: float(sum(room[node].free))),
            "worst_fit(by=free)": lambda: sorted(nodes, key=lambda node: -float(sum(room[node].free))),
            "random": lambda: sorted(nodes, key=lambda node: mix(mix(self.seed, job.row), node)),
            "next_fit": lambda: nodes[self.last_node :] + nodes[: self.last_node],
            "contiguous": lambda: first_window(job, room),
            "balanced": lambda: balanced(job, room, self.resources),
        }
        return orders[self.name]()


def first_window(job: Job, room: Room) -> list[int]:
    """Give the first run of nodes, each with slots, whose slots are enough; empty where there is none."""
    for begin in range(len(room)):
        total = 0
        for node in range(begin, len(room)):
            if slots(job, room[node]) == 0:
                break
            total += slots(job, room[node])
            if total >= job.tasks:
                return list(range(begin, node + 1))
    return []


def balanced(job: Job, room: Room, resources: tuple[str, ...]) -> list[int]:
    """Give nodes without critical resources, then one after the other from the longest list of those with."""
    critical = [name for name in ("mic", "gpu") if name in resources]
    lists: dict[str, list[int]] = {name: [] for name in critical}
    order: list[int] = []
    for node in range(len(room)):
        free = {name: room[node].free[resources.index(name)] for name in critical}
        if slots(job, room[node]) == 0:
            continue
        if any(free.values()):
            lists[max(critical, key=lambda name: free[name])].append(node)
        else:
            order.append(node)
    for name, nodes in lists.items():
        place = resources.index(name)
        nodes.sort(key=lambda node: (room[node].free[place], node))
    while any(lists.values()):
        order.append(max(lists.values(), key=len).pop(0))
    return order
