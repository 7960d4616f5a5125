"""Small results that the tests of the report share."""

import pytest

import batchlab as bl
from batchlab.generate import demo_system, demo_workload


@pytest.fixture(scope="session")
def results() -> list[bl.Result]:
    """Three policies on the same 120 jobs."""
    workload, system = demo_workload(120, seed=3), demo_system()
    return [bl.simulate(workload, system, policy) for policy in ("fcfs", "easy", "easy(order=sjf)")]
