"""Workloads of Batsim: durations, parallel tasks, and what batchlab has nothing like."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.bridge.batsim import read_workload
from batchlab.cli import main
from batchlab.errors import BridgeError

if TYPE_CHECKING:
    from pathlib import Path

DELAYS = {"short": {"type": "delay", "delay": 20}, "long": {"type": "delay", "delay": 50.5}}
# Each host computes 1 GFLOP in a second, and sends and receives 1 GB in one.
PLATFORM = bl.Platform.crossbar(4, speed="1Gf", bandwidth="1GBps", latency="0s")


def write(folder: Path, *jobs: dict[str, object], **profiles: object) -> Path:
    """Write a workload of four hosts; jobs are submitted at 0 and have two of them by default."""
    path = folder / "workload.json"
    filled = [{"id": number, "subtime": 0, "res": 2, **job} for number, job in enumerate(jobs)]
    path.write_text(json.dumps({"nb_res": 4, "jobs": filled, "profiles": profiles}))
    return path


def duration(folder: Path, name: str, **profiles: object) -> float:
    """Run one job of a profile on two hosts."""
    workload = read_workload(write(folder, {"profile": name}, **profiles))
    return float(bl.simulate(workload, bl.System.of(PLATFORM), "fcfs").jobs["end_time"][0])


def test_delays_are_run_times(tmp_path: Path) -> None:
    """Jobs come in the order of submission, named by Batsim's ids; the run time stands for a walltime."""
    jobs: list[dict[str, object]] = [
        {"id": "w0!b", "subtime": 5, "profile": "long", "walltime": 60},
        {"id": 7, "profile": "short", "res": 4},
        {"subtime": 9, "profile": "short", "walltime": -1},
    ]
    workload = read_workload(write(tmp_path, *jobs, **DELAYS))
    columns = ["job_id", "name", "submit_time", "run_time", "requested_time", "tasks"]
    assert workload.jobs.select(columns).rows() == [
        (0, "7", 0.0, 20.0, 20.0, 4),
        (1, "w0!b", 5.0, 50.5, 60.0, 2),
        (2, "2", 9.0, 20.0, 20.0, 2),
    ]
    assert workload.header.max_nodes == 4
    assert not workload.applications


def test_jobs_have_whole_hosts(tmp_path: Path) -> None:
    """Two resources are two hosts, whatever cores they have."""
    workload = read_workload(write(tmp_path, {"profile": "short"}, {"profile": "short"}, **DELAYS))
    result = bl.simulate(workload, bl.System.homogeneous(nodes=3, resources={"core": 8}), "fcfs")
    assert result.jobs["start_time"].to_list() == [0.0, 20.0]


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [
        ({"type": "parallel", "cpu": [1e9, 3e9], "com": [0, 0, 0, 0]}, 3),
        ({"type": "ptask", "cpu": [1e9, 3e9], "com": [0, 2e9, 7e9, 0]}, 7),
        ({"type": "parallel_homogeneous", "cpu": 4e9, "com": 0}, 4),
        ({"type": "parallel_homogeneous", "cpu": 4e9, "com": 5e9}, 5),
        ({"type": "ptask_homogeneous", "cpu": 4e9, "com": 5e9}, 5),
        ({"type": "parallel_homogeneous_total", "cpu": 4e9, "com": 6e9}, 3),
        (
            {
                "type": "ptask_homogeneous",
                "cpu": 4e9,
                "com": 3e9,
                "generation_strategy": "defined_amount_spread_uniformly",
            },
            2,
        ),
    ],
)
def test_parallel_tasks(fields: dict[str, object], seconds: float, tmp_path: Path) -> None:
    """What takes longest, computing or sending, says how long a parallel task is."""
    assert duration(tmp_path, "task", task=fields) == pytest.approx(seconds)


def test_compositions(tmp_path: Path) -> None:
    """Parts follow each other, as often as is said; durations alone make a run time."""
    task = {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0}
    inner = {"type": "composed", "repeat": 2, "seq": ["short", "task"]}
    outer = {"type": "sequential_composition", "seq": ["inner", "task"]}
    assert duration(tmp_path, "outer", task=task, inner=inner, outer=outer, **DELAYS) == pytest.approx(43)
    twice = {"type": "composed", "repeat": 2, "seq": ["short", "long"]}
    workload = read_workload(write(tmp_path, {"profile": "twice"}, twice=twice, **DELAYS))
    assert workload.jobs["run_time"].to_list() == [141.0]


@pytest.mark.parametrize(
    ("job", "profile", "message"),
    [
        ({"res": 0}, {}, r"jobs\[0\]\.res = 0; must be a whole number from 1 to"),
        ({"subtime": "soon"}, {}, r"jobs\[0\]\.subtime = 'soon'; must be a number of seconds"),
        ({"profile": "sort"}, {}, r"jobs\[0\]\.profile = 'sort'; no such profile. Did you mean 'short'"),
        ({"id": None}, {}, r"jobs\[0\]\.id = None; must be text"),
        ({}, {"type": "smpi", "trace": "x"}, r"profiles\.short\.type = 'smpi'; .*a trace of its own"),
        ({}, {"type": "data_staging"}, r"'data_staging'; .*on storage hosts.* Leave out its jobs"),
        ({}, {"type": "dely"}, r"'dely'; must be a type of profile. Did you mean 'delay'"),
        ({}, {"type": "delay"}, r"profiles\.short\.delay is missing; add it"),
        ({}, {"type": "parallel", "cpu": [1, 2], "com": [0]}, r"com has 1 numbers; cpu has 2, and"),
        ({}, {"type": "parallel", "cpu": [1, -2], "com": []}, r"cpu = -2; must be a finite number >= 0"),
        ({}, {"type": "composed", "seq": ["short"]}, r"seq\[0\] = 'short'; .*not hold themselves"),
        ({}, {"type": "composed", "seq": []}, r"short\.seq = \[\]; must be a list of names"),
    ],
)
def test_refusals(job: dict[str, object], profile: dict[str, object], message: str, tmp_path: Path) -> None:
    """Errors name the file, the job or the profile, and the key."""
    path = write(tmp_path, {"profile": "short", **job}, short=profile or DELAYS["short"])
    with pytest.raises(BridgeError, match=f"workload.json: .*{message}"):
        read_workload(path)


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A workload of delays runs on as many hosts as it names, one of parallel tasks on a platform alone."""
    path = write(tmp_path, {"profile": "short"}, {"profile": "short"}, {"profile": "short"}, **DELAYS)
    assert main(["run", str(path)]) == 0
    assert "3 completed" in capsys.readouterr().out
    assert main(["run", str(path), "--applications", str(tmp_path)]) == 2
    assert "is a workload of Batsim, which has its profiles in it" in capsys.readouterr().err
    path = write(tmp_path, {"profile": "task"}, task={"type": "parallel_homogeneous", "cpu": 1e9, "com": 0})
    assert main(["run", str(path)]) == 2
    assert "jobs with applications run on one" in capsys.readouterr().err
