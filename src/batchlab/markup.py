"""HTML that cannot be wrong by accident: text is escaped, unless it is `Html` already."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Html", "element", "facts", "table"]

_EMPTY = frozenset({"meta", "link", "br", "hr", "img"})

# A notebook has styles of its own, light or dark: what is shown in it takes its colour of text, and no other.
_CARD = "border-left:3px solid #3d8fd1;padding:0.2em 0 0.2em 0.8em;margin:0.3em 0;overflow-x:auto"
_FACTS = "border-collapse:collapse;background:transparent;margin:0.3em 0 0;font-size:0.92em"
_CELL = "text-align:{};padding:0.1em 1em 0.1em 0;border:0;background:transparent;vertical-align:top"


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


def card(
    title: str,
    facts: Iterable[tuple[str, str]],
    head: Iterable[str] = (),
    rows: Iterable[Iterable[str]] = (),
) -> Html:
    """Write what a notebook shows of an object: a title, facts, and a small table of numbers.

    It carries its own style and no colour of text or background, so that it is read in light and in dark.

    Parameters
    ----------
    title
        What the object is.
    facts
        Names and texts, a line each; a fact without a name goes on with the one before, one without both is
        left out.
    head, rows
        The columns' names, and the cells, the first of each row its name; no table without rows.
    """
    left, right = _CELL.format("left"), _CELL.format("right")
    lines = (
        element(
            "tr", element("th", name, scope="row", style=left + ";opacity:0.7"), _styled("td", text, left)
        )
        for name, text in facts
        if name or text
    )
    numbers = [
        element(
            "tr", *(_styled("td" if at else "th", cell, right if at else left) for at, cell in enumerate(row))
        )
        for row in rows
    ]
    heading = element("tr", *(_styled("th", name, right if at else left) for at, name in enumerate(head)))
    tables = [element("table", element("tbody", *lines), style=_FACTS)]
    if numbers:
        tables.append(element("table", element("thead", heading), element("tbody", *numbers), style=_FACTS))
    return element("div", element("strong", title), *tables, style=_CARD, class_="batchlab-card")


def _styled(name: str, text: str, style: str) -> Html:
    return element(name, text, style=style)


def _cell(index: int, name: str, cell: str) -> Html:
    if isinstance(cell, Html) and cell.startswith("<td"):
        return Html(f'<td data-label="{escape(name)}"{cell.removeprefix("<td")}')
    return element("td", cell, data_label=name) if index else element("th", cell, scope="row")
