"""What overheads and external events cost: CPU seconds of a replay, as ratios to the plain one.

``python benchmarks/events.py LOG`` (SWF; sizes from its header). The cases take turns, so that a busy machine
slows all alike; the least of the rounds counts.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from measure import cpu_time

import batchlab as bl

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 7


def cases(workload: bl.Workload, system: bl.System) -> dict[str, Callable[[], bl.Simulation]]:
    """Give ways to make the run: plain, with overheads, with ten events, and with 100,000."""
    jobs = workload.jobs
    first, last = int(jobs["job_id"][0]), float(jobs["submit_time"][-1])
    few = bl.EventStream(
        [
            {"time": last * (number // 2 + 1) / 6 + 3600 * (number % 2), "event": kind, "nodes": "7"}
            for number, kind in enumerate(["down", "up"] * 5)
        ]
    )
    idle = bl.EventStream(
        [{"time": last * (number + 1) / 11, "event": "release", "job_id": first} for number in range(10)]
    )
    step = last / 100_000
    many = bl.EventStream(
        [
            {"time": number * step, "event": ("drain", "resume")[number % 2], "nodes": "0"}
            for number in range(100_000)
        ]
    )
    overheads = bl.Overheads(launch="uniform(low=0, high=2)", completion=1.0)
    given = {
        "plain": {},
        "overheads": {"overheads": overheads},
        "ten events": {"events": few},
        "ten that do not apply": {"events": idle},
        "overheads and ten events": {"overheads": overheads, "events": few},
        "100,000 events": {"events": many},
    }
    return {
        name: lambda options=options: bl.Simulation(workload, system, "easy", **options)  # type: ignore[misc]
        for name, options in given.items()
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("log")
    workload = bl.read_swf(parser.parse_args().log)
    header = workload.header
    nodes = header.max_nodes or header.max_processors
    if nodes is None or header.max_processors is None:
        parser.error("the log's header does not say how large the machine is")
    system = bl.System.homogeneous(nodes=nodes, resources={"core": header.max_processors // nodes})
    made = cases(workload, system)
    least: dict[str, tuple[float, float]] = {}
    for _ in range(ROUNDS):
        for name, make in made.items():
            making, simulation = cpu_time(make)
            now = making, cpu_time(simulation.run_until)[0]
            before = least.get(name, now)
            least[name] = (min(before[0], now[0]), min(before[1], now[1]))
    plain = sum(least["plain"])
    print(f"{len(workload):,} jobs, easy; CPU seconds to make and to run, and the sum over the plain one's")
    for name, (making, running) in least.items():
        print(f"{name:26} {making:7.3f} {running:7.3f} {(making + running) / plain:6.2f}")


if __name__ == "__main__":
    main()
