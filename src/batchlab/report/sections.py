"""The parts of the report, each from the groups of results alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from batchlab import plot
from batchlab.plot.scales import short_duration
from batchlab.report.interactive import Chart, gantt
from batchlab.report.markup import Html, element, table
from batchlab.report.measures import cost_measures, measures_table, schedule_measures, statistics_table
from batchlab.report.origin import what_was_run
from batchlab.report.page import Section
from batchlab.report.pictures import figure
from batchlab.report.significance import significance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from matplotlib.axes import Axes

    from batchlab.plot.results import Group
    from batchlab.result.result import Result

__all__ = ["sections"]

# What the charts of jobs may weigh: each by itself, and all together.
_MOST_RECTANGLES, _RECTANGLES_IN_ALL = 3000, 12_000
_MOST_COLUMNS, _COLUMNS_IN_ALL = 600, 3600


def sections(
    groups: Sequence[Group], baseline: Group, tables: Mapping[str, Sequence[Sequence[str]]]
) -> Iterator[Section]:
    """Give the parts of the report in order.

    Parameters
    ----------
    groups
        All that was run.
    baseline
        What the others are compared with.
    tables
        Further tables by what they show: rows of text, the first of them the names of the columns.

    Yields
    ------
    Section
        What was run, the measures, significance, plots, then every group by itself.
    """
    yield Section("run", "What was run", what_was_run(groups))
    further = [table(name, rows[0], rows[1:], class_="numbers") for name, rows in tables.items()]
    yield Section("measures", "Measures", Html("".join([_measures(groups), *further])))
    if len(groups) > 1:
        yield Section("significance", "Significance", significance(groups, baseline))
    yield Section("comparison", "Comparison" if len(groups) > 1 else "Plots", _comparison(groups))
    rectangles = min(_MOST_RECTANGLES, _RECTANGLES_IN_ALL // len(groups))
    columns = min(_MOST_COLUMNS, max(_COLUMNS_IN_ALL // len(groups), 1))
    for index, group in enumerate(groups):
        yield Section(
            f"policy-{index + 1}",
            group.label,
            _alone(group, index, gantt(group.results[0], rectangles, columns)),
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
    pictures = (figure(draw(), caption, f"c{index}") for index, (draw, caption) in enumerate(drawn))
    return element("div", *pictures, class_="plots")


def _plots(by_label: dict[str, tuple[Result, ...]]) -> Iterator[tuple[Callable[[], Axes], str]]:
    """Give the plots that these results can fill, each with its caption."""
    results = [result for group in by_label.values() for result in group]
    yield lambda: plot.slowdown(by_label), f"Bounded slowdowns of jobs: {_QUARTILES}"
    yield lambda: plot.wait(by_label, kind="cdf"), "The share of jobs that waited at most so long"
    yield lambda: plot.turnaround(by_label), f"Time from submission to end: {_QUARTILES}"
    yield lambda: plot.queue_size(by_label), f"Jobs in the queue at dispatch instants: {_QUARTILES}"
    yield lambda: plot.queue_size(by_label, kind="time"), "Jobs in the queue over time"
    yield lambda: plot.utilisation(by_label), "Resources in use over time"
    if all(result.outcome.dispatch is not None for result in results):
        yield lambda: plot.cpu_time(by_label), "CPU time of decisions per instant of the simulation, mean"
        by_queue = "CPU time of a scheduling pass by the number of jobs in the queue, mean"
        yield lambda: plot.cpu_time_by_queue_size(by_label), by_queue
    if all("power" in result.observations for result in results):
        yield lambda: plot.power(by_label), "Power of the machine over time"
    if all(result.outcome.sensed is not None for result in results):
        yield lambda: plot.platform_activity(by_label, of="cpu"), "CPUs at work over time"


def _alone(group: Group, index: int, chart: Chart | None) -> Html:
    result = group.results[0]
    count = len(group.results)
    first = f"The first of {count} replications. " if count > 1 else ""
    name = f"p{index + 1}"
    drawn = [
        (plot.utilisation(result), "Resources in use over time"),
        (plot.load(result), "What running and waiting jobs ask for, of capacity"),
        (plot.job_times(result), "When each job waited, and when it ran"),
    ]
    if result.options.controls:
        drawn.append((plot.rates(result), "What work is left, and at which rate it is done"))
    if not result.resizes.is_empty():
        drawn.append((plot.allocations(result), "What each job holds over time, one above the other"))
    if result.outcome.sensed is not None:
        drawn.append((plot.platform_activity(result), "What of the platform is at work over time"))
    pictures = (
        figure(ax, caption, f"{name}{letter}") for (ax, caption), letter in zip(drawn, "abcdef", strict=False)
    )
    run = f"{first}{len(result.workload):,} jobs on {result.system.nodes:,} nodes under {result.policy}"
    elapsed = "" if result.elapsed is None else f", simulated in {short_duration(result.elapsed)}"
    return Html(
        element("p", f"{run}{elapsed}.")
        + statistics_table(result)
        + element("div", *pictures, class_="plots")
        + _chart(chart)
    )


def _chart(chart: Chart | None) -> Html:
    if chart is None:
        return element("p", "No job has run, so there is no chart of nodes over time.")
    # A "<" could end the script.
    text = json.dumps({"data": [chart.data], "layout": chart.layout}, separators=(",", ":")).replace(
        "<", "\\u003c"
    )
    return element(
        "figure",
        element("div", class_="gantt", role="img", aria_label="Jobs over time and nodes"),
        element("script", Html(text), type="application/json"),
        element(
            "figcaption", f"Jobs over time and nodes. {chart.note} Drag to zoom, double-click to go back."
        ),
        class_="chart",
    )
