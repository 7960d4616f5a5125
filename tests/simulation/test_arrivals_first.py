"""Submissions before completions, with applications and with schedulers that are asked event by event."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

import batchlab as bl

if TYPE_CHECKING:
    from batchlab.core.vocabulary import OrderAtInstant

ORDERS: tuple[OrderAtInstant, ...] = ("completions_first", "arrivals_first")
SYSTEM = bl.System.of(bl.Platform.crossbar(2, speed="1Gf", bandwidth="1GBps", latency=0))
# Four seconds, with a scheduling point in the middle.
APPLICATION = bl.Application(
    [bl.Phase([bl.tasks.Compute(flops=2e9, computation_pattern="uniform")], iterations=2)]
)


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


def running(submit_time: float, tasks: int) -> bl.JobDescription:
    """Describe a job of 4 s: each of its nodes does the same flops."""
    return bl.JobDescription(
        application=APPLICATION, submit_time=submit_time, tasks=tasks, requested_time=10.0
    )


def plain(submit_time: float, run_time: float, tasks: int) -> bl.JobDescription:
    return bl.JobDescription(submit_time=submit_time, run_time=run_time, requested_time=run_time, tasks=tasks)


# The second submission coincides with the first completion.
MIXED = bl.Workload.from_jobs(
    [running(0.0, 1), running(0.0, 1), plain(4.0, 3.0, 1), running(4.0, 2), plain(4.0, 1.0, 1)]
)


def rows(result: bl.Result) -> list[tuple[str, float, float]]:
    """Give each job's state, start and end (s)."""
    return result.jobs.select("state", "start_time", "end_time").rows()


@pytest.mark.parametrize("policy", ["fcfs", "first_fit", "easy", "conservative"])
def test_applications(policy: str) -> None:
    """All jobs end, in every run at the same times."""
    first, second = (bl.simulate(MIXED, SYSTEM, policy, order_at_instant="arrivals_first") for _ in range(2))
    assert rows(first) == rows(second)
    last = (11.0, 12.0) if policy == "fcfs" else (4.0, 5.0)
    times = [(0.0, 4.0), (0.0, 4.0), (4.0, 7.0), (7.0, 11.0), last]
    assert rows(first) == [("completed", *each) for each in times]


def test_malleable_applications() -> None:
    """A job that may grow is given the node of another when that ends."""
    job = bl.JobDescription(
        application=APPLICATION, submit_time=0.0, tasks=1, tasks_max=2, job_type="malleable"
    )
    workload = bl.Workload.from_jobs([plain(0.0, 1.0, 1), job])
    first, second = (
        bl.simulate(workload, SYSTEM, "malleable", order_at_instant="arrivals_first") for _ in range(2)
    )
    assert rows(first) == rows(second)
    assert rows(first) == [("completed", 0.0, 1.0), ("completed", 0.0, 4.0)]
    grown = first.allocations.filter(pl.col("row") == 1)["nodes"].to_list()
    assert grown == [[1], [0, 1]]


@pytest.mark.parametrize("order_at_instant", ORDERS)
def test_invocation(order_at_instant: OrderAtInstant) -> None:
    """The scheduler is asked about the submissions of an instant before its completions, or after them."""
    schedulers = Asked(), Asked()
    first, second = (
        bl.simulate(MIXED, SYSTEM, scheduler, order_at_instant=order_at_instant, invocation=bl.Invocation())
        for scheduler in schedulers
    )
    assert rows(first) == rows(second)
    assert [state for state, *_ in rows(first)] == ["completed"] * 5
    assert schedulers[0].causes == schedulers[1].causes
    at_four = {
        "submissions": [(4.0, "submit", 2), (4.0, "submit", 3), (4.0, "submit", 4)],
        "completions": [(4.0, "finalise", 0), (4.0, "finalise", 1)],
    }
    asked = at_four if order_at_instant == "arrivals_first" else dict(reversed(at_four.items()))
    assert schedulers[0].causes == [
        (0.0, "submit", 0),
        (0.0, "submit", 1),
        *(cause for causes in asked.values() for cause in causes),
        (7.0, "finalise", 2),
        (11.0, "finalise", 3),
        (12.0, "finalise", 4),
    ]


def test_invocation_of_a_plain_job() -> None:
    """One plain job is asked about at its submission and at its end, in either order."""
    for order_at_instant in ORDERS:
        scheduler = Asked()
        workload = bl.Workload.from_jobs([plain(4.0, 3.0, 1)])
        result = bl.simulate(
            workload, SYSTEM, scheduler, order_at_instant=order_at_instant, invocation=bl.Invocation()
        )
        assert rows(result) == [("completed", 4.0, 7.0)]
        assert scheduler.causes == [(4.0, "submit", 0), (7.0, "finalise", 0)]
