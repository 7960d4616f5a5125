"""The stepper, progress, and Ctrl-C. Forks and pieces are proved on random cases in tests/properties."""

import math
import signal
from typing import Any

import pytest

import batchlab as bl

JOBS = 100_000


@pytest.fixture(scope="module")
def long_workload() -> bl.Workload:
    """One job per second, for three seconds each."""
    return bl.Workload.from_table(
        {"submit_time": range(JOBS), "run_time": [3.0] * JOBS, "tasks": [1 + row % 2 for row in range(JOBS)]}
    )


def test_steps(four: bl.Workload, pair: bl.System) -> None:
    """One step is one instant, whatever happens in it."""
    simulation = bl.Simulation(four, pair, "fcfs")
    instants = []
    while (instant := simulation.next_time) is not None:
        assert simulation.step()
        instants.append((instant, simulation.now, simulation.finished))
    assert instants == [(0, 0, 0), (5, 5, 0), (10, 10, 1), (20, 20, 3), (21, 21, 4)]
    assert not simulation.step()
    assert simulation.now == 21


def test_result_on_the_way(four: bl.Workload, pair: bl.System) -> None:
    """A result can be taken at any time: what has not happened is missing from it."""
    simulation = bl.Simulation(four, pair, "fcfs")
    simulation.run_until(10.0)
    table = simulation.result().jobs
    assert table["state"].to_list() == ["completed", "running", "queued", "queued"]
    assert table["start_time"].to_list() == [0, 10, None, None]
    assert table["end_time"].to_list() == [10, None, None, None]
    early = bl.Simulation(four, pair, "fcfs")
    early.step()
    assert early.result().jobs["state"].to_list() == ["running", "queued", "loaded", "loaded"]


def test_run_until_is_inclusive(four: bl.Workload, pair: bl.System) -> None:
    """What happens at the very time is done; before the next instant nothing happens."""
    simulation = bl.Simulation(four, pair, "fcfs")
    simulation.run_until(math.nextafter(10.0, 0.0))
    assert (simulation.now, simulation.next_time) == (5, 10)
    simulation.run_until(10.0)
    assert (simulation.now, simulation.next_time) == (10, 20)
    simulation.run_until(3.0)
    assert simulation.now == 10


def test_fork(four: bl.Workload, pair: bl.System) -> None:
    """A fork goes its own way."""
    simulation = bl.Simulation(four, pair, "fcfs")
    simulation.run_until(10.0)
    fork = simulation.fork()
    fork.run_until()
    assert (simulation.now, fork.now) == (10, 21)
    assert simulation.result().jobs["state"][1] == "running"
    assert fork.result().jobs["state"][1] == "completed"


def test_repr(four: bl.Workload, pair: bl.System) -> None:
    """A simulation says what it is and how far it is."""
    simulation = bl.Simulation(four, pair, "easy(allocator=best_fit)")
    simulation.run_until(10.0)
    assert repr(simulation) == "<Simulation of easy(allocator=best_fit) on 2 nodes at 10 s: 1 of 4 jobs done>"


def test_progress(long_workload: bl.Workload, pair: bl.System) -> None:
    """Progress is told now and then, never backwards, and at the end."""
    calls: list[tuple[int, int]] = []
    bl.simulate(long_workload, pair, "easy", progress=lambda done, of: calls.append((done, of)))
    assert len(calls) > 1
    assert calls == sorted(calls)
    assert {of for _, of in calls} == {JOBS}
    assert calls[-1] == (JOBS, JOBS)


def test_interrupted_by_progress(long_workload: bl.Workload, pair: bl.System) -> None:
    """What progress raises ends the run between two instants; it can be taken up again."""

    def interrupt(_done: int, _of: int) -> None:
        raise KeyboardInterrupt

    simulation = bl.Simulation(long_workload, pair, "easy")
    with pytest.raises(KeyboardInterrupt):
        simulation.run_until(progress=interrupt)
    assert 0 < simulation.finished < JOBS
    simulation.run_until()
    assert simulation.result().jobs.equals(bl.simulate(long_workload, pair, "easy").jobs)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer signal (not on Windows)")
def test_interrupted_by_a_signal(long_workload: bl.Workload, pair: bl.System) -> None:
    """A signal is noticed while the kernel runs, without any progress being asked for."""

    class Signalled(Exception):  # noqa: N818 - no error
        pass

    def handle(_number: int, _frame: object) -> None:
        raise Signalled

    simulation = bl.Simulation(long_workload, pair, "easy")
    before = signal.signal(signal.SIGALRM, handle)
    try:
        with pytest.raises(Signalled):  # noqa: PT012  # the signal may come before the run begins
            signal.setitimer(signal.ITIMER_REAL, 0.001)
            simulation.run_until()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert simulation.finished < JOBS


@pytest.mark.parametrize(("until", "shown"), [(float("nan"), "nan"), ("5", "'5'"), (None, "None")])
def test_no_time_is_refused(four: bl.Workload, pair: bl.System, until: Any, shown: str) -> None:  # noqa: ANN401  # wrong on purpose
    """NaN is no time to run until, nor is what is no number."""
    with pytest.raises(bl.SimulationError, match=f"until = {shown}; must be a time in seconds"):
        bl.Simulation(four, pair, "fcfs").run_until(until)
