"""Random cases of jobs with applications, through the public API."""

from math import inf, isinf

import polars as pl

import batchlab as bl
from batchlab.application.files import application_of
from batchlab.core.vocabulary import SharingModel
from batchlab.platform import Disk, Host, Link
from reference.world import Host as ReferenceHost
from support.application_cases import ElasticCase, ElasticJob, Seen, decide

__all__ = ["forked", "simulated"]

KINDS = {"finalise": "completed", "kill": "killed"}


class AsDecided(bl.Scheduler):
    """Decides as the case does, and remembers what it was asked."""

    every_instant = True

    def __init__(self, case: ElasticCase) -> None:
        self.case = case
        self.questions: list[tuple[float, Seen]] = []

    def schedule(self, view: bl.View) -> None:
        seen = seen_in(view)
        self.questions.append((view.now, seen))
        for row, nodes in decide(self.case, len(self.questions), seen):
            job = view.job(row)
            if nodes is None:
                view.kill(job)
            elif job.state == "running":
                view.resize(job, nodes=nodes)
            else:
                assert view.start(job, nodes=nodes)


def seen_in(view: bl.View) -> Seen:
    cause = view.cause
    points = {job.row: job.requested_tasks or 0 for job in view.at_scheduling_point}
    return Seen(
        KINDS.get(cause.kind, cause.kind),
        None if cause.job is None else cause.job.row,
        points,
        [node for node, (cores, *_) in enumerate(view.free) if cores],
        sorted(job.row for job in view.queue),
        {
            job.row: (job.pending_ranks if job.row in points else None) or job.ranks
            for job in sorted(view.running, key=lambda job: job.row)
        },
    )


def platform_of(case: ElasticCase) -> bl.Platform:
    """Give the hosts, and every route as the case has it."""
    names = [f"host{number}" for number in range(len(case.hosts))]
    hosts = [
        Host(
            name,
            speed=host.speed,
            cores=host.cores,
            gpus=host.gpus,
            gpu_speed=host.gpu_speed,
            gpu_bandwidth=host.gpu_bandwidth,
            disk=_disk(host),
            striping=host.striping,
            role="compute" if host.targets else "storage",
        )
        for name, host in zip(names, case.hosts, strict=True)
    ]
    links = [
        Link(cable.name, cable.bandwidth, cable.latency, sharing="fat_pipe" if cable.fat else "shared")
        for cable in case.cables
    ]
    routes = {
        (source, target): [case.cables[cable].name for cable in case.route(i, j)[0]]
        for i, source in enumerate(names)
        for j, target in enumerate(names)
        if i != j
    }
    return bl.Platform.from_routes(links, routes, hosts=hosts, symmetrical=False)


def _disk(host: ReferenceHost) -> Disk | None:
    capacity = None if isinf(host.capacity) else host.capacity
    return Disk(*host.disk, whole_bytes=host.whole_bytes, capacity=capacity) if host.disk else None


def network_of(case: ElasticCase) -> bl.NetworkModel | SharingModel:
    """Give the network model, by its name where nothing is changed."""
    names = {"gamma": "window", "crosstraffic": "cross_traffic"}
    changed = {names.get(name, name): value for name, value in case.changed.items()}
    return bl.NetworkModel.of({"model": case.sharing, **changed}) if changed else case.sharing


def workload_of(case: ElasticCase) -> bl.Workload:
    """Give the jobs, one task to a node."""
    return bl.Workload.from_jobs([description_of(job) for job in case.jobs])


def description_of(job: ElasticJob) -> bl.JobDescription:
    return bl.JobDescription(
        submit_time=job.submit_time,
        tasks=job.nodes[1],
        tasks_min=job.nodes[0],
        tasks_max=job.nodes[1],
        application=application_of(job.model),
        requested_time=job.walltime if job.walltime < inf else None,
        job_type=job.job_type,
        arguments=job.arguments,
        resources={"core": 1} | ({"gpu": job.gpus} if job.gpus else {}),
    )


def simulated(case: ElasticCase) -> tuple[list[tuple[float, Seen]], list[tuple[str, float, float]]]:
    """Simulate in the kernel: every question, and each job's state, start and end (s)."""
    scheduler, settings = AsDecided(case), case.settings
    invocation = None
    if settings.event_by_event:
        invocation = bl.Invocation(
            on_scheduling_point=settings.on_scheduling_point,
            interval=settings.interval,
            since=settings.since,
        )
    system = bl.System.of(platform_of(case))
    result = bl.simulate(
        workload_of(case),
        system,
        scheduler,
        walltime="kill",
        sharing=network_of(case),
        invocation=invocation,
        overheads=bl.Overheads(launch=settings.launch, counted=False) if settings.launch else None,
    )
    return scheduler.questions, result.jobs.select("state", "start_time", "end_time").rows()


def forked(case: ElasticCase, policy: str, *, cut: float, twin_first: bool) -> list[pl.DataFrame]:
    """Give the jobs of a whole run, and of a run and its fork at a part of the whole's time."""

    def simulation() -> bl.Simulation:
        system = bl.System.of(platform_of(case))
        return bl.Simulation(workload_of(case), system, policy, walltime="kill", sharing=network_of(case))

    whole = simulation()
    whole.run_until()
    original = simulation()
    original.run_until(cut * whole.now)
    pair = [original.fork(), original]
    for half in pair if twin_first else reversed(pair):
        half.run_until()
    return [each.result().jobs for each in (whole, *pair)]
