"""Parse the columns of a data set to numbers in one unit: seconds, KiB, amounts; null if unknown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from batchlab.workload.logs import quantities
from batchlab.workload.mappings.roles import CLOCK, KINDS, SLURM, UNITS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from batchlab.workload.mappings.mapping import LogMapping, _Column

__all__ = ["Reader"]

_NOTHING = ("", "na", "nan", "n/a", "nat", "none", "null", "(null)", "unknown")
_DAYS = r"^(-?\d+) days? \+?"
_MICROSECONDS = 1e6
# Types that polars cannot cast to text.
_NO_TEXTS = (pl.Duration, pl.Binary, pl.Object)
_WORDS = ("unlimited", "infinite", "infinity", "partition_limit")


class Reader:
    """Parses the columns of a table as specified by a mapping.

    Parameters
    ----------
    table
        The columns of the data set.
    mapping
        The meaning of the columns.
    """

    def __init__(self, table: pl.DataFrame, mapping: LogMapping) -> None:
        self.table, self.mapping = table, mapping

    def has(self, role: str) -> bool:
        """Return whether the mapping has a column for a role."""
        return role in self.mapping.columns

    def is_number(self, role: str) -> bool:
        """Return whether a role, or a resource of that name, holds numbers other than time stamps."""
        return KINDS.get(role, "count") in ("count", "duration", "memory")

    def text(self, role: str) -> pl.Series:
        """Return the text values of a role; null if unknown."""
        return self._first(self.mapping.columns[role], self._text)

    def text_of(self, name: str, column: _Column) -> pl.Series:
        """Return the text values of one column of a role."""
        return self._text(name, column)

    def number(self, role: str) -> pl.Series:
        """Return the numbers of a role, in seconds or as counts; infinite for no limit."""
        return self.amount(self.mapping.columns[role], role)

    def amount(self, column: _Column, role: str = "") -> pl.Series:
        """Return the amounts of a column, Float64: seconds, KiB, or a count."""
        kind = KINDS.get(role, "count")
        units = UNITS[kind]
        unit = column.unit or next(iter(units))
        number = (
            self._first(column, lambda name, described: self._number(name, described, unit)) * units[unit]
        )
        if column.times is not None:
            number *= self._number(column.times, column.model_copy(update={"pattern": None}), "one")
        return number

    def per(self, column: _Column) -> pl.Series:
        """Return the scope of each amount: job, node, core or task, from the value or the column."""
        usual = pl.Series([column.per]).extend_constant(column.per, max(self.table.height - 1, 0))
        usual = usual.head(self.table.height)
        if column.unit != SLURM:
            return usual
        texts = self._first(column, self._text).to_frame("text")
        kinds = texts.select(quantities.memory(pl.col("text"))[1]).to_series()
        said = kinds.replace_strict({"N": "node", "C": "core"}, default=None, return_dtype=pl.String)
        return said.fill_null(usual)

    def flag(self, role: str) -> pl.Series:
        """Return whether the value of a role is one of those that mean yes."""
        column = self.mapping.columns[role]
        if column.always:
            return pl.repeat(value=True, n=self.table.height, eager=True)
        wanted = [str(value) for value in column.values]
        return self.text(role).is_in(wanted).fill_null(value=False)

    def unreadable(self, role: str, column: _Column) -> pl.Series:
        """Return a mask of the non-null values that are no numbers."""
        read = self.amount(column, role)
        given = self._first(column, self._text).is_not_null()
        return given & read.is_null()

    def _first(self, column: _Column, read: Callable[[str, _Column], pl.Series]) -> pl.Series:
        """Return the first known value of several columns."""
        names = [name for name in column.column if name in self.table.columns]
        first, *others = [read(name, column) for name in names]
        for other in others:
            first = first.fill_null(other)
        return first

    def _text(self, name: str, column: _Column) -> pl.Series:
        """Return a column as stripped text, null for missing values."""
        series = self.table[name]
        if series.dtype.is_nested() or series.dtype in _NO_TEXTS:
            series = pl.repeat(None, len(series), dtype=pl.String, eager=True)
        text = series.cast(pl.String, strict=False).str.strip_chars()
        if column.pattern is not None:
            text = text.str.extract(column.pattern)
        missing = [str(value) for value in (*column.missing, *self.mapping.missing)]
        # A word that means no limit in the mapping is not a missing value.
        said = [str(value).lower() for value in column.unlimited]
        unknown = [word for word in _NOTHING if word not in said]
        nothing = text.str.to_lowercase().is_in(unknown) | text.is_in(missing)
        return text.set(nothing.fill_null(value=False), None)

    def _number(self, name: str, column: _Column, unit: str) -> pl.Series:
        dtype = self.table[name].dtype
        if dtype == pl.Duration:
            # The data type determines the unit.
            seconds = self.table[name].dt.total_microseconds().cast(pl.Float64) / _MICROSECONDS
            return seconds / UNITS["duration"].get(unit, 1.0)
        if dtype.is_numeric() and column.pattern is None:
            number = self.table[name].cast(pl.Float64, strict=False)
            return _without(number, column, self.mapping).set(_is_one_of(number, column.unlimited), math.inf)
        text = self._text(name, column)
        number = _without(self._read(text, unit), column, self.mapping)
        if column is not self.mapping.columns.get("limit"):
            return number
        words = [*_WORDS, *(str(value).lower() for value in column.unlimited)]
        free = text.str.to_lowercase().is_in(words).fill_null(value=False)
        return number.set(free | _is_one_of(number, column.unlimited), math.inf)

    def _read(self, text: pl.Series, unit: str) -> pl.Series:
        texts = text.to_frame("text")
        if unit == CLOCK:
            days = pl.col("text").str.replace(_DAYS, "$1-")
            return texts.select(quantities.duration(days)).to_series()
        if unit == SLURM:
            return texts.select(quantities.memory(pl.col("text"))[0]).to_series()
        return text.cast(pl.Float64, strict=False)


def _without(number: pl.Series, column: _Column, mapping: LogMapping) -> pl.Series:
    """Replace numbers that stand for missing values by null."""
    return number.fill_nan(None).set(_is_one_of(number, (*column.missing, *mapping.missing)), None)


def _is_one_of(number: pl.Series, values: Sequence[object]) -> pl.Series:
    numbers = [float(value) for value in values if _is_number(value)]  # type: ignore[arg-type]
    return number.is_in(numbers).fill_null(value=False)


def _is_number(value: object) -> bool:
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False
    return True
