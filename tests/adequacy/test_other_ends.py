"""Real logs: jobs that were cancelled, killed or lost in one stream only are left out and counted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest

import batchlab as bl
from batchlab.adequacy import compare
from batchlab.cli import main

if TYPE_CHECKING:
    from pathlib import Path

HEADER = "JobID|User|State|Submit|Start|End|Timelimit|ReqCPUS"
DAY = "2024-03-01T"
LOST = ("CANCELLED by 7", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED")
SYSTEM = bl.System.homogeneous(nodes=8, resources={"core": 1})


def log_of(*states: str) -> list[str]:
    """Write a log of jobs of 8 processors one after the other, of which the first completed."""
    lines = [HEADER]
    for number, state in enumerate(("COMPLETED", *states)):
        begin, end = 20 * number, 20 * (number + 1)
        times = [f"{DAY}{10 + at // 60}:{at % 60:02d}:00" for at in (begin, end)]
        lines.append(f"{number + 1}|ann|{state}|{DAY}10:00:00|{times[0]}|{times[1]}|00:20:00|8")
    return lines


@pytest.mark.parametrize("walltime", ["run", "kill"])
def test_a_timeout_is_compared(walltime: str) -> None:
    """The model ends the job at the same limit, however it calls that."""
    log = bl.read_sacct(log_of("TIMEOUT", "COMPLETED"))
    result = bl.simulate(log, SYSTEM, "fcfs", walltime=walltime)  # type: ignore[arg-type]
    found = compare(log, result)
    assert (len(found), found.P) == (3, 0.0)


@pytest.mark.parametrize("state", [state for state in LOST if state != "PREEMPTED"])
def test_ends_that_are_replayed_are_compared(state: str) -> None:
    """A job that the simulation ends as the log does is compared as any other."""
    log = bl.read_sacct(log_of(state, "COMPLETED"))
    found = compare(log, bl.simulate(log, SYSTEM, "fcfs"))
    assert (len(found), found.P) == (3, 0.0)


@pytest.mark.parametrize("state", LOST)
def test_lost_jobs_are_left_out_and_counted(state: str) -> None:
    """By the option that the error names."""
    log = bl.read_sacct(log_of(state, "COMPLETED"), log_events=False)
    result = bl.simulate(log, SYSTEM, "fcfs")
    with pytest.raises(bl.AdequacyError, match=r"killed in real, completed in model.*other_ends='leave_out'"):
        compare(log, result)
    found = compare(log, result, other_ends="leave_out")
    assert (len(found), found.P) == (2, 0.0)
    assert found.other_ends == {"killed in real, completed in model": 1}
    assert "1 job left out: 1 killed in real, completed in model" in str(found)
    assert found.first(1).other_ends == found.other_ends


def test_jobs_of_one_stream_only() -> None:
    """They are left out too, if the jobs have numbers."""
    log = bl.read_sacct(log_of("COMPLETED", "NODE_FAIL", "COMPLETED"), log_events=False)
    result = bl.simulate(log.filter(pl.col("job_id") != 2), SYSTEM, "fcfs")
    with pytest.raises(bl.AdequacyError, match="in real only"):
        compare(log, result)
    found = compare(log, result, other_ends="leave_out")
    assert found.other_ends == {"in real only": 1, "killed in real, completed in model": 1}
    assert len(found) == 2
    with pytest.raises(bl.AdequacyError, match="no job in common"):
        compare(log.head(1), log.slice_rows(1), other_ends="leave_out")
    with pytest.raises(bl.AdequacyError, match="other_ends = 'keep'"):
        compare(log, result, other_ends="keep")  # type: ignore[arg-type]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A log with every odd end, and its run."""
    path, out = tmp_path / "jobs.txt", tmp_path / "out"
    path.write_text("\n".join(log_of(*LOST, "TIMEOUT")))
    run = ["run", str(path), "--nodes", "8", "--cores", "1", "--no-log-events", "--out", str(out)]
    assert main(run) == 0
    assert main(["adequacy", str(path), str(out)]) == 2
    assert "--other-ends leave_out" in capsys.readouterr().err
    words = ["adequacy", str(path), str(out), "--other-ends", "leave_out", "--format", "json"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["other_ends"] == {"killed in real, completed in model": len(LOST)}
    assert found["P"] == 0
