"""Readers of dumps of a live Slurm: recorded ones, the forms of later releases, and what is refused."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import TYPE_CHECKING, Any

import pytest

from batchlab.errors import DumpError
from batchlab.slurm import LiveJob, LiveState, read_dump
from batchlab.slurm.dumps.jobs import FORMAT
from support.live_dumps import FOLDER, NOW, RELEASES, jobs_of, nodes_of, rows_of_sinfo

if TYPE_CHECKING:
    from pathlib import Path

JSON = FOLDER / "squeue.json"


def written(folder: Path, name: str, content: object) -> Path:
    """Write a file: text, or a document as JSON."""
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def by_id(state: LiveState) -> dict[int, LiveJob]:
    """Return the jobs by number."""
    return {job.job_id: job for job in state.jobs}


def differing(first: LiveState, second: LiveState) -> set[str]:
    """Return the names of the fields in which jobs of two states differ."""
    one, other = by_id(first), by_id(second)
    assert one.keys() == other.keys()
    names = [each.name for each in dataclasses.fields(LiveJob)]
    return {name for key in one for name in names if getattr(one[key], name) != getattr(other[key], name)}


@pytest.fixture(scope="module")
def state() -> LiveState:
    """Read the recorded dumps."""
    return read_dump(
        JSON,
        now=NOW,
        nodes=FOLDER / "sinfo.json",
        reservations=FOLDER / "res.txt",
        priorities=FOLDER / "sprio.txt",
    )


def test_recorded_jobs(state: LiveState) -> None:
    """What the cluster was told is what the dump says."""
    jobs = {job.name: job for job in state.jobs}
    assert state.release == "22.05.8"
    assert {name: job.phase for name, job in jobs.items() if job.phase != "pending"} == {
        **dict.fromkeys(("wide", "whole", "gpu", "uneven", "het"), "running"),
        "held": "held",
    }
    assert jobs["wide"].cpus_on_nodes == (8, 8)
    assert jobs["whole"].exclusive
    assert jobs["whole"].account == "bio"
    assert jobs["gpu"].gres_per_node == {"gpu": 1}
    assert jobs["uneven"].nodes == ("n7", "n8")
    assert sum(jobs["uneven"].cpus_on_nodes or ()) == 5
    assert jobs["both"].partitions == ("batch", "fat")
    assert (jobs["begin"].eligible_time or 0) > NOW
    assert jobs["after"].dependency == "afterok:1"
    assert (jobs["many"].array_indices, jobs["many"].array_limit) == (tuple(range(1, 100)), 5)
    assert jobs["fat"].constraint == "fat"
    assert (jobs["memory"].memory_per_node, jobs["memory"].tasks_per_node) == (900, 1)
    assert {job.het_offset for job in state.jobs if job.name == "het"} == {0, 1}
    sweep = [job for job in state.jobs if job.name == "sweep"]
    assert sorted(job.array_indices for job in sweep if job.holds_nodes) == [(1,), (2,)]


def test_recorded_nodes(state: LiveState) -> None:
    """Nodes that were drained or taken down take no job; all busy CPUs are held by jobs of the dump."""
    nodes = {node.name: node for node in state.nodes or ()}
    assert [name for name, node in nodes.items() if not node.is_available] == ["n1", "n4"]
    assert not state.unexplained
    held: dict[str, int] = {}
    for job in state.holding:
        for name, cpus in zip(job.nodes, job.cpus_on_nodes or (), strict=True):
            held[name] = held.get(name, 0) + cpus
    assert held == {name: node.allocated_cpus for name, node in nodes.items() if node.allocated_cpus}


def test_recorded_reservations_and_priorities(state: LiveState) -> None:
    """Reservations and priorities as they were."""
    (maintenance,) = state.reservations or ()
    assert (maintenance.name, maintenance.nodes) == ("maint", ("n2", "n3"))
    assert maintenance.end_time - maintenance.start_time == 7200
    assert {"MAINT", "IGNORE_JOBS"} <= set(maintenance.flags)
    assert maintenance.users == ("ann",)
    both = next(job for job in state.jobs if job.name == "both")
    found = {each.partition: each for each in state.priorities or () if each.job_id == both.job_id}
    assert found.keys() == {"batch", "fat"}
    assert found["fat"].priority - found["batch"].priority == 1000
    assert found["fat"].factors["PARTITION"] == 2000
    assert read_dump(JSON, now=NOW, reservations=FOLDER / "nores.txt").reservations == ()
    again = read_dump(JSON, now=NOW, priorities=FOLDER / "spriol.txt").priorities or ()
    assert [each.priority for each in again] == [each.priority for each in state.priorities or ()]


def test_text_is_as_json(state: LiveState) -> None:
    """`scontrol show job` has what the JSON has, and unlimited time limits, which that of 22.05 lacks."""
    text = read_dump(FOLDER / "job.txt", now=NOW, nodes=FOLDER / "node.txt")
    # 22.05 has neither planned nodes nor CPUs per task in JSON, and the text no CPUs on nodes.
    assert differing(state, text) == {"cpus_on_nodes", "planned_nodes", "cpus_per_task", "time_limit"}
    assert {job.name for job in text.jobs if job.time_limit == math.inf} == {"whole"}
    assert [(node.name, node.states) for node in text.nodes or ()] == [
        (node.name, node.states) for node in state.nodes or ()
    ]
    assert [node.allocated_cpus for node in text.nodes or ()] == [
        node.allocated_cpus for node in state.nodes or ()
    ]


def test_details_in_one_line(state: LiveState) -> None:
    """`scontrol -o -d show job` has the CPUs on each node."""
    details = by_id(read_dump(FOLDER / "job-details.txt", now=NOW))
    assert details
    for number, job in details.items():
        assert job.cpus_on_nodes == by_id(state)[number].cpus_on_nodes
        assert job.name == by_id(state)[number].name


def test_squeue_text(state: LiveState) -> None:
    """`squeue -o` in the documented format has what it can have."""
    table = read_dump(FOLDER / "squeue.txt", now=NOW)
    assert (FOLDER / "squeue.txt").read_text().count("|") % FORMAT.count("|") == 0
    assert differing(state, table) == {
        *("name", "eligible_time", "time_limit", "nodes_most", "tasks", "tasks_per_node"),
        *("memory_per_cpu", "memory_per_node", "cpus_on_nodes", "requeue", "het_id", "het_offset"),
        "array_limit",
    }


@pytest.mark.parametrize("mode", ["simple", "complex"])
@pytest.mark.parametrize("release", RELEASES)
def test_releases(state: LiveState, release: str, mode: str, tmp_path: Path) -> None:
    """Every release's form of the same jobs and nodes is read as the same state."""
    jobs = written(tmp_path, "jobs.json", jobs_of(release, mode))
    found = read_dump(jobs, now=NOW, nodes=written(tmp_path, "nodes.json", nodes_of(release)))
    assert differing(state, found) <= ({"time_limit"} if release != "22.05" else set())
    assert found.release.startswith(release)
    assert [(n.name, n.is_available, n.allocated_cpus) for n in found.nodes or ()] == [
        (n.name, n.is_available, n.allocated_cpus) for n in state.nodes or ()
    ]
    if release != "22.05":
        assert {job.name for job in found.jobs if job.time_limit == math.inf} == {"whole"}


def test_rows_of_sinfo(state: LiveState, tmp_path: Path) -> None:
    """`sinfo --json` since 23.02 has rows of nodes that are alike; a node of two partitions is one node."""
    found = read_dump(JSON, now=NOW, nodes=written(tmp_path, "sinfo.json", rows_of_sinfo()))
    assert {(n.name, n.is_available, n.cpus) for n in found.nodes or ()} == {
        (n.name, n.is_available, n.cpus) for n in state.nodes or ()
    }
    assert not found.unexplained


def test_hidden_jobs(tmp_path: Path) -> None:
    """Busy CPUs that no job of the dump holds are found, by node."""
    document = jobs_of("22.05")
    document["jobs"] = [job for job in document["jobs"] if job["name"] != "wide"]
    jobs = written(tmp_path, "jobs.json", document)
    wide = next(job for job in jobs_of("22.05")["jobs"] if job["name"] == "wide")
    found = read_dump(jobs, now=NOW, nodes=FOLDER / "sinfo.json").unexplained
    assert sum(found.values()) == 16
    assert len(found) == 2
    assert wide["nodes"].startswith("n[")
    rows = read_dump(jobs, now=NOW, nodes=written(tmp_path, "rows.json", rows_of_sinfo()))
    assert set(rows.unexplained) <= set(found)


def test_table(state: LiveState) -> None:
    """The table has one row per record that has not ended."""
    table = state.table
    assert table["job_id"].n_unique() == table.height
    assert (table.filter(table["phase"] == "running")["ran"] >= 0).all()
    assert table.filter(table["array_tasks"] == 99)["slurm_state"].to_list() == ["PENDING"]


def with_job(**fields: object) -> dict[str, Any]:
    """Return a dump of one job, with some fields changed or left out (None of Python: left out)."""
    job = {"job_id": 7, "job_state": ["PENDING"], "submit_time": NOW - 10, "cpus": 1, "partition": "batch"}
    job |= fields
    return {"jobs": [{key: value for key, value in job.items() if value is not ...}]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty. Write it again by"),
        ("[]", "is a list; the dump is an object"),
        ("{", ":1:2: is not JSON"),
        ('{"jobs": 3}', "jobs must be a list of jobs"),
        ('{"jobs": [3]}', r"jobs\[0\] must be an object"),
        ('{"nodes": []}', "has no jobs"),
        ('{"jobs": [], "errors": [{"error": "no"}]}', "Slurm could not write it"),
        ("JOBID PARTITION NAME USER ST TIME NODES NODELIST(REASON)\n", "is no dump of jobs"),
        ("JOBID|STATE\n1|PENDING\n", "has no column PARTITION"),
        ("JOBID|JOBID\n1|1\n", "column JOBID occurs twice"),
        (with_job(job_id=...), r"jobs\[0\]: has no job_id"),
        (with_job(submit_time=...), "job 7: has no submit_time"),
        (with_job(submit_time="soon"), "job 7: submit_time = 'soon'; must be a number"),
        (with_job(job_state=["PNDING"]), "is no state of a job. Did you mean 'PENDING'"),
        (with_job(job_state=[]), "job 7: has no job_state"),
        (with_job(cpus={"set": True}), "job 7: cpus = {'set': True}; must be a number"),
        (with_job(cpus=1.5), "job 7: cpus = 1.5; must be a whole number"),
        (with_job(cpus=2**50), "job 7: cpus = .*; must be a whole number of at most"),
        (with_job(cpus=-1), "job 7: cpus = -1; must be a number from 0"),
        (with_job(time_limit=True), "job 7: time_limit = True; must be a number"),
        (with_job(job_state="RUNNING", nodes="n[1"), r"job 7: nodes = 'n\[1'; must be names of nodes"),
        (with_job(hold="no"), "job 7: hold = 'no'; must be true or false"),
        (with_job(array_job_id=7, array_task_string="1-5,..."), "is cut off; set SLURM_BITSTR_LEN=0"),
        (with_job(array_job_id=7, array_task_string="5-1"), "must be tasks of an array"),
        (with_job(submit_time=NOW + 7200), "a job was submitted or started 7,200 s after now"),
        ({"jobs": [*with_job()["jobs"], *with_job()["jobs"]]}, "job 7 occurs twice"),
        ("JobId=7 JobState=PENDING\n", r"job 7 \(line 1\): has no SubmitTime"),
        (f"JobId=7 JobState=PENDING SubmitTime={NOW}\n", "has no NumCPUs"),
        ("JobId=7 JobState=PENDING NumCPUs=x\n", "NumCPUs = 'x'; must be a whole number"),
        ("JobId=7 JobState=PENDING NumCPUs=1\n", "has no SubmitTime"),
        ("JobId=7 NumCPUs=1 SubmitTime=today\n", "SubmitTime = 'today'; must be a time"),
        ("JobId=7 NumCPUs=1 TimeLimit=long\n", "TimeLimit = 'long'; must be a time"),
    ],
)
def test_refused_jobs(content: object, message: str, tmp_path: Path) -> None:
    """A wrong dump of jobs is refused with file, record, field, value and rule."""
    with pytest.raises(DumpError, match=message) as error:
        read_dump(written(tmp_path, "jobs.txt", content), now=NOW)
    assert str(error.value).startswith(str(tmp_path / "jobs.txt"))


@pytest.mark.parametrize(
    ("option", "content", "message"),
    [
        ("nodes", '{"jobs": []}', "has neither nodes nor sinfo"),
        ("nodes", '{"nodes": [{"state": "IDLE"}]}', r"nodes\[0\]: has no name"),
        ("nodes", '{"nodes": [{"name": "n1", "state": []}]}', "node n1: has no state"),
        ("nodes", "n1 idle\n", "must begin with NodeName="),
        ("nodes", '{"sinfo": [{"node": {"state": ["IDLE"]}}]}', r"sinfo\[0\]: has no nodes"),
        ("reservations", "x\n", "must begin with ReservationName="),
        ("reservations", "ReservationName=a StartTime=x EndTime=x\n", "must be a time"),
        ("reservations", '{"reservations": [{"name": "a"}]}', "reservation a: has no start_time"),
        ("priorities", "JOBID AGE\n1 2\n", "has no column PRIORITY"),
        ("priorities", "JOBID PRIORITY\n1\n", "has 1 fields, the first line 2"),
        ("priorities", "JOBID PRIORITY\nx 2\n", "JOBID = 'x'; must be the number of a job"),
        ("priorities", "{}", "is JSON, which sprio has not"),
    ],
)
def test_refused_others(option: str, content: str, message: str, tmp_path: Path) -> None:
    """A wrong dump of nodes, reservations or priorities is refused."""
    given = {option: written(tmp_path, "dump.txt", content)}
    with pytest.raises(DumpError, match=message) as error:
        read_dump(JSON, now=NOW, **given)  # type: ignore[arg-type]
    assert str(error.value).startswith(str(tmp_path / "dump.txt"))


@pytest.mark.parametrize(("name", "message"), [("spriow.txt", "has weights"), ("sprion.txt", "leave -n out")])
def test_other_outputs_of_sprio(name: str, message: str) -> None:
    """Weights, and priorities between 0 and 1, are no priorities of jobs."""
    with pytest.raises(DumpError, match=message):
        read_dump(JSON, now=NOW, priorities=FOLDER / name)


@pytest.mark.parametrize("now", ["soon", -1, 0, math.inf, math.nan, True, "1e99", None])
def test_refused_now(now: object) -> None:
    """The time of the dumps is an instant."""
    with pytest.raises(DumpError, match=r"now = .*; must be seconds since 1970"):
        read_dump(JSON, now=now)  # type: ignore[arg-type]


def test_now_in_other_forms() -> None:
    """The instant may be text: seconds, or a time in the time zone."""
    assert {read_dump(JSON, now=each).now for each in (str(NOW), f" {NOW}", f"{NOW}.0")} == {float(NOW)}
    local = "2026-11-27T09:00:00"
    assert read_dump(JSON, now=local).now - read_dump(JSON, now=local, timezone="Europe/Berlin").now == 3600
    with pytest.raises(DumpError, match="timezone = 'Nowhere'"):
        read_dump(JSON, now=NOW, timezone="Nowhere")


def test_names_like_fields(tmp_path: Path) -> None:
    """A name or command with blanks and equal signs is not taken for fields, in one line or several."""
    lines = (FOLDER / "job.txt").read_text().split("\n\n")[0].splitlines()
    lines[0] = lines[0].replace("JobName=wide", "JobName=a Priority=0 NumCPUs=99 x")
    for text in ("\n".join(lines), " ".join(line.strip() for line in lines)):
        (job,) = read_dump(written(tmp_path, "jobs.txt", f"{text}\n"), now=NOW).jobs
        assert (job.cpus, job.phase, job.name) == (16, "running", "a Priority=0 NumCPUs=99 x")
