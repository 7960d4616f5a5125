"""Workloads on absolute times: what is periodic begins at the first submission."""

from __future__ import annotations

from dataclasses import replace

import pytest

import batchlab as bl
from batchlab import tasks
from batchlab.generate import Constant

# Seconds since 1970, and no multiple of 60.
EPOCH = 1_700_000_000.0
SYSTEM = bl.System.homogeneous(nodes=2, resources={"core": 1})
POWER = bl.NodePower(idle=100, busy=200)


def late_jobs(last: float = 0.0) -> bl.Workload:
    table = {"submit_time": [EPOCH, EPOCH + last], "run_time": [600, 300], "tasks": [1, 2]}
    return bl.Workload.from_table(table)


def late_application(interval: float = 60.0, last: float = 0.0) -> tuple[bl.Workload, bl.System, bl.Sensing]:
    steps = bl.Application([bl.Phase([tasks.Compute(flops=[300e9])])])
    jobs = [bl.JobDescription(application=steps, tasks=1, submit_time=EPOCH + at) for at in (0.0, last)]
    platform = bl.Platform.crossbar(2, speed="1Gf", bandwidth="1GBps", latency=0)
    return bl.Workload.from_jobs(jobs), bl.System.of(platform), bl.Sensing(interval)


def test_looks_at_the_platform() -> None:
    """The first look is at the first submission; looks at multiples of the interval are asked for."""
    workload, system, sensing = late_application()
    times = bl.simulate(workload, system, "fcfs", sensing=sensing).utilisation["network"]["time"]
    assert times.to_list() == [EPOCH + 60 * number for number in range(6)]
    sensing = bl.Sensing(60.0, since=0.0)
    times = bl.simulate(workload, system, "fcfs", sensing=sensing).utilisation["network"]["time"]
    assert times.to_list() == [EPOCH - 20 + 60 * number for number in range(6)]


def test_temperature() -> None:
    """The first row is of the first submission."""
    warming = bl.NodeWarming(resistance=0.1, capacity=1000)
    observers = [bl.Power(POWER), bl.Temperature(warming, every=300)]
    result = bl.simulate(late_jobs(), SYSTEM, "fcfs", observers=observers)
    times = result.observations["temperature"]["time"].to_list()
    assert times == [EPOCH, EPOCH + 300, EPOCH + 600, EPOCH + 900]


def test_a_function_of_time() -> None:
    """It is looked at from the first submission on; what it was then holds before that too."""
    asked: list[float] = []

    class Asked(bl.Scheduler):
        every_instant = True

        def schedule(self, view: bl.View) -> None:
            asked.append(view.now)
            for job in view.queue:
                view.start(job)

    signal = bl.Signal("price", lambda time: time - EPOCH, every=400)
    result = bl.simulate(late_jobs(), SYSTEM, Asked(), observers=[signal])
    # 1.7e9 is a multiple of 400.
    assert asked == [EPOCH, EPOCH + 400, EPOCH + 600, EPOCH + 800, EPOCH + 900]
    assert result.observations["price"].rows() == [
        (EPOCH, 0),
        (EPOCH + 400, 400),
        (EPOCH + 800, 800),
        (EPOCH + 900, 800),
    ]


def test_failures_by_chance() -> None:
    """Nodes are up from the first submission on."""
    failures = bl.Failures.from_distributions(Constant(700), Constant(10), seed=0)
    result = bl.simulate(late_jobs(), SYSTEM, "fcfs", observers=[failures])
    assert result.observations["failures"]["time"].to_list()[:2] == [EPOCH + 700, EPOCH + 700]


def test_questions_of_the_clock() -> None:
    """The clock asks one interval after the first submission, or at multiples of the interval."""
    asked: list[float] = []

    class Asked(bl.Scheduler):
        def schedule(self, view: bl.View) -> None:
            asked.append(view.now)
            for job in view.queue:
                view.start(job)

    invocation = bl.Invocation(on_submit=False, on_finalise=False, interval=60)
    bl.simulate(late_jobs(), SYSTEM, Asked(), invocation=invocation)
    assert asked[:2] == [EPOCH + 60, EPOCH + 120]
    asked.clear()
    bl.simulate(late_jobs(), SYSTEM, Asked(), invocation=replace(invocation, since=0.0))
    assert asked[:2] == [EPOCH + 40, EPOCH + 100]


TOO_LONG = 1e9
RULE = r"1,000,000,000 s ÷ 0.5 s are more than 10,000,000; take a longer interval"


def test_too_many_looks_are_refused_as_a_run_begins() -> None:
    """A span of submissions that is too long for an interval is an error with both numbers."""
    workload, system, sensing = late_application(0.5, TOO_LONG)
    with pytest.raises(bl.SimulationError, match="sensing: the interval: " + RULE):
        bl.simulate(workload, system, "fcfs", sensing=sensing)
    jobs = late_jobs(TOO_LONG)
    with pytest.raises(bl.SimulationError, match="invocation: the interval: " + RULE):
        bl.simulate(jobs, SYSTEM, "fcfs", invocation=bl.Invocation(interval=0.5))
    observers = [bl.Power(POWER), bl.Temperature(bl.NodeWarming(resistance=0.1, capacity=1), every=0.5)]
    with pytest.raises(bl.errors.ObserverError, match="Temperature: " + RULE):
        bl.simulate(jobs, SYSTEM, "fcfs", observers=observers)
    with pytest.raises(bl.errors.ObserverError, match="signal 'price': " + RULE):
        bl.simulate(jobs, SYSTEM, "fcfs", observers=[bl.Signal("price", lambda _: 0.0, every=0.5)])


def test_intervals_below_the_resolution_of_time_are_refused() -> None:
    """At 1.7e9 s two float64 are 2e-7 s apart."""
    with pytest.raises(bl.errors.ObserverError, match=r"1e-08 s later are one float64"):
        bl.simulate(late_jobs(), SYSTEM, "fcfs", observers=[bl.Signal("price", lambda _: 0.0, every=1e-8)])


def test_too_many_looks_are_refused_while_a_run_goes_on() -> None:
    """A job that runs for very long is looked at no more often than any other."""
    workload, system, sensing = late_application(1e-5)
    with pytest.raises(
        bl.SimulationError, match=r"Sensing: [\d.]+ s ÷ 0.00001 s are more than 10000000 looks"
    ):
        bl.simulate(workload, system, "fcfs", sensing=sensing)
