"""The columns ``queue_name`` and ``sched_args``: arguments of a job for the scheduler.

They are converted to ``queue`` and ``score``, the columns that queues and orders use.
"""

import json
from typing import TYPE_CHECKING, Final

import polars as pl

from batchlab.core.documents import without_duplicates
from batchlab.core.units import is_finite
from batchlab.errors import WorkloadError, shown, suggest
from batchlab.workload.attribute_columns import attribute_in

if TYPE_CHECKING:
    from collections.abc import Callable

__all__: list[str] = []

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


def _parsed(text: str, rule: "Callable[[], str]") -> object:
    try:
        return json.loads(text, object_pairs_hook=without_duplicates)
    except (ValueError, RecursionError):
        raise WorkloadError(rule()) from None
