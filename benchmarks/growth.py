"""How the cost of each structure grows with the queue, the nodes, the running jobs, the rows, the node sets.

`python benchmarks/growth.py [MEASURE …] [--steps N] [--rounds N]`: MEASURE is a name or a pattern, such as
'pass/*'; `--list` prints all names. Every measure is made at n, f n, f² n and f³ n, where f is mostly 4; its
growth is the cost at the last over the cost at the first, and its exponent that of the power of n which fits
the costs best. Exits with 1 where a growth exceeds its bound, and says the figure. 'nodes/*' goes from 100 to
100,000 nodes, 'queue/*' from 10 to 50,000 jobs that wait, under every rule.
"""

import argparse
import math
import statistics
import sys
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
import polars as pl
from generated import Recipe, blocks
from measure import cpu_time

import batchlab as bl

Work = Callable[[], float]
Bound = Callable[[float], float]

FACTOR, STEPS, ROUNDS = 4, 4, 5
# From 100 to 100,000 nodes, and from 10 to 50,000 jobs, in three steps.
NODES_FACTOR, QUEUE_FACTOR = 10.0, 5_000.0 ** (1 / 3)
# Events that are measured in one go.
EVENTS, UNMEASURED = 400, 10
NODES, CORES, LARGEST = 64, 16, 256
WAVE_JOBS, EASY_WAVES = 100_000, 30.0
FOREVER = 1e9
# Three times the cost is no growth: there are caches and noise.
CONSTANT = 3.0
ALLOCATORS = ("first_fit", "best_fit", "worst_fit", "next_fit", "random", "contiguous")
RULES = {
    "none": "fcfs",
    "first_fit": "first_fit",
    "easy": "easy",
    "easy4": "easy(reservations=4)",
    "conservative": "conservative",
}


def logarithmic(growth: float) -> float:
    """Allow a factor log n."""
    return 1.0 + math.log2(growth)


def linear(growth: float) -> float:
    """Allow a factor n, and more where the data no longer fit into caches that others use too."""
    return 2.5 * growth


def sorting(growth: float) -> float:
    """Allow a factor n log n, counted from n = 1,000, and more for caches, as above."""
    return 3.0 * growth * (1.0 + math.log2(growth) / 10.0)


def fixed(bound: float) -> Bound:
    """Allow so many times the cost."""
    return lambda _growth: bound


class Measure(NamedTuple):
    """One structure: `prepare(n)` gives a function that gives the cost of one operation (s).

    It gives None where this version of batchlab has no such structure.
    """

    name: str
    counted: str
    first: int
    bound: Bound
    prepare: Callable[[int], Work | None]
    factor: float = FACTOR

    def sizes(self, steps: int) -> list[int]:
        return [round(self.first * self.factor**step) for step in range(steps)]


def jobs_of(**columns: object) -> bl.Workload:
    """Make a workload of columns; a number stands for all rows."""
    return bl.Workload.from_table(pl.DataFrame(columns), overrun="keep", invalid="raise")


def rest_of(simulation: bl.Simulation) -> Work:
    """Measure what a simulation does at its events, one a second, in a copy at every call.

    The first events are not measured: they touch the copied memory for the first time.
    """

    def work() -> float:
        copy = simulation.fork()
        copy.run_until(float(UNMEASURED))
        return cpu_time(partial(copy.run_until, float(EVENTS)))[0] / (EVENTS - UNMEASURED)

    return work


def begun(workload: bl.Workload, nodes: int, cores: int, policy: bl.Policy | bl.Scheduler | str) -> Work:
    """Let everything happen that happens at the start, and measure the events after it."""
    system = bl.System.homogeneous(nodes=nodes, resources={"core": cores})
    simulation = bl.Simulation(workload, system, policy)
    simulation.run_until(0.0)
    return rest_of(simulation)


def blocked(policy: str, queued: int, *, event: str) -> Work:
    """Prepare passes while so many jobs wait for nodes that one job holds for ever.

    A pass follows the ``end`` of a small job, the ``submission`` of one more job that waits, or that of a
    small one that starts at once, where the event is a ``start``. Otherwise nothing starts.
    """
    nodes, held = 1_000, 450
    random = np.random.default_rng(0)
    count = EVENTS
    instants = np.arange(1.0, count + 1)
    kinds = {
        # submission, run time and tasks of the jobs that make the events
        "end": (np.zeros(count), instants, np.ones(count, int)),
        "submission": (instants, np.full(count, 5_000.0), random.integers(600, nodes, count)),
        "start": (instants, np.full(count, 5_000.0), np.ones(count, int)),
    }
    submit_time, run_time, tasks = kinds[event]
    estimates = random.integers(1_000, 100_000, queued).astype(float)
    workload = jobs_of(
        submit_time=np.concatenate([[0.0], submit_time, np.zeros(queued)]),
        run_time=np.concatenate([[FOREVER], run_time, estimates]),
        requested_time=np.concatenate([[FOREVER], run_time * 2, estimates]),
        tasks=np.concatenate([[held], tasks, random.integers(600, nodes, queued)]),
    )
    return begun(workload, nodes, 1, policy)


def placed(policy: str, nodes: int, *, heads: int = 0) -> Work:
    """Prepare jobs that start and end one after the other on a machine that is half full.

    Before them wait so many `heads`, jobs that need the whole machine.
    """
    instants = np.concatenate([np.zeros(1 + heads), np.arange(1.0, EVENTS + 1)])
    first = [nodes // 2, *[nodes] * heads]
    workload = jobs_of(
        submit_time=instants,
        run_time=np.concatenate([np.full(len(first), FOREVER), np.full(EVENTS, 5.5)]),
        tasks=np.concatenate([first, np.full(EVENTS, 8)]),
    )
    return begun(workload, nodes, 1, PythonEasy(heads) if policy == "python" else policy)


def crowded(policy: str, running: int, *, exclusive: bool = False) -> Work:
    """Prepare ends of jobs, each of which lets the rule look again at the first job, which waits.

    `exclusive` jobs need idle nodes, so that totals do not decide.
    """
    random = np.random.default_rng(0)
    nodes = running + EVENTS if exclusive else 64
    cores = 1 if exclusive else -(-(running + EVENTS) // nodes) + 1
    estimates = random.integers(10_000, 1_000_000, running).astype(float)
    ends = np.arange(1.0, EVENTS + 1)
    workload = jobs_of(
        submit_time=np.zeros(running + EVENTS + 1),
        run_time=np.concatenate([estimates, ends, [10.0]]),
        requested_time=np.concatenate([estimates, ends * 2, [10.0]]),
        tasks=np.concatenate([np.ones(running + EVENTS, int), [nodes * cores - running // 2]]),
        exclusive=np.full(running + EVENTS + 1, exclusive),
    )
    return begun(workload, nodes, cores, policy)


class PythonEasy(bl.Scheduler):
    """EASY backfilling with reservations for the first jobs."""

    def __init__(self, reservations: int) -> None:
        self.reservations = reservations

    def schedule(self, view: bl.View) -> None:
        for job in view.queue[: self.reservations]:
            view.reserve(job)
        for job in view.candidates():
            view.start(job)


class Lookup(bl.Observer):
    """Asks at every submission which jobs run on one node, and adds up the time that takes."""

    def begin(self, view: bl.View) -> None:  # noqa: ARG002
        self.calls, self.seconds = 0, 0.0

    def submitted(self, job: bl.Job, view: bl.View) -> None:
        self.seconds += cpu_time(partial(view.jobs_on, job.row % len(view.free)))[0]
        self.calls += 1


def looked_up(running: int) -> Work:
    """Prepare questions for the jobs on a node while so many run, one on each node."""
    workload = jobs_of(
        submit_time=np.concatenate([np.zeros(running), np.arange(1.0, EVENTS + 1)]),
        run_time=np.full(running + EVENTS, FOREVER),
        tasks=np.ones(running + EVENTS, int),
    )
    system = bl.System.homogeneous(nodes=running, resources={"core": 1})
    lookup = Lookup()
    simulation = bl.Simulation(workload, system, "fcfs", observers=[lookup])
    simulation.run_until(0.0)

    def work() -> float:
        lookup.calls, lookup.seconds = 0, 0.0
        simulation.run_until(simulation.now + 50.0)
        return lookup.seconds / lookup.calls

    return work


class FirstOfQueue(bl.Scheduler):
    """Looks at the first jobs of the queue many times, and adds up the time that takes."""

    def schedule(self, view: bl.View) -> None:
        self.seconds = cpu_time(partial(self.look, view))[0] / EVENTS

    def look(self, view: bl.View) -> None:
        for _ in range(EVENTS):
            view.queue[0], view.queue[:10], view.queue.head(10).requested_time, view.place(view.queue[9])


def first_of_queue(queued: int) -> Work:
    """Prepare repeated looks at the first ten jobs of a long queue."""
    workload = jobs_of(
        submit_time=np.zeros(queued), run_time=np.full(queued, FOREVER), tasks=np.full(queued, 2)
    )
    first = FirstOfQueue()
    system = bl.System.homogeneous(nodes=2, resources={"core": 1})

    def work() -> float:
        bl.Simulation(workload, system, first).run_until(0.0)
        return first.seconds

    return work


def copied(rows: int, finished: int) -> Work:
    """Prepare forks after so many jobs of a workload have ended, of which few run at a time."""
    count = 100
    workload = jobs_of(
        submit_time=np.arange(float(rows)), run_time=np.full(rows, 20.0), tasks=np.ones(rows, int)
    )
    simulation = bl.Simulation(workload, bl.System.homogeneous(nodes=64, resources={"core": 1}), "easy")
    simulation.run_until(float(finished))

    def forks() -> None:
        for _ in range(count):
            simulation.fork()

    return lambda: cpu_time(forks)[0] / count


def grouped(groups: int) -> Work | None:
    """Prepare jobs each of which may use the nodes of one group; None where groups are not obeyed."""
    jobs, nodes = 4_000, 8_192
    workload = jobs_of(
        submit_time=np.arange(float(jobs)),
        run_time=np.full(jobs, 50.0),
        tasks=np.full(jobs, 4),
        node_group=[f"group{number % groups}" for number in range(jobs)],
    )
    parts = tuple(bl.NodeGroup(f"group{each}", nodes // groups, {"core": 1}) for each in range(groups))
    system = bl.System(parts)
    first = bl.simulate(workload.head(2), system, "easy").jobs["nodes"]
    if groups > 1 and first[1].to_list()[0] < nodes // groups:
        return None
    return lambda: cpu_time(partial(bl.simulate, workload, system, "easy"))[0] / jobs


def waves(policy: str, queue: int) -> Work:
    """Prepare a log in waves: four times what the machine can do, then nothing until the queue is empty.

    Every log has the same number of jobs of the same distribution; only the waves get longer.
    """
    recipe = Recipe(jobs=WAVE_JOBS, capacity=NODES * CORES, largest=LARGEST, wave=queue * 4 // 3)
    columns = ("submit_time", "run_time", "requested_time", "tasks")
    tables = [pl.DataFrame(dict(zip(columns, block, strict=True))) for block in blocks(recipe)]
    workload = bl.Workload.from_table(pl.concat(tables))
    system = bl.System.homogeneous(nodes=NODES, resources={"core": CORES})
    return lambda: cpu_time(partial(bl.simulate, workload, system, policy))[0] / WAVE_JOBS


def compared(jobs: int) -> Work | None:
    """Prepare the comparison of two streams of jobs, the model's rows in another order; once in all."""
    if not hasattr(bl, "adequacy"):
        return None
    chance = np.random.default_rng(1)
    start = np.sort(chance.uniform(0, 10.0 * jobs, jobs))
    times = {"submit_time": start, "start_time": start + 1, "end_time": start + 2}
    columns = {"job_id": np.arange(jobs), "tasks": np.ones(jobs), "requested_time": np.full(jobs, 9.0)}
    real = pl.DataFrame(columns | times)
    model = real.with_columns(pl.col("end_time") + 1).sample(fraction=1.0, shuffle=True, seed=1)
    return lambda: cpu_time(lambda: bl.adequacy.compare(real, model).curve)[0]


def measures() -> Iterator[Measure]:
    """Give every measure, with the bound of its growth."""
    for rule, policy in RULES.items():
        conservative = rule == "conservative"
        first, bound = (125, sorting) if conservative else (1_000, logarithmic)
        for event in ("end", "submission", "start"):
            prepare = partial(blocked, policy, event=event)
            yield Measure(f"pass/{rule}/{event}", "queued jobs", first, bound, prepare)
    for rule, policy in RULES.items():
        heads = 0 if rule == "none" else 1
        bound = linear if rule in ("easy4", "conservative") else logarithmic
        yield Measure(
            f"nodes/{rule}", "nodes", 100, bound, partial(placed, policy, heads=heads), NODES_FACTOR
        )
        bound = sorting if rule == "conservative" else logarithmic
        prepare = partial(blocked, policy, event="end")
        yield Measure(f"queue/{rule}", "queued jobs", 10, bound, prepare, QUEUE_FACTOR)
    for order, event in product(("wfp3", "unicef"), ("submission", "start")):
        bound = sorting if event == "start" else logarithmic
        prepare = partial(blocked, f"easy(order={order})", event=event)
        yield Measure(f"pass/{order}/{event}", "queued jobs", 1_000, bound, prepare)
    for allocator in ALLOCATORS:
        bound = linear if allocator in ("random", "contiguous") else logarithmic
        prepare = partial(placed, f"fcfs(allocator={allocator})")
        yield Measure(f"start/{allocator}", "nodes", 1_000, bound, prepare)
    for rule, bound in (("easy", logarithmic), ("easy4", linear), ("conservative", linear)):
        prepare = partial(placed, RULES[rule], heads=1)
        yield Measure(f"reserve/{rule}", "nodes", 250, bound, prepare)
    for heads, bound in ((1, logarithmic), (2, linear)):
        prepare = partial(placed, "python", heads=heads)
        yield Measure(f"reserve/python/{heads}", "nodes", 250, bound, prepare)
    for rule in ("none", "easy", "easy4"):
        yield Measure(f"running/{rule}", "running jobs", 250, logarithmic, partial(crowded, RULES[rule]))
    yield Measure(
        "running/easy/exclusive", "running jobs", 250, linear, partial(crowded, "easy", exclusive=True)
    )
    yield Measure("running/jobs_on", "running jobs", 250, fixed(CONSTANT), looked_up)
    yield Measure("queue/first", "queued jobs", 100, fixed(CONSTANT), first_of_queue, 10.0)
    yield Measure("fork/rows", "rows", 2_000, fixed(CONSTANT), partial(copied, finished=1_000))
    yield Measure("fork/finished", "finished jobs", 1_000, fixed(CONSTANT), lambda n: copied(n + 1_000, n))
    yield Measure("node_sets/easy", "node groups", 4, fixed(CONSTANT), grouped)
    for order in ("fcfs", "sjf"):
        yield Measure(f"wave/{order}", "queued jobs", 100, logarithmic, partial(waves, order))
    yield Measure("wave/easy", "queued jobs", 100, fixed(EASY_WAVES), partial(waves, "easy"))
    yield Measure("adequacy/compare", "jobs", 10_000, sorting, compared)


def median_costs(measure: Measure, sizes: list[int], rounds: int) -> tuple[list[float], float] | None:
    """Give the median cost (s) at each size, and the growth: the median over rounds of last over first."""
    works = [measure.prepare(size) for size in sizes]
    made = [work for work in works if work is not None]
    if len(made) < len(works):
        return None
    for work in made:
        work()
    times = [[work() for work in made] for _ in range(rounds)]
    costs = [statistics.median(column) for column in zip(*times, strict=True)]
    return costs, statistics.median(row[-1] / row[0] for row in times)


def exponent(sizes: list[int], costs: list[float]) -> float:
    """Give the exponent of the power of the size that fits the costs best, by least squares of logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def report(measure: Measure, steps: int, rounds: int) -> bool:
    """Print the costs of a measure and its growth; tell whether that keeps to the bound."""
    sizes = measure.sizes(steps)
    found = median_costs(measure, sizes, rounds)
    if found is None:
        print(f"{measure.name:<24} this version has none", flush=True)
        return True
    costs, growth = found
    bound = measure.bound(sizes[-1] / sizes[0])
    figures = "".join(f"{cost * 1e6:9.2f}" for cost in costs)
    power = f"{exponent(sizes, costs):6.2f}" if steps > 1 else ""
    verdict = "" if growth <= bound else " !"
    print(
        f"{measure.name:<24}{measure.factor:>3.0f}{sizes[0]:>7,}{figures}{growth:8.1f}{bound:8.1f}{power}{verdict}",
        flush=True,
    )
    return growth <= bound


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=STEPS, help="how often n is multiplied by f, and once")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--list", action="store_true", help="print the names of the measures")
    parser.add_argument("measures", nargs="*", default=["*"])
    options = parser.parse_args()
    chosen = [each for each in measures() if any(fnmatch(each.name, one) for one in options.measures)]
    if not chosen:
        sys.exit(f"no measure {' or '.join(options.measures)}; `--list` prints all names.")
    if options.list:
        print("\n".join(f"{each.name:<24}{each.counted}" for each in chosen))
        return
    powers = ("at n", "f n", "f² n", "f³ n")[: options.steps] + ("",) * (options.steps - 4)
    columns = "".join(f"{power:>9}" for power in powers)
    print(f"{'CPU time per event, µs':<24}{'f':>3}{'n':>7}{columns}{'growth':>8}{'bound':>8}{'power':>6}")
    exceeded = [each.name for each in chosen if not report(each, options.steps, options.rounds)]
    if exceeded:
        print(f"above the bound: {', '.join(exceeded)}")
        sys.exit(1)


if __name__ == "__main__":
    main()
