"""Runs of the accounting log of recorded clusters: the log's own waits are those of the record."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any, cast

import polars as pl
import pytest

import batchlab as bl
from support.oracles import find

if TYPE_CHECKING:
    from pathlib import Path

RECORDS = "oracles/slurm-multifactor"


@pytest.mark.parametrize("run", ["m1a", "m1b", "m1d", "m2a", "m3a"])
def test_the_log_has_the_recorded_waits(run: str, tmp_path: Path) -> None:
    """Of the jobs that ran in the log and in the simulation; nothing is given but the log and the files."""
    file = find(f"{RECORDS}/{run}/sacct_all.txt.gz")
    log = tmp_path / "log.txt"
    log.write_bytes(gzip.decompress(file.read_bytes()))
    workload = bl.read_sacct(log)
    result = bl.simulate(workload, bl.read_system(file.parent), "configured")
    near = cast("dict[str, Any]", result.metrics()["log"])
    attempts = pl.read_csv(file.parent / "jobs.csv").group_by("slurm_id", maintain_order=True)
    # A job that was requeued waited since its first submission.
    times = attempts.agg(pl.col("submit").first(), pl.col("start").last())
    recorded = {str(job): start - submit for job, submit, start in times.iter_rows() if start is not None}
    ended = result.jobs.filter(pl.col("end_time").is_not_null() & (pl.col("state") != "cancelled"))
    names = ended["logged_id"].cast(pl.String)
    waits = [recorded[name] for name in names if name in recorded]
    assert near["jobs"] == len(waits) > 150
    assert near["wait"]["mean"] == pytest.approx(sum(waits) / len(waits))
