"""Runs that record every table that results have."""

from collections.abc import Callable

import batchlab as bl
from batchlab.generate import demo_system, demo_workload
from batchlab.options import Overheads
from batchlab.skeleton import named
from support.plotted_results import resized

__all__ = ["JOBS", "KINDS", "NarrowFirst", "disturbed"]

JOBS = demo_workload(60)
OFF = bl.SleepState("off", power=5, enter_time=30, wake_time=240)


class NarrowFirst(bl.Scheduler):
    """Starts narrow jobs first."""

    def schedule(self, view: bl.View) -> None:
        """Start what fits."""
        for job in sorted(view.queue, key=lambda job: job.tasks):
            if not view.start(job):
                break


def shared() -> bl.System:
    """Give a machine of two accounts, in which users have limits."""
    users = {str(user): 1 for user in JOBS.jobs["user_id"].unique()}
    accounts = (bl.Account("physics", users=users), bl.Account("chemistry", shares=2))
    limits = (bl.Limit("PerUser", per=("user",), running_jobs=1),)
    return bl.System.homogeneous(nodes=32, resources={"core": 8}, accounts=accounts, limits=limits)


def ring() -> bl.Result:
    """Run two jobs that send messages on a torus."""
    application = bl.Application([bl.Phase([named("ring", 4, {"size": 1e6})], iterations=10)])
    job = bl.JobDescription(submit_time=0, tasks=4, requested_time=60, application=application)
    system = bl.System.of(bl.Platform.torus((8,), bandwidth="1GBps"))
    return bl.simulate(bl.Workload.from_jobs([job, job]), system, "fcfs(allocator=blocks(4))", messages=True)


def stepping() -> bl.Result:
    """Run a job of four steps, the times of which are recorded."""
    steps = [bl.tasks.Compute(flops=12e9, computation_pattern="all_ranks")]
    application = bl.Application([bl.Phase(steps, iterations=4)])
    job = bl.JobDescription(application=application, tasks=2, requested_time=100)
    system = bl.System.of(bl.Platform.crossbar(4, speed="1Gf", bandwidth="1GBps"))
    return bl.simulate(bl.Workload.from_jobs([job]), system, "fcfs", task_times=True)


def failing() -> bl.Result:
    """Run jobs on nodes that fail."""
    failures = bl.Failures({"node": [0, 1], "time": [3000.0, 9000.0], "repair_time": [600.0, 600.0]})
    return bl.simulate(JOBS, demo_system(), "easy", observers=[failures, bl.Power(bl.NodePower(90, 140))])


def sleeping() -> bl.Result:
    """Run jobs on nodes that sleep."""
    system = bl.System.homogeneous(nodes=32, resources={"core": 8}, sleep_states=(OFF,))
    return bl.simulate(JOBS, system, "easy", sleep="timeout(300)", overheads=Overheads(launch=2.0))


def disturbed() -> bl.Result:
    """Run jobs, one of which is cancelled."""
    events = bl.EventStream(
        [{"time": 10, "event": "cancel", "job_id": 3}, {"time": 50, "event": "down", "nodes": "0"}]
    )
    return bl.simulate(JOBS, demo_system(), "conservative", events=events)


KINDS: dict[str, Callable[[], bl.Result]] = {
    "plain": lambda: bl.simulate(JOBS, demo_system(), "easy(order=sjf)", seed=3, walltime="kill"),
    "costs": lambda: bl.simulate(JOBS, demo_system(), "easy", dispatch=True),
    "gates": lambda: bl.simulate(JOBS, shared(), "conservative", explain=True, usage=True),
    "rates": lambda: bl.simulate(JOBS, demo_system(), "fcfs", control="count(1, 3)", key_events=True),
    "sleep": sleeping,
    "failures": failing,
    "events": disturbed,
    "resizes": resized,
    "task times": stepping,
    "messages": ring,
    "policy in Python": lambda: bl.simulate(JOBS, demo_system(), NarrowFirst()),
}
"""Runs by what is particular of them; together they record every table."""
