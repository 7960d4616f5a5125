"""Plots as inline SVG that uses the colours and the width of the page."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from batchlab.core.markup import Html, element
from batchlab.plot.canvas import GRID, INK

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes

__all__ = ["figure", "figures"]

# A resolution of 0.01 points is sufficient.
_DIGITS = re.compile(r"(\.\d\d)\d+")
_PLACES = {"d", "x", "y", "points"}
_LINKS = ("href", "clip-path", "style")
_DROPPED = ("metadata", "style")


def figure(ax: Axes, caption: str, name: str) -> Html:
    """Write a plot and its caption.

    Parameters
    ----------
    ax
        The drawn axes; their whole figure is written.
    caption
        The caption.
    name
        A name unique in the page; identifiers in the picture begin with it.

    Returns
    -------
    Html
        A ``figure`` element. The same plot results in the same text.
    """
    buffer = io.BytesIO()
    ax.get_figure(root=True).savefig(buffer, format="svg", transparent=True)  # type: ignore[union-attr]
    return element(
        "figure",
        Html(_inline(buffer.getvalue(), caption, name)),
        element("figcaption", caption),
        class_="plot",
    )


def figures(drawn: Iterable[tuple[Axes, str]], names: str) -> Html:
    """Write plots side by side if the page is wide enough.

    Parameters
    ----------
    drawn
        Axes and their captions, as for `figure`.
    names
        Prefix of the identifiers in the pictures; a number follows.
    """
    pictures = (figure(ax, caption, f"{names}{index}") for index, (ax, caption) in enumerate(drawn))
    return element("div", *pictures, class_="plots")


def _inline(svg: bytes, caption: str, name: str) -> str:
    """Convert an SVG file to a part of a page: no own names, no fixed size, the page's colours."""
    root = ET.fromstring(svg)  # noqa: S314  # matplotlib's
    _clean(root)
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": caption}
    _rename(root, name)
    text = ET.tostring(root, encoding="unicode")
    return text.replace(INK, "var(--ink)").replace(GRID, "var(--line)")


def _clean(parent: ET.Element) -> None:
    """Remove namespaces, which HTML does not need, the date, and styles that would apply to the page."""
    parent.tag = parent.tag.rpartition("}")[2]
    parent.attrib = {key.rpartition("}")[2]: value for key, value in parent.attrib.items()}
    for key in _PLACES & parent.attrib.keys():
        parent.attrib[key] = " ".join(_DIGITS.sub(r"\1", parent.attrib[key]).split())
    # Words are drawn as outlines, so text between elements is blank.
    parent.text = parent.tail = None
    for child in [*parent]:
        if child.tag.rpartition("}")[2] in _DROPPED:
            parent.remove(child)
        else:
            _clean(child)


def _rename(root: ET.Element, name: str) -> None:
    """Replace referenced names, which contain random digits, by numbers; remove other names."""
    used = {
        match
        for each in root.iter()
        for key, value in each.attrib.items()
        if key in _LINKS
        for match in re.findall(r"(?:url\(#|^#)([\w-]+)", value)
    }
    new: dict[str, str] = {}
    for each in root.iter():
        old = each.attrib.pop("id", None)
        if old is not None and old in used:
            new[old] = each.attrib["id"] = f"{name}-{len(new)}"
    for each in root.iter():
        for key, value in each.attrib.items():
            if key in _LINKS:
                each.attrib[key] = re.sub(
                    r"(url\(#|^#)([\w-]+)", lambda match: match[1] + new.get(match[2], match[2]), value
                )
