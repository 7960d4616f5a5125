"""Simulations in threads: what several at once cost against one after the other.

`python benchmarks/threads.py [--threads 2] [--rounds 5]` replays the log of Seth under fcfs and easy, and its
first 20,000 jobs under conservative, in so many threads and alone. It prints the speed-up, which needs cores
that nothing else uses, and two figures that do not: the CPU time of a simulation in company over that of one
alone, and how often its thread gave up its processor to wait, which a shared lock would show.
"""

import argparse
import resource
import statistics
import threading
import time
from collections.abc import Sequence
from typing import NamedTuple

from measure import SETH, verdict

import batchlab as bl

TARGET = 1.9
CASES = {"fcfs": None, "easy": None, "conservative": 20_000}


class Sample(NamedTuple):
    """What simulations took: all by the clock; CPU time and waits of the thread of one."""

    wall: float
    cpu: float
    waits: float


def waits() -> int:
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


def at_once(workload: bl.Workload, system: bl.System, policy: str, count: int) -> Sample:
    """Run so many simulations at once."""
    simulations = [bl.Simulation(workload, system, policy) for _ in range(count)]
    cpu, waited = [0.0] * count, [0] * count
    barrier = threading.Barrier(count + 1)

    def work(place: int) -> None:
        barrier.wait()
        began, before = time.thread_time(), waits()
        simulations[place].run_until()
        cpu[place], waited[place] = time.thread_time() - began, waits() - before

    threads = [threading.Thread(target=work, args=(place,)) for place in range(count)]
    for thread in threads:
        thread.start()
    barrier.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    return Sample(time.perf_counter() - began, statistics.mean(cpu), statistics.mean(waited))


def measure(policy: str, jobs: int | None, count: int, rounds: int) -> float:
    """Print a line on a policy; give the speed-up."""
    workload = bl.read_swf(SETH, max_jobs=jobs)
    system = bl.System.homogeneous(nodes=120, resources={"core": 4})
    alone: list[Sample] = []
    together: list[Sample] = []
    for _ in range(rounds):
        alone.append(at_once(workload, system, policy, 1))
        together.append(at_once(workload, system, policy, count))
    one, many = (Sample(*map(statistics.median, zip(*each, strict=True))) for each in (alone, together))
    speed_up = count * one.wall / many.wall
    print(
        f"{policy:14}{one.cpu:8.3f} s CPU alone, {many.cpu / one.cpu:5.2f} of it among {count}, "
        f"{many.waits:4.0f} waits, {speed_up:5.2f} times as fast"
    )
    return speed_up


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(words)
    speed_ups = [measure(policy, jobs, options.threads, options.rounds) for policy, jobs in CASES.items()]
    target = TARGET * options.threads / 2
    verdict(f"least speed-up of {options.threads} threads", min(speed_ups), target, at_least=True)


if __name__ == "__main__":
    main()
