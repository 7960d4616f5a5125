"""Results that were written are read back as they were: every kind of table, policy and system."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import batchlab as bl
from batchlab.errors import ResultError, SimulationError
from batchlab.generate import demo_system
from batchlab.result.recorded import TABLES
from support.recorded_runs import JOBS, KINDS, NarrowFirst, disturbed


@pytest.mark.parametrize("kind", KINDS)
def test_every_table_is_as_it_was(kind: str, tmp_path: Path) -> None:
    """Tables, metrics, observations, summary and warnings."""
    result = KINDS[kind]()
    on_platform = result.system.platform is not None
    found = bl.read_result(result.write(tmp_path), system=result.system if on_platform else None)
    assert [name for name, table in TABLES.items() if table.has(found)] == [
        name for name, table in TABLES.items() if table.has(result)
    ]
    recorded = [name for name, table in TABLES.items() if table.has(result)]
    for name in ("jobs", "placements", "timeline", "service_intervals", *recorded):
        assert getattr(found, name).equals(getattr(result, name)), name
    assert found.metrics() == result.metrics()
    assert found.observations.keys() == result.observations.keys()
    assert all(found.observations[name].equals(table) for name, table in result.observations.items())
    if "sensed" in result.outcome.tables:
        assert all(found.utilisation[name].equals(table) for name, table in result.utilisation.items())
    assert found.events.table.equals(result.events.table)
    assert found.warnings == result.warnings
    assert str(found.policy) == str(result.policy)
    assert (found.system, found.options) == (result.system, result.options)


def test_what_is_read_is_written_as_it_was(tmp_path: Path) -> None:
    """The same bytes come out, but for the command."""
    result = disturbed()
    once = result.write(tmp_path / "once", command="batchlab run")
    again = bl.read_result(once).write(tmp_path / "again", command="batchlab run")
    for path in once.iterdir():
        assert (again / path.name).read_bytes() == path.read_bytes(), path.name


def test_what_is_read_is_drawn_and_reported(tmp_path: Path) -> None:
    """Results that were read are replications, groups and pages like any other."""
    folders = [
        bl.simulate(JOBS, demo_system(), policy).write(tmp_path / policy) for policy in ("fcfs", "easy")
    ]
    results = [bl.read_result(folder) for folder in folders]
    ax = bl.plot.slowdown(results)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["fcfs", "easy"]
    assert bl.report.write(results, tmp_path / "page.html").stat().st_size > 100_000


def test_a_policy_in_python_is_a_name(tmp_path: Path) -> None:
    """Nothing can be run under it."""
    found = bl.read_result(bl.simulate(JOBS, demo_system(), NarrowFirst()).write(tmp_path))
    assert repr(found.policy) == "<Policy NarrowFirst>"
    with pytest.raises(SimulationError, match="decision_points"):
        bl.simulate(JOBS, demo_system(), found.policy)


def test_the_system_of_a_platform_has_all_its_rules(tmp_path: Path) -> None:
    """It is known again with partitions, queues, limits and sleep states; another one is refused."""
    machine = bl.System.of(bl.Platform.crossbar(2, cores=2, speed="1Gf", bandwidth="1GBps", latency=0))
    off = bl.SleepState("off", enter_time=1.0, wake_time=2.0)
    system = replace(
        machine,
        groups=tuple(replace(group, sleep_states=(off,)) for group in machine.groups),
        partitions=(bl.Partition("part", "0-1"),),
        queues=(bl.JobQueue("queue", ("part",), admits=bl.Conditions(users=("ann", "ben"))),),
        limits=(bl.Limit("few", per=("user", "queue"), running_jobs=1),),
    )
    jobs = bl.Workload.from_table(
        {"job_id": [1, 2], "submit_time": [0, 0], "run_time": [5, 5], "tasks": [1, 2], "user": ["ann", "ben"]}
    )
    result = bl.simulate(jobs, system, "easy", sleep="timeout(3)")
    written = result.write(tmp_path)
    assert bl.read_result(written, system=system).jobs.equals(result.jobs)
    for other in (replace(system, limits=()), replace(system, groups=machine.groups)):
        with pytest.raises(bl.ResultError, match="is not the one of this run"):
            bl.read_result(written, system=other)


def test_the_file_of_a_platform_is_found(tmp_path: Path) -> None:
    """As long as it is the same; otherwise the system is asked for, and checked."""
    path = tmp_path / "machine.toml"
    path.write_text('[[clusters]]\nname = "c"\nnodes = 4\nbandwidth = "1GBps"\nnode = { speed = "1Gf" }\n')
    system = bl.read_system(path)
    jobs = bl.Workload.from_table({"submit_time": [0.0], "run_time": [5.0], "tasks": [1]})
    folder = bl.simulate(jobs, system, "fcfs").write(tmp_path / "out", inputs={"system": path})
    assert bl.read_result(folder).system == system
    path.unlink()
    with pytest.raises(ResultError, match="Pass system="):
        bl.read_result(folder)
    assert bl.read_result(folder, system=system).system == system
    with pytest.raises(ResultError, match="not the one of this run"):
        bl.read_result(folder, system=bl.System.of(bl.Platform.crossbar(4, bandwidth="1GBps")))


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    """A folder without a result, a damaged one, and one of another format."""
    with pytest.raises(ResultError, match="it is missing; --stream and older versions write none"):
        bl.read_result(tmp_path)
    three = bl.simulate(JOBS.head(3), demo_system(), "fcfs").write(tmp_path / "three")
    bl.simulate(JOBS.head(4), demo_system(), "fcfs").write(tmp_path)
    (three / "result.zip").replace(tmp_path / "result.zip")
    with pytest.raises(ResultError, match=r"of another run than manifest\.json"):
        bl.read_result(tmp_path)
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(ResultError, match=r"manifest\.json: lacks inputs, outputs, system\."):
        bl.read_result(tmp_path)
    (tmp_path / "manifest.json").write_text("no JSON")
    with pytest.raises(ResultError, match=r"manifest\.json: cannot be read: "):
        bl.read_result(tmp_path)
    (tmp_path / "manifest.json").unlink()
    (tmp_path / "result.zip").write_bytes(b"PK")
    with pytest.raises(ResultError, match="cannot be read: "):
        bl.read_result(tmp_path)


def test_the_report_of_the_reader_is_kept(tmp_path: Path) -> None:
    """What was dropped and mended is known afterwards."""
    jobs = bl.Workload.from_table(
        {"submit_time": [0.0, 1.0], "run_time": [5.0, 9.0], "requested_time": [4.0, 9.0], "tasks": [1, 0]}
    )
    found = bl.read_result(bl.simulate(jobs, demo_system(), "fcfs").write(tmp_path)).workload.report
    assert str(found) == str(jobs.report)
    assert isinstance(found.dropped, pl.DataFrame)
    assert found.dropped.equals(jobs.report.dropped)
