"""The clock of submissions."""

import numpy as np
import polars as pl
import pytest

import batchlab as bl
from batchlab.workload.header import Header


def at(seconds: list[float], **fields: object) -> bl.Workload:
    """Give jobs submitted then, with a header."""
    table = {"submit_time": seconds, "run_time": [1.0] * len(seconds), "tasks": [1] * len(seconds)}
    return bl.Workload.from_table(pl.DataFrame(table), header=Header.from_fields(fields))


def greatest(workload: bl.Workload, per: str, **options: object) -> str:
    """Name the class that has the most jobs."""
    ax = bl.plot.arrivals(workload, per=per, **options)  # type: ignore[arg-type]
    heights = [patch.get_height() for patch in ax.patches]  # type: ignore[attr-defined]
    return _names(per)[heights.index(max(heights))]


def _names(per: str) -> list[str]:
    if per == "hour":
        return [str(hour) for hour in range(24)]
    days, months = "Mon Tue Wed Thu Fri Sat Sun", "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"
    return (days if per == "day" else months).split()


def test_without_a_header() -> None:
    """Time 0 is a Thursday's midnight in January."""
    workload = at([0.0, 1.0, 7200.0])
    assert [greatest(workload, per) for per in ("hour", "day", "month")] == ["0", "Thu", "Jan"]


def test_a_workload_without_a_clock_has_that_of_the_others() -> None:
    """Else a log and its copy would stand on different clocks."""
    table = {"submit_time": [0.0, 10.0], "run_time": [1, 1], "tasks": [1, 1]}
    headerless = bl.Workload.from_table(table)
    monday = headerless.starting_at(4 * 86_400)
    axes = bl.plot.arrivals({"log": headerless, "copy": monday}, per="day")
    first, second = (np.asarray(line.get_ydata()) for line in axes.get_lines())
    assert first.tolist() == second.tolist()
    assert first.max() > 0


@pytest.mark.parametrize(
    ("fields", "hour"),
    [
        # 2002-07-28 07:04:05 UTC, when Stockholm has summer time.
        ({"UnixStartTime": 1027839845}, "7"),
        ({"UnixStartTime": 1027839845, "TimeZoneString": "Europe/Stockholm"}, "9"),
        ({"UnixStartTime": 1027839845, "TimeZone": 3600}, "8"),
        ({"UnixStartTime": 1027839845, "TimeZoneString": "Mars/Olympus", "TimeZone": 3600}, "8"),
    ],
)
def test_the_machines_own_clock(fields: dict[str, object], hour: str) -> None:
    """The header's zone counts, else its shift; an unknown zone does no harm."""
    assert greatest(at([0.0], **fields), "hour") == hour


def test_an_origin_of_ones_own() -> None:
    """An origin that is given counts alone, on the machine's own clock."""
    workload = at([0.0], UnixStartTime=1027839845, TimeZoneString="Europe/Stockholm")
    assert greatest(workload, "day", start_time=3 * 86_400) == "Sun"


def test_months_are_weighed_by_their_time_in_the_log() -> None:
    """One job a day gives each month its equal share, however often the log has it."""
    daily = at([86_400.0 * day for day in range(500)], UnixStartTime=1_000_000_000)
    heights = [patch.get_height() for patch in bl.plot.arrivals(daily, per="month").patches]  # type: ignore[attr-defined]
    np.testing.assert_allclose(heights, 1 / 12, rtol=0.05)
    assert sum(heights) == pytest.approx(1)
