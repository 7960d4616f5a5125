"""When jobs start and end under Slurm's controller (S24, S25), by hand."""

import re
from typing import Any

import pytest

import batchlab as bl
from batchlab.errors import PolicyError
from batchlab.policy import SlurmParameters
from support.slurm_small_runs import SYSTEM, contested, starts


def test_the_main_loop_is_called_at_times_of_its_own() -> None:
    """At 0.25 s past each second, three seconds apart; the whole queue at 0.25, 60.25, and so on."""
    times = [10.0, 11.0, 12.0]
    found = starts("slurm(main_phase=0.25, backfill=false)", submit_time=times, tasks=[1, 1, 1])
    assert found == [10.25, 13.25, 40.25]
    spec = "slurm(main_phase=0.25, backfill=false, batch_sched_delay=50)"
    assert starts(spec, submit_time=[1.0, 55.0], tasks=[1, 1]) == [50.25, 60.25]


def test_the_main_thread_wakes_later_each_second() -> None:
    """With a lag of a quarter of a second it wakes at 0.25, 1.5, 2.75, 4.0, and so on."""
    spec = "slurm(main_phase=0.25, backfill=false, main_lag=0.25, batch_sched_delay=0)"
    assert starts(spec, submit_time=[1.0, 2.0, 3.0], tasks=[1, 1, 1], run_time=[0.5] * 3) == [1.5, 2.75, 4.0]


def test_a_cycle_takes_time() -> None:
    """Three jobs of 0.75 s each: the next cycle begins 2.25 s and the interval after the first."""
    columns: dict[str, Any] = {"tasks": [4, 4, 4], "run_time": [1.0, 1.0, 1.0]}
    never = "main_phase=59, sched_interval=600, batch_sched_delay=600"
    spec = f"slurm({never}, backfill_phase=0.5, bf_interval=10"
    assert starts(f"{spec})", **columns) == [10.5, 20.5, 30.5]
    assert starts(f"{spec}, bf_test_time=0.75)", **columns) == [10.5, 22.75, 34.25]


@pytest.mark.parametrize(
    ("more", "found"),
    [
        # Three parts of one entry, at 10.5, 12.5 and 14.5 s: each sees what there is then.
        ("bf_continue=true", [10.5, 12.5, 14.5]),
        # The job that comes at 11 s ends the cycle at 12.5 s; so the next begins 10 s later.
        ("bf_continue=false", [10.5, 22.5, 24.5]),
        # The third would be looked at 3 s after the begin.
        ("bf_continue=true, bf_max_time=3", [10.5, 12.5, 23.0]),
    ],
)
def test_cycles_pause(more: str, found: list[float]) -> None:
    """Each entry takes half a second, after which backfill sleeps for one and a half."""
    columns: dict[str, Any] = {"tasks": [1, 1, 1, 4], "submit_time": [10.0, 10.0, 10.0, 11.0]}
    never = "main_phase=59, sched_interval=600, batch_sched_delay=600"
    spec = f"slurm(select=cores, {never}, backfill_phase=0.5, bf_interval=10, bf_test_time=0.5"
    pauses = "bf_yield_interval=1, bf_yield_sleep=1500000"
    assert starts(f"{spec}, {pauses}, {more})", **columns)[:3] == found


@pytest.mark.parametrize(("delay", "found"), [(50, [0.25, 110.25, 50.25]), (3, [0.25, 45.25, 75.25])])
def test_jobs_age_from_their_first_call(delay: int, found: list[float]) -> None:
    """At the calculation at 30 s the job of 1 s has an age only if a call has had it in its queue."""
    order = "multifactor(age=1000, max_age=100, period=30)"
    columns: dict[str, Any] = {"tasks": [4, 4, 4], "run_time": [45.0, 30.0, 30.0], "nice": [0, 0, -100]}
    spec = f"slurm(main_phase=0.25, backfill=false, batch_sched_delay={delay}, order={order})"
    assert starts(spec, submit_time=[0.0, 1.0, 35.0], **columns) == found


def test_tasks_age_with_their_array() -> None:
    """The second task may start from 45.25 s on; at 60 s it is as old as the first."""
    order = "multifactor(age=1000, max_age=100, period=30)"
    found = starts(
        f"slurm(main_phase=0.25, backfill=false, order={order})",
        submit_time=[0.0, 35.0, 50.0],
        tasks=[4, 4, 4],
        run_time=[45.0, 30.0, 30.0],
        array=["0-1%1", None, None],
        nice=[0, -100, -300],
    )
    assert found == [0.25, 75.25, 45.25, 120.25]


def test_bounds_of_starts() -> None:
    """A call that may start one job leaves the next to the call after it."""
    never = "main_phase=59, sched_interval=600, batch_sched_delay=600"
    backfill = f"slurm({never}, backfill_phase=0.5, bf_interval=10, bf_max_job_start=1)"
    assert starts(backfill, tasks=[1, 1], run_time=[1.0, 1.0]) == [10.5, 20.5]
    main = "slurm(main_phase=0.25, backfill=false, sched_max_job_start=1, sched_interval=20)"
    assert starts(main, tasks=[1, 1]) == [10.25, 20.25]


@pytest.mark.parametrize(
    ("bound", "found"),
    [
        ("", [10.5, 10.5, 10.5, 10.5]),
        ("bf_max_job_user=2", [10.5, 10.5, 20.5, 10.5]),
        ("bf_max_job_user_part=1", [10.5, 20.5, 10.5, 10.5]),
        ("bf_max_job_assoc=1", [10.5, 10.5, 20.5, 10.5]),
    ],
)
def test_depths_of_users(bound: str, found: list[float]) -> None:
    """Backfill leaves out the third job of a user, his second in a partition, or his second in an account."""
    system = bl.System.homogeneous(
        nodes=4, resources={"core": 1}, partitions=(bl.Partition("a", "0-3"), bl.Partition("b", "2-3"))
    )
    never = "main_phase=59, sched_interval=600, batch_sched_delay=600"
    columns: dict[str, Any] = {
        "tasks": [1, 1, 1, 1],
        "partition": ["a", "a", "b", "a"],
        "user": ["ann", "ann", "ann", "bob"],
        "account": ["x", "y", "y", "y"],
    }
    spec = f"slurm({never}, backfill_phase=0.5, bf_interval=10, {bound})".replace(", )", ")")
    assert starts(spec, system, **columns) == found


@pytest.mark.parametrize(
    ("bound", "last"),
    [
        ("", 40.5),
        ("bf_min_prio_reserve=995", 40.5),
        ("bf_min_prio_reserve=996", 10.5),
        ("bf_min_age_reserve=0", 40.5),
        ("bf_min_age_reserve=1", 10.5),
        ("bf_one_resv_per_job=true", 10.5),
    ],
)
def test_jobs_that_are_planned(bound: str, last: float) -> None:
    """The last job fits beside no plan of the third in `b`: that has none, or one in `a` alone."""
    system = bl.System.homogeneous(
        nodes=4, resources={"core": 1}, partitions=(bl.Partition("a", "0-1"), bl.Partition("b", "2-3"))
    )
    columns: dict[str, Any] = {
        "tasks": [2, 1, 2, 1],
        "partition": ["a", "b", "a|b", "b"],
        "requested_time": [60.0, 60.0, 60.0, 120.0],
        "nice": [0, 0, 5, 5],
    }
    never = "main_phase=59, sched_interval=600, batch_sched_delay=600"
    spec = f"slurm({never}, backfill_phase=0.5, bf_interval=10, order=multifactor(partition=1000), {bound})"
    assert starts(spec.replace(", )", ")"), system, **columns) == [10.5, 10.5, 40.5, last]


@pytest.mark.parametrize(
    ("order", "found"),
    [("fcfs", [10.25, 10.25, 20.25, 30.25]), ("multifactor(partition=1000)", [10.25, 20.25, 10.25, 30.25])],
)
def test_places_by_partition(order: str, found: list[float]) -> None:
    """The first job is in the way of the second in `high`; in `low` that goes by its priority there."""
    system = bl.System.homogeneous(
        nodes=2,
        resources={"core": 1},
        partitions=(
            bl.Partition("high", "0", tier=2, priority_factor=4),
            bl.Partition("low", "1", priority_factor=1),
            bl.Partition("fair", "1", priority_factor=2),
        ),
    )
    columns: dict[str, Any] = {
        "tasks": [1, 1, 1, 1],
        "partition": ["high", "high|low", "fair", "low"],
        "run_time": [60.0, 9.0, 9.0, 9.0],
    }
    spec = f"slurm(main_phase=0.25, sched_interval=10, batch_sched_delay=10, backfill=false, order={order})"
    assert starts(spec, system, **columns) == found


def test_a_depth_of_partitions() -> None:
    """With a depth of one the main loop looks at one job of each partition, however many fit."""
    system = bl.System.homogeneous(
        nodes=4, resources={"core": 1}, partitions=(bl.Partition("a", "0-3"), bl.Partition("b", "2-3"))
    )
    spec = "slurm(main_phase=0.25, backfill=false, partition_job_depth=1, sched_interval=20)"
    found = starts(spec, system, tasks=[1, 1, 1], partition=["a", "a", "b"])
    assert found == [10.25, 20.25, 10.25]


def test_an_epilog_calls_the_main_loop() -> None:
    """A job that waits for nodes starts when they are free, not at the next waking."""
    for epilog, second in (("false", 41.25), ("true", 40.5)):
        spec = f"slurm(main_phase=0.25, backfill=false, epilog={epilog})"
        assert starts(spec, tasks=[4, 4], run_time=[30.25, 5.0]) == [10.25, second]


@pytest.mark.parametrize(("bound", "last"), [("", 41.5), ("bf_max_job_array_resv=1", 10.5)])
def test_planned_tasks_of_an_array(bound: str, last: float) -> None:
    """The last job fits beside the plan of the first task, and not beside that of the second."""
    system = bl.System.homogeneous(nodes=6, resources={"core": 1})
    columns: dict[str, Any] = {
        "tasks": [4, 3, 3, 1],
        "requested_time": [60.0, 60.0, 60.0, 120.0],
        "run_time": [30.0, 1.0, 1.0, 1.0],
        "array_id": [None, 1, 1, None],
        "array_index": [None, 0, 1, None],
    }
    never = "main_phase=59, sched_interval=600, batch_sched_delay=600"
    spec = f"slurm({never}, backfill_phase=0.5, bf_interval=1, {bound})".replace(", )", ")")
    assert starts(spec, system, **columns) == [10.5, 40.5, 40.5, last]


def test_tasks_of_an_array_that_are_not_looked_at() -> None:
    """With a depth of three, the job behind two tasks without a plan is still looked at, and starts."""
    system = bl.System.homogeneous(nodes=4, resources={"core": 1})
    columns: dict[str, Any] = {
        "tasks": [3, 2, 2, 2, 1],
        "run_time": [30.0, 1.0, 1.0, 1.0, 1.0],
        "array_id": [None, 1, 1, 1, None],
        "array_index": [None, 0, 1, 2, None],
    }
    never = "main_phase=59, sched_interval=600, batch_sched_delay=600"
    spec = f"slurm({never}, backfill_phase=0.5, bf_interval=1, bf_max_job_array_resv=1, bf_max_job_test=3)"
    assert starts(spec, system, **columns)[-1] == 10.5


@pytest.mark.parametrize(
    ("requested", "run_time", "more", "end"),
    [
        (60.0, 200.0, "", 95.0),
        (61.0, 200.0, "", 155.0),
        (60.0, 200.0, ", over_time_limit=60", 155.0),
        (60.0, 80.0, "", 90.25),
    ],
)
def test_time_limits(requested: float, run_time: float, more: str, end: float) -> None:
    """Limits count in whole minutes, and are looked at 5, 35, 65, 95 s, and so on."""
    job = {"submit_time": [10.0], "run_time": [run_time], "requested_time": [requested], "tasks": [1]}
    workload = bl.Workload.from_table(job, overrun="keep")
    spec = f"slurm(main_phase=0.25, backfill=false, limit_phase=5{more})"
    found = bl.simulate(workload, SYSTEM, spec, walltime="kill").jobs
    assert found["end_time"].to_list() == [end]
    assert found["state"].to_list() == ["completed" if end < 95 else "killed"]
    assert bl.simulate(workload, SYSTEM, spec).jobs["end_time"].to_list() == [10.25 + run_time]


def test_limits_of_many_years() -> None:
    """A job that runs for thirty years is not late after one; the calls until its end cost little."""
    columns: dict[str, Any] = {
        "tasks": [3, 3, 1],
        "run_time": [1e9, 30.0, 30.0],
        "requested_time": [1e9, 60.0, 60.0],
    }
    spec = "slurm(select=cores, main_phase=0.25, backfill_phase=0.5)"
    ends = 10.25 + 1e9
    found = starts(spec, **columns)
    assert found[0] == 10.25
    assert found[1] is not None
    assert ends <= found[1] < ends + 61
    assert found[2] is not None
    assert found[2] < 71


def test_time_limits_of_partitions() -> None:
    """A job may run beyond its limit for as long as the partition says in which it was started."""
    partitions = (bl.Partition("short", "0"), bl.Partition("long", "0-1", over_time_limit=60))
    system = bl.System.homogeneous(nodes=2, resources={"core": 1}, partitions=partitions)
    jobs = {"submit_time": [10.0] * 2, "run_time": [200.0] * 2, "requested_time": [60.0] * 2, "tasks": [1, 1]}
    workload = bl.Workload.from_table(jobs | {"partition": ["short|long", "short|long"]}, overrun="keep")
    spec = "slurm(main_phase=0.25, backfill=false, limit_phase=5)"
    assert bl.simulate(workload, system, spec, walltime="kill").jobs["end_time"].to_list() == [95.0, 155.0]


def test_a_job_too_large_for_its_partition_closes_nothing() -> None:
    """The first job does not fit in the first of its partitions, ever; the second starts there at once."""
    partitions = (bl.Partition("small", "0"), bl.Partition("large", "1-3"))
    for select in ("linear", "cores"):
        system = bl.System.homogeneous(nodes=4, resources={"core": 2}, partitions=partitions)
        columns: dict[str, Any] = {
            "tasks": [6, 6, 1],
            "partition": ["large", "small|large", "small"],
            "run_time": [100.0] * 3,
        }
        spec = f"slurm(select={select}, main_phase=0.25, backfill=false)"
        assert starts(spec, system, **columns) == [10.25, 110.25, 10.25]


def test_deferred_calls() -> None:
    """The end of an epilog has the main loop called at its next chance, as nodes without one do."""
    columns: dict[str, Any] = {"tasks": [4, 4], "run_time": [30.5, 30.5]}
    spec = "slurm(main_phase=0.25, backfill=false"
    for more in ("", ", defer=true", ", epilog=true, defer=true"):
        assert starts(f"{spec}{more})", **columns) == [10.25, 41.25]
    assert starts(f"{spec}, epilog=true)", **columns) == [10.25, 40.75]


def test_an_order_that_changes_before_a_reservation() -> None:
    """Nothing runs; the first job would reach into the reservation. From 100 s on the second is first."""
    kept = bl.Reservation("kept", start=300.0, duration=100.0, nodes="0", admits=bl.Conditions())
    system = bl.System.homogeneous(nodes=1, resources={"core": 1}, reservations=(kept,))
    columns: dict[str, Any] = {"tasks": [1, 1], "requested_time": [360.0, 60.0]}
    order = 'expression("(requested_time - 100) * (now - 100)")'
    found = starts(f"slurm(main_phase=0.25, backfill=false, order={order})", system, **columns)
    assert found == [400.25, 120.25]


def test_calls_are_put_off() -> None:
    """The direct call at 12.75 s comes too soon after that of 10.25 s; it is made 4 s after that."""
    columns: dict[str, Any] = {"tasks": [4, 4], "run_time": [2.5, 2.5]}
    spec = "slurm(main_phase=0.25, backfill=false, epilog=true, batch_sched_delay=9"
    assert starts(f"{spec})", **columns) == [10.25, 12.75]
    assert starts(f"{spec}, sched_min_interval=9999)", **columns) == [10.25, 12.75]
    assert starts(f"{spec}, sched_min_interval=4000000)", **columns) == [10.25, 14.25]


def test_backfill_starts_what_delays_no_plan() -> None:
    """Behind a job of both nodes, one of a minute starts beside one of three, one of five minutes not."""
    columns: dict[str, Any] = {
        "tasks": [2, 4, 2, 2],
        "run_time": [170.0, 60.0, 280.0, 50.0],
        "requested_time": [180.0, 60.0, 300.0, 60.0],
    }
    spec = "slurm(main_phase=0.25, backfill_phase=0.5, bf_resolution=1)"
    assert starts(spec, **columns) == [10.25, 180.25, 240.25, 10.5]


def test_limits_are_asked_before_each_job() -> None:
    """With one running job for each user the second job of a user waits, and jobs behind it start."""
    limit = bl.Limit("OnePerUser", per=("user",), running_jobs=1)
    system = bl.System.homogeneous(nodes=4, resources={"core": 1}, limits=(limit,))
    spec = "slurm(main_phase=0.25, backfill_phase=0.5)"
    assert starts(spec, system, tasks=[1, 1, 1], user=["ann", "ann", "ben"]) == [10.25, 40.25, 10.25]


def test_a_controller_with_nothing_to_do_costs_nothing() -> None:
    """Between two jobs a year apart, and while one runs for a year, there are a few instants."""
    year = 31_536_000.0
    jobs = {
        "submit_time": [10.0, year, year],
        "run_time": [30.0, year - 100.0, 30.0],
        "requested_time": [60.0, year - 60.0, 60.0],
        "tasks": [4, 4, 4],
    }
    simulation = bl.Simulation(bl.Workload.from_table(jobs), SYSTEM, "slurm(bf_interval=2)")
    instants = 0
    while simulation.step():
        instants += 1
    assert simulation.result().jobs["start_time"].is_not_null().all()
    assert instants < 40


def test_phases_are_drawn_from_the_seed() -> None:
    """The same seed gives the same run, another one others; given phases are kept."""
    jobs = {"submit_time": [10.0], "run_time": [30.0], "requested_time": [60.0], "tasks": [1]}
    workload = bl.Workload.from_table(jobs)

    def start(seed: int, spec: str = "slurm") -> float:
        return float(bl.simulate(workload, SYSTEM, spec, seed=seed).jobs["start_time"][0])

    assert start(1) == start(1)
    assert len({start(seed) for seed in range(10)}) == 10
    assert {start(seed, "slurm(main_phase=7.5, backfill=false)") for seed in range(3)} == {10.5}


def test_forks_and_snapshots_go_on_alike() -> None:
    """Left at any instant, a copy of a run ends as the run does."""
    rows = range(30)
    jobs = {
        "submit_time": [7.0 * row for row in rows],
        "run_time": [float(20 + 13 * row % 90) for row in rows],
        "requested_time": [120.0] * len(rows),
        "tasks": [1 + row % 4 for row in rows],
    }
    workload = bl.Workload.from_table(jobs)
    simulation = bl.Simulation(workload, SYSTEM, "slurm(bf_interval=2)", seed=3)
    expected = bl.simulate(workload, SYSTEM, "slurm(bf_interval=2)", seed=3).jobs
    for _ in range(20):
        simulation.step()
        data = simulation.snapshot()
        restored = bl.Simulation.restore(data, workload, SYSTEM, "slurm(bf_interval=2)")
        for copy in (simulation.fork(), restored):
            while copy.step():
                pass
            assert copy.result().jobs.equals(expected)


@pytest.mark.parametrize(
    ("spec", "columns", "message"),
    [
        ("slurm(select=cores)", {"tasks": [1], "core": [2], "mem": [3]}, "3 of mem for a task of 2 cores"),
    ],
)
def test_jobs_that_are_not_modelled(spec: str, columns: dict[str, Any], message: str) -> None:
    """They are refused before the run."""
    with pytest.raises(PolicyError, match=re.escape(message)):
        starts(spec, **columns)


def test_a_requeued_job_waits() -> None:
    """It starts at the first call for the whole queue after `requeue_delay` seconds."""
    workload = bl.Workload.from_table(
        {"submit_time": [10.0], "run_time": [30.0], "requested_time": [60.0], "tasks": [1]}
    )
    events = [{"time": 20.0, "event": "requeue", "job_id": 1}]
    spec = "slurm(main_phase=0.25, sched_interval=5"
    for delay, expected in ((9, 30.25), (121, 145.25)):
        result = bl.simulate(workload, SYSTEM, f"{spec}, requeue_delay={delay})", events=events)
        assert result.jobs["start_time"].to_list() == [expected]


def test_systems_that_are_not_modelled() -> None:
    """Nodes that differ, where whole ones are taken; victims that are suspended; flexible reservations."""
    uneven = bl.System((bl.NodeGroup("a", 1, {"core": 2}), bl.NodeGroup("b", 1, {"core": 4})))
    with pytest.raises(PolicyError, match="whole nodes must be alike"):
        starts("slurm", uneven, tasks=[1])
    assert starts("slurm(select=cores, main_phase=0)", uneven, tasks=[1]) == [10.0]
    with pytest.raises(PolicyError, match="slurm does not model preemption by suspending jobs yet"):
        starts("slurm", contested(preemption=bl.Preemption(by="qos", mode="suspend")), tasks=[1])
    kept = bl.Reservation("kept", start=50, duration=100, nodes="0", admits=bl.Conditions(), flexible=True)
    with pytest.raises(PolicyError, match="the job of row 0 may use nodes beyond its reservation"):
        starts("slurm", contested(reservations=(kept,)), tasks=[1], reservation=["kept"])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "slurm(bf_interval=0)",
            "bf_interval = 0; must be a whole number from 1 to 31536000. At character 19",
        ),
        ("slurm(bf_interval=1.5)", "bf_interval = 1.5; must be a whole number"),
        ("slurm(select=serial)", "select = 'serial'; must be one of linear, cores."),
        ("slurm(epilog=yes)", "epilog = 'yes'; must be true or false: write true."),
        ("slurm(cr_lln=true)", "cr_lln = True; goes with select = 'cores', not with 'linear'."),
        ("slurm(pack_serial_at_end=true)", "pack_serial_at_end = True; goes with select = 'cores'"),
        ("slurm(bf_busy_nodes=true)", "bf_busy_nodes = True; goes with select = 'cores', not with 'linear'."),
        ("slurm(defer=1)", "defer = 1; must be true or false."),
        ("slurm(bf_min_prio_reserve=9)", "bf_min_prio_reserve = 9; goes with the order multifactor"),
        (
            "slurm(sched_interval=5, main_phase=5)",
            "main_phase = 5; must be a number of seconds >= 0 and < 5.",
        ),
        ("slurm(bf_intervall=5)", "slurm takes no key 'bf_intervall'. Did you mean 'bf_interval'?"),
        ("slurm(allocator=best_fit)", "allocator = 'best_fit'; Slurm's controller selects nodes itself"),
        ("slurm(predictor=last_two)", "predictor = 'last_two'; Slurm's controller selects nodes itself"),
        ("easy(bf_interval=5)", "easy takes no key 'bf_interval'."),
    ],
)
def test_wrong_parameters(spec: str, message: str) -> None:
    """The message says what is wrong, and where."""
    with pytest.raises(PolicyError, match=re.escape(message)):
        bl.Policy.parse(spec)


def test_specs() -> None:
    """What is written stays; other names take the rule as their backfilling rule."""
    assert str(bl.Policy.parse("slurm(bf_interval=30, order=sjf)")) == "slurm(bf_interval=30, order=sjf)"
    assert str(bl.Policy.parse("sjf(backfill=slurm(bf_interval=2))")) == "slurm(bf_interval=2, order=sjf)"
    with pytest.raises(PolicyError, match="goes with backfill slurm, not with easy"):
        bl.Policy(backfill="easy", slurm=SlurmParameters())


def test_the_order_goes_by_the_latest_calculation() -> None:
    """Ben's job comes before Ann's second once usage was counted, not before."""
    system = bl.System.homogeneous(
        nodes=2,
        resources={"core": 1},
        accounts=(bl.Account("physics", users={"ann": 1, "ben": 1}),),
        fair_share=bl.FairShare(decay="slurm"),
    )
    columns: dict[str, Any] = {
        "submit_time": [0.0, 1.0, 2.0],
        "run_time": [70.0, 30.0, 30.0],
        "requested_time": [120.0, 60.0, 60.0],
        "tasks": [2, 2, 2],
        "user": ["ann", "ann", "ben"],
    }
    for period, expected in ((60, [0.25, 100.25, 70.25]), (300, [0.25, 70.25, 100.25])):
        spec = f"slurm(main_phase=0.25, backfill=false, order=multifactor(fair_share=9, period={period}))"
        assert starts(spec, system, **columns) == expected


def test_a_job_that_never_starts_does_not_keep_the_run_going() -> None:
    """Though the order of the queue changes with time, the run ends when nothing runs any more."""
    limit = bl.Limit("OneNode", nodes=1)
    system = bl.System.homogeneous(nodes=2, resources={"core": 1}, limits=(limit,))
    for backfill in ("true", "false"):
        spec = f"slurm(backfill={backfill}, order=multifactor(age=1))"
        assert starts(spec, system, tasks=[2, 2]) == [None, None]
