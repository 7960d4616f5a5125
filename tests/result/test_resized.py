"""Jobs that were resized and interrupted: every table and measure against sums over what they held."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import batchlab as bl
from batchlab import metrics
from batchlab.platform import SharedStorage
from batchlab.plot.placement import placements
from support.results import Job, make_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from batchlab.result.result import Result

Stretch = tuple[float, float | None, int]
"""Since when, until when (None: still), and on how many of the nodes, one core each."""
Run = tuple[Stretch, ...]
"""What a job held from its start to its end."""

NODES = 4


def result_of(jobs: Sequence[tuple[float, Sequence[Run], bool]], now: float = 99.0) -> Result:
    """Put a result together from what each job held, run by run: (submitted, runs, waits in the end)."""
    made, cut, resized = [], [], []
    for row, (submit, runs, waits) in enumerate(jobs):
        for run in runs:
            resized += [(row, *stretch) for stretch in run[:-1]]
        done = runs if waits else runs[:-1]
        cut += [(row, run[0][0], run[-1][1], run[-1][2]) for run in done]
        if waits or not runs:
            made.append(Job(submit, state="queued", run=1.0))
            continue
        last = runs[-1]
        state = "running" if last[-1][1] is None else "completed"
        made.append(Job(submit, last[0][0], last[-1][1], on(last[-1][2]), state, run=1.0))
    result = make_result(made, nodes=NODES, cores=len(jobs))
    logs = {
        "interruptions": columns(cut),
        "resizes": columns(sorted(resized, key=lambda each: each[2] or 0.0)),
    }
    outcome = replace(result.outcome, now=now, tables={**result.outcome.tables, **logs})
    return replace(result, outcome=outcome)


def on(count: int) -> tuple[tuple[int, int], ...]:
    return tuple((node, 1) for node in range(count))


def columns(
    log: Sequence[tuple[int, float, float | None, int]],
) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]:
    counts = np.array([each[3] for each in log], np.int64)
    return {
        "row": np.array([each[0] for each in log], np.uint32),
        "start_time": np.array([each[1] for each in log], np.float64),
        "end_time": np.array([each[2] for each in log], np.float64),
        "saved": np.zeros(len(log)),
        "placement_offsets": np.cumsum([0, *counts]),
        "placement_nodes": np.concatenate([np.zeros(0), *map(np.arange, counts)]).astype(np.uint32),
        "placement_tasks": np.ones(counts.sum(), np.uint32),
        "allocated": counts.reshape(-1, 1),
    }


GROWN = [(0.0, [((0, 6, 2), (6, 15, 4))], False)]
CUT = [(0.0, [((0, 6, 2), (6, 12, 4)), ((12, 36, 2),)], False)]


def test_allocations_follow_each_other() -> None:
    """A run that was cut short after a resize had its last nodes since that resize, not since its start."""
    allocations = result_of(CUT).allocations
    assert allocations.select("start_time", "end_time", "allocated_core").rows() == [
        (0, 6, 2),
        (6, 12, 4),
        (12, 36, 2),
    ]


def test_placements_do_not_overlap() -> None:
    """What is drawn of such a run on a node begins where the resize gave the node."""
    placed = placements(result_of(CUT))
    third = placed.node == 2
    assert (placed.start[third].tolist(), placed.end[third].tolist()) == ([6], [12])


def test_timeline_of_a_resize() -> None:
    """What is used changes at the resize, and the number of running jobs does not."""
    rows = result_of(GROWN).timeline.select("time", "running", "used_core").rows()
    assert rows == [(0, 1, 2), (6, 1, 4), (15, 0, 0)]


def test_restart_and_resize_at_one_instant() -> None:
    """A run that ends as soon as it began leaves the resizes of the next run alone."""
    jobs = [(0.0, [((0, 5, 1),), ((5, 5, 3),), ((5, 5, 2), (5, 9, 1), (9, 12, 4))], False)]
    result = result_of(jobs)
    used = result.timeline.select("time", "used_core").rows()
    assert used == [(0, 1), (5, 1), (9, 4), (12, 0)]
    assert result.metrics()["utilisation"] == {"core": pytest.approx((5 + 4 + 12) / (NODES * 12))}


def test_interrupted_run_counts_while_its_job_waits() -> None:
    """What a run had before a resize counts if the run was cut short, though the job has not ended."""
    other = (0.0, [((0, 12, 1),)], False)
    result = result_of([(0.0, [((0, 6, 2), (6, 12, 4))], True), other])
    assert metrics.utilisation(result.jobs, result.system, result.interruptions, result.resizes) == {
        "core": pytest.approx((2 * 6 + 4 * 6 + 12) / (8 * 12))
    }


def test_loss_counts_what_a_job_started_with() -> None:
    """A job that started on one core did not wait for the four that it had in the end."""
    first = (0.0, [((0, 10, 1),)], False)
    grown = (0.0, [((10, 12, 1), (12, 20, 4))], False)
    result = result_of([first, grown])
    assert result.metrics()["loss_of_capacity"] == {"core": pytest.approx(10 / (8 * 20))}


def test_slowdowns_without_run_times() -> None:
    """A run time that is not given is the time from start to end, here of tables by hand."""
    times = {"submit_time": [0.0, 0.0], "start_time": [30.0, 5.0], "end_time": [60.0, None]}
    jobs = pl.DataFrame({**times, "run_time": pl.Series([None, None], dtype=pl.Float64), "tasks": [2, 2]})
    assert metrics.slowdown(jobs).to_list() == [2, None]
    assert metrics.bounded_slowdown(jobs, 40).to_list() == [1.5, None]
    assert metrics.per_processor_slowdown(jobs).to_list() == [1, None]


moments = st.integers(0, 12).map(float)


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[float, list[Run], bool]]:
    """Draw what some jobs went through; much happens at one instant."""
    jobs = []
    for _ in range(draw(st.integers(1, 4))):
        times = sorted(draw(st.lists(moments, min_size=1, max_size=8)))
        submit, *times = times
        runs: list[Run] = []
        while len(times) > 1:
            length = draw(st.integers(2, len(times)))
            edges, times = times[:length], times[length:]
            sizes = draw(st.lists(st.integers(1, NODES), min_size=length - 1, max_size=length - 1))
            runs.append(tuple(zip(edges[:-1], edges[1:], sizes, strict=True)))
        ending = draw(st.sampled_from(["ended", "runs", "waits"])) if runs else "ended"
        if ending == "runs":
            *before, (since, _, size) = runs[-1]
            runs[-1] = (*before, (since, None, size))
        jobs.append((submit, runs, ending == "waits"))
    return jobs


@given(histories())
def test_sums_agree(jobs: list[tuple[float, list[Run], bool]]) -> None:
    """Used amounts are those of the allocations at every instant, and so is the mean use of the machine."""
    result = result_of(jobs)
    held = [(row, *stretch) for row, (_, runs, _) in enumerate(jobs) for run in runs for stretch in run]
    told = result.allocations.select("row", "start_time", "end_time", "allocated_core").rows()
    assert sorted(map(str, told)) == sorted(str((row, start, end, size)) for row, start, end, size in held)
    for time, running, used in result.timeline.select("time", "running", "used_core").iter_rows():
        there = [each for each in held if each[1] <= time and (each[2] is None or time < each[2])]
        assert (running, used) == (len(there), sum(each[3] for each in there))
    ended = [run for _, runs, _ in jobs for run in runs if run[-1][1] is not None]
    amount = sum(size * (end - start) for run in ended for start, end, size in run if end is not None)
    assert result.metrics()["utilisation"]["core"] == wanted(jobs, amount)  # type: ignore[index]


def wanted(jobs: list[tuple[float, list[Run], bool]], amount: float) -> object:
    """Divide by the capacity from the first submission to the last end."""
    ends = [run[-1][1] for _, runs, _ in jobs for run in runs if run[-1][1] is not None]
    span = max(ends) - min(submit for submit, _, _ in jobs) if ends else 0.0
    return pytest.approx(amount / (NODES * len(jobs) * span)) if span else None


def test_storage_is_looked_at() -> None:
    """The links of the parallel file system are looked at unasked, one by one."""
    storage = SharedStorage("PFS", read="2GBps", write="2GBps")
    platform = bl.Platform.crossbar(2, speed="1Gf", bandwidth="1GBps", storage=storage)
    reads = bl.Application([bl.Phase([bl.tasks.Read(bytes=8e9, pattern="uniform")])])
    workload = bl.Workload.from_jobs([bl.JobDescription(application=reads, tasks=1)])
    result = bl.simulate(workload, bl.System.of(platform), "fcfs", sensing=bl.Sensing(3))
    assert result.utilisation["storage"].rows() == [(0, 0, 0), (3, 0.5, 0), (6, 0.5, 0)]
    assert result.utilisation["links"].rows() == [(0, 0, 0), (3, 1e9, 0), (6, 1e9, 0)]
