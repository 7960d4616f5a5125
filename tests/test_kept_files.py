"""Files of earlier versions are read: `tests/kept` has a result, a store, a snapshot and an experiment."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import batchlab as bl
from batchlab.cli import main
from batchlab.errors import SimulationError

KEPT = Path(__file__).parent / "kept"


@pytest.fixture(scope="module")
def columns() -> dict[str, pl.Series]:
    """Return the columns of the kept jobs.csv."""
    return pl.read_csv(KEPT / "result" / "jobs.csv", infer_schema_length=None).to_dict()


def flat(measures: dict[str, Any], of: str = "") -> dict[str, float | None]:
    """Return nested measures by their paths."""
    found: dict[str, float | None] = {}
    for name, value in measures.items():
        path = f"{of}.{name}"
        found |= flat(value, path) if isinstance(value, dict) else {path: value}
    return found


def test_results_are_read(columns: dict[str, pl.Series]) -> None:
    """With their jobs, measures, options and system."""
    result = bl.read_result(KEPT / "result")
    for name in ("job_id", "submit_time", "start_time", "end_time", "state"):
        assert result.jobs[name].to_list() == columns[name].to_list(), name
    kept = json.loads((KEPT / "result" / "metrics.json").read_text("utf-8"))
    # Sums were taken in another order then.
    assert flat(result.metrics()) == pytest.approx(flat(kept), rel=1e-14, abs=0)
    manifest = json.loads((KEPT / "result" / "manifest.json").read_text("utf-8"))
    assert str(result.policy) == manifest["policy"]
    assert result.system.nodes == manifest["system"]["groups"][0]["count"]


def test_a_run_of_today_gives_the_same_schedule(columns: dict[str, pl.Series]) -> None:
    """The same jobs on the same system."""
    result = bl.read_result(KEPT / "result")
    again = bl.simulate(bl.read_table(KEPT / "jobs.csv"), result.system, str(result.policy))
    assert again.jobs["start_time"].to_list() == columns["start_time"].to_list()


def test_a_store_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The experiment file is read; runs of an earlier build stay beside those of this one."""
    for name in ("experiment.toml", "jobs.csv"):
        shutil.copy(KEPT / name, tmp_path)
    store = tmp_path / "store"
    shutil.unpack_archive(KEPT / "store.zip", store)
    before = {path: path.read_bytes() for path in (store / "runs").rglob("*.json")}
    assert len(before) == 4
    assert main(["experiment", str(tmp_path / "experiment.toml")]) == 0
    assert "4 runs done" in capsys.readouterr().out
    assert {path: path.read_bytes() for path in before} == before


def test_snapshots_of_another_build_are_refused() -> None:
    """Their bytes are in the form of its kernel."""
    system = bl.read_result(KEPT / "result").system
    data = (KEPT / "snapshot.bin").read_bytes()
    with pytest.raises(SimulationError, match=r"the snapshot's build = None; a snapshot is"):
        bl.Simulation.restore(data, bl.read_table(KEPT / "jobs.csv"), system, "easy(order=sjf)")
