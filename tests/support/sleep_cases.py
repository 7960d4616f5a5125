"""Random cases whose nodes sleep."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reference import NodeSleep, Outcome, SleepState
from support.schedule_cases import Case, grouped
from support.schedule_runs import (
    outcomes_of,
    result_of,
)

if TYPE_CHECKING:
    import random

    import batchlab as bl
    from reference.sleep import Interval

__all__ = ["sleeping", "sleeping_differences"]

NAMES = ("nap", "suspend", "off")
MINUTE = 60.0


def sleeping(case: Case, rng: random.Random) -> Case:
    """Let nodes sleep: some groups in no state, others in up to three, with transitions of any length."""
    if not case.machine.groups:
        case = grouped(case, rng)
    unit = min((job.run_time for job in case.jobs if job.run_time), default=1.0) or 1.0
    longest = rng.choice((0, 1, 3, 12))
    groups = tuple(random_states(rng, unit, longest) for _ in case.machine.groups)
    if not any(groups):
        groups = (random_states(rng, unit, longest, count=3), *groups[1:])
    return replace(
        case,
        machine=replace(case.machine, sleep_states=groups),
        sleep=random_rules(rng, case, groups, unit),
    )


def random_states(
    rng: random.Random, unit: float, longest: int, count: int | None = None
) -> tuple[SleepState, ...]:
    """Give the sleep states of a group, in whole units."""
    count = rng.choice((0, 1, 1, 1, 2, 3)) if count is None else count
    names = [name for name in NAMES if name in rng.sample(NAMES, count)]

    def seconds() -> float:
        return unit * rng.randint(0, longest)

    def watts() -> float:
        return float(rng.randint(0, 200))

    return tuple(SleepState(name, watts(), seconds(), watts(), seconds(), watts()) for name in names)


def random_rules(
    rng: random.Random, case: Case, groups: tuple[tuple[SleepState, ...], ...], unit: float
) -> NodeSleep:
    """Give idle times that grow with the depth of the states, and how many nodes stay on."""
    after: dict[str, float] = {}
    seconds = unit * rng.choice((0, 1, 1, 4))
    known = {state.name for states in groups for state in states}
    for name in NAMES:
        if name in known and (rng.random() < 0.8 or not after):
            after[name] = seconds
            seconds += unit * rng.randint(1, rng.choice((2, 10)))
    count = len(case.machine.capacity)
    first = min(job.submit_time for job in case.jobs)
    keep: tuple[tuple[float, float], ...] = ()
    is_daily = False
    if rng.random() < 0.3:
        keep = ((first - unit, float(rng.randint(0, count))),)
    elif rng.random() < 0.4:
        is_daily = rng.random() < 0.4
        times = rng.sample(range(24 * 60), 3) if is_daily else rng.sample(range(40), 3)
        numbers = [float(rng.choice((0, 1, count, rng.randint(0, count + 1)))) for _ in times]
        moments = [MINUTE * time if is_daily else first + unit * time for time in sorted(times)]
        keep = tuple(zip(moments, numbers, strict=True))
    return NodeSleep(
        after=after,
        keep=keep,
        daily=is_daily,
        wake=rng.choice(("job", "job", "queue")),
        counted=rng.random() < 0.3,
        prefer_on=rng.random() < 0.5,
    )


def sleeping_differences(case: Case, policy: bl.Policy | None = None) -> list[str]:
    """List where kernel and reference differ: jobs, nodes, power states, and when nodes were on."""
    states: list[Interval] = []
    ready: dict[int, float] = {}
    expected = case.expected(power_states=states, launched=ready)
    result = result_of(case, policy)
    found: list[Outcome] = outcomes_of(case, result)
    lines = [
        f"job {job.row}: expected {one}, got {other}"
        for job, one, other in zip(case.jobs, expected, found, strict=True)
        if one != other
    ]
    table = result.power_states.select("node", "state", "start_time", "end_time").rows()
    lines += [f"power state: expected {each}" for each in states if each not in table]
    lines += [f"power state: got {each}" for each in table if each not in states]
    waking = result.outcome.waking_time
    assert waking is not None
    for row, on in ready.items():
        start = expected[row].start_time
        if start is not None and expected[row].end_time is not None and on - start != waking[row]:
            lines.append(f"job {row}: expected nodes on at {on}, got {start + waking[row]}")
    return lines
