"""`share` and `simulate` give the same times, bit for bit: one builder makes the demands of both."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

import batchlab as bl
from batchlab import tasks
from batchlab.application.tasks import PairPattern
from batchlab.core.vocabulary import SHARING_MODELS, SharingModel
from batchlab.platform import Host, Link
from batchlab.platform.network_model import MODELS
from support.exchanges import simulated
from support.sharing_cases import platform_of, random_case

BOTH = [name for name in SHARING_MODELS if bl.NetworkModel(name).knows_tasks]
CASES = 60
EXCHANGES = 100


@pytest.mark.parametrize("model", BOTH)
def test_random_flows_and_tasks(model: SharingModel) -> None:
    """Flows and parallel tasks on random routes, with random parameters, some from a host to itself."""
    seeds = [seed for seed in range(10 * CASES) if random_case(seed).model == model][:CASES]
    assert len(seeds) == CASES
    for case in map(random_case, seeds):
        network = bl.NetworkModel.from_simgrid(case.options, model)
        platform = platform_of(case)
        shared = bl.share(platform, case.flows, network)
        # Jobs are rows in the order of their submission.
        order = sorted(range(len(case.flows)), key=lambda at: case.flows[at].start)
        flows = [case.flows[at] for at in order]
        assert simulated(platform, flows, network) == shared[order].tolist()


def tight() -> tuple[bl.Platform, list[list[str]]]:
    """Give three groups, and links that are tight at once, so that the last bit of a sum decides."""
    hosts = [f"h{number}" for number in range(10)]
    groups = [hosts[:4], hosts[4:7], hosts[7:]]
    over = [
        ["P", "Q"] * 6 + ["P"] * 6,
        ["L", "L", "L", "M", "Q", "Z"],
        ["L", "M", "M", "Z", "Z", "Z"],
    ]
    links = [*(Link(name, 1e12) for name in "PQLM"), Link("Z", 1e18)]
    routes = {pair: ["Z"] for pair in pairs(hosts)}
    first = pairs(groups[0])
    routes |= {pair: ["P", "Q"] if at < 6 else ["P"] for at, pair in enumerate(first)}
    for group, names in zip(groups[1:], over[1:], strict=True):
        routes |= {pair: [name] for pair, name in zip(pairs(group), names, strict=True)}
    described = [Host(name, speed=1e9) for name in hosts]
    return bl.Platform.from_routes(links, routes, hosts=described, symmetrical=False), groups


def pairs(hosts: list[str]) -> list[tuple[str, str]]:
    return [(one, other) for one in hosts for other in hosts if one != other]


def matrix_of(pattern: PairPattern, total: float, ranks: int) -> np.ndarray:
    """Give the bytes of a pattern, row by row."""
    matrix = np.zeros((ranks, ranks))
    ring = {"ring": (1, -1), "ring_clockwise": (1,), "ring_counter_clockwise": (-1,)}.get(pattern, ())
    for rank in range(ranks):
        for step in ring:
            matrix[rank, (rank + step) % ranks] += total / (len(ring) * ranks)
    if pattern == "all_to_all":
        matrix[:] = total / (ranks * (ranks - 1))
        np.fill_diagonal(matrix, 0.0)
    if pattern in ("gather", "master_worker"):
        matrix[1:, 0] = total / ranks if pattern == "gather" else 2 * total / (ranks - 1)
    if pattern in ("scatter", "master_worker"):
        matrix[0, 1:] = total / ranks if pattern == "scatter" else 2 * total / (ranks - 1)
    return matrix


@pytest.mark.parametrize("model", BOTH)
def test_sums_of_many_messages(model: SharingModel) -> None:
    """The bytes of up to twelve messages over one link are added up one by one."""
    platform, groups = tight()
    random = Random(0)  # noqa: S311  # no secret
    for _ in range(EXCHANGES):
        totals = [float(random.randrange(10**10, 2 * 10**11)), 2e11, 3e11]
        described = [tasks.Compute(bytes=total, communication_pattern="all_to_all") for total in totals]
        exchanges = [
            bl.ParallelTask(group, bytes=matrix_of("all_to_all", total, len(group)))
            for group, total in zip(groups, totals, strict=True)
        ]
        shared = bl.share(platform, exchanges, model)
        assert simulated(platform, exchanges, model, described) == shared.tolist()


PATTERNS: tuple[PairPattern, ...] = (
    "all_to_all",
    "ring",
    "ring_clockwise",
    "ring_counter_clockwise",
    "gather",
    "scatter",
    "master_worker",
)


@pytest.mark.parametrize("model", BOTH)
def test_every_pattern(model: SharingModel) -> None:
    """A pattern moves what its matrix moves; with flops in lock-step, and with another total as well."""
    platform = bl.Platform.torus((3, 3), bandwidth="1GBps", latency="1us", speed="1Gf")
    random = Random(1)  # noqa: S311  # no secret
    for pattern in PATTERNS:
        for _ in range(4):
            ranks = random.randint(2, 7)
            chosen = [random.sample(range(9), ranks) for _ in range(3)]
            totals = [random.uniform(1e8, 1e10) for _ in chosen]
            flops = random.uniform(1e8, 1e10)
            described = [
                tasks.Compute(
                    flops=flops,
                    computation_pattern="uniform",
                    bytes=total,
                    communication_pattern=pattern,
                    coupled=True,
                )
                for total in totals
            ]
            exchanges = [
                bl.ParallelTask([f"node{host}" for host in hosts], [flops] * ranks, matrix)
                for hosts, matrix in zip(
                    chosen, (matrix_of(pattern, total, ranks) for total in totals), strict=True
                )
            ]
            shared = bl.share(platform, exchanges, model)
            assert simulated(platform, exchanges, model, described) == shared.tolist(), pattern


@pytest.mark.parametrize("model", BOTH)
def test_transfers_are_divided_by_the_number_of_their_targets(model: SharingModel) -> None:
    """Bytes / k, and not bytes times 1 / k, go to each of k storage hosts."""
    stores = [f"store{number}" for number in range(3)]
    hosts = [Host("node", speed=1e9), *(Host(name, role="storage") for name in stores)]
    links = [Link("up", 1e9, 1e-5), *(Link(name, 3e8, 1e-5) for name in stores)]
    routes = {("node", name): ["up", name] for name in stores}
    platform = bl.Platform.from_routes(links, routes, hosts=hosts)
    random = Random(2)  # noqa: S311  # no secret
    different = 0
    for _ in range(50):
        total = random.uniform(1e8, 1e10)
        different += total / 3 != total * (1 / 3)
        matrix = np.zeros((4, 4))
        matrix[0, 1:] = total / 3
        task = bl.ParallelTask(["node", *stores], bytes=matrix)
        write = tasks.Write(total, "uniform")
        ends = simulated(platform, [replace_hosts(task)], model, [write])
        assert ends == bl.share(platform, [task], model).tolist()
    assert different


def replace_hosts(task: bl.ParallelTask) -> bl.ParallelTask:
    """Give the same task on its first host alone: those that store are no nodes of the job."""
    return replace(task, hosts=task.hosts[:1], flops=(), bytes=())


def test_only_models_of_parallel_tasks_can_be_simulated() -> None:
    """The models of flows do not know the parallel tasks of applications; unknown names get a suggestion."""
    platform, _ = tight()
    flow = [bl.Flow("h0", "h1", 1.0)]
    for model in set(MODELS) - set(BOTH):
        with pytest.raises(bl.SimulationError, match=rf"sharing = '{model}'; {model} knows flows only"):
            simulated(platform, flow, model)  # type: ignore[arg-type]  # what is refused
    with pytest.raises(bl.SimulationError, match=r"sharing = 'maxmin'; .* Did you mean 'max_min'\?"):
        simulated(platform, flow, "maxmin")  # type: ignore[arg-type]  # what is refused
