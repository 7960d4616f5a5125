"""Under select=cores, tasks that do not fill their nodes are placed on any nodes (S25)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.policy import Policy
from properties.test_slurm_runs import expected, parameters_of, result_of, starts_of
from support.slurm_run_cases import SlurmCase, random_case

if TYPE_CHECKING:
    from reference.slurm_jobs import SlurmJob

CASES = 240
CHUNKS = 4


def with_remainders(case: SlurmCase) -> SlurmCase:
    """Return the same case with a task more for each job that has two tasks on a node."""
    return replace(case, jobs=[with_remainder(job) for job in case.jobs])


def with_remainder(job: SlurmJob) -> SlurmJob:
    is_shared = job.tasks_per_node == 2 and not job.exclusive and job.tasks >= 2  # two
    return replace(job, tasks=job.tasks + 1) if is_shared else job


def is_unfilled(job: SlurmJob) -> bool:
    per_node = min(job.tasks_per_node, job.tasks)
    return not job.exclusive and per_node > 0 and job.tasks % per_node != 0


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_runs(chunk: int) -> None:
    """Every job starts when the reference starts it, on the same nodes, and the jobs are counted."""
    runs = 0
    for number in range(chunk, CASES, CHUNKS):
        case = with_remainders(random_case(number))
        count = sum(map(is_unfilled, case.jobs))
        if case.machine.select != "cores" or not count:
            continue
        result = result_of(case, Policy(case.order, backfill="slurm", slurm=parameters_of(case)))
        assert starts_of(result) == expected(case), number
        said = "1 job does" if count == 1 else f"{count} jobs do"
        assert f"{said} not fill nodes evenly with tasks: under select=cores" in "\n".join(result.warnings)
        runs += 1
    assert runs >= CASES // CHUNKS // 8


def test_other_policies_and_exclusive_jobs() -> None:
    """These place the rest of the tasks on one more node."""
    table = {
        "submit_time": [0.0, 0.0],
        "run_time": [10.0, 10.0],
        "tasks": [7, 4],
        "tasks_per_node": [4, 2],
    }
    workload = bl.Workload.from_table(table)
    system = bl.System.homogeneous(nodes=4, resources={"core": 8})
    for policy in ("easy", "slurm", "slurm(select=cores)"):
        result = bl.simulate(workload, system, policy)
        is_said = any("not fill nodes evenly" in line for line in result.warnings)
        assert is_said == (policy == "slurm(select=cores)")
        assert result.jobs["nodes"].list.len().to_list() == ([1, 2] if is_said else [2, 2])
    exclusive = bl.Workload.from_table({**table, "exclusive": [True, True]})
    result = bl.simulate(exclusive, system, "slurm(select=cores)")
    assert result.jobs["nodes"].list.len().to_list() == [2, 2]
    assert not any("not fill nodes evenly" in line for line in result.warnings)
