"""ElastiSim's output files."""

from pathlib import Path

import polars as pl
import pytest

from batchlab.bridge.elastisim import runner
from batchlab.bridge.elastisim.jobs import COMPLETED, Ledger, Reply
from support.elastisim_projects import job_of


@pytest.fixture
def ledger() -> Ledger:
    """One job that is over, and one that waits."""
    books = Ledger([(0, 0)] * 2, oversubscription=False)
    books.submit(job_of("malleable", (1, 2)))
    books.submit(job_of("rigid", (2, 2)))
    books.start(books.take(Reply(0, (1, 0))), 1234567.0)
    books.end(books.jobs[0], 1234567.25, COMPLETED)
    return books


def test_job_statistics(ledger: Ledger) -> None:
    """Six digits, as ElastiSim writes them; what never came is -1."""
    assert list(runner.job_statistics(ledger.jobs)) == [
        "ID,Type,Submit Time,Start Time,End Time,Wait Time,Makespan,Turnaround Time,Status",
        "0,malleable,0,1.23457e+06,1.23457e+06,1.23457e+06,0.25,1.23457e+06,completed",
        "1,rigid,0,-1,-1,-1,-1,-1,pending",
    ]


def test_node_utilization(ledger: Ledger) -> None:
    """A row at the beginning, and one for each change."""
    assert list(runner.node_utilization(ledger.uses, ["a", "b"])) == [
        "Time,Node,State,Running jobs,Expected jobs",
        "0,a,free,none,none",
        "0,b,free,none,none",
        "1.23457e+06,b,allocated,0,none",
        "1.23457e+06,a,allocated,0,none",
        "1.23457e+06,b,free,none,none",
        "1.23457e+06,a,free,none,none",
    ]


def test_tables_of_times() -> None:
    """Tasks, and what is in use at each glance."""
    assert list(runner.task_times([(12.5, 3, "n1", "fft", 0.1)])) == [
        "Time,Job,Node,Task,Duration",
        "12.5,3,n1,fft,0.1",
    ]
    table = pl.DataFrame({"a": [0.0, 0.0, 0.5], "b": [1.0, 1.0, 1 / 3]})
    assert list(runner.shares([0.0, 1.0, 2.0], table)) == [
        "Time,a,b",
        "0,0.000000,1.000000",
        "1,0.000000,1.000000",
        "2,0.500000,0.333333",
    ]
    assert list(runner.shares([], table.clear())) == ["Time,a,b"]
    assert list(runner.network_activity([1.0], [1 / 3])) == ["Time,Utilization", "1,0.333333"]
    assert list(runner.pfs_utilization([1.0], [(2e9, 0.0)], (8e9, 0.0))) == [
        "Time,Read,Write,Read (rel.),Write (rel.)",
        "1,2e+09,0,0.25,0",
    ]


def test_folders_are_made(tmp_path: Path) -> None:
    """ElastiSim writes nothing where the folder is missing; here it is an error."""
    runner.write_lines(tmp_path / "output/a.csv", ["x", "y"])
    assert (tmp_path / "output/a.csv").read_text() == "x\ny\n"
