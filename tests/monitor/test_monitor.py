"""A run that is looked at: it comes out as it would have, and can be asked until it ends."""

from __future__ import annotations

import io
import sys
import threading
from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.monitor import runs

if TYPE_CHECKING:
    from pathlib import Path

    from batchlab.seam import View


def test_looking_changes_nothing(simulation: bl.Simulation) -> None:
    """With a panel, a page and a pace the result is that of `run_until`."""
    alone, stream = simulation.fork(), io.StringIO()
    alone.run_until()
    with bl.Monitor(
        simulation, title="by hand", live=True, serve=True, pace=2000, memory=lambda: 1, stream=stream
    ) as monitor:
        assert monitor.url is not None
        result = monitor.run()
    assert result.jobs.equals(alone.result().jobs)
    assert stream.getvalue().startswith("100 %, 4 of 4 jobs done at 00:02:11: 0 queued, 0 running")


class Watcher(bl.Observer):
    """Sets timers for ever, and closes a node."""

    def begin(self, view: View) -> None:
        view.wake(3.0)

    def wake(self, view: View) -> None:
        view.drain(0)
        view.wake(view.now + 7.0)


class Newest(bl.Scheduler):
    """Starts whatever fits."""

    def schedule(self, view: View) -> None:
        for job in view.queue:
            view.start(job)


def test_what_is_written_in_python_can_be_looked_at() -> None:
    """Slices neither change its schedule nor miss its end."""
    jobs = {"submit_time": [0, 1, 2], "run_time": [9, 9, 4], "tasks": [1, 1, 1]}
    system = bl.System.homogeneous(nodes=2, resources={"core": 1})
    workload = bl.Workload.from_table(jobs)
    expected = bl.simulate(workload, system, Newest(), observers=[Watcher()])
    simulation = bl.Simulation(workload, system, Newest(), observers=[Watcher()])
    stream = io.StringIO()
    with bl.Monitor(simulation, live=True, serve=True, stream=stream) as monitor:
        result = monitor.run()
    assert result.jobs.equals(expected.jobs)
    assert result.jobs["end_time"].to_list() == [9, 10, 14]


def test_a_run_can_be_asked_while_it_runs(simulation: bl.Simulation, runtime: Path) -> None:
    """From another thread here, from another terminal elsewhere."""
    monitor = bl.Monitor(simulation, title="by hand", live=True, pace=150, stream=io.StringIO())

    def run() -> None:
        with monitor:
            monitor.run()

    thread = threading.Thread(target=run)
    thread.start()
    while not (runtime.exists() and list(runtime.glob("*.json"))):
        thread.join(0.01)
    status = runs.ask(runs.choose(), ["status"])
    assert (status["phase"], status["pace"], status["jobs"]) == ("running", 150, 4)
    assert runs.ask(runs.choose(), ["job", "11"])["state"] == "running"
    thread.join()
    assert list(runtime.iterdir()) == []


def test_short_runs_open_no_socket(simulation: bl.Simulation, runtime: Path) -> None:
    """Unless they are to be looked at."""
    calls: list[tuple[int, int]] = []
    with bl.Monitor(simulation, progress=lambda *counts: calls.append(counts)) as monitor:
        monitor.run()
        assert not runtime.exists()
    assert monitor.url is None
    assert (calls[0], calls[-1]) == ((0, 4), (4, 4))


def test_long_runs_can_be_asked(simulation: bl.Simulation, monkeypatch: pytest.MonkeyPatch) -> None:
    """After their first second, without having been told so; also after the end, as long as they are kept."""
    monkeypatch.setattr("batchlab.monitor.monitor._PATIENCE", -1.0)
    with bl.Monitor(simulation) as monitor:
        monitor.run()
        assert runs.ask(runs.choose(), [])["phase"] == "done"


def test_runs_that_cannot_be_asked_run(
    simulation: bl.Simulation, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A directory that others can enter keeps no run from simulating."""
    monkeypatch.setattr("batchlab.monitor.monitor._PATIENCE", -1.0)
    runtime.write_text("no directory")
    with bl.Monitor(simulation) as monitor:
        assert len(monitor.run().jobs) == 4


def test_what_ends_a_run_is_said(simulation: bl.Simulation) -> None:
    """The last line tells how far it came, and the error goes on."""

    def fail(_done: int, total: int) -> None:
        if simulation.now >= 10:
            raise RuntimeError(f"of {total}")

    stream = io.StringIO()
    monitor = bl.Monitor(simulation, live=True, pace=1000, progress=fail, stream=stream)
    with pytest.raises(RuntimeError, match="of 4"), monitor:
        monitor.run()
    assert stream.getvalue().splitlines()[-1].startswith("0 %, 0 of 4 jobs done at 10 s")


@pytest.mark.parametrize("pace", [0, -1, float("inf"), float("nan")])
def test_paces_are_positive(pace: float, simulation: bl.Simulation) -> None:
    """And finite."""
    with pytest.raises(bl.MonitorError, match=r"pace = .*must be a finite number of seconds > 0"):
        bl.Monitor(simulation, pace=pace)


def test_keeping_ends_with_an_interrupt(simulation: bl.Simulation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is the way to end it, and no error."""

    def interrupt(_seconds: float) -> None:
        raise KeyboardInterrupt

    with bl.Monitor(simulation) as monitor:
        monitor.run()
        monkeypatch.setattr("time.sleep", interrupt)
        monitor.keep()


def test_a_page_needs_its_packages(simulation: bl.Simulation, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is the command that installs them."""
    monkeypatch.delitem(sys.modules, "batchlab.monitor.server", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(ImportError, match=r"needs starlette and uvicorn.*-m pip install 'starlette>="):
        bl.Monitor(simulation, serve=True).__enter__()
