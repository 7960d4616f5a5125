"""Every attribute that `elastisim_python` gives an algorithm: with values, and None where a job has none."""

import json
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from batchlab.bridge.elastisim import run
from batchlab.bridge.elastisim.algorithm_side import elastisim_python
from support.elastisim_projects import write_project

RIGID_ONLY = ("num_nodes", "num_gpus_per_node")
OTHERS_ONLY = ("num_nodes_min", "num_nodes_max", "num_gpus_per_node_min", "num_gpus_per_node_max")

# What is the same for every type: when the job is submitted, and what has changed when it is done.
SUBMITTED: dict[str, object] = {
    "identifier": 0,
    "state": "PENDING",
    "submit_time": 3.0,
    "walltime": 500.0,
    "start_time": -1.0,
    "end_time": -1.0,
    "wait_time": -1.0,
    "makespan": -1.0,
    "turnaround_time": -1.0,
    "assigned_nodes": [],
    "assigned_node_ids": [],
    "assigned_num_gpus_per_node": 0,
    "arguments": {"work": "40000000000.000000"},
    "attributes": {"user": "ann"},
    "runtime_arguments": {},
    "total_phase_count": 4,
    "completed_phases": 0,
    "modified": False,
    "modified_runtime_args": False,
    "kill_flag": False,
}
DONE: dict[str, object] = {
    "state": "COMPLETED",
    "start_time": 3.0,
    "end_time": 83.0,
    "wait_time": 0.0,
    "makespan": 80.0,
    "turnaround_time": 80.0,
    "assigned_nodes": [0, 1],
    "assigned_node_ids": [0, 1],
    "completed_phases": 4,
}
# What each type asks for in the jobs file, and what its algorithm sees of it.
TYPES: dict[str, dict[str, int]] = {
    "rigid": {"num_nodes": 2, "num_gpus_per_node": 1},
    **{
        name: {
            "num_nodes_min": 1,
            "num_nodes_max": 3,
            "num_gpus_per_node_min": 1,
            "num_gpus_per_node_max": 2,
        }
        for name in ("moldable", "malleable", "evolving", "adaptive")
    },
}
MEMBERS = {
    "JobType": {"RIGID": 0, "MOLDABLE": 1, "MALLEABLE": 2, "EVOLVING": 3, "ADAPTIVE": 4},
    "JobState": {
        "PENDING": 1,
        "RUNNING": 4,
        "PENDING_RECONFIGURATION": 5,
        "IN_RECONFIGURATION": 6,
        "COMPLETED": 7,
        "KILLED": 8,
    },
    "NodeType": {"COMPUTE_NODE": 0, "COMPUTE_NODE_WITH_BB": 1, "COMPUTE_NODE_WIDE_STRIPED_BB": 2},
    "NodeState": {"FREE": 0, "ALLOCATED": 1, "RESERVED": 2},
    "GpuState": {"FREE": 0, "ALLOCATED": 1},
    "InvocationType": {
        "INVOKE_PERIODIC": 0,
        "INVOKE_JOB_SUBMIT": 1,
        "INVOKE_JOB_COMPLETED": 2,
        "INVOKE_JOB_KILLED": 3,
        "INVOKE_SCHEDULING_POINT": 4,
        "INVOKE_EVOLVING_REQUEST": 5,
        "INVOKE_RECONFIGURATION": 6,
    },
    "CommunicationCode": {
        "ZMQ_INVOKE_SCHEDULING": 0xFFEC4400,
        "ZMQ_SCHEDULED": 0xFFEC4401,
        "ZMQ_FINALIZE": 0xFFEC44FF,
    },
}
ALGORITHM = """\
import json, sys
from elastisim_python import Gpu, Job, JobState, Node, pass_algorithm

def plain(value):
    if isinstance(value, (Job, Node)):
        return value.identifier
    if isinstance(value, (list, set)):
        return [plain(each) for each in value]
    if isinstance(value, Gpu):
        return [value.identifier, value.state.name]
    return getattr(value, "name", value)

def seen(thing, names):
    return {name: plain(getattr(thing, name)) for name in names}

def schedule(jobs, nodes, system):
    (job,) = jobs
    names = [plain(system[key]) for key in ("time", "invocation_type", "job_id", "job")]
    FILE.write(json.dumps([names, seen(job, JOB), [seen(node, NODE) for node in nodes]]) + "\\n")
    if job.state is JobState.PENDING:
        job.assign_num_gpus_per_node(1)
        job.assign(nodes[:2])

if __name__ == "__main__":
    FILE = open(PATH, "w")
    pass_algorithm(schedule, sys.argv[1])
    FILE.close()
"""
NODE = ("identifier", "type", "state", "assigned_jobs", "assigned_job_ids", "gpus")


def seen_by(folder: Path, kind: str, *, protocol: bool) -> list[Any]:
    """Run a project with one job of a type; give what its algorithm saw at each call."""
    job = {
        "type": kind,
        "submit_time": 3,
        "walltime": 500,
        "attributes": {"user": "ann"},
        **TYPES[kind],
    }
    url = f"ipc://{folder}/socket"
    path = write_project(folder, [job], zmq_url=url, schedule_on_scheduling_point=False)
    algorithm = folder / "algorithm.py"
    names = (*SUBMITTED, "type", *RIGID_ONLY, *OTHERS_ONLY)
    log = folder / f"seen-{protocol}.jsonl"
    algorithm.write_text(f"PATH, JOB, NODE = {str(log)!r}, {names!r}, {NODE!r}\n{ALGORITHM}")
    run(path, algorithm, protocol=protocol)
    return [json.loads(line) for line in log.read_text().splitlines()]


@pytest.mark.parametrize("protocol", [False, True], ids=["in process", "over ZeroMQ"])
@pytest.mark.parametrize("kind", TYPES)
def test_every_attribute(tmp_path: Path, kind: str, *, protocol: bool) -> None:
    """Jobs and nodes have every attribute of the original, whatever the type; limits it has not are None."""
    limits = dict.fromkeys((*RIGID_ONLY, *OTHERS_ONLY)) | TYPES[kind]
    submitted = SUBMITTED | {"type": kind.upper()} | limits
    gpus = 0 if kind == "rigid" else 1
    free = [
        {
            "identifier": number,
            "type": "COMPUTE_NODE",
            "state": "FREE",
            "assigned_jobs": [],
            "assigned_job_ids": [],
            "gpus": [[0, "FREE"], [1, "FREE"]],
        }
        for number in range(4)
    ]
    assert seen_by(tmp_path, kind, protocol=protocol) == [
        [[3.0, "INVOKE_JOB_SUBMIT", 0, 0], submitted, free],
        [
            [83.0, "INVOKE_JOB_COMPLETED", 0, 0],
            submitted | DONE | {"assigned_num_gpus_per_node": gpus},
            free,
        ],
    ]


@pytest.mark.parametrize("name", MEMBERS)
def test_every_member(name: str) -> None:
    """Enumerations have the original's members, values and order, and no others."""
    enumeration = getattr(elastisim_python, name)
    assert {member.name: member.value for member in enumeration} == MEMBERS[name]
    assert dict(enumeration.__members__) == {member.name: member for member in enumeration}
    # As those of the standard library: by value, by name, hashable, equal to themselves alone.
    standard = Enum(name, MEMBERS[name])  # type: ignore[misc]  # made from a table
    for ours, theirs in zip(enumeration, standard, strict=True):
        assert enumeration(theirs.value) is enumeration[theirs.name] is ours
        assert (str(ours), repr(ours)) == (str(theirs), repr(theirs))
        assert ours != theirs.value
        assert {ours: 1}[enumeration[theirs.name]] == 1
