"""A dispatcher that plans with a constraint solver, CP-SAT of OR-Tools: pip install 'batchlab[constraint]'.

At every decision the first waiting jobs are planned on the cores, beside the running ones and by estimates,
so that the sum of their slowdowns is least; those that are planned for now start. After an idea of T. Bridi
et al.: A constraint programming scheduler for heterogeneous high-performance computing machines. IEEE TPDS
27(10), 2016.
"""

from ortools.sat.python import cp_model

import batchlab as bl
from batchlab.generate import demo_system, demo_workload


class Planner(bl.Scheduler):
    """Plans a window of the queue at every decision.

    Parameters
    ----------
    window
        How many waiting jobs are planned.
    seconds
        How long the solver may think, in its own deterministic time.
    """

    def __init__(self, window: int = 6, seconds: float = 0.002) -> None:
        self.window = window
        self.seconds = seconds

    def schedule(self, view: bl.View) -> None:
        """Plan, and start what is planned for now."""
        if next(view.candidates(), None) is None:
            return
        window = [job for job, _ in zip(view.queue, range(self.window), strict=False)]
        if len(window) > 1:
            window = self.planned_for_now(view, window)
        for job in window:
            view.start(job)

    def planned_for_now(self, view: bl.View, window: list[bl.Job]) -> list[bl.Job]:
        """Return the jobs that start now in the best plan found."""
        model = cp_model.CpModel()
        capacity = int(view.capacity.sum())
        busy, cores = [], []
        for job in view.running:
            left = max(int((job.expected_end or view.now) - view.now), 1)
            busy.append(model.new_fixed_size_interval_var(0, left, f"running {job.id}"))
            cores.append(job.demand["core"])
        horizon = sum(int(job.estimate) + 1 for job in window) + max(
            (int((job.expected_end or view.now) - view.now) for job in view.running), default=0
        )
        starts = [model.new_int_var(0, horizon + 1, f"start {job.id}") for job in window]
        for job, start in zip(window, starts, strict=True):
            length = max(int(job.estimate), 1)
            busy.append(model.new_fixed_size_interval_var(start, length, f"waiting {job.id}"))
            cores.append(job.demand["core"])
        model.add_cumulative(busy, cores, capacity)
        weights = [max(100_000 // max(int(job.estimate), 10), 1) for job in window]
        model.minimize(sum(weight * start for weight, start in zip(weights, starts, strict=True)))
        solver = cp_model.CpSolver()
        solver.parameters.max_deterministic_time = self.seconds
        solver.parameters.num_workers = 1
        if solver.solve(model) not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
            return window[:1]
        return [job for job, start in zip(window, starts, strict=True) if solver.value(start) == 0]


def main() -> None:
    """Compare with first come, first served."""
    workload, system = demo_workload(150, seed=7).scale_load(1.2), demo_system()
    slowdowns = []
    for policy in ("fcfs", Planner()):
        jobs = bl.simulate(workload, system, policy).jobs
        slowdowns.append(bl.metrics.describe(bl.metrics.bounded_slowdown(jobs))["mean"] or 0.0)
    better = slowdowns[1] < slowdowns[0] / 2
    print("slowdowns are", "less than half" if better else "not less than half", "of those of fcfs")


if __name__ == "__main__":
    main()
