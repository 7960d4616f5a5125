"""Progress bars: what they show, of runs and of files that are read."""

from __future__ import annotations

import datetime as dt
import sys
import time
from typing import TYPE_CHECKING

from batchlab.cli import output
from batchlab.experiment.plan import Course, Underway
from support.terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def made_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Make standard error a terminal of 120 columns, on which bars appear at once."""
    made = Terminal()
    monkeypatch.setattr(sys, "stderr", made)
    monkeypatch.setattr(output, "_PATIENCE", 0.0)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    return made


def test_a_run_shows_date_jobs_rate_and_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulated date where it is known, else the day; a long policy's name is cut."""
    terminal = made_terminal(monkeypatch)
    begin = dt.datetime(2002, 7, 28, tzinfo=dt.UTC)
    with output.run_bar(
        "easy(order=sjf, allocator=best_fit)", lambda now: begin + dt.timedelta(0, now)
    ) as show:
        assert show is not None
        show(1000, 4000, 86_400.0)
    assert "easy(order=sjf, all…" in terminal.written
    assert "1,000/4,000" in terminal.written
    assert "/s 2002-07-29" in terminal.written
    assert "left" in terminal.written
    with output.count_bar("easy", lambda _now: None) as count:
        assert count is not None
        count(1000, 3 * 86_400.0)
    assert "1,000 jobs done" in terminal.written
    assert "day 3" in terminal.written


def test_reading_shows_how_much_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the position in the file, which the system tells."""
    terminal = made_terminal(monkeypatch)
    monkeypatch.setattr(output, "_REFRESH", 0.02)
    path = tmp_path / "a_large_log.swf"
    path.write_bytes(b"x" * 4_000_000)
    with output.reading_bar(path), path.open("rb") as file:
        file.read(1_000_000)
        said = "/4.0 MB" if sys.platform == "linux" else "reading"
        deadline = time.monotonic() + 20
        while said not in terminal.written and time.monotonic() < deadline:
            time.sleep(0.02)
    assert "reading a_large_log" in terminal.written
    assert said in terminal.written


def test_nobody_looks_at_a_file(tmp_path: Path) -> None:
    """Without a terminal there is no bar, and no thread for it."""
    with output.reading_bar(tmp_path), output.run_bar("easy", lambda _now: None) as show:
        assert show is None


def test_an_experiment_shows_runs_jobs_and_date(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runs that are over, the rate of all jobs, and the date of the run that is behind."""
    terminal = made_terminal(monkeypatch)
    later, earlier = (
        Underway(jobs, 4000, days * 86_400.0, dt.datetime(2002, 7, 28 + days, tzinfo=dt.UTC))
        for jobs, days in ((2000, 2), (1000, 1))
    )
    with output.experiment_bar("seth") as show:
        assert show is not None
        show(Course(1, 5, 7000, (later, earlier)))
    assert "1/5 runs" in terminal.written
    assert "35,000 jobs/s 2002-07-29" in terminal.written
    assert "left" in terminal.written
