"""Layout of the tables in help texts: beside the options, or below them if that leaves too little room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

__all__ = ["HelpTable", "install"]

_LEAST_MEANING = 44
_NAMES = 28
_NAMES_SHARE = 0.4
_GAP = 2
_CELLS = 6
"""Number of cells of an option without a mark for required ones: four names, type and meaning."""


class HelpTable(Table):
    """Rows of option names, types and, in the last column, meanings.

    If the columns before the meanings leave at least 44 columns, the table is an ordinary one. Otherwise the
    names and the type of an option share one column of at most 28, and the meaning of an option that is wider
    begins on the next line.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render the table."""
        rows = [*zip(*(column.cells for column in self.columns), strict=True)]
        before = sum(
            max(Measurement.get(console, options, cell).maximum for cell in column.cells) + _GAP
            for column in self.columns[:-1]
        )
        if len(self.columns) <= _GAP or options.max_width - before >= _LEAST_MEANING:
            yield from super().__rich_console__(console, options)
        else:
            yield from _below(rows, options.max_width)


def _below(rows: Sequence[Sequence[RenderableType]], width: int) -> Iterator[RenderableType]:
    """Yield the rows, wide names above their meanings."""
    has_marks = len(rows[0]) > _CELLS
    heads = [_head(row[:-1], has_mark=has_marks) for row in rows]
    widest = max(head.cell_len for head in heads)
    column = min(widest, _NAMES, round(width * _NAMES_SHARE))
    for head, (*_, meaning) in zip(heads, rows, strict=True):
        if head.cell_len > column:
            yield head
            yield Padding(meaning, (0, 0, 0, column + _GAP))
            continue
        beside = Table.grid(padding=(0, _GAP, 0, 0), pad_edge=False)
        beside.add_column(width=column)
        beside.add_column(ratio=1)
        beside.add_row(head, meaning)
        yield beside


def _head(cells: Sequence[Any], *, has_mark: bool) -> Text:
    """Return the names and the type of an option, and before them its mark if a row of the panel has one."""
    texts = [cell if isinstance(cell, Text) else Text(str(cell)) for cell in cells]
    mark = Text.assemble(texts.pop(0) or " ", " ") if has_mark else Text()
    *names, kind = texts
    named = Text(", ").join(name for name in names if name.plain)
    return Text.assemble(mark, named, Text(" " if kind.plain else ""), kind)


def install() -> None:
    """Have typer use this layout for the help of all commands."""
    from typer import rich_utils  # noqa: PLC0415  # slow, and only help needs it

    # typer has no parameter for its class of tables.
    vars(rich_utils)["Table"] = HelpTable
