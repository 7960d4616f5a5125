"""Features that a job asks its nodes to have: the column ``constraint``, read and checked.

The syntax is that of ``sbatch --constraint`` without counts and matching groups: names with ``&``, ``|`` and
parentheses. As in Slurm, what is in parentheses comes first, and the rest goes from left to right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from batchlab.errors import WorkloadError, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

__all__ = ["CONSTRAINT", "Constraint", "with_constraints"]

CONSTRAINT = "constraint"

_TOKEN = re.compile(r"\s*([&|()]|[^&|()\[\]*,\s]+)\s*")


@dataclass(frozen=True)
class Constraint:
    """An expression of features.

    Attributes
    ----------
    text
        As it was written.
    names
        The features that it names, each once.
    """

    text: str
    names: tuple[str, ...]
    _holds: Callable[[Collection[str]], bool]

    @classmethod
    def of(cls, text: str) -> Constraint:
        """Read an expression.

        Parameters
        ----------
        text
            As ``intel&(gpu|fat)``.

        Raises
        ------
        ValueError
            If it is none, with the rule.
        """
        reader = _Reader(text)
        holds = reader.expression()
        if reader.rest:
            raise ValueError(f"{one_line(reader.rest)!r} is not expected here; {_RULE}")
        return cls(text, tuple(dict.fromkeys(reader.names)), holds)

    def holds(self, features: Collection[str]) -> bool:
        """Tell whether a node with these features has what is asked for."""
        return self._holds(features)


def with_constraints(table: pl.DataFrame, source: str) -> pl.DataFrame:
    """Give the constraint of each job as text without blanks around it; null where it asks for no feature.

    What it says is read on a system that has features.
    """
    if CONSTRAINT not in table.columns:
        return table
    dtype = table.schema[CONSTRAINT]
    if not (
        dtype in (pl.String, pl.Null) or isinstance(dtype, pl.Categorical | pl.Enum) or dtype.is_integer()
    ):
        raise WorkloadError(
            f"{source}: column {CONSTRAINT!r} is of the kind {dtype}; must hold features of nodes, e.g. "
            "'intel' or 'intel&(gpu|fat)'."
        )
    text = pl.col(CONSTRAINT).cast(pl.String).str.strip_chars()
    return table.with_columns(pl.when(text != "").then(text).alias(CONSTRAINT))


_RULE = (
    "must be features with &, | and parentheses, as 'intel&(gpu|fat)'; counts (*) and matching groups ([ ]) "
    "are not modelled. Change the column"
)


class _Reader:
    """Reads an expression token by token; the functions it gives tell whether features fulfil a part."""

    def __init__(self, text: str) -> None:
        self.rest = text.strip()
        self.names: list[str] = []

    def next(self) -> str:
        """Take the next token; empty at the end."""
        if not self.rest:
            return ""
        found = _TOKEN.match(self.rest)
        if found is None:
            raise ValueError(f"{one_line(self.rest)!r} is not expected here; {_RULE}")
        self.rest = self.rest[found.end() :]
        return found.group(1)

    def expression(self) -> Callable[[Collection[str]], bool]:
        """Take terms, joined from left to right."""
        holds = self.term()
        while self.rest.startswith(("&", "|")):
            both = self.next() == "&"
            holds = _joined(holds, self.term(), both=both)
        return holds

    def term(self) -> Callable[[Collection[str]], bool]:
        """Take a feature, or what stands in parentheses."""
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
