"""Aggregated skeletons: where they are exact, how far off they are elsewhere, and what they refuse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import batchlab as bl
from batchlab.errors import ApplicationError
from batchlab.skeleton import Communicator, MessageOptions, Skeleton, SkeletonRun, measure, named, run
from batchlab.skeleton.collectives.registry import FAMILIES
from support.exchanges import PLACES, Placed, job_of
from support.skeletons import PLAIN, message_time, one_call, star

CIELO = bl.Platform.machine("cielo")
ALGORITHMS = [(family, name) for family, names in FAMILIES.items() for name in names]


def both(skeleton: Skeleton, platform: bl.Platform, hosts: list[int] | None = None) -> list[SkeletonRun]:
    """Run a skeleton exactly and aggregated."""
    return [run(each, platform, hosts) for each in (skeleton, replace(skeleton, fidelity="aggregated"))]


def error(skeleton: Skeleton, hosts: list[int] | None = None) -> float:
    """Give how far off the aggregated time is on Cielo."""
    exact, aggregated = both(skeleton, CIELO, hosts)
    return abs(aggregated.time / exact.time - 1)


@pytest.mark.parametrize(("family", "algorithm"), ALGORITHMS)
def test_by_rendezvous_on_a_star_it_is_exact(family: str, algorithm: str) -> None:
    """Any number of ranks, and any size."""
    for p in (2, 4, 8, 16) if "xor" in algorithm or "linear" in algorithm else (2, 3, 5, 8, 12, 16):
        for size in (8, 65_536):
            exact, aggregated = both(one_call(family, algorithm, p, size), star(p))
            assert aggregated.time == pytest.approx(exact.time, rel=1e-9), (p, size)


@pytest.mark.parametrize("p", [8, 64])
@pytest.mark.parametrize("family", FAMILIES)
def test_in_order_it_is_within_what_the_docs_say(family: str, p: int) -> None:
    """MPICH's algorithms on a torus: 5 % for small payloads, 35 % for larger eager ones."""
    assert error(named(family, p, {"size": 8, "algorithm": "mpich"})) < 0.05
    assert error(named(family, p, {"size": 16_384, "algorithm": "mpich"})) < 0.35


@pytest.mark.parametrize(("family", "algorithm"), [*ALGORITHMS[::3]])
def test_at_random_it_is_within_what_the_docs_say(family: str, algorithm: str) -> None:
    """On nodes of a torus that others lie between."""
    hosts = np.random.default_rng(1).permutation(64)[:16].tolist()
    for size in (8, 16_384, 1_048_576):
        assert error(named(family, 16, {"size": size, "algorithm": algorithm}), hosts) < 0.3


def test_next_to_a_busy_job_it_is_within_what_the_docs_say() -> None:
    """On the same links; the other job is exact."""
    places = np.random.default_rng(1).permutation(32).tolist()
    skeleton = named("allreduce", 8, {"size": 1_048_576})
    busy = named("even_odd", 8, {"size": 1_000_000, "iterations": 40, "mutual": True})
    system = bl.System.of(CIELO, resources=PLACES)
    times = []
    for each in (skeleton, replace(skeleton, fidelity="aggregated")):
        jobs = [job_of(task, 8, 0.0) for task in (each, busy)]  # type: ignore[arg-type]  # any task
        result = bl.simulate(bl.Workload.from_jobs(jobs), system, Placed([places[:8], places[8:16]]))
        times.append(result.jobs["run_time"][0])
    alone = run(skeleton, CIELO, places[:8]).time
    assert times[0] > 1.1 * alone
    assert times[1] == pytest.approx(times[0], rel=0.25)


def test_the_same_messages_are_sent() -> None:
    """Classes, bytes and hops are those of the exact fidelity; times are those of the rounds."""
    exact, aggregated = both(named("conjugate_gradient", 12, {"n": 32, "iterations": 3}), CIELO)
    assert measure(aggregated, CIELO).classes == measure(exact, CIELO).classes
    pairs = [sorted(zip(each.source, each.target, each.bytes, strict=True)) for each in (exact, aggregated)]
    assert pairs[0] == pairs[1]
    assert (aggregated.arrived >= aggregated.begun).all()
    assert aggregated.arrived.max() == pytest.approx(aggregated.time)
    assert {*aggregated.ends} == {aggregated.time}


def test_messages_are_listed_when_they_are_asked_for() -> None:
    """A run of rounds does not keep its messages one by one."""
    ring = named("allgather", 64, {"size": 1000, "algorithm": "ring", "fidelity": "aggregated"})
    done = run(ring, bl.Platform.torus((8, 8), bandwidth=1e9))
    assert sum(len(each) for each in done.times) == 2 * 63
    assert done.time > 0
    assert "_listed" not in vars(done)
    assert len(done.source) == len(done.arrived) == 64 * 63
    assert done.classes == ("send", "allgather")


def test_other_models_share_alike() -> None:
    """A round alone takes what its busiest link lets it, under any model."""
    skeleton = one_call("allreduce", "ring", 4, 4096)
    skeleton = replace(skeleton, fidelity="aggregated")
    for model in ("max_min", "fair_bottleneck", "bottleneck_max_min", PLAIN):
        assert run(skeleton, star(4), sharing=model).time == pytest.approx(6 * message_time(1024))
    windowed = bl.NetworkModel("max_min", window=1000)
    exact = run(one_call("allreduce", "ring", 4, 4096), star(4), sharing=windowed).time
    assert exact > 6 * message_time(1024)
    assert run(skeleton, star(4), sharing=windowed).time == pytest.approx(exact)


def test_names_and_columns_choose_it() -> None:
    """As an argument, and in app_args."""
    assert named("ring", 4, {"fidelity": "aggregated"}).fidelity == "aggregated"
    assert named("ring", 4, fidelity="aggregated").fidelity == "aggregated"
    table = {"submit_time": [0, 0], "tasks": [16, 16], "app_name": ["bcast", "bcast"]}
    arguments = ["size=1024, algorithm=linear", "size=1024, algorithm=linear, fidelity=aggregated"]
    workload = bl.Workload.from_table({**table, "app_args": arguments})
    platform = bl.Platform.torus((4, 4), bandwidth=1e9, latency=1e-6, speed=1e9)
    result = bl.simulate(workload, bl.System.of(platform), bl.Policy.parse("fcfs"))
    exact, aggregated = result.jobs["run_time"]
    assert exact != aggregated
    assert exact == pytest.approx(aggregated, rel=0.5)


def test_simulations_go_on_in_the_middle_of_a_round() -> None:
    """Three jobs on the same links, forked and restored from a snapshot."""
    skeleton = named("stencil_2d", 16, {"size": 100_000, "iterations": 5, "fidelity": "aggregated"})
    application = bl.Application([bl.Phase([skeleton], iterations=10)])
    jobs = [
        bl.JobDescription(submit_time=start, tasks=16, requested_time=60, application=application)
        for start in (0, 1e-3, 2e-3)
    ]
    platform = bl.Platform.torus((4, 2), bandwidth=1e9, latency=1e-6, speed=1e9, cores=6)
    of = bl.Workload.from_jobs(jobs), bl.System.of(platform), bl.Policy.parse("fcfs")
    ends = bl.simulate(*of).jobs["end_time"].to_list()
    stopped = bl.Simulation(*of)
    stopped.run_until(ends[0] / 2)
    for each in (stopped.fork(), bl.Simulation.restore(stopped.snapshot(), *of), stopped):
        each.run_until()
        assert each.result().jobs["end_time"].to_list() == ends


def test_iterations_take_as_long_as_the_first() -> None:
    """All ranks begin each together."""
    skeleton = named("stencil_2d", 16, {"size": 1e5, "fidelity": "aggregated"})
    once = run(skeleton, star(16)).time
    application = bl.Application([bl.Phase([replace(skeleton, iterations=4)], iterations=3)])
    job = bl.JobDescription(submit_time=0, tasks=16, requested_time=60, application=application)
    result = bl.simulate(bl.Workload.from_jobs([job]), bl.System.of(star(16)), bl.Policy.parse("fcfs"))
    assert result.jobs["run_time"][0] == pytest.approx(12 * once)


def test_overheads_and_computing_are_those_of_the_ranks() -> None:
    """Two ranks on a node of one core compute by turns; overheads come before sends and after receives."""

    def body(world: Communicator) -> None:
        world.compute(flops=1e6)
        world.compute(0.5 if world.rank == 0 else 0.0)
        world.sendrecv(1 - world.rank, 1000, 1 - world.rank)

    options = MessageOptions(send_overhead=0.25, receive_overhead=0.125)
    platform = bl.Platform.crossbar(2, bandwidth=1e9, latency=5e-6, speed=1e6)
    skeleton = Skeleton(body, 2, options=options, fidelity="aggregated")
    for hosts, expected in (([0, 1], 1.875), ([0, 0], 2.875)):
        found = run(skeleton, platform, hosts).time
        assert found == pytest.approx(run(replace(skeleton, fidelity="exact"), platform, hosts).time)
        assert found == pytest.approx(expected, abs=1e-4)


def test_no_messages_take_the_time_of_computing() -> None:
    """And nothing takes none."""
    assert run(named("time_keeper", 3, {"seconds": 2.5}, fidelity="aggregated"), star(3)).time == 2.5
    assert run(named("allreduce", 1, fidelity="aggregated"), star(1)).time == 0.0


def test_deadlocks_and_wrong_words_are_refused() -> None:
    """Also programs that go on only because a collective does not hold its ranks."""

    def unsafe(world: Communicator) -> None:
        if world.rank == 1:
            world.recv(0)
        world.bcast(8, algorithm="linear")
        if world.rank == 0:
            world.send(1, 8)

    Skeleton(unsafe, 3)
    with pytest.raises(ApplicationError, match=r"rank 0 waits in bcast.*holds its ranks until all") as found:
        Skeleton(unsafe, 3, fidelity="aggregated")
    assert "test_fidelity.py" in str(found.value)
    with pytest.raises(ApplicationError, match=r"fidelity = 'agregated'; must be .* mean 'aggregated'"):
        named("ring", 4, {"fidelity": "agregated"})
    with pytest.raises(ApplicationError, match="rank 1 ends without it"):
        Skeleton(lambda world: world.barrier() if world.rank == 0 else None, 2, fidelity="aggregated")
