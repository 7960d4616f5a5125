"""Simulations that begin in the state of a live Slurm, and the outlook of its waiting jobs."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import batchlab as bl
from batchlab.core.vocabulary import JOB_STATES
from batchlab.errors import DumpError
from batchlab.slurm import LiveJob, LiveState, LiveTranslation, read_configuration, read_dump, translate_dump
from batchlab.slurm.dumps.causes import reason_in_words
from batchlab.workload import Header
from support.live_dumps import FOLDER, NOW

HOUR = 3600.0


def live(*jobs: LiveJob) -> LiveTranslation:
    """Translate jobs on the recorded machine, without other dumps."""
    state = LiveState(now=NOW, jobs=jobs, files=("jobs.json",))
    return translate_dump(state, read_configuration(FOLDER / "slurm.conf"), order="dump")


def job(job_id: int, cpus: int, limit: float, **fields: object) -> LiveJob:
    """Return a job of the partition fat (four nodes of eight CPUs) that waits."""
    known = {"phase": "pending", "slurm_state": "PENDING", "partitions": ("fat",), "priority": 1000 - job_id}
    times = {"submit_time": NOW - 600.0 + job_id, "time_limit": limit}
    return LiveJob(job_id=job_id, cpus=cpus, **{**known, **times, **fields})  # type: ignore[arg-type]


def running(job_id: int, nodes: tuple[str, ...], limit: float) -> LiveJob:
    """Return a job that has run for five minutes on whole nodes."""
    fields = {"phase": "running", "slurm_state": "RUNNING", "nodes": nodes, "start_time": NOW - 300.0}
    return job(job_id, 8 * len(nodes), limit, **fields)


@pytest.mark.parametrize("jobs", ["squeue.json", "job.txt", "squeue.txt"])
@pytest.mark.parametrize("order", ["configured", "dump"])
def test_recorded_state(jobs: str, order: str) -> None:
    """A simulation begins in the recorded state: running jobs are where they are; no other started before."""
    state = read_dump(
        FOLDER / jobs,
        now=NOW,
        nodes=FOLDER / "node.txt",
        reservations=FOLDER / "res.txt",
        priorities=FOLDER / "sprio.txt",
    )
    configuration = read_configuration(FOLDER / "slurm.conf")
    made = translate_dump(state, configuration, order=order)  # type: ignore[arg-type]
    simulation = made.simulation()
    simulation.run_until(made.now + 4 * HOUR)
    result = simulation.result().jobs
    found = result[made.running["row"].to_list()]
    assert found["start_time"].to_list() == made.running["start_time"].to_list()
    assert found["nodes"].to_list() == made.running["nodes"].to_list()
    waiting = result.filter(~pl.col("job_id").is_in(made.running["job_id"].implode()))
    assert (waiting["start_time"].drop_nulls() >= made.now).all()
    held = made.workload.jobs["job_id"][made.held.tolist()]
    assert waiting.filter(pl.col("job_id").is_in(held.implode()))["start_time"].to_list() == [None]
    assert not {0, 3} & {node for nodes in waiting["nodes"] for node in nodes}


def test_near_the_plan_of_slurm() -> None:
    """By limits, jobs start when Slurm's backfill planned them: the controller saw the same state."""
    state = read_dump(FOLDER / "job.txt", now=NOW, nodes=FOLDER / "node.txt", reservations=FOLDER / "res.txt")
    made = translate_dump(state, read_configuration(FOLDER / "slurm.conf"), order="dump")
    simulation = made.simulation()
    simulation.run_until(made.now + 4 * HOUR)
    starts = dict(simulation.result().jobs.select("job_id", "start_time").rows())
    errors = {
        each.name: abs((each.planned_start or 0) - (starts[each.job_id] or 0) - made.origin)
        for each in state.waiting
    }
    assert max(errors[name] for name in ("both", "excl", "memory")) <= 60


def test_outlook_by_hand() -> None:
    """Two nodes are busy for two hours. The head takes all: a job behind it has 115 minutes on a free one."""
    made = live(
        running(1, ("n5", "n6"), 2 * HOUR),
        job(2, 32, HOUR, nodes_least=4),
        job(3, 8, 3 * HOUR),
        job(4, 16, HOUR),
        job(5, 1, HOUR, phase="held", priority=0, reason="JobHeldUser"),
        job(6, 1, HOUR, dependency="afterok:2", reason="Dependency"),
    )
    table = made.outlook()
    assert table["job_id"].to_list() == [2, 3, 4, 5, 6]
    assert table["jobs_before"].to_list() == [0, 1, 2, None, None]
    assert table["core_hours_before"].to_list() == [0, 32, 56, None, None]
    limits = dict(table.select("job_id", "largest_limit").rows())
    assert limits[2] is None
    # Slurm's backfill plans in steps of a minute.
    assert 113 * 60 <= limits[3] <= 115 * 60
    assert limits[4] == HOUR
    assert limits[5] is None
    planned = np.array(table["planned_start"].to_list()[:1], float)
    assert 2 * HOUR - 300 <= planned[0] <= 2 * HOUR
    names = ("gate", "subject", "detail", "cause", "slurm_cause")
    unseen = "the scheduler has not considered it yet"
    assert table.select(names).rows() == [
        ("resources", "core", "earlier", "resources: core, used by earlier jobs", unseen),
        ("resources", "core", "overtakers", "resources: core, used by overtakers", unseen),
        (None, None, None, "none: it starts in the next calls of the controller", unseen),
        ("held", None, None, "held", "it is held by its user"),
        ("dependency", None, None, "dependency", "it depends on other jobs: afterok:2"),
    ]


def test_limits_of_some_jobs() -> None:
    """Limits are computed for the jobs that are named."""
    made = live(running(1, ("n5", "n6", "n7"), HOUR), job(2, 4, HOUR), job(3, 4, HOUR))
    assert made.outlook(limits=[3])["largest_limit"].to_list() == [None, HOUR]
    assert made.outlook(limits=False)["largest_limit"].to_list() == [None, None]


def test_running_tasks_of_an_array_count() -> None:
    """Two tasks of an array run, and no more may: the next starts when one ends."""
    array = {"array_id": 2, "array_limit": 2, "submit_time": NOW - 600.0}
    run = {"phase": "running", "slurm_state": "RUNNING", "nodes": ("n5",), "start_time": NOW - 300.0}
    made = live(
        job(4, 1, HOUR, array_indices=(1,), **run, **array),
        job(5, 1, HOUR, array_indices=(2,), **run, **array),
        job(2, 1, HOUR, array_indices=(3, 4, 5), **array),
    )
    planned = made.outlook(limits=False)["planned_start"].to_list()
    assert [round(each / HOUR, 1) for each in planned] == [0.9, 0.9, 1.9]
    assert made.outlook()["largest_limit"].to_list() == [None] * 3


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("Resources", "too little is free"),
        ("QOSMaxJobsPerUserLimit", "the limit of the QOS JobsPerUserLimit"),
        ("AssocGrpCpuLimit", "its account, or one above it, has reached the limit CpuLimit"),
        ("ReqNodeNotAvail, UnavailableNodes:n1", "down, drained or reserved"),
        ("SomethingNew", "SomethingNew"),
        ("", "has not considered it yet"),
    ],
)
def test_reasons(reason: str, words: str) -> None:
    """Reasons of Slurm in words."""
    assert words in reason_in_words(job(1, 1, HOUR, reason=reason))


@pytest.mark.parametrize(
    ("fields", "reason", "gate", "differs"),
    [
        ({}, "Resources", "resources: core, used by earlier jobs", False),
        ({}, "Priority", "resources: core, used by earlier jobs", True),
        ({"eligible_time": NOW + HOUR}, "BeginTime", "begin time", False),
        ({"eligible_time": NOW + HOUR}, "Priority", "begin time", True),
        ({"phase": "held", "priority": 0}, "JobHeldAdmin", "held", True),
    ],
)
def test_slurm_is_named_where_it_says_something_else(
    fields: dict[str, object], reason: str, gate: str, *, differs: bool
) -> None:
    """All nodes are busy: the gate is the cause, and Slurm's reason stands beside it if it differs."""
    busy = running(1, ("n5", "n6", "n7", "n8"), HOUR)
    made = live(busy, job(2, 8, HOUR, reason=reason, **fields))
    found = made.outlook(limits=False)
    assert found.select("reason", "cause").rows() == [(reason, gate)]
    assert (found["slurm_cause"][0] is not None) == differs
    text = " ".join(str(made.forecast(5, limits=False)).split())
    assert (f"{gate}; Slurm: {reason} (" in text) == differs


def test_the_subject_is_a_number_of_slurm() -> None:
    """Tasks of an array have numbers of their own in the simulation; the outlook names them as Slurm does."""
    array = {"array_id": 20, "array_indices": (1, 2), "submit_time": NOW - 600.0, "nodes_least": 4}
    made = live(running(1, ("n5", "n6"), 2 * HOUR), job(20, 32, HOUR, **array), job(30, 8, 3 * HOUR))
    found = made.outlook(limits=False)
    assert found["slurm_id"].to_list() == ["20_1", "20_2", "30"]
    assert found.select("subject", "cause").rows()[-1] == ("20_1", "would delay: job 20_1")


def test_a_job_that_can_never_start() -> None:
    """The simulation rejects what no partition can run: it has no gate, and does not start."""
    found = live(job(2, 1000, HOUR, reason="PartitionNodeLimit")).outlook(limits=False)
    cause = "rejected: the simulated machine can never run it"
    assert found.select("gate", "planned_start", "cause").rows() == [(None, None, cause)]


def test_history() -> None:
    """Jobs of a log that ended before now are past jobs; they change no start, and count in the history."""
    jobs = (running(1, ("n5", "n6"), 2 * HOUR), job(2, 32, HOUR, nodes_least=4), job(3, 8, HOUR, user="ann"))
    state = LiveState(now=NOW, jobs=jobs, files=("jobs.json",))
    configuration = read_configuration(FOLDER / "slurm.conf")
    log = bl.Workload.from_table(
        {
            "submit_time": [0.0, 10.0, 20.0],
            "start_time": [5.0, 15.0, None],
            "end_time": [65.0, 1e9, None],
            "run_time": [60.0, 1e9, 0.0],
            "requested_time": [600.0, 1e9, 60.0],
            "tasks": [8, 8, 8],
            "user": ["ann", "ann", "bob"],
        },
        header=Header.from_fields({"UnixStartTime": NOW - 86_400}),
    )
    made = translate_dump(state, configuration, order="dump", history=log)
    assert made.workload.jobs["user"].to_list() == [None, None, "ann", "ann"]
    assert made.ended.rows() == [(4, made.now - 86_395, made.now - 86_335)]
    assert made.workload.first_submission == made.now - 86_400
    plain = translate_dump(state, configuration, order="dump").outlook()
    assert made.outlook().drop("planned_start").equals(plain.drop("planned_start"))
    simulation = made.simulation()
    assert simulation.status().state.tolist()[-1] == JOB_STATES.index("completed")
    with pytest.raises(DumpError, match="history: has no column start_time"):
        translate_dump(
            state,
            configuration,
            history=bl.Workload.from_table({"submit_time": [0], "run_time": [1], "tasks": [1]}),
        )
