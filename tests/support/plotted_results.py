"""Results for the tests of plots: the same on every machine, costs of decisions included."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

import numpy as np
import polars as pl
from matplotlib.axes import Axes

import batchlab as bl
from batchlab.generate import demo_system, demo_workload
from batchlab.plot.results import Results
from support.results import Job, make_result

# What every plot of results can be called with.
PLOTS: dict[str, Callable[..., Axes]] = {
    name: getattr(bl.plot, name)
    for name in bl.plot.__all__
    if name
    not in {
        *("fair_share", "gflops", "power", "power_states", "platform_activity", "waiting_reasons"),
        *("hop_bytes", "hops", "interference", "link_loads"),
    }
    and not name.startswith(("adequacy", "what_if", "fit"))
}
ONE_ONLY = {
    "gantt",
    "allocation_map",
    "allocations",
    "free_slots",
    "job_nodes",
    "job_times",
    "rates",
    "why",
    "waiting_time",
}


def with_costs(result: bl.Result, scale: float = 1.0) -> bl.Result:
    """Give a result in which a pass cost 2 µs and 80 MB, more with the queue, and the run 1 ms per job."""
    passes = result.timeline["time"].to_numpy()
    length = result.timeline["queued"].to_numpy().astype(np.uint64)
    dispatch = {
        "time": passes,
        "queue_length": length,
        "cpu_time": scale * 1e-6 * (2 + np.sqrt(length)),
        "other_cpu_time": np.full(len(passes), scale * 3e-6),
        "memory": (scale * 1e6 * (80 + np.sqrt(length))).astype(np.uint64),
        "started": np.ones(len(passes), dtype=np.uint32),
    }
    outcome = replace(result.outcome, tables={**result.outcome.tables, "dispatch": dispatch})
    return replace(result, outcome=outcome, elapsed=scale * 1e-3 * len(result.workload))


def simulated(policy: str, jobs: int = 150, scale: float = 1.0) -> bl.Result:
    """Run the demonstration."""
    return with_costs(bl.simulate(demo_workload(jobs, seed=5), demo_system(), policy), scale)


def no_jobs() -> bl.Result:
    """Give the result of an empty workload."""
    return with_costs(make_result([]))


def none_ran() -> bl.Result:
    """Give a result in which every job was rejected."""
    return with_costs(make_result([Job(0, state="rejected", tasks=99), Job(5, state="rejected", tasks=99)]))


def one_job() -> bl.Result:
    """Give the result of one job that did not wait."""
    return with_costs(make_result([Job(0, 0, 100, nodes=((1, 2),), tasks=2)]))


def no_time() -> bl.Result:
    """Give a result in which everything happened at one instant."""
    return with_costs(make_result([Job(7, 7, 7, nodes=((0, 1),)), Job(7, 7, 7, nodes=((1, 1),))]))


def unfinished() -> bl.Result:
    """Give a result in which one job still runs, one waits, and one has not been submitted."""
    jobs = [Job(0, 0, 50, nodes=((0, 2),)), Job(10, 10, None, nodes=((1, 1),), state="running")]
    waiting = [Job(20, state="queued", tasks=8), Job(90, state="loaded")]
    return with_costs(make_result([*jobs, *waiting]))


def for_plot(name: str, results: list[bl.Result]) -> Results:
    """Give results in a form that the plot takes."""
    return results[1] if name in ONE_ONLY else results


def with_power(result: bl.Result) -> bl.Result:
    """Give a result in which every busy core drew 10 W, and the rest of the machine 1 kW."""
    timeline = result.timeline.select("time", power=1000.0 + 10.0 * pl.col("used_core"))
    return replace(result, observations={"power": timeline})


def resized(policy: str = "malleable(order=drf)", jobs: int = 24) -> bl.Result:
    """Give a result of jobs that grow and shrink on 12 hosts, looked at all the time."""
    chance = Random(4)  # noqa: S311  # no secrets here
    tasks = bl.tasks
    step = [tasks.Compute(flops="work", computation_pattern="all_ranks"), tasks.Write(4e9, "all_ranks")]
    application = bl.Application(
        [bl.Phase(step, iterations=8)], on_init=bl.Stage([tasks.Read(40e9, "all_ranks")])
    )
    storage = bl.platform.SharedStorage("files", read="10GBps", write="5GBps")
    platform = bl.Platform.crossbar(12, speed="1Gf", bandwidth="2GBps", storage=[storage])
    descriptions = [
        bl.JobDescription(
            application=application,
            submit_time=30.0 * number,
            job_type="malleable",
            tasks_min=chance.choice((1, 1, 2)),
            tasks_max=chance.choice((2, 4, 8)),
            requested_time=300,
            arguments={"work": chance.uniform(10, 90) * 1e9},
        )
        for number in range(jobs)
    ]
    workload = bl.Workload.from_jobs(descriptions)
    return bl.simulate(workload, bl.System.of(platform), policy, sensing=bl.Sensing(4))


def communicating(
    platform: bl.Platform, jobs: int = 8, *, ranks: int = 12, policy: str = "fcfs(allocator=random)"
) -> bl.Result:
    """Give a result of jobs that send messages, at nodes at random unless the policy says other ones."""
    names = ("alltoall", "ring", "allreduce")
    described = [
        bl.JobDescription(
            submit_time=1e-3 * number,
            tasks=ranks,
            requested_time=60,
            application=bl.Application(
                [bl.Phase([bl.skeleton.named(names[number % 3], ranks, {"size": 1e6})], 2)]
            ),
        )
        for number in range(jobs)
    ]
    workload = bl.Workload.from_jobs(described)
    return bl.simulate(workload, bl.System.of(platform), policy, messages=True)


def torus(*sides: int, nodes_per_router: int = 1) -> bl.Platform:
    """Give a torus with cables of 1 GB/s."""
    return bl.Platform.torus(sides, bandwidth=1e9, latency=1e-6, nodes_per_router=nodes_per_router)


def dragonfly() -> bl.Platform:
    """Give a dragonfly of five groups of twelve nodes."""
    return bl.Platform.dragonfly(
        groups=5, chassis=2, blades=3, nodes_per_blade=2, bandwidth=1e9, latency=1e-6
    )


def hop_curves() -> dict[str, dict[str, bl.Result]]:
    """Give results by number of ranks, then by box."""
    boxes = {"1×1×1": "index", "2×2×1": "boxes(2,2,1)", "2×2×2": "boxes(2,2,2)"}
    return {
        f"{ranks} ranks": {
            label: communicating(
                torus(4, 4, 4), 3, ranks=ranks, policy=f"fcfs(allocator=first_fit(order={order}))"
            )
            for label, order in boxes.items()
        }
        for ranks in (8, 16)
    }
