"""A progress bar for notebooks and terminals."""

from __future__ import annotations

import sys
import time
from typing import Any

from batchlab.core.markup import Html, element
from batchlab.core.units import format_duration

__all__ = ["ProgressBar"]

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
