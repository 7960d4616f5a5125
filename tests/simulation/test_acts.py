"""What a scheduler does to jobs, followed by hand."""

import pytest

import batchlab as bl
from support.python_schedulers import Easy, FirstFit, InOrder
from support.scripted_runs import Scripted, jobs_of, run, times


def test_preempt_keeping_nothing() -> None:
    """A preempted job runs again from its start; the run that was cut short is written down."""

    def swap(view: bl.View) -> None:
        view.preempt(view.job(0))
        assert view.job(0).state == "queued"
        assert view.job(0).start_time is None
        assert view.start(view.job(1))

    result = run(jobs_of(run_time=[10, 2]), {4.0: [swap]})
    assert times(result) == [("completed", 6.0, 16.0), ("completed", 4.0, 6.0)]
    assert result.interruptions.select("row", "start_time", "end_time", "saved").rows() == [
        (0, 0.0, 4.0, 0.0)
    ]


@pytest.mark.parametrize(
    ("mode", "every", "saved", "end"),
    [
        ("suspend", None, 4.0, 12.0),
        ("from_checkpoint", 3.0, 3.0, 13.0),
        ("from_checkpoint", 5.0, 0.0, 16.0),
    ],
)
def test_preempt_keeping_some(mode: str, every: float | None, saved: float, end: float) -> None:
    """What was saved of a run need not be run again."""

    def swap(view: bl.View) -> None:
        view.preempt(view.job(0), mode=mode, every=every)
        view.start(view.job(1))

    result = run(jobs_of(run_time=[10, 2]), {4.0: [swap]})
    assert times(result) == [("completed", 6.0, end), ("completed", 4.0, 6.0)]
    assert result.interruptions["saved"].to_list() == [saved]


@pytest.mark.parametrize("order_at_instant", ["completions_first", "arrivals_first"])
def test_migration(order_at_instant: str) -> None:
    """A job that keeps everything may go on elsewhere at once, and ends when it would have, once."""

    def move(view: bl.View) -> None:
        view.preempt(view.job(0), mode="suspend")
        assert view.start(view.job(0), [1])

    result = run(jobs_of(run_time=[10]), {4.0: [move]}, nodes=2, order_at_instant=order_at_instant)
    assert times(result) == [("completed", 4.0, 10.0)]
    assert result.placements["node"].to_list() == [1]
    assert result.interruptions.height == 1


def test_kill() -> None:
    """A running job is killed and gives back its nodes; a waiting one never starts."""
    script: Scripted = {4.0: [lambda view: view.kill(view.job(0)), lambda view: view.kill(view.job(2))]}
    result = run(jobs_of(run_time=[10, 2, 5]), script)
    assert times(result) == [("killed", 0.0, 4.0), ("completed", 4.0, 6.0), ("killed", None, 4.0)]
    assert result.metrics()["jobs"]


def test_hold_and_release() -> None:
    """A job on hold is overtaken, and comes back to its place in the queue."""
    script: Scripted = {
        0.0: [lambda view: view.hold(view.job(0))],
        1.0: [lambda view: view.hold(view.job(0)), lambda view: [job.row for job in view.on_hold] == [0]],
        5.0: [lambda view: view.release(view.job(0)), lambda view: view.release(view.job(0))],
    }
    result = run(jobs_of(run_time=[3, 6, 2]), script)
    assert times(result) == [("completed", 6.0, 9.0), ("completed", 0.0, 6.0), ("completed", 9.0, 11.0)]


def test_a_job_on_hold_is_in_no_queue() -> None:
    """It is neither seen nor found, and refuses to be started."""
    seen = []

    def look(view: bl.View) -> None:
        view.hold(view.job(1))
        seen.append(([job.row for job in view.queue], view.job(1) in view.queue, view.job(1).state))
        with pytest.raises(bl.DecisionError, match="it is on hold; release it first"):
            view.start(view.job(1))
        view.release(view.job(1))

    run(jobs_of(run_time=[3, 6, 2]), {0.0: [look]})
    assert seen == [([0, 2], False, "queued")]


def test_reservations_hold_back_whoever_would_delay_them() -> None:
    """Until a reserved instant only those start who are gone by then, or leave room."""
    workload = jobs_of(run_time=[4, 5, 9, 3], requested_time=[4, 5, 9, 3], tasks=[2, 3, 1, 1])
    told = []

    class Reserving(bl.Scheduler):
        def schedule(self, view: bl.View) -> None:
            if view.now:
                FirstFit().schedule(view)
                return
            assert view.start(view.job(0))
            told.extend(
                [view.reserve(view.job(1), 6), view.reserve(view.job(1)), view.reserve(view.job(1), 5)]
            )
            assert not view.start(view.job(2))
            with pytest.raises(bl.DecisionError, match="it would delay a job that has a reservation"):
                view.start(view.job(2), [2])
            assert [job.row for job in view.candidates()] == [2, 3]
            assert view.start(view.job(3))

    system = bl.System.homogeneous(nodes=3, resources={"core": 1})
    result = bl.simulate(workload, system, Reserving())
    assert told == [6.0, 4.0, 5.0]
    assert result.jobs["start_time"].to_list()[3] == 0.0


def test_a_reservation_that_cannot_be_leaves_the_old_one() -> None:
    """A refused instant changes nothing."""

    class Reserving(Easy):
        def schedule(self, view: bl.View) -> None:
            if view.now == 0:
                view.start(view.job(0))
                assert view.reserve(view.job(1)) == 4.0
                with pytest.raises(bl.DecisionError, match=r"it does not fit from 3 s on"):
                    view.reserve(view.job(1), 3)
                assert not view.start(view.job(2))
            else:
                super().schedule(view)

    system = bl.System.homogeneous(nodes=2, resources={"core": 1})
    workload = jobs_of(run_time=[4, 5, 9], tasks=[1, 2, 1])
    assert bl.simulate(workload, system, Reserving()).jobs["start_time"].to_list() == [0.0, 4.0, 9.0]


def test_reservations_are_made_anew_when_something_is_preempted() -> None:
    """What a preempted job gives back counts at once for those who start after it."""

    class Preempting(bl.Scheduler):
        def schedule(self, view: bl.View) -> None:
            if view.now == 2 and view.job(0).state == "running":
                assert view.reserve(view.job(2)) == 10.0
                view.preempt(view.job(0))
                # Job 2 could start right now: no job may be in its way.
                assert not view.start(view.job(3))
                assert view.start(view.job(2))
            elif view.now == 0:
                view.start(view.job(0))
            else:
                FirstFit().schedule(view)

    system = bl.System.homogeneous(nodes=2, resources={"core": 1})
    workload = jobs_of(submit_time=[0, 0, 2, 2], run_time=[10, 1, 3, 99], tasks=[1, 2, 2, 1])
    starts = bl.simulate(workload, system, Preempting()).jobs["start_time"].to_list()
    assert starts[2] == 2.0


def test_estimates_are_planned_with() -> None:
    """A longer estimate moves the shadow time, and lets a longer job in."""

    class Estimating(Easy):
        def schedule(self, view: bl.View) -> None:
            if view.now == 1:
                view.set_estimate(view.job(0), 50)
                assert view.job(0).expected_end == 50.0
                view.set_estimate(view.job(2), 20)
                assert (view.job(2).estimate, view.job(2).requested_time) == (20.0, 99.0)
            super().schedule(view)

    system = bl.System.homogeneous(nodes=2, resources={"core": 1})
    workload = jobs_of(submit_time=[0, 1, 1], run_time=[9, 5, 9], requested_time=[10, 5, 99], tasks=[1, 2, 1])
    assert bl.simulate(workload, system, Easy()).jobs["start_time"].to_list() == [0.0, 9.0, 14.0]
    assert bl.simulate(workload, system, Estimating()).jobs["start_time"].to_list() == [0.0, 10.0, 1.0]


def test_estimates_keep_the_order_that_a_function_gave() -> None:
    """Setting an estimate in a pass does not send a job to another place in the queue."""
    seen = []

    class Estimating(InOrder):
        def schedule(self, view: bl.View) -> None:
            for row in view.queue.rows.tolist():
                view.set_estimate(view.job(row), 100 + row)
            seen.append(view.queue.rows.tolist())
            super().schedule(view)

    policy = bl.Policy(order=lambda queue, now: -queue.rows, scheduler=Estimating())
    bl.simulate(jobs_of(run_time=[2, 2, 2]), bl.System.homogeneous(nodes=1, resources={"core": 1}), policy)
    assert seen == [[2, 1, 0], [1, 0], [0]]


def test_wake() -> None:
    """A scheduler is asked at the instants it names, even if nothing else happens there, while jobs wait."""
    asked = []

    class Waiting(bl.Scheduler):
        def schedule(self, view: bl.View) -> None:
            asked.append(view.now)
            if view.now == 0:
                view.wake(2.5)
                view.wake(7)
            if view.now == 7:
                FirstFit().schedule(view)

    workload = jobs_of(run_time=[1])
    result = bl.simulate(workload, bl.System.homogeneous(nodes=1, resources={"core": 1}), Waiting())
    assert asked == [0.0, 2.5, 7.0]
    assert times(result) == [("completed", 7.0, 8.0)]
