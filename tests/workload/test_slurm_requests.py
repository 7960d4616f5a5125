"""What jobs ask for in logs of Slurm is what the workload asks for, by job and added up."""

from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.errors import WorkloadError
from support.slurm_logs import YEAR, as_jobcomp, as_json, as_sacct, asked, random_jobs

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.slurm_logs import SlurmJob

FORMS: dict[str, tuple[Callable[[list[SlurmJob]], list[str]], Callable[..., bl.Workload]]] = {
    "sacct": (as_sacct, bl.read_sacct),
    "json": (as_json, bl.read_sacct),
    "jobcomp": (as_jobcomp, bl.read_jobcomp),
}
HEAD = "JobID|State|Submit|Start|End|Timelimit|"
FACTS = "COMPLETED|2024-03-01T10:00:00|2024-03-01T10:00:00|2024-03-01T11:00:00|02:00:00|"


def dump(fields: str, *values: str) -> list[str]:
    """Give a dump of jobs with these values of these fields."""
    return [HEAD + fields, *(f"{number}|{FACTS}{value}" for number, value in enumerate(values, 1))]


def told(fields: str, *values: str, **options: object) -> bl.Workload:
    return bl.read_sacct(dump(fields, *values), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("form", [*FORMS])
@pytest.mark.parametrize("seed", range(5))
def test_each_job_asks_for_what_it_asked_for(form: str, seed: int) -> None:
    """Random jobs, written and read back, ask for the same nodes, processors, memory and GPUs."""
    jobs = random_jobs(200, Random(seed))  # noqa: S311  # no secret
    write, read = FORMS[form]
    found = read(write(jobs), use_memory=True).jobs.sort("job_id")
    zero = dict.fromkeys(("gpu", "fpga"), 0.0)
    for job, row in zip(jobs, found.iter_rows(named=True), strict=True):
        if form == "jobcomp":
            job = plain(job)  # noqa: PLW2901  # the format does not say it
        expected = zero | asked(job)
        if not job.memory:
            # All memory of the nodes: these are taken whole.
            assert row["exclusive"]
            expected = zero | asked(plain(job, exclusive=True))
        elif "exclusive" in row:
            assert row["exclusive"] == job.exclusive
        assert {name: row[name] for name in expected} == expected, job
        limit = math.inf if job.limit is None else job.limit * 60.0
        assert row["time_limit"] == limit
        assert row["requested_time"] == min(limit, YEAR)
        begins = job.eligible > job.submit
        assert row["begin_time"] == (job.eligible - jobs[0].submit if begins else None)
        assert row["start_time"] == (None if job.start is None else job.start - jobs[0].submit)


def plain(job: SlurmJob, *, exclusive: bool = False) -> SlurmJob:
    return type(job)(**{**vars(job), "exclusive": exclusive})


@pytest.mark.parametrize("form", [*FORMS])
def test_conservation(form: str) -> None:
    """What 10,000 jobs ask for is, added up, what their dump says."""
    jobs = random_jobs(10_000, Random(17))  # noqa: S311  # no secret
    write, read = FORMS[form]
    found = read(write(jobs)).jobs
    assert found["requested_processors"].sum() == sum(job.processors for job in jobs)
    assert found["requested_nodes"].sum() == sum(job.nodes for job in jobs)
    assert found["requested_gpus"].sum() == sum(job.totals.get("gpu", 0) for job in jobs)
    assert found["requested_fpga"].sum() == sum(job.totals.get("fpga", 0) for job in jobs)
    memory = (found["requested_memory"] * found["requested_processors"]).sum()
    assert memory == pytest.approx(sum(job.memory * 1024 for job in jobs), rel=1e-12)
    # Equal shares of a few jobs are rounded up.
    for name in "core", "gpu", "fpga":
        wanted = [asked(plain(job)) if form == "jobcomp" else asked(job) for job in jobs]
        assert (found[name] * found["tasks"]).sum() == sum(
            each.get(name, 0) * each["tasks"] for each in wanted
        )
    exact = sum(
        each["core"] * each["tasks"] == job.processors for each, job in zip(wanted, jobs, strict=True)
    )
    assert exact >= 0.9 * len(jobs)


@pytest.mark.parametrize(
    ("fields", "value", "request_"),
    [
        # tasks, processors of a task, tasks on a node at most, GPUs of a task
        ("ReqCPUS|NNodes|ReqTRES", "104|8|billing=544,cpu=104,node=8", (8, 13, 1, 0)),
        ("ReqCPUS|NNodes|ReqTRES", "4|1|cpu=4,gres/gpu=4,gres/gpu:a100=4,node=1", (1, 4, 1, 4)),
        ("ReqCPUS|NNodes|ReqTRES", "8|2|cpu=8,gres/gpu=4,node=2", (2, 4, 1, 2)),
        # So many GPUs on any nodes.
        ("ReqCPUS|NNodes|ReqTRES", "8|2|cpu=8,gres/gpu=4,node=1", (4, 2, 0, 1)),
        # Two nodes at least, and more were given.
        ("ReqCPUS|NNodes|ReqTRES", "96|4|cpu=96,node=2", (96, 1, 48, 0)),
        ("ReqCPUS|NNodes|ReqTRES", "100|3|cpu=100,node=1", (100, 1, 0, 0)),
        # 3, 3 and 2 processors on three nodes; and on 8 nodes of which one has two.
        ("ReqCPUS|NNodes|ReqTRES", "8|3|cpu=8,node=3", (8, 1, 3, 0)),
        ("ReqCPUS|NNodes|ReqTRES", "9|8|cpu=9,node=8", (8, 2, 1, 0)),
        ("ReqCPUS|ReqNodes|NNodes", "8|2-4|2", (2, 4, 1, 0)),
        ("ReqCPUS|NNodes", "16|4", (16, 1, 4, 0)),
        ("ReqCPUS|NNodes|ReqGRES", "8|2|gpu:2", (2, 4, 1, 2)),
        ("ReqCPUS|NNodes|ReqTRES|TresPerNode", "8|2|cpu=8,node=2|gres:gpu:a100:2", (2, 4, 1, 2)),
        ("ReqCPUS|NNodes|ReqTRES|TresPerJob", "8|2|cpu=8,node=2|gres/gpu:2", (2, 4, 1, 1)),
        ("ReqCPUS|SubmitLine", "8|sbatch -N2 --gpus-per-node=1 job.sh", (2, 4, 1, 0)),
        ("ReqCPUS|SubmitLine", "24|sbatch -n 12 -c 2 --ntasks-per-node=4 job.sh", (3, 8, 1, 0)),
    ],
)
def test_forms_of_requests(fields: str, value: str, request_: tuple[int, int, int, int]) -> None:
    """Nodes and generic resources, as the fields of several versions say them."""
    row = told(fields, value).jobs.row(0, named=True)
    found = row["tasks"], row.get("core", 1), row.get("tasks_per_node", 0), row.get("gpu", 0)
    assert found == request_


@pytest.mark.parametrize(
    ("memory", "of_processor", "of_node"),
    [
        ("2147486648Mn", 3000 * 1024, 12_000 * 1024),
        ("9223372036854778808Mn", 3000 * 1024, 12_000 * 1024),
        ("3000Mc", 3000 * 1024, 12_000 * 1024),
        ("24000M", 3000 * 1024, 12_000 * 1024),
        ("12000Mn", 3000 * 1024, 12_000 * 1024),
    ],
)
def test_memory_by_processor_and_node(memory: str, of_processor: int, of_node: int) -> None:
    """Of a job on two nodes of four processors each; old data bases mark memory by processor with a bit."""
    row = told("ReqCPUS|NNodes|ReqTRES|ReqMem", f"8|2|cpu=8,node=2|{memory}", use_memory=True).jobs.row(
        0, named=True
    )
    assert (row["requested_memory"], row["mem"], row["tasks"]) == (of_processor, of_node, 2)


@pytest.mark.parametrize("memory", ["0", "0n", "0Mc", "2147483648Mn"])
def test_all_memory_of_a_node(memory: str) -> None:
    """A job that asks for 0 of memory gets all of its nodes, which are then taken whole."""
    taken = told("ReqCPUS|ReqMem", f"2|{memory}", "2|1G", use_memory=True)
    assert taken.jobs["exclusive"].to_list() == [True, False]
    assert "asks for all memory of its nodes: whole nodes taken" in str(taken.report)
    assert "exclusive" not in told("ReqCPUS|ReqMem", f"2|{memory}").jobs.columns


def test_whole_nodes() -> None:
    """Jobs that asked for whole nodes get them, as far as the log says so."""
    line = told(
        "ReqCPUS|SubmitLine", "1|sbatch --exclusive a.sh", "1|sbatch --exclusive=user a.sh", "1|sbatch a"
    )
    assert line.jobs["exclusive"].to_list() == [True, False, False]
    field = told("ReqCPUS|Exclusive", "1|NODE", "1|NO", "1|")
    assert field.jobs["exclusive"].to_list() == [True, False, False]


def test_what_is_assumed_is_said() -> None:
    """Where the fields of a request are missing, or do not divide evenly, the report counts the jobs."""
    counts = told("ReqCPUS|NNodes", "16|4", "4|1").report.counts()["noted"]
    assert counts == {"nodes asked for are not logged: at least so many as were given taken": 1}
    counts = told("ReqCPUS|ReqGRES", "4|gpu:2").report.counts()["noted"]
    assert counts == {"nodes of a job with generic resources are not logged: one taken": 1}
    counts = told("ReqCPUS|NNodes|ReqTRES", "9|8|cpu=9,node=8").report.counts()["mended"]
    assert [*counts] == [
        "processors or generic resources do not divide evenly among the nodes: rounded up on each"
    ]


GPU_JOBS = ("4|1|cpu=4,gres/gpu=4,node=1",) * 4


@pytest.mark.parametrize(("gpus", "states", "makespan"), [(4, {"completed"}, 7200.0), (1, {"rejected"}, 0.0)])
def test_gpus_are_simulated(gpus: int, states: set[str], makespan: float) -> None:
    """Four jobs of four GPUs run two at a time on two nodes of four, and on no node of one."""
    system = bl.System.homogeneous(nodes=2, resources={"core": 32, "gpu": gpus})
    result = bl.simulate(told("ReqCPUS|NNodes|ReqTRES", *GPU_JOBS), system, "easy")
    assert set(result.jobs["state"]) == states
    assert (result.jobs["end_time"].max() or 0.0) == makespan


def test_nodes_are_simulated() -> None:
    """Two jobs of 8 nodes run one after the other on 8 nodes, however few processors they ask for."""
    system = bl.System.homogeneous(nodes=8, resources={"core": 68})
    one = told(
        "ReqCPUS|NNodes|ReqTRES|SubmitLine", *("104|8|cpu=104,node=8|sbatch --exclusive -N8 -n104",) * 2
    )
    assert bl.simulate(one, system, "easy").jobs["start_time"].to_list() == [0.0, 3600.0]
    shared = told("ReqCPUS|NNodes|ReqTRES", "8|8|cpu=8,node=8")
    assert [*bl.simulate(shared, system, "easy").jobs["nodes"][0]] == [*range(8)]


def test_a_machine_without_gpus_or_cores() -> None:
    """It takes the jobs of a log as processors, which its equivalence translates."""
    log = told("ReqCPUS|NNodes|ReqTRES", "4|2|cpu=4,gres/gpu=2,node=2")
    plain_machine = bl.System.homogeneous(nodes=2, resources={"core": 4})
    assert bl.simulate(log, plain_machine, "easy").jobs["state"].to_list() == ["completed"]
    two = bl.System.homogeneous(nodes=2, resources={"core": 4}, equivalence={"core": 2})
    assert bl.simulate(log, two, "easy").jobs["allocated_core"].to_list() == [8]
    units = bl.System.homogeneous(nodes=2, resources={"unit": 4}, equivalence={"unit": 1})
    assert bl.simulate(log, units, "easy").jobs["allocated_unit"].to_list() == [4]


def test_any_resource_is_a_request() -> None:
    """A column with the name of a resource of the system is what tasks ask for of it."""
    table = {"submit_time": [0] * 4, "run_time": [60] * 4, "tasks": [1] * 4, "qpu": [1.0, 0.5, None, 0]}
    workload = bl.Workload.from_table(table)
    assert workload.resources == ()
    one = bl.System.homogeneous(nodes=1, resources={"core": 8, "qpu": 1})
    result = bl.simulate(workload, one, "easy")
    assert result.jobs["start_time"].to_list() == [0.0, 60.0, 0.0, 0.0]
    assert result.jobs["allocated_qpu"].to_list() == [1, 1, 0, 0]
    none = bl.System.homogeneous(nodes=1, resources={"core": 8, "qpu": 0})
    assert bl.simulate(workload, none, "easy").jobs["state"].to_list() == [
        "rejected",
        "rejected",
        *["completed"] * 2,
    ]
    # Without such a resource it is a column like others.
    bare = bl.System.homogeneous(nodes=1, resources={"core": 8})
    assert bl.simulate(workload, bare, "easy").jobs["start_time"].to_list() == [0.0] * 4


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a", "b"], "column qpu is of the kind String; must be numbers"),
        ([1, -1], r"job 2: qpu = -1; must be from 0"),
    ],
)
def test_columns_that_are_no_amounts(values: list[object], message: str) -> None:
    """They are refused on a system that has such a resource, and only there."""
    workload = bl.Workload.from_table(
        {"submit_time": [0, 0], "run_time": [1, 1], "tasks": [1, 1], "qpu": values}
    )
    with pytest.raises(WorkloadError, match=message):
        bl.simulate(workload, bl.System.homogeneous(nodes=1, resources={"core": 1, "qpu": 1}), "easy")
    bl.simulate(workload, bl.System.homogeneous(nodes=1, resources={"core": 1}), "easy")


def test_snapshots_of_such_runs() -> None:
    """They are restored with the workload as it was given."""
    workload = bl.Workload.from_table(
        {"submit_time": [0, 0], "run_time": [60, 60], "tasks": [1, 1], "qpu": [1, 1]}
    )
    system = bl.System.homogeneous(nodes=1, resources={"core": 8, "qpu": 1})
    simulation = bl.Simulation(workload, system, "easy")
    simulation.run_until(1)
    again = bl.Simulation.restore(simulation.snapshot(), workload, system, "easy")
    again.run_until()
    assert again.result().jobs["start_time"].to_list() == [0.0, 60.0]


def test_requests_that_are_ignored_are_named() -> None:
    """Memory that a log says and that is not taken, and resources of which a log says nothing."""
    fat = bl.System.homogeneous(nodes=2, resources={"core": 8, "mem": 10**9, "gpu": 2})
    log = told("ReqCPUS|ReqMem", "4|2G", "4|")
    warnings = bl.simulate(log, fat, "easy").warnings
    option = "--use-memory (use_memory=True) makes it a request"
    assert f"the column requested_memory of 1 job is not used, though nodes have mem: {option}" in warnings
    assert "no job asks for gpu of the system, since the log does not say it: none is assumed" in warnings
    taken = told("ReqCPUS|ReqMem|ReqTRES", "4|2G|cpu=4,gres/gpu=1,node=1", use_memory=True)
    assert not [line for line in bl.simulate(taken, fat, "easy").warnings if "mem" in line or "gpu" in line]


LIMITS = "ReqCPUS|Partition"
MAX_TIME = {"batch": 7200.0}


def limited(text: str, **options: object) -> tuple[float, float | None]:
    """Give the requested time and the time limit of a job of 1 h with this limit in the partition batch."""
    lines = [line.replace("|02:00:00|", f"|{text}|") for line in dump(LIMITS, "4|batch")]
    row = bl.read_sacct(lines, **options).jobs.row(0, named=True)  # type: ignore[arg-type]
    return row["requested_time"], row.get("time_limit")


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("02:00:00", {}, (7200.0, None)),
        ("UNLIMITED", {}, (YEAR, math.inf)),
        ("UNLIMITED", {"partition_limits": MAX_TIME}, (YEAR, math.inf)),
        ("Partition_Limit", {}, (YEAR, math.inf)),
        ("Partition_Limit", {"partition_limits": MAX_TIME}, (7200.0, None)),
        ("Partition_Limit", {"partition_limits": {"other": 60.0}}, (YEAR, math.inf)),
        ("Partition_Limit", {"unlimited": {"batch": 60.0}, "partition_limits": MAX_TIME}, (7200.0, None)),
        # A job that ran into its limit ends some seconds after it; it was allowed what it asked for.
        ("59:50", {}, (3590.0, None)),
    ],
)
def test_limits_as_they_were_asked_for(
    text: str, options: dict[str, object], expected: tuple[float, float | None]
) -> None:
    """No limit is none, though schedulers plan with a year; that of the partition is its longest."""
    assert limited(text, **options) == expected


def test_unknown_limits_beside_none() -> None:
    """A job whose limit is not known was asked for its run time, also where another has no limit."""
    head, one, two = dump("ReqCPUS", "4", "4")
    lines = [head, one.replace("|02:00:00|", "|UNLIMITED|"), two.replace("|02:00:00|", "||")]
    jobs = bl.read_sacct(lines).jobs
    assert jobs["requested_time"].to_list() == [YEAR, 3600.0]
    assert jobs["time_limit"].to_list() == [math.inf, 3600.0]


@pytest.mark.parametrize("bad", [{"batch": -1.0}, {"batch": math.inf}, 5.0])
def test_limits_of_partitions_are_checked(bad: object) -> None:
    """They are seconds by partition."""
    with pytest.raises(WorkloadError, match=r"partition_limits = .*; must be numbers of seconds from 0 to 2"):
        told("ReqCPUS", "4", partition_limits=bad)


def test_begin_times() -> None:
    """A job that was eligible after its submission could not start before."""
    head = HEAD + "ReqCPUS|Eligible"
    facts = FACTS.replace("T10:00:00|2024-03-01T11:00:00", "T13:00:00|2024-03-01T14:00:00")
    lines = [head, f"1|{facts}4|2024-03-01T10:00:00", f"2|{facts}4|2024-03-01T12:00:00"]
    workload = bl.read_sacct(lines)
    assert workload.jobs["begin_time"].to_list() == [None, 7200.0]
    system = bl.System.homogeneous(nodes=1, resources={"core": 8})
    assert bl.simulate(workload, system, "easy").jobs["start_time"].to_list() == [0.0, 7200.0]
    # One that started before it was eligible has no begin time.
    early = [lines[0], f"1|{FACTS}4|2024-03-01T12:00:00"]
    assert "begin_time" not in bl.read_sacct(early).jobs.columns
    waiting = [f"{head}|Dependency", f"{lines[1]}|", f"{lines[2]}|afterok:1"]
    assert "begin_time" not in bl.read_sacct(waiting, dependencies=True).jobs.columns


@pytest.mark.parametrize("policy", ["easy", "slurm(select=cores)", "slurm"])
def test_memory_is_the_same_for_each_processor(policy: str) -> None:
    """Slurm's controller counts memory by CPU: a task of 3 has three times what one has, rounded up."""
    fields = "ReqCPUS|NNodes|ReqTRES|ReqMem"
    workload = told(fields, "6|2|cpu=6,node=2|7999M", "5|1|cpu=5,gres/gpu=1,node=1|4000Mn", use_memory=True)
    assert all(mem % core == 0 for core, mem in workload.jobs.select("core", "mem").rows())
    system = bl.System.homogeneous(nodes=2, resources={"core": 8, "mem": 8192000, "gpu": 1})
    assert set(bl.simulate(workload, system, policy).jobs["state"]) == {"completed"}
