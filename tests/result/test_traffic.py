"""Messages and links of a result: tables, summary, files; and slowdowns by interference."""

from pathlib import Path
from typing import Any

import pytest

import batchlab as bl
from batchlab.errors import ResultError, SimulationError
from batchlab.skeleton import Communicator, MessageOptions, Skeleton, named

SIZE = 1e6
PLAIN = MessageOptions(eager_threshold=0, envelope=0)


def sends(world: Communicator) -> None:
    """Rank 0 sends to rank 1."""
    world.send(1, SIZE) if world.rank == 0 else world.recv(0)


def job(**more: Any) -> bl.JobDescription:  # noqa: ANN401  # as JobDescription takes it
    """Two ranks, of which the first sends to the second."""
    application = bl.Application([bl.Phase([Skeleton(sends, 2, options=PLAIN)])])
    given: dict[str, Any] = {"tasks": 2, "requested_time": 60.0, "application": application}
    return bl.JobDescription(**given | more)


class AtNodes(bl.Scheduler):
    """Starts each job on nodes that are given, rank by rank."""

    def __init__(self, places: list[list[int]]) -> None:
        self.places = places

    def schedule(self, view: bl.View) -> None:
        """Start all."""
        for waiting in view.candidates():
            view.start(waiting, self.places[waiting.job_id - 1])


def placed(places: list[list[int]], jobs: list[bl.JobDescription], **options: Any) -> bl.Result:  # noqa: ANN401  # as simulate
    """Run jobs on given nodes of a ring of four routers, each with a node of two cores."""
    platform = bl.Platform.torus((4,), bandwidth=1e9, cores=2)
    return bl.simulate(bl.Workload.from_jobs(jobs), bl.System.of(platform), AtNodes(places), **options)


def test_tables_by_hand() -> None:
    """Two jobs send a megabyte each over the link from router 0 to 1; one of them goes on to router 2."""
    result = placed([[0, 1], [0, 2]], [job(), job()], messages=True)
    assert result.messages.rows() == [
        (1, 0, "send", 1, SIZE, 1.0, 1, SIZE),
        (2, 1, "send", 1, SIZE, 2.0, 2, 2 * SIZE),
    ]
    used = result.links.filter(result.links["bytes"] > 0).sort("bytes", descending=True)
    (first, *of_first), (second, *of_second) = used.rows()
    assert (first, second) == ("cluster_link_from_0_to_1_UP", "cluster_link_from_1_to_2_UP")
    assert of_first == pytest.approx([1e9, 2 * SIZE, 1e9, 1e9, 2e-3, 2e-3])
    assert of_second == pytest.approx([1e9, SIZE, 0.5e9, 0.5e9, 2e-3, 0.0])


def test_two_jobs_on_one_link_take_twice_as_long() -> None:
    """Exactly: each gets half of the link from the first byte to the last."""
    found = placed([[0, 1], [0, 1]], [job(), job()]).interference()
    assert found["slowdown"].to_list() == [2.0, 2.0]
    assert found["run_time_alone"].to_list() == [1e-3, 1e-3]
    assert found["undefined"].null_count() == 2


@pytest.mark.parametrize("start", [0.0, 1 / 3, 1e7 + 0.1])
def test_jobs_that_share_nothing_take_as_long_as_alone(start: float) -> None:
    """Exactly, whenever they start, and with any number of threads."""
    result = placed([[0, 1], [2, 3], [1, 0]], [job(submit_time=start + at * 1e-4) for at in range(3)])
    found = result.interference(threads=3)
    assert found["slowdown"].to_list() == [1.0] * 3
    assert found.equals(result.interference(threads=1))


def test_ranks_are_where_they_were() -> None:
    """Ranks that alternate between two nodes send over the link; packed ones do not."""

    def pairs(world: Communicator) -> None:
        other = world.rank ^ 1
        world.sendrecv(other, SIZE, other)

    four: dict[str, Any] = {
        "tasks": 4,
        "application": bl.Application([bl.Phase([Skeleton(pairs, 4, options=PLAIN)])]),
    }
    jobs = [job(**four), job(**four, submit_time=1.0)]
    result = placed([[0, 1, 0, 1], [0, 0, 1, 1]], jobs, messages=True)
    assert result.messages["mean_hops"].to_list() == [1.0, 0.0]
    assert result.interference()["slowdown"].to_list() == [1.0, 1.0]


def test_jobs_without_a_run_alone_say_why() -> None:
    """Those that were resized; jobs with a run time are left out, and killed ones."""
    step = bl.tasks.Compute(flops=12e9, computation_pattern="all_ranks")
    grows = bl.JobDescription(
        application=bl.Application([bl.Phase([step], iterations=4)]),
        job_type="malleable",
        tasks=2,
        tasks_min=1,
        tasks_max=4,
    )
    killed = job(submit_time=100.0, requested_time=1e-4)
    jobs = [grows, bl.JobDescription(submit_time=0.0, tasks=1, run_time=5.0), killed, job(submit_time=200.0)]
    platform = bl.Platform.torus((4,), bandwidth=1e9, speed="1Gf")
    result = bl.simulate(bl.Workload.from_jobs(jobs), bl.System.of(platform), "malleable", walltime="kill")
    found = result.interference()
    assert found["row"].to_list() == [0, 3]
    assert found["undefined"].to_list() == ["resized", None]
    assert found["slowdown"].to_list() == [None, 1.0]


def test_phases_and_scheduling_points_run_alone_too() -> None:
    """A malleable job that was not resized goes on at its scheduling points."""
    step = bl.tasks.Compute(flops=1e9, computation_pattern="all_ranks")
    one = bl.JobDescription(
        application=bl.Application([bl.Phase([step], iterations=3)]), job_type="malleable", tasks=1
    )
    platform = bl.Platform.torus((4,), bandwidth=1e9, cores=1, speed="1Gf")
    result = bl.simulate(bl.Workload.from_jobs([one, one]), bl.System.of(platform), "fcfs")
    assert result.interference()["run_time_alone"].to_list() == [3.0, 3.0]


def test_overheads_are_no_interference() -> None:
    """The run begins after the launch, and ends before the completion."""
    overheads = bl.Overheads(launch=5, completion=7)
    found = placed([[0, 1], [0, 1]], [job(), job()], overheads=overheads).interference()
    assert found["slowdown"].to_list() == pytest.approx([2.0, 2.0], rel=1e-9)


def test_what_is_needed_is_said() -> None:
    """A platform, the option, a number of threads."""
    plain = bl.Workload.from_jobs([bl.JobDescription(submit_time=0.0, tasks=1, run_time=5.0)])
    system = bl.System.homogeneous(nodes=2, resources={"core": 1})
    with pytest.raises(SimulationError, match="messages = True; the system has no platform"):
        bl.simulate(plain, system, "fcfs", messages=True)
    with pytest.raises(SimulationError, match="messages = 1; must be true or false"):
        bl.simulate(plain, system, "fcfs", messages=1)  # type: ignore[arg-type]
    without = bl.simulate(plain, system, "fcfs")
    for table in ("messages", "links"):
        with pytest.raises(ResultError, match=r"(messages|links): not recorded; pass messages=True"):
            getattr(without, table)
    with pytest.raises(ResultError, match=r"has no platform; .* System\.of"):
        without.interference()
    with pytest.raises(ResultError, match="threads = 0; must be a whole number >= 1"):
        placed([[0, 1]], [job()]).interference(threads=0)


def test_without_applications_nothing_was_sent() -> None:
    """Tables are there, and empty or zero."""
    plain = bl.Workload.from_jobs([bl.JobDescription(submit_time=0.0, tasks=1, run_time=5.0)])
    system = bl.System.of(bl.Platform.torus((4,), bandwidth=1e9))
    result = bl.simulate(plain, system, "fcfs", messages=True)
    sent = placed([[0, 1]], [job()], messages=True)
    assert result.messages.is_empty()
    assert result.messages.schema == sent.messages.schema
    assert result.links.schema == sent.links.schema
    assert result.links["bytes"].sum() == 0
    assert result.interference().is_empty()
    assert result.interference().schema == sent.interference().schema
    assert result.metrics()["messages"] == {
        "jobs": 0,
        "messages": 0,
        "bytes": 0.0,
        "mean_hops": None,
        "max_hops": None,
        "hop_bytes": 0.0,
        "classes": {},
    }


def test_counts_survive_forks_and_snapshots() -> None:
    """A run that is saved in the middle of its messages counts the same."""
    skeleton = named("alltoall", 4, {"size": 1e6})
    one = job(tasks=4, application=bl.Application([bl.Phase([skeleton], 3)]))
    of = (bl.Workload.from_jobs([one, one]), bl.System.of(bl.Platform.torus((3, 3), bandwidth=1e9)), "fcfs")
    whole = bl.simulate(*of, messages=True)
    half = bl.Simulation(*of, messages=True)
    half.run_until(whole.jobs["end_time"][0] / 2)
    fork, saved = half.fork(), half.snapshot()
    restored = bl.Simulation.restore(saved, *of)
    assert 0 < half.result().messages["messages"].sum() < whole.messages["messages"].sum()
    for simulation in (half, fork, restored):
        simulation.run_until(10)
        assert simulation.result().messages.equals(whole.messages)
        assert simulation.result().links.equals(whole.links)


def test_files_and_summary(tmp_path: Path) -> None:
    """The tables are written, and a line of the page tells each."""
    result = placed([[0, 1], [0, 2]], [job(), job()], messages=True)
    result.write(tmp_path)
    lines = (tmp_path / "messages.csv").read_text().splitlines()
    assert lines[0] == "job_id,row,class,messages,bytes,mean_hops,max_hops,hop_bytes"
    assert lines[1:] == ["1,0,send,1,1000000.0,1.0,1,1000000.0", "2,1,send,1,1000000.0,2.0,2,2000000.0"]
    assert len((tmp_path / "links.csv").read_text().splitlines()) == 1 + len(result.system.platform.links)  # type: ignore[union-attr]
    page = result.summary().splitlines()
    assert "messages      2 messages, 2 MB; 1.5 hops on average, 2 at most" in page
    assert "links         2 used, the fullest one 100.0 % on average, 100.0 % at a peak" in page
    assert "congestion    2 ms in which one link was full and shared" in page
    assert page[-2:] == [
        "messages  number  payload  mean hops  most  hop-bytes",
        "send           2     2 MB        1.5     2       3 MB",
    ]
    assert all(len(line) <= 80 for line in page)
