"""The report on a what-if study: waits of the same jobs under several configurations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab import plot
from batchlab.core.markup import Html, element, facts, table
from batchlab.errors import ResultError, shown
from batchlab.report.page import Section, page, save
from batchlab.report.pictures import figures
from batchlab.slurm.twin import WhatIf
from batchlab.slurm.twin.text import amount, amounts, unit_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    import polars as pl

    from batchlab.slurm.twin import Twin
    from batchlab.slurm.twin.text import Unit
    from batchlab.slurm.twin.waits import GroupedBy

__all__ = ["write_what_if"]

_TITLES = {
    "all": "All jobs",
    "partition": "By partition",
    "qos": "By QOS",
    "account": "By account",
    "size": "By size",
}
_STATISTICS = {"mean": "mean", "median": "median", "p95": "95 %"}
_METHOD = (
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
_SOURCE = (
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
    return save(page(title, _sections(found, source)), path, overwrite=overwrite)


def _sections(found: WhatIf, source: str | None) -> Iterator[Section]:
    yield Section("summary", "Summary", _summary(found, source))
    if found.differences.keys:
        yield Section("differences", "In what they differ", _settings(found))
    for by in found.grouped_by:
        yield Section(by, _TITLES[by], Html(_tables(found, by) + _differences(found, by)))
    yield Section("course", "Waits and queue", _course(found))
    notes = element("p", _METHOD) + element("p", _intervals(found)) + element("p", _MEANING)
    yield Section("method", "How it was done", Html(notes + element("p", _SOURCE, class_="note")))


def _summary(found: WhatIf, source: str | None) -> Html:
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
    run = f"{twin.policy} on {twin.system.nodes:,} nodes"
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
