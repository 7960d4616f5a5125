"""Write the report to a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.errors import ResultError, shown, suggest
from batchlab.plot.results import Group, Results, groups
from batchlab.report.interactive import find_plotly, plotly_script
from batchlab.report.page import asset, page, save
from batchlab.report.sections import sections

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["write"]

_WITHOUT_SCRIPTS = "Charts over time need JavaScript, all else does without."


def write(
    results: Results,
    path: str | os.PathLike[str],
    *,
    title: str = "Simulation report",
    baseline: str | None = None,
    tables: Mapping[str, Sequence[Sequence[str]]] | None = None,
    command: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Write one HTML file on results. It opens from disk without network access.

    The report contains the origin of the runs (workloads, systems, policies, options, hashes, versions,
    seeds); the measures of every policy, with confidence intervals over replications; significance tests
    of slowdowns and differences of means against the baseline; the same by size, user, queue and state of
    jobs; comparative plots (those over time can be zoomed); and for every policy its distributions, its
    resource use, and an interactive Gantt chart. The same results produce the same bytes, except for the
    durations of simulations.

    Parameters
    ----------
    results
        One result, several results, or a mapping of labels to results or to lists of replications.
    path
        The file; it is written completely or not at all.
    title
        The heading.
    baseline
        The label of the result that others are compared with. [default: the first]
    tables
        Further tables below the measures, by caption: rows of text, the first with the names of the
        columns.
    command
        The command line that reproduces the runs. [default: an equivalent `batchlab compare`, if the workload
        is one file, nodes are identical and have only cores, and options are at their defaults]
    overwrite
        True to replace a file that batchlab did not write. Inputs are never replaced.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    OutputError
        If batchlab did not write the existing file.
    ResultError
        If there is no result, the baseline is unknown, or the file cannot be written.
    MissingExtraError
        If plotly is not installed.

    Examples
    --------
    >>> bl.report.write([first, second], "report.html", baseline="fcfs")  # doctest: +SKIP
    """
    found = groups(results)
    find_plotly()
    library = plotly_script()
    parts = sections(found, _baseline(found, baseline), tables or {}, command)
    scripts = (asset("script.js"),)
    text = page(title, parts, library=library, scripts=scripts, note=_WITHOUT_SCRIPTS)
    return save(text, path, overwrite=overwrite)


def _baseline(found: Sequence[Group], label: str | None) -> Group:
    if label is None:
        return found[0]
    by_label = {group.label: group for group in found}
    if label not in by_label:
        known = suggest(str(label), by_label)
        raise ResultError(f"baseline = {shown(label)}; must be the label of one of the results.{known}")
    return by_label[label]
