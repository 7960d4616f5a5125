"""The HTML page of a report: a heading, navigation links, and the sections."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from batchlab.core.markup import Html, element
from batchlab.core.outputs import output
from batchlab.errors import ResultError
from batchlab.plot.canvas import GRID, INK

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from matplotlib.axes import Axes

__all__ = ["Section", "asset", "figure", "figures", "page", "save"]


@dataclass(frozen=True)
class Section:
    """A section with a heading, linked in the navigation."""

    name: str
    title: str
    content: Html

    def html(self) -> Html:
        """Return the section as HTML."""
        return element("section", element("h2", self.title), self.content, id=self.name)


def asset(name: str) -> str:
    """Read a file of this package by its name."""
    return files("batchlab.report").joinpath(name).read_text("utf-8")


def page(
    title: str, parts: Iterable[Section], *, library: str = "", scripts: Iterable[str] = (), note: str = ""
) -> str:
    """Build a page that needs no network access.

    Parameters
    ----------
    title
        The heading.
    parts
        The sections, in order.
    library
        The charts' JavaScript, deflated and in base 64, run by the page's script when a chart becomes
        visible.
    scripts
        Further scripts (JavaScript).
    note
        Text shown if the browser does not run JavaScript.

    Returns
    -------
    str
        The page (HTML).
    """
    parts = [*parts]
    links = (element("li", element("a", part.title, href=f"#{part.name}")) for part in parts)
    without = [element("noscript", element("p", note, class_="note"))] if note else []
    packed = [element("script", Html(library), type="text/plain", id="library")] if library else []
    every = [*packed, *(element("script", Html(f"\n{script}")) for script in scripts)]
    return Template(asset("page.html")).substitute(
        title=element("title", title),
        heading=element("h1", title),
        style=asset("style.css"),
        first=parts[0].name,
        navigation=element("ul", *links),
        main=Html("\n".join([*(part.html() for part in parts), *without])),
        scripts=Html("\n".join(every)),
    )


def save(text: str, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Write a page, completely or not at all.

    Raises
    ------
    OutputError
        If batchlab did not write the existing file, unless `overwrite` is true.
    ResultError
        If the file cannot be written.
    """
    target = Path(path)
    try:
        with output(target, overwrite=overwrite) as file:
            file.write(text)
    except OSError as error:
        rule = "The report was not written; choose another path"
        raise ResultError(f"{target}: {error.strerror}. {rule}.") from error
    return target


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
