"""Jobs that run applications and change their size, on four equal hosts; times by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab import tasks
from support.resizing import STEPS, SYSTEM, Closes, Scripted, job, run

if TYPE_CHECKING:
    from collections.abc import Callable


def test_ends_with_its_application() -> None:
    """Four iterations of 6 s; three points in between."""
    scheduler, result = run(job())
    assert result.jobs["end_time"].to_list() == [24]
    assert scheduler.points == [(6, [0]), (12, [0]), (18, [0])]


@pytest.mark.parametrize(("policy", "limit"), [("malleable", 3.0), (Scripted({}), 6.0)])
def test_a_job_that_ends_now_is_at_no_point(policy: str | bl.Scheduler, limit: float) -> None:
    """It would ask for three hosts after an iteration; where arrivals come first its end is due by then."""
    step = tasks.Compute(flops=12e9, computation_pattern="all_ranks")
    asking = bl.Application([bl.Phase([step], iterations=4, evolving_request=3)])
    asks = bl.JobDescription(
        application=asking, job_type="evolving", tasks=2, tasks_min=1, tasks_max=4, requested_time=limit
    )
    workload = bl.Workload.from_jobs([asks])
    result = bl.simulate(workload, SYSTEM, policy, walltime="kill", order_at_instant="arrivals_first")
    assert result.jobs.select("state", "end_time").rows() == [("killed", limit)]
    assert not isinstance(policy, Scripted) or policy.points == []


def test_grows_at_a_point() -> None:
    """At its first point it gets two more hosts, and goes twice as fast from there on."""
    _scheduler, result = run(job(), at6=lambda view: view.resize(view.job(0), 4))
    assert result.jobs["end_time"].to_list() == [6 + 3 * 3]
    assert result.resizes.select("row", "start_time", "end_time").rows() == [(0, 0, 6)]
    assert result.allocations["nodes"].to_list() == [[0, 1], [0, 1, 2, 3]]


def test_nodes_between_points_are_reserved() -> None:
    """Hosts given between two points are no other job's at once, and work from the next point on."""

    def grow(view: bl.View) -> None:
        view.resize(view.job(0), 4)
        assert view.total_free["core"] == 0
        assert view.job(0).ranks == [0, 1]
        assert view.job(0).pending_ranks == [0, 1, 2, 3]

    _, result = run(job(), bl.JobDescription(submit_time=2, run_time=0, tasks=1), at2=grow)
    assert result.jobs["end_time"].to_list() == [6 + 3 * 3, 15]


def test_shrinking_waits_for_the_point() -> None:
    """Hosts taken between two points are free at the next, before the scheduler is asked."""
    seen: list[tuple[float, int]] = []

    def shrink(view: bl.View) -> None:
        view.resize(view.job(0), nodes=[1])
        seen.append((view.now, view.total_free["core"]))

    def look(view: bl.View) -> None:
        seen.append((view.now, view.total_free["core"]))

    other = bl.JobDescription(submit_time=2, run_time=0, tasks=1)
    _, result = run(job(), other, at2=shrink, at6=look)
    assert seen == [(2, 2), (6, 3)]
    assert result.jobs["end_time"].to_list() == [6 + 3 * 12, 2]
    assert result.allocations["nodes"].to_list()[:2] == [[0, 1], [1]]


def test_a_look_ahead_knows_what_was_held() -> None:
    """A look ahead takes applications to be run times; what was before stays in its tables."""
    ahead: list[bl.Result] = []

    def look(view: bl.View) -> None:
        future = view.fork("easy")
        future.run_until()
        ahead.append(future.result())

    limited = job(requested_time=30)
    run(limited, at6=lambda view: view.resize(view.job(0), 4), at9=look)
    assert ahead[0].resizes.select("row", "start_time", "end_time").rows() == [(0, 0, 6)]
    assert ahead[0].timeline["used_core"].to_list() == [2, 4, 0]


def test_utilisation_counts_what_was_held() -> None:
    """Two hosts for 6 s and four for 9 s, of four over 15 s."""
    _, result = run(job(), at6=lambda view: view.resize(view.job(0), 4))
    assert result.metrics()["utilisation"] == {"core": pytest.approx((2 * 6 + 4 * 9) / (4 * 15))}
    assert result.timeline["used_core"].to_list() == [2, 4, 0]


def test_progress() -> None:
    """Iterations are counted at points."""
    seen = []
    run(job(), at12=lambda view: seen.append(view.job(0).progress))
    assert seen == [(2, 4)]


def test_evolving_gets_what_it_asks_for() -> None:
    """An application asks for four tasks before its second iteration."""
    phase = bl.Phase(STEPS.phases[0].tasks, iterations=4, evolving_request="4")
    asks = bl.JobDescription(
        application=bl.Application([phase]), job_type="evolving", tasks=2, tasks_min=1, tasks_max=4
    )
    grants = []

    def grant(view: bl.View) -> None:
        grants.append(view.job(0).requested_tasks)
        view.resize(view.job(0), 4)

    _, result = run(asks, at6=grant)
    assert grants == [4]
    assert result.jobs["end_time"].to_list() == [15]


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "first_fit"])
def test_kernel_policies_run_them_as_they_are(policy: str) -> None:
    """Policies in the kernel start jobs on their tasks, beside jobs with a run time, and resize nothing."""
    workload = bl.Workload.from_jobs([job(), bl.JobDescription(run_time=30, tasks=2), job()])
    assert bl.simulate(workload, SYSTEM, policy).jobs["end_time"].to_list() == [24, 30, 48]


def test_limit() -> None:
    """A job is killed at its limit, and one that ends at that very instant has completed."""
    jobs = bl.Workload.from_jobs([job(requested_time=24), job(requested_time=20)])
    result = bl.simulate(jobs, SYSTEM, "fcfs", walltime="kill").jobs
    assert result.select("state", "end_time").rows() == [("completed", 24), ("killed", 20)]


def test_preempted_begins_anew() -> None:
    """A job that goes back to the queue starts its application from the beginning."""
    _, result = run(job(), at12=lambda view: view.preempt(view.job(0)))
    assert result.jobs["end_time"].to_list() == [12 + 24]


def test_fork_is_independent() -> None:
    """A fork in the midst of an iteration ends as the original does, and leaves it alone."""
    simulation = bl.Simulation(bl.Workload.from_jobs([job(), job()]), SYSTEM, "malleable")
    simulation.run_until(7)
    twin = simulation.fork()
    twin.run_until()
    before = simulation.now
    simulation.run_until()
    assert before == 4
    assert twin.result().jobs.equals(simulation.result().jobs)


@pytest.mark.parametrize(
    ("description", "act", "message"),
    [
        (job("rigid", 2, 2), lambda view: view.resize(view.job(0), 3), "it is rigid"),
        (
            job("moldable"),
            lambda view: view.resize(view.job(0), 3),
            "it is not malleable, and asks for no other",
        ),
        (job(), lambda view: view.resize(view.job(0), 5), "tasks = 5; it can have from 1 to 4"),
        (job(most=9), lambda view: view.resize(view.job(0), 5), "there is no room for 3 more of its tasks"),
        (job(), lambda view: view.resize(view.job(0), nodes=[0, 0]), "2 tasks are placed on node 0"),
        (job(), lambda view: view.resize(view.job(0), nodes=[0, 4]), "there is no node 4"),
        (job(), lambda view: view.resize(view.job(0)), "give either tasks, or nodes"),
        (job(), lambda view: view.preempt(view.job(0), mode="suspend"), "its application begins anew"),
        (
            job(),
            lambda view: view.set_runtime_arguments(view.job(1), {"x": 1}),
            "carries a run time, not an application",
        ),
    ],
)
def test_refused(description: bl.JobDescription, act: Callable[[bl.View], object], message: str) -> None:
    """A decision that breaks a rule is refused with the rule, and nothing is changed."""

    def refused(view: bl.View) -> None:
        before = (view.job(0).ranks, view.total_free)
        with pytest.raises(bl.DecisionError, match=message):
            act(view)
        assert (view.job(0).ranks, view.total_free) == before

    other = bl.JobDescription(submit_time=2, run_time=1, tasks=2)
    run(description, other, at2=refused)


def test_needs_a_platform() -> None:
    """Applications need something to run on."""
    system = bl.System.homogeneous(nodes=4, resources={"core": 1})
    with pytest.raises(bl.SimulationError, match=r"no platform.*System\.of\(platform\)"):
        bl.simulate(bl.Workload.from_jobs([job()]), system, "fcfs")


def test_formula_that_cannot_be_evaluated() -> None:
    """An application that cannot go on ends the run with an error that names job, time and task."""
    broken = bl.Application([bl.Phase([tasks.Idle("sqrt(-1)", name="wait")])])
    workload = bl.Workload.from_jobs([bl.JobDescription(application=broken, tasks=1)])
    with pytest.raises(bl.SimulationError, match=r"row 0 cannot go on at 0 s: .*wait"):
        bl.simulate(workload, SYSTEM, "fcfs")


def test_loads_are_seen() -> None:
    """A scheduler sees what flows over a link, to storage, and what its nodes do."""
    store = bl.Application(
        [
            bl.Phase(
                [
                    tasks.Write(bytes=8e9, pattern="root_only"),
                    tasks.Compute(flops=4e9, computation_pattern="uniform"),
                ],
                iterations=1,
            )
        ]
    )
    storage = bl.platform.SharedStorage("PFS", read="4GBps", write="2GBps")
    platform = bl.Platform.crossbar(2, speed="1Gf", bandwidth="1GBps", latency=0, storage=storage)
    seen: list[tuple[float, float, tuple[float, float], tuple[float, float]]] = []

    def look(view: bl.View) -> None:
        link = platform.write_links[0]
        seen.append((view.now, view.link_load(link), view.storage_utilisation, view.node_utilisation(0)))

    jobs = [bl.JobDescription(application=store, tasks=1)]
    jobs += [bl.JobDescription(submit_time=time, run_time=0, tasks=1) for time in (4, 10)]
    scheduler = Scripted({4: look, 10: look})
    bl.simulate(bl.Workload.from_jobs(jobs), bl.System.of(platform), scheduler)
    assert seen == [(4, 1e9, (0, 0.5), (0, 0)), (10, 0, (0, 0), (1, 0))]


@pytest.mark.parametrize("decided", [2.0, 6.0])
def test_shrinks_on_nodes_that_are_closed(decided: float) -> None:
    """A host that a job keeps takes no other job; the job may stay there, and give up others."""
    scheduler = Scripted({decided: lambda view: view.resize(view.job(0), 1)})
    other = bl.JobDescription(submit_time=2, run_time=0, tasks=1)
    observers = [Closes(4, lambda view: view.drain(0))]
    result = bl.simulate(bl.Workload.from_jobs([job(), other]), SYSTEM, scheduler, observers=observers)
    assert result.allocations.filter(row=0)["nodes"].to_list() == [[0, 1], [0]]
    assert result.jobs["end_time"].to_list() == [6 + 3 * 12, 2]


def test_grows_beside_nodes_that_are_closed() -> None:
    """What it gains must be open, what it keeps need not be; nor does it get more on a closed host."""

    def grow(view: bl.View) -> None:
        with pytest.raises(bl.DecisionError, match="2 tasks are placed on node 0, which has room for 1"):
            view.resize(view.job(0), nodes=[0, 0, 1])
        view.resize(view.job(0), 4)

    scheduler = Scripted({6: grow})
    observers = [Closes(4, lambda view: view.drain(0))]
    result = bl.simulate(bl.Workload.from_jobs([job()]), SYSTEM, scheduler, observers=observers)
    assert result.jobs["end_time"].to_list() == [6 + 3 * 3]


def test_keeps_what_it_was_to_lose() -> None:
    """Shrunk and grown again between two points, a job has what it had, though nothing else is free."""

    def there_and_back(view: bl.View) -> None:
        view.resize(view.job(0), 1)
        assert view.max_additional_tasks(view.job(0), 9) == 1
        view.resize(view.job(0), 2)
        assert view.job(0).pending_ranks is None

    other = bl.JobDescription(submit_time=2, run_time=0, tasks=1)
    _, result = run(job(), job(), other, at2=there_and_back)
    assert result.allocations.filter(row=0)["nodes"].to_list() == [[0, 1]]


def test_one_task_per_node() -> None:
    """A job of one task per node grows on other nodes, though there is room on its own."""
    platform = bl.Platform.crossbar(3, speed="1Gf", bandwidth="1GBps", latency=0, cores=2)
    workload = bl.Workload.from_jobs([job(others={"tasks_per_node": 1})])

    def grow(view: bl.View) -> None:
        assert view.max_additional_tasks(view.job(0), 9) == 1
        with pytest.raises(bl.DecisionError, match="no room for 2 more"):
            view.resize(view.job(0), 4)
        view.resize(view.job(0), 3)

    result = bl.simulate(workload, bl.System.of(platform), Scripted({6: grow}))
    assert result.allocations["nodes"].to_list() == [[0, 1], [0, 1, 2]]


def test_what_observers_take_is_given_at_once() -> None:
    """A policy in the kernel has a pass at the point at which a job gives up what an observer took."""
    observers = [Closes(2, lambda view: view.resize(view.job(0), 1))]
    jobs = [job(), job(), bl.JobDescription(submit_time=1, run_time=1, tasks=1)]
    result = bl.simulate(bl.Workload.from_jobs(jobs), SYSTEM, "easy", observers=observers)
    assert result.jobs["start_time"].to_list() == [0, 0, 6]


@pytest.mark.parametrize("predictor", ["clairvoyant", "last_two", "recursive_mean"])
def test_predictors_without_a_limit(predictor: str) -> None:
    """Of jobs without a limit nothing may be known, until others of the user have ended."""
    workload = bl.Workload.from_jobs(
        [job(submit_time=100 * number, others={"user_id": 1}) for number in range(3)]
    )
    result = bl.simulate(workload, SYSTEM, f"easy(predictor={predictor})")
    assert result.jobs["end_time"].to_list() == [24, 124, 224]


def test_failures_leave_no_checkpoints_of_applications() -> None:
    """Whose node fails begins anew, where others go on from a checkpoint."""
    failures = bl.Failures({"node": [0], "time": [10], "repair_time": [10]}, on_failure="checkpoint", every=1)
    result = bl.simulate(bl.Workload.from_jobs([job()]), SYSTEM, "easy", observers=[failures])
    assert result.jobs["end_time"].to_list() == [10 + 24]
