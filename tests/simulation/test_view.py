"""What a scheduler does to jobs, followed by hand; and what it sees."""

import copy
import gc
import inspect
import pickle
import re
import weakref
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

import batchlab as bl
from batchlab.policy.scheduler import Easy, FirstFit, InOrder

Scripted = dict[float, list[Callable[[bl.View], object]]]


class Script(FirstFit):
    """First fit, which at given times first does what it is told to; asked again at the next of them."""

    every_instant = True

    def __init__(self, script: Scripted) -> None:
        self.script = script

    def begin(self, view: bl.View) -> None:
        """Ask to be called at all these times."""
        self.to_do = {time: list(deeds) for time, deeds in self.script.items()}
        for time in self.to_do:
            view.wake(time)

    def schedule(self, view: bl.View) -> None:
        """Follow the script."""
        for deed in self.to_do.pop(view.now, []):
            deed(view)
        super().schedule(view)


def jobs_of(**columns: list[float]) -> bl.Workload:
    """Make jobs of one task that are submitted at 0, unless told otherwise."""
    count = len(columns["run_time"])
    given = {"submit_time": [0.0] * count, "tasks": [1] * count, **columns}
    return bl.Workload.from_table(given, overrun="keep")


def run(workload: bl.Workload, script: Scripted, nodes: int = 1, **options: str) -> bl.Result:
    """Run jobs on single cores under a script."""
    system = bl.System.homogeneous(nodes=nodes, resources={"core": 1})
    return bl.simulate(workload, system, Script(script), **options)  # type: ignore[arg-type]  # names and values


def times(result: bl.Result) -> list[tuple[str, float | None, float | None]]:
    """Give state, start and end of each job."""
    return result.jobs.select("state", "start_time", "end_time").rows()


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
    ("keep", "every", "saved", "end"),
    [("everything", None, 4.0, 12.0), ("checkpoints", 3.0, 3.0, 13.0), ("checkpoints", 5.0, 0.0, 16.0)],
)
def test_preempt_keeping_some(keep: str, every: float | None, saved: float, end: float) -> None:
    """What was saved of a run need not be run again."""

    def swap(view: bl.View) -> None:
        view.preempt(view.job(0), keep=keep, every=every)
        view.start(view.job(1))

    result = run(jobs_of(run_time=[10, 2]), {4.0: [swap]})
    assert times(result) == [("completed", 6.0, end), ("completed", 4.0, 6.0)]
    assert result.interruptions["saved"].to_list() == [saved]


@pytest.mark.parametrize("order_at_instant", ["completions_first", "arrivals_first"])
def test_migration(order_at_instant: str) -> None:
    """A job that keeps everything may go on elsewhere at once, and ends when it would have, once."""

    def move(view: bl.View) -> None:
        view.preempt(view.job(0), keep="everything")
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
                # Job 2 could start right now: nobody may be in its way.
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


def test_decisions_outside_of_a_pass() -> None:
    """Starts and reservations are refused when nobody has been asked."""
    kept: list[bl.View] = []

    class Keeping(InOrder):
        def begin(self, view: bl.View) -> None:
            kept.append(view)
            with pytest.raises(bl.DecisionError, match="made while the scheduler is asked, not outside of a"):
                view.start(view.job(0))

    simulation = bl.Simulation(
        jobs_of(run_time=[4, 4]), bl.System.homogeneous(nodes=1, resources={"core": 1}), Keeping()
    )
    simulation.run_until(1)
    view = kept[0]
    with pytest.raises(bl.DecisionError, match="job 2 cannot start at 0 s: decisions are made while"):
        view.start(view.job(1))
    with pytest.raises(bl.DecisionError, match="job 2 cannot have a reservation at 0 s: decisions are made"):
        view.reserve(view.job(1))
    simulation.run_until()
    assert times(simulation.result()) == [("completed", 0.0, 4.0), ("completed", 4.0, 8.0)]


def test_handles_of_another_simulation() -> None:
    """Whatever is done with a job of another simulation is refused: its row may be another there, or none."""
    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    kept: list[bl.Job] = []

    class Keeping(InOrder):
        def begin(self, view: bl.View) -> None:
            kept.append(view.job(3))

    bl.simulate(jobs_of(run_time=[1] * 4), system, Keeping())
    deeds: list[Callable[[bl.View, bl.Job], object]] = [
        lambda view, job: view.start(job),
        lambda view, job: view.start(job, [0]),
        lambda view, job: view.place(job),
        lambda view, job: view.slots(job, 0),
        lambda view, job: view.reserve(job),
        lambda view, job: view.hold(job),
        lambda view, job: view.release(job),
        lambda view, job: view.kill(job),
        lambda view, job: view.preempt(job),
        lambda view, job: view.set_estimate(job, 1),
        lambda view, job: view.resize(job, 1),
        lambda view, job: view.candidates(job),
    ]
    refused = []

    class Mixing(InOrder):
        def schedule(self, view: bl.View) -> None:
            for deed in deeds:
                with pytest.raises(bl.DecisionError, match=r"job 4 is a handle of another simulation; use"):
                    deed(view, kept[0])
                refused.append(deed)
            assert kept[0] not in view.queue
            super().schedule(view)

    result = bl.simulate(jobs_of(run_time=[1, 1]), system, Mixing())
    assert times(result) == [("completed", 0.0, 1.0), ("completed", 1.0, 2.0)]
    assert len(refused) == 2 * len(deeds)


@pytest.mark.parametrize("answer", [lambda view: [1], lambda view: [view.queue], lambda view: [None]])
def test_returned_things_that_are_no_jobs(answer: Callable[[bl.View], object]) -> None:
    """What is returned must be jobs."""

    class Returning(bl.Scheduler):
        def schedule(self, view: bl.View) -> object:  # type: ignore[override]  # that is the test
            return answer(view)

    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    with pytest.raises(
        bl.DecisionError, match=r"schedule\(\) returned .*; it must return jobs to be started"
    ):
        bl.simulate(jobs_of(run_time=[1]), system, Returning())


def test_returned_jobs_must_fit() -> None:
    """Those that fit have been started; the first that does not is named; the pass is made again."""
    passes = []

    class Returning(bl.Scheduler):
        def schedule(self, view: bl.View) -> list[bl.Job]:
            passes.append(view.now)
            return view.queue[:] if len(passes) == 1 else [job for job in view.queue if view.place(job)]

    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    simulation = bl.Simulation(jobs_of(run_time=[2, 1]), system, Returning())
    with pytest.raises(bl.DecisionError, match="job 2 cannot start at 0 s: it does not fit now"):
        simulation.run_until()
    simulation.run_until()
    assert times(simulation.result()) == [("completed", 0.0, 2.0), ("completed", 2.0, 3.0)]
    assert passes == [0.0, 0.0, 2.0]


def test_a_look_ahead_under_its_own_policy() -> None:
    """The copy decides in the very pass in which it was made; a flag keeps it from looking ahead itself."""
    ends = []

    class Looking(Easy):
        is_looking = False

        def schedule(self, view: bl.View) -> None:
            if not self.is_looking:
                self.is_looking = True
                ahead = view.fork()
                self.is_looking = False
                ahead.run_until()
                ends.append(ahead.now)
            super().schedule(view)

    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    bl.simulate(jobs_of(run_time=[2, 3], requested_time=[5, 6]), system, Looking())
    assert ends == [11.0, 8.0]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (lambda queue, now: [1.0], "the order gave 1 keys for 3 queued jobs; it must give one number per"),
        (lambda queue, now: "abc", "the order gave <class 'str'>; it must give one number per queued job"),
        (lambda queue, now: None, "the order gave <class 'NoneType'>; it must give one number"),
        (lambda queue, now: [0, float("nan"), 0], "job 2: its key is nan; the order must give a number"),
    ],
)
def test_wrong_keys(keys: Callable[..., object], message: str) -> None:
    """Keys that are none are refused, and the order stays what it was."""
    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    simulation = bl.Simulation(jobs_of(run_time=[2, 1, 1]), system, bl.Policy(order=keys))  # type: ignore[arg-type]  # that is the test
    with pytest.raises(bl.DecisionError, match=message):
        simulation.run_until()


def test_wrong_keys_for_all_jobs() -> None:
    """So are those of an order that is asked once, before the run."""
    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    for order, message in (
        (lambda jobs: [1.0], r"the order gave shape \(1,\) for 3 jobs; one number per job"),
        (lambda jobs: "abc", "the order gave 'abc'; must be one number per job"),
        (lambda jobs: [0, float("nan"), 0], "the order gave nan for job 2; must be a number"),
    ):
        with pytest.raises(bl.PolicyError, match=message):
            bl.Simulation(jobs_of(run_time=[2, 1, 1]), system, bl.Policy(order=order))


def test_an_order_may_have_parameters_of_its_own() -> None:
    """What has a default is not now; what is compiled takes the jobs."""
    system = bl.System.homogeneous(nodes=1, resources={"core": 1})

    def weighted(jobs: bl.Columns, weight: float = -1.0) -> object:
        return weight * jobs.rank

    workload = jobs_of(run_time=[1, 1, 1], rank=[1, 2, 3])
    starts = bl.simulate(workload, system, bl.Policy(order=weighted)).jobs["start_time"]  # type: ignore[arg-type]  # an array
    assert starts.to_list() == [2.0, 1.0, 0.0]
    with pytest.raises(bl.PolicyError, match="must take the jobs' columns, or these and now"):
        bl.simulate(workload, system, bl.Policy(order=lambda a, b, c: a))


class BoomError(Exception):
    """Raised by user code."""


@pytest.mark.parametrize("where", ["schedule", "allocate", "order", "estimate", "correct", "learn"])
def test_exceptions_pass_unchanged_and_the_run_can_go_on(where: str) -> None:
    """An exception in user code is that exception, and the simulation goes on from there."""
    armed = [True]

    def trip(place: str) -> None:
        if place == where and armed[0]:
            armed[0] = False
            raise BoomError(place)

    class Tripping(FirstFit):
        every_instant = True

        def schedule(self, view: bl.View) -> None:
            trip("schedule")
            super().schedule(view)

    class Placing(bl.Allocator):
        def allocate(self, job: bl.Job, view: bl.View) -> dict[int, int] | None:
            trip("allocate")
            return {0: 1} if view.slots(job, 0) else None

    class Guessing(bl.Predictor):
        def estimate(self, job: bl.Job, view: bl.View) -> float:
            trip("estimate")
            return 1.0

        def correct(self, job: bl.Job, view: bl.View) -> float:
            trip("correct")
            return job.requested_time

        def learn(self, job: bl.Job, view: bl.View) -> None:
            trip("learn")

    def order(queue: bl.Queue, now: float) -> object:
        trip("order")
        return queue.tasks

    policy = bl.Policy(order, "none", Placing(), predictor=Guessing(), scheduler=Tripping())  # type: ignore[arg-type]  # an array
    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    simulation = bl.Simulation(jobs_of(run_time=[3, 3, 3]), system, policy)
    with pytest.raises(BoomError, match=where):
        simulation.run_until()
    simulation.run_until()
    assert simulation.result().jobs["state"].to_list() == ["completed"] * 3


def test_a_policy_cannot_drive_its_own_simulation() -> None:
    """A run within the run is refused; a fork is what is wanted."""

    class Driving(InOrder):
        def schedule(self, view: bl.View) -> None:
            with pytest.raises(bl.SimulationError, match=r"this simulation is under way; .* view\.fork\(\)"):
                simulation.run_until()
            super().schedule(view)

    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    simulation = bl.Simulation(jobs_of(run_time=[3, 3]), system, Driving())
    simulation.run_until()
    assert simulation.finished == 2


def test_attributes_of_jobs() -> None:
    """Columns that readers add are attributes by name; states and instants follow the run."""
    workload = bl.Workload.from_table(
        {
            "job_id": [7, 8],
            "submit_time": [0, 1],
            "run_time": [4, 2],
            "requested_time": [5, 6],
            "tasks": [2, 1],
            "core": [2, 1],
            "team": ["red", "blue"],
            "tasks_per_node": [1, 0],
            "exclusive": [False, True],
        }
    )
    system = bl.System.homogeneous(nodes=2, resources={"core": 4, "gpu": 1})
    seen: dict[tuple[float, int], tuple[object, ...]] = {}

    class Looking(FirstFit):
        every_instant = True

        def schedule(self, view: bl.View) -> None:
            self.look(view)
            super().schedule(view)
            self.look(view)

        def look(self, view: bl.View) -> None:
            for job in (view.job(0), view.job(1)):
                attributes = (job.state, job.start_time, job.end_time, job.expected_end, job.nodes)
                seen[view.now, job.row] = attributes
            first = view.job(0)
            assert (first.id, first.row, first.team, first["team"]) == (7, 0, "red", "red")
            assert (first.submit_time, first.requested_time, first.estimate) == (0.0, 5.0, 5.0)
            assert (first.request, first.demand) == ({"core": 2, "gpu": 0}, {"core": 4, "gpu": 0})
            assert (first.tasks_per_node, first.exclusive, view.job(1).exclusive) == (1, False, True)

    bl.simulate(workload, system, Looking())
    assert seen == {
        (0.0, 0): ("running", 0.0, None, 5.0, {0: 1, 1: 1}),
        (0.0, 1): ("loaded", None, None, None, {}),
        (1.0, 0): ("running", 0.0, None, 5.0, {0: 1, 1: 1}),
        (1.0, 1): ("queued", None, None, None, {}),
        (4.0, 0): ("completed", 0.0, 4.0, None, {0: 1, 1: 1}),
        (4.0, 1): ("running", 4.0, None, 10.0, {0: 1}),
        (6.0, 0): ("completed", 0.0, 4.0, None, {0: 1, 1: 1}),
        (6.0, 1): ("completed", 4.0, 6.0, None, {0: 1}),
    }


def test_the_queue() -> None:
    """It is a sequence of jobs, and a table of columns."""
    workload = jobs_of(run_time=[1, 1, 1, 1], tasks=[2, 1, 3, 1], level=[3, 1, 2, 0])
    done = []

    class Looking(FirstFit):
        def schedule(self, view: bl.View) -> None:
            if view.now == 0:
                queue = view.queue
                assert (len(queue), bool(queue), repr(queue)) == (4, True, "<Queue of 4 jobs>")
                assert [job.row for job in queue] == queue.rows.tolist() == [0, 1, 2, 3]
                assert (queue[0].row, queue[-1].row, [job.row for job in queue[1:3]]) == (0, 3, [1, 2])
                assert (queue.level.tolist(), queue["level"].tolist()) == ([3, 1, 2, 0], [3, 1, 2, 0])
                assert queue.demand.tolist() == [[2], [1], [3], [1]]
                assert queue.estimate.tolist() == queue.requested_time.tolist() == [1, 1, 1, 1]
                assert view.job(1) in queue
                assert 1 not in queue
                with pytest.raises(IndexError, match="out of range"):
                    queue[4]
                with pytest.raises(TypeError, match=r"must be a place, a slice, or the name of a column"):
                    queue[1.5]  # type: ignore[call-overload]  # that is the test
                with pytest.raises(
                    AttributeError, match=r"^the workload has no column 'levl'\. Did you mean 'level'"
                ):
                    _ = queue.levl
                with pytest.raises(
                    AttributeError, match=r"^the workload has no column 'levl'\. Did you mean 'level'"
                ):
                    _ = queue[0].levl
                assert repr(queue[0]) == "<Job 1: queued, 2 tasks>"
                assert repr(view) == "<View at 0 s: 4 waiting, 0 running>"
                done.append(True)
            super().schedule(view)

    bl.simulate(workload, bl.System.homogeneous(nodes=3, resources={"core": 1}), Looking())
    assert done


def test_columns_cannot_be_changed() -> None:
    """The workload's columns are shown, not handed out."""

    class Changing(InOrder):
        def begin(self, view: bl.View) -> None:
            with pytest.raises(ValueError, match="read-only"):
                view.columns.tasks[0] = 5

    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    bl.simulate(jobs_of(run_time=[1]), system, Changing())


HIDING = {
    "job_id": [1, 2],
    "submit_time": [0, 0],
    "run_time": [3, 4],
    "requested_time": [9, 9],
    "tasks": [1, 1],
    "average_cpu_time": [2.5, 3.5],
    "used_memory": [10, 20],
    "status": [1, 0],
    "logged_wait_time": [5, 6],
}
SECRETS = ("run_time", "average_cpu_time", "used_memory", "status", "logged_wait_time")


def test_the_past_and_the_future_are_hidden() -> None:
    """What only the log knows of a job shows once it is done, in whatever way it is asked for."""
    seen = []

    class Looking(InOrder):
        every_instant = True

        def schedule(self, view: bl.View) -> None:
            for name in SECRETS:
                assert name not in view.columns
                for owner in (view.columns, view.queue, view.job(1))[: 2 if view.now == 7 else 3]:
                    with pytest.raises(bl.DecisionError, match="clairvoyant = True"):
                        owner[name]
                    with pytest.raises(bl.DecisionError, match="clairvoyant = True"):
                        getattr(owner, name)
            if view.now == 3:
                first = view.job(0)
                seen.append([first.run_time, *(first[name] for name in SECRETS)])
            ahead = view.fork("fcfs")
            ahead.run_until()
            believed = ahead.result().jobs["run_time"].to_list()
            assert believed == [3.0 if view.now >= 3 else 9.0, 4.0 if view.now == 7 else 9.0]
            super().schedule(view)

    workload = bl.Workload.from_table(HIDING)
    bl.simulate(workload, bl.System.homogeneous(nodes=1, resources={"core": 1}), Looking())
    assert seen == [[3.0, 3.0, 2.5, 10, 1, 5]]
    with pytest.raises(
        bl.PolicyError, match="average_cpu_time is hidden from schedulers; it is known once a"
    ):
        bl.simulate(
            workload, bl.System.homogeneous(nodes=1, resources={"core": 1}), 'expression("average_cpu_time")'
        )


def test_killed_jobs_show_how_long_they_ran() -> None:
    """A job that was cut short shows that, not what it would have run."""
    seen = []
    script: Scripted = {
        2.0: [lambda view: view.kill(view.job(0))],
        3.0: [lambda view: seen.append(view.job(0).run_time)],
    }
    run(jobs_of(run_time=[10, 10]), script)
    assert seen == [2.0]


@pytest.mark.parametrize("asks", ["scheduler", "order of all", "order of the queue", "predictor"])
def test_the_clairvoyant_see(asks: str) -> None:
    """Who asks by name is shown everything; nobody else is."""
    seen: list[object] = []

    class Looking(InOrder):
        clairvoyant = asks == "scheduler"

        def schedule(self, view: bl.View) -> None:
            if self.clairvoyant:
                seen.append((view.queue[0].run_time, view.columns.run_time[0], view.queue.run_time[0]))
                assert view.fork(clairvoyant=True).result().jobs["run_time"].to_list() == [3.0, 4.0]
            super().schedule(view)

    class Knowing(bl.Predictor):
        clairvoyant = asks == "predictor"

        def estimate(self, job: bl.Job, view: bl.View) -> float:
            if self.clairvoyant:
                seen.append(job.run_time)
            return job.requested_time

    if asks == "order of all":

        def order(jobs: bl.Columns) -> object:
            seen.append(jobs.run_time.tolist())
            return jobs.run_time
    else:

        def order(queue: bl.Queue, now: float) -> object:  # type: ignore[misc]  # another form
            if asks == "order of the queue":
                seen.append(queue.run_time.tolist())
            return queue.requested_time

    order.clairvoyant = asks.startswith("order")  # type: ignore[attr-defined]  # that is how it asks
    policy = bl.Policy(order, predictor=Knowing(), scheduler=Looking())  # type: ignore[arg-type]  # an array
    bl.simulate(bl.Workload.from_table(HIDING), bl.System.homogeneous(nodes=1, resources={"core": 1}), policy)
    assert seen


def test_everybody_begins_once() -> None:
    """Scheduler, allocator and predictor are told of a run once, before anything else."""
    calls = []

    class Beginning(InOrder):
        def begin(self, view: bl.View) -> None:
            calls.append("scheduler")

        def schedule(self, view: bl.View) -> None:
            calls.append("pass")
            super().schedule(view)

    class Placing(bl.Allocator):
        def begin(self, view: bl.View) -> None:
            calls.append("allocator")

        def allocate(self, job: bl.Job, view: bl.View) -> list[int] | None:
            return [0] if view.slots(job, 0) else None

    class Guessing(bl.Predictor):
        def begin(self, view: bl.View) -> None:
            calls.append("predictor")

        def estimate(self, job: bl.Job, view: bl.View) -> float:
            return 1

    policy = bl.Policy(allocator=Placing(), predictor=Guessing(), scheduler=Beginning())
    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    for _ in range(2):
        calls.clear()
        simulation = bl.Simulation(jobs_of(run_time=[1]), system, policy)
        simulation.fork().run_until()
        simulation.run_until()
        assert calls == ["scheduler", "allocator", "predictor", "pass", "pass"]


class Remembering(InOrder):
    """Keeps views, jobs and a list."""

    def begin(self, view: bl.View) -> None:
        """Forget."""
        self.view = view
        self.columns = view.columns
        self.first = view.job(0)
        self.passes: list[float] = []

    def schedule(self, view: bl.View) -> None:
        """Check that what is kept is of this simulation."""
        assert self.view is view
        assert self.columns is view.columns
        self.passes.append(view.now)
        if self.first.state == "queued":
            assert view.start(self.first)
        super().schedule(view)


def test_forks_work_on_copies() -> None:
    """A fork has its own scheduler, whose views and jobs are those of the fork."""
    scheduler = Remembering()
    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    simulation = bl.Simulation(jobs_of(submit_time=[5, 0], run_time=[2, 2]), system, scheduler)
    simulation.run_until(3)
    fork = simulation.fork()
    fork.run_until()
    assert scheduler.passes == [0.0]
    assert (simulation.finished, fork.finished) == (1, 2)
    simulation.run_until()
    assert fork.result().jobs.equals(simulation.result().jobs)
    assert scheduler.passes == [0.0, 5.0]
    assert copy.deepcopy(scheduler).view is scheduler.view


@pytest.mark.parametrize(
    "policy", ["fcfs", "easy", "sjf", "conservative", "easy(order=wfp3, allocator=best_fit)"]
)
def test_look_ahead_is_that_policy_from_that_state(policy: str) -> None:
    """A fork within a pass, under a built-in policy, is what this would do with jobs that run as thought."""
    rows = range(30)
    table = {
        "submit_time": [row // 4 for row in rows],
        "run_time": [1 + (7 * row) % 9 for row in rows],
        "requested_time": [2 + (7 * row) % 13 for row in rows],
        "tasks": [1 + (3 * row) % 4 for row in rows],
    }
    workload = bl.Workload.from_table(table)
    system = bl.System.homogeneous(nodes=4, resources={"core": 1})
    compared = []

    class Looking(FirstFit):
        def schedule(self, view: bl.View) -> None:
            if view.now == 4:
                ahead = view.fork(policy)
                ahead.run_until()
                self.compare(view, ahead)
            super().schedule(view)

        def compare(self, view: bl.View, ahead: bl.Simulation) -> None:
            """Run the jobs that are alive, those that run first, from their starts."""
            queue, running = [*view.queue], view.running
            assert queue
            assert len(running) > 1
            alive = sorted([*queue, *running], key=lambda job: job.row)
            jobs = pl.DataFrame(
                {
                    "job_id": [job.row for job in alive],
                    "submit_time": [job.submit_time for job in alive],
                    "run_time": [job.estimate for job in alive],
                    "requested_time": [job.estimate for job in alive],
                    "tasks": [job.tasks for job in alive],
                }
            )
            nodes = {job.row: job.nodes for job in running}
            starts = {job.row: job.start_time for job in running}

            class Again(FirstFit):
                def schedule(self, view: bl.View) -> None:
                    for job in view.queue:
                        if starts.get(job.id) == view.now:
                            assert view.start(job, nodes[job.id])

            started = bl.Simulation(bl.Workload.from_table(jobs), system, Again())
            started.run_until(3.5)
            # The instant at hand begins: what ends and comes now is taken in under the other policy.
            expected = started.look_ahead(policy, clairvoyant=True)
            expected.run_until()
            found = ahead.result().jobs.filter(pl.col("job_id").is_in([job.id for job in alive]))
            assert found["start_time"].to_list() == expected.result().jobs["start_time"].to_list()
            compared.append(policy)

    bl.simulate(workload, system, Looking())
    assert compared


def test_a_look_ahead_without_end() -> None:
    """A policy whose copy looks ahead as it does is told so before Python gives up."""

    class Looking(Easy):
        def schedule(self, view: bl.View) -> None:
            view.fork().run_until()

    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    with pytest.raises(bl.SimulationError, match=r"16 look aheads within each other; .* fork\('easy'\)"):
        bl.simulate(jobs_of(run_time=[2, 3]), system, Looking())


def test_a_look_ahead_changes_nothing() -> None:
    """Whatever is done in forks, the run is the one without them."""

    class Looking(Easy):
        def schedule(self, view: bl.View) -> None:
            for policy in ("fcfs", "conservative"):
                ahead = view.fork(policy)
                ahead.run_until()
                assert ahead.now >= view.now
            super().schedule(view)

    workload = jobs_of(run_time=[4, 3, 2, 5, 1], requested_time=[5, 3, 4, 6, 2], tasks=[1, 2, 1, 2, 1])
    system = bl.System.homogeneous(nodes=2, resources={"core": 1})
    assert bl.simulate(workload, system, Looking()).jobs.equals(bl.simulate(workload, system, "easy").jobs)


def test_look_ahead_from_a_policy_that_kept_less() -> None:
    """Who runs and how busy nodes are is known to the policy that takes over, needed before or not."""
    workload = jobs_of(run_time=[9, 3, 4, 2], requested_time=[9, 3, 4, 2], tasks=[1, 2, 1, 1])
    system = bl.System.homogeneous(nodes=2, resources={"core": 1})
    simulation = bl.Simulation(workload, system, "fcfs")
    simulation.run_until(1)
    ahead = simulation.look_ahead("easy(allocator=best_fit)")
    ahead.run_until()
    assert ahead.result().jobs["start_time"].to_list() == [0.0, 9.0, 0.0, 4.0]
    believing = simulation.look_ahead()
    believing.run_until()
    assert believing.result().jobs["state"].to_list() == ["completed"] * 4


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ('expression("tasks")', "built-in one, other than a formula"),
        (bl.Policy(scheduler=InOrder()), "InOrder; a look ahead goes on under its own policy or a built-in"),
        ("easy(predictor=last_two)", "a look ahead keeps the estimates that there are"),
    ],
)
def test_look_ahead_refuses(policy: bl.Policy | str, message: str) -> None:
    """It goes on under what the kernel knows."""
    simulation = bl.Simulation(
        jobs_of(run_time=[1]), bl.System.homogeneous(nodes=1, resources={"core": 1}), "fcfs"
    )
    with pytest.raises(bl.PolicyError, match=message):
        simulation.look_ahead(policy)


class Storing(InOrder):
    """Keeps everything that leads back to the simulation."""

    def begin(self, view: bl.View) -> None:
        """Keep it."""
        self.kept = [view, view.job(0), view.queue, view.candidates(), view.values, view.columns]


def test_nothing_keeps_a_simulation_alive() -> None:
    """A simulation and all that belongs to it goes when nobody holds it."""
    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    scheduler = Storing()
    simulation = bl.Simulation(
        jobs_of(run_time=[1, 1]),
        system,
        scheduler,
    )
    simulation.run_until()
    fork = simulation.fork()
    kept = [weakref.ref(each) for each in (simulation, fork, scheduler.kept[0], scheduler)]
    del simulation, fork, scheduler
    gc.collect()
    assert [reference() for reference in kept] == [None] * 4


def test_help_tells_what_there_is() -> None:
    """Every attribute and act of view, job and queue is documented."""
    for kind in (bl.View, bl.Job, bl.Queue):
        assert inspect.getdoc(kind)
        for name, member in inspect.getmembers(kind):
            if not name.startswith("_"):
                assert inspect.getdoc(member), f"{kind.__name__}.{name}"


def test_policies_with_pieces_in_python() -> None:
    """They are equal where their pieces are the same objects, are named after them, and survive pickling."""
    scheduler = Remembering()
    policy = bl.Policy("sjf", allocator="best_fit", scheduler=scheduler, predictor="last_two")
    assert str(policy) == "Remembering(order=sjf, allocator=best_fit, predictor=last_two)"
    assert repr(policy) == f"<Policy {policy}>"
    assert not policy.is_named
    assert policy == bl.Policy("sjf", allocator="best_fit", scheduler=scheduler, predictor="last_two")
    assert policy != bl.Policy("sjf", allocator="best_fit", scheduler=Remembering(), predictor="last_two")
    assert (
        len({policy, bl.Policy("sjf", allocator="best_fit", scheduler=scheduler, predictor="last_two")}) == 1
    )
    again = pickle.loads(pickle.dumps(bl.Policy(order=np.negative, scheduler=InOrder())))  # noqa: S301  # our own
    assert isinstance(again.scheduler, InOrder)
    assert re.fullmatch(r"<Policy InOrder\(order=negative\)>", repr(again))
