"""The model of Lublin and Feitelson (1999, 2003): rigid jobs with a daily cycle.

Formulae from U. Lublin and D. G. Feitelson, "The workload on parallel supercomputers: modeling the
characteristics of rigid jobs", JPDC 63(11), 2003, 1105-1122:

- **Size.** A job is serial with the probability `serial`. Otherwise log2 of its size is two-stage uniform:
  from `low` to `middle` with the probability `first_stage`, else from `middle` to `high`. It is rounded for a
  fraction `power_of_two` of all jobs, including serial ones. The size is two to this power, rounded.
- **Run time.** Its natural logarithm is hyper-gamma: Gamma(`run_shapes[0]`, `run_scales[0]`) with the
  probability p = `slope` × size + `intercept`, clipped to [0, 1], else Gamma(`run_shapes[1]`,
  `run_scales[1]`). Logarithms above 12 (45 hours) are redrawn.
- **Arrival.** At rush hours, the natural logarithm of an interval is Gamma(`interval_shape` × `rush_ratio`,
  `interval_scale`); logarithms above 13 (5 days) are redrawn. Intervals are measured in points: half an hour
  costs as many points as its weight, which is the increase of the distribution function of
  Gamma(`cycle_shape`, `cycle_scale`) over it, counted from the 11th half hour of the day, relative to the
  mean weight.

The parameters are those of the authors' program ``m_lublin99.c`` in the Parallel Workloads Archive, checked
against a copy of it. There are two differences: the program truncates each interval to seconds, with errors
that accumulate, and its random sequence differs.
"""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from batchlab.core import rules
from batchlab.core.distributions import TwoStageUniform
from batchlab.core.late import scipy_special
from batchlab.core.random_streams import Floats, stream
from batchlab.core.vocabulary import LUBLIN_KINDS, LublinKind
from batchlab.errors import WorkloadError
from batchlab.generate.arrivals import HALF_HOUR, SLOTS
from batchlab.generate.custom import count_of_jobs
from batchlab.workload.header import Header
from batchlab.workload.validation import check_choice
from batchlab.workload.workload import Workload

_LONGEST_RUN, _LONGEST_INTERVAL = 12.0, 13.0  # natural logarithms of seconds
_DAY_STARTS = 11  # the half hour at which the gamma distribution of the cycle begins
_LOG_NODES = 7  # the parameters are for 128 nodes
_INTERACTIVE, _BATCH = 0, 1
_MOST_NODES = 2**30


@dataclass(frozen=True)
class LublinParameters:
    """The parameters of the model; the defaults are for jobs of all kinds, on 128 nodes.

    Parameters
    ----------
    serial, power_of_two, low, middle, high, first_stage
        Parameters of the sizes. Logarithms are to the base 2; `high` is that of the number of nodes.
    run_shapes, run_scales, slope, intercept
        Parameters of the run times.
    interval_shape, interval_scale, rush_ratio
        Parameters of the intervals between submissions.
    cycle_shape, cycle_scale
        Parameters of the daily cycle, in half hours.
    """

    serial: float = 0.244
    power_of_two: float = 0.576
    low: float = 0.8
    middle: float = 4.5
    high: float = 7.0
    first_stage: float = 0.86
    run_shapes: tuple[float, float] = (4.2, 312.0)
    run_scales: tuple[float, float] = (0.94, 0.03)
    slope: float = -0.0054
    intercept: float = 0.78
    interval_shape: float = 10.2303
    interval_scale: float = 0.4871
    rush_ratio: float = 1.0225
    cycle_shape: float = 8.1737
    cycle_scale: float = 3.9631

    @classmethod
    def batch(cls) -> "LublinParameters":
        """Return the parameters of batch jobs."""
        return cls(
            serial=0.2927,
            power_of_two=0.6686,
            low=1.2,
            middle=5.0,
            high=7.0,
            first_stage=0.875,
            run_shapes=(6.57, 639.1),
            run_scales=(0.823, 0.0156),
            slope=-0.003,
            intercept=0.6986,
            interval_shape=6.0415,
            interval_scale=0.8531,
            rush_ratio=1.0519,
            cycle_shape=6.1271,
            cycle_scale=5.2740,
        )

    @classmethod
    def interactive(cls) -> "LublinParameters":
        """Return the parameters of interactive jobs."""
        return cls(
            serial=0.1541,
            power_of_two=0.625,
            low=1.0,
            middle=3.0,
            high=5.5,
            first_stage=0.705,
            run_shapes=(3.8351, 7.073),
            run_scales=(0.6605, 0.6856),
            slope=-0.0118,
            intercept=0.9156,
            interval_shape=6.5510,
            interval_scale=0.6621,
            rush_ratio=0.9797,
            cycle_shape=8.9186,
            cycle_scale=3.6680,
        )

    def for_nodes(self, nodes: int) -> "LublinParameters":
        """Adapt the sizes to another number of nodes: `middle` keeps its distance from `high`."""
        further = float(np.log2(nodes)) - _LOG_NODES
        high = max(self.high + further, self.low)
        return replace(self, middle=max(self.middle + further, self.low), high=high)


def lublin(
    jobs: int,
    *,
    nodes: int = 128,
    kind: LublinKind = "all",
    parameters: LublinParameters | None = None,
    seed: int = 0,
) -> Workload:
    """Generate a workload with the model of Lublin and Feitelson.

    Parameters
    ----------
    jobs
        Number of jobs, from 1 to 10^9.
    nodes
        The size of the machine, which bounds the size of jobs.
    kind
        ``"all"``: jobs of all kinds with one set of parameters; ``"batch"`` or ``"interactive"`` jobs; or
        ``"both"``, with separate parameters.
    parameters
        Parameters that replace those of the kind, without adaptation (`nodes` then only limits sizes).
    seed
        The same seed generates the same jobs.

    Returns
    -------
    Workload
        Times are whole seconds from a midnight; ``queue_id`` is 0 for interactive jobs (and for jobs of all
        kinds), 1 for batch jobs, as in the authors' program. The model has no estimates: the requested time
        is the run time, unless :func:`estimates` is applied.

    Raises
    ------
    WorkloadError
        If an argument breaks a rule.

    Examples
    --------
    >>> lublin(1000, nodes=64)
    Workload of 1,000 jobs submitted over 7 d 21:38:53, of 1 to 64 tasks
      model of Lublin and Feitelson, all
      64 processors
      table: 1,000 jobs read, all kept as they are
    """
    jobs = count_of_jobs(jobs)
    check_choice("kind", kind, LUBLIN_KINDS)
    nodes = rules.check(WorkloadError, "nodes", nodes, rules.Whole(1, _MOST_NODES))
    tables = [
        _jobs_of(given if parameters is None else parameters, queue, jobs, nodes, seed)
        for queue, given in _sets(kind, nodes)
    ]
    table = pl.concat(tables).sort("submit_time", maintain_order=True).head(jobs)
    header = Header.from_fields(
        {
            "Version": "2.2",
            "Computer": f"model of Lublin and Feitelson, {kind}",
            "MaxNodes": nodes,
            "MaxProcs": nodes,
            "Note": f"made by batchlab's generate.lublin with seed {seed}",
        }
    )
    numbered = table.with_columns(job_id=pl.int_range(1, jobs + 1, dtype=pl.Int64))
    return Workload.from_table(numbered, resources=(), invalid="raise", header=header)


def _sets(kind: LublinKind, nodes: int) -> list[tuple[int, LublinParameters]]:
    """Return the queues of a kind, with their parameters."""
    interactive = (_INTERACTIVE, LublinParameters.interactive().for_nodes(nodes))
    batch = (_BATCH, LublinParameters.batch().for_nodes(nodes))
    every = (_INTERACTIVE, LublinParameters().for_nodes(nodes))
    return {"all": [every], "batch": [batch], "interactive": [interactive], "both": [interactive, batch]}[
        kind
    ]


def _jobs_of(given: LublinParameters, queue: int, jobs: int, nodes: int, seed: int) -> pl.DataFrame:
    size = _sizes(given, stream(seed, f"sizes of queue {queue}"), jobs, nodes)
    run_time = _run_times(given, stream(seed, f"run times of queue {queue}"), size)
    columns = {
        "submit_time": _arrivals(given, stream(seed, f"arrivals of queue {queue}"), jobs),
        "run_time": run_time,
        "requested_time": run_time,
        "tasks": size.astype(np.int64),
        "queue_id": np.full(jobs, queue),
    }
    return pl.DataFrame(columns)


def _sizes(given: LublinParameters, random: np.random.Generator, jobs: int, nodes: int) -> Floats:
    kind = random.random(jobs)
    stages = TwoStageUniform(given.low, given.middle, given.high, given.first_stage)
    logarithm = stages.sample(random, jobs)
    rounded = np.where(kind <= given.serial + given.power_of_two, np.floor(logarithm + 0.5), logarithm)
    size = np.floor(np.exp2(rounded) + 0.5)
    return np.asarray(np.minimum(np.where(kind <= given.serial, 1.0, size), nodes), dtype=np.float64)


def _run_times(given: LublinParameters, random: np.random.Generator, size: Floats) -> Floats:
    logarithm = np.full(len(size), np.inf)
    probability = np.clip(given.slope * size + given.intercept, 0.0, 1.0)
    while (again := np.flatnonzero(logarithm > _LONGEST_RUN)).size:
        second = (random.random(len(again)) > probability[again]).astype(np.int64)
        shape, scale = np.array(given.run_shapes)[second], np.array(given.run_scales)[second]
        logarithm[again] = random.gamma(shape, scale)
    return np.asarray(np.floor(np.exp(logarithm)), dtype=np.float64)


def _arrivals(given: LublinParameters, random: np.random.Generator, jobs: int) -> Floats:
    logarithm = np.full(jobs, np.inf)
    while (again := np.flatnonzero(logarithm > _LONGEST_INTERVAL)).size:
        shape = given.interval_shape * given.rush_ratio
        logarithm[again] = random.gamma(shape, given.interval_scale, len(again))
    points = np.cumsum(np.exp(logarithm)) / HALF_HOUR
    weights = _weights(given)
    # The sum of the weights of a day is the number of its half hours.
    days, rest = np.divmod(points, SLOTS)
    inside = np.interp(rest, np.concatenate([[0.0], np.cumsum(weights)]), np.arange(SLOTS + 1.0))
    return np.asarray(np.floor((days * SLOTS + inside) * HALF_HOUR), dtype=np.float64)


def _weights(given: LublinParameters) -> Floats:
    """Return the weight of each half hour of the day, relative to the mean."""
    edges = (np.arange(_DAY_STARTS, _DAY_STARTS + SLOTS + 1) - 0.5) / given.cycle_scale
    increase = np.diff(scipy_special.gammainc(given.cycle_shape, edges))
    # The first half hour of the cycle is the 11th of the day, which has index 10.
    weights = np.roll(increase, _DAY_STARTS - 1)
    return np.asarray(weights / weights.mean(), dtype=np.float64)
