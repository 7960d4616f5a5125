"""Loops over decision points: the caller decides, in place of a scheduler that is called."""

from __future__ import annotations

import pickle
import random
from typing import Any, cast

import pytest

import batchlab as bl
from support.python_policies import ALLOCATORS, SCHEDULERS
from support.python_schedulers import FirstFit
from support.schedule_cases import Case, random_case
from support.schedule_runs import observers_of, workload_of
from support.schedule_systems import system_of

PAIR = bl.System.homogeneous(nodes=2, resources={"core": 1})
CASES = 90


def table(**columns: list[int]) -> bl.Workload:
    """Give jobs of one task each, unless said otherwise."""
    return bl.Workload.from_table({"tasks": [1] * len(columns["run_time"])} | columns)


def six() -> bl.Workload:
    """Give six jobs that wait for one another on a pair of nodes."""
    return table(submit_time=[0, 0, 0, 5, 5, 30], run_time=[10, 20, 30, 10, 10, 5], tasks=[1, 2, 1, 1, 2, 1])


def looped(simulation: bl.Simulation, scheduler: bl.Scheduler) -> bl.Result:
    """Run a simulation with the decisions of a scheduler, taken in a loop."""
    for point in simulation.decision_points():
        for job in scheduler.schedule(point.view) or ():
            point.view.start(job)
    return simulation.result()


def case_of(number: int) -> tuple[Case, bl.Policy, dict[str, Any]]:
    """Give a random case, its policy with a scheduler written in Python, and its options."""
    rng = random.Random(number)  # noqa: S311 - no secret
    case = random_case(rng, large=0.0)
    scheduler = SCHEDULERS[("none", "first_fit", "easy")[number % 3]](rng.choice((1, 2, 3)))
    kinds = ALLOCATORS.get(case.allocator, ())
    allocator: Any = kinds[0]() if kinds and number % 4 == 0 else case.allocator
    predictor: Any = rng.choice(("requested", "clairvoyant", "last_two"))
    policy = bl.Policy(case.order_text, allocator=allocator, predictor=predictor, scheduler=scheduler)
    options: dict[str, Any] = {"walltime": case.walltime, "order_at_instant": case.order_at_instant}
    if number % 5 == 0:
        options["invocation"] = bl.Invocation(interval=rng.choice((0, 7)))
        options["order_at_instant"] = "completions_first"
    return case, policy, options | {"seed": case.seed}


@pytest.mark.parametrize("chunk", range(6))
def test_a_loop_is_a_scheduler(chunk: int) -> None:
    """The loop that calls a scheduler gives what `simulate` gives with it: every job, with observers too."""
    for number in range(chunk, CASES, 6):
        case, policy, options = case_of(number)
        scheduler = cast("bl.Scheduler", policy.scheduler)
        caller = bl.Policy(
            policy.order,
            allocator=policy.allocator,
            predictor=policy.predictor,
            scheduler=bl.ExternalScheduler(),
        )
        workload, system = workload_of(case), system_of(case.machine)
        called = bl.simulate(workload, system, policy, observers=observers_of(case), **options)
        simulation = bl.Simulation(workload, system, caller, observers=observers_of(case), **options)
        assert looped(simulation, scheduler).jobs.equals(called.jobs), f"case_of({number})"


def test_points_are_the_calls_of_a_scheduler() -> None:
    """Each call of `schedule` is one point, at the same time and for the same reason."""

    class Asked(FirstFit):
        def __init__(self) -> None:
            self.calls: list[tuple[float, str, int | None]] = []

        def schedule(self, view: bl.View) -> None:
            self.calls.append(call_of(view.now, view.cause))
            super().schedule(view)

    for invocation in (None, bl.Invocation(interval=4)):
        asked, points = Asked(), []
        bl.simulate(six(), PAIR, asked, invocation=invocation)
        simulation = bl.Simulation(six(), PAIR, bl.ExternalScheduler(), invocation=invocation)
        for point in simulation.decision_points():
            points.append(call_of(point.now, point.cause))
            FirstFit().schedule(point.view)
        assert points == asked.calls
        assert len({kind for _, kind, _ in points}) == (1 if invocation is None else 3)


def call_of(now: float, cause: bl.Cause) -> tuple[float, str, int | None]:
    """Give what identifies a question."""
    return now, cause.kind, None if cause.job is None else cause.job.row


def test_until_a_time() -> None:
    """A loop ends behind its time, and another goes on from there."""
    expected = bl.simulate(six(), PAIR, FirstFit()).jobs
    simulation = bl.Simulation(six(), PAIR, bl.ExternalScheduler())
    times = []
    for until in (5.0, 20.0, float("inf")):
        for point in simulation.decision_points(until):
            assert point.now <= until
            times.append(point.now)
            FirstFit().schedule(point.view)
    assert times == sorted(set(times))
    assert simulation.result().jobs.equals(expected)
    assert list(simulation.decision_points()) == []


@pytest.mark.parametrize("how", ["fork", "snapshot", "pickle"])
def test_a_copy_at_a_point_is_at_the_point(how: str) -> None:
    """A copy that is made in the body of the loop begins at the same point, and is independent."""
    workload, policy = six(), bl.Policy(scheduler=bl.ExternalScheduler())
    expected = bl.simulate(workload, PAIR, FirstFit()).jobs
    copies = []
    simulation = bl.Simulation(workload, PAIR, policy)
    for point in simulation.decision_points():
        if how == "fork":
            copy = simulation.fork()
        elif how == "snapshot":
            copy = bl.Simulation.restore(simulation.snapshot(), workload, PAIR, policy)
        else:
            copy = pickle.loads(pickle.dumps(simulation))  # noqa: S301  # our own
        copies.append((point.now, copy))
        FirstFit().schedule(point.view)
    assert simulation.result().jobs.equals(expected)
    for now, copy in copies:
        assert next(iter(copy.decision_points())).now == now
        assert looped(copy, FirstFit()).jobs.equals(expected)


def test_looking_ahead_in_the_loop() -> None:
    """A fork under a built-in policy decides anew at the point, and leaves the simulation as it is."""
    simulation = bl.Simulation(six(), PAIR, bl.ExternalScheduler())
    for point in simulation.decision_points():
        copy = point.view.fork("first_fit")
        copy.run_until()
        assert copy.finished >= simulation.finished
        FirstFit().schedule(point.view)
    assert simulation.result().jobs.equals(bl.simulate(six(), PAIR, FirstFit()).jobs)


def test_a_loop_that_is_left_asks_again() -> None:
    """After `break` the next loop begins at the same point; what was decided stands."""
    simulation = bl.Simulation(six(), PAIR, bl.ExternalScheduler())
    for point in simulation.decision_points():
        point.view.start(point.view.job(0))
        break
    again = simulation.decision_points()
    point = next(again)
    assert point.now == 0.0
    assert [job.row for job in point.view.running] == [0]
    del again
    assert looped(simulation, FirstFit()).jobs.equals(bl.simulate(six(), PAIR, FirstFit()).jobs)


def test_one_loop_at_a_time() -> None:
    """A loop that goes on behind the back of a newer one is refused, and has done nothing."""
    simulation = bl.Simulation(six(), PAIR, bl.ExternalScheduler())
    older = iter(simulation.decision_points())
    next(older)
    newer = iter(simulation.decision_points())
    assert next(newer).now == 0.0
    with pytest.raises(bl.SimulationError, match="newer loop"):
        next(older)
    FirstFit().schedule(next(simulation.decision_points()).view)
    assert looped(simulation, FirstFit()).jobs.equals(bl.simulate(six(), PAIR, FirstFit()).jobs)


def test_decisions_belong_to_the_point() -> None:
    """When the loop is over, a view decides no more; a refused decision leaves the loop usable."""
    simulation = bl.Simulation(six(), PAIR, bl.ExternalScheduler())
    view = None
    for point in simulation.decision_points():
        view = point.view
        with pytest.raises(bl.DecisionError):
            view.start(view.job(0), nodes=[7])
        FirstFit().schedule(view)
    assert view is not None
    with pytest.raises(bl.DecisionError):
        view.start(view.job(0))


def test_who_decides_is_clear() -> None:
    """Without the loop nothing decides; with another scheduler there is no loop: one error that says so."""
    policy = bl.Policy(order="sjf", scheduler=bl.ExternalScheduler())
    with pytest.raises(bl.SimulationError, match=r"ExternalScheduler.*decision_points\(\)"):
        bl.simulate(six(), PAIR, policy)
    simulation = bl.Simulation(six(), PAIR, policy)
    for drive in (simulation.run_until, simulation.step):
        with pytest.raises(bl.SimulationError, match=r"decision_points\(\)"):
            drive()
    with pytest.raises(bl.SimulationError, match="nan"):
        simulation.decision_points(float("nan"))
    for other in ("easy", FirstFit()):
        with pytest.raises(bl.SimulationError, match="ExternalScheduler"):
            bl.Simulation(six(), PAIR, other).decision_points()


def test_clairvoyant_loop() -> None:
    """A subclass of the marker sets what a scheduler's class sets."""

    class Oracle(bl.ExternalScheduler):
        clairvoyant = True
        every_instant = True

    simulation = bl.Simulation(six(), PAIR, Oracle())
    points = 0
    for point in simulation.decision_points():
        points += 1
        for job in sorted(point.view.queue, key=lambda job: job.run_time):
            point.view.start(job)
    assert points > len(set(six().jobs["submit_time"]))
    assert simulation.finished == 6
