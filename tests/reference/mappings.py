"""Orders of the nodes, and the rules that take nodes in them (S22)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from reference.compact import around_a_centre, fewest_groups, free_box
from reference.model import Job, Placement
from reference.networks import Network
from reference.numbers import mix
from reference.room import Room, slots

PARAMETER = re.compile(r"(\w+)=((?:\w+\([^)]*\))|[^,)]+)")


@dataclass
class Mapping:
    """A rule and its parameters; `order` changes as round robin goes on."""

    rule: str
    order: list[int]
    blocks: int | None = None
    of: str = "free"
    threshold: float = 0.0
    by: str = "requested_time"
    centres: int = 64
    network: Network | None = None

    def place(self, job: Job, room: Room) -> Placement | None:
        """Choose nodes, and fill them in the order in which they were chosen."""
        listed = [node for node in self.order if slots(job, room[node]) > 0]
        if self.rule == "sub_torus" and self.network is not None:
            return free_box(job, listed, room, self.network)
        chosen = self.choose(job, listed, room)
        return None if chosen is None else filled(job, chosen, room)

    # One answer for each rule.
    def choose(  # noqa: PLR0911
        self, job: Job, listed: list[int], room: Room
    ) -> list[int] | None:
        head = first_that_suffice(job, listed, room)
        if head is None:
            return None
        if self.blocks is not None:
            return self.from_blocks(job, listed, len(head), room)
        if self.rule == "contiguous":
            return self.window(job, room)
        if self.network is not None and self.rule in {"compact", "hop_bytes"}:
            # Jobs of these cases send nothing.
            given = self.by, self.centres
            return around_a_centre(job, listed, room, self.network, given)
        if self.network is not None:
            return fewest_groups(job, listed, room, self.network)
        measure = len(head) if self.by == "nodes" else job.requested_time
        if self.rule == "dual_end" and measure >= self.threshold:
            tail = first_that_suffice(job, listed[::-1], room)
            return None if tail is None else tail[::-1]
        return head

    def from_blocks(self, job: Job, listed: list[int], count: int, room: Room) -> list[int]:
        """Take the heads of the blocks of what is listed or of all nodes; more nodes until it is enough."""
        assert self.blocks is not None
        while True:
            parts = cut(range(count), self.blocks)
            if self.of == "machine":
                blocks = [
                    [node for node in block if node in listed] for block in cut(self.order, self.blocks)
                ]
            else:
                blocks = cut(listed, self.blocks)
            taken = [node for part, block in zip(parts, blocks, strict=True) for node in block[: len(part)]]
            others = [node for node in listed if node not in taken][: count - len(taken)]
            chosen = [node for node in listed if node in {*taken, *others}]
            if filled(job, chosen, room) is not None:
                return chosen
            count += 1

    def window(self, job: Job, room: Room) -> list[int] | None:
        """Give the first nodes that follow one another in the order, each with slots, and suffice."""
        for begin in range(len(self.order)):
            run: list[int] = []
            for node in self.order[begin:]:
                if slots(job, room[node]) == 0:
                    break
                run.append(node)
            head = first_that_suffice(job, run, room)
            if head is not None:
                return head
        return None

    def freed(self, placement: Placement) -> None:
        """Put freed nodes to the tail, in the order in which the job had them."""
        if self.rule == "round_robin":
            nodes = [node for node, _ in placement]
            self.order = [*(node for node in self.order if node not in nodes), *nodes]


def mapping_of(text: str, nodes: int, network: Network | None = None) -> Mapping | None:
    """Read an allocator that goes by an order; None where it is none of these."""
    name, _, rest = text.partition("(")
    of_networks = {"compact", "hop_bytes", "fewest_groups", "sub_torus"}
    if name not in {"round_robin", "dual_end", "blocks"} | of_networks and "order=" not in rest:
        return None
    given = dict(PARAMETER.findall(rest))
    order = list(range(nodes))
    if match := re.fullmatch(r"random\((\d+)\)", given.get("order", "index")):
        order.sort(key=lambda node: mix(int(match[1]), node))
    blocks = rest[:-1].partition(",")[0] if name == "blocks" else given.get("blocks")
    by = given.get("by", "mean_hops" if name in {"compact", "hop_bytes"} else "requested_time")
    threshold = float(given.get("threshold", "3600" if by == "requested_time" else "512"))
    cut_into = None if blocks is None else int(blocks)
    centres = int(given.get("centres", "64"))
    return Mapping(name, order, cut_into, given.get("of", "free"), threshold, by, centres, network)


def cut(things: Sequence[int], parts: int) -> list[list[int]]:
    """Cut things into parts that are as long as one another; the first ones are one longer."""
    ends = [0]
    for part in range(parts):
        ends.append(ends[-1] + len(things) // parts + (part < len(things) % parts))
    return [list(things[begin:end]) for begin, end in pairwise(ends)]


def first_that_suffice(job: Job, nodes: list[int], room: Room) -> list[int] | None:
    total = 0
    for number, node in enumerate(nodes, 1):
        total += slots(job, room[node])
        if total >= job.tasks:
            return nodes[:number]
    return None


def filled(job: Job, nodes: list[int], room: Room) -> Placement | None:
    """Put on each node as many tasks as it admits, until all are placed."""
    placement: Placement = []
    left = job.tasks
    for node in nodes:
        tasks = min(left, slots(job, room[node]))
        if tasks > 0:
            placement.append((node, tasks))
            left -= tasks
    return placement if left == 0 else None
