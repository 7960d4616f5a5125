"""The work of jobs in GFLOP, assuming that all processing units run at full performance."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from batchlab.core import rules
from batchlab.core.arguments import checked
from batchlab.core.random_streams import Floats
from batchlab.errors import WorkloadError, shown, suggest
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
