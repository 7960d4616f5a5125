"""Parts of the report: markup, measures, pictures and charts, each by its numbers."""

import json
import re
import shlex
import zlib
from base64 import b64decode
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

import batchlab as bl
from batchlab.cli import main
from batchlab.core.markup import Html, element, table
from batchlab.generate import demo_system, demo_workload
from batchlab.plot.over_time import Line
from batchlab.plot.queue import queue_course
from batchlab.plot.results import groups
from batchlab.plot.scales import Values
from batchlab.report import waiting as explanations
from batchlab.report.interactive import courses, gantt
from batchlab.report.measures import (
    breakdowns,
    cost_measures,
    measures_table,
    schedule_measures,
    statistics_table,
)
from batchlab.report.page import figure
from batchlab.report.runs import command_of, what_was_run
from batchlab.report.waiting import explained_jobs, waiting
from support.kth_sample import kth_results
from support.plotted_results import no_jobs, with_costs
from support.results import Job, make_result


def text_of(html: str) -> str:
    """Give the words of a page."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def unpacked(packed: object) -> npt.NDArray[np.float64]:
    """Read numbers as plotly does."""
    assert isinstance(packed, dict)
    values = np.frombuffer(b64decode(packed["bdata"]), np.dtype(packed["dtype"]).newbyteorder("<"))
    shape = [int(part) for part in packed.get("shape", str(len(values))).split(",")]
    return values.reshape(shape).astype(np.float64)


def test_markup_escapes() -> None:
    """Text is escaped in content and attributes; elements are not escaped twice."""
    inner = element("b", "1 < 2")
    assert element("p", "a & ", inner, title='"') == '<p title="&quot;">a &amp; <b>1 &lt; 2</b></p>'
    assert '<th scope="row">&lt;x&gt;</th>' in table("t", ["h"], [["<x>", Html("<td>y</td>")]])


def test_measures() -> None:
    """Two jobs, the second of which waited 100 s: the numbers of the table."""
    result = make_result([Job(0, 0, 100, nodes=((0, 2),)), Job(0, 100, 200, nodes=((0, 2),))])
    found = groups({"mine": result})
    words = text_of(measures_table("Of schedules", found, schedule_measures(found)))
    assert "mine 50 s 50 s 00:01:35 1.5 1.95 00:03:20 25.0 %" in words
    jobs = text_of(measures_table("Of jobs", found, cost_measures(found)))
    assert "policy completed mine 2" in jobs


def test_intervals_over_replications() -> None:
    """Replications that differ have an interval, those that agree none; the better of two is marked."""
    waits = [make_result([Job(0, wait, wait + 100, nodes=((0, 2),))]) for wait in (10.0, 20.0, 30.0)]
    both: dict[str, list[bl.Result]] = {"varied": waits, "same": [waits[0]] * 3}
    page = measures_table("", groups(both), schedule_measures(groups(both)))
    assert "20 s ± 24.84 s" in page
    assert '<td data-label="mean wait" class="best">10 s</td>' in page


def test_costs_are_told_where_they_are_known() -> None:
    """The simulation's time, and that of decisions, have columns of their own."""
    found = groups(with_costs(make_result([Job(0, 0, 9, nodes=((0, 1),))])))
    page = text_of(measures_table("Costs", found, cost_measures(found)))
    assert "simulated in CPU time of decisions" in page
    assert "1 ms 4 µs" in page


def test_statistics_of_nothing() -> None:
    """Where no job ran there are dashes, not errors."""
    assert text_of(statistics_table(no_jobs())).count("–") == 25


def test_origin(results: list[bl.Result]) -> None:
    """What is the same for all is told once, seeds as ranges."""
    seeds = [bl.simulate(results[0].workload, results[0].system, f"random({n})", seed=n) for n in range(4)]
    both: dict[str, list[bl.Result]] = {"all": seeds, "easy": [results[1]]}
    words = text_of(what_was_run(groups(both)))
    assert "all random(0), …, random(3) 4 0 to 3 easy easy 1 0" in words
    assert words.count("walltime = run") == 1
    assert words.count("sha256") == 1
    assert words.count("demo: 32 × (8 core); one processor is 1 core") == 1


def test_pictures_can_stand_in_one_page(results: list[bl.Result]) -> None:
    """Names within a picture are its own and lead somewhere; nothing holds for the whole page."""
    pictures = [figure(bl.plot.slowdown(results), "A caption", name) for name in ("a", "b")]
    for name, picture in zip("ab", pictures, strict=True):
        names = re.findall(r' id="([^"]+)"', picture)
        assert len(names) == len(set(names))
        assert all(each.startswith(f"{name}-") for each in names)
        assert set(re.findall(r'(?:url\(|href=")#([\w-]+)', picture)) == set(names)
        assert "<style" not in picture
        assert "<metadata" not in picture
        assert "var(--ink)" in picture
        assert 'aria-label="A caption"' in picture
    assert re.sub(r"([\"#])a-", r"\1b-", pictures[0]) == pictures[1]


def test_chart_of_jobs() -> None:
    """Few jobs are bars, where they were and when, in a unit that suits."""
    result = make_result(
        [Job(0, 0, 7200, nodes=((0, 2), (1, 2)), tasks=4), Job(0, 7200, 10_800, nodes=((3, 1),))]
    )
    chart = gantt(result, 10, 5)
    assert chart is not None
    data = chart.data
    assert data["type"] == "bar"
    assert unpacked(data["base"]).tolist() == [0, 2]
    assert unpacked(data["x"]).tolist() == [2, 1]
    assert unpacked(data["y"]).tolist() == [0.5, 2.75]
    assert unpacked(data["width"]).tolist() == [2, 0.5]
    assert data["hovertext"] == [
        "job 1, 4 tasks<br>start 0 s, waited 0 s<br>ran 02:00:00",
        "job 2, 1 task<br>start 02:00:00, waited 02:00:00<br>ran 01:00:00",
    ]
    assert "simulated time (h)" in str(chart.layout)


def test_chart_of_means() -> None:
    """Many jobs are means over nodes and time, and the note says so."""
    result = make_result([Job(0, 0, 10, nodes=((0, 2),)), Job(0, 10, 20, nodes=((1, 1),))])
    chart = gantt(result, 1, 10)
    assert chart is not None
    assert chart.kind == "cells"
    packed = zlib.decompress(b64decode(str(chart.data["packed"])))
    found = np.frombuffer(packed, np.uint8).reshape(4, 128)
    half = [[100] * 64 + [0] * 64, [0] * 64 + [50] * 64, [0] * 128, [0] * 128]
    assert found.tolist() == half
    assert (chart.data["first"], chart.data["width"]) == (0, 20 / 128)
    assert "2 jobs are too many to be drawn one by one" in chart.note
    assert "on one node. Zooming in shows shorter times, down to 0.16 s" in chart.note


def test_a_chart_has_as_many_columns_as_it_may_weigh() -> None:
    """The heavier it may be, the finer it is."""
    result = kth_results()[0]
    charts = [gantt(result, 1, weight) for weight in (1000, 3000, 400_000)]
    columns = [int(str(chart.data["columns"])) for chart in charts if chart is not None]
    assert columns == sorted(set(columns))
    assert columns[-1] == 8192


def test_courses() -> None:
    """The packed course is the mean number of waiting jobs; rows share the height, and have dates."""
    result = kth_results()[0]
    lines = [Line(label, (queue_course(result),), 0) for label in ("one", "other")]
    chart = courses(groups({"one": result, "other": result}), lines, Values("jobs", "log1p"))
    assert chart is not None
    series = chart.data["series"]
    assert isinstance(series, list)
    counted = (
        np.frombuffer(zlib.decompress(b64decode(series[0]["packed"])), "<u2") / 65_535 * series[0]["top"]
    )
    jobs = result.jobs
    span = float(np.ptp(np.concatenate([jobs["end_time"].to_numpy(), jobs["submit_time"].to_numpy()])))
    waited = float((jobs["start_time"] - jobs["submit_time"]).sum())
    assert counted.mean() * span == pytest.approx(waited, rel=1e-3)
    axis = chart.layout["xaxis"]
    assert isinstance(axis, dict)
    assert axis["type"] == "date"
    assert axis["range"][0] == 1000 * 859128929
    assert chart.layout["yaxis"]["domain"] == pytest.approx([0.56, 1.0])  # type: ignore[index]
    assert courses(groups(no_jobs()), [Line("none", (queue_course(no_jobs()),), 0)], Values("jobs")) is None


def test_breakdowns() -> None:
    """Means by class: of two users the first waited 0 and 100 s, the second 10 s."""
    jobs = [
        Job(0, 0, 100, nodes=((0, 2),)),
        Job(0, 100, 200, nodes=((0, 2),)),
        Job(0, 10, 60, nodes=((1, 1),)),
    ]
    result = make_result(jobs, user_id=[7, 7, 8])
    words = text_of(breakdowns(groups({"mine": result, "same": result})))
    assert "Mean wait by user user jobs of all work mine same user 7 2 80.0 % 50 s 50 s" in words
    assert "user 8 1 20.0 % 10 s 10 s" in words
    assert "by size" not in words


def test_breakdown_of_runs_of_other_logs() -> None:
    """A log of one user has one class; where a log says nothing of users, no run is broken down by them."""
    two = make_result([Job(0, 0, 100, nodes=((0, 1),)), Job(0, 0, 60, nodes=((1, 1),))], user_id=[7, 8])
    one = make_result([Job(0, 0, 100, nodes=((0, 1),))], user_id=[7])
    unknown = make_result([Job(0, 0, 100, nodes=((0, 1),))], user_id=[-1])
    words = text_of(breakdowns(groups({"two": two, "one": one})))
    assert "user 8 1 37.5 % 0 s –" in words
    assert "by user" not in text_of(breakdowns(groups({"two": two, "unknown": unknown})))


def test_breakdown_by_state() -> None:
    """States differ between policies: those of all are rows, and what did not run has a dash."""
    ran, not_ran = Job(0, 5, 100, nodes=((0, 1),)), Job(0, state="rejected", tasks=99)
    words = text_of(breakdowns(groups({"a": make_result([ran, not_ran])})))
    assert "Mean wait by state state jobs of all work a completed 1 100.0 % 5 s rejected 1 0.0 % –" in words


CANCEL = {"time": 1, "event": "cancel", "job_id": 3}


def test_the_command_makes_the_same_runs(tmp_path: Path) -> None:
    """What stands in the report of runs made in Python does what they did."""
    log = tmp_path / "log.csv"
    log.write_text("job_id,submit_time,run_time,requested_time,tasks\n1,0,10,20,2\n2,1,10,10,3\n3,2,5,5,1\n")
    workload, system = bl.read_table(log), bl.System.homogeneous(nodes=2, resources={"core": 2})
    found = [bl.simulate(workload, system, policy) for policy in ("fcfs", "easy(order=sjf)")]
    line = command_of(groups(found))
    assert line is not None
    words = shlex.split(line)
    assert words[:3] == ["batchlab", "compare", str(log)]
    assert main([*words[1:-2], "--out", str(tmp_path / "out")]) == 0
    waits = pl.read_csv(tmp_path / "out/table.csv")["wait_mean"]
    assert waits.to_list() == [result.metrics()["wait"]["mean"] for result in found]  # type: ignore[index]
    assert command_of(groups([bl.simulate(workload.head(2), system, "fcfs")])) is None
    assert command_of(groups([bl.simulate(workload, system, "fcfs", events=[CANCEL])])) is None
    watched = bl.simulate(workload, system, "fcfs", observers=[bl.Observer()])
    assert command_of(groups([watched])) is None
    assert command_of(groups([bl.read_result(watched.write(tmp_path / "watched"))])) is None


def test_no_command_where_there_is_none(results: list[bl.Result]) -> None:
    """Runs of tables made in Python, or with unusual options, have none; one that is given is told."""
    assert command_of(groups(results)) is None
    assert "Command" not in text_of(what_was_run(groups(results)))
    assert "Command batchlab compare a.swf" in text_of(
        what_was_run(groups(results), "batchlab compare a.swf")
    )


def test_chart_of_nothing() -> None:
    """Without jobs there is no chart."""
    assert gantt(no_jobs(), 10, 10) is None


@pytest.mark.parametrize("jobs", [0, 1])
def test_small_results_have_a_report(jobs: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Nothing, and one job, can be reported."""
    result = make_result([Job(0, 0, 100, nodes=((1, 2),), tasks=2)][:jobs])
    page = bl.report.write(result, tmp_path_factory.mktemp("small") / "report.html").read_text("utf-8")
    assert "What was run" in page
    assert ("No job has run" in page) == (jobs == 0)


def test_causes_of_waiting() -> None:
    """The shares of causes by policy add up, with gates of runs that recorded them; none without waits."""
    jobs = bl.Workload.from_table({"submit_time": [0, 10, 20], "run_time": [60, 50, 30], "tasks": [3, 4, 1]})
    system = bl.System.homogeneous(nodes=1, resources={"core": 4})
    explained = bl.simulate(jobs, system, "easy", explain=True)
    found = waiting(groups([explained, bl.simulate(jobs, system, "fcfs")]))
    assert found is not None
    tables = re.findall(r"<table.*?</table>", found, re.DOTALL)
    assert [len(re.findall("<tr>", each)) for each in tables] == [3, 2]
    for each in tables:
        for row in re.findall(r"<tr>.*?</tr>", each, re.DOTALL)[1:]:
            assert sum(map(float, re.findall(r"([\d.]+)%", row))) == pytest.approx(100, abs=0.2)
    assert waiting(groups(bl.simulate(jobs.head(1), system, "easy"))) is None
    assert explained_jobs(bl.simulate(jobs.head(1), system, "easy"), 1) == ""


def test_explained_jobs_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the jobs that waited longest are explained where too many waited."""
    result = bl.simulate(demo_workload(200), demo_system(), "fcfs")
    monkeypatch.setattr(explanations, "_MOST_EXPLAINED", 7)
    found = explained_jobs(result, 1)
    packed = re.findall(r'<script type="text/plain">(.*?)</script>', found)[0]
    answers = json.loads(zlib.decompress(b64decode(packed)))
    waits = result.jobs.with_columns(wait=pl.col("start_time") - pl.col("submit_time"))
    longest = waits.sort("wait", descending=True, maintain_order=True).head(7)
    assert [*map(int, answers)] == longest["job_id"].to_list()
    assert f"the 7 of {int((waits['wait'] > 0).sum())} jobs that waited longest" in found


def test_the_longest_waits_are_those_of_the_summary() -> None:
    """A job that never started is among them and marked, in the report as in the text."""
    jobs = {"submit_time": [0, 10, 12, 20], "run_time": [15, 60, 5, 5], "tasks": [3, 2, 4, 1]}
    system = bl.System.homogeneous(nodes=1, resources={"core": 4})
    simulation = bl.Simulation(bl.Workload.from_table(jobs), system, "fcfs")
    simulation.run_until(50)
    result = simulation.result()
    listed = result.waiting_summary().text().partition("The longest waits:")[2].splitlines()[2:]
    page = explained_jobs(result, 1)
    told = re.findall(r'data-job="(\d+)".*?"waited">([^<]*)<', page)
    assert [line.split()[0] for line in listed] == [job for job, _ in told] == ["3", "2"]
    assert [wait for _, wait in told] == ["8 s, never started", "5 s"]
    assert all(wait in line for line, (_, wait) in zip(listed, told, strict=True))
