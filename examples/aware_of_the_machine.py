"""Three schedulers that use topology, storage load, and the progress of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import batchlab as bl
from batchlab import tasks
from batchlab.platform import SharedStorage

if TYPE_CHECKING:
    from batchlab.seam import View


class NearEachOther(bl.Scheduler):
    """First come, first served, on nodes that are few hops from each other."""

    def begin(self, view: View) -> None:
        """Count the hops between all nodes once."""
        platform, hosts = view.system.platform, view.system.hosts
        assert platform is not None  # noqa: S101  # for the type checker
        self.hops = [[0 if a == b else len(platform.route(a, b).links) for b in hosts] for a in hosts]

    def schedule(self, view: View) -> None:
        """Start every job around the free node that has the nearest free neighbours."""
        for job in view.queue:
            free = [node for node, amounts in enumerate(view.free) if amounts[0] > 0]
            if len(free) < job.tasks:
                return
            groups = (sorted(free, key=self.hops[seed].__getitem__)[: job.tasks] for seed in free)
            view.start(job, nodes=min(groups, key=self._spread))

    def _spread(self, nodes: list[int]) -> int:
        return sum(self.hops[a][b] for a in nodes for b in nodes)


class KindToStorage(bl.Scheduler):
    """First come, first served; but no job starts while the file system is busy reading."""

    def schedule(self, view: View) -> None:
        """Start one job at a time, and look again a minute later where storage is busy."""
        for job in view.queue:
            reading, _ = view.storage_utilisation
            if reading > 0.8:  # noqa: PLR2004  # of what it can
                view.wake(view.now + 60)
                return
            if not view.start(job):
                return
            view.wake(view.now + 1)
            return


class NearlyDoneFirst(bl.Scheduler):
    """First come, first served; the job that has done most of its work gets the nodes that are left."""

    every_instant = True

    def schedule(self, view: View) -> None:
        """Start what waits on the least that it can have; then let those grow that are nearly done."""
        for job in view.queue:
            if not view.start(job, tasks=job.tasks_min):
                return
        for job in sorted(view.at_scheduling_point, key=_left):
            more = view.max_additional_tasks(job, job.tasks_max - job.tasks)
            if more:
                view.resize(job, job.tasks + more)


def _left(job: bl.Job) -> int:
    done, total = job.progress or (0, 0)
    return total - done


def _jobs(count: int) -> bl.Workload:
    """Describe jobs that read a lot, then compute and exchange what they have computed."""
    work = bl.Application(
        on_init=bl.Stage([tasks.Read(bytes="input", pattern="all_ranks")]),
        phases=[
            bl.Phase(
                [
                    tasks.Compute(flops="flops", computation_pattern="all_ranks"),
                    tasks.Compute(bytes="input / 2", communication_pattern="all_to_all"),
                ],
                iterations=10,
            )
        ],
    )
    jobs = [
        bl.JobDescription(
            submit_time=20.0 * number,
            application=work,
            job_type="malleable",
            tasks=4 + number % 5,
            tasks_min=2,
            tasks_max=16,
            requested_time=7200,
            arguments={"flops": 2e13 * (1 + number % 3), "input": 4e11},
        )
        for number in range(count)
    ]
    return bl.Workload.from_jobs(jobs)


def main() -> None:
    """Run the same jobs under each scheduler, and tell how long they waited and took."""
    storage = SharedStorage("PFS", read="20GBps", write="10GBps", latency="5us")
    platform = bl.Platform.torus((4, 4, 2), speed="500Gf", bandwidth="1GBps", latency="1us", storage=storage)
    system, workload = bl.System.of(platform), _jobs(24)
    schedulers = (bl.Policy.parse("fcfs"), NearEachOther(), KindToStorage(), NearlyDoneFirst())
    print("                   mean wait   mean turnaround   makespan")
    for scheduler in schedulers:
        result = bl.simulate(workload, system, scheduler, sharing="fair_bottleneck")
        measured: dict[str, Any] = result.metrics()
        wait, turnaround = measured["wait"]["mean"], measured["turnaround"]["mean"]
        name, makespan = str(result.policy), measured["makespan"]
        print(f"{name:16} {wait:9.0f} s {turnaround:15.0f} s {makespan:8.0f} s")


if __name__ == "__main__":
    main()
