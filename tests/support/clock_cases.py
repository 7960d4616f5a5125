"""Random applications of tiny steps, beside others that run throughout: what S1 says of their clocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import batchlab as bl
from batchlab import tasks
from batchlab.platform import Disk
from batchlab.platform.parts import SharedStorage

if TYPE_CHECKING:
    from random import Random

    import polars as pl

    from batchlab.application.tasks import PairPattern, Task
    from batchlab.core.vocabulary import SharingModel

__all__ = ["ClockCase", "clock_case", "ran"]

NODES = 4
PATTERNS: tuple[PairPattern, ...] = ("all_to_all", "ring_clockwise", "gather", "master_worker")
KINDS = ("compute", "messages", "both", "gpu", "read", "write", "buffer", "idle", "skeleton")
SKELETONS = ("ring", "stencil_2d", "allreduce", "alltoall", "even_odd")


@dataclass(frozen=True)
class ClockCase:
    """Jobs with applications: their sizes, and when they are submitted after the first (s)."""

    platform: bl.Platform
    applications: tuple[bl.Application, ...]
    tasks: tuple[int, ...]
    delays: tuple[float, ...]
    malleable: bool

    def workload(self, begin: float) -> bl.Workload:
        """Return the jobs; the first is submitted at `begin` (s)."""
        jobs = [
            bl.JobDescription(
                submit_time=begin + delay,
                tasks=count,
                application=application,
                job_type="malleable" if self.malleable else "rigid",
                tasks_min=count,
                tasks_max=count,
                resources={"core": 1, "gpu": 1},
            )
            for application, count, delay in zip(self.applications, self.tasks, self.delays, strict=True)
        ]
        return bl.Workload.from_jobs(jobs)


def clock_case(random: Random) -> ClockCase:
    """Draw a case: one application that runs throughout, and others that come at multiples of 1/64 s."""
    platform = bl.Platform.crossbar(
        2 * NODES,
        speed="1Gf",
        bandwidth=random.choice((1e9, 3.3e9)),
        latency=random.choice((0.0, 5e-7, 1.3e-6)),
        cores=1,
        gpus=1,
        gpu_speed=7e10,
        gpu_bandwidth=5e10,
        disk=Disk(2.1e9, 1.7e9),
        storage=SharedStorage("files", read=4e9, write=3e9, latency=1e-7),
    )
    sizes = (2, *(random.randint(1, 2) for _ in range(random.randint(1, 3))))
    malleable = random.random() < 0.5
    # Skeletons are made for a number of ranks, which malleable jobs do not have.
    ranks = [None if malleable else size for size in sizes]
    rounds = bl.Phase([_step(random, ranks[0])], iterations=300)
    throughout = bl.Application([rounds, bl.Phase([tasks.Idle(2.0, "uniform")]), rounds])
    return ClockCase(
        platform,
        (throughout, *(_application(random, of) for of in ranks[1:])),
        sizes,
        (0.0, *(random.randint(0, 64) / 64 for _ in sizes[1:])),
        malleable,
    )


def _application(random: Random, ranks: int | None) -> bl.Application:
    phases = [
        bl.Phase(
            [_step(random, ranks) for _ in range(random.randint(1, 3))],
            iterations=random.choice((1, 10, 200)),
            barrier=random.random() < 0.5,
        )
        for _ in range(random.randint(1, 3))
    ]
    return bl.Application(phases)


def _step(random: Random, ranks: int | None) -> Task:
    size = 10.0 ** random.uniform(1, 5)
    kind = random.choice(KINDS if ranks else KINDS[:-1])
    pattern = random.choice(PATTERNS)
    made: dict[str, Task] = {
        "compute": tasks.Compute(flops=size, computation_pattern="uniform"),
        "messages": tasks.Compute(bytes=size, communication_pattern=pattern),
        "both": tasks.Compute(
            flops=size, computation_pattern="uniform", bytes=size, communication_pattern=pattern
        ),
        "gpu": tasks.Gpu(flops=size, computation_pattern="uniform"),
        "read": tasks.Read(size, "all_ranks"),
        "write": tasks.Write(size, "all_ranks"),
        "buffer": tasks.Write(size, "uniform", storage="burst_buffer"),
        "idle": tasks.Idle(size * 1e-9, "uniform"),
    }
    if ranks and kind == "skeleton":
        return bl.skeleton.named(random.choice(SKELETONS), ranks, {"size": size})
    return made[kind]


def ran(case: ClockCase, begin: float, sharing: SharingModel) -> pl.DataFrame:
    """Return the jobs of a run that begins at a time."""
    return bl.simulate(case.workload(begin), bl.System.of(case.platform), "fcfs", sharing=sharing).jobs
