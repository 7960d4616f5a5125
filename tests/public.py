"""Random cases through the public API, as the reference gives them: one outcome per job."""

from collections.abc import Callable
from itertools import groupby

import polars as pl

import batchlab as bl
from cases import Case
from reference import Job, Machine, Outcome

__all__ = ["differences", "outcomes", "policy_of", "shrunk", "simulation_of", "system_of", "workload_of"]


def workload_of(case: Case) -> bl.Workload:
    """Give the jobs as a table; times are kept as they are, over-long runs included."""
    jobs, resources = case.jobs, case.machine.resources
    columns = {
        "job_id": pl.Series([job.row for job in jobs], dtype=pl.Int64),
        "submit_time": pl.Series([job.submit_time for job in jobs], dtype=pl.Float64),
        "run_time": pl.Series([job.run_time for job in jobs], dtype=pl.Float64),
        "requested_time": pl.Series([job.requested_time for job in jobs], dtype=pl.Float64),
        "tasks": pl.Series([job.tasks for job in jobs], dtype=pl.Int64),
        "tasks_per_node": pl.Series([job.tasks_per_node for job in jobs], dtype=pl.Int64),
        "exclusive": pl.Series([job.exclusive for job in jobs], dtype=pl.Boolean),
    }
    for index, name in enumerate(resources):
        columns[name] = pl.Series([job.request[index] for job in jobs], dtype=pl.Int64)
    return bl.Workload.from_table(columns, resources=resources, overrun="keep", invalid="raise")


def system_of(machine: Machine) -> bl.System:
    """Give the machine as groups, one per run of equal nodes."""
    groups = tuple(
        bl.NodeGroup(f"group{number}", len([*nodes]), dict(zip(machine.resources, capacity, strict=True)))
        for number, (capacity, nodes) in enumerate(groupby(machine.capacity))
    )
    return bl.System(groups, equivalence={machine.resources[0]: 1})


def policy_of(case: Case) -> bl.Policy:
    """Give the policy."""
    if case.backfill == "reject":
        return bl.Policy("reject")
    return bl.Policy(case.order_text, case.backfill, case.allocator, case.reservations)


def simulation_of(case: Case) -> bl.Simulation:
    """Give the simulation, before its first instant."""
    return bl.Simulation(
        workload_of(case),
        system_of(case.machine),
        policy_of(case),
        seed=case.seed,
        walltime=case.walltime,
        order_at_instant=case.order_at_instant,
    )


def outcomes(case: Case) -> list[Outcome]:
    """Run the case through `simulate`, and read the table of jobs and the table of placements."""
    result = bl.simulate(
        workload_of(case),
        system_of(case.machine),
        policy_of(case),
        seed=case.seed,
        walltime=case.walltime,
        order_at_instant=case.order_at_instant,
    )
    placements: list[list[tuple[int, int]]] = [[] for _ in case.jobs]
    for row, node, tasks in result.placements.select("row", "node", "tasks").iter_rows():
        placements[row].append((node, tasks))
    table = result.jobs.select("job_id", "state", "start_time", "end_time").iter_rows()
    found = []
    for job, (job_id, state, start_time, end_time) in zip(case.jobs, table, strict=True):
        assert job_id == job.row
        found.append(Outcome(state, start_time, end_time, placements[job.row]))
    return found


def differences(case: Case) -> list[str]:
    """List the jobs on which the public API and the reference differ, one line each."""
    pairs = zip(case.jobs, case.expected(), outcomes(case), strict=True)
    return [
        f"job {job.row}: expected {expected}, got {got}" for job, expected, got in pairs if expected != got
    ]


def shrunk(case: Case, fails: Callable[[Case], bool]) -> Case:
    """Leave out jobs as long as the case still fails."""
    row = 0
    while row < len(case.jobs):
        smaller = case.without(row)
        if fails(smaller):
            case, row = smaller, 0
        else:
            row += 1
    return case


def readable(case: Case) -> str:
    """Write a case so that it can be read, and pasted into a test."""

    def line(job: Job) -> str:
        return (
            f"    Job({job.row}, {job.submit_time!r}, {job.run_time!r}, {job.requested_time!r}, {job.tasks}, "
            f"{job.request}, {job.tasks_per_node}, {job.exclusive}),"
        )

    settings = f"{policy_of(case)}; seed={case.seed}, {case.walltime}, {case.order_at_instant}"
    return "\n".join(
        [settings, str(case.machine), "Job(row, submit, run, requested, tasks, request, per node, exclusive)"]
        + [line(job) for job in case.jobs]
    )
