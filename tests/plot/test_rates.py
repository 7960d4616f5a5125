"""The plot of the work left and of rates, and runs at rates in other plots and the report."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from matplotlib.axes import Axes

import batchlab as bl
from batchlab.plot.results import groups
from batchlab.report.interactive import gantt

GROUPS = tuple(bl.NodeGroup(name, count=2, resources={"core": 1}) for name in ("cpu", "fat"))
JOBS = bl.Workload.from_table({"submit_time": [0, 1, 2], "run_time": [8, 6, 3], "tasks": [2, 3, 1]})


def row(ax: Axes, label: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the times and the values of a row, by its ticks."""
    (line,) = (each for each in ax.get_lines() if each.get_label() == label)
    height = np.asarray(line.get_ydata(), np.float64)
    base = np.floor(height.min() + 1e-9)
    ticks = [
        (place - base, float(text.get_text().replace(",", "")))
        for place, text in zip(ax.get_yticks(), ax.get_yticklabels(), strict=True)
        if base <= place < base + 1
    ]
    (zero, least), *_, (top, most) = ticks
    assert (zero, least) == (0, 0)
    return np.asarray(line.get_xdata(), np.float64), ((height - base) / top * most).round(9)


def test_work_and_rate() -> None:
    """The area below the line of work is its mean times the time; the steps are those of the rate."""
    system = bl.System.homogeneous(nodes=4, resources={"core": 1})
    result = bl.simulate(JOBS, system, "fcfs", control="count(1, 1)")
    ax = bl.plot.rates(result, title="Work")
    assert ax.get_title(loc="left") == "Work"
    times, work = row(ax, "work left")
    area = np.trapezoid(work, times)
    assert area == pytest.approx(9.0 * (bl.service.mean_workload(result) or 0.0))
    times, rate = row(ax, "rate")
    assert np.column_stack([times, rate]).tolist() == [[0, 1], [1, 2], [6, 1], [9, 1]]


def test_jobs_and_thresholds() -> None:
    """Jobs in service have a row, and a threshold is a line in the row of what it is compared with."""
    system = bl.System.homogeneous(nodes=4, resources={"core": 1})
    ax = bl.plot.rates(bl.simulate(JOBS, system, "fcfs", control="count(1, 2)"))
    times, served = row(ax, "jobs in service (grey: and waiting)")
    assert np.column_stack([times, served]).tolist() == [
        *([0, 1], [1, 1], [2, 1], [5, 2], [6.5, 1], [9.5, 0])
    ]
    assert {"low 1", "high 2"} <= {text.get_text() for text in ax.texts}
    work = bl.plot.rates(bl.simulate(JOBS, system, "fcfs", control="workload(3, 3)"))
    assert "low = high 3" in {text.get_text() for text in work.texts}


def test_many_changes_are_means() -> None:
    """Means over windows have the area of the exact course."""
    jobs = {"submit_time": np.arange(1000.0), "run_time": np.full(1000, 1.5), "tasks": np.ones(1000, int)}
    system = bl.System.homogeneous(nodes=4, resources={"core": 1})
    result = bl.simulate(bl.Workload.from_table(jobs), system, "fcfs", control="constant(2)")
    ax = bl.plot.rates(result)
    assert "means over" in ax.get_xlabel()
    times, values = row(ax, "work left")
    exact = (bl.service.mean_workload(result) or 0.0) * result.course.span
    assert float(values[:-1] @ np.diff(times)) == pytest.approx(exact)


def test_a_line_for_each_control() -> None:
    """Named by its groups; nodes without a control have none."""
    controls = ["constant(2, groups=['cpu'])", "count(0, 1, groups=['fat'])"]
    result = bl.simulate(JOBS, bl.System(GROUPS), "lcfs", control=controls)
    ax = bl.plot.rates(result)
    assert [line.get_label() for line in ax.get_lines()][-2:] == ["rate, cpu", "rate, fat"]


def test_without_a_control_the_rate_is_1() -> None:
    """So the plot takes any result."""
    ax = bl.plot.rates(bl.simulate(JOBS, bl.System(GROUPS), "fcfs"))
    assert row(ax, "rate")[1].tolist() == [1.0, 1.0]


def test_report_of_a_run_that_goes_on_with_suspended_jobs() -> None:
    """Its chart says of a job that has run and waits now that it does."""
    simulation = bl.Simulation(JOBS, bl.System(GROUPS), "lcfs", control="count(1, 1)")
    simulation.run_until(2)
    (group,) = groups(simulation.result())
    chart = gantt(group.results[0], 1000, 100)
    assert chart is not None
    assert "job 1, 2 tasks<br>submitted 0 s, waits again<br>here from 0 s to 1 s" in str(
        chart.data["hovertext"]
    )


def test_report_draws_the_rates_of_runs_that_have_some(tmp_path: Path) -> None:
    """With its caption, once for each group."""
    counts = []
    for control in (None, "count(1, 1)"):
        result = bl.simulate(JOBS, bl.System(GROUPS), "fcfs", control=control)
        page = bl.report.write(result, tmp_path / "page.html").read_text("utf-8")
        counts.append(page.count("What work is left, and at which rate it is done"))
    assert counts[0] == 0
    assert counts[1] >= 1
