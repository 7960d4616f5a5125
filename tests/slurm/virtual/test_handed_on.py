"""What jobs ask for, as options of sbatch; and what Slurm is not told."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import batchlab as bl
from batchlab.bridge import slurm
from batchlab.slurm.virtual.layout import prepare
from support.virtual_clusters import configured

MACHINE = """
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
GresTypes=gpu,license
NodeName=n[1-2] CPUs=8 RealMemory=8000 Gres=gpu:a100:4,license:10 Features=fast
NodeName=n3 CPUs=16 RealMemory=64000
PartitionName=day Nodes=ALL Default=YES
PartitionName=night Nodes=n[1-2]
"""
MIB = 1024


def handed(folder: Path, jobs: Mapping[str, Any], text: str = MACHINE) -> tuple[list[list[str]], str]:
    """Return the options of each job, and the note on what Slurm is not told."""
    count = len(next(iter(jobs.values())))
    first = {"submit_time": [0] * count, "run_time": [60] * count, "tasks": [1] * count}
    resources = [name for name in ("core", "fpga") if name in jobs]
    workload = bl.Workload.from_table(first | dict(jobs), resources=resources)
    folder.mkdir(exist_ok=True)
    configuration = slurm.read_configuration(configured(folder, text))
    found = slurm.submissions(workload, configuration)
    notes = slurm.notes_of(workload, configuration, found)
    said = [note for note in notes if note.startswith("not handed on")]
    return [[*job.options] for job in found], said[0] if said else ""


def test_memory(tmp_path: Path) -> None:
    """Memory is by CPU; by node for jobs that take nodes whole, and where it is no whole number by CPU."""
    jobs = {
        "tasks": [2, 4, 4, 4, 1, 2],
        "core": [1, 2, 1, 1, 3, 1],
        "mem": [3 * MIB, 3 * MIB, 3000 * MIB, 30_000 * MIB, 10 * MIB, 0],
        "tasks_per_node": [0, 0, 2, 0, 0, 0],
        "exclusive": [False, False, True, True, False, False],
    }
    options, note = handed(tmp_path, jobs)
    assert options == [
        ["--mem-per-cpu=3M"],
        # 1.5 MiB by CPU, and two tasks may be on a node.
        ["--mem-per-cpu=2M"],
        ["--ntasks-per-node=2", "--exclusive", "--mem=6000M"],
        # Of 16 CPUs of the largest node memory has room for two tasks.
        ["--exclusive", "--mem=60000M", "--ntasks-per-node=2"],
        ["--mem=10M"],
        [],
    ]
    assert not note


def test_memory_of_whole_nodes(tmp_path: Path) -> None:
    """Under select/linear all jobs take nodes whole."""
    text = "SelectType=select/linear\nNodeName=n[1-2] CPUs=8 RealMemory=8000\n"
    options, _ = handed(tmp_path, {"tasks": [12], "core": [1], "mem": [1000 * MIB]}, text)
    assert options == [["--mem=8000M"]]


def test_no_memory(tmp_path: Path) -> None:
    """A note says that nodes have no memory, or that Slurm gives jobs without a request all of it."""
    _, note = handed(tmp_path, {"mem": [5, 0]}, "NodeName=n1 CPUs=1\n")
    assert note == "not handed on to Slurm: mem of 1 job (no node has RealMemory)"
    _, note = handed(tmp_path / "all", {"mem": [1024, 0]}, "NodeName=n1 CPUs=1 RealMemory=10\n")
    assert not note
    text = "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU_Memory\nNodeName=n1 RealMemory=10\n"
    _, note = handed(tmp_path / "some", {"mem": [1024, 0]}, text)
    assert note.endswith("mem of 1 job (they ask for none: Slurm gives them all memory of their nodes)")


def test_memory_by_default(tmp_path: Path) -> None:
    """The model gives jobs that ask for no memory DefMemPerCPU, as Slurm does."""
    jobs = {"submit_time": [0, 0], "run_time": [1, 1], "tasks": [1, 1], "core": [2, 2], "mem": [0, MIB]}
    configuration = slurm.read_configuration(configured(tmp_path, MACHINE))
    found = slurm.submissions(bl.Workload.from_table(jobs, resources=["core"]), configuration)
    assert slurm.planned_stream(found)["mem"].to_list() == [200 * MIB, MIB]


def test_devices(tmp_path: Path) -> None:
    """Devices are asked for by node where each has as many tasks, GPUs else by task; the rest is named."""
    jobs = {
        "tasks": [1, 4, 5, 4, 1],
        "tasks_per_node": [0, 2, 2, 0, 0],
        "gpu": [2, 1, 1, 0, 0],
        "license": [0, 0, 0, 2, 0],
        "fpga": [0, 0, 0, 0, 1],
    }
    options, note = handed(tmp_path, jobs)
    assert [each[-1:] for each in options] == [
        ["--gres=gpu:2"],
        ["--gres=gpu:2"],
        ["--gpus-per-task=1"],
        [],
        [],
    ]
    assert "license of 1 job (sbatch counts it by node, and" in note
    assert "fpga of 1 job (no node has it)" in note


def test_owners_and_partitions(tmp_path: Path) -> None:
    """Accounts need accounts, and partitions those of the cluster: what is not there is named."""
    jobs = {
        "account": ["a", None],
        "qos": ["high", ""],
        "user": ["ann", "bob"],
        "nice": [100, 0],
        "requeue": [False, None],
        "partition": ["night,other", "day"],
        "node_group": ["x", None],
    }
    options, note = handed(tmp_path, jobs)
    assert options == [["--nice=100", "--no-requeue"], []]
    for text in (
        "account of 1 job (the configuration needs no accounts)",
        "qos of 1 job (",
        "partition of 1 job (the cluster has no other)",
        "node_group of 1 job (",
    ):
        assert text in note
    text = f"AccountingStorageEnforce=associations\n{MACHINE}"
    options, note = handed(tmp_path / "with", jobs, text)
    assert options == [["--account=a", "--qos=high", "--nice=100", "--no-requeue"], []]
    assert "user of 2 jobs (the user who runs the cluster submits all jobs)" in note


def test_time_limits(tmp_path: Path) -> None:
    """Limits are those that jobs asked for: also where they ran longer; a job without one asks for none."""
    jobs = {"submit_time": [0, 1, 2], "run_time": [90, 90, 90], "tasks": [1, 1, 1]}
    workload = bl.Workload.from_table(jobs | {"requested_time": [60, 600, float("inf")]})
    assert workload.jobs["requested_time"].to_list() == [90.0, 600.0, float("inf")]
    configuration = slurm.read_configuration(configured(tmp_path, MACHINE))
    found = slurm.submissions(workload, configuration)
    assert [job.limit for job in found] == [1, 10, None]
    notes = slurm.notes_of(workload, configuration, found)
    assert "jobs that run longer than their time limit, at which Slurm kills them: 1" in notes
    stream = slurm.planned_stream(found)
    assert stream["requested_time"].to_list() == [60.0, 600.0, float("inf")]
    run = slurm.run_model(stream, configuration.nodes, configuration, "fcfs", walltime="kill")
    assert run.jobs["state"].to_list() == ["killed", "completed", "completed"]


def test_the_model_is_told(tmp_path: Path) -> None:
    """Memory, devices and whole nodes count in the model as well."""
    jobs = {
        "submit_time": [0, 0, 0, 0],
        "run_time": [10, 10, 10, 10],
        "tasks": [1, 1, 1, 1],
        "core": [1, 1, 1, 1],
        "mem": [5000 * MIB, 5000 * MIB, 5000 * MIB, 1],
        "gpu": [1, 1, 0, 0],
        "exclusive": [False, False, False, True],
        "partition": ["night"] * 4,
    }
    configuration = slurm.read_configuration(configured(tmp_path, MACHINE))
    found = slurm.submissions(bl.Workload.from_table(jobs), configuration)
    stream = slurm.planned_stream(found)
    assert stream["mem"].to_list() == jobs["mem"]
    run = slurm.run_model(stream, configuration.nodes, configuration, "fcfs")
    # Two nodes with memory for one of the first three each; the last one waits for an idle node.
    assert run.jobs["start_time"].to_list() == [0.0, 0.0, 10.0, 10.0]


def test_nodes_of_a_system() -> None:
    """Nodes have the memory and the devices of the machine."""
    resources = {"core": 4, "mem": 10 * MIB + 1, "gpu": 2, "license": 0}
    (node,) = slurm.nodes_of(bl.System.homogeneous(nodes=1, resources=resources))
    assert node.more == ("CPUs=4", "RealMemory=10", "Gres=gpu:2")
    assert (node.memory, [each.count for each in node.gres]) == (10, [2])


@pytest.mark.parametrize("described", [True, False])
def test_files_of_devices(tmp_path: Path, described: bool) -> None:
    """A cluster has a gres.conf of its own with counts, and empty files for GPUs; the user's is replaced."""
    text = MACHINE if described else "SchedulerType=sched/builtin\n"
    folder = configured(tmp_path, text)
    (folder / "gres.conf").write_text("Name=gpu File=/dev/nvidia[0-3] Cores=0-3\nAutoDetect=nvml\n")
    configuration = slurm.read_configuration(folder)
    resources = {"core": 1, "gpu": 2}
    nodes = slurm.nodes_of(bl.System.homogeneous(nodes=2, resources=resources))
    chosen = configuration.nodes if described else nodes
    made = tmp_path / "cluster"
    made.mkdir()
    prepare(made, configuration, chosen, range(10_000, 10_001 + len(chosen)), [])
    lines = (made / "gres.conf").read_text().splitlines()
    kind, last = ("gpu-a100", 3) if described else ("gpu", 1)
    named = " Type=a100" if described else ""
    assert lines[0] == f"NodeName=n1,n2 Name=gpu{named} File={made}/devices/{kind}-[0-{last}]"
    assert lines[1:] == (["NodeName=n1,n2 Name=license Count=10"] if described else [])
    assert len([*(made / "devices").iterdir()]) == last + 1
    assert ("GresTypes=gpu\n" in (made / "slurm.conf").read_text()) is not described
    assert "gres.conf" in configuration.replaced


def test_returned(tmp_path: Path) -> None:
    """The table of a returned stream has what Slurm was told."""
    configuration = slurm.read_configuration(configured(tmp_path, MACHINE))
    workload = bl.Workload.from_table({"submit_time": [0], "run_time": [1], "tasks": [1], "mem": [MIB]})
    stream = slurm.planned_stream(slurm.submissions(workload, configuration))
    assert stream.schema["mem"] == pl.Int64
