"""Failures: the right jobs are hit, whatever becomes of them; outages merge; chance has its streams."""

from dataclasses import replace
from math import inf, log
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import batchlab as bl
from batchlab.generate import Constant, Exponential, Lognormal, Weibull
from batchlab.observer.failures import Outage, RandomOutages, Trace, merged
from reference import Interruption, NodeEvent, Outcome
from support.large_cases import QUICK
from support.schedule_cases import BACKFILLS, Case, random_case
from support.schedule_runs import interruptions_of, options_of, policy_of, workload_of
from support.schedule_systems import system_of

FOUR = bl.System.homogeneous(nodes=4, resources={"core": 1})
JOBS = bl.Workload.from_table(
    {"submit_time": [0.0, 0.0, 0.0], "run_time": [100.0, 100.0, 100.0], "tasks": [1, 2, 1]}
)
TRACE = {"node": [2, 0], "time": [50.0, 130.0], "repair_time": [30.0, 5.0]}


def run(**options: Any) -> bl.Result:  # noqa: ANN401
    """Run three jobs, on nodes 0, 1–2 and 3, with a failure of node 2 at 50 s and of node 0 at 130 s."""
    return bl.simulate(JOBS, FOUR, "first_fit", observers=[bl.Failures(TRACE, **options)])


class WaitsForAll(bl.Scheduler):
    """Starts a job where all nodes are free; asked at timers that act, and when something has changed."""

    def schedule(self, view: bl.View) -> None:
        for job in view.candidates():
            view.start(job)


def test_killed() -> None:
    """The job on the node is killed, no other; a node without jobs fails without victims."""
    result = run(on_failure="kill")
    assert result.jobs["state"].to_list() == ["completed", "killed", "completed"]
    assert result.jobs["end_time"].to_list() == [100.0, 50.0, 100.0]
    assert result.observations["failures"].rows() == [(50.0, 2, 80.0, [2])]
    assert result.jobs["restarts"].to_list() == [0, 0, 0]


def test_requeued() -> None:
    """The victim runs again from its start, as soon as there is room; its first run is on record."""
    result = run(on_failure="requeue")
    assert result.jobs["start_time"].to_list() == [0.0, 80.0, 0.0]
    assert result.jobs["nodes"].to_list() == [[0], [1, 2], [3]]
    assert result.jobs["restarts"].to_list() == [0, 1, 0]
    assert result.interruptions.rows() == [(2, 1, 0.0, 50.0, 0.0, [1, 2], 2)]
    assert result.observations["failures"].rows() == [(50.0, 2, 80.0, [2]), (130.0, 0, 135.0, [])]
    assert result.metrics()["interrupted"] == {"runs": 1, "jobs": 1, "lost_time": 50.0}
    assert "interrupted   1 run of 1 job, 50 s to be run again" in result.summary()


def test_checkpointed() -> None:
    """The victim goes on from its latest checkpoint."""
    result = run(on_failure="checkpoint", every=20)
    assert result.interruptions["saved"].to_list() == [40.0]
    assert result.jobs["end_time"].to_list() == [100.0, 140.0, 100.0]


def test_restarts_have_a_limit() -> None:
    """A victim that was restarted often enough is killed."""
    trace = {"node": [2, 2, 2], "time": [10.0, 40.0, 70.0], "repair_time": [5.0, 5.0, 5.0]}
    result = bl.simulate(JOBS, FOUR, "first_fit", observers=[bl.Failures(trace, restarts=2)])
    assert result.jobs["state"].to_list()[1] == "killed"
    assert result.jobs["end_time"].to_list()[1] == 70.0
    assert result.jobs["restarts"].to_list() == [0, 2, 0]


def test_never_repaired() -> None:
    """A node without repair stays down; who needs it waits until the end of the run."""
    trace = pl.DataFrame({"node": [2], "time": [50.0], "repair_time": [None]})
    result = bl.simulate(JOBS, FOUR, "easy", observers=[bl.Failures(trace)])
    assert result.jobs["state"].to_list() == ["completed"] * 3
    whole = bl.Workload.from_table({"submit_time": [0.0, 9.0], "run_time": [60.0, 5.0], "tasks": [1, 4]})
    result = bl.simulate(whole, FOUR, "conservative", observers=[bl.Failures(trace)])
    assert result.jobs["state"].to_list() == ["completed", "queued"]
    assert result.observations["failures"]["end_time"].to_list() == [None]


def test_lost_time_is_time_in_use() -> None:
    """Runs that were cut short count as use of the machine; the job waits between them."""
    result = run(on_failure="requeue")
    timeline = result.timeline.select("time", "queued", "running", "used_core").rows()
    assert timeline == [(0.0, 0, 3, 4), (50.0, 1, 2, 2), (80.0, 0, 3, 4), (100.0, 0, 1, 2), (180.0, 0, 0, 0)]
    used = (2 * 100 + 2 * 50 + 2 * 100) / (4 * 180)
    assert result.metrics()["utilisation"] == {"core": pytest.approx(used)}
    assert result.metrics()["queue_length"] == {"mean": pytest.approx(30 / 180), "max": 1}
    assert result.metrics()["loss_of_capacity"] == {"core": pytest.approx(2 * 30 / (4 * 180))}


def outages_of(rows: list[tuple[int, float, float]]) -> list[tuple[int, float, float]]:
    """Return node, begin and end of each outage: a node is down while a row of it lasts, ends included."""
    outages = []
    for node in sorted({row[0] for row in rows}):
        spans = sorted((time, time + lasts) for where, time, lasts in rows if where == node)
        for begin in sorted({begin for begin, _ in spans}):
            end = begin
            while (reach := max(e for b, e in spans if begin <= b <= end)) > end:
                end = reach
            if not any(b < begin <= e for b, e in spans):
                outages.append((node, begin, end))
    return outages


def events_of(rows: list[tuple[int, float, float]], on_failure: str, every: float) -> tuple[NodeEvent, ...]:
    """Return the outages of a trace as node events."""
    outages = outages_of(rows)

    def purpose_at(time: float) -> str:
        is_repairing = any(begin < time <= end < inf for _, begin, end in outages)
        return "repair" if is_repairing else "watch"

    events = []
    for node, begin, end in outages:
        close = NodeEvent(begin, node, "close", running_jobs=on_failure, every=every)
        events.append((begin, 1, replace(close, purpose=purpose_at(begin))))
        if end < inf:
            events.append((end, 0 if end > begin else 2, NodeEvent(end, node, "open", purpose="repair")))
    return tuple(event for *_, event in sorted(events, key=lambda each: (*each[:2], each[2].node)))


def traced(seed: int) -> tuple[Case, list[tuple[int, float, float]], dict[str, Any]]:
    """Give a case, a trace of failures with overlaps, and a on_failure."""
    rng = Random(seed)  # noqa: S311 - no secret
    case = replace(random_case(rng), backfill=rng.choice(BACKFILLS), reservations=1)
    span = max(job.submit_time + 2 * job.run_time for job in case.jobs) + 1
    steps = sorted({job.run_time for job in case.jobs} | {0.0, span / 7})
    rows = [
        (
            rng.randrange(len(case.machine.capacity)),
            rng.choice((rng.choice(case.jobs).submit_time + rng.choice(steps), rng.uniform(0, span))),
            rng.choice((*steps, inf)) if rng.random() < 0.9 else 0.0,
        )
        for _ in range(rng.randint(1, 12))
    ]
    on_failure = rng.choice(("kill", "requeue", "checkpoint"))
    return (
        case,
        rows,
        {"on_failure": on_failure}
        | ({"every": rng.choice((0.3, 2.0))} if on_failure == "checkpoint" else {}),
    )


# A failure keeps no run going, also where a pass at it would start a job that waits.
@QUICK
@example(13384)
@given(st.integers(0, 2**48))
def test_reference_hits_the_same_jobs(seed: int) -> None:
    """A trace does what the reference does with the same outages, job by job and run by run."""
    case, rows, options = traced(seed)
    expected_log: list[Interruption] = []
    events = events_of(rows, options["on_failure"], options.get("every", 1.0))
    expected = replace(case, node_events=events).expected(expected_log)
    trace = pl.DataFrame(rows, schema=["node", "time", "repair_time"], orient="row")
    result = bl.simulate(
        workload_of(case),
        system_of(case.machine),
        policy_of(case),
        options=options_of(case),
        observers=[bl.Failures(trace, **options)],
    )
    placed: list[list[tuple[int, int]]] = [[] for _ in case.jobs]
    for row, node, tasks in result.placements.select("row", "node", "tasks").iter_rows():
        placed[row].append((node, tasks))
    table: Any = result.jobs.select("state", "start_time", "end_time", "reason").iter_rows()
    found = [
        Outcome(state, start, end, nodes, reason if state == "rejected" else None)
        for (state, start, end, reason), nodes in zip(table, placed, strict=True)
    ]
    assert found == expected
    assert interruptions_of(result) == expected_log


def test_overlapping_outages_are_one() -> None:
    """Outages of a node that overlap or touch are joined, those of different nodes are not."""
    rows = [Outage(0, 1, 10), Outage(5, 1, 7), Outage(10, 1, 12), Outage(13, 1, 14), Outage(11, 0, 20)]
    assert merged(rows) == [Outage(0, 1, 12), Outage(11, 0, 20), Outage(13, 1, 14)]


def taken(outages: RandomOutages, until: float) -> list[Outage]:
    """Take all outages until a time."""
    found = []
    while outages.next_time <= until:
        found += outages.take(outages.next_time)
    return found


def test_chance_is_the_seed() -> None:
    """Same seed, same failures; each node has its own, whichever others fail, however long repairs last."""

    def drawn(seed: int, repair: float = 100.0, nodes: list[int] | None = None) -> list[Outage]:
        outages = RandomOutages(Weibull(0.7, 5000.0), Constant(repair), seed, nodes)
        outages.begin(8, 0.0)
        return taken(outages, 50_000.0)

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert drawn(1, nodes=[5, 3]) == [outage for outage in drawn(1) if outage.node in {3, 5}]
    ups = [[outage.begin for outage in drawn(1, repair, [4])] for repair in (0.0, 10.0)]
    both = list(zip(*ups, strict=False))
    assert len(both) > 3
    assert all(later == pytest.approx(sooner + 10 * number) for number, (sooner, later) in enumerate(both))


REPAIRS = Lognormal(mu=log(4.0), sigma=0.5)


def test_chance_has_the_right_mean() -> None:
    """Exponential uptimes and lognormal repairs come as often as their means say."""
    outages = RandomOutages(Exponential(900.0), REPAIRS, 3)
    outages.begin(50, 0.0)
    until = 1_000_000.0
    found = taken(outages, until)
    repair = sum(outage.end - outage.begin for outage in found) / len(found)
    assert repair == pytest.approx(REPAIRS.mean, rel=0.02)
    assert len(found) == pytest.approx(50 * until / (900.0 + repair), rel=0.02)


def test_run_again_is_the_same_run() -> None:
    """One observer serves several runs, each from its beginning; forks go on alike."""
    failures = bl.Failures.from_distributions(Weibull(0.7, 200.0), Constant(20.0), seed=5)
    workload = bl.Workload.from_table(
        {"submit_time": [0.0] * 30, "run_time": [30.0] * 30, "tasks": [1, 2, 3] * 10}
    )
    first = bl.simulate(workload, FOUR, "easy", observers=[failures])
    again = bl.Simulation(workload, FOUR, "easy", observers=[failures])
    again.run_until(150.0)
    fork = again.fork()
    fork.run_until()
    again.run_until()
    assert len(first.interruptions) > 3
    for other in (again.result(), fork.result()):
        assert other.jobs.equals(first.jobs)
        assert other.observations["failures"].equals(first.observations["failures"])


ONE_LONG = bl.Workload.from_table({"submit_time": [0.0], "run_time": [100.0], "tasks": [4]})


@pytest.mark.parametrize(
    ("uptime", "arguments", "shown"),
    [
        (Constant(50.0), {}, "100 s without a failure of its 4 nodes, .* of less than 1e-05"),
        # exp(-4 * 100 / 30) and exp(-4 * 92 / 30).
        (Exponential(30.0), {}, "100 s without a failure of its 4 nodes, .* of 2e-06"),
        (Exponential(30.0), {"on_failure": "checkpoint", "every": 92.0}, "92 s .* of 5e-06"),
    ],
)
def test_hopeless_jobs_are_given_up(uptime: Any, arguments: dict[str, Any], shown: str) -> None:  # noqa: ANN401
    """A job that failures hardly ever spare ends the run at its first interruption."""
    failures = bl.Failures.from_distributions(uptime, Constant(1.0), seed=0, **arguments)
    simulation = bl.Simulation(ONE_LONG, FOUR, "fcfs", observers=[failures])
    with pytest.raises(
        bl.SimulationError, match=rf"^job 1 needs {shown}: more than 100,000 runs .*checkpoint"
    ):
        simulation.run_until()
    assert simulation.result().jobs["state"].to_list() == ["running"]


@pytest.mark.parametrize(
    ("uptime", "arguments"),
    [
        # exp(-4 * 100 / 40) is above 1/100,000.
        (Exponential(40.0), {}),
        (Exponential(30.0), {"on_failure": "checkpoint", "every": 50.0}),
        (Constant(50.0), {"restarts": 3}),
        (Constant(50.0), {"on_failure": "kill"}),
        # Just after their repair all nodes stay up for long enough.
        (Constant(101.0), {}),
        # One of the nodes never fails, so that the job may need three of those that do.
        (Exponential(31.0), {"nodes": [0, 1, 2]}),
    ],
)
def test_jobs_with_hope_go_on(uptime: Any, arguments: dict[str, Any]) -> None:  # noqa: ANN401
    """The run goes on while a job may end, or will be killed."""
    failures = bl.Failures.from_distributions(uptime, Constant(1.0), seed=0, **arguments)
    simulation = bl.Simulation(ONE_LONG, FOUR, "fcfs", observers=[failures])
    simulation.run_until()
    assert simulation.result().jobs["state"][0] in {"completed", "killed"}


def test_restarts_of_a_job_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Failures of a trace have no probability; a job that they never spare ends the run in the end."""
    monkeypatch.setattr("batchlab.observer.failures._MOST_RUNS", 1_000)
    times = [5.0 * number + 1.0 for number in range(1_001)]
    trace = {"node": [2] * len(times), "time": times, "repair_time": [1.0] * len(times)}
    with pytest.raises(bl.SimulationError, match=r"job 1 was cut short 1000 times .*checkpoint"):
        bl.simulate(ONE_LONG, FOUR, "fcfs", observers=[bl.Failures(trace)])


def test_a_job_that_can_never_start_keeps_no_run_going() -> None:
    """The run ends as it would without failures, once no node is being repaired."""
    jobs = {"submit_time": [0, 1], "run_time": [3000, 5], "tasks": [1, 5]}
    workload, system = bl.Workload.from_table(jobs), bl.System.homogeneous(nodes=2, resources={"core": 1})
    failures = bl.Failures.from_distributions(Exponential(1000), Constant(100), seed=1)
    result = bl.simulate(workload, system, "fcfs", observers=[failures], job_check="none")
    assert result.jobs["state"].to_list() == ["completed", "queued"]
    outages = result.observations["failures"]
    assert outages["end_time"].null_count() == 0
    assert outages["time"].max() < result.jobs["end_time"].max() + 200  # type: ignore[operator]  # numbers


@pytest.mark.parametrize("policy", ["easy", "easy(allocator=contiguous)", WaitsForAll()])
def test_repairs_for_jobs_that_never_fit_keep_no_run_going(policy: Any) -> None:  # noqa: ANN401  # whatever is a policy
    """A node is always under repair; the run ends when all that waits is larger than the machine."""
    trace = {"node": [0, 1] * 2000, "time": range(0, 40_000, 10), "repair_time": [15] * 4000}
    jobs = {"submit_time": [0, 0], "run_time": [5, 10], "tasks": [5, 2]}
    result = bl.simulate(
        bl.Workload.from_table(jobs), FOUR, policy, observers=[bl.Failures(trace)], job_check="none"
    )
    assert result.jobs["state"].to_list() == ["queued", "completed"]
    assert result.observations["failures"]["time"].max() < 100  # type: ignore[operator]  # numbers


def test_a_timer_does_not_both_watch_and_repair() -> None:
    """What a timer is for is said once."""

    class Both(bl.Observer):
        def begin(self, view: Any) -> None:  # noqa: ANN401
            view.wake(1.0, watching=True, repairing=True)

    with pytest.raises(bl.DecisionError, match="one that only watches repairs nothing; set one of them"):
        bl.simulate(JOBS, FOUR, "fcfs", observers=[Both()])


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", WaitsForAll()])
def test_repairs_let_waiting_jobs_start(policy: Any) -> None:  # noqa: ANN401  # whatever is a policy
    """Nothing runs or comes while a node is down; its repair keeps the run going, and further failures."""
    trace = {"node": [0, 1, 0], "time": [0, 50, 500], "repair_time": [100, 100, 10]}
    workload = bl.Workload.from_table({"submit_time": [1], "run_time": [10], "tasks": [2]})
    system = bl.System.homogeneous(nodes=2, resources={"core": 1})
    result = bl.simulate(workload, system, policy, observers=[bl.Failures(trace)])
    assert result.jobs.select("state", "start_time").rows() == [("completed", 150.0)]
    assert result.observations["failures"]["time"].to_list() == [0.0, 50.0]


def test_trace_from_a_file(tmp_path: Path) -> None:
    """A trace may be a CSV file."""
    file = tmp_path / "failures.csv"
    file.write_text("node,time,repair_time\n2,50,30\n0,130,5\n")
    result = bl.simulate(JOBS, FOUR, "first_fit", observers=[bl.Failures(file)])
    assert result.jobs["restarts"].to_list() == [0, 1, 0]


def test_policies_know_who_is_down() -> None:
    """The value is the set of nodes that are down."""
    seen = []

    class Looker(bl.Observer):
        def node_drained(self, node: int, view: Any) -> None:  # noqa: ANN401
            seen.append((node, view.values["failures"]))

        def node_resumed(self, node: int, view: Any) -> None:  # noqa: ANN401
            seen.append((node, view.values["failures"]))

    bl.simulate(JOBS, FOUR, "first_fit", observers=[bl.Failures(TRACE, on_failure="kill"), Looker()])
    assert seen == [(2, frozenset({2})), (2, frozenset())]


def test_looking_ahead_foresees_no_failure() -> None:
    """A policy that looks ahead sees repairs, but no failure to come; unless it is clairvoyant."""
    trace = {"node": [3, 0], "time": [10.0, 50.0], "repair_time": [15.0, 30.0]}
    simulation = bl.Simulation(JOBS, FOUR, "first_fit", observers=[bl.Failures(trace)])
    simulation.run_until(10.0)
    ends = {}
    for clairvoyant in (False, True):
        ahead = simulation.look_ahead(clairvoyant=clairvoyant)
        ahead.run_until()
        ends[clairvoyant] = ahead.result().jobs["end_time"].to_list()
    assert ends == {False: [100.0, 100.0, 125.0], True: [180.0, 100.0, 125.0]}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: run(on_failure="maim"),
            "on_failure = 'maim'; must be one of 'kill', 'requeue', 'checkpoint'",
        ),
        (lambda: run(on_failure="checkpoint"), "every = None; checkpoints are taken every"),
        (lambda: run(every=5), "on_failure = 'requeue' with every = 5"),
        (lambda: run(on_failure="checkpoint", every=0), "every = 0; must be a finite number of seconds > 0"),
        (lambda: run(restarts=-1), "restarts = -1; must be a whole number >= 0"),
        (
            lambda: Trace({"node": [0.5], "time": [0], "repair_time": [0]}),
            "row 0 of the failures: node = 0.5",
        ),
        (lambda: Trace({"node": [0], "time": [0]}), "there is no column 'repair_time'; it has node, time"),
        (lambda: Trace({"node": ["a"], "time": [0], "repair_time": [0]}), "column 'node' is String"),
        (lambda: Trace(7), "7; must be a table or the path of a CSV file"),
        (
            lambda: run_on({"node": [4], "time": [0], "repair_time": [0]}),
            "name node 4; the system has nodes 0 to 3",
        ),
        (lambda: RandomOutages(Constant(1), Constant(1), -1), "seed = -1; must be a whole number >= 0"),
        (
            lambda: run_on(RandomOutages(Constant(1), Constant(1), 0, [9])),
            "node 9 shall fail; the system has nodes 0 to 3",
        ),
        (lambda: run_on(RandomOutages(Constant(0), Constant(0), 0)), "node 0 is neither up nor down"),
        (lambda: run_on(RandomOutages(Constant(-1), Constant(0), 0)), "uptime was drawn as -1"),
    ],
)
def test_errors(make: object, message: str) -> None:
    """What is wrong is named, with the rule."""
    assert callable(make)
    with pytest.raises(bl.ObserverError, match=message):
        make()


def run_on(trace: Any) -> bl.Result:  # noqa: ANN401
    """Run the three jobs beside these failures."""
    return bl.simulate(JOBS, FOUR, "fcfs", observers=[bl.Failures(trace)])


def test_applications_begin_anew_in_every_phase() -> None:
    """Nothing of an application is kept, nor asked for, while its job is launched, runs or is completed."""
    work = bl.Application([bl.Phase([bl.tasks.Delay(20)])])
    job = bl.JobDescription(submit_time=0.0, tasks=1, application=work, requested_time=None)
    system = bl.System.of(bl.Platform.crossbar(1, cores=1, speed="1Gf", bandwidth="1GBps", latency=0))
    trace = {"node": [0, 0, 0], "time": [5.0, 30.0, 70.0], "repair_time": [5.0, 5.0, 5.0]}
    failing = bl.Failures(trace, on_failure="checkpoint", every=2.0)
    overheads = bl.Overheads(launch=10, completion=10)
    result = bl.simulate(
        bl.Workload.from_jobs([job]), system, "fcfs", observers=[failing], overheads=overheads
    )
    assert result.interruptions["end_time"].to_list() == [5.0, 30.0]
    # Its third run is over at 65 s, and its completion cut short.
    assert result.jobs.select("state", "start_time", "end_time").row(0) == ("completed", 35.0, 70.0)
