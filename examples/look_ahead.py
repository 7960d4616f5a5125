"""Simulate built-in policies in copies at every decision, and follow the best one.

The copies go by estimates and know nothing of jobs that are still to come.
"""

import polars as pl

import batchlab as bl
from batchlab.generate import demo_system, demo_workload

CHOICES = ("fcfs", "easy", "easy(order=sjf)", "easy(order=smallest)")


class LookAhead(bl.Scheduler):
    """Starts what the policy starts now that would do best from here on."""

    def __init__(self) -> None:
        self.chosen = dict.fromkeys(CHOICES, 0)

    def schedule(self, view: bl.View) -> None:
        """Play every choice through, and do what the best one does now."""
        futures = {choice: self.future(view, choice) for choice in CHOICES}
        best = min(CHOICES, key=lambda choice: bl.metrics.bounded_slowdown(futures[choice]).mean() or 0.0)
        self.chosen[best] += 1
        waiting = set(view.queue.rows.tolist())
        for row, start in futures[best].select("row", "start_time").iter_rows():
            if row in waiting and start == view.now:
                view.start(view.job(row))

    def future(self, view: bl.View, choice: str) -> pl.DataFrame:
        """Play a policy through to the end of the jobs that are known."""
        copy = view.fork(choice)
        copy.run_until()
        jobs: pl.DataFrame = copy.result().jobs.with_row_index("row")
        return jobs.filter((pl.col("end_time") >= view.now) & (pl.col("state") == "completed"))


def main() -> None:
    """Print mean bounded slowdowns."""
    workload, system = demo_workload(200, seed=7).scale_load(1.3), demo_system()
    scheduler = LookAhead()
    for policy in (*CHOICES, scheduler):
        result = bl.simulate(workload, system, policy)
        slowdown = bl.metrics.describe(bl.metrics.bounded_slowdown(result.jobs))["mean"] or 0.0
        print(f"{result.policy!s:24} {slowdown:6.2f}")
    print("chosen:", ", ".join(f"{name} {count} times" for name, count in scheduler.chosen.items() if count))


if __name__ == "__main__":
    main()
