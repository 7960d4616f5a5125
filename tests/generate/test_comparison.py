"""Comparisons with a log."""

from pathlib import Path

import pytest

import batchlab as bl
from batchlab.errors import WorkloadError
from batchlab.workload import Header

MONDAY = 1_609_718_400  # 4 January 2021, 0:00 UTC


def at(*times: float, run_time: float = 60.0) -> bl.Workload:
    """Give jobs of one processor, submitted so many seconds after that Monday began."""
    table = {"submit_time": times, "run_time": [run_time] * len(times), "tasks": [1] * len(times)}
    return bl.Workload.from_table(table, header=Header((f"; UnixStartTime: {MONDAY}",)))


def test_a_log_without_a_clock_has_that_of_its_copy() -> None:
    """A system's start time gives the clock of the copy, as AccaSim has it; the log has it too."""
    log = bl.generate.lublin(4000, nodes=32, seed=3)
    headerless = bl.Workload(log.jobs)
    began = 1027839845
    system = bl.System.homogeneous(nodes=32, resources={"core": 1}, start_time=began)
    made = bl.generate.like(headerless, 20_000, system=system, seed=1)
    assert made.header.unix_start_time == began
    assert bl.generate.compare(headerless, made).largest["weekdays"] < 2
    assert bl.generate.compare(made, headerless).largest["weekdays"] < 2


@pytest.mark.parametrize("name", ["log.swf", "log.csv"])
def test_an_option_gives_a_log_its_start(name: str, tmp_path: Path) -> None:
    """In the header, of which the rest stays."""
    log = bl.Workload(
        bl.generate.lublin(20, nodes=32).jobs, Header.from_fields({"UnixStartTime": 5, "MaxProcs": 8})
    )
    bl.write_workload(log, tmp_path / name)
    read = bl.read_swf if name.endswith("swf") else bl.read_table
    back = read(tmp_path / name, start_time=1027839845)
    assert back.header.unix_start_time == 1027839845
    assert back.header.max_processors == (8 if name.endswith("swf") else None)
    assert log.starting_at(7.5).header.lines == ("; MaxProcs: 8", "; UnixStartTime: 7")
    with pytest.raises(WorkloadError, match="start_time = 'now'; must be a number"):
        read(tmp_path / name, start_time="now")  # type: ignore[arg-type]  # on purpose


def test_shares_by_hand() -> None:
    """Two jobs on Monday and one on Tuesday, against one each."""
    found = bl.generate.compare(at(0, 3600, 86400), at(0, 86400))
    days = found.weekdays.rows()[:2]
    assert days == [
        ("Monday", pytest.approx(200 / 3), 50, pytest.approx(-50 / 3)),
        ("Tuesday", pytest.approx(100 / 3), 50, pytest.approx(50 / 3)),
    ]
    assert found.hours["real"].to_list()[:2] == pytest.approx([200 / 3, 100 / 3])
    assert found.largest == pytest.approx({"hours": 100 / 3, "weekdays": 50 / 3})


def test_months_need_a_year() -> None:
    """They are left out where the log covers less."""
    year = 366 * 86400
    assert bl.generate.compare(at(0, 300 * 86400), at(0)).months.is_empty()
    months = bl.generate.compare(at(0, 40 * 86400, year), at(0)).months
    assert months["real"].to_list()[:3] == pytest.approx([200 / 3, 100 / 3, 0])


def test_work_is_compared_in_three_digits() -> None:
    """Rounded run times are no difference, others are."""
    real = at(*range(50), run_time=100.0)
    assert bl.generate.compare(real, at(*range(50), run_time=100.2)).distance == 0
    assert bl.generate.compare(real, at(*range(50), run_time=101.0)).distance == 1
    found = bl.generate.compare(
        real, at(0, run_time=50.0), performance={"core": 2.0}, performance_of_real={"core": 1.0}
    )
    assert (found.distance, found.p_value) == (0, 1)


def test_it_is_told_in_lines() -> None:
    """One per kind of share, and one for the test."""
    lines = str(bl.generate.compare(at(0, 3600), at(0, 3600))).splitlines()
    assert lines == [
        "hours      differ by  0.00 points at most",
        "weekdays   differ by  0.00 points at most",
        "GFLOP      distance 0.0000, p = 1",
    ]


def test_nothing_cannot_be_compared() -> None:
    """Neither with a log, nor as one."""
    with pytest.raises(WorkloadError, match="generated: has no jobs"):
        bl.generate.compare(at(0), at())
