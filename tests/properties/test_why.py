"""Who had the machine and what set a start (S29): as the reference finds them from the schedule alone."""

from __future__ import annotations

import os
import random
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import batchlab as bl
from batchlab.result.why.split import PARTS, parts_of_waits
from properties.test_gates import EXPLAINED
from reference import why as reference
from support.combinations import UNSEEN, Combinations
from support.event_cases import delayed, eventful
from support.preemption_cases import preempting
from support.queue_cases import limited, queued, reserved
from support.schedule_cases import Case, grouped
from support.schedule_runs import options_of, result_of
from support.why_cases import schedule_of

if TYPE_CHECKING:
    from random import Random

    from batchlab.result.why.why import Why
    from reference.why import Schedule

GATE_COLUMNS = ("start", "end", "gate", "subject", "detail")
WHOLE = {"start_time", "end_time", "job_id", "jobs", "wait"}
CASES = 240
CHUNKS = 6
# `BATCHLAB_CASES=10000 pytest -m campaign tests/properties/test_why.py`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "10000"))
CAMPAIGN_CHUNK = 250


def shaped(case: Case, rng: Random) -> Case:
    """Make machines of all kinds: partitions, reservations, limits, preemption, events, overheads."""
    if rng.random() < 0.6:
        case = queued(case, rng)
        case = preempting(case, rng) if rng.random() < 0.5 else case
        case = limited(case, rng) if rng.random() < 0.4 else case
        case = reserved(case, rng) if rng.random() < 0.4 else case
    case = grouped(case, rng) if rng.random() < 0.3 else case
    case = delayed(case, rng) if rng.random() < 0.3 else case
    return eventful(case, rng) if rng.random() < 0.4 else case


WAITING = Combinations(shaped)


def check(case: Case) -> Counter[str]:
    """Fail if an answer differs from the reference, or does not add up; count what was seen."""
    result, seen = result_of(case), Counter[str]()
    schedule = schedule_of(case, result)
    for row, (state, start) in enumerate(result.jobs.select("state", "start_time").iter_rows()):
        ends = float(result._waits.ends[row])  # noqa: SLF001  # as the specification defines it
        if state not in {"rejected", "loaded"} and ends > case.jobs[row].submit_time:
            if not any(any(schedule.capacity[node]) for node in schedule.nodes(schedule.jobs[row])):
                with pytest.raises(bl.ResultError, match="no amount of any resource"):
                    result.why(row)
                continue
            answer = result.why(row)
            seen["waits"] += 1
            check_capacity(schedule, row, answer, has_started=start is not None, seen=seen)
            check_chain(schedule, row, answer, has_started=start is not None, seen=seen)
            overtakers = reference.overtakers(schedule, row, answer.until)
            assert answer.overtakers["row"].to_list() == overtakers
            seen["overtakers"] += len(overtakers)
            assert str(answer)
    check_split(result, schedule)
    return seen


def check_split(result: bl.Result, schedule: Schedule) -> None:
    """Fail if the split of all waits differs from the answers about each job."""
    if not all(any(any(schedule.capacity[node]) for node in schedule.nodes(job)) for job in schedule.jobs):
        return
    for part in parts_of_waits(result._waits).iter_rows(named=True):  # noqa: SLF001  # job by job
        table = result.why(part["row"]).capacity.table
        expected = dict(table.select("holder", "seconds").iter_rows())
        expected["idle"] += expected.pop("idle_enough")
        found = {name: part[name] for name in PARTS}
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


def check_capacity(
    schedule: Schedule, row: int, answer: Why, *, has_started: bool, seen: Counter[str]
) -> None:
    """Fail if who had the machine differs, or does not add up."""
    job = schedule.jobs[row]
    asked = reference.asked_of(schedule, job, has_started=has_started)
    expected = reference.capacity(schedule, row, answer.submit_time, answer.until, asked)
    found = dict(answer.capacity.table.select("holder", "unit_seconds").iter_rows())
    is_whole = all(
        float(time).is_integer()
        for times in (answer.capacity.course["start_time"], answer.capacity.course["end_time"])
        for time in times
    )
    assert found == (expected if is_whole else pytest.approx(expected, rel=1e-9, abs=1e-9))
    total = answer.wait * answer.capacity.units
    parts = sum(answer.capacity.table["unit_seconds"])
    assert parts == (total if is_whole else pytest.approx(total, rel=1e-12))
    assert sum(answer.capacity.table["seconds"]) == pytest.approx(answer.wait, rel=1e-12)
    for holder in ("running", "before", "overtook"):
        rows = answer.capacity.jobs["holder"] == holder
        held = sum(answer.capacity.jobs["unit_seconds"].filter(rows))
        assert held == pytest.approx(found[holder], rel=1e-9, abs=1e-9)
    seen.update(holder for holder, seconds in found.items() if seconds)


def check_chain(schedule: Schedule, row: int, answer: Why, *, has_started: bool, seen: Counter[str]) -> None:
    """Fail if the chain differs, or links and rest are not the wait."""
    links = [*answer.chain.links.select("row", "start_time", "end_time").iter_rows()]
    if not has_started:
        assert (links, answer.chain.ending, answer.chain.rest) == ([], "not_started", answer.wait)
        return
    expected, ending = reference.chain(schedule, row, answer.submit_time)
    assert (links, answer.chain.ending) == (expected, ending)
    edges = [answer.until, *(begin for _, begin, _ in links)]
    assert [end for *_, end in links] == edges[:-1]
    assert answer.chain.rest == edges[-1] - answer.submit_time
    seen[ending] += 1


def check_periods(result: bl.Result, rng: Random) -> int:
    """Fail if the parts of waits in periods differ from those of each answer; return how many there are."""
    run = result._waits  # noqa: SLF001  # job by job
    first, last = float(run.submit_times.min()), float(run.ends.max())
    edges = np.append(np.arange(first, last, rng.uniform(0.15, 0.4) * (last - first)), last + 1)
    whole = {part["row"]: part for part in parts_of_waits(run).iter_rows(named=True)}
    for (row,), parts in parts_of_waits(run, edges).group_by("row"):
        course = result.why(whole[row]["job_id"]).capacity
        for part in parts.iter_rows(named=True):
            begin, end = edges[part["period"]], edges[part["period"] + 1]
            expected = dict.fromkeys(PARTS, 0.0)
            for piece in course.course.iter_rows(named=True):
                seconds = max(min(piece["end_time"], end) - max(piece["start_time"], begin), 0.0)
                for holder in reference.HOLDERS:
                    expected[holder.removesuffix("_enough")] += seconds * piece[holder] / course.units
            assert {name: part[name] for name in PARTS} == pytest.approx(expected, rel=1e-9, abs=1e-9)
            assert part["wait"] == pytest.approx(sum(expected.values()), rel=1e-9, abs=1e-9)
        assert sum(parts["wait"]) == pytest.approx(whole[row]["wait"], rel=1e-12)
    return len(whole)


def test_periods() -> None:
    """Waits that are cut into periods have in each what their holders had in it."""
    cut = 0
    for number in range(0, CASES, 24):
        result, rng = result_of(WAITING.sample(number)), random.Random(number)  # noqa: S311  # no secret
        with suppress(bl.ResultError):  # Nodes without a resource have no account.
            cut += check_periods(result, rng) if len(parts_of_waits(result._waits)) else 0  # noqa: SLF001
    assert cut > CASES // 4


def test_gates_of_all_jobs() -> None:
    """The seconds of each gate, limit and period are those of the rows of gates, and add up to the waits."""
    seen = Counter[str]()
    for number in (*range(0, 300, 15), 50, 100):
        case = EXPLAINED.sample(number)
        result = result_of(case, options=replace(options_of(case), explain=True))
        for of in ("gates", "limits"):
            table = result.waiting_time("job_id", of=of, every=40)
            for row in table.iter_rows(named=True):
                expected = Counter[str]()
                gates = result.gates.filter(result.gates["job_id"] == row["job_id"])
                for begin, end, gate, subject, detail in gates.select(GATE_COLUMNS).iter_rows():
                    name = f"resources_{detail}" if gate == "resources" else gate
                    if of == "limits":
                        name = f"limit_{subject}" if gate == "limit" else "other"
                    until = result._waits.ends[row["job_id"]]  # noqa: SLF001  # as the specification defines it
                    last = min(until if end is None else end, row["end_time"])
                    expected[name] += max(last - max(begin, row["start_time"]), 0.0)
                seen.update(name for name, seconds in expected.items() if seconds)
                parts = {name: row[name] for name in row if name not in WHOLE}
                assert sum(parts.values()) == row["wait"]
                # The rest are runs of the job itself.
                parts.pop("own_run" if of == "gates" else "other")
                assert parts == {name: expected[name] for name in parts}
    assert {"limit", "other", "resources_earlier", "resources_overtakers", "would_delay", "dependency"} <= {
        *seen
    }


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_answers_of_the_reference(chunk: int) -> None:
    """Capacity, chain and overtakers are those of the reference, and the parts add up to the wait."""
    seen = Counter[str]()
    for number in range(chunk, CASES, CHUNKS):
        seen += check(WAITING.sample(number))
    usual = {*reference.HOLDERS} - {"own_run", "unavailable"}
    assert all(seen[name] for name in (*usual, "reached", "at_once", "no_end", "overtakers"))


@pytest.mark.campaign
@pytest.mark.parametrize("chunk", range(CAMPAIGN // CAMPAIGN_CHUNK))
def test_more_answers(chunk: int) -> None:
    """The same holds for many more cases."""
    first = UNSEEN + chunk * CAMPAIGN_CHUNK
    for number in range(first, first + CAMPAIGN_CHUNK):
        check(WAITING.sample(number))
