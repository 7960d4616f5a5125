"""AccaSim 1.1 on the log of Seth (202,871 jobs, 120 nodes × 4 cores, two cores per processor), first fit."""

import pytest

import batchlab as bl
from support.oracles import compared, differing, find, mean_wait, starts


@pytest.fixture(scope="module")
def workload() -> bl.Workload:
    """AccaSim takes times as logged."""
    return bl.read_swf(find("data/HPC2N-2002-2.2-cln.swf.gz"), overrun="keep")


@pytest.fixture(scope="module")
def system() -> bl.System:
    """AccaSim's own description."""
    return bl.read_system(find("oracles/accasim/seth.json"))


@pytest.mark.parametrize(("name", "policy"), [("fifo", "fcfs"), ("sjf", "sjf")])
def test_blocking_orders(workload: bl.Workload, system: bl.System, name: str, policy: str) -> None:
    """FIFO and SJF start every job when AccaSim does."""
    result = bl.simulate(workload, system, policy)
    table = compared(result, starts(f"accasim/seth-{name}"))
    assert table.height == 202_871
    assert differing(table) == 0


def test_easy(workload: bl.Workload, system: bl.System) -> None:
    """AccaSim's EBF is another rule (docs/differences.md): so many jobs start at another time."""
    result = bl.simulate(workload, system, "easy")
    table = compared(result, starts("accasim/seth-easy"))
    assert differing(table) == 63_302
    assert mean_wait(table) == 10_930.95
    assert mean_wait(table, "oracle_start") == 9_504.36


def test_accasims_own_easy(workload: bl.Workload, system: bl.System) -> None:
    """The variant of it starts every job when AccaSim does."""
    result = bl.simulate(workload, system, "easy_accasim")
    table = compared(result, starts("accasim/seth-easy"))
    assert table.height == 202_871
    assert differing(table) == 0
