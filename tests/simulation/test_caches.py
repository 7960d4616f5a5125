"""Burst buffers as caches of the file system, in numbers that can be followed by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import batchlab as bl
from batchlab import tasks
from batchlab.platform import Disk, SharedStorage

if TYPE_CHECKING:
    from collections.abc import Sequence

GIGA = 10**9


def system(nodes: int = 1, **disk: Any) -> bl.System:  # noqa: ANN401  # parameters of a disk
    """Give nodes of 1 Gflop/s; 4 GB/s onto a disk, 2 GB/s from it, 1 GB/s to and from the file system."""
    storage = SharedStorage("files", read="1GBps", write="1GBps")
    made = Disk("2GBps", "4GBps", **disk)
    return bl.System.of(
        bl.Platform.crossbar(nodes, speed="1Gf", bandwidth="1GBps", latency=0, storage=storage, disk=made)
    )


def write(size: float, storage: Any = "cache", **more: Any) -> tasks.Write:  # noqa: ANN401  # also wrong ones
    return tasks.Write(size * GIGA, "uniform", storage, **more)


def read(size: float) -> tasks.Read:
    return tasks.Read(size * GIGA, "uniform", "cache")


def compute(seconds: float) -> tasks.Compute:
    return tasks.Compute(seconds * GIGA, "uniform")


def end(machine: bl.System, *work: tasks.Task) -> float:
    """Say when a job on one node that does this is done."""
    return float(ends(machine, [work])[0])


def ends(machine: bl.System, jobs: Sequence[tuple[tasks.Task, ...]], **options: Any) -> list[float]:  # noqa: ANN401
    made = {str(number): bl.Application([bl.Phase(list(work))]) for number, work in enumerate(jobs)}
    described = [
        bl.JobDescription(application=name, tasks=1, requested_time=10.0 if options else None)
        for name in made
    ]
    workload = bl.Workload.from_jobs(described, applications=made)
    return bl.simulate(workload, machine, "fcfs", **options).jobs["end_time"].to_list()


def test_a_write_returns_when_the_disk_has_it() -> None:
    """8 GB are on the disk after 2 s, and on the file system 8 s later, while the job computes."""
    assert end(system(), write(8), compute(10)) == 12.0
    assert end(system(), write(8), compute(3)) == 10.0
    assert end(system(), write(8, "parallel_file_system"), compute(10)) == 18.0


def test_a_full_buffer_lets_writes_through() -> None:
    """The second write shares the way to the file system with the migration of the first, from 2 s on."""
    assert end(system(capacity=8 * GIGA), write(8), write(8)) == 18.0
    # It is too large for the buffer at all.
    assert end(system(capacity=8 * GIGA), write(9)) == 9.0
    # There is place again at 10 s.
    assert end(system(capacity=8 * GIGA), write(8), compute(8), write(8)) == 20.0


def test_reads_hit_what_was_written() -> None:
    """The disk is read by the migration as well, 1 GB/s each; what it has not comes from the file system."""
    assert end(system(), write(8), read(8)) == 10.0
    assert end(system(), write(8), compute(8), read(8)) == 14.0
    assert end(system(), write(8), read(9)) == 11.0
    assert end(system(), read(3)) == 3.0
    # No more is kept than the buffer holds.
    assert end(system(capacity=8 * GIGA), write(8), compute(8), write(8), compute(8), read(9)) == 29.0


def test_asynchronous_writes_are_awaited_and_migrate() -> None:
    """The end of the job comes after both."""
    assert end(system(), write(8, asynchronous=True), compute(1)) == 10.0


def test_killed_jobs_leave_the_buffer() -> None:
    """The first job is killed as it migrates; the next one on the node finds place for all that it writes."""
    machine = system(capacity=30 * GIGA)
    jobs = [(write(30), compute(1)), (write(5), compute(6))]
    assert ends(machine, jobs, walltime="kill") == [10.0, 17.25]
    assert ends(machine, jobs) == [37.5, 44.75]


def test_nodes_are_given_back_with_nothing_dirty() -> None:
    """A job waits at its scheduling point for its migrations, also where nothing changes."""
    phase = bl.Phase([write(8), compute(1)], iterations=2)
    asked: list[float] = []

    class Ask(bl.Scheduler):
        """Starts all, and notes when it is asked."""

        def schedule(self, view: bl.View) -> None:
            asked.append(view.now)
            for job in view.queue:
                view.start(job)

    job = bl.JobDescription(application="a", job_type="malleable", tasks_min=1, tasks_max=1)
    workload = bl.Workload.from_jobs([job], applications={"a": bl.Application([phase])})
    assert bl.simulate(workload, system(), Ask()).jobs["end_time"].to_list() == [20.0]
    assert 10.0 in asked


def test_forks_have_caches_of_their_own() -> None:
    """A run that is cut in the middle of a migration ends as one that is not; so does its fork."""
    workload = bl.Workload.from_jobs(
        [bl.JobDescription(application="a", tasks=1)],
        applications={"a": bl.Application([bl.Phase([write(8), compute(4), write(8), compute(9)])])},
    )
    machine = system(capacity=8 * GIGA)
    whole = bl.simulate(workload, machine, "fcfs").jobs["end_time"].to_list()
    simulation = bl.Simulation(workload, machine, "fcfs")
    simulation.run_until(5.0)
    restored = bl.Simulation.restore(simulation.snapshot(), workload, machine, "fcfs")
    for run in (simulation.fork(), restored, simulation):
        run.run_until()
        assert run.result().jobs["end_time"].to_list() == whole


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"disk": None}, "has no burst buffer of its own to cache with; give it a disk"),
        ({"striping": 1.0}, "has a striped burst buffer, which is no cache; leave striping out"),
        ({"storage": ()}, "reaches no parallel file system; give the platform a storage host"),
    ],
)
def test_what_a_cache_needs(more: dict[str, Any], said: str) -> None:
    """A disk of the node, not striped, and a file system behind it."""
    parts: dict[str, Any] = {"storage": SharedStorage("files", "1GBps", "1GBps"), "disk": Disk(1e9, 1e9)}
    machine = bl.System.of(bl.Platform.crossbar(1, speed="1Gf", bandwidth="1GBps", **{**parts, **more}))
    with pytest.raises(bl.BatchlabError, match=said):
        end(machine, write(1))


@pytest.mark.parametrize("capacity", [0, -1, float("nan"), float("inf"), "8GB", True])
def test_capacities_are_numbers(capacity: Any) -> None:  # noqa: ANN401  # that is the test
    """Of bytes, finite and positive."""
    with pytest.raises(bl.PlatformError, match=r"Disk: capacity = .*; must be a finite number of bytes > 0"):
        Disk("2GBps", "1GBps", capacity=capacity)
