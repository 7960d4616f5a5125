"""The report on a comparison of two streams of jobs: the adequacy of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from batchlab import plot
from batchlab.adequacy import Comparison, Reference
from batchlab.core.markup import Html, element, facts, table
from batchlab.core.units import format_duration
from batchlab.errors import ResultError, shown
from batchlab.report.page import Section, page, save
from batchlab.report.pictures import figures

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping
    from pathlib import Path

__all__ = ["write_adequacy"]

_MOST_ROWS = 20
_MEASURE = (
    "For each job, v is the time from its submission to its end in the real stream, and V that in the model. "
    "E is the Euclidean distance of the two vectors, √Σ(V − v)², and P = E / √n: the root of the mean square "
    "difference, in seconds. The measure is defined where both streams have the same jobs, submitted at the "
    "same times with the same requests, and the same events ended them."
)
_DIFFERENCES = (
    "By how much each job's time from submission to end, and its wait, differ: above 0 they are longer in "
    "the model"
)
_SOURCE = (
    "A. Baranov, D. Lyakhovets, G. Savin, B. Shabanov and P. Telegin, “Measure of adequacy for the "
    "supercomputer job management system model”, formulas (1) and (2) and Table I."
)


def write_adequacy(
    comparison: Comparison,
    path: str | os.PathLike[str],
    *,
    title: str = "Adequacy of a model",
    reference: Reference | None = None,
    sources: Mapping[str, str] | None = None,
    overwrite: bool = False,
) -> Path:
    """Write one HTML file on a comparison. It opens from disk without network access.

    Parameters
    ----------
    comparison
        The result of `batchlab.adequacy.compare`.
    path
        The file; it is written completely or not at all.
    title
        The heading.
    reference
        The repetitions that determine the reference value; the report lists their pairs and draws their band.
    sources
        The origins of the compared streams, as in ``{"real": "log.swf", "model": "runs/easy"}``.
    overwrite
        True to replace a file that batchlab did not write. Inputs are never replaced.

    Returns
    -------
    pathlib.Path
        The file. The same comparison results in the same bytes.

    Raises
    ------
    OutputError
        If batchlab did not write the existing file.
    ResultError
        If the argument is not a comparison, or the file cannot be written.
    """
    if not isinstance(comparison, Comparison):
        raise ResultError(f"comparison = {shown(comparison)}; must be a Comparison, of bl.adequacy.compare.")
    if reference is not None:
        comparison = comparison.against(reference)
    return save(page(title, _sections(comparison, reference, sources or {})), path, overwrite=overwrite)


def _sections(
    comparison: Comparison, reference: Reference | None, sources: Mapping[str, str]
) -> Iterator[Section]:
    yield Section("summary", "Summary", _summary(comparison, sources))
    yield Section("first-jobs", "By number of jobs", _by_jobs(comparison, reference))
    yield Section("jobs", "Job by job", _job_by_job(comparison))
    if reference is not None:
        yield Section("reference", "Reference value", _reference(reference))
    yield Section(
        "measure", "The measure", Html(element("p", _MEASURE) + element("p", _SOURCE, class_="note"))
    )


def _summary(comparison: Comparison, sources: Mapping[str, str]) -> Html:
    return facts({**sources, **comparison.facts()})


def _by_jobs(comparison: Comparison, reference: Reference | None) -> Html:
    rows = comparison.by_first().iter_rows()
    counted = table(
        "Table I: the measure over the first k jobs, and how many of them waited another time",
        ("k", "P", "waits that differ"),
        ((f"{k:,}", f"{value:.6g} s", f"{waits:,}") for k, value, waits in rows),
        class_="numbers",
    )
    ax = plot.adequacy_by_jobs(comparison, reference=reference)
    return Html(counted + figures([(ax, "The measure P over the first k jobs by arrival")], "k"))


def _job_by_job(comparison: Comparison) -> Html:
    drawn = (
        (plot.adequacy_differences(comparison), _DIFFERENCES),
        (plot.adequacy_starts(comparison), "When each job started: real, and in the model"),
        (plot.adequacy_starts(comparison, of="wait"), "How long each job waited: really, and in the model"),
    )
    return Html(figures(drawn, "j") + _largest(comparison))


def _largest(comparison: Comparison) -> Html:
    """List the jobs with the largest differences of turnaround times."""
    jobs = comparison.differences.filter(pl.col("residence_difference") != 0)
    jobs = jobs.sort(pl.col("residence_difference").abs(), descending=True, maintain_order=True)
    if jobs.is_empty():
        return element("p", "No residence time differs.")
    times = ("submit_time", "real_wait", "model_wait", "wait_difference", "residence_difference")
    chosen = jobs.head(_MOST_ROWS).select("job_id", *times)
    rows = ([str(job), *map(format_duration, values)] for job, *values in chosen.iter_rows())
    titles = ("job", "submitted", "wait, real", "wait, model", "wait, difference", "residence, difference")
    return table(
        f"The jobs whose residence times differ most, {chosen.height:,} of {jobs.height:,} that do",
        titles,
        rows,
        class_="numbers",
    )


def _reference(reference: Reference) -> Html:
    count = reference.pairs.height
    meaning = (
        f"{reference.at(len(reference)):.6g} s: the greatest P of {count:,} "
        f"{'pair' if count == 1 else 'pairs'} of repetitions over {len(reference):,} jobs. The greatest over "
        f"the first k jobs for any k >= {reference.least:,} is {reference.P_max:.6g} s. A model whose P over "
        "as many jobs is no greater differs from the real system no more than the system from itself."
    )
    pairs = reference.pairs.sort("maximum", descending=True, maintain_order=True).head(_MOST_ROWS)
    rows = (
        [f"{one} – {other}", f"{p:.6g} s", f"{most:.6g} s", f"{k:,}", f"{waits:,}"]
        for one, other, p, most, k, waits, _ in pairs.iter_rows()
    )
    listed = table(
        f"Pairs of repetitions by their greatest P, {pairs.height:,} of {count:,}",
        ("pair", f"P, k = {int(reference.counts[-1]):,}", "greatest P", "at k", "waits that differ"),
        rows,
        class_="numbers",
    )
    warned = Html("").join(element("p", text, class_="note") for text in reference.warnings)
    return Html(element("p", meaning) + warned + listed)
