"""Schedulers that are asked event by event."""

from __future__ import annotations

import pytest

import batchlab as bl

PAIR = bl.System.homogeneous(nodes=2, resources={"core": 1})


class Asked(bl.Scheduler):
    """Starts jobs in order, and remembers why it was asked."""

    def __init__(self) -> None:
        self.causes: list[tuple[float, str, int | None]] = []

    def schedule(self, view: bl.View) -> None:
        cause = view.cause
        self.causes.append((view.now, cause.kind, None if cause.job is None else cause.job.row))
        for job in view.queue:
            if not view.start(job):
                return


def run(invocation: bl.Invocation | None, **options: str) -> tuple[Asked, bl.Result]:
    workload = bl.Workload.from_table(
        {"submit_time": [0, 0, 5], "run_time": [10, 5, 20], "requested_time": [10, 5, 7], "tasks": [1, 1, 2]},
        overrun="keep",
    )
    system = bl.System.homogeneous(nodes=2, resources={"core": 1})
    scheduler = Asked()
    return scheduler, bl.simulate(workload, system, scheduler, invocation=invocation, **options)  # type: ignore[arg-type]


def test_once_an_instant_without_an_invocation() -> None:
    """Two submissions at one instant are one question, without a cause."""
    scheduler, _ = run(None)
    assert scheduler.causes == [(0, "instant", None), (5, "instant", None), (10, "instant", None)]


def test_each_event_has_its_question() -> None:
    """Submissions and ends are asked about one by one, ends before submissions of the same instant."""
    scheduler, result = run(bl.Invocation())
    assert scheduler.causes == [
        (0, "submit", 0),
        (0, "submit", 1),
        (5, "finalise", 1),
        (5, "submit", 2),
        (10, "finalise", 0),
        (30, "finalise", 2),
    ]
    assert result.jobs["start_time"].to_list() == [0, 0, 10]


def test_kills_are_told_apart() -> None:
    """A job that is ended at its limit is a kill, not an end of its own."""
    scheduler, _ = run(bl.Invocation(), walltime="kill")
    assert scheduler.causes[-1] == (17, "kill", 2)


def test_only_what_is_asked_about() -> None:
    """With an interval alone, jobs start when the clock asks; it stops asking when no job is left."""
    scheduler, result = run(bl.Invocation(on_submit=False, on_finalise=False, interval=4))
    assert {kind for _, kind, _ in scheduler.causes} == {"periodic"}
    assert [time for time, _, _ in scheduler.causes] == [4, 8, 12, 16, 20, 24, 28, 32, 36]
    assert result.jobs["start_time"].to_list() == [4, 4, 16]


def test_minimum_interval_holds_back() -> None:
    """A question within the minimum interval is answered at its end, once."""
    scheduler, result = run(bl.Invocation(minimum_interval=3))
    assert scheduler.causes == [
        (0, "submit", 0),
        (3, "periodic", None),
        (6, "periodic", None),
        (9, "periodic", None),
        (12, "periodic", None),
        (32, "finalise", 2),
    ]
    assert result.jobs["start_time"].to_list() == [0, 3, 12]


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), True, "1"])
def test_bad_durations(value: object) -> None:
    """A duration must be a finite number of seconds."""
    with pytest.raises(bl.SimulationError, match=r"minimum_interval = .*; must be a finite number"):
        bl.Invocation(minimum_interval=value)  # type: ignore[arg-type]


def test_somebody_must_ask() -> None:
    """Without an interval, submissions and ends must be asked about, or jobs could wait for ever."""
    with pytest.raises(bl.SimulationError, match="jobs could wait for ever"):
        bl.Invocation(on_submit=False)


def test_timers_have_their_questions() -> None:
    """A scheduler that sets a timer is asked when it is due."""

    class Wakes(Asked):
        def begin(self, view: bl.View) -> None:
            view.wake(3)

    workload = bl.Workload.from_table({"submit_time": [0], "run_time": [10], "tasks": [1]})
    scheduler = Wakes()
    bl.simulate(workload, PAIR, scheduler, invocation=bl.Invocation())
    assert scheduler.causes == [(0, "submit", 0), (3, "instant", None), (10, "finalise", 0)]


class Watches(bl.Observer):
    """Sets timers that only watch."""

    def begin(self, view: bl.View) -> None:
        view.wake(1, watching=True)


class StartsNobody(bl.Scheduler):
    """Lets jobs wait."""

    def schedule(self, view: bl.View) -> None:
        """Do nothing."""


def test_clock_asks_on_while_somebody_watches() -> None:
    """A run is not over while the clock will have the scheduler asked about those who wait."""
    workload = bl.Workload.from_table({"submit_time": [0], "run_time": [10], "tasks": [1]})
    clock = bl.Invocation(on_submit=False, on_finalise=False, interval=4)
    result = bl.simulate(workload, PAIR, Asked(), invocation=clock, observers=[Watches()])
    assert result.jobs["start_time"].to_list() == [4]


def test_questions_without_end() -> None:
    """A scheduler that starts no job, however often it is asked, ends in an error."""
    workload = bl.Workload.from_table({"submit_time": [0], "run_time": [10], "tasks": [1]})
    with pytest.raises(bl.SimulationError, match="questions of the clock, brought nothing about"):
        bl.simulate(workload, PAIR, StartsNobody(), invocation=bl.Invocation(interval=1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policy": "easy"}, "invocation with policy = easy; only a scheduler written in Python"),
        ({"invocation": 3}, r"invocation = 3; must be a batchlab\.Invocation"),
        ({"sensing": 3.0}, r"sensing = 3\.0; must be a batchlab\.Sensing"),
        ({"task_times": 1}, "task_times = 1; must be true or false"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, object], message: str) -> None:
    """Options that mean nothing here are refused, and not ignored."""
    workload = bl.Workload.from_table({"submit_time": [0], "run_time": [10], "tasks": [1]})
    given = {"policy": Asked(), "invocation": bl.Invocation()} | options
    with pytest.raises(bl.SimulationError, match=message):
        bl.simulate(workload, PAIR, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("act", ["kill", "preempt"])
def test_a_job_cut_short_as_its_application_ends(act: str, again: bool) -> None:
    """Of two applications that end at 10 s the first end is asked about; the other job is cut short there."""
    ten_seconds = bl.Application([bl.Phase([bl.tasks.Compute(flops=[10e9])])])

    class Cutting(bl.Scheduler):
        def schedule(self, view: bl.View) -> None:
            if view.now == 10 and view.job(1).state == "running":
                getattr(view, act)(view.job(1))
                if not again:
                    return
            for job in view.candidates():
                view.start(job)

    jobs = [bl.JobDescription(application=ten_seconds, tasks=1)] * 2
    if act == "preempt" and not again:
        jobs.append(bl.JobDescription(submit_time=15, run_time=1, tasks=1))
    system = bl.System.of(bl.Platform.crossbar(2, speed="1Gf", bandwidth="1GBps", latency=0))
    result = bl.simulate(bl.Workload.from_jobs(jobs), system, Cutting(), invocation=bl.Invocation())
    state, start, end = result.jobs.select("state", "start_time", "end_time").row(1)
    again_at = 10 if again else 15
    expected = {"kill": ("killed", 0, 10), "preempt": ("completed", again_at, again_at + 10)}
    assert (state, start, end) == expected[act]


@pytest.mark.parametrize("limit", [10, 20])
def test_an_application_that_ends_at_its_limit_gives_back_its_nodes_once(limit: int) -> None:
    """Where arrivals come first, what ends as estimated gives back its nodes before its end is taken in."""
    ten_seconds = bl.Application([bl.Phase([bl.tasks.Compute(flops=[5e9])], iterations=2)])
    jobs = [bl.JobDescription(application=ten_seconds, tasks=1, requested_time=limit)] * 2
    jobs.append(bl.JobDescription(submit_time=10, run_time=1, tasks=2))
    system = bl.System.of(bl.Platform.crossbar(2, speed="1Gf", bandwidth="1GBps", latency=0))
    result = bl.simulate(
        bl.Workload.from_jobs(jobs), system, "easy", order_at_instant="arrivals_first", walltime="kill"
    )
    assert result.jobs["state"].to_list() == ["completed"] * 3
    assert result.jobs["end_time"].to_list() == [10, 10, 11]
