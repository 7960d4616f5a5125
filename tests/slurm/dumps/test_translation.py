"""From dumps of a live Slurm to jobs, machine and policy."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import batchlab as bl
from batchlab.errors import DumpError
from batchlab.slurm import LiveJob, LiveState, LiveTranslation, read_configuration, read_dump, translate_dump
from batchlab.slurm.configuration.values import YEAR
from batchlab.slurm.dumps.rows import holding_of, request_of, shares_of
from support.live_dumps import FOLDER, NOW, jobs_of

if TYPE_CHECKING:
    from pathlib import Path

    from batchlab.slurm import SlurmConfiguration


@pytest.fixture(scope="module")
def configuration() -> SlurmConfiguration:
    """Read the configuration of the recorded cluster."""
    return read_configuration(FOLDER / "slurm.conf")


@pytest.fixture(scope="module")
def state() -> LiveState:
    """Read the recorded dumps, jobs as text: it has planned nodes and unlimited time limits."""
    return read_dump(
        FOLDER / "job.txt",
        now=NOW,
        nodes=FOLDER / "node.txt",
        reservations=FOLDER / "res.txt",
        priorities=FOLDER / "sprio.txt",
    )


@pytest.fixture(scope="module")
def made(state: LiveState, configuration: SlurmConfiguration) -> LiveTranslation:
    """Translate the recorded state."""
    return translate_dump(state, configuration)


def job(**fields: object) -> LiveJob:
    """Return a job of 8 CPUs that waits, with some fields changed."""
    known = {"job_id": 7, "phase": "pending", "slurm_state": "PENDING", "submit_time": NOW - 60, "cpus": 8}
    return LiveJob(**{**known, **fields})  # type: ignore[arg-type]


def with_jobs(*jobs: LiveJob) -> LiveState:
    """Return a state with these jobs and no other dump."""
    return LiveState(now=NOW, jobs=jobs, files=("jobs.json",))


def column(made: LiveTranslation, name: str) -> dict[str, object]:
    """Return a column of the workload by Slurm's numbers."""
    jobs = made.workload.jobs
    return dict(zip(jobs["slurm_id"], jobs[name], strict=True))


def test_jobs(made: LiveTranslation, state: LiveState) -> None:
    """Every job and task of an array is a row; numbers are unique; times have one origin."""
    jobs = made.workload.jobs
    assert jobs.height == sum(each.count for each in state.jobs if each.phase != "ended")
    assert jobs["job_id"].n_unique() == jobs.height
    assert jobs["submit_time"].is_sorted()
    assert made.origin % 60 == 0
    assert made.now + made.origin == NOW
    numbers = {each.name: each.job_id for each in state.jobs}
    partitions, limits = column(made, "partition"), column(made, "time_limit")
    assert partitions[str(numbers["both"])] == "batch,fat"
    assert limits[str(numbers["whole"])] == math.inf
    assert column(made, "requested_time")[str(numbers["whole"])] == YEAR
    many = [name for name in partitions if name.startswith(f"{numbers['many']}_")]
    assert len(many) == 99
    assert {column(made, "array_limit")[name] for name in many} == {5}
    assert column(made, "constraint")[str(numbers["fat"])] == "fat"
    assert made.workload.jobs.filter(job_name="begin")["begin_time"].to_list() == [made.now + 3588]
    assert column(made, "dependency")[str(numbers["after"])] == f"afterok:{numbers['wide']}"
    assert column(made, "priority")[str(numbers["both"])] == 5561
    assert [column(made, "slurm_id")[name] for name in partitions if "+" in name] != []


def test_running(made: LiveTranslation, state: LiveState) -> None:
    """Jobs that run have rows, starts in the past, numbers of nodes and the CPUs on each."""
    running = made.running
    assert running.height == len(state.holding)
    jobs = made.workload.jobs
    assert running["job_id"].to_list() == jobs["job_id"][running["row"].to_list()].to_list()
    assert (running["start_time"] <= made.now).all()
    free = np.array([4] * 4 + [8] * 4)
    for row, nodes, tasks in running.select("row", "nodes", "node_tasks").rows():
        assert sum(tasks) == jobs["tasks"][row]
        np.subtract.at(free, nodes, np.array(tasks) * jobs["core"][row])
    assert free.tolist() == [0, 1, 4, 4, 0, 0, 0, 1]


def test_machine(made: LiveTranslation) -> None:
    """Nodes that take no job are out of service, and reservations are those of the dump."""
    assert made.system.down == "0,3"
    (maintenance,) = made.system.reservations
    assert (maintenance.name, maintenance.nodes, maintenance.duration) == ("maint", "1-2", 7200)
    assert maintenance.start > made.now
    assert made.policy.backfill.startswith("slurm")


def test_held(made: LiveTranslation) -> None:
    """Jobs that are held are rows apart."""
    jobs = made.workload.jobs[made.held.tolist()]
    assert jobs["job_name"].to_list() == ["held"]


def test_remarks(made: LiveTranslation) -> None:
    """What is not honoured is said, with the number of jobs and their numbers."""
    assert "no time limit: 31,536,000 s taken as the estimate (1: 2)" in made.remarks
    assert any(each.startswith("components of a heterogeneous job") for each in made.remarks)
    assert any(each.startswith("CPUs on each node are not in the dump") for each in made.remarks)


def test_it_runs(made: LiveTranslation) -> None:
    """Jobs, machine and policy make a run."""
    short = made.workload.filter(pl.col("requested_time") < YEAR)
    result = bl.simulate(short, made.system, "easy")
    assert result.jobs["state"].value_counts().height >= 1


def test_order_of_the_dump(state: LiveState, configuration: SlurmConfiguration) -> None:
    """Slurm's priorities as they are can be the order."""
    made = translate_dump(state, configuration, order="dump")
    assert made.policy.order == 'expression("-priority")'


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, (8, 1, 0)),
        ({"tasks": 4, "cpus_per_task": 2}, (4, 2, 0)),
        ({"tasks": 3}, (8, 1, 0)),
        ({"tasks": 8, "tasks_per_node": 2}, (8, 1, 2)),
        ({"tasks": 8, "nodes_least": 3, "nodes_most": 3}, (8, 1, 3)),
        ({"nodes_least": 2, "exclusive": True}, (2, 4, 1)),
        ({"nodes_least": 2, "gres_per_node": {"gpu": 4}}, (2, 4, 1)),
        ({"tasks": 2, "gres_per_task": {"gpu": 1}}, (2, 4, 0)),
        ({"gres_per_job": {"gpu": 6}}, (2, 4, 0)),
    ],
)
def test_requests(fields: dict[str, object], expected: tuple[int, int, int]) -> None:
    """Tasks, CPUs of each, and most tasks on a node."""
    request = request_of(job(**fields))
    assert (request.tasks, request.core, request.tasks_per_node) == expected
    assert request.tasks * request.core >= 8


@pytest.mark.parametrize(
    ("shares", "fields", "expected"),
    [
        ((4, 4), {}, (2, 4, (1, 1))),
        ((5, 3), {}, (8, 1, (5, 3))),
        ((6, 2), {}, (4, 2, (3, 1))),
        ((5, 3), {"gres_per_node": {"gpu": 2}}, (2, 3, (1, 1))),
    ],
)
def test_holdings(
    shares: tuple[int, ...], fields: dict[str, object], expected: tuple[int, int, tuple[int, ...]]
) -> None:
    """Tasks and CPUs of each, and the tasks on each node, of a job that runs."""
    request, on_nodes = holding_of(job(nodes=("a", "b"), **fields), shares)
    assert (request.tasks, request.core, on_nodes) == expected


def test_held_amounts() -> None:
    """On no node does a job hold more than it has there."""
    request, on_nodes = holding_of(job(nodes=("a", "b"), memory_per_node=1000), (5, 3))
    assert (request.memory or 0) * max(on_nodes) <= 1000 * 1024
    assert holding_of(job(nodes=("a",), gres_per_job={"gpu": 1}), (8,))[0].resources == {"gpu": 1}


def test_amounts() -> None:
    """Memory is in kB of each task; generic resources are of each task."""
    assert request_of(job(tasks=4, cpus_per_task=2, memory_per_cpu=100)).memory == 200 * 1024
    by_node = job(nodes_least=2, exclusive=True, memory_per_node=900, gres_per_node={"gpu": 2})
    assert request_of(by_node).memory == 900 * 1024
    assert request_of(by_node).resources == {"gpu": 2}
    assert request_of(job(memory_per_node=900)).memory == 113 * 1024
    assert request_of(job(gres_per_job={"gpu": 6})).resources == {"gpu": 3}


def test_shares() -> None:
    """CPUs on nodes are those of the dump; else equal, or what fits on what other jobs leave."""
    three = job(phase="running", nodes=("a", "b", "c"))
    assert shares_of([three], {"a": 8, "b": 8, "c": 8}) == {7: (3, 3, 2)}
    assert shares_of([three], {"a": 2, "b": 8, "c": 3}) == {7: (2, 3, 3)}
    assert shares_of([three], {"a": 1, "b": 6, "c": 1}) == {7: (1, 6, 1)}
    assert shares_of([three], {}) == {7: (3, 3, 2)}
    other = job(job_id=8, cpus=3, phase="running", nodes=("b", "c"), cpus_on_nodes=(2, 1))
    assert shares_of([three, other], {"a": 4, "b": 4, "c": 4}) == {8: (2, 1), 7: (3, 2, 3)}


@pytest.mark.parametrize(
    ("fields", "remark"),
    [
        ({"is_dependency_failed": True}, "dependencies that can never be fulfilled"),
        ({"reservation": "gone"}, "the reservation that jobs name is not in a dump"),
        ({"phase": "held"}, ""),
    ],
)
def test_what_is_held(configuration: SlurmConfiguration, fields: dict[str, object], remark: str) -> None:
    """A job that cannot start by what the dump says is held, with a remark."""
    made = translate_dump(with_jobs(job(partitions=("batch",), **fields)), configuration)
    assert made.held.tolist() == [0]
    assert any(each.startswith(remark) for each in made.remarks)


@pytest.mark.parametrize(
    ("fields", "remark"),
    [
        ({"dependency": "afterburstbuffer:3"}, "dependencies but after"),
        ({"dependency": "afterok:3"}, "dependencies on jobs that are not in the dump are left out"),
        ({"constraint": "[a|b]"}, "features that are not requested"),
        ({"gres_per_node": {"fpga": 1}}, "generic resources that the nodes"),
        ({"licenses": "matlab:1"}, "licenses are not modelled"),
        ({"required_nodes": ("n1",)}, "nodes requested or excluded by name"),
    ],
)
def test_what_is_left_out(configuration: SlurmConfiguration, fields: dict[str, object], remark: str) -> None:
    """What cannot be honoured is left out, with a remark; the job waits."""
    made = translate_dump(with_jobs(job(partitions=("batch",), **fields)), configuration)
    assert made.held.tolist() == []
    assert any(remark in each and "7" in each for each in made.remarks)


def test_limits(configuration: SlurmConfiguration) -> None:
    """A job without a limit has that of its partition; one beyond its limit has run until now."""
    jobs = (
        job(partitions=("fat",)),
        job(job_id=8, partitions=("batch",)),
        job(
            job_id=9,
            partitions=("fat",),
            phase="running",
            slurm_state="RUNNING",
            start_time=NOW - 900.0,
            nodes=("n5",),
            time_limit=600.0,
        ),
    )
    made = translate_dump(with_jobs(*jobs), configuration)
    assert column(made, "time_limit") == {"7": 2 * 86_400, "8": math.inf, "9": 900}
    assert column(made, "run_time")["9"] == 900


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"partitions": ("bach",)},
            "job 7: partition = 'bach'; slurm.conf has no such partition. Did you mean 'batch'",
        ),
        (
            {"phase": "running", "nodes": ("n99",), "start_time": NOW},
            "job 7: nodes = 'n99'; slurm.conf has no such",
        ),
        ({"phase": "running", "start_time": NOW}, "job 7 is PENDING and has no nodes"),
        ({"phase": "running", "nodes": ("n1",)}, "job 7 is PENDING and has no start time"),
        (
            {"phase": "running", "nodes": ("n1",), "start_time": NOW},
            "jobs hold 8 CPUs of n1; it has 4 in slurm.conf",
        ),
    ],
)
def test_refused(configuration: SlurmConfiguration, fields: dict[str, object], message: str) -> None:
    """What the configuration does not have is refused."""
    with pytest.raises(DumpError, match=message):
        translate_dump(with_jobs(job(**fields)), configuration)


def test_incomplete(configuration: SlurmConfiguration, tmp_path: Path) -> None:
    """A dump with busy CPUs that no job holds is refused; or the nodes are out of service."""
    document = jobs_of("22.05")
    document["jobs"] = [each for each in document["jobs"] if each["name"] != "wide"]
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps(document))
    state = read_dump(path, now=NOW, nodes=FOLDER / "sinfo.json")
    with pytest.raises(DumpError, match=r"16 CPUs are busy on 2 nodes \(n5, n6\), and no job of the dump"):
        translate_dump(state, configuration)
    made = translate_dump(state, configuration, incomplete="keep")
    assert "nodes with CPUs that no job of the dump holds are out of service (2: n5, n6)" in made.remarks
    assert made.system.down == "0,3-5"
    with pytest.raises(DumpError, match="incomplete = 'no'; must be one of raise, keep"):
        translate_dump(state, configuration, incomplete="no")  # type: ignore[arg-type]


def test_without_a_dump_of_reservations(state: LiveState, configuration: SlurmConfiguration) -> None:
    """Nodes in maintenance are out of service if the reservation is unknown."""
    nodes = tuple(
        replace(node, states=(*node.states, "MAINTENANCE")) if node.name == "n3" else node
        for node in state.nodes or ()
    )
    made = translate_dump(replace(state, nodes=nodes, reservations=None), configuration)
    assert made.system.down == "0,2-3"
