"""Runs with one job changed (S29) are those of the changed workload."""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import replace
from math import fsum
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import batchlab as bl
from properties.test_why import WAITING
from reference import ExternalEvent
from support.combinations import UNSEEN
from support.schedule_runs import (
    differences,
    events_of,
    fail_if_different,
    own_run_time,
    policy_of,
    result_of,
    workload_of,
)
from support.schedule_systems import system_of

if TYPE_CHECKING:
    from batchlab.result.why.changed import WhatIf
    from support.schedule_cases import Case

CASES = 160
CHUNKS = 4
KINDS = ("requested_time", "tasks", "submit_time", "exact_estimates", "without", "limit", "priority")
# `BATCHLAB_CASES=5000 pytest -m campaign tests/properties/test_what_if.py`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "2000"))


def check(number: int) -> Counter[str]:
    """Fail if the changed run of a random case differs from a new run of the changed jobs."""
    case, rng = WAITING.sample(number), random.Random(number)  # noqa: S311 - no secret
    if case.node_events:
        return Counter()  # These come from an observer.
    result = result_of(case)
    waited = result.jobs.filter(pl.col("start_time") > pl.col("submit_time"))["job_id"].to_list()
    nodes = [result.system.capacity[result._waits.requests.nodes(row)].any() for row in waited]  # noqa: SLF001
    waited = [row for row, has_some in zip(waited, nodes, strict=True) if has_some]
    if not waited:
        return Counter()
    row, kind = rng.choice(waited), rng.choice(KINDS)
    job, why = case.jobs[row], result.why(row)
    if kind == "without":
        other = rng.choice([each.row for each in case.jobs if each.row != row] or [None])
        if other is None:
            return Counter()
        found, expected = why.what_if(without=[other]), without(case, other)
    elif kind == "limit":
        found = why.what_if(limit=None)
        expected_case = with_job(case, row, exempt_from_limits=True)
        expected = result_of(expected_case)
        fail_if_different(f"case {number}", expected_case, differences)
    elif kind == "priority":
        value = float(rng.choice((-5, 0, 1, 1000)))
        found, expected_case = why.what_if(priority=value), with_priority(case, row, value)
        expected = result_of(expected_case)
        fail_if_different(f"case {number}", expected_case, differences)
    elif kind == "exact_estimates":
        found = why.what_if(exact_estimates=True)
        expected = result_of(with_job(case, row, requested_time=own_run_time(job), time_limit=job.limit))
    elif kind == "requested_time":
        value = float(rng.randint(0, 2 * int(min(job.requested_time, 1e6)) + 1))
        found = why.what_if(requested_time=value)
        limit = None if job.time_limit is None else value
        expected = result_of(with_job(case, row, requested_time=value, time_limit=limit))
    else:
        value = rng.randint(1, job.tasks + 1) if kind == "tasks" else rng.randint(0, int(job.submit_time) + 3)
        change: dict[str, Any] = {kind: value}
        found = why.what_if(**change)
        expected = result_of(with_job(case, row, **{kind: type(getattr(job, kind))(value)}))
    columns = "job_id", "state", "start_time", "end_time"
    assert found.result.jobs.select(columns).equals(expected.jobs.select(columns))
    check_others(result, found)
    return Counter({kind: 1, "moved": len(found.jobs), "earlier": int(found.earlier > 0)})


def with_job(case: Case, row: int, **values: Any) -> Case:  # noqa: ANN401  # those of jobs
    """Change one job of a case."""
    jobs = tuple(replace(job, **values) if job.row == row else job for job in case.jobs)
    return replace(case, jobs=jobs)


def with_priority(case: Case, row: int, value: float) -> Case:
    """Fix the priority of one job of a case long before its submission."""
    others = [each for each in case.events if (each.kind, each.row) != ("priority", row)]
    begin = min([job.submit_time for job in case.jobs] + [each.time for each in others])
    return replace(case, events=(ExternalEvent(begin - 7, "priority", row, value=value), *others))


def without(case: Case, row: int) -> bl.Result:
    """Run a case without one job."""
    options = result_of(case).options
    given = events_of(case)
    events = None if given is None else given.table.filter(pl.col("job_id").ne_missing(row))
    workload = workload_of(case).filter(pl.col("job_id") != row)
    return bl.simulate(workload, system_of(case.machine), policy_of(case), options=options, events=events)


def check_others(result: bl.Result, found: WhatIf) -> None:
    """Fail if the jobs whose start changed are not those that the two tables say."""
    before = result.jobs.select("job_id", "start_time")
    after = found.result.jobs.select("job_id", pl.col("start_time").alias("new"))
    both = before.join(after, on="job_id").filter(pl.col("job_id") != found.job_id)
    moved = both.filter(pl.col("start_time").ne_missing(pl.col("new")))
    assert sorted(found.jobs["job_id"]) == sorted(moved["job_id"])
    assert found.unchanged == len(both) - len(moved)
    assert found.total_change == fsum((moved["new"] - moved["start_time"]).drop_nulls())
    assert str(found)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_changed_runs(chunk: int) -> None:
    """The run with a change is that of the changed workload, and others are compared job by job."""
    seen = Counter[str]()
    for number in range(chunk, CASES, CHUNKS):
        seen += check(number)
    assert sum(seen[kind] for kind in KINDS) >= 5
    assert seen["moved"]


def test_the_priority_of_the_order() -> None:
    """A job that is given the priority that it has moves no job."""
    seen = 0
    for number in range(CASES):
        case = WAITING.sample(number)
        if case.order != "fcfs" or case.node_events or any(each.kind == "priority" for each in case.events):
            continue
        result = result_of(case)
        for row, submit, start in result.jobs.select("job_id", "submit_time", "start_time").iter_rows():
            if start is not None and start > submit and any(map(any, case.machine.capacity)):
                found = result.why(row).what_if(priority=0)
                assert (found.earlier, len(found.jobs)) == (0, 0), (number, row)
                seen += 1
    assert seen > CASES // 4


@pytest.mark.campaign
def test_more_changed_runs() -> None:
    """The same holds for many more cases."""
    for number in range(UNSEEN, UNSEEN + CAMPAIGN):
        check(number)
