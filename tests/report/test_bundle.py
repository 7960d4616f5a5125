"""Bundles of runs for reports of faults: no names in them, and the same schedule again."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.cli import main
from batchlab.core.outputs import atomic_write
from batchlab.errors import ResultError
from batchlab.report import read_bundle, write_bundle
from batchlab.result.archive import read_archive, write_members

if TYPE_CHECKING:
    from pathlib import Path


def centre(policy: str = "easy") -> bl.Result:
    """Simulate jobs of named people, whose accounts the machine has."""
    count = 60
    jobs = {
        "submit_time": [10.0 * row for row in range(count)],
        "run_time": [50.0 + 37 * row % 400 for row in range(count)],
        "requested_time": [600.0] * count,
        "tasks": [1 + 5 * row % 8 for row in range(count)],
        "user": [("alice", "bob", "carol")[row % 3] for row in range(count)],
        "account": [("physics", "chemistry")[row % 2] for row in range(count)],
        "job_name": [f"secret{row}" for row in range(count)],
    }
    accounts = (bl.Account("physics", shares=3), bl.Account("chemistry"))
    system = bl.System.homogeneous(nodes=2, resources={"core": 4}, accounts=accounts)
    return bl.simulate(bl.Workload.from_table(jobs), system, policy)


def test_a_bundle_repeats_the_schedule_and_has_no_names(tmp_path: Path) -> None:
    """Only accounts stay, as the shares of the machine are those of accounts by name."""
    result = centre()
    made = write_bundle(result, tmp_path / "fault.zip", note="job 7")
    bundle = read_bundle(tmp_path / "fault.zip")
    assert made.kept == bundle.kept == ("account",)
    assert bundle.note == "job 7"
    assert bundle.versions["batchlab"] == bl.__version__
    assert bundle.result.jobs["start_time"].equals(result.jobs["start_time"])
    assert bundle.result.jobs["nodes"].equals(result.jobs["nodes"])
    assert bundle.repeat().height == 0
    texts = str(read_archive(tmp_path / "fault.zip")["jobs"].to_dicts())
    assert "physics" in texts
    assert not [name for name in ("alice", "bob", "carol", "secret") if name in texts]


def test_another_schedule_is_found(tmp_path: Path) -> None:
    """A wrong start in the record is a row; another policy gives many."""
    write_bundle(centre(), tmp_path / "fault.zip")
    members = read_archive(tmp_path / "fault.zip")
    members["start_time"][7] += 1
    with atomic_write(tmp_path / "wrong.zip", "wb") as file:
        write_members(file, members)
    wrong = read_bundle(tmp_path / "wrong.zip")
    (row,) = wrong.repeat().rows(named=True)
    assert (row["job_id"], row["start_time"] - row["start_time_now"]) == (8, 1)
    assert wrong.repeat("fcfs").height > 10


def test_a_policy_of_a_python_file_must_be_passed(tmp_path: Path) -> None:
    """It is no part of a bundle."""
    own = tmp_path / "scheduler_of_a_bundle.py"
    own.write_text(
        "import batchlab as bl\n\n\nclass Mine(bl.Scheduler):\n    def schedule(self, view):\n"
        "        for job in view.queue:\n            if not view.start(job):\n                break\n"
    )
    result = replace(centre("fcfs"), policy=bl.Policy(scheduler=bl.ExternalScheduler()))
    write_bundle(result, tmp_path / "fault.zip")
    bundle = read_bundle(tmp_path / "fault.zip")
    with pytest.raises(ResultError, match=r"in Python, which a bundle does not contain\. Pass it"):
        bundle.repeat()
    assert bundle.repeat(f"{own}:Mine").height == 0


def test_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`make` repeats the run at once; `check` exits with 1 if the schedule is another one."""
    monkeypatch.chdir(tmp_path)
    centre().write("run")
    assert main(["bundle", "make", "run", "--out", "fault.zip", "--note", "job 7 is late"]) == 0
    made = capsys.readouterr().out
    assert "repeated      60 of 60 jobs have the same schedule" in made
    assert "names kept    account: the machine refers to them" in made
    assert main(["bundle", "check", "fault.zip"]) == 0
    assert "note          job 7 is late" in capsys.readouterr().out
    assert main(["bundle", "check", "fault.zip", "--policy", "fcfs"]) == 1
    answer = capsys.readouterr()
    assert re.search(r"job \d+: start_time [\d.]+, now [\d.]+\n", answer.out)
    assert "the repeated run has another schedule for" in answer.err
    assert main(["bundle", "check", "run/result.zip"]) == 2
    assert "is no bundle. Write one: batchlab bundle make" in capsys.readouterr().err
