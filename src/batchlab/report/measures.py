"""The tables of measures: by policy, by class of jobs, and next to the log's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import polars as pl

from batchlab.core.markup import Html, element, table
from batchlab.core.units import format_duration
from batchlab.plot.job_classes import can_be_classed, is_known, job_classes
from batchlab.plot.results import Estimate, estimate, jobs_of
from batchlab.plot.scales import short_duration
from batchlab.result import metrics
from batchlab.result.aggregates import (
    AGGREGATES,
    QUANTITIES,
    STATISTICS,
    jobs_in,
    number,
    of_resource,
    percent,
)
from batchlab.result.near import both_schedules
from batchlab.slurm.twin.log import groupings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from batchlab.plot.job_classes import By
    from batchlab.plot.results import Group
    from batchlab.result.aggregates import Aggregate
    from batchlab.result.result import Result
    from batchlab.slurm.twin.log import Grouping

__all__ = [
    "Measure",
    "beside_log",
    "breakdowns",
    "can_be_broken_down",
    "cost_measures",
    "measures_table",
    "schedule_measures",
    "statistics_table",
]

# Shown for every group, after which come the shares of resources.
_OF_SCHEDULES = (
    "wait_mean",
    "wait_median",
    "wait_p95",
    "bounded_slowdown_mean",
    "bounded_slowdown_p95",
    "makespan",
)
_QUEUE = ("queue_length_mean", "queue_length_max")


@dataclass(frozen=True)
class Measure:
    """A number per replication, its format, and the direction of better values, if any."""

    name: str
    value: Callable[[Group], Sequence[float | None]]
    written: Callable[[float], str]
    better: Literal["lower", "higher"] | None = None


_STATES = ("completed", "killed", "rejected", "cancelled")
_UNUSUAL = frozenset(_STATES[1:])
"""States that are omitted if no job is in them."""


def schedule_measures(groups: Sequence[Group]) -> list[Measure]:
    """Return the measures of schedules that have values in these groups."""
    resources = dict.fromkeys(name for group in groups for name in group.results[0].system.resources)
    every = [
        *(AGGREGATES[name] for name in _OF_SCHEDULES),
        *(of_resource("utilisation", name) for name in resources),
        *(of_resource("loss_of_capacity", name) for name in resources),
        *(AGGREGATES[name] for name in _QUEUE),
    ]
    return [measure for measure in map(_measured, every) if any(_tells(measure, group) for group in groups)]


def cost_measures(groups: Sequence[Group]) -> list[Measure]:
    """Return the measures of job states and of simulation costs."""
    every = [
        *(Measure(state, _values(jobs_in(state)), jobs_in(state).written) for state in _STATES),
        Measure("simulated in", lambda group: [result.elapsed for result in group.results], short_duration),
        Measure("CPU time of decisions", _decisions, short_duration),
    ]
    return [measure for measure in every if any(_tells(measure, group) for group in groups)]


def measures_table(caption: str, groups: Sequence[Group], columns: Sequence[Measure]) -> Html:
    """Build a table of measures, with the best value of each column marked."""
    found = [[estimate(each.value(group)) for each in columns] for group in groups]
    best = [_best(each, [row[index] for row in found]) for index, each in enumerate(columns)]
    rows = []
    for group, estimates in zip(groups, found, strict=True):
        cells = (
            element("td", _estimated(measure, value), class_="best" if value and value.mean == mark else None)
            for measure, value, mark in zip(columns, estimates, best, strict=True)
        )
        rows.append([group.label, *cells])
    return table(caption, ["policy", *(each.name for each in columns)], rows, class_="numbers")


def statistics_table(result: Result) -> Html:
    """Build a table of the distributions of job measures in one result."""
    metrics = result.metrics()
    rows = [
        [quantity.title, *(AGGREGATES[f"{name}_{each}"].text(metrics) for each in STATISTICS)]
        for name, quantity in QUANTITIES.items()
    ]
    return table("Over the jobs that ran", ["", *STATISTICS], rows, class_="numbers")


def _measured(each: Aggregate) -> Measure:
    return Measure(each.title, _values(each), each.written, each.better)


def _values(each: Aggregate) -> Callable[[Group], Sequence[float | None]]:
    def values(group: Group) -> list[float | None]:
        # Equal schedules are measured once; the values count for all of them.
        found = [each.of(result.metrics()) for result in group.schedules]
        return found * (len(group.results) // len(found))

    return values


def _decisions(group: Group) -> list[float | None]:
    return [
        None if "dispatch" not in result.outcome.tables else float(result.dispatch["cpu_time"].sum())
        for result in group.results
    ]


def _tells(measure: Measure, group: Group) -> bool:
    # Omit states without jobs, and resources that no job uses.
    quiet = measure.name in _UNUSUAL or measure.name.endswith(("in use", "lost"))
    return any(value is not None and not (quiet and value == 0) for value in measure.value(group))


def _best(measure: Measure, values: Sequence[Estimate | None]) -> float | None:
    means = [value.mean for value in values if value is not None]
    if measure.better is None or len(set(means)) < 2:  # noqa: PLR2004  # it takes two
        return None
    return min(means) if measure.better == "lower" else max(means)


def _estimated(measure: Measure, value: Estimate | None) -> str:
    if value is None:
        return "–"
    half = value.half_width
    return measure.written(value.mean) + (f" ± {measure.written(half)}" if half else "")


_CLASSES_NOTE = (
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
    return Html("".join(parts) + element("p", _CLASSES_NOTE, class_="note"))


def _breakdown(groups: Sequence[Group], by: By) -> Html:
    found = [pl.concat([_by_class(result, by) for result in group.schedules]) for group in groups]
    means = [_class_means(each) for each in found]
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


def _class_means(jobs: pl.DataFrame) -> pl.DataFrame:
    work = pl.col("work").sum()
    total = jobs["work"].sum() or 1.0
    return jobs.group_by("class").agg(
        jobs=pl.len(), share=work / total, wait=pl.col("wait").mean(), slowdown=pl.col("slowdown").mean()
    )


def _written(value: float | None, write: Callable[[float], str]) -> str:
    return "–" if value is None else write(value)


_SHOWN = ("all", "partition", "size")
_LOG = "the log"
_LOG_NOTE = (
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
    return Html("".join([*tables, element("p", _LOG_NOTE, class_="note")]))


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
        by_label = [_group_means(jobs, measure, grouping) for jobs in measured.values()]
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


def _group_means(jobs: pl.DataFrame, measure: str, grouping: Grouping) -> dict[int, tuple[int, float]]:
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
