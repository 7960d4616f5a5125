"""The report on runs: its sections, the origin of the runs, and the file."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, cast

from batchlab import plot
from batchlab.core.declared import declared
from batchlab.core.markup import Html, element, table
from batchlab.core.units import format_count
from batchlab.errors import BatchlabError, ResultError, shown, suggest
from batchlab.plot.job_classes import can_be_classed
from batchlab.plot.over_time import Line, Steps
from batchlab.plot.queue import load_course, load_values, queue_course, utilisation_course
from batchlab.plot.results import Group, Results, groups
from batchlab.plot.scales import Values, short_duration
from batchlab.plot.scales import percent as percent_tick
from batchlab.report.interactive import Chart, chart_figure, courses, find_plotly, gantt, plotly_script
from batchlab.report.measures import (
    beside_log,
    breakdowns,
    can_be_broken_down,
    cost_measures,
    measures_table,
    schedule_measures,
    statistics_table,
)
from batchlab.report.page import Section, asset, figures, page, save
from batchlab.report.statistics import significance
from batchlab.report.waiting import explained_jobs, waiting
from batchlab.result.manifest import manifest
from batchlab.result.output import identify
from batchlab.system import System
from batchlab.workload import read_table
from batchlab.workload.formats import is_table, read_by
from batchlab.workload.log_options import ReadingOptions

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from matplotlib.axes import Axes

    from batchlab.result.result import Result
    from batchlab.workload import Workload

__all__ = ["command_of", "sections", "what_was_run", "write"]


def reproduced_by(groups: Sequence[Group], command: str | None) -> Html:
    """Write the command that reproduces the runs: the given one, or an equivalent one."""
    line = command_of(groups) if command is None else command
    if line is None:
        return Html("")
    return Html(element("dt", "Command") + element("dd", element("pre", element("code", line))))


def command_of(groups: Sequence[Group]) -> str | None:
    """Find the `batchlab compare` command equivalent to runs made in Python.

    Parameters
    ----------
    groups
        All results.

    Returns
    -------
    str or None
        None if the workload is not one log or table as the command reads it, or if a policy, the system,
        events or observers cannot be expressed as options of the command.
    """
    results = [result for group in groups for result in group.results]
    first = results[0]
    source, machine = first.workload.report.source, _machine(first.system)
    alike = all(
        each.workload.jobs.equals(first.workload.jobs)
        and each.system == first.system
        and each.options == first.options
        and each.policy.is_named
        and each.external_events is None
        and not each.observers
        for each in results
    )
    if machine is None or not alike or len(results) > len(groups) or not _is_as_read(first.workload):
        return None
    words = ["batchlab", "compare", source, *machine, *_reading(first.workload)]
    words += first.options.words
    for group in groups:
        words += ["--policy", str(group.results[0].policy)]
    return shlex.join([*words, "--report", "report.html"])


def _is_as_read(workload: Workload) -> bool:
    """Return whether a workload is unchanged since it was read from its log."""
    source = workload.report.source
    if not PurePath(source).suffix:
        return False
    path, options = Path(source), _reading_options(workload)
    try:
        is_plain = "mapping" not in options and is_table(path)
        read = read_table(path) if is_plain else read_by(path, options)
        return read.jobs.equals(workload.jobs)
    except (BatchlabError, OSError):
        return False


def _reading_options(workload: Workload) -> Mapping[str, Any]:
    """Return the options for reading a log that are not at their defaults."""
    known = declared(ReadingOptions)
    return {name: value for name, value in workload.report.options.items() if name in known}


def _reading(workload: Workload) -> list[str]:
    """Return these options as words of a command."""
    known = declared(ReadingOptions)
    return [word for name, value in _reading_options(workload).items() for word in known[name].words(value)]


def _machine(system: System) -> list[str] | None:
    """Return the options that describe identical nodes with cores only; None for other systems."""
    if system.resources != ("core",):
        return None
    cores = int(system.capacity[0, 0])
    plain = System.homogeneous(nodes=system.nodes, resources={"core": cores})
    if replace(system, name=plain.name, start_time=plain.start_time) != plain:
        return None
    return ["--nodes", str(system.nodes), "--cores", str(cores)]


def what_was_run(groups: Sequence[Group], command: str | None = None) -> Html:
    """Describe everything that determines the runs, and the command; equal descriptions appear once."""
    described = [(group, [_described(result) for result in group.results]) for group in groups]
    everything = [each for _, found in described for each in found]
    parts = [
        _listed("Workload", [_workload(each) for each in everything]),
        _listed("System", [_system(each) for each in everything]),
        _listed("Options", [element("span", _options(each)) for each in everything]),
        _listed("Versions", [_versions(each) for each in everything]),
        reproduced_by(groups, command),
    ]
    return Html(element("dl", *parts) + _policies(described))


def _policies(described: Sequence[tuple[Group, list[dict[str, object]]]]) -> Html:
    """List every policy with its runs, and the options that differ between policies."""
    columns: dict[str, list[str]] = {
        "policy": [group.label for group, _ in described],
        "as it was written": [_policies_of(found) for _, found in described],
        "runs": [str(len(found)) for _, found in described],
        "seeds": [_numbers([each["seed"] for each in found]) for _, found in described],
        "options": [_options(found[0]) for _, found in described],
    }
    if columns["as it was written"] == columns["policy"]:
        del columns["as it was written"]
    if len(set(columns["options"])) == 1:
        del columns["options"]
    return table("Every policy", columns, zip(*columns.values(), strict=True))


def _policies_of(found: Sequence[dict[str, object]]) -> str:
    written = [*dict.fromkeys(str(each["policy"]) for each in found)]
    few = len(written) <= 3  # noqa: PLR2004  # what fits on a line
    return ", ".join(written) if few else f"{written[0]}, …, {written[-1]}"


def _options(described: Mapping[str, object]) -> str:
    # Skip options that are off or not given.
    options = cast("dict[str, object]", described["options"])
    return ", ".join(f"{name} = {value}" for name, value in options.items() if value not in (None, False))


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
    """Write each distinct description once."""
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
    """Format a list of seeds; consecutive seeds as a range."""
    numbers = sorted({value for value in values if isinstance(value, int)})
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:  # noqa: PLR2004  # two are written out
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(map(str, numbers)) or "none"


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
        Origin of the runs, measures, significance, breakdowns, causes of waiting, plots, then a section for
        each group.
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
    waits = waiting(groups)
    if waits is not None:
        yield Section("waiting", "Why jobs waited", waits)
    yield Section("comparison", "Comparison" if len(groups) > 1 else "Plots", _comparison(groups))
    rectangles = min(_MOST_RECTANGLES, _RECTANGLES_IN_ALL // len(groups))
    weight = min(_MOST_WEIGHT, _WEIGHT_IN_ALL // len(groups))
    for index, group in enumerate(groups):
        yield Section(
            f"policy-{index + 1}",
            group.label,
            Html(
                _alone(group, index, gantt(group.results[0], rectangles, weight))
                + explained_jobs(group.results[0], len(groups))
            ),
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
    yield lambda: plot.queue_size(by_label), f"Jobs in the queue, weighted by time: {_QUARTILES}"
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
    jobs, nodes = format_count(len(result.workload), "job"), format_count(result.system.nodes, "node")
    run = f"{first}{jobs} on {nodes} under {result.policy}"
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


_WITHOUT_SCRIPTS = "Charts over time and explanations of jobs need JavaScript, all else does without."


def write(
    results: Results,
    path: str | os.PathLike[str],
    *,
    title: str = "Simulation report",
    baseline: str | None = None,
    tables: Mapping[str, Sequence[Sequence[str]]] | None = None,
    command: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Write one HTML file on results. It opens from disk without network access.

    The report contains the origin of the runs (workloads, systems, policies, options, hashes, versions,
    seeds); the measures of every policy, with confidence intervals over replications; significance tests
    of slowdowns and differences of means against the baseline; the same by size, user, queue and state of
    jobs; what the waiting of jobs was for; comparative plots (those over time can be zoomed); and for every
    policy its distributions, its resource use, an interactive Gantt chart, and explanations of the jobs that
    waited longest, 200 at most, which a click on a job shows. The same results produce the same bytes, except
    for the durations of simulations.

    Parameters
    ----------
    results
        One result, several results, or a mapping of labels to results or to lists of replications.
    path
        The file; it is written completely or not at all.
    title
        The heading.
    baseline
        The label of the result that others are compared with. [default: the first]
    tables
        Further tables below the measures, by caption: rows of text, the first with the names of the
        columns.
    command
        The command line that reproduces the runs. [default: an equivalent `batchlab compare`, if the workload
        is one file, nodes are identical and have only cores, and options are at their defaults]
    overwrite
        True to replace a file that batchlab did not write. Inputs are never replaced.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    OutputError
        If batchlab did not write the existing file.
    ResultError
        If there is no result, the baseline is unknown, or the file cannot be written.
    MissingExtraError
        If plotly is not installed.

    Examples
    --------
    >>> bl.report.write([first, second], "report.html", baseline="fcfs")  # doctest: +SKIP
    """
    found = groups(results)
    find_plotly()
    library = plotly_script()
    parts = sections(found, _baseline(found, baseline), tables or {}, command)
    scripts = (asset("script.js"),)
    text = page(title, parts, library=library, scripts=scripts, note=_WITHOUT_SCRIPTS)
    return save(text, path, overwrite=overwrite)


def _baseline(found: Sequence[Group], label: str | None) -> Group:
    if label is None:
        return found[0]
    by_label = {group.label: group for group in found}
    if label not in by_label:
        known = suggest(str(label), by_label)
        raise ResultError(f"baseline = {shown(label)}; must be the label of one of the results.{known}")
    return by_label[label]
