"""Text output: facts, one per line, and tables, within the width of a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

from batchlab.core.units import in_one_form

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Block", "Facts", "Page", "Table", "render", "width_of"]

_NAMES_WIDTH = 14
_BETWEEN = 2
_LEAST_TEXT = 20
_BOLD, _CYAN, _YELLOW, _RESET = "\x1b[1m", "\x1b[36m", "\x1b[33m", "\x1b[0m"


class Page(str):
    """A text of several lines, which an interpreter and a notebook show as it is printed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Facts:
    """Names and texts, with an optional title; a text with an empty name continues the previous one."""

    rows: Sequence[tuple[str, str]]
    title: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of text, the first with column titles. The durations of a column have one form.

    If the columns do not fit, titles are broken into lines, and columns that still do not fit are moved to a
    further table below. `labels` is the number of label columns, which are repeated there. With `prose`, the
    last column is text to be wrapped. `note` is printed below the table. `within` is the maximum width for
    titles if lines may have any length.
    """

    rows: Sequence[Sequence[str]]
    note: str = ""
    labels: int = 1
    prose: bool = False
    within: int | None = None

    def __post_init__(self) -> None:
        """Choose the form of the durations of each column."""
        object.__setattr__(self, "rows", in_one_form(self.rows))


Block: TypeAlias = Facts | Table


def render(blocks: Iterable[Block], width: int | None = None, *, colour: bool = False) -> str:
    """Render blocks as text, separated by empty lines.

    Parameters
    ----------
    blocks
        The blocks.
    width
        Line length in characters. Longer words are not broken. [default: unlimited]
    colour
        True to highlight titles and names with terminal escape codes.

    Returns
    -------
    str
        The text, without a newline at the end.
    """
    return "\n\n".join(
        _facts(block, width, colour=colour)
        if isinstance(block, Facts)
        else _table(block, width, colour=colour)
        for block in blocks
    )


def width_of(rows: Sequence[Sequence[str]]) -> int:
    """Return the width of a table with these rows."""
    return sum(_widths(rows)) + _BETWEEN * (len(rows[0]) - 1)


def _facts(facts: Facts, width: int | None, *, colour: bool) -> str:
    title = _wrapped(facts.title, width, 0) if facts.title else []
    lines = [*(_marked(line, _BOLD, colour) for line in title), *([""] if title else [])]
    names = max(_NAMES_WIDTH, *(len(name) + _BETWEEN for name, text in facts.rows if text), 0)
    for name, text in facts.rows:
        for number, part in enumerate(_wrapped(text, width, names)):
            shown = f"{'' if number else name:{names}}"
            lines.append(_marked(shown, _YELLOW if name == "warning" else _CYAN, colour) + part)
    return "\n".join(line.rstrip() for line in lines)


def _table(table: Table, width: int | None, *, colour: bool) -> str:
    if table.prose:
        text = _prose(table, width, colour=colour)
    else:
        rows, heads = _titled(table, table.within if width is None else width)
        parts = _parts(rows, table.labels, width)
        text = "\n\n".join(_columns(part, table.labels, heads, colour=colour) for part in parts)
    return "\n".join([text, *_wrapped(table.note, width, 0)]) if table.note else text


def _titled(table: Table, width: int | None) -> tuple[Sequence[Sequence[str]], int]:
    """Break the titles of a table that does not fit; return the rows, and the number of title rows."""
    if width is None or width_of(table.rows) <= width:
        return table.rows, 1
    from textwrap import wrap  # noqa: PLC0415  # most tables fit

    titles, *others = table.rows
    cells = _widths(others) if others else [0] * len(titles)
    least = [max(each, *map(len, title.split()), 1) for each, title in zip(cells, titles, strict=True)]
    broken = [
        [title] if column < table.labels else wrap(title, room, break_on_hyphens=False)
        for column, (title, room) in enumerate(zip(titles, least, strict=True))
    ]
    heads = max(map(len, broken))
    above = zip(*([""] * (heads - len(each)) + each for each in broken), strict=True)
    return [*above, *others], heads


def _parts(rows: Sequence[Sequence[str]], labels: int, width: int | None) -> list[list[list[str]]]:
    """Distribute the columns to as many tables as needed for each to fit."""
    widths = _widths(rows)
    first = sum(each + _BETWEEN for each in widths[:labels]) - _BETWEEN
    shares: list[list[int]] = [[]]
    for column in range(labels, len(widths)):
        taken = first + sum(widths[each] + _BETWEEN for each in [*shares[-1], column])
        if width is not None and shares[-1] and taken > width:
            shares.append([])
        shares[-1].append(column)
    return [[[row[column] for column in (*range(labels), *share)] for row in rows] for share in shares]


def _columns(rows: Sequence[Sequence[str]], labels: int, heads: int, *, colour: bool) -> str:
    widths = _widths(rows)
    lines = []
    for number, row in enumerate(rows):
        cells = [
            f"{cell:{'<' if column < labels else '>'}{width}}"
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        line = (" " * _BETWEEN).join(cells).rstrip()
        lines.append(_marked(line, _BOLD, colour and number < heads))
    return "\n".join(lines)


def _prose(table: Table, width: int | None, *, colour: bool) -> str:
    *widths, _ = _widths(table.rows)
    *_, indent = accumulate(each + _BETWEEN for each in widths)
    lines = []
    for number, row in enumerate(table.rows):
        cells = [
            f"{cell:{'<' if column < table.labels else '>'}{each}}"
            for column, (cell, each) in enumerate(zip(row, widths, strict=False))
        ]
        first, *others = _wrapped(row[-1], width, indent)
        line = (" " * _BETWEEN).join([*cells, first]).rstrip()
        lines.append(_marked(line, _BOLD, colour and number == 0))
        lines += [" " * indent + part for part in others]
    return "\n".join(lines)


def _wrapped(text: str, width: int | None, indent: int) -> list[str]:
    """Break a text into lines that fit after an indentation; existing line breaks are kept."""
    if width is None or indent + max(map(len, text.split("\n"))) <= width:
        return text.split("\n")
    from textwrap import wrap  # noqa: PLC0415  # most texts fit

    room = max(width - indent, _LEAST_TEXT)
    parts = (
        wrap(line, room, break_long_words=False, break_on_hyphens=False) or [""] for line in text.split("\n")
    )
    return [line for part in parts for line in part]


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _marked(text: str, style: str, wanted: bool) -> str:
    return f"{style}{text}{_RESET}" if wanted and text.strip() else text
