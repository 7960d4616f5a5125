"""Random aggregated skeletons beside other jobs, in the kernel and in the reference."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import batchlab as bl
from batchlab.skeleton import Communicator, MessageOptions, Request, Skeleton
from batchlab.skeleton.collectives.registry import FAMILIES, rounds_of
from reference.rounds import Machine, Message, Rules, ends, plan
from reference.sharing import Activity, Resources
from support.exchanges import PLACES, Placed

if TYPE_CHECKING:
    from reference.messages import Operation

__all__ = ["Case", "expected", "found", "random_case"]

SIZES = (0.0, 8.0, 1000.0, 65_535.0, 65_536.0, 200_000.0)
SPEED, CORES = 1e9, 2
_ROOTED = {"bcast", "reduce", "gather", "scatter"}


class Part(NamedTuple):
    """An aggregated skeleton: what its ranks do, the collectives, and their hosts."""

    scripts: list[list[Operation]]
    collectives: list[tuple[str, str, float]]
    hosts: list[int]


class Case(NamedTuple):
    """A platform, options of messages, skeletons, and messages of other jobs between two hosts each."""

    platform: bl.Platform
    options: MessageOptions
    parts: list[Part]
    others: list[tuple[int, int, float]]


def random_case(seed: int) -> Case:
    """Make up one to three aggregated skeletons on a platform, and messages beside them."""
    rng = random.Random(seed)  # noqa: S311  # test data
    platform = rng.choice(_platforms())
    hosts = len(platform.hosts)
    options = MessageOptions(
        eager_threshold=rng.choice([0, 65_536, math.inf]),
        envelope=rng.choice([0, 16]),
        send_overhead=rng.choice([0.0, 0.0, 1e-6]),
        receive_overhead=rng.choice([0.0, 0.0, 2e-6]),
    )
    parts = [_part(rng, hosts) for _ in range(rng.randint(1, 3))]
    others = []
    for _ in range(rng.choice([0, 0, 1, 3])):
        source, target = rng.sample(range(hosts), 2)
        others.append((source, target, rng.choice([1000.0, 200_000.0, 2e6])))
    return Case(platform, options, parts, others)


def _platforms() -> list[bl.Platform]:
    given: dict[str, Any] = {"speed": SPEED, "cores": CORES}
    return [
        bl.Platform.crossbar(6, bandwidth=1e9, latency=1e-5, **given),
        bl.Platform.crossbar(6, bandwidth=1e9, latency=1e-5, sharing="fat_pipe", **given),
        bl.Platform.torus((3, 2), bandwidth=1e9, latency=5e-6, **given),
        bl.Platform.torus((4, 2, 2), bandwidth=1e8, latency=1e-6, **given),
    ]


def _part(rng: random.Random, hosts: int) -> Part:
    ranks = rng.randint(2, 8)
    scripts: list[list[Operation]] = [[] for _ in range(ranks)]
    collectives: list[tuple[str, str, float]] = []
    for _ in range(rng.randint(0, 10)):
        kind = rng.choice(["message", "message", "exchange", "compute", "flops", "waitall", "collective"])
        if kind == "collective":
            family = rng.choice([*FAMILIES])
            known = [name for name in FAMILIES[family] if "xor" not in name and "linear" not in name]
            for script in scripts:
                script.append(("collective", len(collectives)))
            collectives.append((family, rng.choice(known or ["linear"]), rng.choice(SIZES[1:])))
        elif kind == "exchange":
            step, size = rng.randrange(1, ranks), rng.choice(SIZES)
            for rank, script in enumerate(scripts):
                script += [("irecv", (rank - step) % ranks, 0), ("isend", (rank + step) % ranks, size, 0)]
                script.append(("waitall",))
        elif kind == "message":
            source, target = rng.sample(range(ranks), 2)
            tag = rng.randrange(2)
            scripts[source].append((rng.choice(["send", "isend"]), target, rng.choice(SIZES), tag))
            scripts[target].append((rng.choice(["recv", "irecv"]), source, tag))
        else:
            amount = {"compute": (rng.choice([1e-5, 1e-4]),), "flops": (rng.choice([1e4, 3e5]),)}.get(
                kind, ()
            )
            rng.choice(scripts).append((kind, *amount))
    return Part(scripts, collectives, [rng.randrange(hosts) for _ in range(ranks)])


def _play(world: Communicator, part: Part) -> None:
    requests: list[Request] = []
    for name, *arguments in part.scripts[world.rank]:
        if name == "waitall":
            world.waitall(requests)
            requests = []
        elif name in {"isend", "irecv"}:
            requests.append(getattr(world, name)(*arguments))
        elif name == "flops":
            world.compute(flops=arguments[0])
        elif name == "collective":
            family, algorithm, size = part.collectives[arguments[0]]
            if family == "barrier":
                world.barrier(algorithm)
            else:
                root = (0,) if family in _ROOTED else ()
                getattr(world, family)(size, *root, algorithm)
        else:
            getattr(world, name)(*arguments)


def found(case: Case) -> list[float]:
    """Say when each job is done in a simulation."""

    def message(world: Communicator, size: float) -> None:
        if world.rank == 0:
            world.send(1, size)
        else:
            world.recv(0)

    skeletons = [
        Skeleton(_play, len(part.scripts), (part,), case.options, "aggregated") for part in case.parts
    ]
    plain = MessageOptions(envelope=0)
    skeletons += [Skeleton(message, 2, (size,), plain) for _, _, size in case.others]
    hosts = [part.hosts for part in case.parts] + [[source, target] for source, target, _ in case.others]
    jobs = [
        bl.JobDescription(
            application=bl.Application([bl.Phase([skeleton], scheduling_point=False)]),
            submit_time=0.0,
            tasks=skeleton.ranks,
            resources={"place": 1},
        )
        for skeleton in skeletons
    ]
    system = bl.System.of(case.platform, resources=PLACES)
    result = bl.simulate(bl.Workload.from_jobs(jobs), system, Placed(hosts))
    times: list[float] = result.jobs["end_time"].to_list()
    return times


def expected(case: Case) -> list[float]:
    """Say when they are done in the reference."""
    platform, options = case.platform, case.options

    def route(source: int, target: int) -> tuple[list[int], float]:
        there = platform.kernel.route(source, target)
        assert there is not None
        return list(there[0]), there[1]

    bandwidth = np.array([link.bandwidth for link in platform.links])
    machine = Machine(
        route,
        bandwidth,
        fat=np.array([link.sharing == "fat_pipe" for link in platform.links]),
        speed=SPEED,
        cores=CORES,
    )
    rules = Rules(options.envelope, options.eager_threshold, options.send_overhead, options.receive_overhead)
    plans = [
        plan(
            part.scripts,
            [_rounds(each, len(part.scripts)) for each in part.collectives],
            rules,
            machine,
            part.hosts,
        )
        for part in case.parts
    ]
    others = []
    for source, target, size in case.others:
        used, latency = route(source, target)
        weights = np.zeros(len(bandwidth))
        weights[used] = 1.0
        others.append(Activity(weights, size, latency=latency))
    return ends(plans, Resources(bandwidth, machine.fat), others)


def _rounds(call: tuple[str, str, float], ranks: int) -> list[list[Message]]:
    """Give the rounds of a collective."""
    family, algorithm, size = call
    arguments: list[Any] = []
    if family in {"gather", "scatter", "allgather", "reduce_scatter"}:
        arguments.append(np.full(ranks, size))
    elif family == "alltoall":
        arguments.append(np.full((ranks, ranks), size))
    elif family != "barrier":
        arguments.append(size)
    arguments += [0] if family in _ROOTED else []
    arguments += [8.0] if family in {"reduce", "allreduce"} else []
    return [
        [Message(int(source), int(target), float(sent)) for source, target, sent in zip(*each, strict=True)]
        for each in rounds_of(family, algorithm, ranks, *arguments)
    ]
