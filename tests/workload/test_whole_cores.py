"""Machines that give cores in multiples, and partitions whose jobs take nodes whole."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import batchlab as bl
from batchlab.errors import SystemDescriptionError
from batchlab.system import Partition
from batchlab.workload.requests import on_system

if TYPE_CHECKING:
    from pathlib import Path


def system(multiple: int, **more: object) -> bl.System:
    machine = bl.System.homogeneous(nodes=1, resources={"core": 4, "mem": 100}, **more)  # type: ignore[arg-type]
    return type(machine)(machine.groups, partitions=machine.partitions, core_multiple=multiple)


def starts(machine: bl.System, policy: str = "fcfs", **columns: list[object]) -> list[float]:
    count = len(next(iter(columns.values())))
    table = {"submit_time": [0] * count, "run_time": [60] * count, "tasks": [1] * count} | columns
    return bl.simulate(bl.Workload.from_table(table), machine, policy).jobs["start_time"].to_list()


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "slurm(select=cores)"])
def test_jobs_of_one_processor_get_whole_cores(policy: str) -> None:
    """Four jobs of one CPU run two at a time on two cores of two CPUs, and at once on four of one."""
    found = starts(system(2), policy, tasks=[1] * 4)
    assert [round(time) // 60 for time in found] == [0, 0, 1, 1]
    assert [round(time) // 60 for time in starts(system(1), policy, tasks=[1] * 4)] == [0] * 4


def test_tasks_share_cores() -> None:
    """Tasks of a job share cores: three have two cores, as four have."""
    jobs = on_system(
        bl.Workload.from_table(
            {"submit_time": [0] * 5, "run_time": [1] * 5, "tasks": [1, 2, 3, 4, 3], "mem": [7, 7, 7, 7, 7]}
            | {"tasks_per_node": [0, 0, 0, 0, 1]}
        ),
        system(2),
    ).jobs
    assert jobs.select("tasks", "core", "mem", "tasks_per_node").rows() == [
        (1, 2, 8, 0),
        (1, 2, 14, 0),
        (2, 2, 12, 0),
        (2, 2, 14, 0),
        (3, 2, 8, 1),
    ]


jobs_of = st.tuples(st.integers(1, 40), st.integers(0, 9), st.integers(0, 5), st.integers(0, 50))


@given(st.lists(jobs_of, min_size=1, max_size=9), st.integers(2, 8))
def test_requests_in_multiples(jobs: list[tuple[int, int, int, int]], multiple: int) -> None:
    """Tasks ask for multiples, all of them for no less than before, and for little more."""
    names = ("tasks", "core", "tasks_per_node", "mem")
    table = {name: [job[at] for job in jobs] for at, name in enumerate(names)}
    many = {"submit_time": [0] * len(jobs), "run_time": [1] * len(jobs)}
    workload = bl.Workload.from_table(table | many)
    found = on_system(workload, system(multiple))
    assert on_system(found, system(multiple)).jobs.equals(found.jobs)
    for before, after in zip(jobs, found.jobs.select(names).rows(), strict=True):
        assert after[1] % multiple == 0
        asked, given_ = before[0] * before[1], after[0] * after[1]
        assert asked <= given_ < asked + after[1] + multiple * after[0]
        memory = before[0] * before[3]
        assert memory <= after[0] * after[3] < memory + after[0] * max(after[1], 1)
        assert before[1] % multiple == 0 or after[3] % after[1] == 0
        if before[2]:
            # As many nodes as before, or one that rounding of the last task needs no more.
            nodes = [math.ceil(Fraction(each[0], each[2])) for each in (before, after)]
            assert nodes[1] <= nodes[0]


def test_jobs_of_exclusive_partitions_take_nodes_whole() -> None:
    """Two jobs of one CPU run one after the other; jobs of another partition share nodes."""
    partitions = (Partition("whole", exclusive=True), Partition("shared"))
    machine = system(1, partitions=partitions)
    for policy in "fcfs", "easy", "conservative":
        assert starts(machine, policy, partition=["whole", "whole"]) == [0.0, 60.0]
        assert starts(machine, policy, partition=["shared", "shared"]) == [0.0, 0.0]
        assert starts(machine, policy, partition=["shared", "whole"]) == [0.0, 60.0]
    by_slurm = starts(machine, "slurm(select=cores)", partition=["whole", "whole"])
    assert by_slurm[1] >= 60


@pytest.mark.parametrize("value", [0, 1.5, "2"])
def test_multiples_are_checked(value: object) -> None:
    """They are integers from 1."""
    with pytest.raises(SystemDescriptionError, match="core_multiple"):
        system(value)  # type: ignore[arg-type]


def test_descriptions_keep_both(tmp_path: Path) -> None:
    """TOML has core_multiple, and exclusive of partitions."""
    path = tmp_path / "machine.toml"
    machine = system(2, partitions=(Partition("whole", exclusive=True),))
    bl.write_system(machine, path)
    assert bl.read_system(path) == machine
