"""A result on disk."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl
import pytest

import batchlab as bl
from batchlab.errors import ResultError
from batchlab.result.output import identify
from support.results import Job, make_result

if TYPE_CHECKING:
    from pathlib import Path

    from batchlab.result.result import Result

FILES = ["jobs.csv", "manifest.json", "metrics.json", "result.zip"]


def names(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


def test_the_directory_receives_four_files(three: Result, tmp_path: Path) -> None:
    """Made with its parents; nothing temporary is left."""
    assert three.write(tmp_path / "deep" / "out") == tmp_path / "deep" / "out"
    assert names(tmp_path / "deep" / "out") == FILES


def test_jobs_csv_has_the_columns_of_the_table(three: Result, tmp_path: Path) -> None:
    """Nodes as ranges, nulls as nothing, and the rest comes back as it was."""
    three.write(tmp_path)
    with (tmp_path / "jobs.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == three.jobs.columns
    assert [row["nodes"] for row in rows] == ["0-1", "0-3", "0", ""]
    assert [row["start_time"] for row in rows] == ["0.0", "100.0", "150.0", ""]
    back = pl.read_csv(tmp_path / "jobs.csv")
    assert back.drop("nodes", "state").equals(three.jobs.drop("nodes", "state"), null_equal=True)


def test_ranges_with_commas_are_quoted(tmp_path: Path) -> None:
    """Scattered nodes stay one field."""
    make_result([Job(0, 0, 1, nodes=((0, 1), (1, 1), (2, 1), (7, 1)))], nodes=8).write(tmp_path)
    assert pl.read_csv(tmp_path / "jobs.csv")["nodes"].to_list() == ["0-2,7"]


def test_columns_that_csv_cannot_hold_become_text(tmp_path: Path) -> None:
    """A workload may carry lists along."""
    make_result([Job(0, 0, 1, nodes=((0, 1),)), Job(0, state="rejected")], tags=[[1, 2], None]).write(
        tmp_path
    )
    assert pl.read_csv(tmp_path / "jobs.csv")["tags"].to_list() == ["[1, 2]", None]


def test_metrics_json_is_the_dictionary(three: Result, tmp_path: Path) -> None:
    """What `metrics` gives, and nothing that JSON does not know."""
    three.write(tmp_path)
    assert json.loads((tmp_path / "metrics.json").read_text()) == three.metrics()


def test_the_manifest_says_what_the_run_was_made_from(three: Result, tmp_path: Path) -> None:
    """Inputs with their hashes, versions, policy, seed, system and command."""
    trace = tmp_path / "trace.swf"
    trace.write_text("; a log\n")
    three.write(tmp_path / "out", inputs={"trace": trace}, command="batchlab run trace.swf")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    digest = hashlib.sha256(b"; a log\n").hexdigest()
    assert manifest["inputs"] == {"trace": {"path": str(trace), "bytes": 8, "sha256": digest}}
    assert manifest["command"] == "batchlab run trace.swf"
    assert (manifest["policy"], manifest["seed"]) == ("fcfs", 0)
    assert manifest["system"]["groups"] == [{"name": "nodes", "count": 4, "resources": {"core": 2}}]
    assert set(manifest["versions"]) == {"batchlab", "python", "numpy", "polars"}
    assert manifest["versions"]["polars"] == pl.__version__


def test_the_manifest_holds_the_hashes_of_the_other_files(three: Result, tmp_path: Path) -> None:
    """So a mixed set of files can be told."""
    three.write(tmp_path)
    for name, expected in json.loads((tmp_path / "manifest.json").read_text())["outputs"].items():
        content = (tmp_path / name).read_bytes()
        assert expected == {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def test_the_same_run_writes_the_same_bytes(three: Result, tmp_path: Path) -> None:
    """Nothing in the files depends on when or where they were written."""
    three.write(tmp_path / "a")
    three.write(tmp_path / "b")
    assert [(tmp_path / "a" / name).read_bytes() for name in FILES] == [
        (tmp_path / "b" / name).read_bytes() for name in FILES
    ]


def test_workloads_are_told_apart_by_what_bears_on_the_schedule(tmp_path: Path) -> None:
    """The hash of the jobs changes with a run time, and not with a column that only rides along."""

    def digest(result: Result) -> str:
        result.write(tmp_path)
        return str(json.loads((tmp_path / "manifest.json").read_text())["workload"]["sha256"])

    jobs = [Job(0, 0, 5, nodes=((0, 1),))]
    assert digest(make_result(jobs)) == digest(make_result(jobs, user_id=[3]))
    assert digest(make_result(jobs)) != digest(make_result([Job(0, 0, 6, nodes=((0, 1),))]))


def test_other_files_are_left_alone(three: Result, tmp_path: Path) -> None:
    """Only the three names are replaced."""
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "jobs.csv").write_text("old")
    three.write(tmp_path, overwrite=True)
    assert names(tmp_path) == sorted([*FILES, "notes.txt"])
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_what_a_killed_process_left_is_removed(three: Result, tmp_path: Path) -> None:
    """An hour later, by the next run that writes there; of other files none."""
    left = {".jobs.csv.0123456789abcdef.tmp": 0, ".metrics.json.0123456789abcdef.tmp": 0}
    others = {
        ".jobs.csv.fedcba9876543210.tmp": None,
        ".jobs.csv.mine.tmp": 0,
        ".notes.0123456789abcdef.tmp": 0,
    }
    for name, time in (left | others).items():
        (tmp_path / name).write_text("half")
        if time is not None:
            os.utime(tmp_path / name, (time, time))
    three.write(tmp_path)
    assert names(tmp_path) == sorted([*FILES, *others])


def test_a_directory_that_cannot_be_made_is_one_clear_error(three: Result, tmp_path: Path) -> None:
    """The message names the path and the way out."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultError, match=r"file.*The result was not written; choose another directory"):
        three.write(tmp_path / "file" / "out")


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = {path!r}
from support.results import Job, make_result
replace, calls = Path.replace, []
def killing(self, target):
    if len(calls) == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    calls.append(target)
    return replace(self, target)
Path.replace = killing
make_result([Job(0, 0, 9, nodes=((0, 1),))]).write(sys.argv[1])
"""


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
@pytest.mark.parametrize("renames", [0, 1, 2, 3])
def test_a_kill_leaves_old_or_new_files_and_a_mix_is_told(
    three: Result, tmp_path: Path, renames: int
) -> None:
    """Killed before the n-th rename, each file is wholly old or new; the manifest fits only a whole set."""
    three.write(tmp_path / "old")
    three.write(tmp_path / "out")
    make_result([Job(0, 0, 9, nodes=((0, 1),))]).write(tmp_path / "new")
    script = KILLED.format(path=sys.path)
    command = [sys.executable, "-c", script, str(tmp_path / "out"), str(renames)]
    done = subprocess.run(command, check=False)  # noqa: S603  # our own code
    assert done.returncode == -signal.SIGKILL
    fresh = [
        name
        for name in FILES
        if (tmp_path / "out" / name).read_bytes() != (tmp_path / "old" / name).read_bytes()
    ]
    assert set(fresh) == {*["result.zip", "jobs.csv", "metrics.json"][:renames]}
    assert all(
        (tmp_path / "out" / name).read_bytes() == (tmp_path / "new" / name).read_bytes() for name in fresh
    )
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    fits = [
        hashlib.sha256((tmp_path / "out" / name).read_bytes()).hexdigest() == expected["sha256"]
        for name, expected in manifest["outputs"].items()
    ]
    assert all(fits) == (renames == 0)


def test_resizes_and_the_platform(tmp_path: Path) -> None:
    """Runs with resizes, recorded tasks and looks at the platform write these tables too."""
    step = bl.tasks.Compute(flops=12e9, computation_pattern="all_ranks", name="step")
    one = bl.JobDescription(
        application=bl.Application([bl.Phase([step], iterations=4)]),
        job_type="malleable",
        tasks=2,
        tasks_min=1,
        tasks_max=4,
    )
    workload = bl.Workload.from_jobs([one, replace(one, submit_time=4)])
    system = bl.System.of(bl.Platform.crossbar(4, speed="1Gf", bandwidth="1GBps", latency=0))
    result = bl.simulate(workload, system, "malleable", task_times=True, sensing=bl.Sensing(3))
    result.write(tmp_path)
    more = ["allocations.csv", "task_times.csv", "utilisation_cpu.csv"]
    assert names(tmp_path) == sorted([*FILES, *more])
    lines = (tmp_path / "allocations.csv").read_text().splitlines()
    assert lines[:2] == ["job_id,row,start_time,end_time,nodes,allocated_core", "1,0,0.0,6.0,0-3,4"]
    assert (tmp_path / "task_times.csv").read_text().splitlines()[1] == "1,0,0,step,0.0,3.0"
    looks = (tmp_path / "utilisation_cpu.csv").read_text().splitlines()
    assert looks[:3] == ["time,node0,node1,node2,node3", "0.0,0.0,0.0,0.0,0.0", "3.0,1.0,1.0,1.0,1.0"]
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert sorted(manifest["outputs"]) == sorted(set(names(tmp_path)) - {"manifest.json"})
    for name, identity in manifest["outputs"].items():
        assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == identity["sha256"]
    assert manifest["system"]["platform"]["name"] == "cluster"


def test_jobs_as_parquet_too(three: Result, tmp_path: Path) -> None:
    """With their types, and lists of nodes."""
    three.write(tmp_path, parquet=True)
    assert names(tmp_path) == sorted([*FILES, "jobs.parquet"])
    assert pl.read_parquet(tmp_path / "jobs.parquet").equals(three.jobs)
    assert "jobs.parquet" in json.loads((tmp_path / "manifest.json").read_text())["outputs"]


def test_a_manifest_knows_limits() -> None:
    """Limits that are not the requested times bear on the schedule; a column that repeats these does not."""
    table = {"submit_time": [0], "run_time": [5], "requested_time": [9], "tasks": [1]}
    plain, same, other = (
        identify(bl.Workload.from_table(table | more))["sha256"]
        for more in ({}, {"time_limit": [9]}, {"time_limit": [4]})
    )
    assert plain == same
    assert plain != other
