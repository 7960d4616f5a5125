"""The report as a file."""

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
    """Write one HTML file about results, which opens from disk and asks nothing of any network.

    It tells what was run (workloads, systems, policies, options, hashes, versions, seeds), the measures of
    every policy with confidence intervals over replications, whether slowdowns differ significantly from
    the baseline's and by how much means do, the same by size, user, queue and state of jobs, comparative
    plots, of which those over time can be zoomed, and for every policy by itself its distributions, what
    jobs held, and an interactive Gantt chart. The same results give the same bytes, but for how long
    simulations took.

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
    command
        The command line that makes these runs again; unless given the `batchlab compare` that does, where
        the workload is one file, nodes are equal and have cores, and options are the usual ones.
    overwrite
        Whether a file that batchlab did not write may be replaced. No output replaces an input.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    OutputError
        If batchlab did not write the file that is there.
    ResultError
        If there is no result, no such baseline, or the file cannot be written.
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
