"""The requests of generated jobs: sizes after Lublin, nodes, amounts of resources, and work in GFLOP."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from batchlab.core import rules
from batchlab.core.arguments import checked
from batchlab.core.distributions import TwoStageUniform
from batchlab.core.random_streams import Floats, Integers, stream
from batchlab.errors import WorkloadError, shown, suggest
from batchlab.system.nodes import NodeGroup
from batchlab.system.system import System
from batchlab.workload.requests import run_times

if TYPE_CHECKING:
    from batchlab.workload.workload import Workload

_PROCESSOR = {"core": 1}
_FASTEST = 1e18


@checked(WorkloadError)
def gflops(
    workload: "Workload",
    performance: Mapping[str, float],
    *,
    equivalence: Mapping[str, int] | None = None,
) -> Floats:
    """Compute each job's work: run time × tasks × Σ amount × performance.

    This is the theoretical computed FLOP of AccaSim's generator: every requested unit is assumed to run at
    full performance for the whole run time.

    Parameters
    ----------
    workload
        The jobs.
    performance
        The performance of one unit of a resource, in GFLOP per second, as ``{"core": 1.667, "gpu": 933}``.
        Other resources (memory) count as 0.
    equivalence
        The resources of one task, if the workload has no ``core``; by default one ``core``.

    Returns
    -------
    array
        GFLOP, one number per job.

    Raises
    ------
    WorkloadError
        If a performance is no number >= 0, no resource of the jobs has one, or jobs have applications.

    References
    ----------
    C. Galleguillos, Z. Kiziltan, A. Netti, R. Soto, "AccaSim: a customizable workload management simulator
    for job dispatching research in HPC systems", Cluster Computing 23, 2020, section 7.3.

    Examples
    --------
    >>> import batchlab as bl
    >>> workload = bl.Workload.from_table({"submit_time": [0], "run_time": [60], "tasks": [4]})
    >>> bl.generate.gflops(workload, {"core": 1.5}).tolist()
    [360.0]
    """
    run_time = run_times(workload, "gflops")
    return np.asarray(run_time * speed(workload, performance, equivalence), dtype=np.float64)


def speed(
    workload: "Workload", performance: Mapping[str, float], equivalence: Mapping[str, int] | None = None
) -> Floats:
    """Compute the speed of each job: tasks × Σ amount × performance, in GFLOP per second.

    The arguments and errors are those of `gflops`.
    """
    known = check_performance(performance)
    jobs = workload.jobs
    processor = {} if "core" in workload.resources else dict(equivalence or _PROCESSOR)
    amounts: dict[str, Floats | float] = {name: float(amount) for name, amount in processor.items()}
    amounts |= {name: jobs[name].to_numpy().astype(np.float64) for name in workload.resources}
    if not known.keys() & amounts.keys():
        raise WorkloadError(
            f"performance = {shown(dict(known))}; must name a resource that the jobs ask for."
            f"{suggest(next(iter(known)), amounts)}"
        )
    one_task = np.zeros(jobs.height)
    for name in amounts:
        one_task += amounts[name] * known.get(name, 0.0)
    return np.asarray(jobs["tasks"].to_numpy() * one_task, dtype=np.float64)


def check_performance(performance: Mapping[str, float], name: str = "performance") -> dict[str, float]:
    """Check that performances are numbers, and that there is at least one.

    Raises
    ------
    WorkloadError
        If a value is no number >= 0, or there is no value.
    """
    if not isinstance(performance, Mapping) or not performance:
        raise WorkloadError(
            f"{name} = {shown(performance)}; must map resources to GFLOP per second, as in {{'core': 1.667}}."
        )
    for resource, value in performance.items():
        rule = rules.Number(0, most=_FASTEST, unit="GFLOP per second")
        rules.check(WorkloadError, f"{name}[{resource!r}]", value, rule)
    return {resource: float(value) for resource, value in performance.items()}


_CANDIDATES = 101


class SizeModel(NamedTuple):
    """The distribution of the number of processors of jobs, following Lublin and Feitelson.

    A job is serial with some probability. The binary logarithm of a parallel job's size is two-stage uniform,
    and is rounded with another probability, which makes the size a power of two.

    Parameters
    ----------
    serial
        The probability of one processor.
    power_of_two
        The probability that a parallel job's logarithm is rounded.
    low, middle, high
        Binary logarithms of the smallest size, of the size at which the density changes, and of the largest
        size.
    probability
        The probability of a logarithm below ``middle``.
    largest
        Upper bound of sizes.
    """

    serial: float
    power_of_two: float
    low: float
    middle: float
    high: float
    probability: float
    largest: int

    @classmethod
    def fit(cls, sizes: Integers) -> "SizeModel":
        """Fit the parameters to the sizes in a log.

        ``low`` is half a unit below the smallest parallel job, since rounding would halve its probability,
        and ``high`` is the largest job. ``probability`` matches the mean size of the log's parallel jobs;
        among the possible ``middle``, the one that minimises the maximum distance to the log's distribution
        is chosen.
        """
        parallel = np.sort(sizes[sizes > 1])
        serial = 1 - len(parallel) / len(sizes)
        if not parallel.size:
            return cls(1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1)
        largest = int(parallel[-1])
        low, high = float(np.log2(parallel[0])) - 0.5, float(np.log2(largest))
        middle, probability = _bend(parallel, low, high)
        share = float(np.mean(parallel & (parallel - 1) == 0))
        anyway = _powers_of_two(largest, (low, middle, high), (0.0, probability, 1.0))
        power_of_two = max((share - anyway) / (1 - anyway), 0.0) if anyway < 1 else 1.0
        return cls(serial, power_of_two, low, middle, high, probability, largest)

    def sample(self, random: np.random.Generator, count: int) -> Floats:
        """Draw sizes: whole numbers from 1 to ``largest``."""
        kind = random.random(count)
        stages = TwoStageUniform(self.low, self.middle, self.high, self.probability)
        logarithm = stages.sample(random, count)
        rounded = kind < self.serial + (1 - self.serial) * self.power_of_two
        exponent = np.minimum(np.rint(logarithm), self.largest.bit_length() - 1)
        size = np.rint(np.exp2(np.where(rounded, exponent, logarithm)))
        smallest = np.rint(np.exp2(self.low + 0.5))
        parallel = np.clip(size, min(smallest, self.largest), self.largest)
        return np.asarray(np.where(kind < self.serial, 1.0, parallel), dtype=np.float64)


def _powers_of_two(largest: int, bends: tuple[float, ...], shares: tuple[float, ...]) -> float:
    """Return the fraction of powers of two among sizes whose logarithms are not rounded."""
    powers = np.exp2(np.arange(1, largest.bit_length()))
    above, below = np.log2(np.minimum(powers + 0.5, largest)), np.log2(powers - 0.5)
    return float((np.interp(above, bends, shares) - np.interp(below, bends, shares)).sum())


def _bend(sizes: Integers, low: float, high: float) -> tuple[float, float]:
    """Return the bend and its probability for which a two-stage uniform distribution fits best."""
    at = np.linspace(low, high, _CANDIDATES)
    below = np.searchsorted(np.log2(sizes), at, side="right") / len(sizes)
    best, least = (high, 1.0), np.inf
    for middle in at[1:-1]:
        small, large = _mean(low, middle), _mean(middle, high)
        probability = (large - sizes.mean()) / (large - small)
        line = np.interp(at, [low, middle, high], [0.0, probability, 1.0])
        distance = float(np.abs(line - below).max())
        if 0 <= probability <= 1 and distance < least:
            best, least = (float(middle), float(probability)), distance
    return best


def _mean(low: float, high: float) -> float:
    """Return the mean of 2^x for x uniform between low and high."""
    return float((np.exp2(high) - np.exp2(low)) / ((high - low) * np.log(2.0)))


CORE = "core"
_BOUNDS = ("min", "max")
_MOST = 2**53


class Requests(NamedTuple):
    """Requests of jobs: the number of tasks, and the amounts per task."""

    tasks: Integers
    amounts: dict[str, Integers]


class Limits(NamedTuple):
    """The minimum and maximum amount of each resource that a job requests per node."""

    least: dict[str, int]
    most: dict[str, int]

    @classmethod
    def of(
        cls,
        given: Mapping[str, Mapping[str, int]] | None,
        system: System,
        performance: Mapping[str, float],
    ) -> "Limits":
        """Check and complete limits: by default from 0 (cores: 1) to all processing units of a node.

        Raises
        ------
        WorkloadError
            If a limit is invalid, or no node has the minimum.
        """
        if CORE not in system.resources:
            raise WorkloadError(
                f"system: its nodes have {', '.join(system.resources)}; generated jobs need 'core'."
            )
        least, most = _bounds(given or {}, system)
        units = [name for name in system.resources if name in performance]
        for name in dict.fromkeys([CORE, *units, *least, *most]):
            highest = max(group.resources.get(name, 0) for group in system.groups)
            least.setdefault(name, min(1, most.get(name, 1)) if name == CORE else 0)
            most.setdefault(name, highest)
            if not least[name] <= most[name]:
                raise WorkloadError(
                    f"request_limits: {name} from {least[name]} to {most[name]}; must be from less to "
                    f"more. A node has up to {highest}."
                )
        if least[CORE] < 1:
            rule = "every job needs a core. Give 1 or more"
            raise WorkloadError(f"request_limits: core from {least[CORE]} to {most[CORE]}; {rule}.")
        names = [name for name in system.resources if name in most]
        return cls({name: least[name] for name in names}, {name: most[name] for name in names})

    def hosts(self, system: System) -> list[NodeGroup]:
        """Return the groups with nodes that have the minimum."""
        groups = [
            group
            for group in system.groups
            if all(group.resources.get(name, 0) >= amount for name, amount in self.least.items())
        ]
        if not groups:
            raise WorkloadError(
                f"request_limits['min'] = {shown(self.least)}; no node of the system has as much. Lower it."
            )
        return groups


def draw_requests(
    sizes: SizeModel, limits: Limits, system: System, units: frozenset[str], *, jobs: int, seed: int
) -> Requests:
    """Draw the requests of jobs, each of which fits on the machine.

    - Each job is generated for the nodes of one group, drawn with a probability proportional to its number of
      nodes, and only requests resource types of these nodes: so the fraction of jobs that may request GPUs is
      that of nodes with GPUs.
    - The amount of each type is uniform between its limits, as far as such a node has it.
    - A serial job requests the minimum number of cores on one node, and the minimum of all other processing
      units.
    - The size of a parallel job is drawn from `SizeModel`, in cores; its number of nodes is the size divided
      by its cores per node, rounded, and at most the number of such nodes.

    Parameters
    ----------
    sizes
        The distribution of the numbers of cores.
    limits
        The limits per node.
    system
        The machine.
    units
        The processing resources.
    jobs, seed
        Number of jobs, and the seed.

    Returns
    -------
    Requests
        In random order.
    """
    groups = limits.hosts(system)
    counts = np.array([group.count for group in groups], dtype=np.float64)
    random = stream(seed, "groups")
    group = np.searchsorted(np.cumsum(counts / counts.sum())[:-1], random.random(jobs), side="right")
    size = sizes.sample(stream(seed, "sizes"), jobs).astype(np.int64)
    amounts: dict[str, Integers] = {}
    for name, least in limits.least.items():
        had = np.array([each.resources.get(name, 0) for each in groups], dtype=np.int64)[group]
        most = np.minimum(had, limits.most[name])
        if name == CORE:
            most = np.maximum(np.minimum(most, size), least)
        elif name in units:
            most = np.where(size == 1, least, most)
        amounts[name] = stream(seed, f"amount of {name}").integers(least, most, endpoint=True)
    nodes = np.maximum((2 * size + amounts[CORE]) // (2 * amounts[CORE]), 1)
    return Requests(np.minimum(nodes, _room(system, amounts)), amounts)


def _room(system: System, amounts: Mapping[str, Integers]) -> Integers:
    """Return how many tasks of each request fit on the empty machine."""
    room = np.zeros(len(amounts[CORE]), dtype=np.int64)
    for group in system.groups:
        each = np.full(len(room), np.iinfo(np.int64).max)
        for name, amount in amounts.items():
            fits = group.resources.get(name, 0) // np.maximum(amount, 1)
            each = np.where(amount > 0, np.minimum(each, fits), each)
        room += group.count * each
    return room


def _bounds(given: Mapping[str, Mapping[str, int]], system: System) -> tuple[dict[str, int], dict[str, int]]:
    if not isinstance(given, Mapping) or not all(
        isinstance(given.get(name, {}), Mapping) for name in _BOUNDS
    ):
        raise WorkloadError(
            f"request_limits = {shown(given)}; must be {{'min': {{resource: amount}}, 'max': …}}, per node."
        )
    for name in given:
        if name not in _BOUNDS:
            raise WorkloadError(f"request_limits[{name!r}] is unknown.{suggest(str(name), _BOUNDS)}")
    return _amounts(given, "min", system), _amounts(given, "max", system)


def _amounts(given: Mapping[str, Mapping[str, int]], bound: str, system: System) -> dict[str, int]:
    amounts = dict(given.get(bound, {}))
    for name, amount in amounts.items():
        where = f"request_limits[{bound!r}][{name!r}]"
        if name not in system.resources:
            raise WorkloadError(f"{where}: the system has no such resource.{suggest(name, system.resources)}")
        amounts[name] = rules.check(WorkloadError, where, amount, rules.Whole(0, _MOST))
    return amounts
