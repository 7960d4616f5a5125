"""Plots of jobs that change their size, and of the platform that they run on."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection

import batchlab as bl
from batchlab.plot.results import jobs_of
from support.plotted_results import resized, simulated
from support.results import Job, make_result

STEPS = bl.Application(
    [bl.Phase([bl.tasks.Compute(flops=12e9, computation_pattern="all_ranks")], iterations=4)]
)


@pytest.fixture(scope="module")
def grown() -> bl.Result:
    """One job on two of four hosts: 6 s on two, then 9 s on all."""
    platform = bl.Platform.crossbar(4, speed="1Gf", bandwidth="1GBps", latency=0)
    first = {"application": STEPS, "job_type": "malleable", "tasks": 2, "tasks_min": 1, "tasks_max": 4}

    class Grows(bl.Scheduler):
        every_instant = True

        def schedule(self, view: bl.View) -> None:
            for job in view.queue:
                view.start(job)
            for job in view.at_scheduling_point:
                view.resize(job, 4)

    workload = bl.Workload.from_jobs([bl.JobDescription(**first)])  # type: ignore[arg-type]
    return bl.simulate(workload, bl.System.of(platform), Grows(), sensing=bl.Sensing(3))


def corners(collection: object) -> list[list[list[float]]]:
    assert isinstance(collection, PolyCollection)
    return [np.asarray(path.vertices).tolist() for path in collection.get_paths()]


def test_gantt(grown: bl.Result) -> None:
    """The job has two nodes, then four; the line between is drawn over, where the nodes stayed its own."""
    boxes, seams = bl.plot.gantt(grown).collections
    spans = [
        (min(x for x, _ in box), max(x for x, _ in box), max(y for _, y in box)) for box in corners(boxes)
    ]
    assert spans == [(0, 6, 2), (6, 15, 4)]
    assert isinstance(seams, LineCollection)
    assert [np.asarray(each).tolist() for each in seams.get_segments()] == [[[6, 0], [6, 2]]]


def test_allocations(grown: bl.Result) -> None:
    """One shape per job, two cores high until 6 s, four until the end."""
    [shape] = corners(bl.plot.allocations(grown).collections[0])
    assert {(0, 0), (0, 2), (6, 2), (6, 4), (15, 4), (15, 0)} <= {(x, y) for x, y in shape}
    assert max(y for _, y in shape) == 4


def test_allocations_of_many_instants() -> None:
    """However many instants there are, the layers of each are as high as what is held."""
    result = simulated("easy", 1500)
    assert len(np.unique(jobs_of(result)["start_time"])) > 1200
    shapes = corners(bl.plot.allocations(result, by="job").collections[0])
    assert max(y for shape in shapes for _, y in shape) <= result.system.total["core"]
    assert len(shapes) > 1000


def test_job_times_in_order_of_submission() -> None:
    """A bar from submission to end, and over it one from start to end; ids on the axis."""
    jobs = [Job(10, 30, 40, nodes=((0, 1),)), Job(0, 5, 20, nodes=((1, 1),)), Job(3, state="rejected")]
    ax = bl.plot.job_times(make_result(jobs))
    lives, runs = (
        [(min(x for x, _ in box), max(x for x, _ in box)) for box in corners(each)] for each in ax.collections
    )
    assert (lives, runs) == ([(0, 20), (10, 40)], [(5, 20), (30, 40)])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["2", "1"]


def test_job_times_of_many() -> None:
    """Of so many that bars would be too thin, those around the longest queue are shown; the axis says it."""
    result = simulated("easy", 1000)
    ax = bl.plot.job_times(result)
    assert ax.get_ylabel() == "job, 150 of 1,000"
    longest = result.timeline.sort("queued", descending=True)["time"][0]
    submitted = [min(x for x, _ in box) for box in corners(ax.collections[0])]
    assert len(submitted) == 150
    assert submitted[0] < longest < submitted[-1]


def test_job_times_of_a_span() -> None:
    """Jobs that were submitted in a time span may be asked for."""
    result = simulated("easy", 1000)
    ax = bl.plot.job_times(result, start=3600, end=7200)
    chosen = result.jobs.filter(result.jobs["submit_time"].is_between(3600, 7200))
    assert ax.get_ylim()[1] == chosen.height > 3


@pytest.mark.parametrize("span", [{"start": 0.0}, {"end": 1e9}, {"start": 0.0, "end": 1e9}])
def test_job_times_of_a_span_are_all_drawn(span: dict[str, float]) -> None:
    """However many jobs were submitted in it."""
    ax = bl.plot.job_times(simulated("easy", 1000), **span)  # type: ignore[arg-type]  # times by name
    assert len(corners(ax.collections[0])) == ax.get_ylim()[1] == 1000
    assert ax.get_ylabel() == "job"


def test_platform_activity(grown: bl.Result) -> None:
    """What was seen at a look holds for the time before it; parts that never work are left out."""
    [line] = bl.plot.platform_activity(grown, window=0).lines
    assert np.asarray(line.get_data()).tolist() == [[0, 3, 6, 9, 12, 15], [0.5, 0.5, 1, 1, 1, 1]]
    several = bl.plot.platform_activity({"a": resized(), "b": resized("equipartition")})
    labels = [line.get_label() for line in several.lines]
    assert "a, CPUs" in labels
    assert "b, writing" in labels
    assert not any("GPU" in str(label) for label in labels)


def test_nobody_looked() -> None:
    """A run without sensing has nothing to show, and the error says how to get it."""
    with pytest.raises(bl.ResultError, match=r"the platform was not sensed under easy; pass sensing="):
        bl.plot.platform_activity(simulated("easy"))
    with pytest.raises(bl.ResultError, match=r"of = 'disk'"):
        bl.plot.platform_activity(resized(), of="disk")  # type: ignore[arg-type]


def test_outliers() -> None:
    """Dots stand for jobs beyond the whiskers, and for no others."""
    ax = bl.plot.turnaround(simulated("easy"), outliers=True, log=False)
    dots = next(line for line in ax.lines if line.get_marker() == "o")
    turnaround = bl.metrics.turnaround(simulated("easy").jobs).to_numpy()
    low, high = np.percentile(turnaround, (5, 95))
    beyond = np.unique(turnaround[(turnaround < low) | (turnaround > high)])
    assert np.asarray(dots.get_xdata()).tolist() == beyond.tolist()
