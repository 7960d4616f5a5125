"""The workload of ``batchlab demo``: small, with the typical shape of real logs.

Not a published model, and not for publications: each component follows reports in the literature, with round
numbers instead of fitted ones.
"""

import numpy as np
import numpy.typing as npt
import polars as pl

from batchlab.core import rules
from batchlab.errors import WorkloadError
from batchlab.system.system import System
from batchlab.workload.workload import Workload

_NODES, _CORES = 32, 8
_LOAD = 0.9
_DAY = 86_400
_LONGEST = 2 * _DAY
_JOBS = rules.Whole(1, 10**9)
_MINUTES = (5, 10, 15, 30, 60, 120, 180, 240, 360, 480, 720, 1080, 1440, 2160, 2880)
_ROUND_TIMES = 60 * np.array(_MINUTES, dtype=np.int64)

Integers = npt.NDArray[np.int64]


def demo_system() -> System:
    """Return the machine of the demonstration: 32 nodes with 8 cores."""
    return System.homogeneous(nodes=_NODES, resources={"core": _CORES}, name="demo")


def demo_workload(jobs: int = 2000, *, seed: int = 0) -> Workload:
    """Generate a workload with an offered load of 90 % on `demo_system`.

    - Arrivals are a Poisson process with a daily cycle: the rate at 2 p.m. is four times that at 2 a.m.
    - Sizes are powers of two for three quarters of the jobs; a quarter of the jobs need one core.
    - Run times are lognormal, longer for wider jobs.
    - Requested times are round and cover the run time, often by far.

    Parameters
    ----------
    jobs
        The number of jobs, at least 1.
    seed
        The same seed generates the same jobs.

    Returns
    -------
    Workload
        With an additional column ``user_id``. Times are whole seconds.

    Raises
    ------
    WorkloadError
        ``jobs`` is not a whole number from 1 to 10^9, or the seed is not a whole number >= 0.

    References
    ----------
    Daily cycle, sizes and the correlation of size and run time: U. Lublin and D. G. Feitelson, "The workload
    on parallel supercomputers: modeling the characteristics of rigid jobs", JPDC 63(11), 2003. Round
    estimates: D. Tsafrir, Y. Etsion and D. G. Feitelson, "Modeling user runtime estimates", JSSPP 2005.
    """
    jobs = rules.check(WorkloadError, "jobs", jobs, _JOBS)
    seed = rules.check(WorkloadError, "seed", seed, rules.SEED)
    random = np.random.default_rng(seed)
    tasks = _sizes(random, jobs)
    run_time = _run_times(random, tasks)
    work = float((tasks * run_time).sum())
    submit_time = _arrivals(random, jobs, work / (_LOAD * _NODES * _CORES))
    table = {
        "job_id": np.arange(1, jobs + 1),
        "submit_time": submit_time,
        "run_time": run_time,
        "requested_time": _requested_times(random, run_time),
        "tasks": tasks,
        # A few users submit most of the jobs.
        "user_id": np.minimum(random.zipf(1.6, jobs), 40),
    }
    return Workload.from_table(pl.DataFrame(table), invalid="raise")


def _sizes(random: np.random.Generator, jobs: int) -> Integers:
    exponent = random.uniform(0, np.log2(_NODES * _CORES / 2), jobs)
    rounded = np.where(random.random(jobs) < 0.75, 2 ** np.round(exponent), np.round(2**exponent))  # noqa: PLR2004
    serial = random.random(jobs) < 0.25  # noqa: PLR2004
    return np.asarray(np.where(serial, 1, rounded), dtype=np.int64)


def _run_times(random: np.random.Generator, tasks: Integers) -> Integers:
    typical = 600 * tasks**0.3
    run_time = np.round(typical * np.exp(random.normal(0, 1.6, len(tasks))))
    return np.asarray(np.clip(run_time, 1, _LONGEST), dtype=np.int64)


def _arrivals(random: np.random.Generator, jobs: int, period: float) -> Integers:
    """Distribute the jobs over the period according to the daily cycle."""
    grid = np.linspace(0, period, 4096)
    hour = (grid / 3600 + 8) % 24
    expected = np.cumsum(1 + 0.6 * np.cos((hour - 14) / 24 * 2 * np.pi))
    uniform = np.sort(random.uniform(expected[0], expected[-1], jobs))
    submit_time = np.floor(np.interp(uniform, expected, grid))
    return np.asarray(submit_time - submit_time[0], dtype=np.int64)


def _requested_times(random: np.random.Generator, run_time: Integers) -> Integers:
    """Choose the next round time, or one of the four following."""
    least = np.searchsorted(_ROUND_TIMES, run_time)
    longer = random.choice(5, size=len(run_time), p=[0.3, 0.25, 0.2, 0.15, 0.1])
    return np.asarray(_ROUND_TIMES[np.minimum(least + longer, len(_ROUND_TIMES) - 1)])
