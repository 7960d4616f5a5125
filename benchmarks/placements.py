"""Placements and messages: node orders in times of first_fit, and an allreduce on all ranks of Cielo's torus.

`python benchmarks/placements.py [--jobs 20000]`: the log is made up, for 40,960 nodes in a torus. What is
compared is measured in turn, round by round; medians count. The order itself is made before that, once a run.
"""

import argparse
import statistics
from functools import partial

import numpy as np
import polars as pl
from measure import cpu_time, verdict

import batchlab as bl
from batchlab.core.vocabulary import Fidelity, RankOrder
from batchlab.placement import reorder
from batchlab.skeleton import Skeleton, run

SIDES = (32, 32, 40)
ORDERS = ("zyx", "boxes(4, 4, 4)", "hilbert", "random(1)")
RULES = ("dual_end(order=zyx)", "round_robin(order=zyx)", "blocks(4, order=zyx)")
COMPACT = ("compact", "fewest_groups", "sub_torus")
COMPACT_JOBS = 600
APPLICATIONS = 300
MESSAGE_RULES: tuple[tuple[str, RankOrder], ...] = (
    ("first_fit", "packed"),
    ("first_fit", "mapped"),
    ("hop_bytes", "packed"),
    ("hop_bytes", "mapped"),
)
MAPPED_RANKS = 1_024
RATIO = 1.5
SECONDS: dict[Fidelity, float] = {"exact": 2.0, "aggregated": 0.1}
ROUNDS = 3
RANKS, PAYLOAD = 8_192, 1_024


def made_up(jobs: int) -> bl.Workload:
    """Make jobs of 1 to 1,024 nodes that keep nine tenths of the machine busy."""
    rng = np.random.default_rng(1)
    tasks = 2 ** rng.integers(0, 11, jobs)
    run_time = np.ceil(rng.lognormal(7.0, 1.5, jobs))
    nodes = int(np.prod(SIDES))
    gap = (tasks * run_time).sum() / jobs / nodes / 0.9
    submit = np.floor(np.cumsum(rng.exponential(gap, jobs)))
    columns = {"submit_time": submit, "run_time": run_time, "requested_time": 2 * run_time, "tasks": tasks}
    return bl.Workload.from_table(pl.DataFrame(columns))


def compare_orders(jobs: int) -> None:
    """Compare each order and rule with first_fit."""
    workload = made_up(jobs)
    system = bl.System.of(bl.Platform.torus(SIDES, bandwidth=1e9, latency=1e-6, speed=1e9))
    orders = [f"first_fit(order={order})" for order in ORDERS]
    allocators = ["first_fit", *orders, *RULES]
    times: dict[str, list[float]] = {name: [] for name in allocators}
    for _ in range(ROUNDS):
        for name in allocators:
            simulation = bl.Simulation(workload, system, bl.Policy(backfill="easy", allocator=name))
            times[name].append(cpu_time(simulation.run_until)[0])
    least = {name: statistics.median(found) for name, found in times.items()}
    print(f"easy, {jobs:,} jobs on {system.nodes:,} nodes: first_fit {least['first_fit']:.2f} s CPU")
    for name in [*orders, *RULES]:
        verdict(f"{name}, in times of first_fit", least[name] / least["first_fit"], RATIO, at_least=False)


def time_compact() -> None:
    """Measure the rules that look at all free nodes for each job; they have no target."""
    workload = made_up(COMPACT_JOBS)
    system = bl.System.of(bl.Platform.torus(SIDES, bandwidth=1e9, latency=1e-6, speed=1e9))
    for name in COMPACT:
        simulation = bl.Simulation(workload, system, bl.Policy(backfill="easy", allocator=name))
        took = cpu_time(simulation.run_until)[0]
        print(f"{name}: {took / COMPACT_JOBS * 1e3:.1f} ms CPU for each of {COMPACT_JOBS} jobs")


def time_messages() -> None:
    """Measure what choosing nodes and mapping ranks by messages adds; it has no target."""
    rng = np.random.default_rng(1)
    sizes = [int(ranks) for ranks in 2 ** rng.integers(3, 11, APPLICATIONS)]
    system = bl.System.of(bl.Platform.machine("cielo"))
    given = {"app_name": "stencil_3d", "app_args": "size=512", "tasks_per_node": 1, "exclusive": True}
    for allocator, order in MESSAGE_RULES:
        jobs = [
            bl.JobDescription(
                submit_time=1e-5 * number, tasks=ranks, requested_time=60, rank_order=order, others=given
            )
            for number, ranks in enumerate(sizes)
        ]
        policy = bl.Policy(backfill="easy", allocator=allocator)
        simulation = bl.Simulation(bl.Workload.from_jobs(jobs), system, policy)
        took = cpu_time(simulation.run_until)[0]
        print(f"{APPLICATIONS} stencils of 8 to 1,024 ranks, {allocator}, {order}: {took:.2f} s CPU")
    nodes = [int(node) for node in rng.permutation(system.nodes)[:MAPPED_RANKS]]
    matrices = {
        "a ring": np.roll(np.eye(MAPPED_RANKS), 1, axis=1),
        "random bytes, all to all": rng.integers(0, 1000, (MAPPED_RANKS, MAPPED_RANKS)),
    }
    for name, matrix in matrices.items():
        took = cpu_time(partial(reorder, matrix, nodes, system))[0]
        print(f"reorder, {MAPPED_RANKS:,} ranks on nodes at random, {name}: {took:.2f} s CPU")


def sum_up() -> None:
    """Measure an allreduce on 8,192 ranks of Cielo in both fidelities: one rank to a node, in order."""
    platform = bl.Platform.machine("cielo")

    def allreduce(fidelity: Fidelity) -> float:
        skeleton = Skeleton(
            lambda world: world.allreduce(PAYLOAD, "recursive_doubling"), ranks=RANKS, fidelity=fidelity
        )
        return float(run(skeleton, platform).time)

    for fidelity, most in SECONDS.items():
        costs, times = zip(*(cpu_time(partial(allreduce, fidelity)) for _ in range(ROUNDS)), strict=True)
        print(
            f"allreduce of {PAYLOAD:,} B on {RANKS:,} ranks, {fidelity}: {times[0] * 1e6:.1f} us of the job"
        )
        verdict("CPU time, s", min(costs), most, at_least=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--jobs", type=int, default=20_000, help="how many to make")
    compare_orders(parser.parse_args().jobs)
    time_compact()
    time_messages()
    sum_up()


if __name__ == "__main__":
    main()
