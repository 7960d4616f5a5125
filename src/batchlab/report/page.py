"""The HTML page of a report: a heading, navigation links, and the sections."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from batchlab.core.markup import Html, element
from batchlab.core.outputs import output
from batchlab.errors import ResultError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

__all__ = ["Section", "asset", "page", "save"]


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
