"""A run in the terminal: the panel, and the lines where there is no terminal."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from batchlab.monitor.panel import Display, compact, line, panel

if TYPE_CHECKING:
    from batchlab.monitor.snapshot import Snapshot


class Terminal(io.StringIO):
    """Text that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def drawn(snapshot: Snapshot, width: int = 90) -> list[str]:
    console = Console(width=width, file=io.StringIO(), record=True)
    console.print(panel(snapshot))
    return console.export_text().splitlines()


def test_the_panel(snapshot: Snapshot) -> None:
    """Policy, workload, jobs, every resource, time, counts and cost, in a frame."""
    lines = drawn(snapshot)
    assert lines[0].startswith("╭─ fcfs  by hand ─")
    assert [line[2:8].strip() for line in lines[1:-1]] == ["jobs", "core", "mem", "gpu", "time", "", "cost"]
    text = "\n".join(lines)
    assert "0 %, 0 of 4 done" in text
    assert "62.5 % of 8 in use" in text
    assert "1 queued   2 running   0 completed" in text
    assert "2 s   5 × real time   CPU 0.5 s   123 MB" in text
    assert lines[-1].endswith(" running ─╯")
    assert {len(line) for line in lines} == {90}


def test_the_panel_is_not_wider_than_can_be_read(snapshot: Snapshot) -> None:
    """Nor than the terminal."""
    assert {len(line) for line in drawn(snapshot, 300)} == {100}
    assert {len(line) for line in drawn(snapshot, 60)} == {60}


def test_lines(snapshot: Snapshot) -> None:
    """The same in one line."""
    assert line(snapshot) == (
        "0 %, 0 of 4 jobs done at 10 s: 1 queued, 2 running, core 62.5 %, mem 43.8 %, gpu 100.0 %; "
        "2 s, 5 × real time, CPU 0.5 s, 123 MB"
    )
    assert "MB" not in line(replace(snapshot, memory=None))


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (12.34, "12.3"), (999, "999"), (1234, "1.23 k"), (5.6e7, "56 M"), (2e12, "2 T")],
)
def test_large_numbers_are_short(number: float, text: str) -> None:
    """Three digits and a unit."""
    assert compact(number) == text


def test_a_terminal_gets_a_panel(snapshot: Snapshot) -> None:
    """Which is drawn over itself, and stays at the end."""
    terminal = Terminal()
    with Display(terminal) as display:
        assert display.is_due()
        display.show(snapshot)
        assert not display.is_due()
        display.finish(replace(snapshot, phase="done"))
    # rich draws the last one once more when it stops.
    first, second, last = terminal.getvalue().split("fcfs")[1:]
    assert [" running \x1b" in frame for frame in (first, second, last)] == [True, False, False]
    assert [" done \x1b" in frame for frame in (first, second, last)] == [False, True, True]


def test_anything_else_gets_lines(snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not at once, for most runs are over soon; the last one in any case."""
    stream = io.StringIO()
    with Display(stream) as display:
        assert not display.is_due()
        monkeypatch.setattr("batchlab.monitor.panel._FIRST_LINE", -1.0)
        with Display(stream) as impatient:
            assert impatient.is_due()
            impatient.show(snapshot)
            assert not impatient.is_due()
        display.finish(snapshot)
    assert stream.getvalue() == f"{line(snapshot)}\n" * 2
