"""What nodes draw at the rates of their controls: by hand, and what must add up (S19, S21, Power)."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import batchlab as bl
from batchlab.observer.description import power_of
from batchlab.result.course import Steps, rates_of
from properties.test_rates import CONTROLLED
from support.rate_cases import RATES
from support.schedule_runs import events_of, observers_of, options_of, policy_of, workload_of
from support.schedule_systems import system_of
from support.sleep_cases import sleeping

if TYPE_CHECKING:
    from support.schedule_cases import Case

CASES = 100
PRICES = bl.service.RatePrices(
    busy={rate: 3 + rate for rate in RATES}, idle={rate: 1 + rate / 7 for rate in RATES}
)
JOBS = bl.Workload.from_table(
    {"submit_time": [0, 10], "run_time": [100, 60], "tasks": [1, 1], "core": [2, 1]}, resources=("core",)
)
OFF = bl.SleepState("off", power=5, enter_time=10, enter_power=80, wake_time=30, wake_power=120)
LADDER = {
    1.0: bl.NodePower(idle=100, busy=140, per_unit={"core": 10}),
    2.0: bl.NodePower(idle=110, busy=190, per_unit={"core": 20}),
}


def powered(case: Case, nodes: dict[float, bl.NodePower] | dict[str, dict[float, bl.NodePower]]) -> bl.Result:
    """Run a case whose power is measured."""
    return bl.simulate(
        workload_of(case),
        system_of(case.machine),
        policy_of(case),
        options=options_of(case),
        observers=[bl.Power(nodes), *observers_of(case)],
        events=events_of(case),
    )


def test_by_hand() -> None:
    """Rate 2 from 10 s to 40 s, while two jobs are there."""
    control = bl.CountHysteresis(low=1, high=1, rates=(1.0, 2.0))
    system = bl.System.homogeneous(nodes=1, resources={"core": 4})
    result = bl.simulate(JOBS, system, "fcfs", control=control, observers=[bl.Power(LADDER)])
    assert result.jobs["end_time"].to_list() == [70.0, 40.0]
    assert result.observations["power"].rows() == [(0.0, 160.0), (10.0, 250.0), (40.0, 160.0), (70.0, 100.0)]
    first, second = 60 * 10 + 80 * 30 + 60 * 30, 60 * 30
    assert result.jobs["energy"].to_list() == [first, second]
    energy: Any = result.metrics()["energy"]
    total = 1600 + 7500 + 4800
    assert energy["total"] == total == first + second + 100 * 40 + 110 * 30
    assert result.observations["energy_per_node"]["energy"].to_list() == [total]
    assert result.observations["energy_per_state"].filter(state="busy").rows() == [
        ("nodes", "busy", total, 70.0)
    ]


def test_sleep_has_its_watts_at_any_rate() -> None:
    """A node that sleeps draws what its state does; transitions without watts what an idle one does."""
    states = (bl.SleepState("off", power=5, enter_time=10, wake_time=30),)
    system = bl.System.homogeneous(nodes=1, resources={"core": 4}, sleep_states=states)
    jobs = JOBS.jobs.with_columns(submit_time=pl.Series([0.0, 200.0]))
    workload = bl.Workload.from_table(jobs, resources=("core",))
    result = bl.simulate(
        workload, system, "fcfs", control="constant(2)", sleep="timeout(60)", observers=[bl.Power(LADDER)]
    )
    spent = {
        state: energy for _, state, energy, _ in result.observations["energy_per_state"].rows() if energy
    }
    busy = 230 * 50 + 210 * 30
    assert spent == {
        "idle": 6600.0,
        "busy": busy,
        "entering off": 1100.0,
        "off": 400.0,
        "waking from off": 3300.0,
    }
    assert result.jobs["energy"].to_list() == [120 * 50, 100 * 30]


def test_energy_is_that_of_the_measures() -> None:
    """Under one control of all nodes the meter gives (11)."""
    compared = 0
    for number in range(CASES):
        case = CONTROLLED.case(number)
        controls, system = case.controls, system_of(case.machine)
        of_some = any(control.groups for control in controls)
        if of_some or "core" not in system.resources or any(job.exclusive for job in case.jobs):
            continue
        result = powered(case, {g.name: PRICES.of_nodes(g.resources["core"]) for g in system.groups})
        if not result.course.span:
            continue
        # The measures begin at the first arrival, and end with the last departure.
        begin = result.course.time[0]
        table = result.observations["power"]
        steps = Steps(table["time"].to_numpy(), table["power"].to_numpy())
        total = float(np.diff(steps.integral(np.array([begin, begin + result.course.span])))[0])
        assert total == pytest.approx(bl.service.energy(result, PRICES), rel=1e-9), number
        agree(result)
        compared += 1
    assert compared > CASES / 4


def laddered(system: bl.System) -> dict[str, dict[float, bl.NodePower]]:
    """Give what nodes of each group draw at each rate."""
    per_unit = {name: 3.0 + place for place, name in enumerate(system.resources)}
    return {
        group.name: {
            rate: bl.NodePower(
                idle=10 * rate + place,
                busy=30 * rate + place,
                per_unit={name: rate * watts for name, watts in per_unit.items()},
                drained=3 * rate,
            )
            for rate in RATES
        }
        for place, group in enumerate(system.groups)
    }


def test_energy_adds_up_where_nodes_sleep_at_rates() -> None:
    """All nodes' energy is that of jobs, of being on and idle at each rate, and of sleep."""
    compared = 0
    for number in range(CASES):
        case = sleeping(CONTROLLED.case(number), Random(f"power/{number}"))  # noqa: S311 - no secret
        ladders = laddered(system_of(case.machine))
        result = powered(case, ladders)
        agree(result)
        # Drained nodes draw otherwise.
        if case.events or observers_of(case):
            continue
        states = result.observations["energy_per_state"]
        asleep = float(states.filter(~pl.col("state").is_in(["idle", "busy", "drained"]))["energy"].sum())
        idle, jobs = idle_energy(result, ladders), float(result.jobs["energy"].sum())
        assert idle + asleep + jobs == pytest.approx(float(states["energy"].sum()), rel=1e-9), number
        compared += 1
    assert compared > CASES / 4


def agree(result: bl.Result) -> None:
    """Nodes, their states, and the machine have the same energy."""
    energy: Any = result.metrics()["energy"]
    total = float(result.observations["energy_per_state"]["energy"].sum())
    assert float(result.observations["energy_per_node"]["energy"].sum()) == pytest.approx(total, rel=1e-9)
    assert energy["total"] == pytest.approx(total, rel=1e-9)


def idle_energy(result: bl.Result, ladders: dict[str, dict[float, bl.NodePower]]) -> float:
    """Integrate what nodes draw when idle over the times in which they were on, by the log of the rates."""
    controls = result.options.controls
    rates = rates_of(result.run_record)
    total = 0.0
    for group in result.system.groups:
        own = [place for place, each in enumerate(controls) if not each.groups or group.name in each.groups]
        steps = rates[own[0]] if own else rates[-1]
        watts = Steps(steps.time, np.array([ladders[group.name][rate].idle for rate in steps.value]))
        ends = watts.integral(result.observations["power"]["time"].to_numpy()[[0, -1]])
        is_away = (pl.col("group") == group.name) & (pl.col("state") != "on")
        away = result.power_states.filter(is_away)
        spans = watts.integral(away["end_time"].to_numpy()) - watts.integral(away["start_time"].to_numpy())
        total += group.count * float(ends[1] - ends[0])
        total -= float(spans.sum())
    return total


def test_a_rate_without_watts_is_an_error_before_the_run() -> None:
    """The error names the group, the rate, and what there is."""
    system = bl.System.homogeneous(nodes=1, resources={"core": 4}, name="x")
    with pytest.raises(bl.ObserverError, match=r"group 'nodes' serve at rate 1\.5, .* are of 1, 2\. Add"):
        bl.simulate(
            JOBS,
            system,
            "fcfs",
            control=bl.CountHysteresis(low=1, high=1, rates=(1.0, 1.5)),
            observers=[bl.Power(LADDER)],
        )
    with pytest.raises(bl.ObserverError, match=r"serve at rate 1, .* are of 2\."):
        bl.simulate(JOBS, system, "fcfs", observers=[bl.Power({2.0: LADDER[2.0]})])
    with pytest.raises(bl.ObserverError, match="must give a NodePower by rate"):
        bl.simulate(JOBS, system, "fcfs", observers=[bl.Power({-1.0: LADDER[2.0]})])


class Other(bl.Scheduler):
    """Sets rates of which Power knows nothing."""

    def schedule(self, view: bl.View) -> None:
        """Try."""
        with pytest.raises(bl.DecisionError, match=r"rate = 7; Power has no watts"):
            view.set_service_rate(7.0)
        view.set_service_rate(2.0)
        for job in [*view.queue]:
            view.start(job)


def test_a_rate_without_watts_is_no_decision() -> None:
    """A scheduler cannot set one."""
    system = bl.System.homogeneous(nodes=1, resources={"core": 4})
    result = bl.simulate(JOBS, system, Other(), control="constant(1)", observers=[bl.Power(LADDER)])
    assert result.observations["power"]["power"][0] == 190 + 40


def test_temperature_follows_the_rate() -> None:
    """A switch counts from its instant on."""
    system = bl.System.homogeneous(nodes=1, resources={"core": 4})
    warming = bl.NodeWarming(resistance=0.1, capacity=60.0, ambient=20.0, initial=20.0)
    result = bl.simulate(
        JOBS,
        system,
        "fcfs",
        control=bl.CountHysteresis(low=1, high=1, rates=(1.0, 2.0)),
        observers=[bl.Power(LADDER), bl.Temperature(warming, every=1000.0)],
    )
    now = 20.0
    for watts, seconds in ((160, 10), (250, 30), (160, 30)):
        settled = 20 + 0.1 * watts
        now = settled + (now - settled) * np.exp(-seconds / 6)
    assert result.observations["temperature_per_node"]["temperature"][0] == pytest.approx(now, rel=1e-12)


def test_prices_by_rate_as_text() -> None:
    """A text for each rate, of all nodes or of a group; each rate once, and none without a rate."""
    one, two = "rate=1, idle=10, busy=30", "rate=2, idle=12, busy=50, core=3"
    nodes = {1.0: bl.NodePower(10, 30), 2.0: bl.NodePower(12, 50, {"core": 3.0})}
    assert power_of([one, two]).nodes == nodes
    assert power_of([f"gpu: {one}", f"gpu: {two}", "cpu: idle=5"]).nodes == {
        "gpu": nodes,
        "cpu": bl.NodePower(5.0),
    }
    with pytest.raises(bl.ObserverError, match="says twice what all nodes draw"):
        power_of([one, one])
    with pytest.raises(bl.ObserverError, match="gives watts with a rate and without one"):
        power_of([one, "idle=5"])
    with pytest.raises(bl.ObserverError, match="power: rate = fast; must be units of work per second"):
        power_of(["rate=fast, idle=5"])
