"""Placements and rank orders by what ranks send: equal to the reference, and what they promise (S22)."""

import os
from random import Random
from typing import TYPE_CHECKING

import polars as pl
import pytest

import batchlab as bl
from batchlab.errors import PolicyError, SimulationError
from batchlab.placement import distance
from batchlab.platform import Host, Link, Route, Zone
from batchlab.skeleton import named, run
from reference.hop_bytes import fewest_hop_bytes, hop_bytes, mapped
from reference.rank_orders import nodes_of_ranks

if TYPE_CHECKING:
    from batchlab.core.vocabulary import RankOrder

CORES = 3
NETWORKS = (
    bl.Platform.torus((4, 3), bandwidth=1e9, latency=1e-6, cores=CORES),
    bl.Platform.fat_tree(down=(3, 2, 2), up=(1, 1, 1), bandwidth=1e9, latency=1e-6, cores=CORES),
    bl.Platform.dragonfly(
        groups=3, chassis=2, blades=2, nodes_per_blade=1, bandwidth=1e9, latency=1e-6, cores=CORES
    ),
)
CASES = 210
CHUNKS = 2
# `BATCHLAB_CASES=10000 pytest -m campaign tests/placement`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "2000"))
CAMPAIGN_CHUNK = 250


def split(platform: bl.Platform) -> bl.System:
    """Give a system whose nodes can be asked for one by one."""
    system = bl.System.of(platform)
    groups = tuple(bl.NodeGroup(f"group{node}", 1, {"core": CORES}) for node in range(system.nodes))
    return bl.System(groups, platform=platform, hosts=system.hosts)


SYSTEMS = tuple(map(split, NETWORKS))


def holders(rng: Random, nodes: int) -> list[bl.JobDescription]:
    """Make jobs that hold cores of some nodes."""
    held = {node: rng.randint(1, CORES) for node in rng.sample(range(nodes), rng.randint(0, nodes - 6))}
    return [
        bl.JobDescription(run_time=1e5, tasks=cores, node_group=f"group{node}")
        for node, cores in held.items()
    ]


class Drawn:
    """A job that sends at random, next to jobs that hold cores."""

    def __init__(self, number: int) -> None:
        rng = self.rng = Random(number)  # noqa: S311 - no secret
        self.system = SYSTEMS[number % len(SYSTEMS)]
        self.holders = holders(rng, self.system.nodes)
        used = {int(str(job.node_group)[5:]): job.tasks or 0 for job in self.holders}
        free = [(node, CORES - used.get(node, 0)) for node in range(self.system.nodes)]
        self.ranks = rng.randint(2, min(9, sum(slots for _, slots in free)))
        self.per_node = rng.choice((CORES, CORES, 1, 2))
        self.room = [(node, min(slots, self.per_node)) for node, slots in free if slots > 0]
        self.ranks = min(self.ranks, sum(slots for _, slots in self.room))
        sizes = [[rng.choice((0, 0, 1, 50, 9000)) for _ in range(self.ranks)] for _ in range(self.ranks)]
        self.sizes = [
            [0 if one == other else size for other, size in enumerate(row)] for one, row in enumerate(sizes)
        ]
        self.iterations = rng.randint(1, 3)
        listed = rng.sample(range(self.ranks), self.ranks)
        self.rank_order: RankOrder | list[int] = rng.choice(("packed", "cyclic", "mapped", "mapped", listed))
        fidelity = rng.choice(("exact", "exact", "aggregated"))
        given = {"sizes": self.sizes, "fidelity": fidelity}
        self.skeleton = named("matrix", self.ranks, given)
        self.sent = {
            (one, other): float(size * self.iterations)
            for one, row in enumerate(self.sizes)
            for other, size in enumerate(row)
        }

    def result(self, policy: str) -> bl.Result:
        phase = bl.Phase([self.skeleton], iterations=self.iterations)
        job = bl.JobDescription(
            submit_time=1.0,
            tasks=self.ranks,
            requested_time=1e6,
            application=bl.Application([phase]),
            rank_order=self.rank_order,
            others={"tasks_per_node": self.per_node},
        )
        return bl.simulate(bl.Workload.from_jobs([*self.holders, job]), self.system, policy, messages=True)

    def placed(self, result: bl.Result) -> list[tuple[int, int]]:
        row = len(self.holders)
        return result.placements.filter(pl.col("row") == row).select("node", "tasks").rows()


def check(number: int) -> None:
    """Fail where nodes, run time or hop-bytes are others than in the reference."""
    case = Drawn(number)
    between = distance(case.system)
    centres = case.rng.choice((1, 2, 64))
    packed = "packed" if case.rank_order == "mapped" else case.rank_order
    expected = (
        fewest_hop_bytes(
            case.room,
            case.ranks,
            centres,
            between,
            lambda placement: hop_bytes(case.sent, nodes_of_ranks(placement, packed), between),
        )
        if any(case.sent.values())
        else None
    )
    result = case.result(f"fcfs(allocator=hop_bytes(centres={centres}))")
    found = case.placed(result)
    assert expected in (None, found), number
    nodes = nodes_of_ranks(found, packed)
    if case.rank_order == "mapped":
        nodes = mapped(case.sent, nodes, between)
    alone = run(case.skeleton, NETWORKS[number % len(NETWORKS)], nodes).time
    assert result.jobs["run_time"][-1] == pytest.approx(case.iterations * alone, rel=1e-9), number
    counted = result.messages.filter(pl.col("row") == len(case.holders))["hop_bytes"].sum()
    assert counted == hop_bytes(case.sent, nodes, between), number


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_cases_equal_the_reference(chunk: int) -> None:
    """Nodes, their order, and the node of each rank, by run times and hop-bytes."""
    for number in range(chunk, CASES, CHUNKS):
        check(number)


@pytest.mark.campaign
@pytest.mark.parametrize("begin", range(CASES, CASES + CAMPAIGN, CAMPAIGN_CHUNK))
def test_campaign(begin: int) -> None:
    """Many more cases."""
    for number in range(begin, begin + CAMPAIGN_CHUNK):
        check(number)


def test_no_other_rule_has_fewer() -> None:
    """On equal orders the head and compact placements have as many hop-bytes or more."""
    fewer = 0
    for number in range(60):
        case = Drawn(number)
        cost = {
            rule: case.result(f"fcfs(allocator={rule})").messages["hop_bytes"].sum()
            for rule in ("hop_bytes", "first_fit", "compact")
        }
        if case.rank_order != "mapped":
            assert cost["hop_bytes"] <= min(cost["first_fit"], cost["compact"])
            fewer += cost["hop_bytes"] < min(cost["first_fit"], cost["compact"])
    assert fewer > 5


def test_jobs_that_send_nothing_are_compact() -> None:
    """They take the nodes that compact gives them."""
    for number in range(20):
        rng = Random(number)  # noqa: S311 - no secret
        system = SYSTEMS[number % 3]
        job = bl.JobDescription(submit_time=1.0, run_time=1.0, tasks=rng.randint(1, 6))
        workload = bl.Workload.from_jobs([*holders(rng, system.nodes), job])
        one, other = (
            bl.simulate(workload, system, f"fcfs(allocator={rule})") for rule in ("hop_bytes", "compact")
        )
        assert one.jobs["nodes"][-1].to_list() == other.jobs["nodes"][-1].to_list()


def test_mapping_asks_for_one_network() -> None:
    """Ranks are mapped, and nodes chosen, where hops are known."""
    table = {
        "submit_time": [0.0],
        "tasks": [2],
        "requested_time": [9.0],
        "app_name": ["ring"],
        "app_args": ["size=1"],
    }
    workload = bl.Workload.from_table({**table, "rank_order": ["mapped"]})
    hosts = (Host("a", 1e9), Host("b", 1e9))
    wire = (Link("wire", 1e9),)
    zone = Zone("zone", "full", (), hosts, (), wire, (Route("a", "b", ("wire",)),))
    system = bl.System.of(bl.Platform(zone))
    with pytest.raises(SimulationError, match=r"rank_order = 'mapped': the nodes are not those of a cluster"):
        bl.simulate(workload, system, "fcfs")
    with pytest.raises(PolicyError, match=r"allocator hop_bytes: the nodes are not those of a cluster"):
        bl.simulate(workload.filter(pl.lit(value=False)), system, "fcfs(allocator=hop_bytes)")
    with pytest.raises(PolicyError, match=r"centres = 0; must be a whole number from 1"):
        bl.Policy.parse("fcfs(allocator=hop_bytes(centres=0))")
