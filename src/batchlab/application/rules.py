"""The checks of application parts; each check returns the normalised value.

A message begins with the name of the field, so that readers of files can prepend the path.
"""

import math
from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Any, Literal, TypeVar, get_args

from batchlab._kernel import Formula
from batchlab.core import rules
from batchlab.core.rules import set_field
from batchlab.errors import ApplicationError, shown, suggest

__all__ = [
    "Amounts",
    "Number",
    "amount",
    "amounts",
    "count",
    "formula",
    "instance",
    "is_explicit",
    "sequence",
    "set_field",
    "truth",
]

Number = Formula | str | float
"""A formula, its text, or a number."""

Amounts = Formula | str | float | Sequence[float] | Sequence[Sequence[float]]
"""A total, or explicit amounts."""

RankPattern = Literal["uniform", "all_ranks", "root_only", "even_ranks", "odd_ranks"]
RANK_PATTERNS: tuple[RankPattern, ...] = get_args(RankPattern)
PairPattern = Literal[
    "all_to_all",
    "ring",
    "ring_clockwise",
    "ring_counter_clockwise",
    "gather",
    "scatter",
    "master_worker",
]
PAIR_PATTERNS: tuple[PairPattern, ...] = get_args(PairPattern)
VECTOR, MATRIX = "vector", "matrix"
_OTHER_NAMES = {"total": "all_ranks"}
_LARGEST_COUNT = 2**53
_T = TypeVar("_T")


def formula(value: object, field: str) -> Formula:
    """Convert a text or a number to a formula."""
    if isinstance(value, bool) or not isinstance(value, Formula | str | float | int):
        value = _plain_number(value, field)
    try:
        return Formula(value)
    except ApplicationError as error:
        raise ApplicationError(f"{field} = {shown(value)}: {error}") from None
    except (OverflowError, TypeError):  # a whole number that is no float64
        raise ApplicationError(f"{field} = {shown(value)}; must be a number below 2^1024.") from None


def _plain_number(value: Any, field: str) -> float:  # noqa: ANN401  # anything may come
    """Take what NumPy has for a number; truth values are none."""
    number = rules.number_of(value)
    if number is not None:
        return float(number)
    raise ApplicationError(
        f"{field} = {shown(value)}; must be a number or a formula, as 'flops / num_nodes'."
    )


def count(value: object, field: str) -> Formula:
    """Check a number of iterations or nodes; fractions are truncated at evaluation."""
    taken = formula(value, field)
    if taken.number is not None and not 0 <= taken.number <= _LARGEST_COUNT:
        raise ApplicationError(f"{field} = {shown(value)}; must be from 0 to 2^53, or a formula.")
    return taken


def amount(value: object, field: str) -> Formula:
    """Check a total."""
    taken = formula(value, field)
    if taken.number is not None and not 0 <= taken.number < math.inf:
        raise ApplicationError(f"{field} = {shown(value)}; must be a finite number >= 0, or a formula.")
    return taken


def amounts(
    value: object, field: str, pattern: object, pattern_field: str, *, patterns: Sequence[str], explicit: str
) -> tuple[Formula | tuple[float, ...], str]:
    """Check a total and its pattern, or explicit amounts."""
    is_list = is_explicit(value)
    if is_list and (pattern is None or _named(pattern) == explicit):
        return _explicit(value, field, is_square=explicit == MATRIX), explicit
    if is_list:
        raise ApplicationError(
            f"{pattern_field} = {shown(pattern)}; must be {explicit!r} where {field} is a list."
        )
    name = _OTHER_NAMES.get(_named(pattern), _named(pattern))
    if name == explicit:
        raise ApplicationError(f"{field} = {shown(value)}; must be a list of numbers for {explicit!r}.")
    if name not in patterns:
        said = "missing" if pattern is None else f"= {shown(pattern)}"
        known = suggest(name, (*patterns, explicit))
        raise ApplicationError(f"{pattern_field} {said}; must say how {field} is spread.{known}")
    return amount(value, field), name


def is_explicit(value: object) -> bool:
    """Return whether a value is a list of explicit amounts."""
    return isinstance(value, Iterable) and not isinstance(value, str)


def _named(pattern: object) -> str:
    return pattern.lower() if isinstance(pattern, str) else ""


def _explicit(value: Any, field: str, *, is_square: bool) -> tuple[float, ...]:  # noqa: ANN401  # unchecked input
    """Check the amounts per rank, or per pair of ranks in row-major order."""
    rows = list(value)
    if is_square and any(isinstance(row, Sized) and not isinstance(row, str) for row in rows):
        if not all(isinstance(row, Iterable) and len(list(row)) == len(rows) for row in rows):
            raise ApplicationError(f"{field} = {shown(value)}; must have as many columns as rows.")
        rows = [entry for row in rows for entry in row]
    numbers = tuple(_entry(entry, f"{field}[{index}]") for index, entry in enumerate(rows))
    if not numbers or (is_square and math.isqrt(len(numbers)) ** 2 != len(numbers)):
        rule = "a square of numbers, one row after the other" if is_square else "at least one number"
        raise ApplicationError(f"{field} has {len(numbers)} entries; must be {rule}.")
    return numbers


def _entry(value: object, field: str) -> float:
    if isinstance(value, str | Formula):
        raise ApplicationError(f"{field} = {shown(value)}; must be a number: lists hold no formulas.")
    number = amount(value, field).number
    return math.nan if number is None else number


def truth(value: object, field: str) -> bool:
    """Take a truth value."""
    return rules.check(ApplicationError, field, value, rules.truth)


def instance(value: object, kind: type[_T], field: str, article: str) -> _T:
    """Check that a value is an instance of a class."""
    if not isinstance(value, kind):
        raise ApplicationError(f"{field} = {shown(value)}; must be {article}.")
    return value


def sequence(value: object, kind: type[_T], field: str, article: str) -> tuple[_T, ...]:
    """Check an iterable of instances of a class, and return a tuple."""
    if not isinstance(value, Iterable) or isinstance(value, str | Mapping):
        raise ApplicationError(f"{field} = {shown(value)}; must be a list, each entry {article}.")
    return tuple(instance(entry, kind, f"{field}[{index}]", article) for index, entry in enumerate(value))
