"""Random cases in which jobs preempt others."""

import random
from dataclasses import replace

from reference import Partition, Preemption, Quality
from support.schedule_cases import Case

__all__ = ["preempting"]


def preempting(case: Case, rng: random.Random) -> Case:
    """Let jobs preempt others, by the tiers of their partitions or by quality of service (S16)."""
    machine, jobs = case.machine, case.jobs
    if machine.partitions and rng.random() < 0.7:
        # Where none is rejected and each has one tier, more are preempted.
        nodes = frozenset(range(len(machine.capacity)))
        count = rng.randint(2, 3)
        sets = [rng.choice((nodes, nodes, each.nodes)) for each in machine.partitions * count][:count]
        partitions = tuple(
            Partition(f"part{place}", each, tier=rng.randint(0, 3)) for place, each in enumerate(sets)
        )
        machine = replace(machine, partitions=partitions, queues=())
        own = [each.name for each in partitions]
        jobs = tuple(replace(job, queue=None, partitions=(rng.choice(own),)) for job in jobs)
    has_tiers = len({each.tier for each in machine.partitions}) > 1
    mode = rng.choice(("requeue", "requeue", "cancel", "suspend"))
    graces = [0.0] * 3 + [time for job in jobs[:2] for time in (job.run_time, job.requested_time)]
    rules = Preemption(
        by="tier" if has_tiers and rng.random() < 0.7 else "qos",
        mode=mode,
        exempt_time=rng.choice((0.0, 0.0, *(job.run_time for job in jobs[:3]))),
        grace_time=0.0 if mode == "suspend" else rng.choice(graces),
        youngest_first=rng.random() < 0.3,
    )
    preempts = {
        "high": ("low", *rng.choice(((), ("middle",)))),
        "middle": rng.choice(((), ("low",))),
        "low": (),
    }
    qualities = tuple(Quality(name, rng.randint(0, 3), preempts=others) for name, others in preempts.items())
    # Some of the least important may not be requeued.
    kinds = [("low", True), ("low", False), ("middle", True), ("high", True), ("high", True), (None, True)]
    chosen = [rng.choice(kinds) for _ in jobs]
    jobs = tuple(
        replace(job, qos=qos, requeue=requeue) for job, (qos, requeue) in zip(jobs, chosen, strict=True)
    )
    return replace(case, machine=replace(machine, qualities=qualities, preemption=rules), jobs=jobs)
