"""Jobs that were cancelled before they started: in the kernel as in the reference, and by the rule of S18."""

import os
from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest

import batchlab as bl
from reference import Outcome
from support.combinations import Combinations
from support.event_cases import delayed, eventful, withdrawn
from support.preemption_cases import preempting
from support.queue_cases import limited, queued, reserved
from support.rate_cases import controlled
from support.schedule_cases import Case
from support.schedule_runs import outcomes

CASES = 252
CHUNKS = 3
# The reference takes many seconds for its tens of thousands of instants.
SLOW = 183
# `BATCHLAB_CASES=10000 pytest -m campaign tests/properties/test_cancellations.py`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "10000"))
CAMPAIGN_CHUNK = 250


def shaped(case: Case, rng: Random) -> Case:
    """Cancel jobs on all kinds of machines, with overheads, events and controlled rates in some cases."""
    if rng.random() < 0.4:
        case = queued(case, rng)
        case = preempting(case, rng) if rng.random() < 0.5 else case
        case = limited(case, rng) if rng.random() < 0.4 else case
        case = reserved(case, rng) if rng.random() < 0.3 else case
    case = delayed(case, rng) if rng.random() < 0.3 else case
    case = eventful(case, rng) if rng.random() < 0.3 else case
    case = controlled(case, rng) if rng.random() < 0.2 else case
    return withdrawn(case, rng)


WITHDRAWN = Combinations(shaped)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_job_and_node(chunk: int) -> None:
    """State, start, end, nodes and interruptions are equal for every job of every case."""
    for number in range(chunk, CASES, CHUNKS):
        WITHDRAWN.check(CASES if number == SLOW else number)


def test_policies_written_in_python() -> None:
    """Rules and allocators written in Python give the same schedules."""
    for number in range(40):
        WITHDRAWN.check_in_python(number)


@pytest.mark.campaign
def test_a_slow_case() -> None:
    """The sample leaves it out."""
    WITHDRAWN.check(SLOW)


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(0, CAMPAIGN, CAMPAIGN_CHUNK))
def test_campaign(first: int) -> None:
    """Many more cases."""
    for number in range(CASES + first, CASES + first + CAMPAIGN_CHUNK):
        WITHDRAWN.check(number)


def check_rule(case: Case, ended: list[Outcome], seen: Counter[str]) -> None:
    """Fail unless each job that was cancelled waited or ran until that instant."""
    for job, outcome in zip(case.jobs, ended, strict=True):
        if job.until is None or outcome.state == "rejected":
            continue
        assert outcome.state in {"cancelled", "killed"}, outcome
        if outcome.state == "killed":
            # At its limit, for a reservation, for another job or by what happens to a node.
            assert outcome.end_time is not None
            assert outcome.end_time <= job.until
            seen["killed"] += 1
            continue
        assert outcome.end_time == job.until
        start = outcome.start_time
        assert start is None or start <= job.until
        seen["waited" if start is None else "ran"] += 1


def test_the_rule_holds_job_by_job() -> None:
    """A job leaves the queue, or ends, as it is cancelled: in the reference, and in the kernel."""
    seen: Counter[str] = Counter()
    for number in range(0, CASES, 4):
        case = replace(WITHDRAWN.sample(number), events=())
        check_rule(case, case.expected(), seen)
        check_rule(case, outcomes(case), seen)
    assert min(seen[each] for each in ("ran", "waited", "killed")) > 20, seen


def logged(rng: Random, count: int) -> tuple[bl.Workload, bl.System]:
    """Make a log: what was run on a machine on which 5 % of the jobs were cancelled while they waited."""
    system = bl.System.homogeneous(nodes=8, resources={"core": 4})
    jobs: dict[str, list[Any]] = {
        "job_id": list(range(1, count + 1)),
        "submit_time": sorted(float(rng.randrange(0, 40 * count)) for _ in range(count)),
        "run_time": [float(rng.randrange(1, 600)) for _ in range(count)],
        "tasks": [rng.choice((1, 2, 4, 8, 16, 32)) for _ in range(count)],
        "requested_time": [1200.0] * count,
    }
    first = bl.simulate(bl.Workload.from_table(jobs), system, "easy").jobs
    waits = bl.metrics.wait(first).to_list()
    waiting = [row for row, wait in enumerate(waits) if wait >= 2]
    chosen = set(rng.sample(waiting, count // 20))
    after = [rng.uniform(0, waits[row] / 2) if row in chosen else None for row in range(count)]
    asked = jobs | {
        "cancelled_after": after,
        "run_time": [0.0 if row in chosen else run for row, run in enumerate(jobs["run_time"])],
    }
    made = bl.simulate(bl.Workload.from_table(asked), system, "easy")
    # The log, with what became of its jobs on this machine.
    states = made.jobs["state"].to_list()
    waited = [
        row
        for row, (state, start) in enumerate(zip(states, made.jobs["start_time"], strict=True))
        if state == "cancelled" and start is None
    ]
    assert len(waited) > count // 40
    lines = ["; MaxProcs: 32"]
    for row, job in enumerate(made.jobs.iter_rows(named=True)):
        start = job["end_time"] if row in waited else job["start_time"]
        run = -1 if row in waited else job["end_time"] - start
        status = 5 if row in waited else 1
        wait = start - job["submit_time"]
        lines.append(
            f"{job['job_id']} {job['submit_time']!r} {wait!r} {run!r} {job['tasks']} -1 -1 {job['tasks']} "
            f"1200 -1 {status} 1 1 -1 -1 -1 -1 -1"
        )
    return bl.read_swf(lines), system


@pytest.mark.parametrize("seed", range(4))
def test_a_log_with_cancelled_jobs_is_replayed(seed: int) -> None:
    """On the machine that made it all others wait as logged; on larger and smaller ones the rule holds."""
    log, system = logged(Random(seed), 1000)  # noqa: S311 - no secret
    cancelled = log.jobs["cancelled_after"].is_not_null()
    assert cancelled.sum() > 25
    again = bl.simulate(log, system, "easy").jobs
    waits = bl.metrics.wait(again)
    assert again["state"].filter(cancelled).unique().to_list() == ["cancelled"]
    late = (waits - log.jobs["logged_wait_time"]).filter(~cancelled).abs()
    assert (late < 1e-6).all()
    until = log.jobs["submit_time"] + log.jobs["cancelled_after"]
    for nodes in (4, 8 * 1000):
        other = bl.System.homogeneous(nodes=nodes, resources={"core": 8 if nodes == 4 else 4})
        jobs = bl.simulate(log, other, "fcfs").jobs
        assert jobs["end_time"].filter(cancelled).equals(until.filter(cancelled), check_names=False)
        assert bl.metrics.wait(jobs).is_null().equals(cancelled, check_names=False)
        starts = jobs["start_time"].filter(cancelled)
        if nodes > 8:
            assert starts.equals(jobs["submit_time"].filter(cancelled), check_names=False)
        assert (starts.drop_nulls() <= until.filter(cancelled).filter(starts.is_not_null())).all()
