"""Allocators in Python under rules that reserve nodes: when they are asked, and what they see then."""

from __future__ import annotations

import pytest

import batchlab as bl

PAIR = bl.System.homogeneous(nodes=2, resources={"core": 1})
JOBS = bl.Workload.from_table(
    {"submit_time": [0, 0, 0, 5, 35], "run_time": [10, 20, 30, 10, 1], "tasks": [1, 2, 1, 1, 1]}
)
Question = tuple[float, int, list[int], list[int], int]


class LastFirst(bl.Allocator):
    """Fills the last nodes first, and notes what it is asked and shown."""

    def __init__(self) -> None:
        self.asked: list[Question] = []

    def allocate(self, job: bl.Job, view: bl.View) -> list[int] | None:
        """Choose the last nodes that have slots."""
        slots = [view.slots(job, node) for node in range(2)]
        self.asked.append((view.now, job.row, view.free[:, 0].tolist(), slots, view.total_free["core"]))
        nodes = [node for node in (1, 0) if slots[node]][: job.tasks]
        return nodes if len(nodes) == job.tasks else None


def run(rule: str, reservations: int = 1) -> tuple[list[float], list[Question]]:
    """Give the starts, and the questions until time 5."""
    allocator = LastFirst()
    policy = bl.Policy.parse(rule)
    policy = bl.Policy(backfill=policy.backfill, reservations=reservations, allocator=allocator)
    result = bl.simulate(JOBS, PAIR, policy)
    starts: list[float] = result.jobs["start_time"].to_list()
    return starts, [question for question in allocator.asked if question[0] <= 5]


def test_conservative_asks_about_planned_instants() -> None:
    """Free amounts and slots are those of the instant that is planned; totals are those of now."""
    starts, asked = run("conservative")
    assert starts == [0.0, 10.0, 30.0, 30.0, 40.0]
    assert asked == [
        (0.0, 0, [1, 1], [1, 1], 2),  # now
        (0.0, 1, [1, 1], [1, 1], 2),  # at 10 s, when job 0 is over
        (0.0, 2, [1, 1], [1, 1], 2),  # at 30 s, when job 1 is over; not at 0 s, where it would delay job 1
        (5.0, 3, [1, 0], [1, 0], 1),  # at 30 s, beside job 2
    ]


def test_easy_with_reservations_asks_about_planned_instants() -> None:
    """The reservation of job 1 at 10 s is placed on both nodes, of which one is free now."""
    starts, asked = run("easy", reservations=2)
    assert starts == [0.0, 10.0, 30.0, 30.0, 40.0]
    assert (0.0, 1, [1, 1], [1, 1], 1) in asked
    assert (0.0, 2, [1, 0], [1, 0], 1) in asked


@pytest.mark.parametrize("rule", ["none", "first_fit", "easy"])
def test_other_rules_ask_about_now(rule: str) -> None:
    """What is shown adds up to what is free now."""
    _, asked = run(rule) if rule != "none" else run("fcfs")
    assert asked
    assert all(sum(free) == total for _, _, free, _, total in asked)


@pytest.mark.parametrize("rule", ["fcfs", "first_fit", "easy", "conservative"])
def test_a_refused_job_is_asked_about_again(rule: str) -> None:
    """What an allocator refuses at one instant it may place at the next, though no job ended early."""

    class Later(bl.Allocator):
        """Places job 1 from 10 s on."""

        def allocate(self, job: bl.Job, view: bl.View) -> list[int] | None:
            """Choose the first node with a slot, or none yet."""
            if job.row == 1 and view.now < 10:
                return None
            return next(([node] for node in range(2) if view.slots(job, node)), None)

    jobs = bl.Workload.from_table({"submit_time": [0, 0], "run_time": [10, 20], "tasks": [1, 1]})
    policy = bl.Policy(backfill=bl.Policy.parse(rule).backfill, allocator=Later())
    assert bl.simulate(jobs, PAIR, policy).jobs["start_time"].to_list() == [0.0, 10.0]
