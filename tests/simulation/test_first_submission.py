"""What is added up, averaged or done in equal intervals begins with the first submission (S1, S2)."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import batchlab as bl

TIMES = (0.0, 1000.0, 1_700_000_000.0)
POWER = bl.NodePower(idle=50, busy=100)


def jobs(begin: float, **columns: list[Any]) -> bl.Workload:
    """Return a job of 10 s, submitted 20 s after another one."""
    table = {"submit_time": [begin, begin + 20], "run_time": [10, 10], "tasks": [1, 1], **columns}
    return bl.Workload.from_table(table)


def observed(begin: float, **options: Any) -> bl.Result:  # noqa: ANN401  # those of simulate
    """Run the two jobs on two nodes, with all that adds up over time."""
    off = bl.SleepState("off", power=5)
    system = bl.System.homogeneous(nodes=2, resources={"core": 1}, sleep_states=(off,))
    price = bl.EnergyPrice(bl.observer.Steps([begin - 5, begin + 15], [0.25, 0.5]))
    warming = bl.NodeWarming(resistance=0.1, capacity=60)
    watchers = [bl.Power(POWER), price, bl.CarbonIntensity(400), bl.Temperature(warming, every=7)]
    return bl.simulate(jobs(begin), system, "fcfs", observers=watchers, sleep="timeout(8)", **options)


@pytest.mark.parametrize("begin", TIMES)
def test_energy_begins_with_the_first_submission(begin: float) -> None:
    """One job of 10 s on a node of 100 W takes 1,000 J, whenever it is submitted."""
    workload = bl.Workload.from_table({"submit_time": [begin], "run_time": [10], "tasks": [1]})
    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    watchers = [bl.Power(POWER), bl.EnergyPrice(0.36)]
    measured: Any = bl.simulate(workload, system, "fcfs", observers=watchers).metrics()
    assert measured["energy"]["total"] == 1000
    assert measured["energy"]["mean_power"] == 100
    assert measured["cost"] == pytest.approx(1e-4)


@pytest.mark.parametrize("begin", TIMES[1:])
def test_all_observations_are_those_of_a_run_from_0(begin: float) -> None:
    """Power, price, emissions, temperatures, energies by state and node, and power states."""
    expected, found = observed(0.0), observed(begin)
    for name, table in expected.observations.items():
        later = found.observations[name]
        if "time" in later.columns:
            assert later["time"][0] == begin
            later = later.with_columns(pl.col("time") - begin)
        assert later.equals(table), name
    states = found.power_states.with_columns(pl.col("start_time", "end_time") - begin)
    assert states.equals(expected.power_states)
    assert found.metrics() == expected.metrics()


def test_events_before_the_first_submission_add_nothing_up() -> None:
    """A node that is drained and resumed before is idle from the first submission on."""
    events = [{"time": 10.0, "event": "drain", "nodes": "0"}, {"time": 20.0, "event": "resume", "nodes": "0"}]
    found, expected = observed(1000.0, events=events), observed(1000.0)
    assert found.metrics() == expected.metrics()
    assert found.power_states.equals(expected.power_states)


def test_a_rejected_job_counts() -> None:
    """The first submission is that of the first job, whatever becomes of it."""
    workload = jobs(1000.0, core=[2, 1])
    system = bl.System.homogeneous(nodes=2, resources={"core": 1})
    result = bl.simulate(workload, system, "fcfs", observers=[bl.Power(POWER)])
    assert result.jobs["state"].to_list() == ["rejected", "completed"]
    measured: Any = result.metrics()
    assert measured["makespan"] == 30
    assert measured["utilisation"]["core"] == pytest.approx(10 / 60)
    assert measured["queue_length"]["mean"] == 0
    assert result.observations["power"]["time"].to_list() == [1000.0, 1020.0, 1030.0]
    assert workload.first_submission == 1000


@pytest.mark.parametrize("begin", TIMES[1:])
@pytest.mark.parametrize("control", ["ondemand", "schedutil"])
def test_governors_look_from_the_first_submission_on(begin: float, control: str) -> None:
    """Their interval need not divide the time of the first submission."""
    rates = (0.5, 1.0, 2.0)
    makers: Any = {"ondemand": bl.Ondemand, "schedutil": bl.Schedutil}
    rule = makers[control](rates=rates, interval=7.0)
    system = bl.System.homogeneous(nodes=2, resources={"core": 1})
    expected, found = (bl.simulate(jobs(at), system, "fcfs", control=rule) for at in (0.0, begin))
    assert found.rates.with_columns(pl.col("time") - begin).equals(expected.rates)
    assert found.metrics() == expected.metrics()


class Asked(bl.Scheduler):
    """Starts what it can, and keeps when it was asked by the clock."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def schedule(self, view: bl.View) -> None:
        """Start jobs in order."""
        assert view.first_submission == 1000
        if view.cause.kind == "periodic":
            self.times.append(view.now)
        for job in [*view.queue]:
            view.start(job)


@pytest.mark.parametrize(("since", "times"), [(None, [1007, 1014, 1021]), (0.0, [1001, 1008, 1015])])
def test_an_invocation_counts_from_the_first_submission(since: float | None, times: list[float]) -> None:
    """Its clock asks one interval later, and so on; or it counts from an instant that is given."""
    scheduler = Asked()
    system = bl.System.homogeneous(nodes=2, resources={"core": 1})
    bl.simulate(jobs(1000.0), system, scheduler, invocation=bl.Invocation(interval=7.0, since=since))
    assert scheduler.times[:3] == times


@pytest.mark.parametrize("option", [bl.Invocation, bl.Sensing])
def test_instants_to_count_from(option: Any) -> None:  # noqa: ANN401  # a class of options
    """What is no instant is refused."""
    with pytest.raises(bl.SimulationError, match="since = nan; must be a finite number of seconds"):
        option(interval=1.0, since=float("nan"))


@pytest.mark.parametrize(("since", "time"), [(None, 1000.0), (0.0, 994.0)])
def test_sensing_counts_from_the_first_submission(since: float | None, time: float) -> None:
    """It looks then; or at the last look before that where it counts from an instant that is given."""
    platform = bl.Platform.crossbar(2, speed="1Gf", bandwidth="1GBps", latency=0)
    work = bl.Application([bl.Phase([bl.tasks.Compute(flops=4e9, computation_pattern="uniform")])])
    job = bl.JobDescription(submit_time=1000.0, application=work, tasks=1)
    workload = bl.Workload.from_jobs([job])
    sensing = bl.Sensing(7.0, since=since)
    result = bl.simulate(workload, bl.System.of(platform), "fcfs", sensing=sensing)
    assert result.utilisation["cpu"]["time"][0] == time


@pytest.mark.parametrize("begin", TIMES[1:])
def test_steps_of_decay_count_from_the_first_submission(begin: float) -> None:
    """Usage is halved every 7 s after it."""
    account = bl.Account("physics", users={"ann": 1})
    shares = bl.FairShare(decay="steps", decay_period=7, decay_factor=0.5)
    system = bl.System.homogeneous(nodes=2, resources={"core": 1}, accounts=(account,), fair_share=shares)

    def usage(at: float) -> list[float]:
        workload = jobs(at, user=["ann", "ann"])
        policy = "easy(order=multifactor(fair_share=100, period=5))"
        return bl.simulate(workload, system, policy, usage=True).usage["usage"].to_list()

    assert usage(begin) == usage(0.0)


def test_a_workload_without_jobs_begins_at_0() -> None:
    """So does a run of it; a slice begins with its own first job."""
    workload = jobs(1000.0)
    assert (workload.first_submission, workload.last_submission) == (1000, 1020)
    assert workload.slice_time(1001).first_submission == 1020
    assert (workload.head(0).first_submission, workload.head(0).last_submission) == (0, 0)
