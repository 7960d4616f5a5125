"""The log's own waits next to the simulated ones, by partition and size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from batchlab.core.markup import Html, element, table
from batchlab.core.units import format_duration
from batchlab.plot.results import jobs_of
from batchlab.report.measures import number, percent
from batchlab.result import metrics
from batchlab.result.near import both_schedules
from batchlab.slurm.twin.waits import groupings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from batchlab.plot.results import Group
    from batchlab.result.result import Result
    from batchlab.slurm.twin.waits import Grouping

__all__ = ["beside_log"]

_SHOWN = ("all", "partition", "size")
_LOG = "the log"
_NOTE = (
    "Means over the jobs that ran in the log and under every policy, with the first seed. The shares in use "
    "are over the time from the first submission to the last end of these jobs; in the log too, a job holds "
    "what it is given in the simulation. Bounded slowdowns have a threshold of 10 s."
)


def beside_log(groups: Sequence[Group]) -> Html | None:
    """Build tables of mean waits and bounded slowdowns in the log and under each policy.

    Parameters
    ----------
    groups
        All results.

    Returns
    -------
    Html or None
        Tables of all jobs, by partition and by size, and of the utilisation of resources. None unless all
        runs are of one log with start times, and at least one job ran in all of them.
    """
    first = groups[0].results[0]
    schedules = _schedules(groups, first)
    if schedules is None:
        return None
    shown = [each for each in groupings(first.workload) if each.by in _SHOWN]
    measured = {label: _of_jobs(jobs) for label, jobs in schedules.items()}
    tables = (
        _table("Mean wait", "wait", format_duration, measured, shown),
        _table("Mean bounded slowdown", "slowdown", number, measured, shown),
        _shares(schedules, first),
    )
    return Html("".join([*tables, element("p", _NOTE, class_="note")]))


def _schedules(groups: Sequence[Group], first: Result) -> dict[str, pl.DataFrame] | None:
    """Return the schedules of the log and of each policy, restricted to jobs that ran in all of them."""
    found: dict[str, pl.DataFrame] = {}
    for group in groups:
        result = group.results[0]
        if result is not first and not result.workload.jobs.equals(first.workload.jobs):
            return None
        both = both_schedules(result.workload, jobs_of(result))
        if both is None:
            return None
        found.setdefault(_LOG, both[0])
        found[group.label] = both[1]
    rows = pl.DataFrame({"row": found[_LOG]["row"]})
    for jobs in found.values():
        rows = rows.join(jobs.select("row"), on="row", how="semi")
    if rows.is_empty():
        return None
    return {label: jobs.join(rows, on="row", how="semi") for label, jobs in found.items()}


def _of_jobs(jobs: pl.DataFrame) -> pl.DataFrame:
    waits, slowdowns = metrics.wait(jobs), metrics.bounded_slowdown(jobs)
    return pl.DataFrame({"row": jobs["row"], "wait": waits, "slowdown": slowdowns})


def _table(
    title: str,
    measure: str,
    write: Callable[[float], str],
    measured: Mapping[str, pl.DataFrame],
    shown: Sequence[Grouping],
) -> Html:
    rows: list[list[str]] = []
    for grouping in shown:
        by_label = [_means(jobs, measure, grouping) for jobs in measured.values()]
        # A single group has the same values as all jobs.
        if grouping.by != "all" and len(by_label[0]) < 2:  # noqa: PLR2004  # it takes two
            continue
        for place, name in enumerate(grouping.names):
            if place in by_label[0]:
                count = by_label[0][place][0]
                called = "all jobs" if grouping.by == "all" else f"{_CALLED[grouping.by]} {name}"
                rows.append([called, f"{count:,}", *(write(each[place][1]) for each in by_label)])
    return table(title, ["jobs of", "number", *measured], rows, class_="numbers")


_CALLED = {"partition": "partition", "size": "processors"}


def _means(jobs: pl.DataFrame, measure: str, grouping: Grouping) -> dict[int, tuple[int, float]]:
    """Return the number of jobs of each group, and their mean."""
    group = pl.Series("group", grouping.number)[jobs["row"]]
    found = jobs.with_columns(group).group_by("group").agg(pl.len(), pl.col(measure).mean())
    return {place: (count, mean) for place, count, mean in found.iter_rows()}


def _shares(schedules: Mapping[str, pl.DataFrame], first: Result) -> Html:
    found = {label: metrics.utilisation(jobs, first.system) for label, jobs in schedules.items()}

    def rows() -> Iterator[list[str]]:
        for resource in first.system.resources:
            shares = [each[resource] for each in found.values()]
            if any(shares):
                yield [resource, *("–" if share is None else percent(share) for share in shares)]

    return table("Share in use", ["resource", *found], rows(), class_="numbers")
