"""Jobs that are resized before their application begins: in their launch, or while their nodes wake."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab import tasks
from support.resizing import SYSTEM, Scripted, job

if TYPE_CHECKING:
    from batchlab.core.vocabulary import OrderAtInstant

THREE_STEPS = bl.Application([bl.Phase([tasks.Delay(seconds=2)], iterations=3, scheduling_point=True)])


def launched(nodes: int, launch: float, **script: object) -> tuple[list[object], bl.Result]:
    """Start a job on three tasks at 0 and act at given times; return what that returned, and the result."""
    seen: list[object] = []

    class Decides(bl.Scheduler):
        every_instant = True

        def schedule(self, view: bl.View) -> None:
            for waiting in view.queue:
                view.start(waiting, tasks=3)
            for name in script:
                if view.now < (time := float(name.removeprefix("at").replace("_", "."))):
                    view.wake(time)
            act = script.pop(f"at{view.now:g}".replace(".", "_"), None)
            if callable(act):
                seen.append(act(view))

    described = bl.JobDescription(
        tasks=3, job_type="malleable", tasks_min=1, tasks_max=9, application=THREE_STEPS, requested_time=100
    )
    system = bl.System.of(bl.Platform.crossbar(nodes, speed="1Gf", bandwidth="1GBps"))
    overheads = bl.Overheads(launch=launch) if launch else None
    return seen, bl.simulate(bl.Workload.from_jobs([described]), system, Decides(), overheads=overheads)


def resized(view: bl.View, **size: object) -> tuple[int, list[int], list[int] | None, int]:
    """Resize the job: its tasks, ranks, what is pending, and how many nodes are free then."""
    running = view.job(0)
    view.resize(running, **size)  # type: ignore[arg-type]  # by name
    return running.tasks, running.ranks, running.pending_ranks, view.total_free["core"]


@pytest.mark.parametrize("nodes", [4, 10])
def test_grows_where_it_is(nodes: int) -> None:
    """In its launch a job keeps its nodes and gets another at once; its application begins on all of them."""
    seen, result = launched(nodes, 1, at0_5=lambda view: resized(view, tasks=4))
    assert seen == [(4, [0, 1, 2, 3], None, nodes - 4)]
    held = result.allocations.select("start_time", "end_time", "nodes").rows()
    assert held == [(0.0, 0.5, [0, 1, 2]), (0.5, 7.0, [0, 1, 2, 3])]


def test_shrinks_at_once() -> None:
    """Its last ranks are free before its application begins, and the launch ends when it would have."""
    seen, result = launched(4, 1, at0_5=lambda view: resized(view, tasks=1))
    assert seen == [(1, [0], None, 3)]
    assert result.allocations["nodes"].to_list() == [[0, 1, 2], [0]]
    assert result.jobs["end_time"].to_list() == [7.0]


def test_moves_where_it_is_told() -> None:
    """A list of nodes is its ranks, in this order."""
    seen, result = launched(4, 1, at0_5=lambda view: resized(view, nodes=[3, 0]))
    assert seen == [(2, [3, 0], None, 2)]
    assert result.allocations["nodes"].to_list() == [[0, 1, 2], [0, 3]]


def test_resized_again_and_again() -> None:
    """Each time from what it has."""
    seen, _ = launched(
        9,
        2,
        at0_5=lambda view: resized(view, tasks=5),
        at1=lambda view: resized(view, tasks=2),
        at1_5=lambda view: resized(view, tasks=4),
    )
    assert [ranks for _, ranks, *_ in seen] == [[0, 1, 2, 3, 4], [0, 1], [0, 1, 2, 3]]  # type: ignore[misc, has-type]


def test_no_room_in_its_launch() -> None:
    """What does not fit is refused, and nothing changes."""

    def refused(view: bl.View) -> object:
        with pytest.raises(bl.DecisionError, match=r"there is no room for 2 more of its tasks"):
            view.resize(view.job(0), 5)
        return view.job(0).ranks, view.max_additional_tasks(view.job(0), 9)

    seen, _ = launched(4, 1, at0_5=refused)
    assert seen == [([0, 1, 2], 1)]


def test_none_is_resized_in_its_completion() -> None:
    """The run is over: the job cannot be resized, and says so."""

    def refused(view: bl.View) -> object:
        with pytest.raises(bl.DecisionError, match=r"its run is over; it is being completed"):
            view.resize(view.job(0), 4)
        return view.job(0).is_resizable

    scheduler = Scripted({24.5: refused})
    jobs = bl.Workload.from_jobs([job(), bl.JobDescription(submit_time=24.5, run_time=1, tasks=1)])
    seen: list[object] = []
    scheduler.script = {24.5: lambda view: seen.append(refused(view))}
    bl.simulate(jobs, SYSTEM, scheduler, overheads=bl.Overheads(completion=2))
    assert seen == [False]


@pytest.mark.parametrize("policy", ["malleable", "equipartition", "malleable(order=srtf)"])
@pytest.mark.parametrize("launch", [0.0, 1.0])
def test_malleable_policies_grow_jobs_in_their_launch(policy: str, launch: float) -> None:
    """The second job starts on one node, and gets the other once the first job has left it."""
    workload = bl.Workload.from_jobs(
        [
            bl.JobDescription(run_time=0.5 + 1, tasks=1, requested_time=3),
            bl.JobDescription(
                submit_time=1,
                tasks=1,
                job_type="malleable",
                tasks_min=1,
                tasks_max=4,
                application=THREE_STEPS,
                requested_time=100,
            ),
        ]
    )
    system = bl.System.of(bl.Platform.crossbar(2, speed="1Gf", bandwidth="1GBps"))
    overheads = bl.Overheads(launch=launch) if launch else None
    held = bl.simulate(workload, system, policy, overheads=overheads).allocations.filter(row=1)
    assert held["nodes"].to_list() == [[1], [0, 1]]
    assert held["start_time"].to_list() == [1.0, 1.5 + launch]


def test_grows_while_its_node_wakes() -> None:
    """A job whose node wakes until 108 gets another one at 100, which is on, and begins on both."""
    base = bl.System.of(bl.Platform.crossbar(2, speed="1Gf", bandwidth="1GBps"))
    group = replace(base.groups[0], sleep_states=(bl.SleepState("off", wake_time=10),))
    system = replace(base, groups=(group,))
    workload = bl.Workload.from_jobs(
        [
            bl.JobDescription(run_time=100.0, tasks=1, requested_time=100),
            bl.JobDescription(
                submit_time=98,
                tasks=1,
                job_type="malleable",
                tasks_min=1,
                tasks_max=2,
                application=THREE_STEPS,
                requested_time=100,
            ),
        ]
    )
    result = bl.simulate(workload, system, "malleable", sleep="timeout(1)")
    held = result.allocations.filter(row=1).select("start_time", "end_time", "nodes").rows()
    assert held == [(98.0, 100.0, [1]), (100.0, 114.0, [0, 1])]


@pytest.mark.parametrize("billed", [True, False])
def test_accounts_are_charged_after_a_resize(billed: bool) -> None:  # a case
    """Two cores for 6 s and four for 9 s, whether launches and completions are billed or not."""
    accounts = (bl.Account("physics", users={"ann": 1}),)
    fair_share = bl.FairShare(rule="classic", half_life=math.inf)
    system = replace(SYSTEM, accounts=accounts, fair_share=fair_share)
    policy = bl.Policy(
        "multifactor(fair_share=1, period=5)",
        scheduler=Scripted({6.0: lambda view: view.resize(view.job(0), 4)}),
    )
    workload = bl.Workload.from_jobs([job(user="ann", account="physics")])
    overheads = bl.Overheads(billed=billed)
    usage = bl.simulate(workload, system, policy, overheads=overheads, usage=True).usage
    assert usage.filter(usage["user"] == "ann")["usage"].to_list()[-1] == pytest.approx(2 * 6 + 4 * 9)


@pytest.mark.parametrize("order", ["completions_first", "arrivals_first", "event_by_event"])
@pytest.mark.parametrize("policy", ["malleable", "equipartition"])
def test_none_grows_at_the_instant_of_its_end(policy: str, order: OrderAtInstant) -> None:
    """An event ends its run, another one frees nodes: a pass between both leaves the job as it is."""
    grows = bl.JobDescription(
        job_id=2, tasks=2, tasks_min=2, tasks_max=4, job_type="malleable", application=THREE_STEPS
    )
    other = bl.JobDescription(job_id=1, run_time=100, tasks=2)
    events = [{"time": 5, "event": event, "job_id": job} for event, job in (("end", 2), ("kill", 1))]
    system = bl.System.of(bl.Platform.crossbar(4, speed="1Gf", bandwidth="1GBps"))
    result = bl.simulate(
        bl.Workload.from_jobs([other, grows]), system, policy, events=events, order_at_instant=order
    )
    assert result.jobs.select("state", "end_time", "nodes").rows() == [
        ("killed", 5.0, [0, 1]),
        ("completed", 5.0, [2, 3]),
    ]
