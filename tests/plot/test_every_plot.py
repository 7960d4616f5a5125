"""What holds for all plots: axes in and out, nothing global, a plain answer where nothing is to be shown."""

import inspect
import io
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import batchlab as bl
from batchlab.errors import ResultError
from support.kth_sample import kth_results
from support.label_boxes import faults
from support.plotted_results import (
    ONE_ONLY,
    PLOTS,
    for_plot,
    no_jobs,
    no_time,
    none_ran,
    one_job,
    simulated,
    unfinished,
)

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = Path(__file__).parents[2] / "docs/plots.md"
STRANGE = {
    "no jobs": no_jobs,
    "none ran": none_ran,
    "one job": one_job,
    "no time": no_time,
    "stopped": unfinished,
}


def drawn(ax: Axes) -> str:
    """Draw the figure for good, and give its texts."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    FigureCanvasAgg(figure).draw()  # type: ignore[no-untyped-call]
    return " ".join(text.get_text() for text in ax.texts)


@pytest.mark.parametrize("name", bl.plot.__all__)
def test_plots_are_documented(name: str) -> None:
    """The docstring describes each argument and the axes; the page of plots names the plot."""
    draw = getattr(bl.plot, name)
    text = inspect.getdoc(draw) or ""
    parameters = text.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    described = re.findall(r"^(\w+(?:, \w+)*)$", parameters, re.MULTILINE)
    arguments = sorted(each for names in described for each in names.split(", "))
    assert arguments == sorted(inspect.signature(draw).parameters)
    assert "    None\n" not in parameters
    assert "Returns\n-------\nmatplotlib.axes.Axes\n    " in text
    assert re.search(rf"\b{name}\b", PAGE.read_text("utf-8"))


@pytest.mark.parametrize("name", PLOTS)
def test_axes_in_and_out(name: str, several: list[bl.Result]) -> None:
    """A plot draws on the axes that it is given, and gives them back."""
    ax = Figure().add_subplot()
    assert PLOTS[name](for_plot(name, several), ax=ax) is ax
    assert ax.has_data()


@pytest.mark.parametrize("name", PLOTS)
def test_own_axes(name: str, several: list[bl.Result]) -> None:
    """Without axes, a plot makes a figure without overlaps; it has a title only when one is asked for."""
    ax = PLOTS[name](for_plot(name, several))
    assert ax.get_title(loc="left") == ax.get_title() == ""
    figure = ax.get_figure(root=True)
    assert figure is not None
    assert faults(figure) == []
    titled = PLOTS[name](for_plot(name, several), title="A title")
    assert titled.get_title(loc="left") == "A title"


@pytest.mark.parametrize("name", PLOTS)
def test_axes_are_named(name: str, several: list[bl.Result]) -> None:
    """Values and classes say what they are."""
    ax = PLOTS[name](for_plot(name, several))
    drawn(ax)
    assert ax.get_xlabel()
    assert ax.get_ylabel() or all(label.get_text() for label in ax.get_yticklabels())


@pytest.mark.parametrize("strange", STRANGE)
@pytest.mark.parametrize("name", PLOTS)
def test_little_to_show(name: str, strange: str) -> None:
    """Results with few jobs, or none, are drawn, or said to be empty in words."""
    ax = PLOTS[name](STRANGE[strange]())
    assert drawn(ax) or ax.has_data()


@pytest.mark.parametrize("name", PLOTS)
def test_one_empty_among_others(name: str, several: list[bl.Result]) -> None:
    """An empty result among others does not spoil the plot."""
    if name not in ONE_ONLY:
        drawn(PLOTS[name]({"empty": no_jobs(), "other": several[0]}))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("slowdown", "no job has run"),
        ("wait", "no job has run"),
        ("turnaround", "no job has run"),
        ("job_times", "no job was submitted"),
        ("allocations", "no job has run"),
        ("gantt", "no job has run"),
        ("utilisation", "nothing happened"),
        ("job_sizes", "no jobs"),
        ("cpu_time", "no pass was made"),
    ],
)
def test_emptiness_is_said(name: str, text: str) -> None:
    """What is empty says so."""
    assert text in drawn(PLOTS[name](no_jobs()))


def test_nothing_global_is_touched(several: list[bl.Result]) -> None:
    """No parameter of matplotlib changes."""
    before = dict(mpl.rcParams)
    for name, plot in PLOTS.items():
        drawn(plot(for_plot(name, several)))
    assert dict(mpl.rcParams) == before


def test_pyplot_is_not_imported() -> None:
    """Plots need no backend; the front of the package needs no matplotlib at all."""
    code = (
        "import sys, batchlab; assert 'matplotlib' not in sys.modules\n"
        "import batchlab.plot; assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603


def test_threads(several: list[bl.Result]) -> None:
    """Plots drawn in many threads at once are those drawn one after the other."""

    def picture(name: str) -> bytes:
        file = io.BytesIO()
        figure = PLOTS[name](for_plot(name, several)).get_figure(root=True)
        assert figure is not None
        figure.savefig(file, format="png")
        return file.getvalue()

    names = ["slowdown", "wait", "utilisation", "gantt"] * 3
    with ThreadPoolExecutor(4) as pool:
        together = [*pool.map(picture, names)]
    assert together == [*map(picture, names)]


def test_costs_must_have_been_recorded() -> None:
    """A plot of costs says how to record them."""
    result = simulated("fcfs", 10)
    plain = replace(result, outcome=replace(result.outcome, tables={}))
    for plot in (bl.plot.cpu_time, bl.plot.cpu_time_by_queue_size, bl.plot.memory):
        with pytest.raises(ResultError, match="pass dispatch=True to simulate"):
            plot(plain)


def test_what_costs_time_can_be_chosen(several: list[bl.Result]) -> None:
    """Decisions, what is between them, or both; here 3 µs are between two passes."""
    widths = {
        of: [bar.get_width() for bar in bl.plot.cpu_time(several, of=of).patches]  # type: ignore[attr-defined]
        for of in ("decisions", "other", "all")
    }
    assert np.allclose(np.add(widths["decisions"], widths["other"]), widths["all"])
    assert widths["other"][0] == pytest.approx(3e-6, rel=0.2)


def test_lines_that_coincide_are_told_apart(several: list[bl.Result]) -> None:
    """The lower ones are wider; lines of their own, and lines that cross, stay as they are."""
    same = {"one": several[0], "two": several[0], "three": several[0], "other": several[1]}
    lines = bl.plot.wait(same, kind="cdf").get_lines()
    widths = {line.get_label(): line.get_linewidth() for line in lines}
    assert widths["one"] > widths["two"] > widths["three"] == widths["other"]
    steps = bl.plot.run_times({"log": several[0].workload, "again": several[0].workload}).patches
    assert steps[0].get_linewidth() > steps[1].get_linewidth()
    many = bl.plot.wait({str(at): several[0] for at in range(20)}, kind="cdf").get_lines()
    assert many[0].get_linewidth() < 12
    assert len({line.get_linewidth() for line in many}) == 20


def test_a_dozen_groups_have_a_dozen_colours(several: list[bl.Result]) -> None:
    """More than seven before line styles begin to tell them apart."""
    lines = bl.plot.wait({str(at): several[at % 2] for at in range(12)}, kind="cdf").get_lines()
    assert len({line.get_color() for line in lines}) == 12


def test_words_are_checked(several: list[bl.Result]) -> None:
    """Unknown kinds, resources and the like are answered with the known ones."""
    wrong: list[tuple[Callable[..., Axes], dict[str, object], str]] = [
        (bl.plot.slowdown, {"kind": "boxs"}, r"kind = 'boxs'; .* Did you mean 'box'"),
        (bl.plot.queue_size, {"kind": "course"}, "kind = 'course'; .* Known: box, cdf, time, violin"),
        (bl.plot.utilisation, {"resource": "cores"}, "resource = 'cores'; .* Did you mean 'core'"),
        (bl.plot.load, {"window": -1}, "window = -1 s; must be a duration"),
        (bl.plot.arrivals, {"per": "week"}, "per = 'week'; .* Known: day, hour, month"),
        (bl.plot.run_times, {"of": "wait"}, "of = 'wait'"),
        (bl.plot.wait, {"ax": "axes"}, "ax = 'axes'; must be matplotlib Axes"),
        (bl.plot.slowdown, {"threshold": 0}, "threshold = 0 s; must be > 0"),
    ]
    for plot, arguments, message in wrong:
        with pytest.raises(ResultError, match=message):
            plot(several, **arguments)
    with pytest.raises(ResultError, match=r"start = 5\.0 s, end=5\.0 s; must be .* the later one"):
        bl.plot.gantt(several[0], start=5.0, end=5.0)
    with pytest.raises(ResultError, match="time = nan s; must be a number"):
        bl.plot.allocation_map(several[0], time=np.nan)


def test_an_empty_span(several: list[bl.Result]) -> None:
    """A time span outside the run is refused; one in which nothing ran says so."""
    spans: list[tuple[dict[str, Any], str]] = [
        ({"start": 1e9, "end": 2e9}, "end=2000000000.0 s"),
        ({"start": 1e9}, "start = 1000000000.0 s"),
    ]
    for span, named in spans:
        with pytest.raises(ResultError, match=rf"{named}; must overlap the runs of the jobs, .* s to .* s"):
            bl.plot.gantt(several[0], **span)
        with pytest.raises(ResultError, match=rf"{named}; must contain a submission; jobs were submitted"):
            bl.plot.job_times(several[0], **span)
    with pytest.raises(ResultError, match=r"end = -5\.0 s; must overlap the runs"):
        bl.plot.gantt(several[0], end=-5.0)
    apart = {"submit_time": [0.0, 100.0], "run_time": [10.0, 10.0], "tasks": [1, 1]}
    machine = bl.System.homogeneous(nodes=1, resources={"core": 1})
    ax = bl.plot.gantt(bl.simulate(bl.Workload.from_table(apart), machine, "fcfs"), start=20.0, end=90.0)
    assert [text.get_text() for text in ax.texts] == ["no job ran in this time span"]


def test_many_groups_have_room(several: list[bl.Result]) -> None:
    """A figure of its own grows with the number of rows."""
    heights = [
        bl.plot.slowdown({str(number): several[0] for number in range(count)}).figure.bbox.height
        for count in (3, 40)
    ]
    assert heights[1] > 3 * heights[0]


def test_power_must_have_been_observed() -> None:
    """A plot of power says what it needs, whether nothing was observed or something else."""
    result = simulated("fcfs", 10)
    other = replace(result, observations={"power": result.timeline})
    for without in (result, other):
        with pytest.raises(
            ResultError, match=r"has no observations of power; pass observers=\{'power': Power"
        ):
            bl.plot.power(without)


def test_energy_is_the_integral_of_power() -> None:
    """Two seconds at 1 kW and one at 3 kW are 5 kJ."""
    table = pl.DataFrame({"time": [0.0, 2.0, 3.0], "power": [1000.0, 3000.0, 0.0]})
    ax = bl.plot.power(replace(one_job(), observations={"power": table}), kind="energy")
    assert np.asarray(ax.lines[0].get_ydata()).tolist() == [0, 2000, 5000]


def test_gflops_of_arrays_and_workloads(several: list[bl.Result]) -> None:
    """Numbers of GFLOP may be given; else they are run time × tasks × what a task's resources do."""
    jobs = several[0].workload.jobs
    numbers = (jobs["run_time"] * jobs["tasks"]).to_numpy() * 1.5
    given, computed = bl.plot.gflops(numbers), bl.plot.gflops(several[0], performance={"core": 1.5})
    one, other = (ax.patches[-1].get_path().vertices for ax in (given, computed))
    np.testing.assert_array_equal(one, other)
    with pytest.raises(ResultError, match="without performance, must be numbers of GFLOP"):
        bl.plot.gflops(several[0])
    with pytest.raises(ResultError, match=r"performance\['core'\] = 0 GFLOP/s; must be > 0"):
        bl.plot.gflops(several[0], performance={"core": 0})


OF_A_LOG: "dict[str, Callable[[list[bl.Result]], Axes]]" = {
    "utilisation": bl.plot.utilisation,
    "load of one": lambda results: bl.plot.load(results[0]),
    "queue_size": lambda results: bl.plot.queue_size(results, kind="time"),
    "gantt": lambda results: bl.plot.gantt(results[0], start=50_000, end=137_000, colour_by="user"),
    "allocations": lambda results: bl.plot.allocations(results[0], by="user"),
    "job_times": lambda results: bl.plot.job_times(results[0]),
}


@pytest.mark.parametrize("name", OF_A_LOG)
def test_labels_of_a_log(name: str) -> None:
    """Dates and many users overlap nothing, on the log's own clock."""
    ax = OF_A_LOG[name](kth_results())
    figure = ax.get_figure(root=True)
    assert figure is not None
    assert faults(figure) == []
    assert ax.get_xlabel().startswith("date")


WIDE: "dict[str, Callable[[bl.Result], Axes]]" = {
    "free_nodes": bl.plot.free_nodes,
    "free_slots": bl.plot.free_slots,
    "gantt": bl.plot.gantt,
    "allocations": bl.plot.allocations,
    "allocation_map": bl.plot.allocation_map,
    "job_nodes": bl.plot.job_nodes,
}


@pytest.mark.parametrize("name", WIDE)
def test_thousands_of_nodes(name: str) -> None:
    """Ticks separate the thousands in all plots."""
    machine = bl.System.homogeneous(nodes=6000, resources={"core": 1})
    jobs = {"submit_time": [0, 5], "run_time": [60, 60], "requested_time": [60, 60], "tasks": [2000, 5000]}
    ax = WIDE[name](bl.simulate(bl.Workload.from_table(jobs), machine, "fcfs"))
    drawn(ax)
    labels = [label.get_text() for axis in (ax.xaxis, ax.yaxis) for label in axis.get_ticklabels()]
    assert any(re.fullmatch(r"\d,\d{3}", label) for label in labels)
    assert not [label for label in labels if re.fullmatch(r"\d{4,}", label)]


def test_courses_that_hardly_change_are_below_the_frame(several: list[bl.Result]) -> None:
    """Their own margin is small, as it is a share of their range."""
    flat = several[0].dispatch.with_columns(memory=200_000_000 + pl.int_range(pl.len()))
    results = {str(at): replace(several[0]) for at in range(2)}
    for each in results.values():
        vars(each)["dispatch"] = flat
    assert bl.plot.memory(results).get_ylim()[1] > 1.02 * 200


def test_numbers_of_jobs_are_legible_between_tiles() -> None:
    """A number that lies on the gap between two tiles has a seam in the colour of its job."""
    ax = bl.plot.job_nodes(kth_results()[0])
    assert ax.texts
    assert all(text.get_path_effects() for text in ax.texts)


def test_a_node_has_one_number() -> None:
    """Of jobs that share a node, the one whose colour the node has is named, and no others over it."""
    machine = bl.System.homogeneous(nodes=4, resources={"core": 2})
    jobs = {"submit_time": [0] * 8, "run_time": [60] * 8, "requested_time": [60] * 8, "tasks": [1] * 8}
    ax = bl.plot.job_nodes(bl.simulate(bl.Workload.from_table(jobs), machine, "fcfs"))
    assert len(ax.texts) == len({text.get_position() for text in ax.texts}) == 4


def test_faults_are_seen() -> None:
    """The check sees labels that overlap, a legend on a curve, and letters that are too small."""
    ax = Figure(figsize=(2, 2)).add_subplot()
    ax.plot([0, 1], [0, 1], label="one")
    ax.set_xticks([0.5, 0.51], ["a long label", "another"])
    ax.legend(loc="center")
    ax.set_title("small", fontsize=4)
    figure = ax.get_figure(root=True)
    assert figure is not None
    found = " ".join(faults(figure))
    assert "'a long label' and 'another' overlap" in found
    assert "the legend lies inside the axes" in found
    assert "'small' has 4 points" in found


def test_pictures_of_the_documentation_are_wide() -> None:
    """At least 1,000 pixels, so that their labels can be read."""
    widths = {path.stem: _width(path) for path in (PAGE.parent / "pictures").glob("*.png")}
    assert {name for name, width in widths.items() if width < 1000} == set()


def _width(path: Path) -> int:
    return int.from_bytes(path.read_bytes()[16:20], "big")
