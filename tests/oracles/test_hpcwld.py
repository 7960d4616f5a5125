"""R's package hpcwld: delays of logs of the Karelian Research Centre, stability constants, throughputs."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import batchlab as bl
from support.hpcwld import SERVERS, content, table, trace


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


def test_mean_delays_under_all_cleanings() -> None:
    """The mean delays that R gives for five traces, which differ in how jobs with no cores are cleaned."""
    cases = [case for case in json.loads(content("fcfs_vs_Wld.json")) if "R_mean" in case]
    assert len(cases) == 13
    for case in cases:
        arrival, service, cores = trace(case["trace"])
        found = bl.queueing.delays(arrival, service / case["rate"], cores, SERVERS)
        assert len(found) == case["n"]
        assert found.mean() == pytest.approx(case["R_mean"], rel=1e-11), case


def test_delays_of_twelve_jobs() -> None:
    """A small case that the repository has."""
    log = table("wld_tiny_m4.csv")
    # Gaps are those after each job.
    arrival = log["T"].cum_sum() - log["T"]
    found = bl.queueing.delays(arrival, log["S"], log["N"], 4)
    assert found.tolist() == log["delay"].to_list()


def test_stability_constants() -> None:
    """The 14 constants of distributions of one dimension that R's `ApproxC` and `C` give at full depth."""
    probabilities = json.loads(content("stability_p.json"))
    constants = table("stability_constants.csv")
    full = constants.filter(pl.col("depth") == pl.col("s"))
    assert full.height == len(probabilities) == 14
    for case, expected in full.select("case", pl.col("C").cast(pl.Float64)).iter_rows():
        found = bl.queueing.stability(probabilities[case])
        assert found.constant == pytest.approx(expected, rel=0, abs=1e-14), case


def test_throughput_of_two_servers() -> None:
    """729 cases of the chain that `MaxThroughput2` solves.

    The recorded chain has p1 = 1e-9 in place of 0, and as near to 1, where the package itself is wrong.
    """
    cases = table("maxthroughput2_check.csv.gz")
    assert cases.height == 729
    for case in cases.iter_rows(named=True):
        found = bl.queueing.max_throughput(
            case["p1"],
            (case["mu1"], case["mu2"]),
            (case["f1"], case["f2"]),
            up=case["pa"],
            down=case["pd"],
        )
        tolerance = 1e-12 if 0 < case["p1"] < 1 else 1e-8
        assert found == pytest.approx(case["ctmc"], rel=tolerance), case
