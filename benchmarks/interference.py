"""What messages cost that are in each other's way: ranks in order and at random on Cielo, and many jobs.

`python benchmarks/interference.py`; with the argument `overloaded`, a network that is overloaded.
"""

import sys
from collections.abc import Sequence

import numpy as np
from measure import cpu_time, verdict

import batchlab as bl
from batchlab.skeleton import Skeleton, named, run

CIELO = bl.Platform.machine("cielo")
NODES = len(CIELO.hosts)


def at_random(ranks: int) -> list[int]:
    """Give as many hosts, each at most once."""
    return [int(host) for host in np.random.default_rng(0).permutation(NODES)[:ranks]]


def alone(skeleton: Skeleton, hosts: Sequence[int]) -> float:
    """Give the CPU time (s) of a skeleton alone, the least of three."""
    return min(cpu_time(lambda: run(skeleton, CIELO, hosts))[0] for _ in range(3))


def placements() -> None:
    """Run an allreduce of 1 KiB in order and at random."""
    for ranks in (1024, 2048, 4096, 8192):
        skeleton = named("allreduce", ranks, {"size": 1024, "algorithm": "recursive_doubling"})
        ordered, random = alone(skeleton, range(ranks)), alone(skeleton, at_random(ranks))
        print(f"allreduce, {ranks:,} ranks: {ordered:.2f} s in order, {random:.2f} s at random", flush=True)
    verdict("allreduce, 8,192 ranks in order: CPU time, s", ordered, 0.25, at_least=False)
    verdict("allreduce, 8,192 ranks at random: CPU time, s", random, 2.0, at_least=False)


def crowd() -> None:
    """Run a halo exchange of 2,048 ranks at random, with all messages in each other's way."""
    skeleton = named("stencil_3d", 2048, {"size": 100_000})
    seconds = alone(skeleton, at_random(2048))
    verdict("stencil_3d of 100 kB, 2,048 ranks at random: CPU time, s", seconds, 1.0, at_least=False)


def simulate(skeletons: Sequence[Skeleton]) -> float:
    """Give the CPU time (s) of jobs that start at once on random nodes."""
    jobs = [
        bl.JobDescription(
            submit_time=0,
            tasks=skeleton.ranks,
            requested_time=3600,
            application=bl.Application([bl.Phase([skeleton])]),
        )
        for skeleton in skeletons
    ]
    workload, policy = bl.Workload.from_jobs(jobs), bl.Policy.parse("fcfs(allocator=random)")
    return cpu_time(lambda: bl.simulate(workload, bl.System.of(CIELO), policy))[0]


def many_jobs() -> None:
    """Run nine jobs of even-odd on all nodes, and 300 jobs of four kinds."""
    pairs = named("even_odd", 1024, {"size": 1_024_000, "iterations": 10})
    verdict("even_odd, nine jobs of 1,024 ranks: CPU time, s", simulate([pairs] * 9), 5.0, at_least=False)
    kinds = [
        named("stencil_3d", 32, {"size": 1e5, "iterations": 10}),
        named("ring", 32, {"size": 1e5, "iterations": 10}),
        named("allreduce", 32, {"size": 1e5, "iterations": 10}),
        named("alltoall", 32, {"size": 1e4, "iterations": 2}),
    ]
    verdict("300 jobs of 32 ranks: CPU time, s", simulate(kinds * 75), 5.0, at_least=False)


def overloaded() -> None:
    """Let 8,192 ranks at random send 49,152 large messages at once, twice."""
    skeleton = named("stencil_3d", 8192, {"size": 100_000, "iterations": 2})
    hosts = at_random(8192)
    seconds, _ = cpu_time(lambda: run(skeleton, CIELO, hosts))
    verdict("stencil_3d of 100 kB, 8,192 ranks at random: CPU time, s", seconds, 120.0, at_least=False)


def main() -> None:
    if sys.argv[1:] == ["overloaded"]:
        overloaded()
        return
    placements()
    crowd()
    many_jobs()


if __name__ == "__main__":
    main()
