"""The columns ``node_group`` and ``constraint``, which restrict the nodes that a job may use.

The syntax of ``constraint`` is ``sbatch --constraint`` without counts and matching groups: names with ``&``,
``|`` and parentheses. As in Slurm, parentheses bind first, and operators apply from left to right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from batchlab.errors import one_line
from batchlab.workload.columns import is_text, stripped, wrong_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection


NODE_GROUP = "node_group"
SEPARATOR = "|"


def names_in(value: str) -> list[str]:
    """Return the names in a list of partitions, ``night|day`` or with commas; each name once."""
    names = (name.strip() for name in value.replace(",", SEPARATOR).split(SEPARATOR))
    return list(dict.fromkeys(name for name in names if name))


def with_node_groups(table: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return the table with node groups as text, ``cpu|fat``, without duplicates; null for any node.

    Lists are converted to text, and so are whole numbers: names of digits are numbers in some files.
    """
    if NODE_GROUP not in table.columns:
        return table
    column = _as_text(table[NODE_GROUP], source)
    # Many jobs share few distinct values.
    distinct = column.unique(maintain_order=True).drop_nulls()
    canonical = {value: _canonical(value) for value in distinct}
    if any(value != name for value, name in canonical.items()):
        column = column.replace_strict(canonical, default=None, return_dtype=pl.String)
    return table.with_columns(column)


def _canonical(value: str) -> str | None:
    names = (name.strip() for name in value.split(SEPARATOR))
    return SEPARATOR.join(dict.fromkeys(name for name in names if name)) or None


def _as_text(column: pl.Series, source: str) -> pl.Series:
    dtype = column.dtype
    if isinstance(dtype, pl.List) and is_text(dtype.inner):
        return column.cast(pl.List(pl.String)).list.join(SEPARATOR)
    if is_text(dtype) or dtype.is_integer():
        return column.cast(pl.String)
    rule = "hold names of node groups, e.g. 'cpu' or 'cpu|fat', or lists of them"
    raise wrong_kind(source, NODE_GROUP, dtype, rule)


CONSTRAINT = "constraint"

_TOKEN = re.compile(r"\s*([&|()]|[^&|()\[\]*,\s]+)\s*")


@dataclass(frozen=True)
class Constraint:
    """A boolean expression of node features.

    Attributes
    ----------
    text
        The expression as written.
    names
        The distinct features in the expression.
    """

    text: str
    names: tuple[str, ...]
    _holds: Callable[[Collection[str]], bool]

    @classmethod
    def of(cls, text: str) -> Constraint:
        """Parse an expression.

        Parameters
        ----------
        text
            For example ``intel&(gpu|fat)``.

        Raises
        ------
        ValueError
            If the syntax is invalid; the message states the rule.
        """
        reader = _ConstraintParser(text)
        holds = reader.expression()
        if reader.rest:
            raise ValueError(f"{one_line(reader.rest)!r} is not expected here; {_RULE}")
        return cls(text, tuple(dict.fromkeys(reader.names)), holds)

    def holds(self, features: Collection[str]) -> bool:
        """Return whether a node with these features satisfies the expression."""
        return self._holds(features)


def with_constraints(table: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return the table with stripped constraints; null for jobs without one.

    The expressions are parsed later, when a system with features is known.
    """
    if CONSTRAINT not in table.columns:
        return table
    dtype = table.schema[CONSTRAINT]
    if not (is_text(dtype) or dtype.is_integer()):
        raise wrong_kind(
            source, CONSTRAINT, dtype, "hold features of nodes, e.g. 'intel' or 'intel&(gpu|fat)'"
        )
    return table.with_columns(stripped(CONSTRAINT))


_RULE = (
    "must be features with &, | and parentheses, as 'intel&(gpu|fat)'; counts (*) and matching groups ([ ]) "
    "are not modelled. Change the column"
)


class _ConstraintParser:
    """Recursive-descent parser of constraints; builds predicates over sets of features."""

    def __init__(self, text: str) -> None:
        self.rest = text.strip()
        self.names: list[str] = []

    def next(self) -> str:
        """Consume and return the next token; empty at the end."""
        if not self.rest:
            return ""
        found = _TOKEN.match(self.rest)
        if found is None:
            raise ValueError(f"{one_line(self.rest)!r} is not expected here; {_RULE}")
        self.rest = self.rest[found.end() :]
        return found.group(1)

    def expression(self) -> Callable[[Collection[str]], bool]:
        """Parse terms joined by operators, from left to right."""
        holds = self.term()
        while self.rest.startswith(("&", "|")):
            both = self.next() == "&"
            holds = _joined(holds, self.term(), both=both)
        return holds

    def term(self) -> Callable[[Collection[str]], bool]:
        """Parse a feature or an expression in parentheses."""
        found = self.next()
        if found == "(":
            holds = self.expression()
            if self.next() != ")":
                raise ValueError(f"a parenthesis is not closed; {_RULE}")
            return holds
        if found in {"", "&", "|", ")"}:
            raise ValueError(f"a feature is missing; {_RULE}")
        self.names.append(found)
        return lambda features: found in features


def _joined(
    one: Callable[[Collection[str]], bool], other: Callable[[Collection[str]], bool], *, both: bool
) -> Callable[[Collection[str]], bool]:
    if both:
        return lambda features: one(features) and other(features)
    return lambda features: one(features) or other(features)
