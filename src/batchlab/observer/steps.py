"""Step functions of time: each value holds from its time until the next; intervals of observation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf, isfinite
from os import PathLike
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from batchlab import _kernel
from batchlab.core import rules
from batchlab.errors import ObserverError, one_line, reason_of, shown
from batchlab.workload.columns import UNREADABLE
from batchlab.workload.validation import as_polars, is_frame

__all__ = [
    "MOST_LOOKS",
    "Course",
    "Sampled",
    "Source",
    "Steps",
    "steps_of",
    "too_many",
]


Floats = npt.NDArray[np.float64]


class Steps:
    """A step function.

    Parameters
    ----------
    times
        Seconds, strictly increasing, at least one.
    values
        One value per time, which holds from that time on. The first value also holds before the first time.

    Raises
    ------
    ObserverError
        If times do not increase, or a number is not finite.

    Examples
    --------
    >>> price = Steps([0, 3600, 7200], [0.20, 0.50, 0.30])
    >>> price.at(5000), price.average(0, 7200)
    (0.5, 0.35)
    """

    def __init__(self, times: npt.ArrayLike, values: npt.ArrayLike) -> None:
        self.times = np.atleast_1d(np.asarray(times, dtype=np.float64))
        self.values = np.atleast_1d(np.asarray(values, dtype=np.float64))
        if self.times.shape != self.values.shape or self.times.ndim != 1 or not len(self.times):
            rule = "one value per time, and at least one"
            raise ObserverError(
                f"{self.times.shape} times and {self.values.shape} values; there must be {rule}."
            )
        wrong = ~(np.isfinite(self.times) & np.isfinite(self.values))
        wrong[1:] |= np.diff(self.times) <= 0
        if wrong.any():
            at = int(wrong.argmax())
            found = f"time {self.times[at]:g}, value {self.values[at]:g}"
            raise ObserverError(f"step {at}: {found}; numbers must be finite, and times must rise.")

    def at(self, time: float) -> float:
        """Return the value at a time."""
        place = int(np.searchsorted(self.times, time, side="right")) - 1
        return float(self.values[max(place, 0)])

    def next_change(self, time: float) -> float:
        """Return the next time at which the value may change; infinite after the last."""
        place = int(np.searchsorted(self.times, time, side="right"))
        return float(self.times[place]) if place < len(self.times) else inf

    def between(self, begin: float, end: float) -> tuple[Floats, Floats]:
        """Return the steps from `begin` to `end`: their times, beginning with `begin`, and their values."""
        first, last = np.searchsorted(self.times, [begin, end], side="right").tolist()
        inner = self.times[first:last]
        inner = inner[inner < end]
        values = [self.at(begin), *self.values[first : first + len(inner)].tolist()]
        return np.array([begin, *inner.tolist()]), np.array(values)

    def lowest(self, begin: float, end: float) -> float:
        """Return the lowest value over [begin, end], or the value at `begin` if `end` is not after it."""
        return float(self.between(begin, end)[1].min())

    def integral(self, begin: float, end: float) -> float:
        """Return the integral of value × seconds from `begin` to `end`."""
        times, values = self.between(begin, end)
        return float(np.dot(values, np.diff(times, append=end)))

    def integrals(self, bounds: Floats) -> Floats:
        """Return the integral from each time to the next; the times must increase."""
        inner = self.times[(self.times > bounds[0]) & (self.times < bounds[-1])]
        times = np.union1d(bounds, inner)
        values = self.values[np.maximum(np.searchsorted(self.times, times[:-1], side="right") - 1, 0)]
        added_up = np.concatenate([[0.0], np.cumsum(values * np.diff(times))])
        return np.diff(added_up[np.searchsorted(times, bounds)])

    def average(self, begin: float, end: float) -> float:
        """Return the mean from `begin` to `end`, or the value at `begin` if `end` is not after it."""
        return self.integral(begin, end) / (end - begin) if end > begin else self.at(begin)


class Sampled(Steps):
    """A function of time, sampled periodically; each value holds until the next sample.

    Samples are at multiples of the interval. The first is at 0, or after a call of `begin` at the last
    multiple not after its time. The value of the first sample also holds before it.
    """

    def __init__(self, function: Callable[[float], float], every: float) -> None:
        self.function = function
        self.every = float(rules.check(ObserverError, "every", every, rules.SECONDS_ABOVE_0))
        self._first = 0
        super().__init__(0.0, self._look(0))

    def begin(self, time: float) -> None:
        """Set the time of the first sample, seconds."""
        self._first = int(time // self.every)

    def _look(self, number: int) -> float:
        value = self.function(number * self.every)
        try:
            found = float(value)
        except (TypeError, ValueError):
            found = inf
        if not np.isfinite(found):
            when = f"{number * self.every:g} s"
            raise ObserverError(f"the signal's function gave {shown(value)} at {when}; must be a number.")
        return found

    def _number(self, time: float) -> int:
        number = max(int(time // self.every), self._first)
        # Rounding may put a multiple of `every` on the wrong side.
        return number + (((number + 1) * self.every) <= time)

    def at(self, time: float) -> float:
        """Return the value at a time."""
        return self._look(self._number(time))

    def next_change(self, time: float) -> float:
        """Return the time of the next sample."""
        return (self._number(time) + 1) * self.every

    def between(self, begin: float, end: float) -> tuple[Floats, Floats]:
        """Return the steps from `begin` to `end`: their times, beginning with `begin`, and their values."""
        first = self._number(begin)
        numbers = [first]
        while (numbers[-1] + 1) * self.every < end:
            numbers.append(numbers[-1] + 1)
        times = [begin, *(number * self.every for number in numbers[1:])]
        return np.array(times), np.array([self._look(number) for number in numbers])


class Course:
    """A step function at the present time; signals offer it to policies."""

    __slots__ = ("steps", "time")

    def __init__(self, steps: Steps, time: float) -> None:
        self.steps = steps
        self.time = time

    @property
    def now(self) -> float:
        """The present value."""
        return self.steps.at(self.time)

    @property
    def next_change(self) -> float:
        """The next time at which the value may change; infinite if never."""
        return self.steps.next_change(self.time)

    def at(self, time: float) -> float:
        """Return the value at a time."""
        return self.steps.at(time)

    def lowest(self, begin: float, end: float) -> float:
        """Return the lowest value from `begin` to `end`."""
        return self.steps.lowest(begin, end)

    def average(self, begin: float, end: float) -> float:
        """Return the mean from `begin` to `end`."""
        return self.steps.average(begin, end)

    def __repr__(self) -> str:
        return f"<Course: {self.now:g} at {self.time:g} s>"


Source = float | Steps | Callable[[float], float] | pl.DataFrame | Mapping[str, object] | str | PathLike[str]
"""Types from which `steps_of` builds a step function."""


def steps_of(source: Source, what: str, every: float | None = None) -> Steps:
    """Build a step function.

    Parameters
    ----------
    source
        A number, a step function, a table with the columns ``time`` (s) and ``value``, a CSV file with these
        columns, or a function of time.
    what
        Name of the argument, for errors.
    every
        Interval of sampling for a function, seconds.

    Returns
    -------
    Steps
        The function.

    Raises
    ------
    ObserverError
        If the source is invalid; the message names the file or argument.
    """
    try:
        return _steps_of(source, every)
    except ObserverError as error:
        raise ObserverError(f"{what}: {error}") from None


def _steps_of(source: Source, every: float | None) -> Steps:
    if isinstance(source, Steps):
        return source
    if callable(source):
        if every is None:
            raise ObserverError("a function of time needs every = seconds between two looks at it.")
        return Sampled(source, every)
    if isinstance(source, bool) or rules.number_of(source) is not None:
        return Steps(0.0, source)  # type: ignore[arg-type]  # it is a number
    table = table_of(source, ("time", "value"))
    return Steps(table["time"].to_numpy(), table["value"].to_numpy())


def table_of(source: object, columns: tuple[str, ...]) -> pl.DataFrame:
    """Read a table with columns of numbers.

    Parameters
    ----------
    source
        A data frame, a mapping of columns, or the path of a CSV file.
    columns
        The required columns.

    Returns
    -------
    polars.DataFrame
        These columns, as Float64; missing values are NaN.

    Raises
    ------
    ObserverError
        If the source is not a table, lacks a column, or contains anything other than numbers.
    """
    where = ""
    if isinstance(source, str | PathLike):
        where = f"{source}: "
        try:
            table = pl.read_csv(Path(source).read_bytes(), infer_schema_length=None)
        except (OSError, *UNREADABLE) as error:
            raise ObserverError(f"{where}{reason_of(error)}; must be a CSV file.") from None
    elif isinstance(source, Mapping) or is_frame(source):
        try:
            table = pl.DataFrame(source, strict=False) if isinstance(source, Mapping) else as_polars(source)
        except UNREADABLE as error:
            raise ObserverError(f"{reason_of(error)}; must be columns of equal length.") from None
    else:
        raise ObserverError(f"{shown(source)}; must be a table or the path of a CSV file.")
    for name in columns:
        if name not in table.columns:
            known = one_line(", ".join(table.columns), 200)
            raise ObserverError(f"{where}there is no column {name!r}; it has {known or 'none'}.")
        if not (table[name].dtype.is_numeric() or table[name].dtype == pl.Null):
            raise ObserverError(f"{where}column {name!r} is {table[name].dtype}; must hold numbers.")
    return table.select(pl.col(columns).cast(pl.Float64).fill_null(float("nan")))


MOST_LOOKS: int = _kernel.MOST_LOOKS
"""Maximum number of observations of one kind in a run."""


def too_many(begin: float, end: float, interval: float) -> str | None:
    """Return the problem with an interval that is too short for a time span (s); None if it is valid."""
    if not isfinite(interval) or interval <= 0:
        return None
    if (end - begin) / interval > MOST_LOOKS:
        quotient = f"{end - begin:,.10g} s ÷ {interval:,.10g} s"
        return f"{quotient} are more than {MOST_LOOKS:,}; take a longer interval."
    if end + interval == end:
        return f"{end:,.10g} s and {interval:,.10g} s later are one float64; take a longer interval."
    return None
