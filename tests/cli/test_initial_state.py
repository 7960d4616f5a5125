"""The option ``--initial-state``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

import batchlab as bl
from batchlab.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_the_run_begins_in_the_state(log: Path, tmp_path: Path) -> None:
    """Jobs keep their starts of before, and the manifest names the file."""
    workload, state = bl.read_swf(log), tmp_path / "state.csv"
    simulation = bl.Simulation(workload, bl.System.homogeneous(nodes=8, resources={"core": 1}), "fcfs")
    simulation.run_until(workload.first_submission)
    started = simulation.initial_state().jobs.filter(pl.col("start_time").is_not_null())
    simulation.initial_state().write(state)
    out = tmp_path / "out"
    options = ["--nodes", "8", "--policy", "easy", "--initial-state", str(state), "--out", str(out)]
    assert main(["run", str(log), *options]) == 0
    jobs = pl.read_csv(out / "jobs.csv")
    assert len(started)
    assert (
        jobs.join(started, on="job_id")["start_time"].to_list()
        == started.sort("job_id")["start_time"].to_list()
    )
    assert '"initial_state"' in (out / "manifest.json").read_text()


def test_what_is_wrong_with_it(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line names the file or the job; it is no option of a streamed run."""
    state = tmp_path / "state.csv"
    state.write_text("job_id,start_time\n1,0\n")
    assert main(["run", str(log), "--initial-state", str(state)]) == 2
    assert "state.csv: its first line" in capsys.readouterr().err
    state.write_text('# batchlab initial state {"time": 1e9}\njob_id,start_time\n99999,0\n')
    assert main(["run", str(log), "--initial-state", str(state)]) == 2
    assert "job 99999: job_id = 99999; must be a job of the workload" in capsys.readouterr().err
    assert main(["run", str(log), "--stream", "--initial-state", str(state)]) == 2
    assert "--initial-state" in capsys.readouterr().err
