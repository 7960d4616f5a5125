"""Initial states: what users give and get, files, and what is refused."""

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import batchlab as bl

TABLE = {
    "submit_time": [0, 50, 60, 90],
    "run_time": [100, 30, 20, 10],
    "tasks": [3, 4, 1, 1],
}
SYSTEM = bl.System.homogeneous(nodes=1, resources={"core": 4})
RUNNING: dict[str, object] = {"job_id": 1, "start_time": 10}


def workload(**columns: object) -> bl.Workload:
    """Give four jobs."""
    return bl.Workload.from_table(TABLE | columns)


def starts(state: bl.InitialState | Path | None, policy: str = "easy", **options: object) -> list[float]:
    """Give the starts of the jobs in a run that begins in a state."""
    result = bl.simulate(workload(), SYSTEM, policy, initial_state=state, **options)  # type: ignore[arg-type]  # any option
    return result.jobs["start_time"].to_list()


def test_running_and_waiting_jobs() -> None:
    """A running job ends by its own start; jobs submitted before wait from their submission on."""
    # Jobs 2 and 3 wait at 70; the core beside job 1 is free for job 3, which ends before 110.
    assert starts(bl.InitialState(70, [RUNNING])) == [10.0, 110.0, 70.0, 90.0]
    assert starts(bl.InitialState(70, [RUNNING]), "fcfs") == [10.0, 110.0, 140.0, 140.0]


def test_shown_in_a_line() -> None:
    """A state says its time and how many jobs it has, not their table."""
    assert repr(bl.InitialState(70, [RUNNING])) == "<InitialState at 70 s; jobs: 1 running>"
    assert repr(bl.InitialState(0)) == "<InitialState at 0 s; jobs: none>"


def test_a_job_that_is_held_waits() -> None:
    """A held job, submitted or not, is released by an event only."""
    held = [RUNNING, {"job_id": 3, "state": "held"}, {"job_id": 4, "state": "held"}]
    release = [{"time": 95, "event": "release", "job_id": 4}]
    result = bl.simulate(workload(), SYSTEM, "easy", initial_state=bl.InitialState(70, held), events=release)
    assert result.jobs["start_time"].to_list() == [10.0, 110.0, None, 95.0]


def test_jobs_that_are_over() -> None:
    """They keep their times, and free those that depend on them."""
    over: list[dict[str, object]] = [
        {"job_id": 1, "start_time": 0, "end_time": 40, "state": "killed"},
        {"job_id": 2, "start_time": 50, "end_time": 65},
    ]
    jobs = workload(depends_on=[[], [], [2], [1]])
    result = bl.simulate(jobs, SYSTEM, "easy", initial_state=bl.InitialState(70, over))
    assert result.jobs["start_time"].to_list() == [0.0, 50.0, 70.0, None]
    assert result.jobs["state"].to_list() == ["killed", "completed", "completed", "rejected"]


def test_drained_nodes_and_given_nodes() -> None:
    """Nodes are kept in rank order; a drained node takes no job."""
    system = bl.System.homogeneous(nodes=3, resources={"core": 4})
    state = bl.InitialState(70, [RUNNING | {"nodes": [2, 0], "node_tasks": [1, 2]}], drained=[1])
    result = bl.simulate(workload(), system, "easy", initial_state=state)
    assert result.jobs["nodes"].to_list()[0] == [2, 0]
    assert result.jobs["nodes"].to_list()[1:3] == [[0, 2], [2]]
    assert 1 not in result.placements["node"].to_list()


def test_tasks_fill_the_nodes() -> None:
    """Without numbers each node gets a task, and then as many as it has room for, in order."""
    system = bl.System.homogeneous(nodes=2, resources={"core": 2})
    result = bl.simulate(
        workload(), system, "easy", initial_state=bl.InitialState(70, [RUNNING | {"nodes": "0-1"}])
    )
    assert result.placements.filter(pl.col("job_id") == 1)["tasks"].to_list() == [2, 1]


@pytest.mark.parametrize("name", ["state.csv", "state.parquet"])
def test_files(name: str, tmp_path: Path) -> None:
    """A state that was written is read as it was, to the last bit, by the simulation too."""
    simulation = bl.Simulation(workload(), SYSTEM, "conservative")
    simulation.run_until(70)
    state, path = simulation.initial_state(), tmp_path / name
    state.write(path)
    read = bl.InitialState.read(path)
    assert_frame_equal(read.jobs, state.jobs)
    assert (read.time, read.decided, read.drained) == (60.0, True, ())
    assert state.jobs.filter(pl.col("job_id") == 2)["reserved_time"].to_list() == [100.0]
    assert (
        starts(path, "conservative")
        == bl.simulate(workload(), SYSTEM, "conservative").jobs["start_time"].to_list()
    )


def test_a_file_by_hand(tmp_path: Path) -> None:
    """A table and a line with its time are enough."""
    path = tmp_path / "state.csv"
    path.write_text('# batchlab initial state {"time": 70}\njob_id,start_time,nodes\n1,10,0\n')
    assert starts(path) == [10.0, 110.0, 70.0, 90.0]


def test_limits_kill_by_the_start() -> None:
    """Under walltime="kill" the limit counts from the start."""
    jobs = workload(requested_time=[80, 30, 20, 10])
    result = bl.simulate(jobs, SYSTEM, "easy", walltime="kill", initial_state=bl.InitialState(70, [RUNNING]))
    assert result.jobs["end_time"][0] == 90.0
    with pytest.raises(
        bl.WorkloadError, match=r"job 1: it runs, but walltime = \"kill\" ends it at its limit at 90"
    ):
        bl.simulate(jobs, SYSTEM, "easy", walltime="kill", initial_state=bl.InitialState(95, [RUNNING]))


def test_usage_orders_the_jobs() -> None:
    """Usage of the state decides between users; the one that has used less comes first."""
    accounts = (bl.Account("lab", users={"ann": 1, "bob": 1}),)
    system = bl.System(SYSTEM.groups, accounts=accounts)
    jobs = workload(user=["ann", "ann", "bob", "bob"], account="lab", tasks=[4, 4, 4, 4])
    for used, first in (("bob", 1), ("ann", 2)):
        usage = [
            {"account": "lab", "user": user, "usage": 1e6 if user == used else 0.0} for user in ("ann", "bob")
        ]
        usage += [{"account": "lab", "usage": 1e6}, {"account": "root", "usage": 1e6}]
        state = bl.InitialState(70, [RUNNING], usage=usage)
        result = bl.simulate(
            jobs, system, "easy(order=multifactor(fair_share=1000, period=0))", initial_state=state
        )
        assert result.jobs["start_time"][first] == 110.0


def test_snapshots_of_a_run_that_began_earlier() -> None:
    """A snapshot of it is restored, also where the first submission is that of other jobs."""
    state = bl.InitialState(70, [RUNNING], first_submission=-100)
    simulation = bl.Simulation(workload(), SYSTEM, "easy", initial_state=state)
    simulation.run_until(80)
    again = bl.Simulation.restore(simulation.snapshot(), workload(), SYSTEM, "easy")
    again.run_until()
    assert again.result().jobs["start_time"].to_list() == [10.0, 110.0, 70.0, 90.0]
    assert simulation.initial_state().first_submission == -100


REFUSED: dict[str, tuple[list[dict[str, object]], str]] = {
    "twice": ([RUNNING, RUNNING], "job 1: job_id = 1; must be there once"),
    "unknown": ([{"job_id": 9}], "job 9: job_id = 9; must be a job of the workload"),
    "to come": (
        [{"job_id": 4}],
        "job 4: submit_time = 90.0; must be <= time = 70, unless the job is held or has a priority",
    ),
    "later": ([{"job_id": 1, "start_time": 71}], "job 1: start_time = 71.0; must be <= time = 70"),
    "too early": ([{"job_id": 2, "start_time": 40}], "job 2: start_time = 40.0; must be >= submit_time"),
    "no start": (
        [{"job_id": 1, "state": "running"}],
        "job 1: start_time = None; must be given for a running job",
    ),
    "a state": ([{"job_id": 1, "state": "runing"}], "job 1: state = 'runing'; must be one of running"),
    "a column": ([{"job_id": 1, "start": 1}], "jobs has an unknown column 'start'"),
    "room": (
        [RUNNING | {"nodes": [0]}, {"job_id": 2, "start_time": 60, "nodes": [0]}],
        "room for 1 of its 4 tasks at 60",
    ),
    "no node": ([RUNNING | {"nodes": [1]}], "node 1 is not there; nodes are numbered from 0 to 0"),
    "tasks": ([RUNNING | {"nodes": [0], "node_tasks": [2]}], "job 1: .*2 tasks"),
    "counts": ([RUNNING | {"nodes": [0], "node_tasks": [1, 2]}], "must have a number for each of its nodes"),
    "nowhere": (
        [RUNNING, {"job_id": 2, "start_time": 60}],
        "job 2: it runs, and the allocator finds no nodes",
    ),
    "text": ([RUNNING | {"nodes": "0-"}], "nodes = '0-'; must be ranges of node numbers"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_breaks_a_rule(name: str) -> None:
    """One line names the job, the value and the rule."""
    jobs, message = REFUSED[name]
    with pytest.raises(bl.WorkloadError, match=message):
        starts(bl.InitialState(70, jobs))


def test_a_run_that_is_over_by_then() -> None:
    """A job that runs must end at the time of the state or later."""
    assert starts(bl.InitialState(110, [RUNNING]))[0] == 10.0
    with pytest.raises(bl.WorkloadError, match="job 1: it runs, but its run_time is over at 110 s"):
        starts(bl.InitialState(111, [RUNNING]))


def test_what_is_not_supported() -> None:
    """Predictors learn, and schedulers in Python remember: both are refused, with what it is."""
    with pytest.raises(bl.SimulationError, match="does not support predictors"):
        starts(bl.InitialState(70, [RUNNING]), "easy(predictor=last_two)")
    simulation = bl.Simulation(workload(), SYSTEM, bl.ExternalScheduler())
    for point in simulation.decision_points():
        for job in point.view.candidates():
            point.view.start(job)
        with pytest.raises(bl.SimulationError, match="an instant that is not over"):
            simulation.initial_state()
    with pytest.raises(bl.SimulationError, match="this scheduler, which remembers more"):
        simulation.initial_state()
    with pytest.raises(bl.SimulationError, match="without a submitted job"):
        bl.Simulation(workload(), SYSTEM, "easy").initial_state()
    with pytest.raises(bl.WorkloadError, match="must be an InitialState or the path"):
        starts([])  # type: ignore[arg-type]  # that is the point


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("job_id\n1\n", "must begin with a line such as"),
        ('# batchlab initial state {"tim": 70}\njob_id\n1\n', 'a JSON object with "time"'),
        ('# batchlab initial state {"time": 70, "drain": []}\njob_id\n1\n', "unknown entry 'drain'"),
        ('# batchlab initial state {"time": 70\njob_id\n1\n', "is no initial state"),
        ('# batchlab initial state {"time": "x"}\njob_id\n1\n', "time = 'x'"),
    ],
)
def test_files_that_are_none(text: str, message: str, tmp_path: Path) -> None:
    """The error names the file and the rule."""
    path = tmp_path / "state.csv"
    path.write_text(text)
    with pytest.raises(bl.WorkloadError, match=rf"state\.csv: .*{message}"):
        bl.InitialState.read(path)


def under_slurm() -> bl.InitialState:
    """Return a state of a run under Slurm's controller, in which a job runs and two wait."""
    simulation = bl.Simulation(workload(), SYSTEM, "slurm")
    simulation.run_until(70)
    return simulation.initial_state()


def test_what_a_controller_remembers(tmp_path: Path) -> None:
    """A state of a run under `slurm` has the calls of the controller, also in a file."""
    state = under_slurm()
    assert state.controller is not None
    assert [each["job_id"] for each in state.controller["jobs"]] == [1, 2, 3]
    undisturbed = bl.simulate(workload(), SYSTEM, "slurm").jobs["start_time"].to_list()
    assert starts(state, "slurm") == undisturbed
    state.write(tmp_path / "state.csv")
    assert bl.InitialState.read(tmp_path / "state.csv").controller == state.controller
    assert starts(tmp_path / "state.csv", "slurm") == undisturbed


def test_a_controller_that_has_just_started() -> None:
    """Without what it remembers, its threads begin to wake at the time of the state."""
    state = bl.InitialState(70)
    assert starts(state, "slurm(backfill=False, main_phase=10)")[0] == 70.0
    assert starts(state, "slurm(backfill=False, main_phase=0.5)")[0] == 70.5


@pytest.mark.parametrize(
    ("place", "value", "rule"),
    [
        ("main", {"phase": 0}, "main has no 'called'"),
        ("weights", 1, "weights = 1; must be a list"),
        ("weights", [-1], "weights = -1"),
        ("arrays", [3], "must be pairs of an array_id and a time"),
        ("calls", 1, "unknown entry 'calls'"),
    ],
)
def test_wrong_controllers(place: str, value: object, rule: str) -> None:
    """What no controller remembers is refused, with its place."""
    controller = {**(under_slurm().controller or {}), place: value}
    with pytest.raises(bl.errors.WorkloadError, match=rule):
        bl.InitialState(70, controller=controller)


def test_controllers_of_other_runs() -> None:
    """A controller fits the policy, the machine and the jobs."""
    state = under_slurm()
    with pytest.raises(bl.errors.SimulationError, match="the policy has no controller"):
        starts(state, "easy")
    with pytest.raises(bl.errors.SimulationError, match="backfill thread"):
        starts(state, "slurm(backfill=False)")
    known = [{**each, "job_id": 9} for each in (state.controller or {})["jobs"]]
    with pytest.raises(bl.errors.WorkloadError, match=r"job_id = 9; must be a job of the workload"):
        starts(bl.InitialState(70, controller={**(state.controller or {}), "jobs": known}), "slurm")
