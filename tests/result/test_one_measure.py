"""Each measure of the table of aggregates has one value, title and format wherever it is shown."""

from __future__ import annotations

import json
from html import unescape
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import batchlab as bl
from batchlab.cli import main
from batchlab.core.units import in_one_form
from batchlab.generate import demo_system, demo_workload
from batchlab.plot.queue import queue_course
from batchlab.result.aggregates import AGGREGATES, QUANTITIES, STATISTICS, of_resource
from batchlab.workload import write_swf

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from matplotlib.axes import Axes

JOBS, POLICY = 80, "easy"
RESULT = bl.simulate(demo_workload(JOBS), demo_system(), POLICY)
MEASURES: Any = RESULT.metrics()
RESOURCES = [
    of_resource(measure, name)
    for measure in ("utilisation", "loss_of_capacity")
    for name in RESULT.system.resources
]
EVERY = [*AGGREGATES.values(), *RESOURCES]
# Plots of distributions, by quantity. There is none of the slowdown per processor.
PLOTS: dict[str, Callable[..., Axes]] = {
    "wait": bl.plot.wait,
    "turnaround": bl.plot.turnaround,
    "slowdown": lambda result, **given: bl.plot.slowdown(result, threshold=None, **given),
    "bounded_slowdown": bl.plot.slowdown,
}


def test_the_table_has_every_number_of_a_run() -> None:
    """A number of `Result.metrics` has a row, but for counts of jobs."""
    found = {
        (name, key)
        for name, value in MEASURES.items()
        for key in (value if isinstance(value, dict) else [""])
        if name != "jobs"
    }
    assert {(each.path[0], each.path[1] if len(each.path) > 1 else "") for each in EVERY} == found


@pytest.mark.parametrize("name", PLOTS)
def test_plots_of_distributions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Boxes have the mean, the median and the percentile of the tables; the axis has the title."""
    drawn: list[dict[str, Any]] = []
    from matplotlib.axes import Axes  # noqa: PLC0415  # heavy

    original = Axes.bxp

    def noted(self: Axes, stats: list[dict[str, Any]], *arguments: Any, **given: Any) -> object:  # noqa: ANN401
        drawn.extend(stats)
        return original(self, stats, *arguments, **given)

    monkeypatch.setattr(Axes, "bxp", noted)
    ax = PLOTS[name](RESULT, kind="box")
    (box,) = drawn
    for statistic, key in (("mean", "mean"), ("median", "med"), ("p95", "whishi")):
        assert box[key] == pytest.approx(MEASURES[name][statistic], rel=1e-12), statistic
    assert QUANTITIES[name].title in ax.get_xlabel().lower()


def test_the_plot_of_the_queue() -> None:
    """The mean and the most of the course are those of the tables."""
    course = queue_course(RESULT)
    times, lengths = course.time, course.value
    area = float((lengths[:-1] * np.diff(times)).sum())
    assert area / MEASURES["makespan"] == pytest.approx(MEASURES["queue_length"]["mean"])
    assert lengths.max() == MEASURES["queue_length"]["max"]


def test_tables_of_experiments() -> None:
    """The columns of a run's numbers."""
    runs = bl.Experiment(demo_workload(JOBS), demo_system(), POLICY).run()
    for each in AGGREGATES.values():
        assert runs.table[each.column].to_list() == [each.of(MEASURES)], each.column


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the log and the machine of the run."""
    folder = tmp_path_factory.mktemp("measures")
    write_swf(demo_workload(JOBS), folder / "log.swf")
    bl.write_system(demo_system(), folder / "system.toml")
    return folder


def words(folder: Path) -> list[str]:
    """Return the words that name log and machine."""
    return [str(folder / "log.swf"), "--system", str(folder / "system.toml"), "--policy", POLICY]


@pytest.mark.parametrize("more", [[], ["--stream"]], ids=["tables", "stream"])
def test_documents_of_runs(more: list[str], written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every number, to the last digit."""
    assert main(["run", *words(written), *more, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    log = bl.simulate(bl.read_swf(written / "log.swf"), demo_system(), POLICY)
    expected: Any = log.metrics()
    for each in EVERY:
        assert each.of(found) == each.of(expected), each.column


@pytest.mark.parametrize("more", [[], ["--stream"]], ids=["tables", "stream"])
def test_pages_of_runs(more: list[str], written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Titles of quantities, and values as the table formats them."""
    assert main(["run", *words(written), *more]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    expected: Any = bl.simulate(bl.read_swf(written / "log.swf"), demo_system(), POLICY).metrics()
    shown = [name for name in QUANTITIES if name != "per_processor_slowdown"]
    rows = [[QUANTITIES[name].written(expected[name][each]) for each in STATISTICS] for name in shown]
    for name, row in zip(shown, in_one_form(rows), strict=True):
        title = QUANTITIES[name].title.split()
        (cells,) = [line[len(title) :] for line in lines if line[: len(title)] == title]
        assert " ".join(cells) == " ".join(row), name


def test_reports(written: Path) -> None:
    """Each aggregate of a report has the title and the format of the table."""
    page = written / "report.html"
    bl.report.write(RESULT, page)
    text = unescape(page.read_text("utf-8"))
    for quantity in QUANTITIES.values():
        assert f">{quantity.title}<" in text, quantity.title
    shown = [each for each in EVERY if f">{each.title}<" in text]
    assert len(shown) >= 6
    for each in shown:
        assert f">{each.text(MEASURES)}<" in text, each.title
