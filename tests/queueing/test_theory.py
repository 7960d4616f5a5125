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
    from collections.abc import Callable

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


@pytest.mark.parametrize(
    ("rate", "control"),
    [(1.2, (1, 3)), (1.5, (0, 0)), (0.8, (2, 2)), (1.2, (0.6, 0.4)), (0.7, (0.1, 0.9))],
    ids=str,
)
def test_two_speeds(rate: float, control: tuple[float, float]) -> None:
    """Mean number, share of time at the high speed and power are those of runs under rate control."""
    counts = isinstance(control[0], int)
    busy, idle = (10.0, 25.0), (3.0, 4.0)
    system, jobs = bl.System.homogeneous(nodes=1, resources={"core": 1}), 4000

    def model(rng: np.random.Generator) -> dict[str, np.ndarray]:
        arrival = poisson(rng, rate, jobs)
        workload = queueing.to_workload(arrival, rng.exponential(1.0, jobs), 1)
        seed = int(rng.integers(2**63))
        rule = bl.CountHysteresis(*control) if counts else bl.RandomisedRate(*control, seed=seed)
        course = bl.simulate(workload, system, "fcfs", control=rule).course
        # Neither the start of the empty queue counts, nor its end after the last arrival.
        kept = (course.time >= arrival[250]) & (course.time < arrival[-1])
        present, fast = course.present[kept], (course.rates[kept, 0] == 2.0).astype(int)
        power = np.where(present > 0, np.array(busy)[fast], np.array(idle)[fast])
        means = {"present": present, "fast": fast, "power": power}
        weights = course.duration[kept]
        return {name: np.average(each, weights=weights, keepdims=True) for name, each in means.items()}

    found = queueing.ensemble(model, 2 * REPLICATIONS, seed=19, warm_up=0, confidence=CONFIDENCE)
    kind = {"count": control} if counts else {"random": control}
    theory = queueing.two_speed_mm1(rate, (1.0, 2.0), **kind)  # type: ignore[arg-type]  # one of them
    assert theory.mean_present in found["present"].by_replication
    assert theory.high_share in found["fast"].by_replication
    assert theory.mean_power(busy, idle) in found["power"].by_replication
    assert found["present"].by_replication.relative_precision < 0.1
