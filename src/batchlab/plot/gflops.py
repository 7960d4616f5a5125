"""Plot of the work of jobs, in floating-point operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from batchlab.errors import ResultError, shown
from batchlab.plot.canvas import begin
from batchlab.plot.histogram import logarithmic
from batchlab.plot.results import Workloads, job_tables
from batchlab.workload.application_jobs import run_times

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

    from batchlab.workload.workload import Workload

    Floats: TypeAlias = npt.NDArray[np.float64]

__all__ = ["gflops"]

_LEAST = 1e-3


def gflops(
    workloads: Workloads | npt.ArrayLike | Mapping[str, npt.ArrayLike],
    *,
    performance: Mapping[str, float] | None = None,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the shares of jobs by their computing (Figs. 16 and 17 of [1]), eight classes to a power of ten.

    The computing of a job is run time × tasks × the sum over resources of amount per task × performance.

    Parameters
    ----------
    workloads
        With `performance`, one workload or result, several, or a mapping of labels to them. Without, the
        values in GFLOP: an array, or a mapping of labels to arrays.
    performance
        The performance of one unit of a resource, in GFLOP/s, such as ``{"core": 1.667, "gpu": 933}``. A task
        asks for one core if the workload has no cores.
    ax
        The axes [default: new axes].
    title
        The title [default: none].

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ResultError
        If there is no workload, something else is among them, or a performance is not above 0.

    References
    ----------
    [1] C. Galleguillos, Z. Kiziltan, A. Netti and R. Soto, "AccaSim: a customizable workload management
    simulator for job dispatching research in HPC systems", Cluster Computing 23, 2020.
    """
    samples = _given(workloads) if performance is None else _computed(workloads, performance)  # type: ignore[arg-type]
    ax = logarithmic(begin(ax, title=title), samples, least=_LEAST)
    if ax.has_data():
        ax.set_xlabel("computing of a job (GFLOP)")
    return ax


def _given(values: object) -> dict[str, Floats]:
    labelled = values if isinstance(values, Mapping) else {"jobs": values}
    try:
        return {str(label): np.asarray(each, dtype=np.float64).ravel() for label, each in labelled.items()}
    except (TypeError, ValueError):
        raise ResultError(
            f"workloads = {shown(values)}; without performance, must be numbers of GFLOP. For workloads, "
            "pass performance={'core': …} in GFLOP/s."
        ) from None


def _computed(workloads: Workloads, performance: Mapping[str, float]) -> dict[str, Floats]:
    for name, speed in performance.items():
        if not 0 < speed < np.inf:
            raise ResultError(f"performance[{name!r}] = {speed!r} GFLOP/s; must be > 0.")
    return {
        each.label: np.concatenate([_computing(workload, performance) for workload in each.workloads])
        for each in job_tables(workloads)
    }


def _computing(workload: Workload, performance: Mapping[str, float]) -> Floats:
    jobs = workload.jobs
    without = {} if "core" in workload.resources else {"core": 1}
    speed = np.zeros(len(jobs))
    for name, each in performance.items():
        amount = jobs[name].to_numpy() if name in workload.resources else without.get(name, 0)
        speed += each * np.asarray(amount)
    return np.asarray(run_times(workload, "gflops") * jobs["tasks"].to_numpy() * speed)
