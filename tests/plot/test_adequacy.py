"""Plots of comparisons: curves, bands and points are the numbers that they show."""

from typing import TYPE_CHECKING

import numpy as np
import pytest
from matplotlib.figure import Figure

import batchlab as bl
from batchlab.errors import ResultError
from support.streams import first_case, shifted, stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

COMPARISON = bl.adequacy.compare(*first_case())
PLOTS = (bl.plot.adequacy_by_jobs, bl.plot.adequacy_differences, bl.plot.adequacy_starts)


@pytest.mark.parametrize("plot", PLOTS)
def test_axes(plot: "Callable[..., Axes]") -> None:
    """Axes in and out, named; with a title only where one is asked for."""
    ax = Figure().add_subplot()
    assert plot(COMPARISON, ax=ax) is ax
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    assert ax.get_title(loc="left") == ""
    assert plot(COMPARISON, title="Adequacy").get_title(loc="left") == "Adequacy"


@pytest.mark.parametrize("plot", PLOTS)
def test_one_job_and_no_difference(plot: "Callable[..., Axes]") -> None:
    """Little is drawn too."""
    jobs = stream(tasks=[1])
    ax = plot(bl.adequacy.compare(jobs, jobs))
    ax.get_figure(root=True).savefig("/dev/null", format="svg")  # type: ignore[union-attr]


def test_curves() -> None:
    """P by k; one line per comparison, under its label."""
    ax = bl.plot.adequacy_by_jobs({"one": COMPARISON, "other": COMPARISON})
    assert [line.get_label() for line in ax.lines] == ["one", "other"]
    assert np.array_equal(ax.lines[0].get_xydata(), np.column_stack([range(1, 6), COMPARISON.curve]))
    assert [line.get_label() for line in bl.plot.adequacy_by_jobs([COMPARISON, COMPARISON]).lines] == [
        "1",
        "2",
    ]


def test_reference() -> None:
    """A number is a line; a reference is its band, its median, and its greatest value."""
    assert bl.plot.adequacy_by_jobs(COMPARISON.against(40.0)).lines[-1].get_ydata() == [40, 40]
    assert len(bl.plot.adequacy_by_jobs(COMPARISON).lines) == 1
    runs = [shifted(first_case()[0], range(5), late) for late in (0, 10, 30)]
    ax = bl.plot.adequacy_by_jobs(COMPARISON, reference=bl.adequacy.reference(runs))
    labels = [line.get_label() for line in ax.lines]
    assert labels == ["their median", "P", "reference 30 s"]
    assert set(np.asarray(ax.lines[0].get_ydata())) == {20}
    assert ax.collections[0].get_label() == "3 reference pairs"
    pair = bl.plot.adequacy_by_jobs(COMPARISON, reference=bl.adequacy.reference(runs[:2]))
    assert pair.lines[0].get_label() == "the reference pair"


def test_logarithmic() -> None:
    """Both scales, where there is anything above 0."""
    ax = bl.plot.adequacy_by_jobs(COMPARISON, log=True)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    same = bl.adequacy.compare(first_case()[0], first_case()[0])
    assert bl.plot.adequacy_by_jobs(same, log=True).get_yscale() == "linear"


def test_long_curves_are_thinned() -> None:
    """First and last job are there, and not much more than can be seen."""
    jobs = stream(tasks=[1] * 20_000)
    comparison = bl.adequacy.compare(jobs, shifted(jobs, range(0, 20_000, 9)))
    drawn = np.asarray(bl.plot.adequacy_by_jobs(comparison).lines[0].get_xdata())
    assert (drawn[0], drawn[-1]) == (1, 20_000)
    assert 1000 < len(drawn) <= 2000
    for plot in PLOTS[1:]:
        assert all(line.get_rasterized() for line in plot(comparison).lines[1:])


def test_differences() -> None:
    """Of residence times and waits, above 0 where the model's are longer."""
    lines = {line.get_label(): line for line in bl.plot.adequacy_differences(COMPARISON).lines}
    assert np.asarray(lines["turnaround"].get_ydata()).tolist() == [0, 60, 0, -60, 1]
    assert np.asarray(lines["wait"].get_ydata()).tolist() == [0, 60, 0, -60, 0]
    ticks = bl.plot.adequacy_differences(COMPARISON, log=True).get_yticks()
    assert [*ticks] == [-10, -1, 0, 1, 10]


def test_starts() -> None:
    """Real against model; those that are the same have a colour of their own."""
    lines = bl.plot.adequacy_starts(COMPARISON).lines
    assert [line.get_label() for line in lines[1:]] == ["the same (3)", "different (2)"]
    assert np.asarray(lines[2].get_xydata()).tolist() == [[180, 240], [190, 130]]
    waits = bl.plot.adequacy_starts(COMPARISON, of="wait").lines
    assert np.asarray(waits[2].get_xydata()).tolist() == [[150, 210], [100, 40]]


def test_arguments_are_checked() -> None:
    """Comparisons, references and words."""
    for wrong in (7, [7], "P", {"a": 1}):
        with pytest.raises(ResultError, match=r"comparison = .*; must be a Comparison"):
            bl.plot.adequacy_by_jobs(wrong)  # type: ignore[arg-type]
    with pytest.raises(ResultError, match="comparisons is empty"):
        bl.plot.adequacy_by_jobs({})
    with pytest.raises(ResultError, match="comparison = 3; must be a Comparison"):
        bl.plot.adequacy_differences(3)  # type: ignore[arg-type]
    with pytest.raises(ResultError, match=r"of = 'end'; .* Known: residence, start, wait"):
        bl.plot.adequacy_starts(COMPARISON, of="end")  # type: ignore[arg-type]
    with pytest.raises(ResultError, match="reference = -1; must be a finite number of seconds >= 0"):
        bl.plot.adequacy_by_jobs(COMPARISON, reference=-1)
