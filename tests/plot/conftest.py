"""Results that the tests of plots share."""

import pytest

import batchlab as bl
from support.plotted_results import simulated


@pytest.fixture(scope="session")
def several() -> list[bl.Result]:
    """Three policies on the same 150 jobs."""
    return [simulated("fcfs"), simulated("easy", scale=2), simulated("easy(order=sjf)", scale=3)]


@pytest.fixture(scope="session")
def replicated() -> dict[str, list[bl.Result]]:
    """Two policies with three replications each."""
    return {
        policy: [simulated(policy, scale=scale + number / 10) for number in range(3)]
        for scale, policy in ((1, "fcfs"), (2, "easy"))
    }
