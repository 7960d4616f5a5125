"""What messages put on links is what the reference counts (S24)."""

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest

import batchlab as bl
from batchlab.core.vocabulary import FIDELITIES, Fidelity
from batchlab.platform.hops import hop_links
from batchlab.skeleton import Communicator, MessageOptions, Skeleton, measure, named, run
from reference.sharing import RULES, Activity, Resources
from reference.traffic import Loads, Sent, counts, loads

if TYPE_CHECKING:
    from batchlab.core.vocabulary import WalltimeAction

CASES = 120
ENVELOPE = 16.0


@dataclass(frozen=True)
class Script:
    """Seconds that each rank computes first, then what it sends to whom: target and bytes."""

    seconds: tuple[float, ...]
    sends: tuple[tuple[tuple[int, float], ...], ...]

    def body(self, world: Communicator) -> None:
        """Do it."""
        world.compute(self.seconds[world.rank])
        requests = [world.isend(target, size) for target, size in self.sends[world.rank]]
        for source, sent in enumerate(self.sends):
            requests += [world.irecv(source) for target, _ in sent if target == world.rank]
        world.waitall(requests)


def random_script(random: Random, ranks: int) -> Script:
    """Draw one."""

    def sends(rank: int) -> tuple[tuple[int, float], ...]:
        others = [other for other in range(ranks) if other != rank]
        wanted = random.randint(0, 3) if others else 0
        return tuple(
            (random.choice(others), random.choice((0.0, random.uniform(1, 1e6)))) for _ in range(wanted)
        )

    return Script(
        tuple(random.choice((0.0, random.uniform(0, 1e-3))) for _ in range(ranks)),
        tuple(sends(rank) for rank in range(ranks)),
    )


def platform_of(random: Random) -> bl.Platform:
    """Draw a star, a fat tree or a torus."""
    latency = random.choice((0.0, 1e-6))
    return random.choice(
        (
            lambda: bl.Platform.crossbar(8, bandwidth=1e9, latency=latency, cores=2),
            lambda: bl.Platform.fat_tree(down=(4, 2), up=(1, 2), bandwidth=1e9, latency=latency, cores=2),
            lambda: bl.Platform.torus((3, 3), bandwidth=1e9, latency=latency, cores=2),
            lambda: bl.Platform.torus((4, 2), bandwidth=1e9, latency=latency, cores=2, sharing="fat_pipe"),
        )
    )()


def job_of(script: Script, random: Random) -> bl.JobDescription:
    """Make a job that carries a script."""
    options = MessageOptions(eager_threshold=np.inf, envelope=ENVELOPE)
    skeleton = Skeleton(script.body, len(script.seconds), options=options)
    return bl.JobDescription(
        submit_time=random.choice((0.0, random.uniform(0, 2e-3))),
        tasks=len(script.seconds),
        requested_time=random.choice((1.0, 1.0, random.uniform(1e-4, 2e-3))),
        application=bl.Application([bl.Phase([skeleton])]),
    )


@dataclass(frozen=True)
class Case:
    """Scripts of jobs, and what came of them."""

    scripts: tuple[Script, ...]
    platform: bl.Platform
    result: bl.Result

    def hosts(self, row: int) -> list[int]:
        """Give the node of each rank."""
        placed = self.result.placements.filter(row=row)
        return [
            node for node, tasks in zip(placed["node"], placed["tasks"], strict=True) for _ in range(tasks)
        ]


def case_of(number: int) -> Case:
    """Draw a case, and simulate it."""
    random = Random(number)  # noqa: S311 - no secret
    platform = platform_of(random)
    scripts = tuple(random_script(random, random.randint(1, 6)) for _ in range(random.randint(1, 6)))
    workload = bl.Workload.from_jobs([job_of(script, random) for script in scripts])
    policy = random.choice(("fcfs(allocator=random)", "easy", "fcfs(allocator=worst_fit)"))
    kills: WalltimeAction = random.choice(("run", "kill"))
    system = bl.System.of(platform)
    return Case(scripts, platform, bl.simulate(workload, system, policy, messages=True, walltime=kills))


def sent(case: Case) -> list[tuple[float, float, Sent]]:
    """List the messages that set out: when, when their jobs ended, and what they are."""
    found = []
    for row, script in enumerate(case.scripts):
        start, end = case.result.jobs["start_time"][row], case.result.jobs["end_time"][row]
        if start is None:
            continue
        hosts = case.hosts(row)
        for rank, sends in enumerate(script.sends):
            begin = start + script.seconds[rank]
            found += [
                (begin, end, Sent(row, "send", hosts[rank], hosts[target], size))
                for target, size in sends
                if begin < end or case.result.jobs["state"][row] == "completed"
            ]
    return found


def reference_loads(case: Case, messages: list[tuple[float, float, Sent]]) -> Loads:
    """Let the reference share the links."""
    links = case.platform.links
    fat = [at for at, link in enumerate(links) if link.sharing == "fat_pipe"]
    resources = Resources.of([link.bandwidth for link in links], fat)
    flows = []
    for begin, end, each in messages:
        route, latency = case.platform.kernel.route(each.source, each.target)  # type: ignore[misc]
        weights = np.zeros(len(links))
        weights[[*route]] = 1.0
        bound = np.inf if len(route) else 1e10
        flows.append((begin, end, Activity(weights, each.payload + ENVELOPE, bound, latency)))
    return loads(RULES["max_min"], resources, flows)


@pytest.mark.parametrize("number", range(CASES))
def test_counts_and_loads(number: int) -> None:
    """Messages by job and class, and the loads of links, killed jobs among them."""
    case = case_of(number)
    messages = sent(case)
    is_hop = hop_links(case.platform)

    def hops(source: int, target: int) -> int:
        route = case.platform.kernel.route(source, target)[0]  # type: ignore[index]
        return sum(bool(is_hop[link]) for link in route) if source != target else 0

    expected = counts((each for *_, each in messages), hops)
    found = {row[1:3]: row[3:] for row in case.result.messages.iter_rows()}
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        assert found[key] == pytest.approx(values, rel=1e-12), key
    taken, table = reference_loads(case, messages), case.result.links
    assert table["bytes"].to_numpy() == pytest.approx(taken.units, rel=1e-9, abs=1e-6)
    assert table["busy_time"].to_numpy() == pytest.approx(taken.busy, rel=1e-9, abs=1e-12)
    assert table["peak_load"].to_numpy() == pytest.approx(taken.peak, rel=1e-9)
    assert table["congested_time"].to_numpy() == pytest.approx(taken.congested, rel=1e-6, abs=1e-11)


@pytest.mark.parametrize("number", range(CASES))
def test_bytes_on_links_are_hop_bytes(number: int) -> None:
    """Over the links that are hops, with the envelopes, where every message has arrived."""
    case = case_of(number)
    if (case.result.jobs["state"] != "completed").any():
        return
    table = case.result.messages
    envelopes = ENVELOPE * float((table["messages"] * table["mean_hops"]).sum())
    on_links = case.result.links["bytes"].to_numpy()[hop_links(case.platform)].sum()
    assert on_links == pytest.approx(float(table["hop_bytes"].sum()) + envelopes, rel=1e-9)


@pytest.mark.parametrize(
    "name", ["allreduce", "alltoall", "bcast", "stencil_2d", "conjugate_gradient", "random"]
)
@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_classes_are_those_of_a_skeleton_alone(name: str, fidelity: Fidelity) -> None:
    """Each iteration sends what the skeleton sends alone on the same nodes, one by one or in rounds."""
    skeleton = named(name, 12, {}, fidelity=fidelity)
    job = bl.JobDescription(
        submit_time=0.0,
        tasks=12,
        requested_time=100.0,
        application=bl.Application([bl.Phase([skeleton], iterations=3)]),
    )
    platform = bl.Platform.torus((3, 4), bandwidth=1e9, latency=1e-6)
    system = bl.System.of(platform)
    result = bl.simulate(bl.Workload.from_jobs([job]), system, "fcfs(allocator=random)", messages=True)
    alone = measure(run(named(name, 12, {}), platform, result.jobs["nodes"][0].to_list()), platform)
    found = {row[2]: row[3:] for row in result.messages.iter_rows()}
    assert found.keys() == alone.classes.keys()
    for kind, one in alone.classes.items():
        expected = (3 * one.messages, 3 * one.bytes, one.mean_hops, one.max_hops, 3 * one.hop_bytes)
        assert found[kind] == pytest.approx(expected, rel=1e-12)
    without = 3 * alone.link_bytes
    assert (result.links["bytes"].to_numpy() >= without * (1 - 1e-12)).all()
