"""One energy: the measures of service and the observer of power price the same states at the same rates."""

import os
from random import Random
from typing import Any

import numpy as np
import pytest

import batchlab as bl
from batchlab.result.energy import energy_of_nodes, power_of_nodes

CASES = int(os.environ.get("BATCHLAB_CASES", "120"))
OFF = bl.SleepState("off", power=4, enter_time=20, enter_power=60, wake_time=50, wake_power=130)
DOZE = bl.SleepState("doze", power=30, enter_time=3, wake_time=7)
PRICES = {
    "thin": {
        rate: bl.NodePower(idle=50 * rate, busy=80 * rate, per_unit={"core": 9 * rate}, drained=11 * rate)
        for rate in (1.0, 1.5)
    },
    "fat": {
        rate: bl.NodePower(idle=70 + rate, per_unit={"core": 5, "mem": 0.5 * rate}, drained=20)
        for rate in (1.0, 1.5)
    },
}


def system_of(rng: Random) -> bl.System:
    """Draw a machine of two groups, of which one may sleep deeply."""
    states = rng.choice(((OFF,), (DOZE, OFF), ()))
    return bl.System(
        (
            bl.NodeGroup("thin", count=3, resources={"core": 4, "mem": 8}, sleep_states=states),
            bl.NodeGroup("fat", count=2, resources={"core": 8, "mem": 32}, sleep_states=(DOZE,)),
        )
    )


def jobs_of(rng: Random) -> bl.Workload:
    """Draw jobs, some of which take their nodes whole."""
    count = rng.randint(1, 25)
    table: dict[str, Any] = {
        "submit_time": sorted(rng.randint(0, 900) for _ in range(count)),
        "run_time": [rng.randint(0, 200) for _ in range(count)],
        "tasks": [rng.randint(1, 9) for _ in range(count)],
        "mem": [rng.randint(0, 3) for _ in range(count)],
        "exclusive": [rng.random() < 0.2 for _ in range(count)],
    }
    return bl.Workload.from_table(table)


def events_of(rng: Random, jobs: int) -> list[dict[str, object]] | None:
    """Draw nodes that go and come, and jobs that are interrupted."""
    events: list[dict[str, object]] = []
    for _ in range(rng.randint(0, 8)):
        time, node = rng.randint(0, 1200), str(rng.randrange(5))
        kind = rng.choice(("drain", "down", "resume", "requeue", "kill"))
        about = {"job_id": rng.randint(1, jobs)} if kind in {"requeue", "kill"} else {"nodes": node}
        events.append({"time": time, "event": kind, **about})
    events.append({"time": 1500, "event": "resume", "nodes": "0-4"})
    return sorted(events, key=lambda event: float(str(event["time"])))


def random_run(seed: int) -> bl.Result:
    """Run jobs on nodes that sleep, at changing rates, some of which are drained or fail."""
    rng = Random(seed)  # noqa: S311  # no secret
    system, jobs = system_of(rng), jobs_of(rng)
    options: dict[str, Any] = {
        "sleep": rng.choice((None, "timeout(40)", "timeout(5)")),
        "control": rng.choice((None, "count(1, 3, rates=[1, 1.5])", "constant(1.5, groups=['thin'])")),
        "overheads": rng.choice((None, bl.Overheads(launch=3, completion=2))),
        "events": events_of(rng, len(jobs)),
    }
    return bl.simulate(jobs, system, rng.choice(("fcfs", "easy")), observers=[bl.Power(PRICES)], **options)


@pytest.mark.parametrize("part", range(4))
def test_the_observer_and_the_measure_agree(part: int) -> None:
    """Node by node, whatever sleeps, boots, is drained or fails, at any rate."""
    for seed in range(part, CASES, 4):
        result = random_run(seed)
        power = result.observations["power"]
        span = power["time"][0], power["time"][-1]
        found = energy_of_nodes(result.run_record, PRICES, span)
        expected = result.observations["energy_per_node"]["energy"].to_numpy()
        assert np.allclose(found, expected, rtol=1e-9, atol=1e-6), seed


@pytest.mark.parametrize("part", range(4))
def test_the_area_under_the_plotted_power_is_the_energy(part: int) -> None:
    """Of nodes in all states and at all rates; the energy that is drawn ends at the measure, too."""
    by_rate = bl.service.RatePrices(busy={1.0: 20, 1.5: 55}, idle={1.0: 10, 1.5: 12}, down={1.0: 3, 1.5: 4})
    for seed in range(part, CASES, 4):
        result = random_run(seed)
        for prices in (PRICES, by_rate):
            power = power_of_nodes(result.run_record, prices)
            energy = bl.service.energy(result, prices)
            area = float(power.value[:-1] @ np.diff(power.time))
            assert area == pytest.approx(energy, rel=1e-9, abs=1e-6), seed
            if seed < 4:
                line = bl.plot.power(result, prices=prices, kind="energy").get_lines()[0]
                assert float(np.asarray(line.get_ydata())[-1]) == pytest.approx(energy, rel=1e-9)


def test_the_plot_draws_what_the_observer_saw() -> None:
    """By the same prices, in the span that both have."""
    for seed in range(8):
        result = random_run(seed)
        power = result.observations["power"]
        span = power["time"][0], power["time"][-1]
        found = power_of_nodes(result.run_record, PRICES, span)
        times, watts = power["time"].to_numpy(), power["power"].to_numpy()
        # Between changes: at a change both have the new value, but for changes of one instant.
        between = (found.time[:-1] + found.time[1:]) / 2
        seen = watts[np.searchsorted(times, between, "right") - 1]
        assert np.allclose(found.value[:-1], seen, rtol=1e-9, atol=1e-6), seed


def test_states_have_their_prices() -> None:
    """A node that is asleep, boots or is down draws what that takes, and not what idle and busy ones do."""
    group = bl.NodeGroup("node", count=2, resources={"core": 1}, sleep_states=(OFF,))
    jobs = bl.Workload.from_table({"submit_time": [0, 400], "run_time": [100, 100], "tasks": [1, 1]})
    events = [{"time": 0, "event": "drain", "nodes": "1"}]
    result = bl.simulate(jobs, bl.System((group,)), "fcfs", sleep="timeout(30)", events=events)
    prices = bl.service.RatePrices(busy={1.0: 200}, idle={1.0: 100}, down={1.0: 10})
    # Busy 100 s, idle 30 s, entering 20 s, off 250 s, waking 50 s, busy 100 s; the other is down, or off.
    awake = 100 * 200 + 30 * 100 + 20 * 60 + 250 * 4 + 50 * 130 + 100 * 200
    states = result.power_states.filter(node=1)
    lasts = dict(zip(states["state"], states["end_time"] - states["start_time"], strict=True))
    other = lasts.get("on", 0) * 10 + lasts.get("entering off", 0) * 60 + lasts.get("off", 0) * 4
    span = result.jobs["end_time"].max()
    assert span == 550
    assert bl.service.energy(result, prices) == pytest.approx(awake + other, rel=1e-12)
    assert bl.service.mean_power(result, prices) == pytest.approx((awake + other) / 550)
    # The energy of a job is that of its processors while they are on: waking is of no job.
    assert bl.service.energy_budget(result, prices).to_list() == pytest.approx([20_000, 20_000])


def test_down_nodes_draw_nothing_unless_given() -> None:
    """A drained node without a job has a price of its own."""
    jobs = bl.Workload.from_table({"submit_time": [0], "run_time": [100], "tasks": [1]})
    events = [{"time": 40, "event": "down", "nodes": "1"}]
    system = bl.System.homogeneous(nodes=2, resources={"core": 1})
    result = bl.simulate(jobs, system, "fcfs", events=events)
    prices = bl.service.RatePrices(busy={1.0: 20}, idle={1.0: 10})
    assert bl.service.energy(result, prices) == 100 * 20 + 40 * 10
    with pytest.raises(bl.ResultError, match="down has the rate 2, which busy and idle do not have"):
        bl.service.RatePrices(busy={1.0: 20}, idle={1.0: 10}, down={2.0: 1})


def test_measures_of_service_in_metrics() -> None:
    """They are there if rates are controlled, so in the tables of experiments too."""
    jobs = bl.Workload.from_table({"submit_time": [0, 0], "run_time": [10, 10], "tasks": [1, 1]})
    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    result = bl.simulate(jobs, system, "fcfs", control="constant(2)")
    measured = result.metrics()["service"]
    assert measured == bl.service.describe(result)
    assert (measured["mean_delay"], measured["mean_slowdown"]) == (2.5, 1.5)
    assert "slowdown 1.5, load 2 of potential 2" in str(result.summary())
    assert "service" not in bl.simulate(jobs, system, "fcfs").metrics()


def test_exclusive_jobs_hold_all_processors() -> None:
    """Their budgets are for what `energy` and `Power` count, and not for what their tasks ask for."""
    jobs = bl.Workload.from_table(
        {"submit_time": [0, 0], "run_time": [10, 10], "tasks": [1, 1], "exclusive": [True, False]}
    )
    system = bl.System.homogeneous(nodes=2, resources={"core": 4})
    result = bl.simulate(jobs, system, "fcfs")
    prices = bl.service.RatePrices(busy={1.0: 20}, idle={1.0: 10})
    assert bl.service.energy_budget(result, prices).to_list() == [10 * 4 * 20, 10 * 20]
    assert bl.service.energy(result, prices) == 10 * (4 * 20 + 20 + 3 * 10)
