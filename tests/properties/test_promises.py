"""What backfilling rules promise: no job delays those that the rule protects."""

from dataclasses import replace
from math import inf

from hypothesis import given
from hypothesis import strategies as st

from reference import Job, Outcome
from reference.allocators import Allocator
from reference.room import room_beside
from support.large_cases import QUICK, big_cases
from support.schedule_cases import Case
from support.schedule_runs import outcomes


def with_estimates(case: Case, *, exact: bool) -> Case:
    """Let estimates be exact, or never too short; no job takes zero time."""

    def mended(job: Job) -> Job:
        run_time = max(job.run_time, 1.0)
        return replace(
            job, run_time=run_time, requested_time=run_time if exact else max(run_time, job.requested_time)
        )

    return replace(case, jobs=tuple(mended(job) for job in case.jobs))


def promised(case: Case, found: list[Outcome]) -> list[Outcome]:
    """Leave out the nodes where they are chosen event by event, as the jobs of the instant come and go."""
    if case.order_at_instant != "event_by_event":
        return found
    return [replace(outcome, placement=[]) for outcome in found]


@QUICK
@given(big_cases(orders=("fcfs",), backfills=("conservative",), conditions=False), st.floats(0, 1))
def test_conservative_protects_everyone(case: Case, share: float) -> None:
    """With exact estimates later jobs change nothing for earlier ones: neither starts nor nodes.

    A plan that comes true as made leaves nothing to compress, and later jobs take only what is left in it.
    """
    exact = with_estimates(case, exact=True)
    queue = sorted(exact.jobs, key=lambda job: (job.submit_time, job.row))
    ordered = tuple(replace(job, row=row) for row, job in enumerate(queue))
    earlier = ordered[: int(share * len(ordered))]
    everyone = outcomes(replace(exact, jobs=ordered))
    alone = outcomes(replace(exact, jobs=earlier))
    assert promised(case, everyone[: len(earlier)]) == promised(case, alone)


@QUICK
@given(big_cases(orders=("fcfs",), backfills=("easy",), conditions=False))
def test_easy_protects_the_head(case: Case) -> None:
    """Where no estimate is too short, the head starts by the shadow time that it has on becoming the head.

    By then it fits on what running jobs leave, and nothing that is backfilled may change that.
    """
    sound = replace(with_estimates(case, exact=False), order_at_instant="completions_first")
    started = [
        (job, outcome)
        for job, outcome in zip(sound.jobs, outcomes(sound), strict=True)
        if outcome.start_time is not None
    ]
    queue = sorted(started, key=lambda pair: (pair[0].submit_time, pair[0].row))
    head_since = -inf
    for place, (job, outcome) in enumerate(queue):
        head_since = max(head_since, job.submit_time)
        # What starts in the same instant after the head in the queue is backfilled already.
        ahead = [each for each in queue[:place] if holds(each[1], head_since)]
        backfilled = [each for each in queue[place + 1 :] if holds(each[1], head_since, started_before=True)]
        assert time_of(outcome) <= shadow_time(sound, job, [*ahead, *backfilled], head_since)
        head_since = max(head_since, time_of(outcome))


def time_of(outcome: Outcome) -> float:
    """Give the start of a job that started."""
    assert outcome.start_time is not None
    return outcome.start_time


def holds(outcome: Outcome, instant: float, *, started_before: bool = False) -> bool:
    """Tell whether a job runs at an instant, or did before it."""
    start, end = time_of(outcome), outcome.end_time
    assert end is not None
    return (start < instant if started_before else start <= instant) and end > instant


def shadow_time(case: Case, head: Job, running: list[tuple[Job, Outcome]], now: float) -> float:
    """Give the earliest instant at which the head fits if jobs end as estimated."""
    ends = [(time_of(outcome) + job.requested_time, job, outcome.placement) for job, outcome in running]
    instants = sorted({now, *(end for end, _, _ in ends)})
    allocator = Allocator(case.allocator, case.seed)

    def fits(instant: float) -> bool:
        remaining = [(job, placement) for end, job, placement in ends if end > instant]
        return allocator.place(head, room_beside(case.machine, remaining)) is not None

    return next(filter(fits, instants))
