"""ElastiSim's projects: jobs that depend on others, unknown keys, and what algorithms do to objects."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.bridge.elastisim import read_workload
from batchlab.bridge.elastisim.algorithm_side.elastisim_python import Job, JobState, Node
from batchlab.bridge.elastisim.jobs import Ledger, Reply, read_jobs
from batchlab.bridge.elastisim.protocol import replies
from batchlab.bridge.elastisim.runner import run
from batchlab.errors import AlgorithmError, BridgeError
from support.elastisim_projects import APPLICATION, job_of, write_project

if TYPE_CHECKING:
    from pathlib import Path


class OwnNode(Node):
    """As algorithms derive theirs."""

    @property
    def is_free(self) -> bool:
        return not self.assigned_jobs

    def owners(self) -> set[int]:
        return set(self.assigned_job_ids)


def in_order(jobs: list[Job], nodes: list[Node], _system: dict[str, object]) -> None:
    """Start jobs on one node each, the first that is free."""
    free = [node for node in nodes if not node.assigned_jobs]
    for job in jobs:
        if job.state is JobState.PENDING and not job.assigned_nodes and free:
            job.assign(free.pop(0))


def with_own_nodes(jobs: list[Job], nodes: list[Node], _system: dict[str, object]) -> None:
    """Do the same, with nodes of a class of its own."""
    for node in nodes:
        node.__class__ = OwnNode
    free = [node for node in nodes if isinstance(node, OwnNode) and node.is_free]
    for job in jobs:
        if job.state is JobState.PENDING and not job.assigned_nodes and free:
            job.assign(free.pop(0))
    for node in nodes:
        assert isinstance(node, OwnNode)
        assert node.owners() == {job.identifier for job in node.assigned_jobs}


def test_nodes_of_a_derived_class(tmp_path: Path) -> None:
    """An algorithm may set `node.__class__`: jobs, nodes and times are the same."""
    path = write_project(tmp_path, [{"submit_time": time} for time in (0, 0, 10, 20, 30, 30)])
    usual, own = (run(path, algorithm) for algorithm in (in_order, with_own_nodes))
    assert own.result.jobs.select("start_time", "end_time", "nodes").equals(
        usual.result.jobs.select("start_time", "end_time", "nodes")
    )


@pytest.mark.parametrize("protocol", [False, True])
def test_null_for_the_gpus_of_rigid_jobs(tmp_path: Path, *, protocol: bool) -> None:
    """It does not count, in process and over ZeroMQ."""
    if protocol:
        pytest.importorskip("zmq")
    script = tmp_path / "algorithm.py"
    script.write_text(
        "import sys\n"
        "from elastisim_python import pass_algorithm, JobState\n"
        "def schedule(jobs, nodes, system):\n"
        "    free = [node for node in nodes if not node.assigned_jobs]\n"
        "    for job in jobs:\n"
        "        if job.state is JobState.PENDING and not job.assigned_nodes and len(free) >= 2:\n"
        "            job.assign(free[:2])\n"
        "            job.assign_num_gpus_per_node(None)\n"
        "            del free[:2]\n"
        "if __name__ == '__main__':\n"
        "    pass_algorithm(schedule, sys.argv[1])\n"
    )
    url = f"ipc://{tmp_path}/socket"
    path = write_project(tmp_path, [{"type": "rigid"}, {"type": "rigid"}, {"type": "rigid"}], zmq_url=url)
    done = run(path, script, protocol=protocol)
    assert done.result.jobs["state"].to_list() == ["completed"] * 3


def test_null_for_the_gpus_of_other_jobs() -> None:
    """A job that is not rigid needs a number."""
    (reply,) = replies([{"id": 0, "assigned_node_ids": [0], "assigned_num_gpus_per_node": None}])
    assert reply == Reply(0, (0,), None)
    books = Ledger([(0, 2)] * 3, oversubscription=False)
    books.submit(job_of("malleable"))
    with pytest.raises(
        AlgorithmError, match=r"job 0 was given assigned_num_gpus_per_node = null; must be a whole"
    ):
        books.take(reply)


@pytest.mark.parametrize("finalise", [True, False])
def test_dependencies_in_a_project(tmp_path: Path, *, finalise: bool) -> None:
    """An algorithm learns of a job when what it depends on has completed."""
    jobs: list[dict[str, object]] = [
        {"submit_time": 0, "dependencies": [2]},
        {"submit_time": 0},
        {"submit_time": 5},
        {"submit_time": 7, "dependencies": [0, 1]},
    ]
    seen: list[tuple[object, list[int]]] = []

    def schedule(jobs: list[Job], nodes: list[Node], system: dict[str, object]) -> None:
        seen.append((system["time"], [job.identifier for job in jobs]))
        in_order(jobs, nodes, system)

    more = {} if finalise else {"schedule_on_job_finalize": False, "scheduling_interval": 10}
    path = write_project(tmp_path, jobs, log_task_times=True, task_times="task_times.csv", **more)
    done = run(path, schedule)
    start, end = (done.result.jobs[name].to_list() for name in ("start_time", "end_time"))
    assert done.result.jobs["state"].to_list() == ["completed"] * 4
    assert start[0] >= end[2]
    assert start[3] >= max(end[0], end[1])
    if finalise:
        assert (start[0], start[3]) == (end[2], end[0])
    assert max(ids for _, ids in seen) == [0, 1, 2, 3]
    assert [entry.id for entry in done.ledger.jobs] == [0, 1, 2, 3]


def test_a_job_whose_dependency_is_killed(tmp_path: Path) -> None:
    """It is never known to the algorithm, and the run ends."""
    path = write_project(
        tmp_path, [{"submit_time": 0, "walltime": 10}, {"submit_time": 0, "dependencies": [0]}]
    )
    done = run(path, in_order)
    assert done.result.jobs["state"].to_list() == ["killed", "rejected"]
    assert len(done.ledger.jobs) == 1


def test_dependencies_under_policies_of_batchlab(tmp_path: Path) -> None:
    """The workload has them as `depends_on`."""
    path = write_project(tmp_path, [{"submit_time": 0}, {"submit_time": 0, "dependencies": [0]}])
    workload = read_workload(path.parent / "jobs.json")
    assert workload.jobs["depends_on"].to_list() == [[], [0]]
    system = bl.System.of(bl.read_platform(path.parent / "platform.xml"))
    result = bl.simulate(workload, system, "easy")
    assert result.jobs["start_time"][1] == result.jobs["end_time"][0]


@pytest.mark.parametrize(
    ("dependencies", "message"),
    [
        ([[5], []], r"jobs\[0\].dependencies names job 5; there are 2 jobs"),
        ([[0], []], r"jobs\[0\].dependencies names job 0; it is this job"),
        ([[1], [0]], r"dependencies: job .* on .*: a circle"),
        (["0", []], r"dependencies = '0'; must be a list of job ids"),
        ([[1.5], []], r"dependencies = \[1.5\]; must be a list of job ids"),
    ],
)
def test_dependencies_that_are_none(tmp_path: Path, dependencies: list[object], message: str) -> None:
    """Each is refused, with its place."""
    path = write_project(tmp_path, [{"dependencies": each} for each in dependencies])
    with pytest.raises(BridgeError, match=message):
        read_jobs(path.parent / "jobs.json")


def test_keys_that_mean_nothing(tmp_path: Path) -> None:
    """Those of jobs, phases and tasks are named, with their first places."""
    application = json.loads(json.dumps(APPLICATION))
    application["phases"][0]["colour"] = "red"
    application["phases"][0]["tasks"][0]["importance"] = 5
    path = write_project(tmp_path, [{}, {"partition": "a"}, {"partition": "b"}], application=application)
    notes = run(path, in_order).project.notes
    assert any(
        note.startswith("'partition' of 2 jobs (first") and "jobs[1]) is not a key of a job" in note
        for note in notes
    )
    assert any(
        note.startswith("application.json: phases[0].colour and 1 more: no key of an application model")
        for note in notes
    )
    with pytest.warns(UserWarning, match=r"jobs\.json: .*(partition|colour)"):
        read_workload(path.parent / "jobs.json")
