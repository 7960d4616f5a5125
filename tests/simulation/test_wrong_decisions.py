"""What is wrong at the wrong time, comes from elsewhere, or raises: it is said, and the run can go on."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import batchlab as bl
from support.python_schedulers import FirstFit, InOrder
from support.scripted_runs import jobs_of, times


def test_decisions_outside_of_a_pass() -> None:
    """Starts and reservations are refused when no scheduler has been asked."""
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


# Every method of a view that is about a job, with its other arguments.
ABOUT_JOBS: dict[str, tuple[object, ...]] = {
    "candidates": (),
    "hold": (),
    "kill": (),
    "limit_over": (),
    "max_additional_tasks": (1,),
    "over_limit": (),
    "place": (),
    "preempt": (),
    "release": (),
    "reserve": (),
    "resize": (1,),
    "set_estimate": (1.0,),
    "set_rate": (1.0,),
    "set_runtime_arguments": ({},),
    "slots": (0,),
    "start": (),
    "suspend": (),
    "_work_left": (),
}


@pytest.mark.parametrize("wrong", [7, "1", None])
def test_what_is_no_job(wrong: object) -> None:
    """A row, a job_id or None in place of a job is refused with what to pass, by every method about a job."""
    stub = Path(bl.__file__).with_name("_kernel.pyi").read_text("utf-8").partition("class View:")[2]
    stub = stub.partition("\nclass ")[0]
    assert {*re.findall(r"def (\w+)\(\s*self,\s*(?:job|after): Job", stub)} <= ABOUT_JOBS.keys()
    asked = []

    class Wrong(InOrder):
        def schedule(self, view: bl.View) -> None:
            for name, others in ABOUT_JOBS.items():
                if name == "candidates" and wrong is None:
                    continue
                argument = "after" if name == "candidates" else "job"
                rule = rf"^{argument} = {wrong!r}; must be a job, such as .* view\.job\(row\)\."
                with pytest.raises(bl.DecisionError, match=rule):
                    getattr(view, name)(wrong, *others)
                asked.append(name)
            super().schedule(view)

    bl.simulate(jobs_of(run_time=[1]), bl.System.homogeneous(nodes=1, resources={"core": 1}), Wrong())
    assert asked


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


@pytest.mark.parametrize("answer", [3, 1.5, True, len])
def test_returned_things_that_are_no_list(answer: object) -> None:
    """The error names scheduler, value, instant, rule and next step."""

    class Returning(bl.Scheduler):
        def schedule(self, view: bl.View) -> object:  # type: ignore[override]  # that is the test
            return answer

    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    returned = rf"Returning.schedule\(\) returned {re.escape(repr(answer))} at 0.0 s"
    with pytest.raises(bl.DecisionError, match=f"{returned}; must be a list of jobs to be started in order"):
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
