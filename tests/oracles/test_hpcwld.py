"""R's package hpcwld: delays of the logs of the Karelian Research Centre, stability constants, throughputs."""

from __future__ import annotations

import gzip

import numpy as np
import polars as pl
import pytest

import batchlab as bl
from support.oracles import find

SERVERS = 80


def table(name: str) -> pl.DataFrame:
    """Read a table of hpcwld's."""
    content = find(f"oracles/hpcwld/{name}").read_bytes()
    plain = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    return pl.read_csv(plain, infer_schema_length=None)


@pytest.mark.parametrize(
    ("jobs", "recorded", "rate", "most"),
    [
        ("HPC_KRC_model_cores_used", "wld_krc_used_m80", 1.0, 0.0),
        ("HPC_KRC2_cleanA_subset", "wld_krc2A_subset_m80", 1.0, 0.0),
        ("HPC_KRC2_cleanA_subset", "wld_krc2A_subset_m80_rate2", 2.0, 0.0),
        ("HPC_KRC_model_cores_used", "wld_krc_used_m80_rate2.66", 2.66, 4.2e-9),
    ],
)
def test_delays_of_the_logs(jobs: str, recorded: str, rate: float, most: float) -> None:
    """The delays that R's `Wld` gives, exactly where times are whole numbers or halves."""
    log, expected = table(f"{jobs}.csv.gz"), table(f"{recorded}.csv.gz")["delay"].to_numpy()
    found = bl.queueing.delays(log["t"], log["S"] / rate, log["N"], SERVERS)
    assert np.abs(found - expected).max() <= most
    assert found.max() > 10_000


def test_delays_of_twelve_jobs() -> None:
    """A small case that the repository has."""
    log = table("wld_tiny_m4.csv")
    # Gaps are those after each job.
    arrival = log["T"].cum_sum() - log["T"]
    found = bl.queueing.delays(arrival, log["S"], log["N"], 4)
    assert found.tolist() == log["delay"].to_list()
