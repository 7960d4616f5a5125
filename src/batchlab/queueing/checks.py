"""Checks of arguments: columns, rates, probabilities, integers."""

from __future__ import annotations

from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from batchlab.core import rules
from batchlab.errors import QueueingError, shown

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_LARGEST = 2**63 - 1


def positive(name: str, value: float, *, zero: bool = False) -> float:
    """Give a finite number above 0; with `zero` at least 0."""
    return float(rules.check(QueueingError, name, value, rules.NOT_NEGATIVE if zero else rules.POSITIVE))


def probability(name: str, value: float) -> float:
    """Give a number from 0 to 1."""
    return float(rules.check(QueueingError, name, value, rules.PROBABILITY))


def whole(name: str, value: SupportsIndex, least: int = 1) -> int:
    """Give a whole number that is at least this."""
    return rules.check(QueueingError, name, value, rules.Whole(least, _LARGEST))


def numbers(name: str, values: npt.ArrayLike) -> Floats:
    """Check and return a column of numbers; a column of float64 is not copied."""
    try:
        column = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise QueueingError(f"{name} = {shown(values)}; must be a column of numbers.") from error
    if np.ndim(values) != 1:
        raise QueueingError(f"{name} has {np.ndim(values)} dimensions; must be a column: one.")
    return column


def whole_numbers(name: str, values: npt.ArrayLike) -> Integers:
    """Check and return a column of integers; a column of int64 is not copied."""
    given = np.asarray(values)
    if given.ndim == 1 and given.dtype.kind in "iu":
        return np.ascontiguousarray(given, dtype=np.int64)
    column = numbers(name, values)
    broken = np.flatnonzero(~(np.abs(column) < 2**53) | (column != np.floor(column)))
    if len(broken):
        row = int(broken[0])
        raise QueueingError(f"{name}[{row}] = {column[row]:g}; must be a whole number.")
    return column.astype(np.int64)


def unstable(load: str, value: float, limit: str, bound: float) -> QueueingError:
    """Return the error for a queue that grows without bound."""
    return QueueingError(
        f"{load} = {value:g} is not below {limit} = {bound:g}: the queue grows without bound and has no "
        "stationary mean. Lower the arrival rate, or serve faster."
    )
