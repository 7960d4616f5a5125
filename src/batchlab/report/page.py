"""The frame of a report: one HTML page with a heading, a way to each of its parts, and the parts."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from batchlab.errors import ResultError
from batchlab.markup import Html, element
from batchlab.outputs import output

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

__all__ = ["Section", "asset", "page", "save"]


@dataclass(frozen=True)
class Section:
    """A part with a heading, to which the navigation leads."""

    name: str
    title: str
    content: Html

    def html(self) -> Html:
        """Write it."""
        return element("section", element("h2", self.title), self.content, id=self.name)


def asset(name: str) -> str:
    """Read a file that is part of this package, by its name."""
    return files("batchlab.report").joinpath(name).read_text("utf-8")


def page(
    title: str, parts: Iterable[Section], *, library: str = "", scripts: Iterable[str] = (), note: str = ""
) -> str:
    """Put a page together, which asks nothing of any network.

    Parameters
    ----------
    title
        Its heading.
    parts
        What it shows, in order.
    library
        The charts' JavaScript, deflated and in base 64, which the page's own runs when a chart is seen first.
    scripts
        JavaScript of the page.
    note
        Shown where a browser runs no JavaScript.

    Returns
    -------
    str
        HTML.
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
    """Write a page, whole or not at all.

    Raises
    ------
    OutputError
        If the file is one that batchlab did not write, unless `overwrite` says that it may be replaced.
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
