"""HTML that cannot be wrong by accident: text is escaped, unless it is `Html` already."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Html", "element", "facts", "table"]

_EMPTY = frozenset({"meta", "link", "br", "hr", "img"})


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(name: str, *children: str, **attributes: str | int | None) -> Html:
    """Write an element.

    Parameters
    ----------
    name
        Its name.
    *children
        Elements, or text to be escaped.
    **attributes
        By name, underscores for hyphens, and one at the end for words of Python's (``class_``). None leaves
        the attribute out.

    Examples
    --------
    >>> element("td", "a < b", class_="number")
    '<td class="number">a &lt; b</td>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _EMPTY:
        return Html(f"<{name}{written}>")
    content = "".join(child if isinstance(child, Html) else escape(child) for child in children)
    return Html(f"<{name}{written}>{content}</{name}>")


def facts(given: Mapping[str, str]) -> Html:
    """Write a list of facts by name.

    Examples
    --------
    >>> facts({"seed": "0"})
    '<dl><dt>seed</dt><dd>0</dd></dl>'
    """
    terms = (each for name, text in given.items() for each in (element("dt", name), element("dd", text)))
    return element("dl", *terms)


def table(
    caption: str, head: Iterable[str], rows: Iterable[Iterable[str]], *, class_: str | None = None
) -> Html:
    """Write a table whose first column names its rows, in a box that scrolls where it is too wide.

    On narrow screens each row is a block, in which every cell has the name of its column before it.

    Parameters
    ----------
    caption
        What it shows.
    head
        The columns' names.
    rows
        Cells, as text or elements; a cell that is a ``td`` already is taken as it is.
    class_
        Of the table.
    """
    names = [*head]
    heading = element("tr", *(element("th", name, scope="col") for name in names))
    body = (element("tr", *map(_cell, range(len(names)), names, row)) for row in rows)
    inner = element(
        "table",
        element("caption", caption),
        element("thead", heading),
        element("tbody", *body),
        class_=class_,
    )
    return element("div", inner, class_="scroll", tabindex=0, role="region", aria_label=caption)


def _cell(index: int, name: str, cell: str) -> Html:
    if isinstance(cell, Html) and cell.startswith("<td"):
        return Html(f'<td data-label="{escape(name)}"{cell.removeprefix("<td")}')
    return element("td", cell, data_label=name) if index else element("th", cell, scope="row")
