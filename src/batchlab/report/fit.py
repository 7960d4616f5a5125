"""The report on a fit: fitted values, and distances of the model from the log before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab import plot
from batchlab.core.markup import Html, element, facts, table
from batchlab.errors import ResultError, shown
from batchlab.report.page import Section, page, save
from batchlab.report.pictures import figures
from batchlab.slurm.twin import Fit
from batchlab.slurm.twin.fit_answer import judgement, written
from batchlab.slurm.twin.text import amount

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["write_fit"]

_METHOD = (
    "The parameters were sought with the jobs of the train period alone: those that were submitted and "
    "started in it are compared with the log. With d the differences of their starts and ends, the search "
    "makes the geometric mean of 1 s + |d| least. It knows nothing of the test period. There, the whole log "
    "is run with what was configured and with what was fitted, under seeds that the search has not used, "
    "and the jobs of the test period are compared."
)
_MEASURE = (
    "P is the root of the mean square difference of the times from submission to end, in seconds. A few jobs "
    "that a small change moves by hours rule it; how many jobs are far off is said besides."
)
_SOURCES = (
    "A. Baranov et al., “Measure of adequacy for the supercomputer job management system model”; T. Akiba et "
    "al., “Optuna: A next-generation hyperparameter optimization framework”, KDD 2019."
)


def write_fit(
    found: Fit,
    path: str | os.PathLike[str],
    *,
    title: str = "Fit of a twin",
    source: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Write one HTML file on a fit. It opens from disk without network access.

    Parameters
    ----------
    found
        The result of `batchlab.twin.fit`.
    path
        The file; it is written completely or not at all.
    title
        The heading.
    source
        The source of the jobs.
    overwrite
        True to replace a file that batchlab did not write. Inputs are never replaced.

    Returns
    -------
    pathlib.Path
        The file. The same fit results in the same bytes.

    Raises
    ------
    OutputError
        If batchlab did not write the existing file.
    ResultError
        If the argument is not a fit, or the file cannot be written.
    """
    if not isinstance(found, Fit):
        raise ResultError(f"found = {shown(found)}; must be a Fit, of bl.twin.fit.")
    return save(page(title, _sections(found, source)), path, overwrite=overwrite)


def _sections(found: Fit, source: str | None) -> Iterator[Section]:
    yield Section("summary", "Summary", _summary(found, source))
    yield Section("test", "Before and after", _test(found))
    notes = element("p", _METHOD) + element("p", _MEASURE)
    yield Section("method", "How it was done", Html(notes + element("p", _SOURCES, class_="note")))


def _summary(found: Fit, source: str | None) -> Html:
    ended = "; Ctrl-C ended it" if found.interrupted else ""
    summary = {
        **({} if source is None else {"log": source}),
        "configuration": f"{found.configured.name}: {found.configured.policy}",
        "fitted": str(found.twin.policy),
        "train period": f"{found.train_jobs:,} jobs, submitted and started in {amount(found.boundary)}",
        "test period": f"after that: {found.after.jobs:,} jobs submitted",
        "search": f"{found.trials.height:,} trials of {found.seeds} runs each, from seed {found.seed}{ended}",
        "left out": f"{found.left_out:,} jobs that did not start and end",
    }
    rows = (
        [
            each.name,
            written(each.name, each.configured),
            f"{written('', each.low)} to {written(each.name, each.high)}",
            written(each.name, found.values[each.name]),
        ]
        for each in found.parameters
    )
    values = table("What was fitted", ("parameter", "configured", "bounds", "fitted"), rows, class_="numbers")
    return Html(facts(summary) + values)


def _test(found: Fit) -> Html:
    judged = judgement(found)
    rows = (
        [name, *(both[place] for both in judged.values())] for place, name in enumerate(("before", "after"))
    )
    both = {"before": found.before, "after": found.after}
    drawn = [
        (
            plot.adequacy_starts(each.typical, of="wait"),
            f"Waits of jobs: really, and in the twin {name} the fit",
        )
        for name, each in both.items()
    ]
    curves = {name: each.typical for name, each in both.items()}
    drawn.append((plot.adequacy_by_jobs(curves), "The measure P over the first k jobs of the test period"))
    drawn.append((plot.fit_search(found), "How far trials were from the log on the train period"))
    judgements = table("The twin against the log", ("", *judged), rows, class_="numbers")
    note = "Plots of the test period are of the seed whose P is the median."
    return Html(judgements + figures(drawn, "t") + element("p", note, class_="note"))
