"""What jobs spend on their nodes besides their runs (S17)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypedDict

import polars as pl
import pytest

import batchlab as bl

if TYPE_CHECKING:
    from typing import Unpack

    from batchlab.core.vocabulary import WalltimeAction

    class OtherArguments(TypedDict, total=False):
        """The other options that are used here."""

        seed: int
        walltime: WalltimeAction


SYSTEM = bl.System.homogeneous(nodes=1, resources={"core": 4})
JOBS = {
    "submit_time": [0.0, 0.0, 0.0],
    "run_time": [60.0, 60.0, 30.0],
    "requested_time": [60.0, 100.0, 50.0],
    "tasks": [4, 4, 2],
    "measured": [3.0, None, 1.0],
}
WORKLOAD = bl.Workload.from_table(JOBS)


def run(overheads: bl.Overheads | None, **options: Unpack[OtherArguments]) -> bl.Result:
    """Run the three jobs."""
    return bl.simulate(WORKLOAD, SYSTEM, "fcfs", overheads=overheads, **options)


def test_nodes_are_held_through_all_phases() -> None:
    """A job begins where the one before it has completed; w = a + run_time + b + c."""
    result = run(bl.Overheads(launch=2, execution=10, completion=5))
    assert result.jobs["start_time"].to_list() == [0.0, 77.0, 154.0]
    assert result.jobs["end_time"].to_list() == [77.0, 154.0, 201.0]
    assert result.jobs["launch_time"].to_list() == [2.0, 2.0, 2.0]
    assert result.jobs["completion_time"].to_list() == [5.0, 5.0, 5.0]
    # All that nodes hold counts.
    core_seconds = 4 * 77 + 4 * 77 + 2 * 47
    used: Any = result.metrics()["utilisation"]
    assert used["core"] == pytest.approx(core_seconds / (4 * 201))


def test_the_limit_counts_overheads() -> None:
    """A job that is killed gives its nodes back at its limit, or its overheads come on top of that."""
    jobs = run(bl.Overheads(launch=2, completion=5), walltime="kill").jobs
    assert jobs["end_time"].to_list() == [60.0, 127.0, 164.0]
    assert jobs["state"].to_list() == ["killed", "completed", "completed"]
    jobs = run(bl.Overheads(launch=2, completion=5, counted=False), walltime="kill").jobs
    assert jobs["end_time"].to_list() == [67.0, 134.0, 171.0]
    assert jobs["state"].to_list() == ["completed"] * 3
    # Launch and completion beyond the limit are cut to it.
    jobs = run(bl.Overheads(launch=55, completion=55), walltime="kill").jobs
    assert jobs["end_time"].to_list() == [60.0, 160.0, 210.0]
    assert jobs["completion_time"].to_list() == [5.0, 45.0, 0.0]


def test_drawn_with_the_seed() -> None:
    """The same seed gives the same overheads, another one others; each phase has its own."""
    overheads = bl.Overheads(launch="uniform(low=0, high=2)", completion="uniform(low=0, high=2)")
    columns = ["launch_time", "completion_time"]
    first, again, other = (run(overheads, seed=seed).jobs.select(columns) for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)
    assert first["launch_time"].to_list() != first["completion_time"].to_list()
    assert first.min().min_horizontal()[0] >= 0
    assert first.max().max_horizontal()[0] <= 2


def test_what_is_drawn_from() -> None:
    """Parameters by name, values, a column of the jobs, and seconds per task."""
    scaled = run(bl.Overheads(launch="norm(mean=1000, sd=1)")).jobs["launch_time"]
    assert scaled.is_between(990, 1010).all()
    assert set(run(bl.Overheads(launch=(1.5, 2.5))).jobs["launch_time"]) <= {1.5, 2.5}
    assert run(bl.Overheads(launch="measured")).jobs["launch_time"].to_list() == [3.0, 0.0, 1.0]
    below = run(bl.Overheads(launch="norm(mean=-1000, sd=1)", completion=bl.Delay(1, per_task=0.5)))
    assert below.jobs["launch_time"].to_list() == [0.0, 0.0, 0.0]
    assert below.jobs["completion_time"].to_list() == [3.0, 3.0, 2.0]


def test_large_sample_has_the_mean_of_the_distribution() -> None:
    """10,000 jobs have the mean and the spread of what they are drawn from."""
    count = 10_000
    jobs = {"submit_time": [0.0] * count, "run_time": [1.0] * count, "tasks": [1] * count}
    overheads = bl.Overheads(launch="gamma(shape=4, scale=0.5)")
    drawn = bl.simulate(bl.Workload.from_table(jobs), SYSTEM, "fcfs", overheads=overheads).jobs["launch_time"]
    assert drawn.mean() == pytest.approx(2.0, abs=0.05)
    assert drawn.std() == pytest.approx(1.0, abs=0.05)


def test_bills() -> None:
    """Accounts are charged for all phases, or for runs only."""
    system = bl.System(
        SYSTEM.groups, accounts=(bl.Account("physics", users={"ann": 1}),), fair_share=bl.FairShare()
    )
    workload = bl.Workload.from_table(JOBS | {"account": ["physics"] * 3, "user": ["ann"] * 3})
    used = {}
    for billed in (True, False):
        overheads = bl.Overheads(launch=2, completion=5, billed=billed)
        result = bl.simulate(
            workload, system, "multifactor(fair_share=1, period=1)", overheads=overheads, usage=True
        )
        last = result.usage.filter(pl.col("user") == "ann")["usage"]
        used[billed] = last.max()
    assert used[True] == pytest.approx(4 * 67 + 4 * 67 + 2 * 37, rel=0.02)
    assert used[False] == pytest.approx(4 * 60 + 4 * 60 + 2 * 30, rel=0.02)


def test_nothing_to_be_seen_without_overheads() -> None:
    """There are no columns, and overheads of no time give the same schedule."""
    assert "launch_time" not in run(None).jobs.columns
    assert run(bl.Overheads()).jobs["end_time"].equals(run(None).jobs["end_time"])


def test_a_look_ahead_takes_estimates_for_the_whole_time() -> None:
    """What is not known of a job is not foreseen: it is taken to end at start + estimate."""
    simulation = bl.Simulation(WORKLOAD, SYSTEM, "fcfs", overheads=bl.Overheads(launch=20, completion=20))
    simulation.run_until(5.0)
    believed = simulation.look_ahead().result()
    ahead = simulation.look_ahead()
    ahead.run_until()
    assert believed.jobs["end_time"].null_count() == 3
    assert ahead.result().jobs["end_time"].to_list() == [60.0, 160.0, 210.0]
    simulation.run_until()
    assert simulation.result().jobs["end_time"].to_list() == [100.0, 200.0, 270.0]


def test_snapshots_keep_overheads() -> None:
    """A restored run goes on with the same overheads, in the midst of a launch and of a completion."""
    overheads = bl.Overheads(launch="uniform(low=5, high=10)", completion="uniform(low=5, high=10)")
    whole = run(overheads, seed=4).jobs
    for until in (3.0, 68.0, 90.0):
        simulation = bl.Simulation(WORKLOAD, SYSTEM, "fcfs", overheads=overheads, seed=4)
        simulation.run_until(until)
        restored = bl.Simulation.restore(simulation.snapshot(), WORKLOAD, SYSTEM, "fcfs")
        restored.run_until()
        assert restored.result().jobs.equals(whole)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"launch": -1}, "launch.base = -1; must be a finite number of seconds >= 0."),
        ({"launch": float("inf")}, "launch.base = inf; must be a finite number of seconds >= 0."),
        ({"completion": ()}, "completion.base = (); give at least one measured value."),
        ({"execution": "unifrom(low=0)"}, "no distribution named 'unifrom'. Did you mean 'uniform'?"),
        ({"execution": "uniform(low=0, width=2)"}, "uniform has no parameter 'width'. Known: high, low."),
        ({"launch": "beta(a=-1, b=1)"}, "scipy.stats.beta(a=-1, b=1): a parameter is out of its range."),
        ({"launch": "beta(c=1)"}, "scipy.stats.beta does not take these parameters"),
        ({"launch": "uniform(low=0, high=open('a'))"}, "high = open(…); must be a finite number."),
        ({"launch": "uniform(low=3, high=2)"}, "low must be below high"),
        ({"launch": {"base": 1, "per_tasks": 2}}, "per_tasks: no such key. Did you mean 'per_task'?"),
        ({"counted": 1}, "counted = 1; must be true or false."),
    ],
)
def test_wrong_descriptions(given: dict[str, Any], message: str) -> None:
    """What is no time is refused in one line."""
    with pytest.raises(bl.SimulationError, match=re.escape(message)):
        bl.Overheads(**given)


def test_wrong_columns() -> None:
    """A column that jobs do not have, or not in numbers, is refused before the run."""
    with pytest.raises(bl.WorkloadError, match=r"launch = 'mesured': the jobs have no such column"):
        run(bl.Overheads(launch="mesured"))
    workload = bl.Workload.from_table(JOBS | {"text": ["a", "b", "c"]})
    with pytest.raises(bl.WorkloadError, match="the column is String; must be a column of seconds"):
        bl.simulate(workload, SYSTEM, "fcfs", overheads=bl.Overheads(launch="text"))
    with pytest.raises(bl.SimulationError, match=r"was drawn as -?inf; must be a finite number"):
        run(bl.Overheads(launch=bl.Delay("cauchy(loc=1e308, scale=1e308)")))


def test_options_of_a_file() -> None:
    """Overheads are a table of an experiment's file, and come back from plain values."""
    options = bl.RunOptions(
        overheads=bl.Overheads(launch="uniform(low=0, high=2)", completion=bl.Delay(1, 0.5))
    )
    assert bl.RunOptions.from_dict(options.to_dict()) == options
    given = {"overheads": {"launch": 2, "completion": {"base": "norm(mean=1, sd=1)", "per_task": 0.1}}}
    read = bl.RunOptions.from_dict(given).overheads
    assert read == bl.Overheads(launch=2, completion=bl.Delay("norm(mean=1, sd=1)", per_task=0.1))
    with pytest.raises(bl.SimulationError, match=r"overheads\.lunch: no such key"):
        bl.RunOptions.from_dict({"overheads": {"lunch": 2}})


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative"])
def test_applications_run_between_launch_and_completion(policy: str) -> None:
    """The end of the launch is not that of the job; an application is cut at its limit."""
    work = bl.Application([bl.Phase([bl.tasks.Delay(20)])])
    system = bl.System.of(bl.Platform.crossbar(1, cores=1, speed="1Gf", bandwidth="1GBps", latency=0))
    ends = {}
    for limit in (None, 30.0, 20.0):
        job = bl.JobDescription(submit_time=0.0, tasks=1, application=work, requested_time=limit)
        workload = bl.Workload.from_jobs([job], overrun="keep")
        overheads = bl.Overheads(launch=10, completion=10)
        result = bl.simulate(workload, system, policy, overheads=overheads, walltime="kill")
        ends[limit] = result.jobs.select("state", "end_time").row(0)
    assert ends == {None: ("completed", 40.0), 30.0: ("killed", 30.0), 20.0: ("killed", 20.0)}


def test_summary() -> None:
    """It says what jobs spend, and how many events came from outside."""
    overheads = bl.Overheads(
        launch="uniform(low=0, high=2)", completion=bl.Delay(1, per_task=0.5), billed=False
    )
    events = [{"time": 5, "event": "kill", "job_id": 1}, {"time": 6, "event": "kill", "job_id": 1}]
    result = bl.simulate(WORKLOAD, SYSTEM, "fcfs", overheads=overheads, events=events)
    lines = result.summary().splitlines()
    assert "overheads     launch uniform(low=0, high=2), completion 1 s + 0.5 s per task, not billed" in lines
    assert "events        2 from outside, of which 1 changed something" in lines
    assert str(bl.Overheads(launch=(1, 2))) == "launch one of 2 values"
    assert str(bl.Overheads()) == "none"
