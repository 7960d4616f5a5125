"""When time 0 was, what the local clock shows, and what says so first."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest

import batchlab as bl
from batchlab.workload import Header
from batchlab.workload.calendar_time import CalendarTime

if TYPE_CHECKING:
    from collections.abc import Callable

SETH = {"UnixStartTime": 1027839845, "TimeZoneString": "Europe/Stockholm"}
HOUR, DAY = 3600.0, 86_400.0


def of(fields: dict[str, object], start_time: float = 0.0) -> CalendarTime:
    """Take the calendar from the fields of a header and a system."""
    return CalendarTime.of(Header.from_fields(fields), start_time)


def test_the_system_takes_precedence_over_the_log() -> None:
    """Then comes the log, then midnight UTC."""
    assert (of(SETH, 1e9).origin, of(SETH).origin) == (1e9, 1027839845)
    assert str(of(SETH).beginning) == "2002-07-28 09:04:05+02:00"
    unknown = of({})
    assert (unknown.origin, unknown.zone, unknown.is_known) == (0.0, dt.UTC, False)
    assert unknown.beginning is None
    assert of({"UnixStartTime": 0}).is_known


@pytest.mark.parametrize(
    ("zone", "ahead"),
    [
        ({"TimeZoneString": "Europe/Stockholm", "TimeZone": 7}, 7200),
        ({"TimeZoneString": "US/Nowhere", "TimeZone": -3600}, -3600),
        ({"TimeZone": 19_800}, 19_800),
        ({"TimeZone": 10**9}, 0),
        ({}, 0),
    ],
)
def test_time_zones(zone: dict[str, object], ahead: int) -> None:
    """A known zone, else seconds ahead of UTC, else UTC: of dates, arrays and the clock of the kernel."""
    calendar = of({"UnixStartTime": 1027839845, **zone})
    date = calendar.date(0.5)
    assert date is not None
    assert date.utcoffset() == dt.timedelta(seconds=ahead)
    assert calendar.read(np.array([1e9 + 0.5]))[0] == 10**9 + ahead
    (first, seconds), *_ = calendar.local_clock(0.0, 1.0)
    assert (first, seconds % DAY) == (0.0, (1027839845 + ahead) % DAY)


def test_summer_time_ends_within_the_log_and_after_it() -> None:
    """The clock goes back in October 2002 at 01:00 UTC, forward in March 2003, and so on for 20 years."""
    clock = of(SETH).local_clock(0.0, 100 * DAY)
    changes = [dt.datetime.fromtimestamp(1027839845 + time, dt.UTC) for time, _ in clock[1:3]]
    assert [str(date) for date in changes] == ["2002-10-27 01:00:00+00:00", "2003-03-30 01:00:00+00:00"]
    assert [after - before for (_, before), (_, after) in pairwise(clock[:3])] == [-3600, 3600]
    assert 40 <= len(clock) <= 42


OFF = bl.SleepState("off", power=5)


def on_from(header: Header | None, start_time: float = 0.0) -> tuple[float | None, tuple[str, ...]]:
    """Return when nodes wake for `keep` at 08:00, and the warnings."""
    table = {"submit_time": [0.0], "run_time": [20_000.0], "tasks": [1]}
    workload = bl.Workload.from_table(table, header=header)
    system = bl.System.homogeneous(nodes=4, resources={"core": 1}, sleep_states=(OFF,), start_time=start_time)
    result = bl.simulate(workload, system, "fcfs", sleep='timeout(60, keep="08:00=3 10:00=1")')
    states = result.power_states
    woken = states.filter((states["state"] == "on") & (states["start_time"] > 0))["start_time"]
    return (None if woken.is_empty() else float(woken.to_list()[0])), result.warnings


@pytest.mark.parametrize(
    ("fields", "start_time", "at"),
    [
        # 05:04:05 UTC is 07:04:05 in Stockholm.
        ({"UnixStartTime": 1027832645, "TimeZoneString": "Europe/Stockholm"}, 0.0, 3355.0),
        ({"UnixStartTime": 1027832645, "TimeZone": -3600}, 0.0, 4 * HOUR - 245),
        ({"UnixStartTime": 1027832645}, 0.0, 3 * HOUR - 245),
        ({"TimeZoneString": "Europe/Stockholm"}, 1027832645.0, 3355.0),
        ({"UnixStartTime": 1, "TimeZoneString": "Europe/Stockholm"}, 1027832645.0, 3355.0),
    ],
)
def test_nodes_are_kept_by_the_clock_of_the_log(
    fields: dict[str, object], start_time: float, at: float
) -> None:
    """So many wake at 08:00 in the time zone of the log; the system's start takes precedence."""
    found, warnings = on_from(Header.from_fields(fields), start_time)
    assert found == at
    assert not warnings


def test_an_unknown_time_of_day_is_told() -> None:
    """Time 0 is midnight UTC then."""
    found, warnings = on_from(None)
    assert found is None
    assert [line for line in warnings if "taken for midnight UTC" in line]


@pytest.mark.parametrize("given", [lambda: on_from(Header.from_fields({"UnixStartTime": 2**60}))])
def test_beyond_the_calendar(given: Callable[[], object]) -> None:
    """A date that no calendar has is no error."""
    given()
