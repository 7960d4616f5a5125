"""Columns of job tables that several modules read: time limits, attributes, and scheduler arguments."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
import polars as pl

from batchlab.core.documents import without_duplicates
from batchlab.core.rules import is_finite
from batchlab.errors import WorkloadError, shown, suggest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt


UNREADABLE = (
    pl.exceptions.PolarsError,
    # The Parquet reader panics on damaged files.
    pl.exceptions.PanicException,
    TypeError,
    ValueError,
    OverflowError,
)
"""For ``except``; `reason_of` returns the cause in one line."""


def wrong_kind(source: str, column: str, dtype: object, rule: str) -> WorkloadError:
    """Return the error for a column of a type that breaks a rule; `source` names the table."""
    return WorkloadError(f"{source}: column {column!r} is of the kind {dtype}; must {rule}.")


def is_text(dtype: object) -> bool:
    """Return whether a type holds text, or only missing values."""
    return dtype in (pl.String, pl.Null) or isinstance(dtype, pl.Categorical | pl.Enum)


def is_number(dtype: pl.DataType) -> bool:
    """Return whether a type holds numbers, perhaps as text, or only missing values."""
    return dtype.is_numeric() or dtype in (pl.String, pl.Null)


def stripped(column: str) -> pl.Expr:
    """Return a column as text without blanks around it; empty texts become null."""
    return pl.col(column).cast(pl.String).str.strip_chars().replace("", None).alias(column)


TIME_LIMIT = "time_limit"
EXEMPT_FROM_LIMITS: Final = "exempt_from_limits"


def time_limits(jobs: pl.DataFrame) -> npt.NDArray[np.float64]:
    """Return the time limits of jobs.

    Parameters
    ----------
    jobs
        The table of a workload.

    Returns
    -------
    numpy.ndarray
        float64, shape (jobs,): seconds, infinite for a job without a limit. Without a column ``time_limit``,
        the limit of a job is its ``requested_time``.
    """
    if TIME_LIMIT not in jobs.columns:
        return jobs["requested_time"].to_numpy()
    return jobs[TIME_LIMIT].cast(pl.Float64).fill_null(math.inf).to_numpy()


def size_classes(jobs: pl.DataFrame) -> npt.NDArray[np.int64]:
    """Return the size class of each job: the smallest power of two that is not below its tasks.

    Parameters
    ----------
    jobs
        The table of a workload.

    Returns
    -------
    numpy.ndarray
        int64, shape (jobs,): 1, 2, 4 (3 and 4 tasks), 8 (5 to 8 tasks), and so on.
    """
    return powers_of_two(jobs["tasks"].to_numpy())


def powers_of_two(counts: npt.NDArray[np.number]) -> npt.NDArray[np.int64]:
    """Return the class of each number: the smallest power of two that is not below it; 1 for 0."""
    classes: npt.NDArray[np.int64] = 2 ** np.ceil(np.log2(np.maximum(counts, 1.0))).astype(np.int64)
    return classes


def has_own_limits(jobs: pl.DataFrame) -> bool:
    """Return whether the time limit of any job differs from its requested time."""
    return TIME_LIMIT in jobs.columns and not jobs[TIME_LIMIT].equals(
        jobs["requested_time"], check_names=False, null_equal=True
    )


Attribute = Literal["user", "group", "account", "qos", "queue", "partition", "reservation"]
"""A column of names."""

_NUMBERED: Mapping[Attribute, str] = {
    "user": "user_id",
    "group": "group_id",
    "queue": "queue_id",
    "partition": "partition_id",
}


def attribute_in(jobs: pl.DataFrame, name: Attribute, names: Mapping[str, str] | None = None) -> pl.Series:
    """Return an attribute of the jobs of a table, before it becomes a workload.

    Parameters
    ----------
    jobs
        The table.
    name
        The attribute.
    names
        The names of the numbers, from the header of a log.

    Returns
    -------
    polars.Series
        String, one entry per job; null if the column is missing, the text is empty, or the number is below 0.

    Raises
    ------
    WorkloadError
        If the column holds neither text nor whole numbers.
    """
    source = next((column for column in columns_of(name) if column in jobs.columns), None)
    if source is None:
        return pl.Series(name, [None], dtype=pl.String).new_from_index(0, len(jobs))
    return _text(jobs[source], source, names if source != name else None).alias(name)


def columns_of(name: Attribute) -> tuple[str, ...]:
    """Return the columns that can hold an attribute, in order of preference."""
    return (name, _NUMBERED[name]) if name in _NUMBERED else (name,)


def _text(column: pl.Series, source: str, names: Mapping[str, str] | None = None) -> pl.Series:
    """Return a column of names or numbers as text."""
    dtype = column.dtype
    if is_text(dtype):
        text = column.cast(pl.String).str.strip_chars()
        return text.set(text == "", None)
    if not dtype.is_integer():
        raise WorkloadError(f"column {source!r} is of the kind {dtype}; must hold names, or whole numbers.")
    known = column.set(column < 0, None) if dtype.is_signed_integer() else column
    text = known.cast(pl.String)
    return text.replace(names) if names else text


_QUEUE_NAME: Final = "queue_name"
_QUEUE: Final = "queue"
_ARGUMENTS, _SCORE = "sched_args", "score"


def with_scheduling(table: pl.DataFrame, source: str) -> pl.DataFrame:
    """Set ``queue`` and ``score`` of jobs from ``queue_name`` and ``sched_args``.

    Parameters
    ----------
    table
        The jobs; returned unchanged without these columns.
    source
        Name of the table in error messages.

    Returns
    -------
    polars.DataFrame
        With ``queue`` if there is a ``queue_name``, and with ``score`` (default 0) if there are
        ``sched_args``. The columns themselves are kept.

    Raises
    ------
    WorkloadError
        If ``sched_args`` are invalid, or conflict with the column ``queue`` or ``score``.
    """
    if _QUEUE_NAME in table.columns and table.schema[_QUEUE_NAME] != pl.Null:
        named = _names(table, _QUEUE_NAME)
        known = _names(table, _QUEUE) if _QUEUE in table.columns else named
        _check_equal(named, known, (_QUEUE_NAME, _QUEUE), source)
        table = table.with_columns(known.zip_with(known.is_not_null(), named).alias(_QUEUE))
    if _ARGUMENTS in table.columns and table.schema[_ARGUMENTS] != pl.Null:
        given = _scores(table[_ARGUMENTS], source)
        known = _numbers(table) if _SCORE in table.columns else given
        _check_equal(given, known, (_ARGUMENTS, _SCORE), source)
        table = table.with_columns(known.zip_with(known.is_not_null(), given).fill_null(0.0).alias(_SCORE))
    return table


def _names(table: pl.DataFrame, column: str) -> pl.Series:
    return attribute_in(table.select(pl.col(column).alias(_QUEUE)), _QUEUE)


def _numbers(table: pl.DataFrame) -> pl.Series:
    return table[_SCORE].cast(pl.Float64, strict=False)


def _check_equal(given: pl.Series, known: pl.Series, columns: tuple[str, str], source: str) -> None:
    row = (given != known).fill_null(value=False).arg_max()
    if row is not None and given[row] is not None and known[row] is not None and given[row] != known[row]:
        raise WorkloadError(
            f"{source}: row {row}: {columns[0]} = {shown(given[row])}, and {columns[1]} = "
            f"{shown(known[row])}; must be the same. Leave out one of both columns."
        )


def _scores(column: pl.Series, source: str) -> pl.Series:
    """Return the initial score of each job; null if missing."""
    if column.dtype.is_numeric():
        return column.cast(pl.Float64)
    texts = column.cast(pl.String)
    distinct = texts.drop_nulls().unique(maintain_order=True).to_list()
    scores = [_score(text, source) for text in distinct]
    return texts.replace_strict(distinct, scores, default=None, return_dtype=pl.Float64)


def _score(text: str, source: str) -> float | None:
    """Parse ``5``, ``score=5`` or ``{"score": 5}``."""
    stripped = text.strip()
    if not stripped:
        return None
    where = f"{source}: sched_args = {shown(text)}"
    if stripped.startswith("{"):
        given: object = _parsed(stripped, lambda: f"{where}; must be a JSON object.")
        if not isinstance(given, dict):
            raise WorkloadError(f"{where}; must be a JSON object.")
    else:
        name, equals, value = stripped.partition("=")
        name, value = (name.strip(), value.strip()) if equals else (_SCORE, stripped)
        given = {name: _parsed(value, lambda: f"{where}; must be a number, as in 5 or score=5.")}
    for name in given:
        if name != _SCORE:
            raise WorkloadError(
                f"{where}: no argument is called {shown(name)}.{suggest(str(name), [_SCORE])}"
            )
    score = given.get(_SCORE)
    if score is not None and not is_finite(score):
        raise WorkloadError(f"{where}; must be a finite number, as in 5 or score=5.")
    return None if score is None else float(score)


def _parsed(text: str, rule: Callable[[], str]) -> object:
    try:
        return json.loads(text, object_pairs_hook=without_duplicates)
    except (ValueError, RecursionError):
        raise WorkloadError(rule()) from None
