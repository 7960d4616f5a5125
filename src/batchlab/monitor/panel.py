"""Live views in the terminal and in notebooks: a panel that is redrawn, plain lines, and a progress bar."""

from __future__ import annotations

import math
import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self, TextIO

from batchlab.core.late import rich_console, rich_live, rich_panel
from batchlab.core.late import rich_constrain as constrain
from batchlab.core.late import rich_progress_bar as progress_bar
from batchlab.core.late import rich_table as table
from batchlab.core.late import rich_text as text
from batchlab.core.markup import Html, element
from batchlab.core.units import format_count, format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from rich.console import RenderableType
    from rich.live import Live

    from batchlab.monitor.snapshot import Snapshot


__all__ = ["Display", "ProgressBar", "compact", "line", "panel"]


_FRAME, _LINE = 0.125, 10.0
_FIRST_LINE = 1.0
_WIDEST = 100
_ALWAYS = ("queued", "running", "completed")


class Display:
    """Shows snapshots on a stream; use it in a ``with`` block.

    Parameters
    ----------
    stream
        A terminal gets a panel; any other stream gets a line every ten seconds and one at the end.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._stack = ExitStack()
        self._live: Live | None = None
        self._next = time.monotonic()

    def __enter__(self) -> Self:
        if not self._stream.isatty():
            self._next += _FIRST_LINE
            return self

        console = rich_console.Console(file=self._stream)
        # Redrawn on new snapshots only; a refresh thread would redraw the same panel.
        live = rich_live.Live(
            console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
        )
        self._live = self._stack.enter_context(live)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def is_due(self) -> bool:
        """Return whether it is time for an update."""
        return time.monotonic() >= self._next

    def show(self, snapshot: Snapshot) -> None:
        """Show a snapshot."""
        if self._live is None:
            self._stream.write(line(snapshot) + "\n")
            self._stream.flush()
            self._next = time.monotonic() + _LINE
        else:
            self._live.update(panel(snapshot), refresh=True)
            self._next = time.monotonic() + _FRAME

    def finish(self, snapshot: Snapshot) -> None:
        """Show the last snapshot, which remains above later output."""
        self.show(snapshot)
        self._stack.close()


def line(snapshot: Snapshot) -> str:
    """Describe the progress of a run in one line.

    Parameters
    ----------
    snapshot
        The run.

    Returns
    -------
    str
        The text, without a line end.
    """
    counts, shares = snapshot.status.counts, snapshot.status.utilisation
    used = ", ".join(f"{name} {_percent(share)}" for name, share in shares.items() if not math.isnan(share))
    return (
        f"{_share_done(snapshot)} of {format_count(snapshot.jobs, 'job')} done at {_moment(snapshot)}: "
        f"{counts['queued']:,} queued, {counts['running']:,} running, {used}; {', '.join(_costs(snapshot))}"
    )


def panel(snapshot: Snapshot) -> RenderableType:
    """Draw the progress of a run.

    Parameters
    ----------
    snapshot
        The run.

    Returns
    -------
    rich renderable
        The panel, at most 100 columns wide.
    """
    rows = table.Table.grid(padding=(0, 2), expand=True)
    rows.add_column(style="dim", no_wrap=True)
    rows.add_column(ratio=1)
    for label, value in _rows(snapshot):
        rows.add_row(label, value)
    box = rich_panel.Panel(
        rows,
        title=text.Text.assemble((snapshot.facts.policy, "bold"), (f"  {snapshot.facts.title}", "dim")),
        title_align="left",
        subtitle=text.Text(snapshot.phase, "dim"),
        subtitle_align="right",
        border_style={"running": "cyan", "done": "green", "stopped": "red"}[snapshot.phase],
    )
    return constrain.Constrain(box, _WIDEST)


def _rows(snapshot: Snapshot) -> Iterator[tuple[str, RenderableType]]:

    yield "jobs", _bar(snapshot.share_done, f"{_share_done(snapshot)} of {snapshot.jobs:,} done", "cyan")
    for name, total in snapshot.facts.system.total.items():
        share = snapshot.status.utilisation[name]
        if not math.isnan(share):
            yield name, _bar(share, f"{_percent(share)} of {total:,} in use", "magenta")
    yield "time", text.Text(_moment(snapshot))
    counts = snapshot.status.counts
    # The main states are always shown, others only if jobs are in them.
    shown = [name for name, number in counts.items() if name != "loaded" and (number or name in _ALWAYS)]
    yield (
        "",
        text.Text("   ").join(
            text.Text.assemble((f"{counts[name]:,}", "bold"), f" {name}") for name in shown
        ),
    )
    if drained := int(snapshot.status.drained.sum()):
        yield "nodes", text.Text(f"{drained:,} of {snapshot.facts.system.nodes:,} drained", "red")
    yield "cost", text.Text("   ".join(_costs(snapshot)))


def _bar(share: float, told: str, style: str) -> RenderableType:

    row = table.Table.grid(padding=(0, 2))
    row.add_column(width=32)
    row.add_column(no_wrap=True)
    bar = progress_bar.ProgressBar(total=1.0, completed=share, complete_style=style, finished_style=style)
    row.add_row(bar, told)
    return row


def _share_done(snapshot: Snapshot) -> str:
    return f"{math.floor(100 * snapshot.share_done)} %, {snapshot.status.finished:,}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _moment(snapshot: Snapshot) -> str:
    date = snapshot.date
    known = "" if date is None else f" ({date:%Y-%m-%d %H:%M %Z})"
    return f"{format_duration(snapshot.simulated)}{known}"


def _costs(snapshot: Snapshot) -> Iterator[str]:
    """Yield the elapsed time, the speed, the CPU time and the memory."""
    yield f"{format_duration(round(snapshot.elapsed, 1))}"
    yield f"{compact(snapshot.speed)} × real time"
    yield f"CPU {format_duration(round(snapshot.cpu_time, 1))}"
    if snapshot.memory is not None:
        yield f"{snapshot.memory / 1e6:,.0f} MB"


def compact(number: float) -> str:
    """Format a large number with three digits: ``"12.3 k"``, ``"4.56 M"``."""
    for size, unit in ((1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"


_TICK = 0.2


class ProgressBar:
    """Shows progress and remaining time; pass it as an argument ``progress``.

    In a notebook, it is a bar below the cell; on a terminal, a line on standard error; otherwise nothing. One
    object shows one run or experiment.

    Parameters
    ----------
    title
        The title.

    Examples
    --------
    >>> import batchlab as bl
    >>> workload = bl.Workload.from_table({"submit_time": [0.0], "run_time": [60.0], "tasks": [2]})
    >>> system = bl.System.homogeneous(nodes=2, resources={"core": 1})
    >>> result = bl.simulate(workload, system, "easy", progress=bl.ProgressBar("EASY"))
    """

    def __init__(self, title: str = "") -> None:
        self._title = title
        self._began = self._shown_at = time.monotonic()
        self._done, self._total = 0, 0
        self._place: Any = None

    def __call__(self, done: int, total: int) -> None:
        """Show the progress, at most five times a second and at the end.

        Parameters
        ----------
        done, total
            Counts of jobs or runs.
        """
        now = time.monotonic()
        if self._total == 0:
            self._began = now
        elif done < total and now - self._shown_at < _TICK:
            return
        self._done, self._total, self._shown_at = done, total, now
        self._show()

    def __repr__(self) -> str:
        title = f"{self._title}: " if self._title else ""
        return f"{title}{self._done:,} of {self._total:,} done{self._remaining()}"

    def _repr_html_(self) -> str:
        bar = element("progress", value=self._done, max=max(self._total, 1))
        return element("div", bar, Html("&ensp;"), repr(self))

    def _remaining(self) -> str:
        elapsed = self._shown_at - self._began
        if not 0 < self._done < self._total or elapsed < 1:
            return ""
        return f", {format_duration(round(elapsed * (self._total - self._done) / self._done))} left"

    def _show(self) -> None:
        display = _notebook_display()
        if display is None:
            if sys.stderr.isatty():
                end = "\n" if self._done >= self._total else ""
                sys.stderr.write(f"\r\x1b[K{self!r}{end}")
                sys.stderr.flush()
        elif self._place is None:
            self._place = display(self, display_id=True)
        else:
            self._place.update(self)


def _notebook_display() -> Any:  # noqa: ANN401  # IPython's `display` has no types where it is not installed
    """Return the function that displays an object below the cell of a notebook; None outside notebooks."""
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    # IPython in a terminal has a shell without a kernel.
    return None if getattr(running, "kernel", None) is None else sys.modules["IPython.display"].display
