"""Bars: what they say, and where they say it."""

from __future__ import annotations

import io
import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING

import batchlab as bl
from batchlab.generate import demo_system, demo_workload
from batchlab.monitor import panel

if TYPE_CHECKING:
    import pytest


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def clock(monkeypatch: pytest.MonkeyPatch, *times: float) -> None:
    """Let the clock show these times, one after the other."""
    monkeypatch.setattr(panel, "time", SimpleNamespace(monotonic=iter(times).__next__))


def test_on_a_terminal_it_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is written anew, five times a second at most, and ends with what is done."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    clock(monkeypatch, 0.0, 100.0, 100.1, 110.0, 110.1)
    bar = bl.ProgressBar("EASY")
    for done in (0, 1, 1_000, 4_000):
        bar(done, 4_000)
    lines = ["EASY: 0 of 4,000 done", "EASY: 1,000 of 4,000 done, 30 s left", "EASY: 4,000 of 4,000 done\n"]
    assert stream.getvalue() == "".join(f"\r\x1b[K{line}" for line in lines)


def test_elsewhere_it_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither in scripts whose output is kept, nor anything on standard output."""
    bl.simulate(demo_workload(50), demo_system(), "easy", progress=bl.ProgressBar())
    assert capsys.readouterr() == ("", "")


def test_in_a_notebook_it_is_shown_once_and_then_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """IPython shows objects by their HTML, and changes what is shown through a handle."""
    seen: list[str] = []

    def display(shown: bl.ProgressBar, *, display_id: bool) -> object:
        assert display_id
        seen.append("new")
        update(shown)
        return SimpleNamespace(update=update)

    def update(shown: bl.ProgressBar) -> None:
        seen.append(shown._repr_html_())  # what IPython asks for

    package, module = ModuleType("IPython"), ModuleType("IPython.display")
    vars(package).update(get_ipython=lambda: SimpleNamespace(kernel=object()))
    vars(module).update(display=display)
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    clock(monkeypatch, 0.0, 0.0, 1.0, 2.0)
    bar = bl.ProgressBar("<runs>")
    for done in (0, 1, 2):
        bar(done, 2)
    assert seen[0] == "new"
    assert seen[1:] == [
        '<div><progress value="0" max="2"></progress>&ensp;&lt;runs&gt;: 0 of 2 done</div>',
        '<div><progress value="1" max="2"></progress>&ensp;&lt;runs&gt;: 1 of 2 done, 1 s left</div>',
        '<div><progress value="2" max="2"></progress>&ensp;&lt;runs&gt;: 2 of 2 done</div>',
    ]
