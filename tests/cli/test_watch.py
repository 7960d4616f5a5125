"""`batchlab watch`, and the options of `batchlab run` for those who look."""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.cli import main
from batchlab.monitor import runs
from batchlab.monitor.runs import Endpoint
from batchlab.monitor.snapshot import Phase, RunFacts, Snapshot, SnapshotExchange

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the directory of runs, which is not there yet."""
    monkeypatch.setenv(runs.RUNTIME_VARIABLE, str(tmp_path / "runtime"))
    return tmp_path / "runtime"


@contextmanager
def going_on(log: Path, until: float = 10, phase: Phase = "running") -> Iterator[None]:
    """Stop a run of the log in the middle, and let it answer."""
    workload, system = bl.read_swf(log), bl.System.homogeneous(nodes=4, resources={"core": 2})
    simulation = bl.Simulation(workload, system, "fcfs")
    simulation.run_until(until)
    facts = RunFacts.of(simulation, "small.swf")
    snapshot = Snapshot(facts, simulation.status(), phase, 0.0, 2.04, 1.0, 80_000_000)
    exchange = SnapshotExchange(snapshot)
    exchange.close(snapshot)
    with Endpoint(exchange, workload="small.swf", policy="fcfs"):
        yield


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["watch", *words]) == 0
    written = capsys.readouterr()
    assert written.err == ""
    return written.out


def test_the_status(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a page for people, or as one line of JSON; the run may be named."""
    with going_on(log):
        *lines, age = said(capsys).splitlines()
        assert lines == [
            "workload      small.swf",
            "policy        fcfs",
            "progress      0 %, 0 of 3 jobs done, running",
            "time          10 s",
            "jobs          1 queued, 1 running",
            "utilisation   core 100.0 %",
            "cost          2 s, CPU 1 s, 80 MB",
        ]
        assert age.startswith("answer        ")
        assert age.endswith(" s old")
        assert said(capsys, str(os.getpid())).splitlines()[:-1] == said(capsys, "status").splitlines()[:-1]
        assert json.loads(said(capsys, "--format", "json"))["queued"] == 1


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (
            ["queued"],
            [
                "       job    tasks         waited       asks for",
                "         2        8            0 s       00:01:00",
            ],
        ),
        (
            ["running"],
            [
                "       job    tasks         waited       asks for  nodes",
                "         1        8            0 s       00:03:20  0-3",
            ],
        ),
        (
            ["job", "1"],
            [
                "job           1, running",
                "asks for      8 tasks for 00:03:20",
                "waited        0 s",
                "runs for      10 s",
                "nodes         0-3",
            ],
        ),
        (
            ["job", "2"],
            [
                "job           2, queued",
                "asks for      8 tasks for 00:01:00",
                "waits for     0 s",
                "reason        resources",
            ],
        ),
        (["job", "3"], ["job           3, loaded", "asks for      2 tasks for 20 s"]),
        (["utilisation"], ["core          100.0 %, 8 of 8"]),
    ],
    ids=" ".join,
)
def test_questions(words: list[str], lines: list[str], log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Short tables and lists."""
    with going_on(log):
        assert said(capsys, *words).splitlines() == lines
        assert said(capsys, str(os.getpid()), *words).splitlines() == lines


def test_a_node(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is free on it, and its jobs."""
    with going_on(log):
        assert said(capsys, "node", "3").startswith("node 3: 0 of 2 core free\n       job ")
    with going_on(log, until=200):
        assert said(capsys, "node", "3") == "node 3: 2 of 2 core free\nno jobs\n"
        assert "ran for       50 s" in said(capsys, "job", "2")


def test_a_rejected_job(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It never waited."""
    log.write_text("1 0 -1 100 80 -1 -1 80 200 -1 1 1 1 -1 -1 -1 -1 -1\n")
    with going_on(log, until=50):
        assert said(capsys, "job", "1").splitlines()[:2] == [
            "job           1, rejected",
            "asks for      80 tasks for 00:03:20",
        ]
        assert "waited" not in said(capsys, "job", "1")


def test_long_answers_are_cut(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For people only."""
    lines = [f"{job} 0 -1 100 8 -1 -1 8 200 -1 1 1 1 -1 -1 -1 -1 -1\n" for job in range(1, 52)]
    log.write_text("".join(lines))
    with going_on(log):
        assert said(capsys, "queued").splitlines()[-1] == "… and 10 more; --format json lists all"
        assert len(json.loads(said(capsys, "queued", "--format", "json"))["jobs"]) == 50


def test_runs_are_listed(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For people and programs."""
    assert said(capsys, "runs") == "no runs\n"
    with going_on(log):
        assert said(capsys, "runs").split() == [str(os.getpid()), "small.swf", "fcfs"]
        assert json.loads(said(capsys, "runs", "--format", "json"))[0]["policy"] == "fcfs"


@pytest.mark.parametrize("phase", ["running", "done"])
def test_asking_again(phase: Phase, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Until the run has ended, or is gone."""
    with going_on(log, phase=phase) as _:
        if phase == "done":
            assert said(capsys, "--every", "0.01").count("progress") == 1
            return
        times = iter(range(3))

        def gone(_seconds: float) -> None:
            if next(times) == 2:
                runs.directory().rename(runs.directory().with_name("elsewhere"))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(time, "sleep", gone)
            assert said(capsys, "--every", "5", "--format", "json").count("\n") == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no run can be asked now"),
        (["77"], "no run can be asked now"),
        (["--every", "0"], "must be a number of seconds > 0"),
    ],
)
def test_where_no_run_is(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line says so, with the next step."""
    assert main(["watch", *words]) == 2
    written = capsys.readouterr()
    assert message in written.err
    assert (written.out, written.err.count("\n")) == ("", 1)


def test_wrong_questions(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Are answered with the right ones."""
    with going_on(log):
        assert main(["watch", "queue"]) == 2
        assert "Did you mean 'queued'?" in capsys.readouterr().err


def test_live(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error, beside the answer."""
    assert main(["run", str(log), "--live", "--pace", "10000", "--format", "json"]) == 0
    written = capsys.readouterr()
    assert json.loads(written.out)["jobs"]["completed"] == 3
    assert written.err.startswith("100 %, 3 of 3 jobs done at 00:02:40: 0 queued, 0 running, core 0.0 %; ")


def test_serving(log: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The address is said; with --keep it is served until Ctrl-C, which is no failure."""
    assert main(["run", str(log), "--serve"]) == 0
    written = capsys.readouterr()
    assert re.fullmatch(r"batchlab: look at http://127\.0\.0\.1:\d+/\?token=\S+\n", written.err)

    kept: list[str | None] = []
    monkeypatch.setattr(bl.Monitor, "keep", lambda monitor: kept.append(monitor.url))
    assert main(["run", str(log), "--serve", "--keep", "--host", "localhost"]) == 0
    written = capsys.readouterr()
    assert f"still serving {kept[0]}; Ctrl-C ends it." in written.err
    assert "3 completed" in written.out
    assert "unencrypted" not in written.err


def test_serving_other_machines_is_warned_of(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The token, which opens the page, goes over the network as it is."""
    assert main(["run", str(log), "--serve", "--host", "0.0.0.0"]) == 0  # noqa: S104  # that is the test
    assert "the token in its address goes over the network unencrypted" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--keep"], "'--keep': is about the page for browsers; add --serve"),
        (["--port", "80"], "'--port': is about the page"),
        (["--host", "::1"], "'--host': is about the page"),
        (["--serve", "--port", "70000"], "'--port'"),
        (["--pace", "-1"], "'--pace': -1.0; must be a number of seconds > 0"),
        (["--live", "--stream"], "'--live': needs the table of jobs, which --stream does without"),
        (["--serve", "--stream"], "'--serve': needs the table of jobs"),
        (["--pace", "2", "--stream"], "'--pace': needs the table of jobs"),
    ],
    ids=" ".join,
)
def test_options_that_do_not_go_together(
    options: list[str], message: str, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Are refused before anything is read."""
    assert main(["run", str(log), *options]) == 2
    assert message.replace("'", "") in capsys.readouterr().err.replace("'", "")


def test_old_answers_say_so(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a policy in Python thinks for long, lists say how old they are."""
    run = runs.Run("1", 1, 1, "", "log", "mine")
    monkeypatch.setattr(runs, "choose", lambda _name: run)
    monkeypatch.setattr(runs, "ask", lambda _run, _words: {"time": 1.0, "jobs": [], "age": 4.26})
    assert main(["watch", "queued"]) == 0
    assert capsys.readouterr().out == "no jobs\nanswer        4.3 s old\n"
