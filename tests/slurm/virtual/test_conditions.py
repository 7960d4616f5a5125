"""What jobs wait for, in Slurm's numbers: dependencies, begin times, arrays; and cancellations."""

from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

import batchlab as bl
from batchlab.bridge import slurm
from batchlab.errors import ClusterError
from batchlab.slurm.virtual.cluster import ArrayOf, array_option, sleeping_script
from batchlab.slurm.virtual.experiment import returned_stream
from batchlab.slurm.virtual.feed import Fed, feed
from batchlab.slurm.virtual.model import modelled_stream
from support.virtual_clusters import configured


class Instant(slurm.RealClock):
    """A clock on which all instants have come."""

    def now(self) -> float:
        return 1_000_000.2

    def wait_until(self, instant: float, meanwhile: object = None) -> None:
        """Go on at once."""


class Recorder:
    """A cluster that keeps what is submitted and cancelled; it refuses jobs of 7 tasks."""

    def __init__(self) -> None:
        self.submitted: list[list[str]] = []
        self.run_times: list[float | ArrayOf] = []
        self.cancelled: list[object] = []
        self.clock = Instant()

    def submit(
        self, _name: str, *, tasks: int, run_time: float | ArrayOf, options: list[str], **_more: object
    ) -> int:
        self.submitted.append(options)
        self.run_times.append(run_time)
        if tasks == 7:
            raise ClusterError("no")
        # Numbers of arrays leave room for their tasks.
        return 10 * len(self.submitted)

    def cancel(self, *jobs: object) -> None:
        self.cancelled += jobs

    def queue(self) -> dict[int, str]:
        return {}

    def check(self) -> None:
        """All daemons are there."""

    def completions(self) -> str:
        return ""


def fed(folder: Path, jobs: dict[str, Any]) -> tuple[Recorder, Fed, str]:
    """Feed jobs to a recorder; returns it, how it went, and the note on what was not handed on."""
    count = len(jobs["job_id"])
    first = {"submit_time": range(count), "run_time": [60.0] * count, "tasks": [1] * count}
    workload = bl.Workload.from_table(first | jobs)
    configuration = slurm.read_configuration(configured(folder, "NodeName=n[1-4] CPUs=2\n"))
    found = slurm.submissions(workload, configuration)
    recorder = Recorder()
    notes = [note for note in slurm.notes_of(workload, configuration, found) if "handed" in note]
    return recorder, feed(cast("Any", recorder), found), notes[0] if notes else ""


def test_dependencies(tmp_path: Path) -> None:
    """Jobs are named by Slurm's numbers; what a refused job leaves is decided as Slurm decides it."""
    texts = {
        1: None,
        2: "afterok:1,after:1+5",
        3: None,  # refused
        4: "afterok:3",
        5: "afterany:3",
        6: "afterok:3?afterok:1",
        7: "afternotok:3?afterok:1",
        8: "afterok:9,afterany:2",
        9: "afterany:4",
    }
    jobs = {
        "job_id": [*texts],
        "dependency": [*texts.values()],
        "depends_on": [None, [1], *[None] * 7],
        "tasks": [1, 1, 7, 1, 1, 1, 1, 1, 1],
    }
    recorder, found, note = fed(tmp_path, jobs)
    assert recorder.submitted == [
        [],
        ["--dependency=afterok:10,afterok:10,after:10+5"],
        [],
        # The job that depends on a refused one is not submitted.
        [],
        ["--dependency=afterok:10"],
        [],
        ["--dependency=afterany:20"],
        [],
    ]
    refusals = {each.job.job_id: each.refusal for each in found.issued if each.refusal is not None}
    assert refusals[3] == "no"
    assert refusals[4] == "virtual nodes: it depends on a job that sbatch refused (afterok:3)."
    assert refusals.keys() == {3, 4}
    assert note.endswith("dependency of 1 job (it names jobs that are not submitted before)")


def test_alternatives_with_depends_on(tmp_path: Path) -> None:
    """Sbatch knows all or any; a job that asks for both waits for any, and a note says so."""
    jobs = {"job_id": [1, 2], "dependency": [None, "afterok:1?afterany:1"], "depends_on": [None, [1]]}
    recorder, _, note = fed(tmp_path, jobs)
    assert recorder.submitted[1] == ["--dependency=afterok:10?afterany:10"]
    assert "depends_on of 1 job (sbatch does not combine it with alternatives in dependency)" in note


def test_arrays(tmp_path: Path) -> None:
    """An array is one submission whose tasks sleep for their own times; others depend on it or on a task."""
    jobs = {
        "job_id": [5, 6, 7],
        "array": ["0-4:2%1", None, None],
        "dependency": [None, "afterok:5", "afterany:5_2"],
        "run_time": [30.0, 1.0, 1.0],
    }
    recorder, found, note = fed(tmp_path, jobs)
    assert recorder.run_times == [ArrayOf({0: 30.0, 2: 30.0, 4: 30.0}, 1), 1.0, 1.0]
    assert recorder.submitted == [[], ["--dependency=afterok:10"], ["--dependency=afterany:10_2"]]
    assert array_option(recorder.run_times[0]) == ["--array=0,2,4%1"]
    assert "2) exec sleep 30.000;;\n" in sleeping_script(recorder.run_times[0])
    assert [each.slurm_id for each in found.issued] == [10, 10, 10, 20, 30]
    assert not note
    day = "StartTime=2026-11-22T10:00:0"
    text = "".join(
        f"JobId={number} UserId=r(0) GroupId=r(0) Name=x JobState={state} Partition=batch TimeLimit=1 "
        f"{day}{start} EndTime=2026-11-22T10:00:09 NodeList=n1 NodeCnt=1 ProcCnt=1 WorkDir=/ "
        f"ReservationName= Tres= Account= QOS= WcKey= Cluster=c SubmitTime=2026-11-22T10:00:00 "
        f"EligibleTime=2026-11-22T10:00:00{task} DerivedExitCode=0:0 ExitCode=0:0 \n"
        for number, state, start, task in (
            (11, "COMPLETED", 1, " ArrayJobId=10 ArrayTaskId=0"),
            (10, "TIMEOUT", 2, " ArrayJobId=10 ArrayTaskId=4"),
            (20, "COMPLETED", 3, ""),
        )
    )
    nodes = slurm.nodes_of(bl.System.homogeneous(nodes=1, resources={"core": 1}))
    stream = returned_stream(text, found, nodes)
    assert stream["state"].to_list() == ["completed", "queued", "killed", "completed", "queued"]
    assert stream["slurm_id"].to_list() == [11, 10, 10, 20, 30]
    assert stream["array_index"].to_list() == [0, 2, 4, None, None]


def test_unequal_tasks(tmp_path: Path) -> None:
    """Tasks of an array that ask for different things are jobs of their own, and a note says so."""
    jobs = {
        "job_id": [5, 6, 7],
        "submit_time": [0.0, 0.0, 1.0],
        "array_id": [5, 5, None],
        "array_index": [0, 1, None],
        "tasks": [1, 2, 1],
        "dependency": [None, None, "afterok:5"],
    }
    recorder, _, note = fed(tmp_path, jobs)
    assert recorder.submitted == [[], [], ["--dependency=afterok:10:20"]]
    assert note.endswith("array_id of 2 jobs (tasks of one array differ in what they ask for)")


def test_singletons(tmp_path: Path) -> None:
    """Slurm compares names of jobs, as all jobs have one user there."""
    jobs = {
        "job_id": [1, 2, 3],
        "user": ["ann", "bob", "ann"],
        "job_name": ["a", "a", "a"],
        "dependency": ["singleton"] * 3,
    }
    recorder, _, _ = fed(tmp_path, jobs)
    assert [each[0] for each in recorder.submitted] == [
        "--job-name=name0",
        "--job-name=name1",
        "--job-name=name0",
    ]
    assert {each[1] for each in recorder.submitted} == {"--dependency=singleton"}


def test_begin_times_and_cancellations(tmp_path: Path) -> None:
    """A begin time counts from the stream's origin; a job that the log cancels sleeps until then."""
    jobs = {
        "job_id": [1, 2],
        "submit_time": [100.0, 110.0],
        "begin_time": [160.5, None],
        "cancelled_after": [None, 30.0],
        "run_time": [60.0, 0.0],
        "requested_time": [60.0, 600.0],
    }
    recorder, found, note = fed(tmp_path, jobs)
    # The origin is the second 1,000,001, 1970-01-12T13:46:41.
    assert recorder.submitted == [["--begin=1970-01-12T13:47:42"], []]
    assert recorder.run_times == [60.0, 30.0]
    assert recorder.cancelled == ["20"]
    assert not note
    stream = slurm.planned_stream([each.job for each in found.issued])
    run = slurm.run_model(
        stream, slurm.nodes_of(MACHINE), slurm.read_configuration(tmp_path / "conf"), "fcfs"
    )
    assert run.jobs.select("state", "start_time", "end_time").rows() == [
        ("completed", 61.0, 121.0),
        ("cancelled", 10.0, 40.0),
    ]


MACHINE = bl.System.homogeneous(nodes=1, resources={"core": 1})


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("afterok:1,afternotok:2", "afterany:1,afterany:2"),
        ("afterok:1:9", "afterany:1"),
        ("afterok:2?afterany:1", "afterany:1"),
        ("afterok:9", None),
        ("after:1+2,singleton", "after:1+2,singleton"),
    ],
)
def test_dependencies_of_the_model(tmp_path: Path, text: str, left: str | None) -> None:
    """Jobs that ended in Slurm in some way end in the model: what held there holds."""
    jobs = {"job_id": [1, 2, 3], "dependency": [None, None, text.replace(":9", "")]}
    jobs |= {"user": ["a"] * 3, "job_name": ["x", "y", "z"]} if "single" in text else {}
    if text == "afterok:9":
        jobs["dependency"] = [None, None, "afterok:1"]
    _, found, _ = fed(tmp_path, jobs)
    stream = returned_stream("", found, slurm.nodes_of(MACHINE))
    ended = stream.with_columns(
        run_time=pl.lit(5.0),
        state=pl.Series(["completed", "killed", "completed"]),
        dependency=pl.Series([None, None, text]),
    )
    assert modelled_stream(ended)["dependency"].to_list() == [None, None, left]
