"""Queues and partitions of jobs: from columns, from a log's fields, and in results."""

import json
from pathlib import Path

import pytest

import batchlab as bl

LOG = """\
; MaxProcs: 8
; Queue: 1 short
; Queue: 2 long
; Partition: 1 left
; Partition: 2 right
1 0 -1 10 2 -1 -1 2 20 -1 1 7 8 -1 1 2 -1 -1
2 0 -1 10 2 -1 -1 2 900 -1 1 7 8 -1 2 1 -1 -1
3 0 -1 10 2 -1 -1 2 20 -1 1 9 8 -1 -1 -1 -1 -1
4 0 -1 10 6 -1 -1 6 20 -1 1 9 8 -1 1 2 -1 -1
5 0 -1 10 1 -1 -1 1 900 -1 1 9 8 -1 1 -1 -1 -1
"""
SYSTEM = bl.System.homogeneous(
    nodes=8,
    resources={"core": 1},
    partitions=(bl.Partition("left", "0-3"), bl.Partition("right", "2-7")),
    queues=(
        bl.JobQueue("short", ("right", "left"), admits=bl.Conditions(max_time=100)),
        bl.JobQueue("long", ("left",), admits=bl.Conditions(users=("7",))),
    ),
)


def test_fields_of_a_log() -> None:
    """Fields 12, 15 and 16 name users, queues and partitions, as the header calls them."""
    result = bl.simulate(bl.read_swf(LOG.splitlines()), SYSTEM, "first_fit")
    found = result.jobs.select("assigned_queue", "allocated_partition", "reason", "nodes").rows()
    assert found == [
        ("short", "right", None, [2, 3]),
        ("long", "left", None, [0, 1]),
        ("short", "right", None, [4, 5]),
        # Its six processors are all of the right partition.
        ("short", "right", None, [2, 3, 4, 5, 6, 7]),
        (None, None, "queue", []),
    ]


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("queue", ["short", "shirt"], "job 2: queue = 'shirt'; must be a queue of the system. Did you mean"),
        (
            "partition",
            ["left|right", "left,up"],
            "job 2: partition = 'up'; must be a partition of the syst",
        ),
        ("queue", [1.5, 2.5], "column 'queue' is of the kind Float64; must hold names, or whole numbers."),
    ],
)
def test_unknown_names(column: str, values: list[object], message: str) -> None:
    """What the system does not have is an error that names the job."""
    table = {"job_id": [1, 2], "submit_time": [0, 0], "run_time": [1, 1], "tasks": [1, 1], column: values}
    with pytest.raises(bl.WorkloadError) as caught:
        bl.simulate(bl.Workload.from_table(table), SYSTEM, "fcfs")
    assert str(caught.value).startswith(message)


def test_columns_are_ignored_without_partitions() -> None:
    """A system that has none does not look at them."""
    system = bl.System.homogeneous(nodes=8, resources={"core": 1})
    result = bl.simulate(bl.read_swf(LOG.splitlines()), system, "first_fit")
    assert "allocated_partition" not in result.jobs.columns
    assert result.jobs["state"].eq("completed").all()


def test_runs_on_other_queues_are_other_runs(tmp_path: Path) -> None:
    """A store tells systems apart that differ in their partitions only."""
    workload = bl.Workload.from_table({"submit_time": [0], "run_time": [5], "tasks": [8]})
    found = []
    for partitions in ((), (bl.Partition("left", "0-3"),)):
        system = bl.System.homogeneous(nodes=8, resources={"core": 1}, partitions=partitions)
        experiment = bl.Experiment(workloads=workload, systems={"same": system}, policies="fcfs")
        found += experiment.run(store=tmp_path / "store").table["jobs_rejected"].to_list()
    assert found == [0, 1]


def test_the_manifest_has_them(tmp_path: Path) -> None:
    """The description of the system in the manifest is whole."""
    bl.simulate(bl.read_swf(LOG.splitlines()), SYSTEM, "first_fit").write(tmp_path)
    described = json.loads((tmp_path / "manifest.json").read_text())["system"]
    assert described["partitions"] == [{"name": "left", "nodes": "0-3"}, {"name": "right", "nodes": "2-7"}]
    assert described["queues"][1]["admits"] == {"users": ["7"]}


def test_a_workload_without_jobs() -> None:
    """Partitions that admit some jobs only need none."""
    short = bl.Partition("short", admits=bl.Conditions(max_time=60))
    queue = bl.JobQueue("all", ("short",))
    system = bl.System.homogeneous(nodes=1, resources={"core": 1}, partitions=(short,), queues=(queue,))
    empty = bl.Workload.from_table({"submit_time": [], "run_time": [], "tasks": []})
    assert bl.simulate(empty, system, "easy").jobs.is_empty()
