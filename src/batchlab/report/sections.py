"""The parts of the report, each from the groups of results alone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from string import Template
from typing import TYPE_CHECKING, cast

from batchlab import plot
from batchlab.plot.scales import short_duration
from batchlab.report.interactive import gantt
from batchlab.report.markup import Html, element, table
from batchlab.report.measures import measures_table, percent, statistics_table
from batchlab.report.pictures import figure
from batchlab.report.statistics import Comparison, compare
from batchlab.result.manifest import manifest
from batchlab.result.output import identify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from matplotlib.axes import Axes

    from batchlab.plot.results import Group
    from batchlab.result.result import Result

__all__ = ["Section", "sections"]

_MOST_RECTANGLES = 3000
_MOST_IN_ALL = 12_000
_SIGNIFICANT = 0.05
_ON_SIGNIFICANCE = """\
Bounded slowdowns of single jobs against those of $baseline, two-sided. Where the same jobs ran under both:
the Wilcoxon signed-rank test on the pairs, a job's slowdown being its mean over the replications. Where the
jobs differ: the Mann–Whitney U test. p-values carry Holm's correction for $count comparison$plural. Jobs of
one run wait for each other, so they are not independent, and p understates chance; with many jobs, small
differences are significant. Look at the shares and the measures for whether they matter."""


@dataclass(frozen=True)
class Section:
    """A part with a heading, to which the navigation leads."""

    name: str
    title: str
    content: Html

    def html(self) -> Html:
        """Write it."""
        return element("section", element("h2", self.title), self.content, id=self.name)


def sections(groups: Sequence[Group], baseline: Group) -> Iterator[Section]:
    """Give the parts of the report in order.

    Parameters
    ----------
    groups
        All that was run.
    baseline
        What the others are compared with.

    Yields
    ------
    Section
        What was run, the measures, significance, plots, then every group by itself.
    """
    yield Section("run", "What was run", _what_was_run(groups))
    yield Section("measures", "Measures", _measures(groups))
    if len(groups) > 1:
        yield Section("significance", "Significance", _significance(groups, baseline))
    yield Section("comparison", "Comparison" if len(groups) > 1 else "Plots", _comparison(groups))
    most = min(_MOST_RECTANGLES, _MOST_IN_ALL // len(groups))
    for index, group in enumerate(groups):
        yield Section(f"policy-{index + 1}", group.label, _alone(group, index, most))


def _what_was_run(groups: Sequence[Group]) -> Html:
    described = [(group, [_described(result) for result in group.results]) for group in groups]
    everything = [each for _, found in described for each in found]
    parts = [
        _listed("Workload", [_workload(each) for each in everything]),
        _listed("System", [_system(each) for each in everything]),
        _listed("Versions", [_versions(each) for each in everything]),
    ]
    rows = [
        [
            group.label,
            str(found[0]["policy"]),
            _numbers([each["seed"] for each in found]),
            ", ".join(
                f"{name} = {value}" for name, value in cast("dict[str, object]", found[0]["options"]).items()
            ),
            str(len(found)),
        ]
        for group, found in described
    ]
    head = ["policy", "as it was written", "seeds", "options", "runs"]
    return Html(element("dl", *parts) + table("Every policy", head, rows))


def _described(result: Result) -> dict[str, object]:
    return manifest(
        result.policy,
        result.system,
        options=result.options,
        workload={**identify(result.workload), "source": result.workload.report.source},
        inputs={},
        command=None,
    )


def _listed(term: str, descriptions: Sequence[Html]) -> Html:
    """Write each different description once."""
    different = dict.fromkeys(descriptions)
    name = term if len(different) == 1 or term.endswith("s") else f"{term}s"
    return Html(element("dt", name) + "".join(element("dd", each) for each in different))


def _workload(described: Mapping[str, object]) -> Html:
    workload = cast("dict[str, object]", described["workload"])
    report = cast("dict[str, object]", workload["report"])
    changed = ", ".join(
        f"{sum(cast('dict[str, int]', report[name]).values()):,} {name}"
        for name in ("dropped", "mended")
        if report[name]
    )
    text = f"{workload['source']}: {workload['jobs']:,} jobs"
    hashed = element("code", str(workload["sha256"]))
    return Html(
        element("span", text + (f" ({changed} by the reader)" if changed else "")) + " sha256 " + hashed
    )


def _system(described: Mapping[str, object]) -> Html:
    system = cast("dict[str, object]", described["system"])
    groups = cast("list[dict[str, object]]", system["groups"])
    texts = [f"{group['count']:,} × ({_amounts(group['resources'])})" for group in groups]
    one = _amounts(system["equivalence"])
    return element("span", f"{system['name'] or 'nodes'}: {'; '.join(texts)}; one processor is {one}")


def _amounts(resources: object) -> str:
    return ", ".join(f"{amount:,} {name}" for name, amount in cast("dict[str, int]", resources).items())


def _versions(described: Mapping[str, object]) -> Html:
    versions = cast("dict[str, str]", described["versions"])
    return element("span", ", ".join(f"{name} {version}" for name, version in versions.items()))


def _numbers(values: Sequence[object]) -> str:
    """List seeds, neighbours as a range."""
    numbers = sorted({value for value in values if isinstance(value, int)})
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:  # noqa: PLR2004  # two are written out
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(map(str, numbers)) or "none"


def _measures(groups: Sequence[Group]) -> Html:
    count = max(len(group.results) for group in groups)
    replicated = (
        f"Means over up to {count} replications ± half the 95 % confidence interval (Student's t). "
        if count > 1
        else ""
    )
    note = (
        f"{replicated}The best of each column is bold. Bounded slowdowns have a threshold of 10 s. Of a "
        "resource, the share in use is over the makespan, and what is lost lay idle while waiting jobs asked "
        "for it."
    )
    return Html(measures_table(groups) + element("p", note, class_="note"))


def _significance(groups: Sequence[Group], baseline: Group) -> Html:
    found = compare(groups, baseline)
    rows = [
        [
            each.label,
            "Wilcoxon signed-rank" if each.paired else "Mann–Whitney U",
            f"{each.count:,}",
            "–" if each.lower is None else percent(each.lower),
            "–" if each.higher is None else percent(each.higher),
            _p(each.adjusted),
            _verdict(each),
        ]
        for each in found
    ]
    head = ["policy", "test", "jobs", "lower for", "higher for", "p (Holm)", f"differs from {baseline.label}"]
    note = Template(_ON_SIGNIFICANCE).substitute(
        baseline=baseline.label, count=len(found), plural="s" if len(found) > 1 else ""
    )
    return Html(
        table(f"Against {baseline.label}", head, rows, class_="numbers") + element("p", note, class_="note")
    )


def _p(value: float | None) -> str:
    if value is None:
        return "–"
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"  # noqa: PLR2004  # four digits are shown


def _verdict(each: Comparison) -> str:
    if each.adjusted is None:
        return "cannot be told"
    if each.adjusted >= _SIGNIFICANT:
        return "no"
    if each.lower is None or each.higher is None:
        return "yes"
    return "yes, mostly lower" if each.lower > each.higher else "yes, mostly higher"


def _comparison(groups: Sequence[Group]) -> Html:
    by_label = {group.label: group.results for group in groups}
    drawn: list[tuple[Callable[[], Axes], str]] = [
        (
            lambda: plot.slowdown(by_label),
            "Bounded slowdowns of jobs: quartiles, mean (diamond), 5th to 95th percentile",
        ),
        (lambda: plot.wait(by_label, kind="cdf"), "The share of jobs that waited at most so long"),
        (
            lambda: plot.queue_size(by_label),
            "Jobs in the queue at dispatch instants: quartiles, mean (diamond), 5th to 95th percentile",
        ),
        (lambda: plot.queue_size(by_label, kind="time"), "Jobs in the queue over time"),
        (lambda: plot.utilisation(by_label), "Resources in use over time"),
    ]
    return element(
        "div",
        *(figure(draw(), caption, f"c{index}") for index, (draw, caption) in enumerate(drawn)),
        class_="plots",
    )


def _alone(group: Group, index: int, most: int) -> Html:
    result = group.results[0]
    count = len(group.results)
    first = f"The first of {count} replications. " if count > 1 else ""
    name = f"p{index + 1}"
    pictures = (
        figure(plot.utilisation(result), "Resources in use over time", f"{name}a"),
        figure(plot.load(result), "What running and waiting jobs ask for, of capacity", f"{name}b"),
    )
    run = f"{first}{len(result.workload):,} jobs on {result.system.nodes:,} nodes under {result.policy}"
    elapsed = "" if result.elapsed is None else f", simulated in {short_duration(result.elapsed)}"
    return Html(
        element("p", f"{run}{elapsed}.")
        + statistics_table(result)
        + element("div", *pictures, class_="plots")
        + _chart(result, most)
    )


def _chart(result: Result, most: int) -> Html:
    chart = gantt(result, most)
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
