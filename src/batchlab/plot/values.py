"""The axis of values of a course over time: its label, its scale, and the format of its ticks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from batchlab.plot.canvas import INK
from batchlab.plot.scales import log1p_axis, log1p_ticks

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt
    from matplotlib.axes import Axes

    Floats: TypeAlias = npt.NDArray[np.float64]

__all__ = ["Values", "percent", "plain"]

_LEAST = 0.1  # of logarithmic axes
_APART = 0.3  # of a lane, ticks
_FAR = 1.5


def plain(value: float) -> str:
    """Format a number for a tick."""
    return f"{value:,.10g}"


def percent(share: float) -> str:
    """Format a share for a tick, in per cent."""
    return f"{100 * share:,.3g} %" if abs(share) < 1 else f"{100 * share:,.0f} %"


@dataclass(frozen=True)
class Values:
    """The values of courses.

    Parameters
    ----------
    label
        The label of the axis, with the unit unless ticks have it.
    scale
        ``"linear"``, ``"log1p"`` (logarithmic above 1, from 0), or ``"log"`` (from 0.1; smaller values are
        drawn there).
    write
        Returns the text of a tick.
    top
        The greatest value of the axis [default: the greatest of the courses].
    mark
        A value that is marked by a line.
    """

    label: str
    scale: Literal["linear", "log1p", "log"] = "linear"
    write: Callable[[float], str] = plain
    top: float | None = None
    mark: float | None = None

    def apply(self, ax: Axes) -> None:
        """Apply this axis of values to axes."""
        ax.set_ylabel(self.label)
        high = ax.get_ylim()[1] if self.top is None else 1.02 * self.top
        if self.mark is not None:
            ax.axhline(self.mark, color=INK, linewidth=0.8, zorder=1.5)
            high = max(high, 1.05 * self.mark)
        if self.scale == "log":
            ax.set_yscale("log")
            ax.yaxis.set_minor_formatter(NullFormatter())
            ax.set_ylim(_LEAST, max(high, 10 * _LEAST))
        elif self.scale == "log1p":
            log1p_axis(ax, "y", high)
            ax.set_ylim(0, max(high, 1e-9))
        else:
            ax.set_ylim(0, max(high, 1e-9))
        if self.write is not plain:
            ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: self.write(value)))

    def reach(self, greatest: float) -> tuple[float, list[float]]:
        """Return the end of a lane's scale, and its ticks up to that end."""
        greatest = max(greatest, self.mark or 0.0, 1e-9)
        if self.scale == "linear":
            ticks = MaxNLocator(2, steps=[1, 2, 5, 10]).tick_values(0, self.top or greatest)
            # A scale ends at its data if the next tick is far beyond.
            end = self.top or (max(ticks) if max(ticks) <= _FAR * greatest else greatest)
            return float(end), [float(tick) for tick in ticks if 0 <= tick <= end]
        if self.scale == "log":
            decades = [_LEAST * 10.0**power for power in range(12)]
        else:
            decades = log1p_ticks(greatest)[0]
        end = next((tick for tick in decades if tick >= greatest), decades[-1])
        return end, self._apart([tick for tick in decades if tick <= end], end)

    def place(self, values: Floats, end: float) -> Floats:
        """Return the positions of values on a scale with this end, from 0 to 1."""
        if self.scale == "linear":
            return np.clip(values / end, 0, 1)
        if self.scale == "log1p":
            return np.asarray(np.clip(np.log1p(values) / np.log1p(end), 0, 1))
        above = np.log(np.maximum(values, _LEAST) / _LEAST) / np.log(end / _LEAST)
        return np.asarray(np.clip(above, 0, 1))

    def _apart(self, ticks: list[float], end: float) -> list[float]:
        """Keep the first and the last of ticks, and those in between that have room."""
        places = self.place(np.array(ticks), end)
        kept = [0, len(ticks) - 1] if len(ticks) > 1 else [0]
        order = ([ticks.index(self.mark)] if self.mark in ticks else []) + [*range(len(ticks))]
        for number in order:
            if all(abs(places[number] - places[other]) >= _APART for other in kept):
                kept.append(number)
        return [ticks[number] for number in sorted(kept)]
