"""HTML with automatic escaping: text is escaped unless it is `Html`."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from batchlab.core.units import in_one_form

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Html", "element", "facts", "table"]

_EMPTY = frozenset({"meta", "link", "br", "hr", "img", "input"})

# Notebooks have light or dark styles. A card inherits the text colour and sets no other colour.
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
        The name of the element.
    *children
        Child elements, or text to be escaped.
    **attributes
        By name, with underscores for hyphens, and a final underscore for Python keywords (``class_``).
        Attributes with the value None are omitted.

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
    """Write a list of names and texts.

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
    """Write a table with row names in its first column, in a box that scrolls if the table is too wide.

    On narrow screens, each row is a block of cells that are preceded by the names of their columns. The
    durations of a column have one form.

    Parameters
    ----------
    caption
        The caption.
    head
        The column names.
    rows
        Cells, as text or elements; ``td`` elements are used unchanged.
    class_
        The class of the table.
    """
    names = [*head]
    heading = element("tr", *(element("th", name, scope="col") for name in names))
    body = (element("tr", *map(_cell, range(len(names)), names, row)) for row in in_one_form(rows))
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
    """Write the representation of an object in notebooks: a title, facts, and a small table of numbers.

    It has inline styles without colours of text and background, for light and dark themes.

    Parameters
    ----------
    title
        The title of the object.
    facts
        Names and texts, a line each; a fact without a name continues the previous one, an empty one is
        skipped.
    head, rows
        Column names and cells, the first cell of each row being its name; no table without rows.
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
        for row in in_one_form(rows)
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
