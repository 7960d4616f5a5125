"""Reports on models: the adequacy of one, a fit of a twin, and a what-if study."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from batchlab import plot
from batchlab.adequacy import Comparison, Reference
from batchlab.core.markup import Html, element, facts, table
from batchlab.core.units import format_count, format_duration
from batchlab.errors import ResultError, shown
from batchlab.report.page import Section, figures, page, save
from batchlab.slurm.twin import Fit, WhatIf
from batchlab.slurm.twin.fit_answer import amount, amounts, judgement, unit_of, written

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from batchlab.slurm.twin import Twin
    from batchlab.slurm.twin.fit_answer import Unit
    from batchlab.slurm.twin.log import GroupedBy

__all__ = ["write_adequacy", "write_fit", "write_what_if"]


_MOST_ROWS = 20
_ADEQUACY_MEASURE = (
    "For each job, v is the time from its submission to its end in the real stream, and V that in the model. "
    "E is the Euclidean distance of the two vectors, √Σ(V − v)², and P = E / √n: the root of the mean square "
    "difference, in seconds. The measure is defined where both streams have the same jobs, submitted at the "
    "same times with the same requests, and the same events ended them."
)
_DIFFERENCES = (
    "By how much each job's time from submission to end, and its wait, differ: above 0 they are longer in "
    "the model"
)
_ADEQUACY_SOURCE = (
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
    return save(
        page(title, _adequacy_sections(comparison, reference, sources or {})), path, overwrite=overwrite
    )


def _adequacy_sections(
    comparison: Comparison, reference: Reference | None, sources: Mapping[str, str]
) -> Iterator[Section]:
    yield Section("summary", "Summary", _adequacy_summary(comparison, sources))
    yield Section("first-jobs", "By number of jobs", _by_jobs(comparison, reference))
    yield Section("jobs", "Job by job", _job_by_job(comparison))
    if reference is not None:
        yield Section("reference", "Reference value", _reference(reference))
    yield Section(
        "measure",
        "The measure",
        Html(element("p", _ADEQUACY_MEASURE) + element("p", _ADEQUACY_SOURCE, class_="note")),
    )


def _adequacy_summary(comparison: Comparison, sources: Mapping[str, str]) -> Html:
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
        return element("p", "No turnaround differs.")
    times = ("submit_time", "real_wait", "model_wait", "wait_difference", "residence_difference")
    chosen = jobs.head(_MOST_ROWS).select("job_id", *times)
    rows = ([str(job), *map(format_duration, values)] for job, *values in chosen.iter_rows())
    titles = ("job", "submitted", "wait, real", "wait, model", "wait, difference", "turnaround, difference")
    return table(
        f"The jobs whose turnarounds differ most, {chosen.height:,} of {jobs.height:,} that do",
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


_FIT_METHOD = (
    "The parameters were sought with the jobs of the train period alone: those that were submitted and "
    "started in it are compared with the log. With d the differences of their starts and ends, the search "
    "makes the geometric mean of 1 s + |d| least. It knows nothing of the test period. There, the whole log "
    "is run with what was configured and with what was fitted, under seeds that the search has not used, "
    "and the jobs of the test period are compared."
)
_FIT_MEASURE = (
    "P is the root of the mean square difference of the times from submission to end, in seconds. A few jobs "
    "that a small change moves by hours rule it; how many jobs are far off is said besides."
)
_FIT_SOURCES = (
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
    return save(page(title, _fit_sections(found, source)), path, overwrite=overwrite)


def _fit_sections(found: Fit, source: str | None) -> Iterator[Section]:
    yield Section("summary", "Summary", _fit_summary(found, source))
    yield Section("test", "Before and after", _test(found))
    notes = element("p", _FIT_METHOD) + element("p", _FIT_MEASURE)
    yield Section("method", "How it was done", Html(notes + element("p", _FIT_SOURCES, class_="note")))


def _fit_summary(found: Fit, source: str | None) -> Html:
    ended = "; Ctrl-C ended it" if found.interrupted else ""
    trials, trained = format_count(found.trials.height, "trial"), format_count(found.train_jobs, "job")
    summary = {
        **({} if source is None else {"log": source}),
        "configuration": f"{found.configured.name}: {found.configured.policy}",
        "fitted": str(found.twin.policy),
        "train period": f"{trained}, submitted and started in {amount(found.boundary)}",
        "test period": f"after that: {format_count(found.after.jobs, 'job')} submitted",
        "search": f"{trials} of {format_count(found.seeds, 'run')} each, from seed {found.seed}{ended}",
        "left out": f"{format_count(found.left_out, 'job')} that did not start and end",
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


_TITLES = {
    "all": "All jobs",
    "partition": "By partition",
    "qos": "By QOS",
    "account": "By account",
    "size": "By size",
}
_STATISTICS = {"mean": "mean", "median": "median", "p95": "95 %"}
_WHAT_IF_METHOD = (
    "Each configuration was run once with every seed, from which the phases of the controller's threads and "
    "what is drawn besides come; the waits of these runs count together. A wait is from the submission of a "
    "job to its start. Only jobs that started in all runs are compared. The 95 % quantile is the least wait "
    "that 95 % of the jobs do not exceed."
)
_MEANING = (
    "The intervals say how much the numbers might differ for another sample of such jobs. They do not hold "
    "what the model leaves out: fit it to the log, and see how far its waits are from the real ones, before "
    "you trust it."
)
_WHAT_IF_SOURCE = (
    "H. R. Künsch, “The jackknife and the bootstrap for general stationary observations”, Annals of "
    "Statistics 17(3), 1989; D. N. Politis and J. P. Romano, “A circular block-resampling procedure for "
    "stationary data”, 1992."
)


def write_what_if(
    found: WhatIf,
    path: str | os.PathLike[str],
    *,
    title: str = "What if",
    source: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Write one HTML file on a study. It opens from disk without network access.

    Parameters
    ----------
    found
        The result of `batchlab.twin.what_if`.
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
        The file. The same study results in the same bytes.

    Raises
    ------
    OutputError
        If batchlab did not write the existing file.
    ResultError
        If the argument is not a study, or the file cannot be written.
    """
    if not isinstance(found, WhatIf):
        raise ResultError(f"found = {shown(found)}; must be a WhatIf, of bl.twin.what_if.")
    return save(page(title, _what_if_sections(found, source)), path, overwrite=overwrite)


def _what_if_sections(found: WhatIf, source: str | None) -> Iterator[Section]:
    yield Section("summary", "Summary", _what_if_summary(found, source))
    if found.differences.keys:
        yield Section("differences", "In what they differ", _settings(found))
    for by in found.grouped_by:
        yield Section(by, _TITLES[by], Html(_tables(found, by) + _differences(found, by)))
    yield Section("course", "Waits and queue", _course(found))
    notes = element("p", _WHAT_IF_METHOD) + element("p", _intervals(found)) + element("p", _MEANING)
    yield Section("method", "How it was done", Html(notes + element("p", _WHAT_IF_SOURCE, class_="note")))


def _what_if_summary(found: WhatIf, source: str | None) -> Html:
    seeds = f"{found.seeds[0]}" if len(found.seeds) == 1 else f"{found.seeds[0]} to {found.seeds[-1]}"
    summary = {
        **({} if source is None else {"log": source}),
        "jobs": f"{found.jobs:,} compared",
        "seeds": seeds,
        **{name: _said(twin) for name, twin in found.twins.items()},
    }
    rows = (
        [
            name,
            f"{found.not_started[name]:,}",
            "; ".join(found.reasons[name]),
            amounts(found.mean_waits[name]) if found.mean_waits[name] else "",
        ]
        for name in found.twins
    )
    titles = ("configuration", "jobs that did not start", "reasons", "mean wait by seed")
    return Html(facts(summary) + table("Runs", titles, rows, class_="numbers"))


def _said(twin: Twin) -> str:
    """Describe the simulation of a configuration."""
    run = f"{twin.policy} on {format_count(twin.system.nodes, 'node')}"
    run = f"{run}; overheads: {twin.delays}" if twin.delays else run
    return f"{run}. {twin.system.note}" if twin.system.note else run


def _settings(found: WhatIf) -> Html:
    """Build a table of the keys in which the configurations differ."""
    names = [name for name, twin in found.twins.items() if twin.configuration is not None]
    rows = ([key, *(value or "–" for value in values)] for key, values in found.differences.keys.items())
    count = found.differences.without_effect
    note = f"{count:,} further key{'s differ' if count > 1 else ' differs'}, without effect." if count else ""
    return Html(
        table("Keys and values in which the configurations differ", ["key", *names], rows)
        + (element("p", note, class_="note") if note else "")
    )


def _tables(found: WhatIf, by: GroupedBy) -> Html:
    """Build tables of waits by group and configuration, and of their differences from the first one.

    Each column has one unit.
    """
    rows = found.table.filter(by=by)
    order = {group: place for place, group in enumerate(rows["group"].unique(maintain_order=True))}
    parts = rows.partition_by("group", "configuration", maintain_order=True)
    # Make the rows of one group adjacent.
    parts.sort(key=lambda part: order[part["group"][0]])
    others = [part for part in parts if part["configuration"][0] != found.first]
    units = {name: unit_of(rows.filter(statistic=name)["wait"]) for name in _STATISTICS}
    lines: list[list[str]] = []
    for part in parts:
        if part["configuration"][0] == found.first:
            lines += _of_log(found, by, part["group"][0], units)
        lines.append(_cells(part, units, _wait))
    waits = table("Waits", _heads(units), lines, class_="numbers")
    if not others:
        return waits
    caption = f"By how much waits are above those under {found.first}"
    ends = ("difference", "difference_low", "difference_high")
    apart = {
        name: unit_of(value for end in ends for value in rows.filter(statistic=name)[end])
        for name in _STATISTICS
    }
    differences = (_cells(part, apart, _difference) for part in others)
    return Html(waits + table(caption, _heads(apart), differences, class_="numbers"))


def _heads(units: Mapping[str, Unit]) -> list[str]:
    columns = (f"{title}, {units[name].name}" for name, title in _STATISTICS.items())
    return ["group", "configuration", "jobs", *columns]


def _of_log(found: WhatIf, by: GroupedBy, group: str, units: Mapping[str, Unit]) -> list[list[str]]:
    """Return the log's own waits as a row of text; empty if the log has no start times."""
    rows = [] if found.log is None else found.log.filter(by=by, group=group).to_dicts()
    waits = {row["statistic"]: row["wait"] for row in rows if row["jobs"]}
    if not waits:
        return []
    return [[group, "(the log)", f"{rows[0]['jobs']:,}", *(units[name].plain(waits[name]) for name in units)]]


def _cells(
    part: pl.DataFrame,
    units: Mapping[str, Unit],
    written: Callable[[Mapping[str, float | None], Unit], str],
) -> list[str]:
    first = part.row(0, named=True)
    by_statistic = {row["statistic"]: row for row in part.iter_rows(named=True)}
    cells = (written(by_statistic[statistic], unit) for statistic, unit in units.items())
    return [first["group"], first["configuration"], f"{first['jobs']:,}", *cells]


def _wait(row: Mapping[str, float | None], unit: Unit) -> str:
    if row["wait"] is None or row["low"] is None or row["high"] is None:
        return unit.plain(row["wait"])
    return unit.interval(row["wait"], row["low"], row["high"])


def _difference(row: Mapping[str, float | None], unit: Unit) -> str:
    apart, low, high = (row[each] for each in ("difference", "difference_low", "difference_high"))
    return "" if apart is None or low is None or high is None else unit.difference(apart, low, high)


def _differences(found: WhatIf, by: GroupedBy) -> Html:
    level = f"with {100 * found.confidence:g} % intervals"
    apart = f"above those under {found.first}, " if len(found.twins) > 1 else ""
    titles = {"mean": f"Mean waits {apart}{level}", "p95": f"95 % quantiles of waits {apart}{level}"}
    drawn = ((plot.what_if(found, by=by, statistic=statistic), title) for statistic, title in titles.items())
    return figures(drawn, f"w{by}")


def _intervals(found: WhatIf) -> str:
    return (
        f"Intervals hold {100 * found.confidence:g} %: blocks of {amount(found.block)} were drawn "
        f"{found.resamples:,} times, with the jobs submitted in them and as many as cover the log, the same "
        "for all configurations; an interval lies between quantiles of what they gave."
    )


def _course(found: WhatIf) -> Html:
    drawn = (
        (
            plot.wait(found.results, kind="cdf"),
            "The share of jobs that waited at most so long, with the first seed",
        ),
        (plot.queue_size(found.results, kind="time"), "Jobs in the queue over time, with the first seed"),
        (plot.utilisation(found.results), "Resources in use over time, with the first seed"),
    )
    return figures(drawn, "c")
