"""Jobs that wait for others to complete."""

from __future__ import annotations

import polars as pl
import pytest

import batchlab as bl


def workload(
    depends_on: list[list[int]], run_time: list[float], submit: list[float] | None = None
) -> bl.Workload:
    count = len(run_time)
    return bl.Workload.from_table(
        pl.DataFrame(
            {
                "job_id": range(1, count + 1),
                "submit_time": submit or [0.0] * count,
                "run_time": run_time,
                "requested_time": [10.0] * count,
                "tasks": [1] * count,
                "depends_on": pl.Series(depends_on, dtype=pl.List(pl.Int64)),
            }
        ),
        overrun="keep",
    )


SYSTEM = bl.System.homogeneous(nodes=4, resources={"core": 1})


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "first_fit"])
def test_joins_the_queue_when_the_last_has_completed(policy: str) -> None:
    """A job waits for all that it depends on, though there is room."""
    jobs = bl.simulate(workload([[], [], [1, 2], [3]], [3, 5, 2, 1]), SYSTEM, policy).jobs
    assert jobs["start_time"].to_list() == [0, 0, 5, 7]


def test_dependencies_that_are_over() -> None:
    """A job that is submitted after those that it waits for have ended waits for none."""
    jobs = bl.simulate(workload([[], [1]], [3, 2], [0, 4]), SYSTEM, "fcfs").jobs
    assert jobs["start_time"].to_list() == [0, 4]


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "first_fit"])
def test_rejected_with_what_it_waits_for(policy: str) -> None:
    """Who waits for a killed job is rejected, and so are those that wait for it, submitted or not."""
    jobs = bl.simulate(
        workload([[], [1], [2], [1], [2]], [30, 1, 1, 1, 1], [0, 0, 0, 20, 20]),
        SYSTEM,
        policy,
        walltime="kill",
    ).jobs
    assert jobs["state"].to_list() == ["killed", *["rejected"] * 4]


def test_a_long_chain_of_rejections() -> None:
    """Chains of any length are taken link by link."""
    count = 50_000
    chain = workload([[], *[[row] for row in range(1, count)]], [30.0] * count)
    jobs = bl.simulate(chain, SYSTEM, "fcfs", walltime="kill").jobs
    assert jobs["state"].value_counts().sort("count").rows() == [("killed", 1), ("rejected", count - 1)]


def test_held_besides() -> None:
    """Who is held while it waits for others stays on hold when these have completed, until it is released."""

    class Holds(bl.Scheduler):
        every_instant = True

        def begin(self, view: bl.View) -> None:
            view.wake(6)

        def schedule(self, view: bl.View) -> None:
            if view.now == 0:
                view.hold(view.job(1))
            if view.now == 6 and view.on_hold:
                view.release(view.job(1))
            for job in view.candidates():
                view.start(job)

    jobs = bl.simulate(workload([[], [1]], [3, 2]), SYSTEM, Holds()).jobs
    assert jobs["start_time"].to_list() == [0, 6]


def test_cannot_be_released() -> None:
    """A scheduler sees it on hold, and cannot let it go before its time."""

    class Releases(bl.Scheduler):
        every_instant = True
        told = ""

        def schedule(self, view: bl.View) -> None:
            for job in view.on_hold:
                try:
                    view.release(job)
                except bl.DecisionError as error:
                    self.told = str(error)
            for job in view.candidates():
                view.start(job)

    scheduler = Releases()
    jobs = bl.simulate(workload([[], [1]], [3, 2]), SYSTEM, scheduler).jobs
    assert jobs["start_time"].to_list() == [0, 3]
    assert (
        "job 2 cannot be released at 0 s: it waits for other jobs, its begin time or a place in its array"
        in scheduler.told
    )
