"""Dumps of Slurm's queue and nodes at instants of a stream."""

import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from batchlab.cli import main
from batchlab.errors import BridgeError
from batchlab.slurm.virtual.feed import Dump, check_instants
from support.virtual_clusters import configured, needs_compiler, needs_slurm, one_at_a_time


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Write two jobs that each take the whole machine for five minutes."""
    path = tmp_path / "two.csv"
    jobs = {"submit_time": [0, 10], "run_time": [300, 300], "requested_time": [600, 600], "tasks": [4, 4]}
    pl.DataFrame(jobs).write_csv(path)
    return path


def test_names_of_files() -> None:
    """The names have the instants; instants come once, in rising order."""
    assert [*Dump(600.0, 600.2, "a", "b").files] == ["squeue-600.json", "sinfo-600.json"]
    assert [*Dump(0.5, 0.6, "a", "b").files] == ["squeue-0.5.json", "sinfo-0.5.json"]
    assert check_instants([3.0, 1.0, 3.0]) == [1.0, 3.0]


@pytest.mark.parametrize("instants", [[-1.0], [float("inf")], [float("nan")]])
def test_no_instants(instants: Sequence[float]) -> None:
    """An instant is a number of seconds from the origin on."""
    with pytest.raises(BridgeError, match=r"dumps: .*; must be seconds from the stream's origin"):
        check_instants(instants)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--dump", "6,x", "--out", "out"], "'6,x'; must be seconds separated by commas"),
        (["--dump", "-6", "--out", "out"], "must be seconds from the stream's origin"),
        (["--dump", "6"], "writes files; pass --out too."),
        (["--dump", "6", "--out", "out", "--mode", "model"], "leave it out with --mode model."),
    ],
)
def test_wrong_usage(
    trace: Path, tmp_path: Path, options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is no list of instants, or cannot be written, is refused before anything is started."""
    command = ["vnodes", str(trace), "--conf", str(configured(tmp_path)), "--nodes", "4"]
    assert main([*command, *(str(tmp_path / each) if each == "out" else each for each in options)]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


@needs_slurm()
@needs_compiler
@pytest.mark.timeout(300)
def test_of_a_real_slurm(trace: Path, tmp_path: Path) -> None:
    """At each instant the files have the jobs and nodes as they are then."""
    conf, out = configured(tmp_path, "SchedulerType=sched/builtin\n"), tmp_path / "out"
    command = ["vnodes", str(trace), "--conf", str(conf), "--nodes", "4", "--clock", "auto", "--mode", "real"]
    with one_at_a_time():
        assert main([*command, "--dump", "120,450,900", "--out", str(out)]) == 0
    cluster = json.loads((out / "manifest.json").read_text())["slurm"]
    assert [dump["instant"] for dump in cluster["dumps"]] == [120.0, 450.0, 900.0]
    for dump in cluster["dumps"]:
        assert dump["instant"] <= dump["taken"] <= dump["instant"] + 20.0
        assert dump["files"] == [f"{name}-{dump['instant']:g}.json" for name in ("squeue", "sinfo")]
    states = []
    for instant in (120, 450, 900):
        jobs = json.loads((out / f"squeue-{instant}.json").read_text())["jobs"]
        nodes = json.loads((out / f"sinfo-{instant}.json").read_text())["nodes"]
        assert {node["name"] for node in nodes} == {"n1", "n2", "n3", "n4"}
        states.append(({job["name"]: job["job_state"] for job in jobs}, {node["state"] for node in nodes}))
        assert all(job["submit_time"] <= cluster["origin"] + instant for job in jobs)
    assert states[0] == ({"1": "RUNNING", "2": "PENDING"}, {"allocated"})
    assert states[1] == ({"1": "COMPLETED", "2": "RUNNING"}, {"allocated"})
    assert states[2] == ({"1": "COMPLETED", "2": "COMPLETED"}, {"idle"})
