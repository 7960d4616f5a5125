"""Courses over time: what a mean over a window is, and when windows are taken."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import batchlab as bl
from batchlab.plot.over_time import Line, Steps, means, over_time
from batchlab.plot.scales import Values
from support.plotted_results import with_costs
from support.results import Job, make_result


def test_means_are_exact() -> None:
    """The mean over a window is its integral over its width; outside the steps the value is 0."""
    steps = Steps(np.array([0.0, 10.0, 30.0]), np.array([2.0, 5.0, 0.0]))
    np.testing.assert_allclose(means(steps, np.array([0.0, 20.0, 40.0])), [(20 + 50) / 20, 50 / 20])
    np.testing.assert_allclose(means(steps, np.array([-10.0, 0.0, 5.0])), [0.0, 2.0])


def test_means_of_nothing() -> None:
    """No steps, no value."""
    assert means(Steps(np.zeros(0), np.zeros(0)), np.array([0.0, 1.0, 2.0])).tolist() == [0, 0]


def test_replications_are_averaged() -> None:
    """The line of replications is the mean of their steps, at the steps of both."""
    one, other = Steps(np.array([0.0, 10.0]), np.array([4.0, 0.0])), Steps(np.array([5.0]), np.array([2.0]))
    ax = over_time(Figure().add_subplot(), [Line("both", (one, other), 0)], Values("things"))
    assert ax.lines[0].get_xdata().tolist() == [0, 5, 10]  # type: ignore[union-attr]
    assert ax.lines[0].get_ydata().tolist() == [2, 3, 1]  # type: ignore[union-attr]


def test_long_courses_are_means_and_say_so() -> None:
    """Above some hundred steps, means are drawn, and the axis tells over which time."""
    times = np.arange(2000.0) * 60
    ax = over_time(
        Figure().add_subplot(), [Line("long", (Steps(times, np.ones(2000)),), 0)], Values("things")
    )
    assert ax.get_xlabel() == "simulated time (means over 15 min)"
    assert len(ax.lines[0].get_xdata()) < 200  # type: ignore[arg-type]


def test_utilisation_and_load() -> None:
    """Utilisation is what jobs hold, load what they ask for in all, as shares of the capacity."""
    jobs = [Job(0, 0, 10, nodes=((0, 2), (1, 2)), tasks=4), Job(0, 10, 20, nodes=((0, 1),), tasks=1)]
    result = with_costs(make_result(jobs))
    assert bl.plot.utilisation(result).lines[0].get_ydata().tolist() == [0.5, 0.125, 0.0]  # type: ignore[union-attr]
    assert bl.plot.load(result).lines[0].get_ydata().tolist() == [0.625, 0.125, 0.0]  # type: ignore[union-attr]


def test_queue_at_dispatch_instants() -> None:
    """The queue counts what the scheduler finds, jobs that it starts at once included."""
    jobs = [Job(0, 0, 10, nodes=((0, 1),)), Job(5, 10, 20, nodes=((0, 1),)), Job(5, 10, 20, nodes=((1, 1),))]
    ax = bl.plot.queue_size(make_result(jobs), kind="cdf", log=False, over="instants")
    # At 0 one job, at 5 two, at 10 two, at 20 none.
    assert sorted(ax.lines[0].get_xdata().tolist()) == [0, 1, 2, 2]  # type: ignore[union-attr]


def test_lengths_of_the_queue_weigh_by_time() -> None:
    """The diamond of the box is the mean of the tables; the curve has the share of time of each length."""
    jobs = [Job(0, 0, 10, nodes=((0, 1),)), Job(5, 10, 20, nodes=((0, 1),)), Job(8, 20, 30, nodes=((0, 1),))]
    result = make_result(jobs)
    curve = bl.plot.queue_size(result, kind="cdf", log=False)
    # None from 0 to 5 and from 20 on, one from 5 to 8 and from 10 to 20, two from 8 to 10.
    assert np.asarray(curve.lines[0].get_xydata()).tolist() == [[0, 0.5], [1, pytest.approx(28 / 30)], [2, 1]]
    box = bl.plot.queue_size(result, log=False)
    (diamond,) = (line for line in box.lines if line.get_marker() == "D")
    assert np.asarray(diamond.get_xdata()).tolist() == [bl.metrics.queue_length(result.jobs)["mean"]]


@pytest.mark.parametrize(("kind", "log"), [("cdf", True), ("cdf", False)])
def test_slowdowns_are_those_of_the_metrics(kind: str, log: bool) -> None:
    """The curve goes through the metric's values."""
    jobs = [Job(0, 0, 100, nodes=((0, 1),)), Job(0, 100, 200, nodes=((0, 1),))]
    result = make_result(jobs)
    ax = bl.plot.slowdown(result, kind=kind, log=log)  # type: ignore[arg-type]
    assert ax.lines[0].get_xdata().tolist() == bl.metrics.bounded_slowdown(result.jobs).to_list()  # type: ignore[union-attr]


def test_ends_of_a_course_are_not_diluted() -> None:
    """The first window and the last count only the time that was simulated."""
    times = np.arange(700.0) * 100 + 2000
    ax = over_time(Figure().add_subplot(), [Line("busy", (Steps(times, np.ones(700)),), 0)], Values("things"))
    np.testing.assert_allclose(np.asarray(ax.lines[0].get_ydata()), 1.0)
    seen = np.asarray(ax.lines[0].get_xdata(), np.float64)
    assert (seen[0], seen[-1]) == (times[0], times[-1])


def test_a_violin_of_whole_numbers_is_not_pinched() -> None:
    """Between 0, 1 and 2, which are as frequent, it is about as wide as there."""
    jobs = [Job(at, at + 1, at + 2, nodes=((0, 1),)) for at in (0, 0, 0, 10, 10, 20)]
    ax = bl.plot.queue_size(make_result(jobs), kind="violin", log=False, over="instants")
    outline = np.asarray(ax.collections[0].get_paths()[0].vertices)
    inside = (outline[:, 0] > 0.3) & (outline[:, 0] < 2)
    widths = np.abs(outline[inside][:, 1])
    assert widths.min() > 0.4 * widths.max()
