"""A made-up log to be like, and Seth's where it is at hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import batchlab as bl
from batchlab.workload import Header

SETH = Path(__file__).parents[3] / "shared/data/HPC2N-2002-2.2-cln.swf.gz"
ORIGIN = 1_000_000_000


@pytest.fixture(scope="session")
def log() -> bl.Workload:
    """20,000 jobs over 500 days: five times as many by day as at night, most in winter."""
    random = np.random.default_rng(7)
    times = np.sort(random.uniform(0, 500 * 86400, 90_000))
    hour, weekday = (ORIGIN + times) % 86400 / 3600, (ORIGIN + times) // 86400 % 7
    month = (ORIGIN + times).astype("datetime64[s]").astype("datetime64[M]").astype(int) % 12
    likely = np.where(np.abs(hour - 13) < 5, 1.0, 0.2) * np.where(weekday == 3, 0.3, 1.0)
    kept = times[random.random(len(times)) < likely * np.where(month < 3, 1.0, 0.5)][:20_000]
    run_time = np.ceil(random.lognormal(7, 1.5, len(kept)))
    table = {
        "submit_time": np.floor(kept),
        "run_time": run_time,
        "requested_time": np.ceil(run_time / 3600) * 3600,
        "tasks": random.choice([1, 2, 3, 4, 8, 16, 32], len(kept), p=[0.4, 0.2, 0.05, 0.15, 0.1, 0.06, 0.04]),
    }
    return bl.Workload.from_table(table, header=Header((f"; UnixStartTime: {ORIGIN}",)))


@pytest.fixture(scope="session")
def seth() -> bl.Workload:
    """Four years of the cluster Seth."""
    if not SETH.exists():
        pytest.skip(f"the log {SETH.name} is not here")
    return bl.read_swf(SETH)
