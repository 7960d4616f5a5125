"""Why jobs wait, gate by gate: examples by hand, files, forks and refusals (S15)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import batchlab as bl
from support.schedule_cases import seeded_cases
from support.schedule_runs import observers_of, options_of, policy_of, workload_of
from support.schedule_systems import system_of

if TYPE_CHECKING:
    from pathlib import Path

    from batchlab.core.vocabulary import OverrunAction

Row = tuple[object, ...]
Jobs = tuple[tuple[float, float, float, int], ...]


def workload(
    *rows: tuple[float, float, float, int], overrun: OverrunAction = "extend", **columns: list[Any]
) -> bl.Workload:
    """Return jobs by submit time, run time, time limit and tasks, and further columns."""
    submit, run, limit, tasks = zip(*rows, strict=True)
    table = {"submit_time": submit, "run_time": run, "requested_time": limit, "tasks": tasks, **columns}
    return bl.Workload.from_table({"job_id": range(1, len(rows) + 1), **table}, overrun=overrun)


def cores(count: int, **parts: Any) -> bl.System:  # noqa: ANN401  # parts of a system
    """Return a machine of nodes with one core each."""
    return bl.System.homogeneous(nodes=count, resources={"core": 1}, **parts)


def gates(jobs: bl.Workload, system: bl.System, policy: str | bl.Policy) -> dict[int, list[Row]]:
    """Return the begin, end, gate, subject and detail of the rows of each job; they add up to its wait."""
    result = bl.simulate(jobs, system, policy, explain=True)
    waits = result.jobs.select("job_id", wait=pl.col("start_time") - pl.col("submit_time"))
    parts = result.gates.group_by("job_id").agg(parts=(pl.col("end") - pl.col("start")).sum())
    joined = waits.join(parts, on="job_id", how="left").fill_null(0)
    assert (joined["wait"] == joined["parts"]).all()
    found: dict[int, list[Row]] = {}
    for job, *row in result.gates.select("job_id", "start", "end", "gate", "subject", "detail").iter_rows():
        found.setdefault(job, []).append(tuple(row))
    return found


def test_order() -> None:
    """Under none the second job lacks cores that the first holds, and the pass stops there."""
    jobs = workload((0, 100, 100, 3), (10, 50, 50, 2), (20, 20, 20, 1))
    assert gates(jobs, cores(4), "fcfs") == {
        2: [(10, 100, "resources", "core", "earlier")],
        3: [(20, 100, "order", "2", None)],
    }


EASY = workload((0, 60, 100, 3), (10, 50, 50, 4), (20, 30, 100, 1), (30, 70, 70, 1))
EASY_GATES = {
    2: [(10, 60, "resources", "core", "earlier"), (60, 100, "resources", "core", "overtakers")],
    3: [
        (20, 30, "would_delay", "2", None),
        (30, 60, "resources", "core", "overtakers"),
        (60, 100, "would_delay", "2", None),
        (100, 150, "resources", "core", "earlier"),
    ],
}


def test_would_delay() -> None:
    """A job that fits would delay the head; a later one ends in time, takes its core, and holds up both."""
    assert gates(EASY, cores(4), "easy") == EASY_GATES
    table = bl.simulate(EASY, cores(4), "easy", explain=True).gates.filter(gate="would_delay")
    assert table.select("delay", "hole").rows() == [(20, 80), (60, 40)]


def test_several_reservations() -> None:
    """A job that leaves the first reservation its room would delay the second."""
    jobs = workload((0, 60, 60, 3), (5, 30, 30, 3), (6, 30, 30, 4), (7, 100, 100, 1))
    assert gates(jobs, cores(4), "easy(reservations=2)")[4] == [
        (7, 90, "would_delay", "3", None),
        (90, 120, "resources", "core", "earlier"),
    ]
    table = bl.simulate(jobs, cores(4), "easy(reservations=2)", explain=True).gates.filter(gate="would_delay")
    assert table.select("delay", "hole").rows() == [(17, 83)]
    assert gates(jobs, cores(4), "easy").keys() == {2, 3}


PLANNED = workload((0, 100, 100, 2), (0, 100, 200, 1), (10, 50, 50, 4), (20, 50, 200, 1))


def test_plan() -> None:
    """A job would need nodes that the plan has for another one, whose reservation moves with early ends."""
    assert gates(PLANNED, cores(4), "conservative") == {
        3: [(10, 100, "resources", "core", "earlier")],
        4: [(20, 100, "would_delay", "3", None), (100, 150, "resources", "core", "earlier")],
    }
    table = bl.simulate(PLANNED, cores(4), "conservative", explain=True).gates.filter(gate="would_delay")
    assert table.select("delay", "hole").rows() == [(20, 180)]
    promises = bl.simulate(PLANNED, cores(4), "conservative", explain=True).promises
    assert promises.drop("job_id", "row").rows() == [
        (10, 100, 200, "arrival", 3),
        (20, 100, 250, "arrival", 4),
        (100, 150, 150, "end", None),
    ]


def promises(jobs: bl.Workload, policy: str, **options: Any) -> list[Row]:  # noqa: ANN401  # of a run
    """Return the rows of the promises on four cores."""
    return bl.simulate(jobs, cores(4), policy, explain=True, **options).promises.drop("row").rows()


def test_promises_of_easy() -> None:
    """The head is promised its shadow time; with k reservations the first k jobs that do not fit are."""
    assert promises(EASY, "easy") == [
        (2, 10, 100, 100, "arrival", 2),
        (3, 100, 150, 150, "end", 4),
    ]
    jobs = workload((0, 50, 100, 3), (0, 200, 200, 1), (10, 50, 50, 4), (20, 50, 50, 2))
    assert promises(jobs, "easy(reservations=2)") == [
        (3, 10, 200, 200, "arrival", 3),
        (4, 20, 50, 100, "arrival", 4),
    ]
    assert not promises(EASY, "first_fit")


def test_rare_causes_of_promises() -> None:
    """A promise moves as a job outlasts its limit, by a start that this allows, or with the scheduler."""
    late = workload((0, 100, 50, 2), (10, 10, 10, 4), (20, 60, 60, 2), (21, 60, 60, 2), overrun="keep")
    assert [row for row in promises(late, "conservative") if row[0] == 2] == [
        (2, 10, 50, 50, "arrival", 2),
        (2, 50, 60, 120, "start", 4),
        (2, 60, 110, 110, "time", None),
    ]
    events = {"time": 5, "event": "scheduler_stop"}, {"time": 20, "event": "scheduler_start"}
    jobs = workload((0, 100, 100, 4), (10, 50, 50, 4))
    assert promises(jobs, "easy", events=bl.EventStream(events)) == [(2, 20, 100, 100, "scheduler", None)]


def test_shape() -> None:
    """Two cores are free, but not on one node."""
    jobs = workload((0, 100, 100, 1), (0, 120, 120, 1), (10, 20, 20, 1), core=[3, 3, 2])
    system = bl.System.homogeneous(nodes=2, resources={"core": 4})
    assert gates(jobs, system, "easy") == {3: [(10, 100, "resources", None, "earlier")]}
    table = bl.simulate(jobs, system, "easy", explain=True).gates
    assert table.select("asked", "free").rows() == [(1, 0)]


def test_limit_and_dependency() -> None:
    """A job over a limit waits for others of its user; one that depends on it enters the queue at its end."""
    jobs = workload(
        (0, 100, 100, 1),
        (0, 50, 50, 1),
        (0, 10, 10, 1),
        (90, 20, 20, 4),
        user=["u", "u", "u", "v"],
        dependency=[None, None, "afterok:2", None],
    )
    system = cores(4, limits=(bl.Limit("one", per=("user",), running_jobs=1),))
    assert gates(jobs, system, "easy") == {
        2: [(0, 100, "limit", "one", None)],
        3: [(0, 150, "dependency", None, None)],
        4: [(90, 160, "resources", "core", "earlier")],
    }


def test_blocking_limit() -> None:
    """A limit that blocks stops the pass for those behind it, which fit."""
    jobs = workload((0, 50, 50, 1), (0, 50, 50, 1), (0, 10, 10, 1), user=["u", "u", "v"])
    system = cores(4, limits=(bl.Limit("one", per=("user",), running_jobs=1, blocks=True),))
    for policy in ("fcfs", "first_fit", "easy"):
        assert gates(jobs, system, policy) == {
            2: [(0, 50, "limit", "one", None)],
            3: [(0, 50, "order", "2", "one")],
        }


def test_maintenance() -> None:
    """A job whose limit reaches into a maintenance waits for its end, while shorter ones overtake it."""
    jobs = workload((0, 30, 120, 4), (5, 30, 30, 4), (30, 50, 50, 4))
    system = cores(4, reservations=(bl.Reservation("maintenance", 100, 100, "0-3"),))
    expected = {
        1: [
            (0, 5, "window", "maintenance", None),
            (5, 85, "resources", "core", "overtakers"),
            (85, 100, "window", "maintenance", None),
            (100, 200, "unavailable", None, None),
        ],
        3: [(30, 35, "resources", "core", "earlier")],
    }
    for policy in ("first_fit", "easy", "easy(reservations=2)"):
        assert gates(jobs, system, policy) == expected
        table = bl.simulate(jobs, system, policy, explain=True).gates.filter(gate="window")
        assert table["hole"].to_list() == [100, 15]


def test_partitions() -> None:
    """Who overtakes in another partition holds a node, but one that would not be enough."""
    jobs = workload(
        *((0, 100, 100, 2), (10, 50, 50, 3), (20, 40, 40, 2), (30, 10, 10, 1)), partition=["a", "a", "b", "a"]
    )
    system = cores(4, partitions=(bl.Partition("a", "0-2"), bl.Partition("b", "2-3")))
    assert gates(jobs, system, "easy") == {
        2: [(10, 100, "resources", "core", "earlier")],
        4: [(30, 60, "resources", "core", "earlier")],
    }


def test_stopped_scheduler() -> None:
    """While the scheduler is stopped, no pass comes upon a job that fits."""
    stopped = [{"time": 0, "event": "scheduler_stop"}, {"time": 50, "event": "scheduler_start"}]
    jobs = workload((10, 5, 5, 1))
    result = bl.simulate(jobs, cores(1), "easy", explain=True, events=bl.EventStream(stopped))
    assert result.gates.select("start", "end", "gate").rows() == [(10, 50, "not_looked_at")]


def test_files_forks_and_snapshots(tmp_path: Path) -> None:
    """A file and a store have the table; forks and snapshots go on with it; a job that waits has no end."""
    simulation = bl.Simulation(EASY, cores(4), "easy", explain=True)
    simulation.run_until(40)
    assert simulation.result().gates["end"].to_list() == [None, 30, None]
    expected = bl.simulate(EASY, cores(4), "easy", explain=True)
    restored = bl.Simulation.restore(simulation.snapshot(), EASY, cores(4), "easy")
    for other in (simulation.fork(), restored):
        other.run_until()
        assert other.result().gates.equals(expected.gates)
    expected.write(tmp_path / "out")
    lines = (tmp_path / "out" / "gates.csv").read_text().splitlines()
    assert lines[3] == "3,2,20.0,30.0,would_delay,2,,,,20.0,80.0"
    assert bl.read_result(tmp_path / "out").gates.equals(expected.gates)


def test_disciplines() -> None:
    """A discipline serves sets of jobs: one that it has not chosen waits at `policy`, if there is room."""
    jobs = bl.Workload.from_table({"submit_time": [0, 0, 0], "run_time": [10, 10, 5], "tasks": [3, 4, 1]})
    result = bl.simulate(jobs, cores(4), "lcfs", explain=True)
    waits = result.gates.select("row", "gate", "subject", "start", "end").rows()
    # The last job is served alone, since the one before it does not fit beside it: the first one would.
    assert waits == [
        (0, "policy", None, 0, 5),
        (0, "resources", "core", 5, 15),
        (1, "resources", "core", 0, 5),
    ]


CONTROLLER = "slurm(select=cores, bf_resolution=1, main_phase=0, backfill_phase=0, limit_phase=0)"


def controlled(jobs: bl.Workload, system: bl.System, **options: Any) -> tuple[list[Row], list[Row]]:  # noqa: ANN401  # options
    """Return the gates and the promised starts of a run under Slurm's controller."""
    result = bl.simulate(jobs, system, CONTROLLER, explain=True, walltime="kill", **options)
    gates = result.gates.select("job_id", "start", "end", "gate", "subject", "detail", "hole")
    return gates.rows(), result.promises.select("job_id", "start", "end", "promised", "cause").rows()


def test_reservation_under_slurm() -> None:
    """Job 3 fits, and comes into the way of a reservation when its limit reaches the begin."""
    system = cores(2, reservations=(bl.Reservation("r", start=1000, duration=100, nodes="0-1"),))
    rows = (0, 500, 900, 1), (10, 100, 480, 2), (20, 50, 900, 1)
    gates, promises = controlled(workload(*rows, overrun="keep"), system)
    assert gates == [
        (2, 10, 500, "resources", "core", "earlier", None),
        (3, 20, 30, "order", "2", None, None),
        (3, 30, 100, "would_delay", "2", None, 870),
        (3, 100, 500, "window", "r", None, 900),
        (3, 500, 600, "resources", "core", "earlier", None),
        (3, 600, 1000, "window", "r", None, 400),
        (3, 1000, 1100, "unavailable", None, None, None),
    ]
    # Slurm looks for a start again 1 s after the end of a reservation (S26, 4).
    assert promises == [
        (2, 30, 500, 900, "time"),
        (3, 30, 510, 1380, "time"),
        (3, 510, 1100, 1101, "time"),
    ]


def test_own_reservation_under_slurm() -> None:
    """A job waits for the begin of its reservation, and then has to end in it."""
    own = bl.Reservation("r", start=1000, duration=300, nodes="0-1", admits=bl.Conditions())
    jobs = workload((990, 130, 150, 2), (995, 50, 180, 1), overrun="keep", reservation=["r", "r"])
    gates, promises = controlled(jobs, cores(2, reservations=(own,)))
    assert gates == [
        (1, 990, 1000, "own_reservation", "r", None, None),
        (2, 995, 1000, "own_reservation", "r", None, None),
        (2, 1000, 1120, "resources", "core", "earlier", None),
        (2, 1120, None, "own_reservation", "r", None, None),
    ]
    assert promises == [(2, 1020, None, 1180, "time")]


@pytest.mark.parametrize("grace_time", [0.0, 60.0])
def test_preemption_under_slurm(grace_time: float) -> None:
    """Victims leave at once or after their grace time; the job for which they fall starts in a later call."""
    preemption = bl.Preemption(by="qos", mode="requeue", grace_time=grace_time)
    qualities = (bl.QualityOfService("low"), bl.QualityOfService("high", priority=1, preempts=("low",)))
    jobs = workload((0, 500, 600, 2), (10, 50, 60, 1), overrun="keep", qos=["low", "high"])
    gates, promises = controlled(jobs, cores(2, qos=qualities, preemption=preemption))
    if not grace_time:
        assert gates == [
            (1, 10, 180, "begin_time", None, None, None),
            (2, 10, 13, "resources", None, "preempted", None),
        ]
        assert promises == []
        return
    # The victim leaves at the look at limits after its grace time, and waits for 121 s.
    assert gates == [
        (1, 90, 240, "begin_time", None, None, None),
        (2, 10, 90, "resources", "core", "victims", None),
    ]
    assert promises == [(2, 30, 60, 30, "time"), (2, 60, 90, 60, "time")]


class Refusing(bl.Allocator):
    """An allocator that places no job beside another one."""

    def allocate(self, job: bl.Job, view: bl.View) -> list[int] | None:
        """Place jobs on an empty machine only."""
        nodes = [node for node in range(4) if view.slots(job, node)][: job.tasks]
        return None if len(view.running) or len(nodes) < job.tasks else nodes


def test_python_allocator() -> None:
    """A job that fits is left to the allocator; one that does not fit lacks resources."""
    jobs = workload((0, 50, 50, 2), (10, 20, 20, 1), (10, 20, 20, 3))
    for rule in ("none", "first_fit", "easy", "conservative"):
        assert gates(jobs, cores(4), bl.Policy("fcfs", rule, Refusing()))[2] == [
            (10, 50, "allocator", None, None)
        ]
    assert gates(jobs, cores(4), bl.Policy("fcfs", "first_fit", Refusing()))[3] == [
        (10, 50, "resources", "core", "earlier"),
        (50, 70, "allocator", None, None),
    ]


def test_python_scheduler() -> None:
    """A job that fits waits for the policy."""
    jobs = workload((0, 50, 50, 2), (0, 30, 30, 2), (5, 10, 10, 1))
    found = gates(jobs, cores(4), bl.Policy(scheduler=Lonely()))
    assert found == {
        2: [(0, 50, "policy", None, None)],
        3: [(5, 80, "policy", None, None)],
    }


class Lonely(bl.Scheduler):
    """A scheduler that runs one job at a time."""

    def schedule(self, view: bl.View) -> None:
        """Start the first job on an empty machine."""
        job = next(iter(view.queue), None)
        if job is not None and not len(view.running):
            view.start(job)


def test_preemption() -> None:
    """A job waits for its victims, and a victim for the job that it fell for."""
    jobs = workload((0, 100, 100, 4), (10, 20, 20, 4), partition=["low", "high"])
    partitions = (bl.Partition("low", "0-3"), bl.Partition("high", "0-3", tier=2))
    system = cores(4, partitions=partitions, preemption=bl.Preemption("tier", grace_time=30))
    result = bl.simulate(jobs, system, "easy", explain=True)
    rows = result.gates.select("job_id", "start", "end", "gate", "subject", "detail").rows()
    assert rows == [
        (1, 40, 60, "resources", "core", "overtakers"),
        (2, 10, 40, "resources", "core", "victims"),
    ]
    # Another job takes free nodes meanwhile, so that the victim waits for the job that it fell for.
    jobs = workload((0, 100, 100, 2), (10, 20, 20, 3), (20, 40, 40, 2), partition=["low", "high", "high"])
    table = bl.simulate(jobs, system, "first_fit", explain=True).gates.filter(job_id=1)
    assert table.select("start", "end", "gate", "subject", "detail").rows() == [
        (40, 60, "promised", "2", None),
        (60, 80, "resources", "core", "overtakers"),
    ]


def test_initial_state() -> None:
    """What a job waited before the first pass is a part of its own, so that the parts still add up."""
    state = bl.InitialState(35.0, [{"job_id": 1, "start_time": 0, "nodes": [0, 1, 2]}])
    result = bl.simulate(EASY, cores(4), "easy", explain=True, initial_state=state)
    rows = result.gates.select("job_id", "start", "end", "gate", "subject", "detail").rows()
    assert rows == [
        (2, 10, 35, "before_state", None, None),
        (2, 35, 60, "resources", "core", "earlier"),
        (3, 20, 35, "before_state", None, None),
        (3, 35, 60, "would_delay", "2", None),
        (3, 60, 110, "resources", "core", "earlier"),
        (4, 30, 35, "before_state", None, None),
        (4, 35, 60, "would_delay", "2", None),
        (4, 60, 110, "resources", "core", "earlier"),
    ]
    parts = result.waiting_time("job_id", of="gates")
    assert parts.select("job_id", "before_state").rows() == [(2, 25), (3, 15), (4, 5)]


def test_initial_state_under_slurm() -> None:
    """No call has come upon the jobs of a state; its next calls are made all the same."""
    state = bl.InitialState(35.0, [{"job_id": 1, "start_time": 0, "nodes": [0, 1, 2]}])
    gates, promises = controlled(EASY, cores(4), initial_state=state)
    assert gates == [
        (2, 10, 35, "before_state", None, None, None),
        (2, 35, 60, "resources", "core", "earlier", None),
        (3, 20, 35, "before_state", None, None, None),
        (3, 35, 60, "would_delay", "2", None, 85),
        (3, 60, 110, "resources", "core", "earlier", None),
        (4, 30, 35, "before_state", None, None, None),
        (4, 35, 60, "would_delay", "2", None, 85),
        (4, 60, 110, "resources", "core", "earlier", None),
    ]
    assert promises == [
        (2, 35, 60, 120, "time"),
        (3, 35, 65, 180, "time"),
        (3, 65, 110, 120, "time"),
        (4, 35, 65, 180, "time"),
        (4, 65, 110, 120, "time"),
    ]


def test_refused_look_ahead() -> None:
    """Copies that go on under another policy are refused."""
    simulation = bl.Simulation(EASY, cores(4), "easy", explain=True)
    with pytest.raises(bl.SimulationError, match="another policy if explain = True"):
        simulation.look_ahead("fcfs")


def test_asked_for_only() -> None:
    """Without explain=True there is no record."""
    with pytest.raises(bl.ResultError, match="pass explain=True"):
        _ = bl.simulate(EASY, cores(4), "easy").gates


def test_recording_changes_no_schedule() -> None:
    """The schedule is the same with and without."""
    for case in seeded_cases(range(60)):
        parts = workload_of(case), system_of(case.machine), policy_of(case)
        plain, explained = (
            bl.simulate(*parts, options=options_of(case), observers=observers_of(case), explain=explain)
            for explain in (False, True)
        )
        assert plain.jobs.equals(explained.jobs)
