"""What can be asked of a run, answered by hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.monitor.questions import QUESTIONS, answer, picture
from batchlab.monitor.snapshot import History, RunFacts, Snapshot

if TYPE_CHECKING:
    from typing import Any


def test_status(snapshot: Snapshot) -> None:
    """Counts, shares and costs; without a question the same."""
    status = answer(snapshot, ["status"])
    assert answer(snapshot, []) == status
    assert status == {
        "time": 10.0,
        "simulated": 10.0,
        "workload": "by hand",
        "policy": "fcfs",
        "phase": "running",
        "date": None,
        "jobs": 4,
        "finished": 0,
        "loaded": 1,
        "queued": 1,
        "running": 2,
        "completed": 0,
        "killed": 0,
        "rejected": 0,
        "cancelled": 0,
        "utilisation": {"core": 5 / 8, "mem": 7 / 16, "gpu": 1.0},
        "drained_nodes": 0,
        "elapsed": 2.0,
        "cpu_time": 0.5,
        "memory": 123_000_000,
        "speed": 5.0,
        "pace": None,
        "paused": False,
    }


def test_queued_and_running(snapshot: Snapshot) -> None:
    """Waiting jobs in the order of the queue, running ones with their nodes and latest ends."""
    waiting = {"job_id": 13, "submit_time": 10.0, "wait": 0.0, "tasks": 4, "requested_time": 30.0}
    assert answer(snapshot, ["queued"]) == {"time": 10.0, "jobs": [waiting]}
    jobs: Any = answer(snapshot, ["running"])["jobs"]
    assert [(job["job_id"], job["nodes"], job["expected_end"]) for job in jobs] == [
        (11, "0-1", 120.0),
        (12, "1", 45.0),
    ]


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("11", {"state": "running", "wait": 0.0, "start_time": 0.0, "nodes": "0-1"}),
        ("13", {"state": "queued", "tasks": 4}),
        ("14", {"state": "loaded", "wait": 0.0}),
    ],
)
def test_a_job(number: str, expected: dict[str, object], snapshot: Snapshot) -> None:
    """By its number in the log, whatever its state."""
    assert expected.items() <= answer(snapshot, ["job", number]).items()


def test_a_job_of_the_past(simulation: bl.Simulation) -> None:
    """With when it was."""
    simulation.run_until()
    late = Snapshot(RunFacts.of(simulation, ""), simulation.status(), "done", 0.0, 1.0, 1.0)
    known = answer(late, ["job", "12"])
    assert {"state": "completed", "start_time": 5.0, "end_time": 25.0, "wait": 0.0}.items() <= known.items()


def test_a_node(snapshot: Snapshot) -> None:
    """What it has, what is free, and who is on it."""
    node: Any = answer(snapshot, ["node", "1"])
    assert node["capacity"] == {"core": 4, "mem": 8, "gpu": 2}
    assert not node["drained"]
    assert node["free"] == {"core": 1, "mem": 2, "gpu": 0}
    assert [job["job_id"] for job in node["jobs"]] == [11, 12]


def test_a_node_whose_jobs_have_ended(later: Snapshot, simulation: bl.Simulation) -> None:
    """Jobs that ended lately are known, and are not on it."""
    simulation.run_until(1000)
    done = Snapshot(later.facts, simulation.status(latest=4), "done", 0.0, 2.0, 0.5)
    assert answer(done, ["node", "1"])["jobs"] == []


def test_utilisation(snapshot: Snapshot) -> None:
    """Per resource, as amounts and as a share."""
    resources: Any = answer(snapshot, ["utilisation"])["resources"]
    assert resources["core"] == {"used": 5, "capacity": 8, "utilisation": 5 / 8}
    assert resources["gpu"] == {"used": 2, "capacity": 2, "utilisation": 1.0}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["queue"], "nothing is called 'queue'. Did you mean 'queued'?"),
        (["job"], "'job' must be followed by the job's number; given nothing"),
        (["queued", "3"], "'queued' takes nothing after it; given '3'"),
        (["job", "12", "13"], "given '12 13'"),
        (["job", "-1"], "job '-1': must be a whole number"),
        (["job", "9" * 99], "must be a whole number"),
        (["job", "15"], "no job has the number 15; the workload has 4 jobs"),
        (["node", "2"], "no node 2; nodes are numbered from 0 to 1"),
    ],
)
def test_other_questions_are_refused(words: list[str], said: str, snapshot: Snapshot) -> None:
    """With what can be asked."""
    with pytest.raises(bl.MonitorError) as refused:
        answer(snapshot, words)
    assert said in str(refused.value)


def test_answers_are_documents(snapshot: Snapshot) -> None:
    """All of them are JSON without NaN."""
    words = {"job": ["11"], "node": ["0"]}
    for name in QUESTIONS:
        json.dumps(answer(snapshot, [name, *words.get(name, [])]), allow_nan=False)


def test_the_picture(snapshot: Snapshot) -> None:
    """What the page draws: the machine, and who holds how much on which node."""
    drawn: Any = picture(snapshot, History(("core", "mem", "gpu")).since(-1, 0))
    assert drawn["system"]["groups"] == [[1, [4, 8, 0]], [1, [4, 8, 2]]]
    assert drawn["placements"] == [
        [11, 0, 0.0, 120.0, [2, 1, 0], [0, 1], [1, 1], 0.0],
        [12, 1, 5.0, 45.0, [1, 5, 2], [1], [1], 5.0],
    ]
    assert (drawn["ended"], drawn["known_since"]) == ([], 0.0)
    assert drawn["queue"] == [[13, 10.0, 4, 30.0]]
    json.dumps(drawn, allow_nan=False)


def test_the_past_is_in_the_picture(later: Snapshot, simulation: bl.Simulation) -> None:
    """With the nodes of the jobs that ended last, and from when on none of them is missing."""
    nothing = History(("core", "mem", "gpu")).since(-1, 0)
    drawn: Any = picture(later, nothing)
    assert drawn["ended"] == [[12, 1, 5.0, 25.0, [1, 5, 2], [1], [1], 5.0]]
    assert drawn["known_since"] == 0.0
    simulation.run_until(1000)
    facts = later.facts
    last: Any = picture(Snapshot(facts, simulation.status(latest=2), "done", 0.0, 2.0, 0.5), nothing)
    assert [(job[0], job[3]) for job in last["ended"]] == [(13, 130.0), (14, 131.0)]
    assert last["known_since"] == 130.0
    assert (
        picture(Snapshot(facts, simulation.status(), "done", 0.0, 2.0, 0.5), nothing)["known_since"] == 131.0
    )


def test_whole_nodes_are_marked() -> None:
    """A job that has its nodes for itself holds all of them."""
    table = {"submit_time": [0], "run_time": [9], "tasks": [1], "exclusive": [True]}
    system = bl.System.homogeneous(nodes=1, resources={"core": 4, "gpu": 0})
    simulation = bl.Simulation(bl.Workload.from_table(table), system, "fcfs")
    simulation.run_until(0)
    seen = Snapshot(RunFacts.of(simulation, ""), simulation.status(), "running", 0.0, 1.0, 1.0)
    history = History(system.resources)
    history.add(simulation.gauges())
    drawn: Any = picture(seen, history.since(-1, 0))
    assert drawn["placements"][0][4] is None
    assert drawn["utilisation"] == {"core": 1.0, "gpu": None}
    assert drawn["history"]["utilisation"] == {"core": [1.0], "gpu": [None]}


@pytest.mark.parametrize(
    ("header", "date"),
    [
        ("; UnixStartTime: 1000000000\n; TimeZoneString: Europe/Stockholm", "2001-09-09T03:46:50+02:00"),
        ("; UnixStartTime: 1000000000\n; TimeZoneString: Nowhere/Else", "2001-09-09T01:46:50+00:00"),
        ("; UnixStartTime: 1000000000", "2001-09-09T01:46:50+00:00"),
        ("; MaxProcs: 2", None),
    ],
)
def test_dates_are_the_log_s(header: str, date: str | None) -> None:
    """In its own time zone, where it names one that exists."""
    workload = bl.read_swf([*header.splitlines(), "1 10 -1 50 2 -1 -1 2 60 -1 1 1 1 -1 -1 -1 -1 -1"])
    simulation = bl.Simulation(workload, bl.System.homogeneous(nodes=2, resources={"core": 1}), "fcfs")
    simulation.run_until(10)
    seen = Snapshot(RunFacts.of(simulation, ""), simulation.status(), "running", 0.0, 1.0, 1.0)
    assert answer(seen, [])["date"] == date
    assert seen.facts.date(1e300) is None
