"""The plot of the work left and of rates, and runs at rates in other plots and the report."""

from pathlib import Path

import numpy as np
import pytest

import batchlab as bl
from batchlab.plot.results import groups
from batchlab.report.interactive import gantt

GROUPS = tuple(bl.NodeGroup(name, count=2, resources={"core": 1}) for name in ("cpu", "fat"))
JOBS = bl.Workload.from_table({"submit_time": [0, 1, 2], "run_time": [8, 6, 3], "tasks": [2, 3, 1]})


def test_work_and_rate() -> None:
    """The area below the line of work is its mean times the time; the steps are those of the rate."""
    system = bl.System.homogeneous(nodes=4, resources={"core": 1})
    result = bl.simulate(JOBS, system, "fcfs", control="count(1, 1)")
    ax = bl.plot.rates(result, title="Work")
    (work,) = ax.get_lines()
    assert ax.get_title(loc="left") == "Work"
    area = np.trapezoid(np.asarray(work.get_ydata()), np.asarray(work.get_xdata()))
    assert area == pytest.approx(9.0 * (bl.service.mean_workload(result) or 0.0))
    (other,) = (each for each in ax.get_figure().axes if each is not ax)  # type: ignore[union-attr]
    (rate,) = other.get_lines()
    assert np.asarray(rate.get_xydata()).tolist() == [[0, 1], [1, 2], [6, 1], [9, 1]]
    assert (other.get_ylabel(), ax.get_ylabel()) == ("rate", "work left")


def test_many_changes_are_means() -> None:
    """Means over windows have the area of the exact course."""
    jobs = {"submit_time": np.arange(1000.0), "run_time": np.full(1000, 1.5), "tasks": np.ones(1000, int)}
    system = bl.System.homogeneous(nodes=4, resources={"core": 1})
    result = bl.simulate(bl.Workload.from_table(jobs), system, "fcfs", control="constant(2)")
    ax = bl.plot.rates(result)
    (work,) = ax.get_lines()
    assert "means over" in ax.get_xlabel()
    values, times = np.asarray(work.get_ydata()), np.asarray(work.get_xdata())
    exact = (bl.service.mean_workload(result) or 0.0) * result.course.span
    assert float(values[:-1] @ np.diff(times)) == pytest.approx(exact)


def test_a_line_for_each_control() -> None:
    """Named by its groups; nodes without a control have none."""
    controls = ["constant(2, groups=['cpu'])", "count(0, 1, groups=['fat'])"]
    result = bl.simulate(JOBS, bl.System(GROUPS), "lcfs", control=controls)
    ax = bl.plot.rates(result)
    (other,) = (each for each in ax.get_figure().axes if each is not ax)  # type: ignore[union-attr]
    assert [line.get_label() for line in other.get_lines()] == ["cpu", "fat"]


def test_without_a_control_the_rate_is_1() -> None:
    """So the plot takes any result."""
    ax = bl.plot.rates(bl.simulate(JOBS, bl.System(GROUPS), "fcfs"))
    (other,) = (each for each in ax.get_figure().axes if each is not ax)  # type: ignore[union-attr]
    assert np.asarray(other.get_lines()[0].get_ydata()).tolist() == [1.0, 1.0]


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
