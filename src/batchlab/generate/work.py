"""The work of jobs: what they compute, in GFLOP, if every processing unit does what it can."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from batchlab.errors import WorkloadError, shown, suggest
from batchlab.random_streams import Floats
from batchlab.workload.application_jobs import run_times

if TYPE_CHECKING:
    from batchlab.workload.workload import Workload

__all__ = ["check_performance", "gflops", "speed"]

_PROCESSOR = {"core": 1}
_FASTEST = 1e18


def gflops(
    workload: "Workload",
    performance: Mapping[str, float],
    *,
    equivalence: Mapping[str, int] | None = None,
) -> Floats:
    """Compute each job's work: run time × tasks × Σ amount × performance.

    The theoretical computed FLOP of AccaSim's generator: every unit that a job asked for is taken to compute
    at its best for the whole run time.

    Parameters
    ----------
    workload
        The jobs.
    performance
        What one unit of a resource does, in GFLOP per second, as ``{"core": 1.667, "gpu": 933}``. Resources
        that are not named (memory) do nothing.
    equivalence
        What one task is where the workload says nothing of cores: one ``core`` unless given.

    Returns
    -------
    array
        GFLOP, one number per job; NaN for none.

    Raises
    ------
    WorkloadError
        If a performance is no number >= 0, or no resource of the jobs has one.

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
    """Compute how fast each job computes: tasks × Σ amount × performance, in GFLOP per second.

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
    """Check that performances are numbers, and that there are some.

    Raises
    ------
    WorkloadError
        If one is no number >= 0, or there is none.
    """
    if not isinstance(performance, Mapping) or not performance:
        raise WorkloadError(
            f"{name} = {shown(performance)}; must map resources to GFLOP per second, as in {{'core': 1.667}}."
        )
    for resource, value in performance.items():
        real = isinstance(value, int | float | np.integer | np.floating)
        if not real or not 0 <= value <= _FASTEST:
            rule = "must be a number of GFLOP per second, from 0 to 10^18"
            raise WorkloadError(f"{name}[{resource!r}] = {shown(value)}; {rule}.")
    return {resource: float(value) for resource, value in performance.items()}
