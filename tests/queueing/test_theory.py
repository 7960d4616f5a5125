"""Theory: simulated queues have the means of closed forms and exact chains, within 99 %.

Each mean is one of independent replications with a fixed seed. The recursion and the simulator give the same
waits, so that most cases run the recursion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import batchlab as bl
from batchlab import queueing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from batchlab.queueing import Ensemble

REPLICATIONS, CONFIDENCE = 40, 0.99


def replicated(model: Callable[[np.random.Generator], dict[str, np.ndarray]], seed: int) -> Ensemble:
    """Leave out a tenth, which is much longer than the correlation of the queues here."""
    return queueing.ensemble(model, REPLICATIONS, seed=seed, warm_up=0.1, confidence=CONFIDENCE)


def poisson(rng: np.random.Generator, rate: float, jobs: int) -> np.ndarray:
    """Give arrivals at a rate."""
    return np.cumsum(rng.exponential(1 / rate, jobs))


@pytest.mark.parametrize(("c", "load"), [(1, 0.5), (2, 1.5), (4, 3.0), (10, 8.0), (80, 72.0)])
def test_erlang_c(c: int, load: float) -> None:
    """M/M/c: the share that waits, the mean wait, and the share that waits over a second."""
    jobs = 40_000

    def model(rng: np.random.Generator) -> dict[str, np.ndarray]:
        waits = queueing.delays(poisson(rng, load, jobs), rng.exponential(1.0, jobs), 1, c)
        return {"wait": waits, "waits": waits > 0, "over": waits > 1.0}

    found, theory = replicated(model, seed=13), queueing.mmc(load, 1.0, c)
    assert theory.mean_wait in found["wait"].by_replication
    assert theory.probability_of_waiting in found["waits"].by_replication
    assert theory.probability_of_waiting_over(1.0) in found["over"].by_replication


def test_erlang_c_in_simulations() -> None:
    """The simulator's fcfs on four nodes is M/M/4."""
    system = bl.System.homogeneous(nodes=4, resources={"core": 1})

    def model(rng: np.random.Generator) -> dict[str, np.ndarray]:
        workload = queueing.to_workload(poisson(rng, 3.0, 3000), rng.exponential(1.0, 3000), 1)
        jobs = bl.simulate(workload, system, "fcfs").jobs
        return {"wait": (jobs["start_time"] - jobs["submit_time"]).to_numpy()}

    found = replicated(model, seed=14)
    assert queueing.mmc(3.0, 1.0, 4).mean_wait in found["wait"].by_replication
    assert found["wait"].by_replication.relative_precision < 0.2


@pytest.mark.parametrize("shape", [0.25, 1.0, 2.0, 50.0])
def test_jobs_that_take_all_servers(shape: float) -> None:
    """Where every job takes all c servers, delays are those of M/G/1; here with gamma distributions."""
    jobs = 40_000

    def model(rng: np.random.Generator) -> dict[str, np.ndarray]:
        service = rng.gamma(shape, 1 / shape, jobs)
        return {"wait": queueing.delays(poisson(rng, 0.7, jobs), service, 16, 16)}

    theory = queueing.mg1(0.7, 1.0, 1 + 1 / shape)
    assert theory.mean_wait in replicated(model, seed=15)["wait"].by_replication


@pytest.mark.parametrize(
    ("rate", "p1", "rates"),
    [(0.5, 0.5, (1.0, 1.0)), (0.8, 0.5, (1.0, 1.0)), (1.2, 0.9, (1.0, 1.0)), (0.8, 0.5, (1.0, 2.0))],
)
def test_two_servers(rate: float, p1: float, rates: tuple[float, float]) -> None:
    """Simultaneous service on two servers: the mean wait, and the mean number waiting at arrivals (PASTA)."""
    jobs = 40_000

    def model(rng: np.random.Generator) -> dict[str, np.ndarray]:
        servers = np.where(rng.random(jobs) < p1, 1, 2)
        service = rng.exponential(1.0, jobs) / np.where(servers == 1, *rates)
        arrival = poisson(rng, rate, jobs)
        starts = arrival + queueing.delays(arrival, service, servers, 2)
        # Starts ascend, so that the jobs ahead that have not started yet can be counted.
        return {"wait": starts - arrival, "waiting": np.arange(jobs) - np.searchsorted(starts, arrival)}

    found, theory = replicated(model, seed=16), queueing.simultaneous_two_servers(rate, p1, rates)
    assert theory.mean_wait in found["wait"].by_replication
    assert theory.mean_waiting in found["waiting"].by_replication


@pytest.mark.parametrize("p1", [0.0, 0.25, 0.5, 1.0])
def test_boundary_of_two_servers(p1: float) -> None:
    """The saturated recursion leaves no faster than the boundary says, and no slower."""
    rng, jobs = np.random.default_rng(17), 200_000
    servers = np.where(rng.random(jobs) < p1, 1, 2)
    service = rng.exponential(1.0, jobs) / np.where(servers == 1, 1.0, 2.0)
    found = queueing.saturated_throughput(service, servers, 2, confidence=CONFIDENCE)
    assert queueing.max_throughput(p1, (1.0, 2.0)) in found


@pytest.mark.parametrize("factor", [0.97, 1.03])
def test_boundary_by_the_growth_of_the_queue(factor: float) -> None:
    """Below the boundary of the constant C waits stay, above it they grow as the excess of work says."""
    rng, jobs, sizes = np.random.default_rng(18), 400_000, np.array([0.4, 0.3, 0.2, 0.1])
    most = queueing.stability(sizes).largest_arrival_rate()
    servers = rng.choice(4, jobs, p=sizes) + 1
    waits = queueing.delays(poisson(rng, factor * most, jobs), rng.exponential(1.0, jobs), servers, 4)
    growth = waits[-10_000:].mean() / (jobs / most)
    assert growth == pytest.approx(max(0.0, 1 - 1 / factor), abs=0.004)


if TYPE_CHECKING:
    Control = Callable[[int, bool, bool], bool]


def two_speeds(
    rng: np.random.Generator, rate: float, speeds: tuple[float, float], control: Control, jobs: int
) -> Iterator[tuple[float, int, bool]]:
    """Simulate M/M/1 with two speeds event by event: length of a state (s), jobs present, whether it is fast.

    The control is asked at each event: jobs present before it, whether it is an arrival, whether it is fast.
    A job keeps its work when the speed changes, which the chain does not follow.
    """
    arrivals = poisson(rng, rate, jobs)
    work = [*rng.exponential(1.0, jobs)]
    now, present, fast, left, arrived = 0.0, 0, False, 0.0, 0
    while arrived < jobs:
        end = now + left / speeds[fast] if present else np.inf
        after = min(arrivals[arrived], end)
        yield after - now, present, fast
        left -= (after - now) * speeds[fast] if present else 0.0
        now, is_arrival = after, arrivals[arrived] <= end
        fast = control(present, is_arrival, fast)
        if is_arrival:
            present, arrived = present + 1, arrived + 1
            left = work.pop() if present == 1 else left
        else:
            present -= 1
            left = work.pop() if present else 0.0


def by_count(lower: int, upper: int) -> Control:
    """Go up at an arrival that finds the upper number, down at a departure that leaves the lower one."""

    def control(present: int, is_arrival: bool, fast: bool) -> bool:
        if is_arrival:
            return fast or present == upper
        return fast and present != lower + 1

    return control


def by_chance(rng: np.random.Generator, p_up: float, p_down: float) -> Control:
    """Go up at arrivals and down at departures, by chance."""

    def control(_present: int, is_arrival: bool, fast: bool) -> bool:
        return (fast or rng.random() < p_up) if is_arrival else (fast and rng.random() >= p_down)

    return control


@pytest.mark.parametrize(
    ("rate", "control"),
    [(1.2, (1, 3)), (1.5, (0, 0)), (0.8, (2, 2)), (1.2, (0.6, 0.4)), (0.7, (0.1, 0.9))],
    ids=str,
)
def test_two_speeds(rate: float, control: tuple[float, float]) -> None:
    """Mean number, share of time at the high speed and power are those of a simulation with work."""
    counts = isinstance(control[0], int)
    busy, idle = (10.0, 25.0), (3.0, 4.0)

    def model(rng: np.random.Generator) -> dict[str, np.ndarray]:
        rule = by_count(*control) if counts else by_chance(rng, *control)  # type: ignore[arg-type]  # integers
        length, present, fast = map(
            np.array, zip(*two_speeds(rng, rate, (1.0, 2.0), rule, 4000), strict=True)
        )
        power = np.where(present > 0, np.array(busy)[fast.astype(int)], np.array(idle)[fast.astype(int)])
        mean = {"present": present, "fast": fast, "power": power}
        weights = length[500:]
        return {name: np.average(each[500:], weights=weights, keepdims=True) for name, each in mean.items()}

    found = queueing.ensemble(model, REPLICATIONS, seed=19, warm_up=0, confidence=CONFIDENCE)
    kind = {"count": control} if counts else {"random": control}
    theory = queueing.two_speed_mm1(rate, (1.0, 2.0), **kind)  # type: ignore[arg-type]  # one of them
    assert theory.mean_present in found["present"].by_replication
    assert theory.high_share in found["fast"].by_replication
    assert theory.mean_power(busy, idle) in found["power"].by_replication
    assert found["present"].by_replication.relative_precision < 0.1
