"""The report as a file."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from batchlab.atomic import atomic_write
from batchlab.errors import ResultError, shown, suggest
from batchlab.plot.results import Group, Results, groups
from batchlab.report.interactive import plotly_script
from batchlab.report.markup import Html, element
from batchlab.report.sections import Section, sections

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

__all__ = ["write"]


def write(
    results: Results,
    path: str | os.PathLike[str],
    *,
    title: str = "Simulation report",
    baseline: str | None = None,
    tables: Mapping[str, Sequence[Sequence[str]]] | None = None,
) -> Path:
    """Write one HTML file about results, which opens from disk and asks nothing of any network.

    It tells what was run (workloads, systems, policies, options, hashes, versions, seeds), the measures of
    every policy with confidence intervals over replications, whether slowdowns differ significantly from
    the baseline's, comparative plots, and for every policy by itself its distributions, its course over
    time and an interactive Gantt chart. The same results give the same bytes, but for how long simulations
    took.

    Parameters
    ----------
    results
        One result, several, or a mapping of labels to results or to lists of replications.
    path
        The file; it is there whole or not at all.
    title
        Its heading.
    baseline
        The label of what the others are compared with; the first unless given.
    tables
        Further tables, to stand below the measures, by what they show: rows of text, the first of them the
        names of the columns.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    ResultError
        If there is no result, no such baseline, or the file cannot be written.
    MissingExtraError
        If plotly is not installed.

    Examples
    --------
    >>> bl.report.write([first, second], "report.html", baseline="fcfs")  # doctest: +SKIP
    """
    found = groups(results)
    script = plotly_script()
    text = _page(title, [*sections(found, _baseline(found, baseline), tables or {})], script)
    target = Path(path)
    try:
        with atomic_write(target) as file:
            file.write(text)
    except OSError as error:
        raise ResultError(
            f"{target}: {error.strerror}. The report was not written; choose another path."
        ) from error
    return target


def _baseline(found: Sequence[Group], label: str | None) -> Group:
    if label is None:
        return found[0]
    by_label = {group.label: group for group in found}
    if label not in by_label:
        known = suggest(str(label), by_label)
        raise ResultError(f"baseline = {shown(label)}; must be the label of one of the results.{known}")
    return by_label[label]


def _page(title: str, parts: Sequence[Section], plotly: str) -> str:
    page = files("batchlab.report")
    links = (element("li", element("a", part.title, href=f"#{part.name}")) for part in parts)
    return Template(page.joinpath("page.html").read_text("utf-8")).substitute(
        title=element("title", title),
        heading=element("h1", title),
        style=page.joinpath("style.css").read_text("utf-8"),
        navigation=element("ul", *links),
        main=Html("\n".join(part.html() for part in parts)),
        plotly=plotly,
        script=page.joinpath("script.js").read_text("utf-8"),
    )
