"""Paths into nested rows of JSON and Parquet: ``attempts/first/detail/sum/gpus/count``.

A step is a field name; ``first`` or ``last`` selects an element of a list, ``count`` is its length, and
``sum`` adds the values of the remaining path over its elements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from batchlab.errors import WorkloadError, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["expression_of", "name_in"]

_STEP = "/"


def name_in(column: str, names: Iterable[str]) -> str | None:
    """Return the known name of a column or of the first step of a path; None if it is unknown."""
    known = set(names)
    if column in known:
        return column
    first = column.partition(_STEP)[0]
    return first if _STEP in column and first in known else None


def expression_of(column: str, schema: Mapping[str, pl.DataType], source: str) -> pl.Expr:
    """Return the expression of a column or a path, named as in the mapping.

    Raises
    ------
    WorkloadError
        If a step does not exist.
    """
    if column in schema:
        return pl.col(column)
    first, *steps = column.split(_STEP)
    return _stepped(pl.col(first), schema[first], steps, f"{source}: {column}").alias(column)


def _stepped(value: pl.Expr, dtype: pl.DataType, steps: Sequence[str], place: str) -> pl.Expr:
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(dtype, pl.List):
        inner = _of(dtype.inner)
        if step in ("first", "last"):
            element = value.list.first() if step == "first" else value.list.last()
            return _stepped(element, inner, rest, place)
        if step == "count" and not rest:
            return value.list.len()
        if step == "sum":
            return value.list.eval(_stepped(pl.element(), inner, rest, place)).list.sum()
        rule = "must be first, last, count or sum, as it is of a list"
        raise WorkloadError(f"{place}: step {shown(step)}; {rule}.")
    if isinstance(dtype, pl.Struct):
        fields = {field.name: _of(field.dtype) for field in dtype.fields}
        if step in fields:
            return _stepped(value.struct.field(step), fields[step], rest, place)
        raise WorkloadError(f"{place}: step {shown(step)}; must be one of {', '.join(fields)}.")
    if dtype == pl.Null:
        return pl.lit(None)
    raise WorkloadError(f"{place}: step {shown(step)}; there is only a value of the kind {dtype}.")


def _of(dtype: object) -> pl.DataType:
    return dtype if isinstance(dtype, pl.DataType) else dtype()  # type: ignore[operator]
