"""Run the same work as rigid and as malleable jobs, and compare the use of nodes."""

from dataclasses import replace
from pathlib import Path
from random import Random

from matplotlib.figure import Figure

import batchlab as bl
from batchlab import tasks
from batchlab.platform import SharedStorage

# Every step computes, exchanges edges with both neighbours, and is saved; another size moves the state first.
SOLVER = bl.Application(
    [
        bl.Phase(
            [
                tasks.Compute(
                    flops="work / num_nodes",
                    computation_pattern="uniform",
                    bytes="edges * num_nodes",
                    communication_pattern="ring",
                ),
                tasks.Write("state", "all_ranks"),
            ],
            iterations=10,
        )
    ],
    on_reconfiguration=bl.Stage([tasks.Compute(bytes="state", communication_pattern="all_to_all")]),
)


def described(jobs: int = 24) -> list[bl.JobDescription]:
    """Return jobs that run best on 8 nodes, and need at least 2."""
    chance = Random(1)  # noqa: S311  # no secrets here
    return [
        bl.JobDescription(
            application=SOLVER,
            submit_time=number * 60.0,
            job_type="malleable",
            tasks=8,
            tasks_min=2,
            tasks_max=8,
            requested_time=900,
            arguments={"work": chance.uniform(5, 60) * 1e13, "edges": 2e9, "state": 4e10},
        )
        for number in range(jobs)
    ]


def main() -> None:
    """Compare, and draw ``malleable.png``."""
    storage = SharedStorage("files", read="40GBps", write="20GBps")
    platform = bl.Platform.crossbar(
        20, speed="2Tf", bandwidth="10GBps", latency="1us", storage=[storage], name="cluster"
    )
    system = bl.System.of(platform)
    malleable = described()
    rigid = [replace(job, job_type="rigid", tasks_min=None, tasks_max=None) for job in malleable]
    runs = {"rigid, EASY": (rigid, "easy"), "malleable, equal parts": (malleable, "equipartition")}
    results = {}
    for label, (jobs, policy) in runs.items():
        result = bl.simulate(bl.Workload.from_jobs(jobs), system, policy, sensing=bl.Sensing(10))
        results[label] = result
        wait = bl.metrics.wait(result.jobs).to_numpy().mean()
        held = bl.metrics.utilisation(result.jobs, system, resizes=result.resizes)["core"]
        print(
            f"{label:24}{bl.metrics.makespan(result.jobs):6.0f} s in all, {wait:5.0f} s of waiting, "
            f"{held:.0%} of the nodes held, {len(result.resizes)} resizes"
        )
    figure = Figure(figsize=(11, 8), layout="constrained")
    axes = figure.subplots(2, 2)
    for column, (label, result) in enumerate(results.items()):
        bl.plot.gantt(result, ax=axes[0, column], title=label)
        bl.plot.platform_activity(result, ax=axes[1, column], window=60)
    figure.savefig("malleable.png", dpi=110)
    print(f"malleable.png: {'written' if Path('malleable.png').exists() else 'missing'}")


if __name__ == "__main__":
    main()
