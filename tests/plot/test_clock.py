"""Dates on axes of time: on the machine's own clock, where days and months begin, and no two labels touch."""

from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import batchlab as bl
from batchlab.plot.canvas import dress
from batchlab.plot.scales import clock_of, instant, log1p_axis, log_axis, time_axis
from batchlab.workload.calendar_time import CalendarTime
from batchlab.workload.header import Header
from support.kth_sample import kth_results

SETH = CalendarTime(1027839845.0, ZoneInfo("Europe/Stockholm"))
DAY = 86_400.0


def labels(ax: Axes, which: str = "x") -> list[str]:
    """Draw, and give the labels of the ticks that are shown; no two of them may touch."""
    dress(ax, grid=None)
    FigureCanvasAgg(ax.figure).draw()  # type: ignore[no-untyped-call, arg-type]
    axis = ax.xaxis if which == "x" else ax.yaxis
    low, high = sorted(axis.get_view_interval())
    texts = [
        tick.label1
        for tick in axis.get_major_ticks()
        if low <= tick.get_loc() <= high and tick.label1.get_text()
    ]
    boxes = [text.get_window_extent() for text in texts]
    assert not any(one.overlaps(other) for at, one in enumerate(boxes) for other in boxes[:at])
    return [text.get_text() for text in texts]


def axes(low: float, high: float, width: float = 6.4) -> Axes:
    """Give axes that show a span."""
    ax = Figure(figsize=(width, 3), layout="constrained").add_subplot()
    ax.plot([low, high], [0, 1])
    ax.set_xlim(low, high)
    return ax


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (0.0005, ["09:04:10\n28 Jul 2002", "09:04:20", "09:04:30", "09:04:40"]),
        (0.01, ["09:06\n28 Jul 2002", "09:08", "09:10", "09:12", "09:14", "09:16", "09:18"]),
        (0.4, ["10:00\n28 Jul 2002", "12:00", "14:00", "16:00", "18:00"]),
        (0.9, ["12:00\n28 Jul 2002", "15:00", "18:00", "21:00", "00:00\n29 Jul", "03:00", "06:00"]),
        (5.0, ["29 Jul\n2002", "30 Jul", "31 Jul", "1 Aug", "2 Aug"]),
        (30.0, ["29 Jul\n2002", "5 Aug", "12 Aug", "19 Aug", "26 Aug"]),
        (400.0, ["Sep\n2002", "Nov", "Jan\n2003", "Mar", "May", "Jul", "Sep"]),
        (1300.0, ["Jan\n2003", "Jul", "Jan\n2004", "Jul", "Jan\n2005", "Jul", "Jan\n2006"]),
        (9000.0, ["2005", "2010", "2015", "2020", "2025"]),
    ],
)
def test_dates(days: float, expected: list[str]) -> None:
    """Ticks are where hours, days, weeks, months or years begin on the machine's clock."""
    ax = axes(0, days * DAY)
    assert time_axis(ax, SETH) == "date"
    found = labels(ax)
    assert found == expected


@pytest.mark.parametrize("width", [1.5, 4.0])
@pytest.mark.parametrize("days", [1e-4, 1e-3, 0.02, 0.05, 0.1, 0.2, 0.7, 3, 45, 900])
def test_dates_never_touch(days: float, width: float) -> None:
    """Labels have room on wide axes and on narrow ones."""
    ax = axes(100 * DAY, (100 + days) * DAY, width)
    time_axis(ax, SETH)
    assert labels(ax)


@pytest.mark.parametrize("width", [2.0, 8.0])
@pytest.mark.parametrize("greatest", [40.0, 3e4, 4e8])
@pytest.mark.parametrize("durations", [False, True])
def test_logarithmic_ticks_never_touch(greatest: float, width: float, durations: bool) -> None:
    """The ticks that are wanted less give way; the last is near the greatest value."""
    for scale in ("log", "log1p"):
        ax = axes(1.0, greatest, width)
        if scale == "log":
            log_axis(ax, "x", durations=durations)
        else:
            log1p_axis(ax, "x", greatest, durations=durations)
        found = labels(ax)
        assert len(found) >= 2, (scale, found)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (60.0, 400.0, ["1 min", "2 min", "5 min"]),
        (12.0, 600.0, ["15 s", "30 s", "1 min", "2 min", "5 min", "10 min"]),
        (1.0, 9e4, ["1 s", "10 s", "1 min", "10 min", "1 h", "6 h", "1 d"]),
    ],
)
def test_logarithmic_ticks_of_durations(low: float, high: float, expected: list[str]) -> None:
    """They are durations as people say them, also within one power of ten."""
    ax = axes(low, high)
    log_axis(ax, "x", durations=True)
    assert labels(ax) == expected


def test_a_step_of_the_clock() -> None:
    """At the end of summer time a day has 25 hours, and still begins at midnight."""
    night = CalendarTime(0.0, ZoneInfo("Europe/Stockholm"))
    october = 1035576000.0 - 12 * 3600
    ax = axes(october, october + 9 * DAY)
    time_axis(ax, night)
    dates = [night.local(tick) for tick in ax.get_xticks()]
    assert {(date.hour, date.minute) for date in dates} == {(0, 0)}


def test_clock_of_results() -> None:
    """The clock is that of the system, else of the header; there is none without one, or with several."""
    table = pl.DataFrame({"submit_time": [0.0], "run_time": [1.0], "tasks": [1]})
    headers = [Header.from_fields({"UnixStartTime": at, "TimeZone": 3600}) for at in (0, 86_400)]
    systems = [
        bl.System.homogeneous(nodes=1, resources={"core": 1}, start_time=start) for start in (0.0, 7200.0)
    ]

    def run(header: Header | None, system: bl.System) -> bl.Result:
        return bl.simulate(bl.Workload.from_table(table, header=header), system, "fcfs")

    here, other, started = (
        run(headers[0], systems[0]),
        run(headers[1], systems[0]),
        run(headers[1], systems[1]),
    )
    assert clock_of([run(None, systems[0])]) is None
    assert clock_of([here, other]) is None
    assert instant(clock_of([here, here]), 0.0) == "1 Jan 1970, 01:00"
    assert instant(clock_of([started]), 0.0) == "1 Jan 1970, 03:00"
    assert instant(None, 5400.0) == "1 h 30 min"


def test_plots_of_a_log_have_dates() -> None:
    """Every plot over time says so, and tells the date; axes stay in seconds."""
    results = kth_results()
    over_time = (bl.plot.utilisation, bl.plot.load, bl.plot.free_nodes, bl.plot.fragmentation)
    alone = (bl.plot.gantt, bl.plot.allocations, bl.plot.job_times, bl.plot.free_slots)
    for ax in (*(plot(results) for plot in over_time), *(plot(results[0]) for plot in alone)):
        assert ax.get_xlabel().startswith("date")
        assert any("Mar" in text for text in labels(ax))
        assert np.ptp(ax.get_xlim()) > DAY


@pytest.mark.parametrize("width", [3.0, 6.4])
def test_names_of_classes_never_touch(width: float) -> None:
    """Classes of wide machines have long names: as many are shown as have room."""
    tasks = [2**power for power in range(15)]
    workload = bl.Workload.from_table({"submit_time": [0] * 15, "run_time": [1] * 15, "tasks": tasks})
    ax = bl.plot.job_sizes(workload, ax=Figure(figsize=(width, 3), layout="constrained").add_subplot())
    found = labels(ax)
    assert found[0] == "1"
    assert len(found) >= 4
    places = ax.get_xticks()
    assert len({*np.diff(places)}) == 1
