"""Why a job waited, by hand: who had the machine, what set the start, and who overtook the job."""

from __future__ import annotations

import re
from math import fsum
from typing import Any

import numpy as np
import polars as pl
import pytest

import batchlab as bl
from batchlab.generate import demo_system, demo_workload

Jobs = list[tuple[float, float, float, int]]


def run(policy: str, jobs: Jobs, *, nodes: int = 1, cores: int = 4, **options: Any) -> bl.Result:  # noqa: ANN401  # those of simulate
    """Run jobs (submit, run time, limit, tasks) on equal nodes; columns of the jobs by name."""
    system = options.pop("system", bl.System.homogeneous(nodes=nodes, resources={"core": cores}))
    names = ("submit_time", "run_time", "requested_time", "tasks")
    table = {name: [job[place] for job in jobs] for place, name in enumerate(names)}
    table |= options.pop("columns", {})
    return bl.simulate(bl.Workload.from_table(table), system, policy, **options)


def held(result: bl.Result, job: int) -> dict[str, float]:
    """Give the unit-seconds of the holders that had some."""
    table = result.why(job).capacity.table.filter(pl.col("unit_seconds") > 0)
    return dict(table.select("holder", "unit_seconds").iter_rows())


def links(result: bl.Result, job: int) -> list[tuple[int, float, float]]:
    """Give job, begin and end of each link."""
    return [*result.why(job).chain.links.select("job_id", "start_time", "end_time").iter_rows()]


def test_a_job_that_is_stopped_by_one_before_it() -> None:
    """Under none a job that fits all the time is idle capacity, and starts when the job before it can."""
    result = run("fcfs", [(0, 100, 100, 3), (10, 50, 50, 2), (20, 20, 20, 1)])
    assert held(result, 2) == {"running": 270, "idle": 90}
    assert held(result, 3) == {"running": 240, "idle_enough": 80}
    assert links(result, 3) == [(1, 20, 100)]
    assert result.why(3).chain.ending == "reached"


def test_numbers_of_jobs() -> None:
    """NumPy's numbers are numbers too; one that no job can have is refused."""
    result = run("fcfs", [(0, 100, 100, 3), (10, 50, 50, 2)])
    assert result.why(np.int64(2)).wait == 90  # type: ignore[arg-type]  # as from a column
    with pytest.raises(bl.errors.ResultError, match="no job of this run has this number"):
        result.why(10**400)


def test_instants_are_dates_if_the_run_has_a_calendar() -> None:
    """Begin and end of the wait, the ends that set the start, and the starts of overtakers."""
    system = bl.System.homogeneous(nodes=1, resources={"core": 4}, start_time=86_400)
    jobs: Jobs = [(0, 60, 100, 3), (10, 50, 50, 4), (20, 30, 100, 1), (30, 70, 70, 1)]
    told = str(run("easy", jobs, system=system).why(3))
    assert "from 1970-01-02 00:00:20 to 1970-01-02 00:02:30" in told.replace("\n", " ")
    assert "1970-01-02 00:01:40" in told
    assert "1970-01-02 00:00:30" in told


def test_a_wait_without_gates() -> None:
    """A requeued job ran all the time before its last start, so that nothing held it back."""
    events = [{"time": 30, "event": "requeue", "job_id": 1}]
    answer = run("easy", [(0, 100, 100, 4)], events=events, explain=True).why(1)
    assert answer.wait == 30
    assert "gate" not in str(answer)
    assert "gate" not in answer._repr_html_()


def test_a_run_without_jobs() -> None:
    """Nothing waited, and there was nothing to start."""
    assert str(run("easy", []).waiting_summary()) == "The run has no jobs."
    assert str(run("easy", [(0, 1, 1, 1)]).waiting_summary()).startswith("No job waited")


def test_a_job_that_is_backfilled_around() -> None:
    """Under easy an overtaker has its part, and is a link where the job waited for its end."""
    result = run("easy", [(0, 60, 100, 3), (10, 50, 50, 4), (20, 30, 100, 1), (30, 70, 70, 1)])
    assert held(result, 2) == {"running": 150, "overtook": 70, "idle": 140}
    assert (links(result, 2), result.why(2).chain.rest) == ([(4, 30, 100)], 20)
    assert held(result, 3) == {"running": 120, "before": 200, "overtook": 70, "idle_enough": 130}
    answer = result.why(3)
    assert links(result, 3) == [(2, 100, 150), (4, 30, 100)]
    assert (answer.chain.rest, answer.chain.ending) == (10, "at_once")
    assert answer.chain.links["overtook"].to_list() == [False, True]
    assert answer.overtakers.select("job_id", "start_time", "unit_seconds").rows() == [(4, 30, 70)]


def test_of_two_ends_the_needed_one() -> None:
    """Of two jobs that end at the start, that is a link for whose end the job waited."""
    result = run("easy", [(0, 100, 100, 1), (0, 100, 100, 3), (10, 20, 20, 3)])
    assert links(result, 3) == [(2, 10, 100)]
    assert links(run("easy", [(0, 100, 100, 2), (0, 100, 100, 2), (10, 20, 20, 2)]), 3) == [(1, 10, 100)]


def test_a_dependency_comes_before_other_ends() -> None:
    """A job that fits all the time waits for the job that it depends on, not for the first by row."""
    jobs: Jobs = [(0, 50, 50, 1), (0, 50, 50, 1), (0, 10, 10, 1)]
    result = run("easy", jobs, columns={"depends_on": [[], [], [2]]})
    assert links(result, 3) == [(2, 0, 50)]


def test_a_requeued_job() -> None:
    """The earlier run of a job is a part of its wait of its own, and may be a link of others."""
    events = [{"time": 30, "event": "requeue", "job_id": 1}]
    result = run("sjf", [(0, 100, 100, 4), (10, 20, 20, 4)], events=events)
    assert result.jobs["start_time"].to_list() == [50, 30]
    assert held(result, 1) == {"own_run": 4 * 30, "overtook": 4 * 20}
    assert links(result, 1) == [(2, 30, 50), (1, 0, 30)]
    assert links(result, 2) == [(1, 10, 30)]


def test_nodes_of_a_partition() -> None:
    """Only the nodes that a job may use count; jobs on others overtake it on other nodes."""
    parts = (bl.Partition("a", nodes="0-2"), bl.Partition("b", nodes="2-3"), bl.Partition("c", nodes="3"))
    system = bl.System((bl.NodeGroup("n", 4, {"core": 1}),), partitions=parts)
    jobs: Jobs = [(0, 100, 100, 2), (10, 50, 50, 3), (20, 40, 40, 1), (20, 40, 40, 1), (30, 10, 10, 1)]
    result = run("easy", jobs, system=system, columns={"partition": ["a", "a", "b", "c", "a"]})
    assert result.jobs["start_time"].to_list() == [0, 100, 20, 20, 60]
    assert held(result, 5) == {"running": 90}
    assert held(result, 2) == {"running": 180, "overtook": 40 + 10, "idle": 270 - 180 - 50}
    answer = result.why(2)
    assert answer.capacity.units == 3
    assert answer.overtakers.select("job_id", "unit_seconds", "rule").rows() == [
        (3, 40, None),
        (4, 0, "other_nodes"),
        (5, 10, None),
    ]


def test_maintenance_is_unavailable() -> None:
    """Nodes of a reservation under way are not available, and no end sets a start after it."""
    reserved = bl.Reservation("works", start=100, duration=100)
    system = bl.System((bl.NodeGroup("n", 4, {"core": 1}),), reservations=(reserved,))
    result = run("easy", [(0, 30, 120, 4), (5, 30, 30, 4), (30, 50, 50, 4)], system=system)
    assert result.jobs["start_time"].to_list() == [200, 5, 35]
    assert held(result, 1) == {"overtook": 4 * 80, "unavailable": 4 * 100, "idle_enough": 4 * 20}
    answer = result.why(1)
    assert (answer.chain.ending, answer.chain.rest) == ("no_end", 200)
    assert "No job ended when it started" in str(answer)
    assert "No job ended when it started" in answer._repr_html_()


def test_the_scarcest_resource_is_the_unit() -> None:
    """A job of much memory is measured by memory."""
    system = bl.System.homogeneous(nodes=1, resources={"core": 4, "mem": 100})
    columns = {"mem": [60, 50], "core": [1, 1]}
    result = run("easy", [(0, 30, 30, 1), (10, 30, 30, 1)], system=system, columns=columns)
    assert (result.why(2).capacity.resource, result.why(2).capacity.asked) == ("mem", 50)
    assert held(result, 2) == {"running": 60 * 20, "idle": 40 * 20}


def test_a_job_that_never_starts() -> None:
    """It has a wait to its cancellation, or to the end of the run, and no chain."""
    events = [{"time": 40, "event": "cancel", "job_id": 2}]
    result = run("easy", [(0, 100, 100, 4), (10, 30, 30, 4)], events=events)
    answer = result.why(2)
    assert (answer.wait, answer.has_started, answer.chain.ending) == (30, False, "not_started")
    assert held(result, 2) == {"running": 120}
    assert "was cancelled before it started" in str(answer)


def test_resized_jobs_hold_what_they_hold() -> None:
    """The parts of waits behind malleable jobs add up to the wait."""
    jobs = [
        bl.JobDescription(
            submit_time=at,
            tasks=2,
            tasks_min=1,
            tasks_max=4,
            requested_time=900,
            job_type="malleable",
            application=bl.Application(
                [bl.Phase([bl.tasks.Compute(flops=4e10, computation_pattern="uniform")], iterations=4)]
            ),
        )
        for at in (0, 5, 10, 11, 12)
    ]
    system = bl.System.of(bl.Platform.crossbar(4, speed="1Gf", bandwidth="1GBps"))
    result = bl.simulate(bl.Workload.from_jobs(jobs), system, "malleable")
    assert len(result.resizes)
    waited = result.jobs.filter(pl.col("start_time") > pl.col("submit_time"))["job_id"].to_list()
    assert waited
    for job in waited:
        answer = result.why(job)
        parts = fsum(answer.capacity.table["unit_seconds"])
        assert parts == pytest.approx(answer.wait * 4, rel=1e-12)
        assert answer.chain.ending in {"reached", "at_once", "no_end"}


def test_what_is_refused() -> None:
    """Unknown and rejected jobs are errors that say why."""
    result = run("easy", [(0, 30, 30, 1), (10, 30, 30, 9)])
    with pytest.raises(bl.ResultError, match=r"job_id = 7: no job of this run .* 2 jobs, 1 to 2"):
        result.why(7)
    with pytest.raises(bl.ResultError, match=r"job 2 has no wait: it was rejected \(.*\) and never waited"):
        result.why(2)


def test_a_job_that_did_not_wait() -> None:
    """The answer says so, has no parts, and can be asked what would have been."""
    answer = run("easy", BACKFILLED, explain=True).why(4)
    text = "Job 4 did not wait: it started when it was submitted, at 30 s. It asked for 1 of 4 cores and for"
    assert str(answer).replace("\n", " ") == f"{text} 00:01:10."
    assert (answer.wait, answer.chain.ending, answer.chain.rest) == (0, "no_wait", 0)
    assert answer.capacity.table["share"].to_list() == [0] * 7
    assert not len(answer.chain.links) + len(answer.overtakers) + len(answer.capacity.jobs)
    assert "did not wait" in answer._repr_html_()
    assert answer.what_if(requested_time=80).earlier == -80
    simulation = bl.Simulation(answer.wait_of.run.result.workload, SYSTEM, "easy")
    simulation.run_until(10)
    text = str(simulation.result().why(2))
    assert text.startswith("Job 2 has not waited yet: it was submitted at 10 s, the last time of the run.")


def test_text_and_card() -> None:
    """The text fits into 80 columns; the card has the same numbers."""
    result = bl.simulate(demo_workload(300), demo_system(), "easy")
    wait = pl.col("start_time") - pl.col("submit_time")
    job = result.jobs.sort(wait, descending=True)["job_id"][0]
    answer = result.why(job)
    assert max(map(len, str(answer).split("\n"))) <= 80
    assert f"Job {job} waited" in answer._repr_html_()  # what notebooks call
    assert repr(answer) == f"<Why job {job} waited {answer.wait:g} s>"
    assert answer.text(None).count("\n") < str(answer).count("\n")


SYSTEM = bl.System.homogeneous(nodes=1, resources={"core": 4})
BACKFILLED: Jobs = [(0, 60, 100, 3), (10, 50, 50, 4), (20, 30, 100, 1), (30, 70, 70, 1)]


def test_what_if() -> None:
    """A change of one job, or the lack of others, has its start and those of others."""
    answer = run("easy", BACKFILLED).why(3)
    change = answer.what_if(requested_time=80)
    assert (change.new_start_time, change.earlier) == (20, 130)
    assert change.jobs.select("job_id", "later").rows() == [(4, 80), (2, -40)]
    assert (change.earlier_jobs, change.later_jobs, change.unchanged, change.total_change) == (1, 1, 1, 40)
    assert "With requested_time = 80, job 3 starts at 20 s, 00:02:10 earlier." in str(change)
    assert answer.what_if(exact_estimates=True).earlier == 130
    assert answer.what_if(without=[4]).earlier == 40
    late = answer.what_if(without=[4], submit_time=300)
    assert (late.new_submit_time, late.new_start_time, late.earlier) == (300, 300, -150)
    assert str(answer.what_if(tasks=5)).startswith("With tasks = 5, job 3 does not start.")


def test_a_limit_of_its_own_stays_with_exact_estimates() -> None:
    """Of an exact estimate only plans hear; the job may still run for its limit."""
    result = run("easy", BACKFILLED).why(3).what_if(exact_estimates=True).result
    assert result.jobs.select("requested_time", "time_limit").row(2) == (30, 100)
    changed = run("easy", BACKFILLED).why(3).what_if(requested_time=80, time_limit=None).result
    assert changed.jobs.select("requested_time", "time_limit").row(2) == (80, float("inf"))


def test_requests_with_which_it_would_start_earlier() -> None:
    """All values of the grid are tried; the largest one that would do is named."""
    answer = run("easy", BACKFILLED).why(3)
    found = answer.earlier(by=130, steps=7)
    assert (found.limit, found.tasks, found.table.height) == (80, None, 7)
    assert "if it had asked for 00:01:20" in str(found)
    wide = run("easy", [(0, 100, 100, 2), (0, 200, 200, 1), (10, 50, 50, 4)]).why(3)
    assert (wide.earlier(by=100, steps=3).tasks, wide.earlier(by=100).limit) == (3, None)
    assert "No smaller request" in str(run("fcfs", [(0, 9, 9, 4), (0, 9, 9, 1)]).why(2).earlier(by=9))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, "nothing is changed; name a change"),
        ({"taskss": 2}, "'taskss' is no column of the jobs. Did you mean 'tasks'"),
        ({"job_id": 2}, "'job_id' cannot be changed"),
        ({"tasks": "two"}, "tasks = 'two'; must be of the type Int64"),
        ({"limit": 3}, "what_if: limit; must be None, which exempts the job from limits"),
        ({"priority": float("nan")}, "what_if: priority = nan; must be a finite number.$"),
        ({"tasks": 0}, "what_if: tasks = 0; must be >= 1 and < 2\\^32.$"),
        ({"without": [3]}, "without = 3; must be other jobs"),
        ({"without": [9]}, "job_id = 9: no job of this run has this number"),
    ],
)
def test_changes_that_are_refused(change: dict[str, Any], message: str) -> None:
    """Errors name the column, its value and the rule."""
    answer = run("easy", BACKFILLED).why(3)
    with pytest.raises((bl.ResultError, bl.WorkloadError), match=message):
        answer.what_if(**change)


def test_runs_that_are_not_repeated() -> None:
    """Policies and observers written in Python have a state."""
    power = bl.Power(bl.NodePower(90, 140))
    with pytest.raises(bl.ResultError, match="observers Power: what_if cannot repeat"):
        run("easy", BACKFILLED, observers=[power]).why(3).what_if(tasks=2)
    with pytest.raises(bl.ResultError, match="cannot repeat policies written in Python"):
        run("equipartition", BACKFILLED).why(2).what_if(tasks=2)
    with pytest.raises(bl.ResultError, match=r"by = 500; the job must have started, .* waited 130 s"):
        run("easy", BACKFILLED).why(3).earlier(by=500)


def test_gates_of_a_run_that_explains() -> None:
    """Where the run recorded gates, the answer has those of the job, and they add up to the wait."""
    assert run("easy", BACKFILLED).why(3).gates is None
    answer = run("easy", BACKFILLED, explain=True).why(3)
    assert answer.gates is not None
    assert answer.gates.select("start", "end", "gate", "detail").rows() == [
        (20, 30, "would_delay", None),
        (30, 60, "resources", "overtakers"),
        (60, 100, "would_delay", None),
        (100, 150, "resources", "earlier"),
    ]
    assert re.search(r"^would delay +job 2 +50 s +38.5%$", str(answer), re.MULTILINE)
    assert "would delay" in answer._repr_html_()


def test_waiting_time_of_all_jobs() -> None:
    """The parts of all waits, together and by columns."""
    result = run("easy", BACKFILLED, columns={"user": ["u", "v", "u", "w"]})
    names = ["jobs", "wait", "running", "before", "overtook", "idle"]
    assert result.waiting_time().select(names).row(0) == (2, 220, 37.5 + 30, 50, 17.5 * 2, 35 + 32.5)
    assert result.waiting_time("user").select("user", *names).rows() == [
        ("u", 1, 130, 30, 50, 17.5, 32.5),
        ("v", 1, 90, 37.5, 0, 17.5, 35),
    ]
    assert result.waiting_time("size").select("size", "wait").rows() == [(1, 130), (4, 90)]
    with pytest.raises(bl.ResultError, match="by = 'usr'; must be 'size' or a column of the jobs"):
        result.waiting_time("usr")


LIMIT = bl.Limit("one", per=("user",), running_jobs=1)
LIMITED = bl.System((bl.NodeGroup("n", 1, {"core": 4}),), limits=(LIMIT,))


def limited() -> bl.Result:
    """Run a job that waits for a limit, and one that waits for cores, in turn held by both jobs."""
    jobs: Jobs = [(0, 60, 60, 1), (0, 30, 30, 1), (10, 20, 20, 4)]
    return run("easy", jobs, system=LIMITED, columns={"user": ["ann", "ann", "bob"]}, explain=True)


def test_waiting_time_by_gates_and_limits() -> None:
    """The waits split by what would have had to go, by user and over time; each row adds up."""
    result = limited()
    by_gate = result.waiting_time("user", of="gates")
    assert by_gate.select("user", "wait", "limit", "resources_earlier").rows() == [
        ("ann", 60, 60, 0),
        ("bob", 80, 0, 80),
    ]
    assert result.waiting_time(of="limits").select("wait", "limit_one", "other").row(0) == (140, 60, 80)
    table = result.waiting_time("user", every=40)
    names = ("start_time", "end_time", "user", "jobs", "wait", "running", "before", "idle")
    # Job 1 came first, one row before job 2, at the same time; it runs when job 3 comes.
    assert table.select(names).rows() == [
        (0, 40, "ann", 1, 40, 0, 10, 30),
        (0, 40, "bob", 1, 30, 7.5, 0, 22.5),
        (40, 80, "ann", 1, 20, 0, 5, 15),
        (40, 80, "bob", 1, 40, 5, 5, 30),
        (80, 120, "bob", 1, 10, 0, 2.5, 7.5),
    ]


def test_what_if_no_limit() -> None:
    """A job that is exempt from limits starts when it fits, and is counted by none."""
    change = limited().why(2).what_if(limit=None)
    assert (change.new_start_time, change.earlier) == (0, 60)
    assert str(change).startswith("With no limit, job 2 starts at 0 s, 00:01:00 earlier.")
    assert change.result.jobs["start_time"].to_list() == [0, 0, 60]
    columns = {"user": ["ann", "ann", "bob"], "exempt_from_limits": [True, None, False]}
    counted = run("easy", [(0, 60, 60, 1), (0, 30, 30, 1), (0, 20, 20, 2)], system=LIMITED, columns=columns)
    assert counted.jobs["start_time"].to_list() == [0, 0, 0]
    with pytest.raises(bl.WorkloadError, match="'exempt_from_limits' is of the kind Int64; must be true or"):
        run("easy", BACKFILLED[:1], system=LIMITED, columns={"exempt_from_limits": [2]})


def test_the_shape_of_free_room() -> None:
    """Enough is free in all, but not on one node: by hand, the third job waits 90 s for the first one."""
    jobs: Jobs = [(0, 100, 100, 1), (0, 120, 120, 1), (10, 20, 20, 1)]
    result = run("easy", jobs, nodes=2, columns={"core": [3, 3, 2]}, explain=True)
    assert result.jobs["start_time"].to_list() == [0, 0, 100]
    gates = result.gates.filter(pl.col("job_id") == 3)
    assert gates.select("start", "end", "gate", "subject", "detail").rows() == [
        (10, 100, "resources", None, "earlier")
    ]
    assert re.search(r"^resources +shape +earlier +00:01:30 +100.0%$", str(result.why(3)), re.MULTILINE)
    assert links(result, 3) == [(1, 10, 100)]


def test_early_ends_under_conservative() -> None:
    """A job that overtakes nobody starts after the one before it, whose start two early ends had set."""
    jobs: Jobs = [(0, 100, 100, 2), (0, 100, 200, 1), (10, 50, 50, 4), (20, 50, 200, 1)]
    result = run("conservative", jobs)
    assert result.jobs["start_time"].to_list() == [0, 0, 100, 150]
    assert held(result, 4) == {"running": 240, "before": 200, "idle_enough": 80}
    assert links(result, 4) == [(3, 100, 150), (1, 20, 100)]
    # Plans went by a limit of 200 s for the second job: with the true one the fourth would still wait.
    assert result.why(4).what_if(requested_time=80).new_start_time == 20


def test_requeued_jobs_over_time() -> None:
    """The earlier runs of a job are in the periods in which they were."""
    events = [{"time": 30, "event": "requeue", "job_id": 1}]
    result = run("sjf", [(0, 100, 100, 4), (10, 20, 20, 4)], events=events)
    names = ("start_time", "job_id", "wait", "own_run", "running", "overtook")
    assert result.waiting_time("job_id", every=25).select(names).rows() == [
        (0, 1, 25, 25, 0, 0),
        (0, 2, 15, 0, 15, 0),
        (25, 1, 25, 5, 0, 20),
        (25, 2, 5, 0, 5, 0),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"of": "gate"}, "of = 'gate'; must be one of holders, gates, limits. Did you mean 'gates'"),
        ({"every": 0}, "every = 0; must be a duration > 0 s"),
        ({"every": 1e-9}, "every = 1e-09 s; the waits last 150 s, and must have at most 100,000 periods"),
        ({"of": "gates"}, "explain=True"),
    ],
)
def test_splits_that_are_refused(arguments: dict[str, Any], message: str) -> None:
    """Errors name the argument, its value and the rule."""
    with pytest.raises(bl.ResultError, match=message):
        run("easy", BACKFILLED).waiting_time(**arguments)


def test_summary_of_all_waiting() -> None:
    """Causes, groups, periods and the longest waits, in 80 columns."""
    text = str(limited().waiting_summary("user", every=60))
    assert text.startswith("2 of 3 jobs waited, 00:02:20 in total, 00:01:10 on average.")
    assert re.search(r"^limit +one +1 +00:01:00 +42.9%$", text, re.MULTILINE)
    assert re.search(r"^bob +1 +00:01:20 +57.1% +100%$", text, re.MULTILINE)
    assert re.search(r"^00:01:00 +1 +00:00:30 +21.4% +100%$", text, re.MULTILINE)
    assert re.search(r"^3 +bob +4 +10 s +00:01:20 +idle 75%$", text, re.MULTILINE)
    assert max(map(len, text.split("\n"))) <= 80
    assert "<strong>The waiting by user</strong>" in limited().waiting_summary("user")._repr_html_()
    plain = str(run("easy", BACKFILLED).waiting_summary())
    assert "simulate with the option explain" in plain.replace("\n", " ")
    assert str(run("easy", BACKFILLED[:1]).waiting_summary()).startswith("No job waited")


def test_runs_that_did_not_begin_at_the_beginning() -> None:
    """A run that is not over, or began in the middle, is not repeated."""
    jobs = run("easy", BACKFILLED).workload
    simulation = bl.Simulation(jobs, bl.System.homogeneous(nodes=1, resources={"core": 4}), "easy")
    simulation.run_until(40)
    for policy in ("easy", "first_fit"):
        begun = bl.simulate(jobs, simulation.system, policy, initial_state=simulation.initial_state())
        answer = begun.why(3)
        if policy == "easy":
            assert answer.what_if(without=[4]).earlier == 40
        else:
            with pytest.raises(bl.ResultError, match="from the beginning it has other starts"):
                answer.what_if(without=[4])
    with pytest.raises(bl.ResultError, match="cannot repeat this run"):
        simulation.result().why(2).what_if(without=[4])
