"""Whatever the files of an ElastiSim project hold, `batchlab elastisim` gives an answer or one line."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from batchlab.cli import main
from support.elastisim_projects import APPLICATION, write_project

ALGORITHM = """\
from elastisim_python import *
def schedule(jobs, nodes, system):
    free = [node for node in nodes if node.state is NodeState.FREE]
    for job in jobs:
        if job.state is JobState.PENDING:
            count = job.num_nodes if job.type is JobType.RIGID else job.num_nodes_min
            if count <= len(free):
                if job.type is not JobType.RIGID:
                    job.assign_num_gpus_per_node(job.num_gpus_per_node_min)
                job.assign(free[:count])
                del free[:count]
pass_algorithm(schedule, "")
"""
TASKS: list[dict[str, object]] = [
    {"type": "cpu", "bytes": "work", "communication_pattern": "all_to_all", "coupled": True},
    {
        "type": "gpu",
        "flops": 1e9,
        "computation_pattern": "total",
        "bytes": 5,
        "communication_pattern": "ring",
    },
    {"type": "pfs_read", "bytes": 1e9, "pattern": "root_only", "async": True},
    {"type": "bb_write", "bytes": 1e9, "pattern": "even_ranks"},
    {"type": "sequence", "iterations": "2", "tasks": [{"type": "idle", "delay": 1, "pattern": "uniform"}]},
]
WHOLE: dict[str, Any] = APPLICATION | {"on_init": {"tasks": TASKS[4:]}, "on_expansion": {"tasks": TASKS[:1]}}
JOBS: list[dict[str, object]] = [
    {"walltime": 500, "attributes": {"user": "a"}},
    {"type": "rigid", "submit_time": 3, "num_gpus_per_node": 1},
    {"type": "adaptive", "submit_time": 4.5, "arguments": {"work": 1e9, "k": 0.5, "t": "2"}},
]

SCALARS = st.sampled_from(
    [
        None,
        True,
        -1,
        0,
        1,
        2.5,
        1e300,
        1 << 70,
        "",
        "x",
        "work/",
        "num_nodes",
        "rigid",
        "cpu",
        "vector",
        "1/0",
    ]
)
VALUES = SCALARS | st.sampled_from([[], {}, [1], [[]], {"work": 1}, [{"type": "idle"}]])


def places(document: object, path: tuple[int | str, ...] = ()) -> list[tuple[int | str, ...]]:
    """Give the paths to all values of a document."""
    inside = (
        document.items()
        if isinstance(document, dict)
        else enumerate(document)
        if isinstance(document, list)
        else ()
    )
    return [path] * bool(path) + [each for key, value in inside for each in places(value, (*path, key))]


def changed(data: st.DataObject, document: Any) -> Any:  # noqa: ANN401  # any document
    """Replace or remove some value somewhere."""
    document = copy.deepcopy(document)
    *path, last = data.draw(st.sampled_from(places(document)))
    parent = document
    for key in path:
        parent = parent[key]
    if isinstance(parent, dict) and data.draw(st.booleans()):
        del parent[last]
    else:
        parent[last] = data.draw(VALUES)
    return document


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), task=st.sampled_from([None, *TASKS]))
def test_changed_files(
    data: st.DataObject, task: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An answer, or one line that names the file or the algorithm; never a traceback or an internal error."""
    application = copy.deepcopy(WHOLE)
    if task is not None:
        application["phases"][0]["tasks"].append(task)
    path = write_project(tmp_path, JOBS, application=application)
    (tmp_path / "algorithm.py").write_text(ALGORITHM)
    name = data.draw(st.sampled_from(["jobs.json", "application.json", "configuration.json"]))
    (tmp_path / name).write_text(json.dumps(changed(data, json.loads((tmp_path / name).read_text()))))
    command = [
        "elastisim",
        str(path),
        "--algorithm",
        str(tmp_path / "algorithm.py"),
        "--out",
        f"{tmp_path}/out",
    ]
    code = main(command)
    said = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("note: ")]
    assert len(said) == (0 if code == 0 else 1), said
    assert code in {0, 1, 2}
    assert not any("internal error" in line for line in said), said
