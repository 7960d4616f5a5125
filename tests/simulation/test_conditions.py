"""What jobs wait for before they enter the queue: other jobs, begin times, places in arrays."""

from __future__ import annotations

import polars as pl
import pytest

import batchlab as bl

RULES = ["fcfs", "easy", "conservative", "first_fit"]
SYSTEM = bl.System.homogeneous(nodes=4, resources={"core": 1})


def workload(run_time: list[float], **columns: object) -> bl.Workload:
    """Give jobs of one task, numbered from 1 on."""
    count = len(run_time)
    table = {
        "job_id": range(1, count + 1),
        "submit_time": [0.0] * count,
        "run_time": run_time,
        "requested_time": [10.0] * count,
        "tasks": [1] * count,
        "user": ["a"] * count,
        "job_name": ["x"] * count,
    }
    return bl.Workload.from_table(pl.DataFrame({**table, **columns}, strict=False), overrun="keep")


def starts(jobs: bl.Workload, policy: str = "fcfs", **options: object) -> list[float | None]:
    """Give the start times."""
    return bl.simulate(jobs, SYSTEM, policy, **options).jobs["start_time"].to_list()  # type: ignore[arg-type]


# Job 1 runs from 0 to 3 s, job 2 is killed at 10 s, job 3 never fits.
FIRST = [3.0, 30.0, 5.0]
FIRST_TASKS = [1, 1, 9]


@pytest.mark.parametrize("policy", RULES)
@pytest.mark.parametrize(
    ("dependency", "start"),
    [
        ("after:1", 0.0),
        ("after:1+1", 60.0),
        ("after:3", 0.0),
        ("after:3+2", 120.0),
        ("after:1+1:2+3", 180.0),
        ("afterok:1", 3.0),
        ("afterok:2", None),
        ("afterok:3", None),
        ("afternotok:1", None),
        ("afternotok:2", 10.0),
        ("afternotok:3", 0.0),
        ("afterany:1:2:3", 10.0),
        ("afterok:1,afternotok:2", 10.0),
        ("afterok:1,afternotok:1", None),
        ("afterok:2?afterok:1", 3.0),
        ("afternotok:1?afterok:2", None),
        ("afternotok:1:2", None),
        ("afternotok:1?after:2+1?afterok:3", 60.0),
        ("singleton", 10.0),
        ("singleton?afterok:1", 3.0),
    ],
)
def test_kinds(policy: str, dependency: str, start: float | None) -> None:
    """A job starts as soon as what it depends on is so; what can never be so has it rejected."""
    jobs = workload([*FIRST, 1.0], tasks=[*FIRST_TASKS, 1], dependency=[None, None, None, dependency])
    last = bl.simulate(jobs, SYSTEM, policy, walltime="kill").jobs.row(3, named=True)
    assert last["start_time"] == start
    assert (last["state"], last["reason"]) == (
        ("completed", None) if start is not None else ("rejected", "dependency")
    )


@pytest.mark.parametrize("policy", RULES)
def test_chains_of_starts(policy: str) -> None:
    """A job that a pass starts lets others in at the same instant, and these still others."""
    chain = [None, "after:1", "after:2", "after:3"]
    assert starts(workload([3.0] * 4, dependency=chain), policy) == [0, 0, 0, 0]
    jobs = workload([3.0] * 4, dependency=chain, tasks=[4] * 4)
    assert starts(jobs, policy) == [0, 3, 6, 9]


def test_both_columns_must_hold() -> None:
    """What `depends_on` lists has to complete whatever alternatives there are."""
    jobs = workload(
        [3.0, 5.0, 1.0], depends_on=[[], [], [2]], dependency=[None, None, "afterok:1?afternotok:1"]
    )
    assert starts(jobs) == [0, 0, 5]


def test_singletons_follow_each_other() -> None:
    """Jobs of one user and name run one after the other, by submission; others run with them."""
    jobs = workload(
        [3.0] * 5,
        submit_time=[2, 1, 0, 0, 0],
        dependency=["singleton"] * 5,
        user=["a", "a", "a", "b", "a"],
        job_name=["x", "x", "x", "x", "y"],
    )
    assert starts(jobs) == [6, 3, 0, 0, 0]


def test_singletons_of_numbered_users() -> None:
    """Without names of users their numbers count; unknown users are one, whatever their numbers."""
    jobs = workload([3.0] * 4, dependency=["singleton"] * 4)
    table = jobs.jobs.drop("user").with_columns(user_id=pl.Series([-1, 7, 7, -2]))
    assert starts(bl.Workload.from_table(table, overrun="keep")) == [0, 0, 3, 3]


def test_jobs_that_no_queue_admits_have_ended() -> None:
    """A job that queues reject counts as any rejected one; the reason says what rejected it."""
    system = bl.System.homogeneous(
        nodes=4, resources={"core": 1}, queues=(bl.JobQueue("short", admits=bl.Conditions(max_time=5)),)
    )
    jobs = workload(
        [3.0, 3.0, 3.0, 3.0],
        requested_time=[10.0, 5.0, 5.0, 10.0],
        dependency=[None, "afterok:1", "afternotok:1", "afterok:1"],
    )
    result = bl.simulate(jobs, system, "fcfs")
    assert result.jobs["reason"].to_list() == ["queue", "dependency", None, "queue"]
    assert result.jobs["start_time"].to_list() == [None, None, 0, None]


def test_tasks_of_an_array_go_where_their_row_says() -> None:
    """Each task has the queue and the partition of the row that it was made of."""
    system = bl.System.homogeneous(
        nodes=4,
        resources={"core": 1},
        partitions=(bl.Partition("left", "0-1"), bl.Partition("right", "2-3")),
        queues=(bl.JobQueue("all", ("left", "right")),),
    )
    jobs = workload([3.0, 3.0], array=["0-3", None], queue=["all", None], partition=["right", "left"])
    result = bl.simulate(jobs, system, "first_fit")
    assert result.jobs["start_time"].to_list() == [0, 0, 3, 3, 0]
    assert result.jobs["allocated_partition"].to_list() == [*["right"] * 4, "left"]
    assert result.jobs["assigned_queue"].unique().to_list() == ["all"]


def test_the_first_singleton_waits_for_none() -> None:
    """A job that is the first of its name is alone already, also as one of several alternatives."""
    jobs = workload([3.0, 3.0], dependency=[None, "singleton?afternotok:1"], job_name=["x", "y"])
    assert starts(jobs) == [0, 0]


class Interrupts(bl.Scheduler):
    """Starts what it may, puts a job back at 2 s, and starts it again at 20 s."""

    every_instant = True

    def begin(self, view: bl.View) -> None:
        """Ask for these instants."""
        view.wake(2)
        view.wake(20)

    def schedule(self, view: bl.View) -> None:
        """Decide."""
        if view.now == 2 and view.running:
            view.preempt(view.job(0))
        for job in view.candidates():
            if not 2 <= view.now < 20 or job.row:
                view.start(job)


def test_preempted_jobs_have_started_and_not_ended() -> None:
    """What waited for the start goes on, what waits for the end waits for that of the last run."""
    jobs = workload([5.0, 1.0, 1.0], dependency=[None, "after:1+1", "afterany:1"])
    table = bl.simulate(jobs, SYSTEM, Interrupts()).jobs
    assert table["start_time"].to_list() == [20, 60, 25]


@pytest.mark.parametrize("policy", RULES)
def test_begin_times(policy: str) -> None:
    """A job enters the queue at its begin time; before that no other waits because of it."""
    jobs = workload([3.0, 3.0, 3.0], tasks=[4, 4, 4], submit_time=[1, 2, 2], begin_time=[6, None, 0])
    table = bl.simulate(jobs, SYSTEM, policy).jobs
    assert table["start_time"].to_list() == [8, 2, 5]
    assert table["submit_time"].to_list() == [1, 2, 2]


def test_begin_times_keep_a_run_going() -> None:
    """A run ends with the last job, also where nothing else happens before it begins."""
    simulation = bl.Simulation(workload([3.0], begin_time=[100.0]), SYSTEM, "easy")
    assert simulation.step()
    assert simulation.next_time == 100
    fork = simulation.fork()
    again = bl.Simulation.restore(simulation.snapshot(), workload([3.0], begin_time=[100.0]), SYSTEM, "easy")
    for each in (simulation, fork, again):
        each.run_until()
        assert each.now == 103


class Kills(bl.Scheduler):
    """Kills the second job at once, and starts what it may."""

    every_instant = True

    def schedule(self, view: bl.View) -> None:
        """Decide."""
        if view.on_hold and view.now == 0:
            view.kill(view.job(1))
        for job in view.candidates():
            view.start(job)


@pytest.mark.parametrize(
    "columns",
    [{"begin_time": [None, 50.0]}, {"dependency": [None, "after:1+1"]}, {"dependency": [None, "afterok:1"]}],
)
def test_killed_while_it_waits(columns: dict[str, object]) -> None:
    """A waiting job can be killed, and the run goes on to no instant for its sake."""
    simulation = bl.Simulation(workload([3.0, 3.0], **columns), SYSTEM, Kills())
    simulation.run_until()
    assert simulation.now == 3
    assert simulation.result().jobs["state"].to_list() == ["completed", "killed"]


@pytest.mark.parametrize("policy", RULES)
def test_arrays_with_a_limit(policy: str) -> None:
    """No more tasks than the limit run or queue, by index, and the others hold no job up."""
    jobs = workload([3.0, 2.0], array=["0-4%2", None], dependency=[None, "afterok:1"])
    assert starts(jobs, policy) == [0, 0, 3, 3, 6, 9]
    wide = workload([3.0, 2.0], array=["0-4%1", None], tasks=[1, 4])
    # A task that gets a place has waited since its submission; by then a plan has the wide job.
    expected = [0, 5, 8, 11, 14, 3] if policy == "conservative" else [0, 3, 6, 9, 12, 15]
    assert starts(wide, policy) == expected


def test_a_whole_array() -> None:
    """A dependency on an array is met by all of its tasks, and one on a task by that."""
    texts = ["after:1", "after:1_2", "afterok:1", "afternotok:1", "afterany:1"]
    jobs = workload([3.0] * 6, array=["1-3%1", *[None] * 5], dependency=[None, *texts])
    assert starts(jobs) == [0, 3, 6, 6, 3, 9, None, 9]


def test_a_failed_array() -> None:
    """An array has not completed if one task has not; that is known when all have ended."""
    texts = ["afterok:1", "afternotok:1"]
    jobs = workload([30.0, 1.0, 1.0], array=["1-2%1", None, None], dependency=[None, *texts])
    table = bl.simulate(jobs, SYSTEM, "fcfs", walltime="kill").jobs
    assert table["start_time"].to_list() == [0, 10, None, 20]


def test_a_killed_task_gives_its_place_to_the_next() -> None:
    """A task that is killed in the line is left out, one that holds a place frees it."""
    jobs = workload([3.0], array=["0-3%1"])

    class KillsTwo(Kills):
        def schedule(self, view: bl.View) -> None:
            if view.now == 0 and not view.running:
                view.kill(view.job(1))
                view.kill(view.job(0))
            for job in view.candidates():
                view.start(job)

    table = bl.simulate(jobs, SYSTEM, KillsTwo()).jobs
    assert table["start_time"].to_list() == [None, None, 0, 3]
