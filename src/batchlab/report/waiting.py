"""Why jobs waited: the split of all waiting, and explanations of the longest waits, to click on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab import plot
from batchlab.core.markup import Html, element, table
from batchlab.core.units import format_duration
from batchlab.errors import ResultError
from batchlab.report.interactive import deflated
from batchlab.report.page import figures
from batchlab.result.recorded import TABLES
from batchlab.result.why.split import longest_waits, waited
from batchlab.result.why.summary import part_title
from batchlab.result.why.wait import Waits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from batchlab.core.vocabulary import WaitSplit
    from batchlab.plot.results import Group
    from batchlab.result.result import Result
    from batchlab.result.why.why import Why

__all__ = ["explained_jobs", "waiting"]

_MOST_PICTURES = 6
_LISTED = 10
_MOST_EXPLAINED, _EXPLAINED_IN_ALL = 200, 600
_HOLDERS = "Use of the machine while jobs waited, as shares of the waiting"
_GATES = "Why jobs could not start, as shares of the waiting time"
_SIZES = "The waiting by the number of tasks"


def waiting(groups: Sequence[Group]) -> Html | None:
    """Compare the causes of waiting by policy, of the first replication each; None if no job waited."""
    held = {group.label: _split(group.results[0], "holders") for group in groups}
    waited = {label: split for label, split in held.items() if split is not None}
    if not waited:
        return None
    parts = [_table(_HOLDERS, "policy", waited, "holders")]
    gates = {
        group.label: group.results[0].waiting_time(of="gates")
        for group in groups
        if group.label in waited and TABLES["gates"].has(group.results[0])
    }
    parts += [_table(_GATES, "policy", gates, "gates")] if gates else []
    drawn = [
        (
            plot.waiting_time(group.results[0], of="gates" if group.label in gates else "holders"),
            f"Jobs that wait under {group.label}, by "
            + ("why jobs could not start" if group.label in gates else "use of the machine"),
        )
        for group in groups
        if group.label in waited
    ]
    return Html("".join([*parts, figures(drawn[:_MOST_PICTURES], "w")]))


def _split(result: Result, of: WaitSplit, by: str | None = None) -> pl.DataFrame | None:
    """Return the split of all waiting; None if no job waited, or there is no account of it."""
    try:
        found = result.waiting_time(by, of=of)
    except ResultError:
        # Some job may use no node with a resource.
        return None
    return found if len(found) else None


def _table(caption: str, head: str, tables: Mapping[str, pl.DataFrame], of: WaitSplit) -> Html:
    """Write shares of the waiting, a row for each of the tables, which have one row."""
    every = pl.concat([*tables.values()], how="diagonal")
    names = [name for name in every.columns[every.columns.index("wait") + 1 :] if every[name].sum() > 0]
    rows = []
    for label, each in tables.items():
        row = each.row(0, named=True)
        shares = [f"{row[name] / row['wait']:.1%}" for name in names]
        mean = format_duration(row["wait"] / row["jobs"])
        rows.append([label, f"{row['jobs']:,}", mean, format_duration(row["wait"]), *shares])
    titles = [head, "jobs that waited", "mean", "in all", *(part_title(name, of) for name in names)]
    return table(caption, titles, rows, class_="numbers")


def explained_jobs(result: Result, count: int) -> Html:
    """Write the waits of one result by size and its longest waits, with explanations to click on.

    Parameters
    ----------
    result
        The result.
    count
        The number of results of the report, which share the number of jobs that are explained.
    """
    of: WaitSplit = "gates" if TABLES["gates"].has(result) else "holders"
    by_size = _split(result, of, "size")
    if by_size is None:
        return Html("")
    sizes = {f"up to {row['size'][0]:,}": row for row in by_size.partition_by("size", maintain_order=True)}
    # The number of a job must name one job.
    longest = longest_waits(Waits(result)).filter(pl.col("job_id").is_unique())
    most = min(_MOST_EXPLAINED, _EXPLAINED_IN_ALL // count)
    chosen = longest["job_id"].head(most).to_list()
    answers = {str(job): _answer(result.why(job)) for job in chosen}
    return Html(
        _table(_SIZES, "tasks", sizes, of)
        + _longest_waits(longest.head(_LISTED))
        + _panel(answers, len(longest))
    )


def _longest_waits(longest: pl.DataFrame) -> Html:
    rows = [
        [
            element("button", str(row["job_id"]), type="button", data_job=row["job_id"]),
            f"{row['tasks']:,}",
            format_duration(row["submit_time"]),
            waited(row),
        ]
        for row in longest.iter_rows(named=True)
    ]
    return table("The longest waits", ["job", "tasks", "submitted", "waited"], rows, class_="numbers")


def _answer(why: Why) -> str:
    """Write an explanation as a part of the page."""
    (head, _), *others = why.sections()
    tables = (table(title, rows[0], rows[1:]) if rows else element("p", title) for title, rows in others)
    return Html(element("p", head) + "".join(tables))


def _panel(answers: Mapping[str, str], waited: int) -> Html:
    """Write the place where a job is explained, with all explanations, packed."""
    packed = deflated(np.frombuffer(json.dumps(answers).encode(), np.uint8))
    everyone = len(answers) == waited
    which = (
        "every job that waited"
        if everyone
        else f"the {len(answers):,} of {waited:,} jobs that waited longest"
    )
    missing = "did not wait." if everyone else "did not wait, or is not among the jobs explained here."
    note = (
        f"This page explains {which}; batchlab why DIR JOB explains any job of a run that was written to DIR."
    )
    number = element("input", type="number", inputmode="numeric")
    return element(
        "div",
        element("label", "Why did job ", number, " wait?"),
        element("p", f"{note} Enter a number, or click on a job.", class_="note"),
        element("div", class_="answer", aria_live="polite"),
        element("script", Html(packed), type="text/plain"),
        class_="why",
        data_missing=missing,
    )
