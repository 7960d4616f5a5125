"""The sections of a report, built from groups of results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab import plot
from batchlab.core.markup import Html, element, table
from batchlab.plot.job_classes import can_be_classed
from batchlab.plot.over_time import Line, Steps
from batchlab.plot.queue import load_course, load_values, queue_course, utilisation_course
from batchlab.plot.scales import short_duration
from batchlab.plot.values import Values
from batchlab.plot.values import percent as percent_tick
from batchlab.report.beside_log import beside_log
from batchlab.report.breakdown import breakdowns, can_be_broken_down
from batchlab.report.chart import chart_figure
from batchlab.report.courses import courses
from batchlab.report.interactive import Chart, gantt
from batchlab.report.measures import cost_measures, measures_table, schedule_measures, statistics_table
from batchlab.report.origin import what_was_run
from batchlab.report.page import Section
from batchlab.report.pictures import figures
from batchlab.report.significance import significance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from matplotlib.axes import Axes

    from batchlab.plot.results import Group
    from batchlab.result.result import Result

__all__ = ["sections"]

# Maximum sizes of the charts of jobs: of each chart, and of all charts together.
_MOST_RECTANGLES, _RECTANGLES_IN_ALL = 3000, 12_000
_MOST_WEIGHT, _WEIGHT_IN_ALL = 200_000, 500_000  # bytes


def sections(
    groups: Sequence[Group],
    baseline: Group,
    tables: Mapping[str, Sequence[Sequence[str]]],
    command: str | None = None,
) -> Iterator[Section]:
    """Yield the sections of a report.

    Parameters
    ----------
    groups
        All results.
    baseline
        The group that others are compared with.
    tables
        Further tables by caption: rows of text, the first with the names of the columns.
    command
        The command that made the runs.

    Yields
    ------
    Section
        Origin of the runs, measures, significance, breakdowns, plots, then a section for each group.
    """
    yield Section("run", "What was run", what_was_run(groups, command))
    further = [table(name, rows[0], rows[1:], class_="numbers") for name, rows in tables.items()]
    yield Section("measures", "Measures", Html("".join([_measures(groups), *further])))
    beside = beside_log(groups)
    if beside is not None:
        yield Section("log", "Beside the log", beside)
    if len(groups) > 1:
        yield Section("significance", "Significance", significance(groups, baseline))
    if can_be_broken_down(groups):
        yield Section("breakdowns", "Breakdowns", breakdowns(groups))
    yield Section("comparison", "Comparison" if len(groups) > 1 else "Plots", _comparison(groups))
    rectangles = min(_MOST_RECTANGLES, _RECTANGLES_IN_ALL // len(groups))
    weight = min(_MOST_WEIGHT, _WEIGHT_IN_ALL // len(groups))
    for index, group in enumerate(groups):
        yield Section(
            f"policy-{index + 1}",
            group.label,
            _alone(group, index, gantt(group.results[0], rectangles, weight)),
        )


def _measures(groups: Sequence[Group]) -> Html:
    count = max(len(group.results) for group in groups)
    replicated = (
        f"Means over up to {count} replications ± half the 95 % confidence interval (Student's t; none "
        "where all replications agree). "
        if count > 1
        else ""
    )
    note = (
        f"{replicated}The best of each column is bold. Bounded slowdowns have a threshold of 10 s. Of a "
        "resource, the share in use is over the makespan, and what is lost lay idle while waiting jobs asked "
        "for it."
    )
    tables = (
        measures_table("Of schedules", groups, schedule_measures(groups)),
        element("p", note, class_="note"),
        measures_table("Of jobs and runs", groups, cost_measures(groups)),
    )
    return Html("".join(tables))


_QUARTILES = "quartiles, mean (diamond), 5th to 95th percentile"


def _comparison(groups: Sequence[Group]) -> Html:
    drawn = _plots({group.label: group.results for group in groups})
    pictures = figures(((draw(), caption) for draw, caption in drawn), "c")
    return Html(pictures + "".join(_over_time(groups)))


def _over_time(groups: Sequence[Group]) -> Iterator[Html]:
    """Yield the interactive charts: queue and utilisation over time."""
    resource = groups[0].results[0].system.resources[0]
    loads = _lines(groups, lambda result: load_course(result, resource))
    drawn = (
        ("Jobs in the queue over time", _lines(groups, queue_course), Values("jobs in the queue", "log1p")),
        (
            f"Use of {resource} over time",
            _lines(groups, lambda result: utilisation_course(result, resource)),
            Values(f"{resource} in use", write=percent_tick, top=1.0),
        ),
        ("What running and waiting jobs ask for, of capacity", loads, load_values(resource, loads)),
    )
    for caption, lines, values in drawn:
        chart = courses(groups, lines, values)
        if chart is not None:
            yield chart_figure(chart, caption, rows=len(lines))


def _lines(groups: Sequence[Group], course: Callable[[Result], Steps]) -> list[Line]:
    return [Line(group.label, tuple(map(course, group.schedules)), at) for at, group in enumerate(groups)]


def _plots(by_label: dict[str, tuple[Result, ...]]) -> Iterator[tuple[Callable[[], Axes], str]]:
    """Yield the plots that these results have data for, each with its caption."""
    results = [result for group in by_label.values() for result in group]
    yield lambda: plot.slowdown(by_label), f"Bounded slowdowns of jobs: {_QUARTILES}"
    yield lambda: plot.wait(by_label, kind="cdf"), "The share of jobs that waited at most so long"
    yield lambda: plot.turnaround(by_label), f"Time from submission to end: {_QUARTILES}"
    yield lambda: plot.queue_size(by_label), f"Jobs in the queue at dispatch instants: {_QUARTILES}"
    if max(len(result.system.resources) for result in results) > 1:
        yield lambda: plot.utilisation(by_label), "Resources in use over time"
    if max(result.system.nodes for result in results) > 1:
        yield lambda: plot.fragmentation(by_label), "How scattered free nodes are over time"
    if all("dispatch" in result.outcome.tables for result in results):
        yield lambda: plot.cpu_time(by_label), "CPU time of decisions per instant of the simulation, mean"
        by_queue = "CPU time of a scheduling pass by the number of jobs in the queue, mean"
        yield lambda: plot.cpu_time_by_queue_size(by_label), by_queue
    if all("power" in result.observations for result in results):
        yield lambda: plot.power(by_label), "Power of the machine over time"
    if all("sensed" in result.outcome.tables for result in results):
        yield lambda: plot.platform_activity(by_label, of="cpu"), "CPUs at work over time"


def _alone(group: Group, index: int, chart: Chart | None) -> Html:
    result = group.results[0]
    count = len(group.results)
    first = f"The first of {count} replications. " if count > 1 else ""
    name = f"p{index + 1}"
    drawn = [(plot.job_times(result), "When each job waited, and when it ran")]
    if "size" in can_be_classed(result):
        drawn.append(
            (plot.allocations(result, by="size"), "What jobs hold over time, by the number of their tasks")
        )
    if result.options.controls:
        drawn.append((plot.rates(result), "What work is left, and at which rate it is done"))
    if not result.resizes.is_empty():
        drawn.append((plot.allocations(result), "What each job holds over time, one above the other"))
    if "sensed" in result.outcome.tables:
        drawn.append((plot.platform_activity(result), "What of the platform is at work over time"))
    run = f"{first}{len(result.workload):,} jobs on {result.system.nodes:,} nodes under {result.policy}"
    elapsed = "" if result.elapsed is None else f", simulated in {short_duration(result.elapsed)}"
    return Html(
        element("p", f"{run}{elapsed}.")
        + statistics_table(result)
        + figures(drawn, f"{name}-")
        + _chart(chart)
    )


def _chart(chart: Chart | None) -> Html:
    if chart is None:
        return element("p", "No job has run, so there is no chart of nodes over time.")
    return chart_figure(chart, "Jobs over time and nodes")
