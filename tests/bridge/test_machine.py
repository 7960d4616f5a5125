"""What an algorithm and its result know of the machine at work: storage links, and GPUs."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import batchlab as bl
from batchlab.bridge.elastisim import open_project, run
from support.elastisim_projects import add_storage, write_project

LINKS: dict[str, object] = {"pfs_read_links": ["in"], "pfs_write_links": ["out"]}
# Two nodes write at 1 GB/s each, for 5 s.
WRITES = {"phases": [{"tasks": [{"type": "pfs_write", "bytes": 1e10, "pattern": "all_ranks"}]}]}
COMPUTES = {"phases": [{"tasks": [{"type": "gpu", "flops": 8e9, "computation_pattern": "uniform"}]}]}
TWO: list[dict[str, object]] = [
    {"type": "rigid", "num_gpus_per_node": 1},
    {"type": "rigid", "num_gpus_per_node": 1, "submit_time": 2},
]
ALGORITHM = """\
import json, sys
from elastisim_python import JobState, NodeState, pass_algorithm

def schedule(jobs, nodes, system):
    io = {name: value for name, value in system.items() if name.startswith("pfs_")}
    gpus = [[gpu.state.name for gpu in node.gpus] for node in nodes]
    FILE.write(json.dumps([system["time"], io, gpus]) + "\\n")
    free = [node for node in nodes if node.state is NodeState.FREE]
    for job in jobs:
        if job.state is JobState.PENDING and len(free) >= 2:
            job.assign(free[:2])
            del free[:2]

if __name__ == "__main__":
    FILE = open(PATH, "w")
    pass_algorithm(schedule, sys.argv[1])
    FILE.close()
"""


def seen_by(path: Path, *, protocol: bool) -> list[Any]:
    """Run a project; give what its algorithm saw at each call."""
    log = path.parent / "seen.jsonl"
    algorithm = path.parent / "algorithm.py"
    algorithm.write_text(f"PATH = {str(log)!r}\n{ALGORITHM}")
    run(path, algorithm, protocol=protocol)
    return [json.loads(line) for line in log.read_text().splitlines()]


both = pytest.mark.parametrize("protocol", [False, True], ids=["in process", "over ZeroMQ"])


@both
def test_io_information(tmp_path: Path, *, protocol: bool) -> None:
    """With `forward_io_information` every call has what the storage's links can carry and carry, B/s."""
    url = f"ipc://{tmp_path}/socket"
    changes = {**LINKS, "forward_io_information": True, "zmq_url": url}
    path = write_project(tmp_path, TWO, application=WRITES, **changes)
    add_storage(path)
    able = {"pfs_read_bw": 4e9, "pfs_write_bw": 2e9, "pfs_read_utilization": 0}
    seen = [(round(time, 9), io) for time, io, _ in seen_by(path, protocol=protocol)]
    # From 2 s on the two jobs share what the link can carry.
    assert seen == [
        (0, able | {"pfs_write_utilization": 0}),
        (2, able | {"pfs_write_utilization": 2e9}),
        (8, able | {"pfs_write_utilization": 2e9}),
        (10, able | {"pfs_write_utilization": 0}),
    ]
    write_project(tmp_path, TWO, application=WRITES, **LINKS, zmq_url=url)
    add_storage(path)
    assert all(io == {} for _, io, _ in seen_by(path, protocol=protocol))


def test_results_know_the_storage(tmp_path: Path) -> None:
    """The configuration's links are those of the platform: for views, results and plots."""
    path = write_project(tmp_path, TWO, application=WRITES, **LINKS, sensing=True, sensing_interval=1)
    add_storage(path)
    project = open_project(path)
    assert (project.platform.read_links, project.platform.write_links) == (("in",), ("out",))
    seen = []

    class Looks(bl.Scheduler):
        def schedule(self, view: bl.View) -> None:
            seen.append((view.now, view.storage_utilisation))
            for job in view.queue:
                view.start(job, [0, 1] if job.row == 0 else [2, 3])

    bl.simulate(project.workload, project.system, Looks())
    assert seen[:2] == [(0, (0, 0)), (2, (0, 1))]
    done = run(path, _start_all)
    storage = done.result.utilisation["storage"]
    assert storage.filter(storage["time"].is_between(1, 9))["write"].to_list() == [1.0] * 9
    assert storage["read"].to_list() == [0.0] * len(storage)
    axes = bl.plot.platform_activity(done.result, of="write")
    assert np.max(np.asarray(axes.lines[0].get_ydata())) == pytest.approx(1)


def _start_all(jobs: list[Any], nodes: list[Any], _system: dict[str, Any]) -> None:
    for job in jobs:
        if job.state.name == "PENDING":
            job.assign(nodes[2 * job.identifier : 2 * job.identifier + 2])


def test_an_argument_of_read_platform(tmp_path: Path) -> None:
    """XML has no place for the storage's links; they can be named when a platform is read."""
    path = write_project(tmp_path, TWO)
    add_storage(path)
    file = tmp_path / "platform.xml"
    assert bl.read_platform(file).read_links == ()
    platform = bl.read_platform(file, read_links=["in"], write_links=["out"])
    assert (platform.read_links, platform.write_links) == (("in",), ("out",))
    with pytest.raises(bl.PlatformError, match="no link is called 'on'"):
        bl.read_platform(file, read_links=["on"])


@both
def test_gpus_that_compute(tmp_path: Path, *, protocol: bool) -> None:
    """A node's message says which of its GPUs compute then: the first of two, for 8 s."""
    path = write_project(tmp_path, TWO, application=COMPUTES, zmq_url=f"ipc://{tmp_path}/socket")
    free, busy = ["FREE", "FREE"], ["ALLOCATED", "FREE"]
    assert [(time, gpus) for time, _, gpus in seen_by(path, protocol=protocol)] == [
        (0, [free] * 4),
        (2, [busy, busy, free, free]),
        # The nodes of a job are seen as they are at the call that follows their change.
        (8, [free, free, busy, busy]),
        (10, [free] * 4),
    ]
