"""The model of Feitelson (1996): small jobs, powers of two, long runs of wide jobs, and repeated jobs.

Based on D. G. Feitelson, "Packing schemes for gang scheduling", JSSPP 1996, LNCS 1162, and the description of
the model in the Parallel Workloads Archive (``m_feitelson96``):

- **Size.** Harmonic of order `size_order`: the probability of n is proportional to n^-1.5, "hand-tailored to
  further emphasize small sizes and powers of two": here powers of two are `emphasis` times as likely.
- **Run time.** Hyper-exponential with two stages and parameters that depend on the size, so that wide jobs
  tend to run longer: the mean is `short_mean` with the probability p(n) = `short_share` - `short_share_slope`
  × n / nodes, else `long_mean`; both in units of `time_unit`.
- **Repetition.** The number of runs of a job is harmonic of order `repetition_order`; each run is submitted
  when the previous one has ended, with the same size and run time.
- **Arrival.** Poisson, with the rate that yields a given offered load.

Reliability of the numbers: the order 1.5, the growth of run times with the size, and the repetition were
checked against the archive's description. The hyper-exponential run times with their numbers (1, 7, 0.95,
0.2), the order 2.5 and the constant time of repeated runs are as usually quoted, and could not be
checked against the paper. The archive specifies neither the emphasis nor the unit of time: `emphasis` and
`time_unit` are our choices.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from batchlab.core import rules
from batchlab.core.distributions import Harmonic
from batchlab.core.random_streams import Floats, Integers, stream
from batchlab.errors import WorkloadError
from batchlab.generate.custom import count_of_jobs
from batchlab.workload.header import Header
from batchlab.workload.workload import Workload

_MOST_NODES = 2**20


@dataclass(frozen=True)
class FeitelsonParameters:
    """The parameters of the model; the module's docstring describes their reliability.

    Parameters
    ----------
    size_order, emphasis
        Parameters of the sizes.
    short_mean, long_mean, short_share, short_share_slope
        Parameters of the run times.
    time_unit
        The unit of the means, seconds.
    repetition_order, most_repetitions
        Parameters of the number of runs.
    """

    size_order: float = 1.5
    emphasis: float = 10.0
    short_mean: float = 1.0
    long_mean: float = 7.0
    short_share: float = 0.95
    short_share_slope: float = 0.20
    time_unit: float = 3600.0
    repetition_order: float = 2.5
    most_repetitions: int = 1000

    def size_probabilities(self, nodes: int) -> Floats:
        """Return the probabilities of the sizes 1, 2, …, ``nodes``."""
        size = np.arange(1, nodes + 1)
        likely = Harmonic(self.size_order, nodes).probabilities * np.where(
            size & (size - 1), 1, self.emphasis
        )
        return np.asarray(likely / likely.sum(), dtype=np.float64)


def feitelson(
    jobs: int,
    *,
    nodes: int = 128,
    load: float = 0.7,
    parameters: FeitelsonParameters | None = None,
    seed: int = 0,
) -> Workload:
    """Generate a workload with Feitelson's model.

    Parameters
    ----------
    jobs
        Total number of runs, from 1 to 10^9.
    nodes
        The size of the machine, which bounds the size of jobs.
    load
        Offered load during the arrivals, above 0.
    parameters
        Parameters that replace the defaults.
    seed
        The same seed generates the same jobs.

    Returns
    -------
    Workload
        Times are whole seconds. A log cannot express a wait for the end of a job: each repetition is
        submitted when the previous run would end if it started immediately. ``preceding_job_id`` is the
        number of that run (-1: none) for simulators that can wait, ``application_id`` the number of the
        repeated job. The requested time is the run time.

    Raises
    ------
    WorkloadError
        If an argument breaks a rule.

    Examples
    --------
    >>> made = feitelson(1000, nodes=64)
    >>> made.jobs["tasks"].max()
    64
    """
    jobs = count_of_jobs(jobs)
    given = parameters or FeitelsonParameters()
    nodes = rules.check(WorkloadError, "nodes", nodes, rules.Whole(1, _MOST_NODES))
    load = rules.check(WorkloadError, "load", load, rules.POSITIVE)
    table = _runs(given, jobs, nodes, load, seed).sort("submit_time", maintain_order=True)
    header = Header.from_fields(
        {
            "Version": "2.2",
            "Computer": "model of Feitelson 1996",
            "MaxNodes": nodes,
            "MaxProcs": nodes,
            "Note": f"made by batchlab's generate.feitelson with seed {seed}",
        }
    )
    return Workload.from_table(_numbered(table), resources=(), invalid="raise", header=header)


def _runs(given: FeitelsonParameters, jobs: int, nodes: int, load: float, seed: int) -> pl.DataFrame:
    """Return all runs; the runs of a job are consecutive."""
    harmonic = Harmonic(given.repetition_order, given.most_repetitions)
    repetitions = harmonic.sample(stream(seed, "repetitions"), jobs).astype(np.int64)
    distinct = int(np.searchsorted(np.cumsum(repetitions), jobs)) + 1
    repetitions = repetitions[:distinct]
    size = _sizes(given, distinct, nodes, seed)
    run_time = _run_times(given, size, nodes, seed)
    work = float((size * run_time * repetitions).sum())
    first = np.cumsum(stream(seed, "arrivals").exponential(work / (load * nodes * distinct), distinct))
    job = np.repeat(np.arange(distinct), repetitions)[:jobs]
    run = np.arange(jobs) - (np.cumsum(repetitions) - repetitions)[job]
    columns = {
        "submit_time": np.floor(first - first[0])[job] + run * run_time[job],
        "run_time": run_time[job],
        "requested_time": run_time[job],
        "tasks": size[job],
        "application_id": job + 1,
        "run": run,
    }
    return pl.DataFrame(columns)


def _numbered(table: pl.DataFrame) -> pl.DataFrame:
    """Add the number of each run in the order of submission, and that of the previous run of the job."""
    numbered = table.with_columns(job_id=pl.int_range(1, pl.len() + 1, dtype=pl.Int64))
    before = pl.col("job_id").sort_by("run").shift(1).over("application_id", order_by="run")
    return numbered.with_columns(preceding_job_id=before.fill_null(-1)).drop("run")


def _sizes(given: FeitelsonParameters, count: int, nodes: int, seed: int) -> Integers:
    below = np.cumsum(given.size_probabilities(nodes))[:-1]
    return np.searchsorted(below, stream(seed, "sizes").random(count), side="right") + 1


def _run_times(given: FeitelsonParameters, size: Integers, nodes: int, seed: int) -> Floats:
    random = stream(seed, "run times")
    short = random.random(len(size)) < given.short_share - given.short_share_slope * size / nodes
    mean = np.where(short, given.short_mean, given.long_mean) * given.time_unit
    return np.maximum(np.rint(random.exponential(1.0, len(size)) * mean), 1.0)
