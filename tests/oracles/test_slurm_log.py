"""Runs of the accounting log of recorded clusters: the log's waits are the recorded waits.

Simulated waits are as near as the waits of a twin with the stream, the commands and all measured times.
"""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any, cast

import polars as pl
import pytest

import batchlab as bl
from batchlab.cli import main
from support.oracles import find
from support.slurm_free_runs import RECORDINGS, compared

if TYPE_CHECKING:
    from pathlib import Path

RECORDS = "oracles/slurm-multifactor"
RUNS = pytest.mark.parametrize("run", ["m1a", "m1b", "m1d", "m2a", "m3a"])


def log_of(run: str, folder: Path) -> tuple[Path, Path]:
    """Return the dump of sacct of a run, unpacked, and the folder of its configuration."""
    file = find(f"{RECORDS}/{run}/sacct_all.txt.gz")
    log = folder / "log.txt"
    log.write_bytes(gzip.decompress(file.read_bytes()))
    return log, file.parent


@RUNS
def test_the_log_has_the_recorded_waits(run: str, tmp_path: Path) -> None:
    """Of the jobs that ran in the log and in the simulation; nothing is given but the log and the files."""
    log, folder = log_of(run, tmp_path)
    workload = bl.read_sacct(log)
    result = bl.simulate(workload, bl.read_system(folder), "configured")
    near = cast("dict[str, Any]", result.metrics()["log"])
    attempts = pl.read_csv(folder / "jobs.csv").group_by("slurm_id", maintain_order=True)
    # A job that was requeued waited since its first submission.
    times = attempts.agg(pl.col("submit").first(), pl.col("start").last())
    recorded = {str(job): start - submit for job, submit, start in times.iter_rows() if start is not None}
    ended = result.jobs.filter(pl.col("end_time").is_not_null() & pl.col("start_time").is_not_null())
    names = ended["logged_id"].cast(pl.String)
    waits = [recorded[name] for name in names if name in recorded]
    assert near["jobs"] == len(waits) > 150
    assert near["wait"]["mean"] == pytest.approx(sum(waits) / len(waits))


@RUNS
def test_a_run_of_the_log_waits_as_the_twin_does(
    run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command has no option but the configuration; the twin runs with 20 seeds."""
    log, folder = log_of(run, tmp_path)
    assert main(["run", str(log), "--system", str(folder), "--format", "json"]) == 0
    mean = json.loads(capsys.readouterr().out)["wait"]["mean"]
    (recording,) = (each for each in RECORDINGS if run in each.phases)
    waits = compared(recording, folder.parent, run).waits
    assert min(waits) < mean < max(waits)
