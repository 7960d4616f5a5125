"""Measures by size, user, queue and state of jobs: a row for each class, a column for each policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from batchlab.core.markup import Html, element, table
from batchlab.core.units import format_duration
from batchlab.plot.job_classes import can_be_classed, is_known, job_classes
from batchlab.plot.results import jobs_of
from batchlab.report.measures import number, percent
from batchlab.result import metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from batchlab.plot.job_classes import By
    from batchlab.plot.results import Group
    from batchlab.result.result import Result

__all__ = ["breakdowns", "can_be_broken_down"]

_NOTE = (
    "Means over the jobs of each class that ran. Users and queues are those whose jobs take most (tasks × "
    "run time), the others are one class. Bounded slowdowns have a threshold of 10 s."
)


def can_be_broken_down(groups: Sequence[Group]) -> list[By]:
    """Return the classifications with several classes in the first group that all groups support."""
    results = [result for group in groups for result in group.results]
    return [by for by in can_be_classed(groups[0].results[0]) if all(is_known(each, by) for each in results)]


def breakdowns(groups: Sequence[Group]) -> Html:
    """Build tables by class of jobs: number of jobs, share of work, and waits under each policy.

    Parameters
    ----------
    groups
        All results.

    Returns
    -------
    Html
        Tables. The jobs of replications with different schedules are pooled.
    """
    parts = [_breakdown(groups, by) for by in can_be_broken_down(groups)]
    return Html("".join(parts) + element("p", _NOTE, class_="note"))


def _breakdown(groups: Sequence[Group], by: By) -> Html:
    found = [pl.concat([_by_class(result, by) for result in group.schedules]) for group in groups]
    means = [_means(each) for each in found]
    names = [*dict.fromkeys(name for result in groups for name in _names(result.results[0], by))]
    policies = [group.label for group in groups]
    first = {row["class"]: row for row in means[0].iter_rows(named=True)}
    by_group = [{row["class"]: row for row in each.iter_rows(named=True)} for each in means]
    counted = ["jobs", "of all work"]
    waits, slowdowns = [], []
    for name in names:
        own = first.get(name)
        count = ["–", "–"] if own is None else [f"{own['jobs']:,}", percent(own["share"])]
        rows = [each.get(name, {}) for each in by_group]
        waits.append([name, *count, *(_written(row.get("wait"), format_duration) for row in rows)])
        slowdowns.append([name, *count, *(_written(row.get("slowdown"), number) for row in rows)])
    parts = (
        table(f"Mean wait by {by}", [by, *counted, *policies], waits, class_="numbers"),
        table(f"Mean bounded slowdown by {by}", [by, *counted, *policies], slowdowns, class_="numbers"),
    )
    return element("div", *parts, class_="pair")


def _names(result: Result, by: By) -> tuple[str, ...]:
    return job_classes(result, by).names


def _by_class(result: Result, by: By) -> pl.DataFrame:
    """Return class, work, wait and bounded slowdown of each job; null if the job did not run."""
    classes, jobs = job_classes(result, by), jobs_of(result)
    return pl.DataFrame(
        {
            "class": [classes.names[number] for number in classes.number],
            "work": jobs["tasks"] * (jobs["end_time"] - jobs["start_time"]),
            "wait": metrics.wait(jobs),
            "slowdown": metrics.bounded_slowdown(jobs),
        },
        schema_overrides={"class": pl.String},
    )


def _means(jobs: pl.DataFrame) -> pl.DataFrame:
    work = pl.col("work").sum()
    total = jobs["work"].sum() or 1.0
    return jobs.group_by("class").agg(
        jobs=pl.len(), share=work / total, wait=pl.col("wait").mean(), slowdown=pl.col("slowdown").mean()
    )


def _written(value: float | None, write: Callable[[float], str]) -> str:
    return "–" if value is None else write(value)
