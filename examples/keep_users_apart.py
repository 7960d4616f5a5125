"""Prefer nodes without jobs of other users: an allocator in Python."""

import polars as pl

import batchlab as bl
from batchlab.generate import demo_system, demo_workload


class KeepUsersApart(bl.Allocator):
    """Fills the nodes with the fewest strangers first; of these, the emptiest."""

    def allocate(self, job: bl.Job, view: bl.View) -> dict[int, int] | None:
        """Return the number of tasks by node; None if the job does not fit."""
        chosen: dict[int, int] = {}
        free = view.free.sum(axis=1)
        order = sorted(range(len(free)), key=lambda node: (self.strangers(job, node, view), -free[node]))
        for node in order:
            tasks = min(view.slots(job, node), job.tasks - sum(chosen.values()))
            if tasks > 0:
                chosen[node] = tasks
        return chosen if sum(chosen.values()) == job.tasks else None

    def strangers(self, job: bl.Job, node: int, view: bl.View) -> int:
        """Count the other users' jobs on a node."""
        return sum(other.user_id != job.user_id for other in view.jobs_on(node))


def shared(result: bl.Result) -> float:
    """Return the share of placements on a node on which another user's job ran at the same time."""
    columns = result.jobs.select("job_id", "user_id", "start_time", "end_time")
    placed = result.placements.select("job_id", "node").join(columns, on="job_id")
    met = placed.join(placed, on="node", suffix="_other").filter(
        pl.col("user_id") != pl.col("user_id_other"),
        pl.col("start_time") < pl.col("end_time_other"),
        pl.col("start_time_other") < pl.col("end_time"),
    )
    return met.select("job_id", "node").unique().height / placed.height


def main() -> None:
    """Print how often users meet under three allocators."""
    workload, system = demo_workload(500, seed=7), demo_system()
    for allocator in ("first_fit", "best_fit", KeepUsersApart()):
        result = bl.simulate(workload, system, bl.Policy(backfill="easy", allocator=allocator))
        print(f"{result.policy!s:32} {shared(result):6.1%} of the placements beside another user")


if __name__ == "__main__":
    main()
