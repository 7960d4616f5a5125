"""What the kernel is given: the columns of a workload on a system."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.errors import PolicyError, shown
from batchlab.policy.kernel import KEY_COLUMN, takes_now
from batchlab.simulation.node_sets import node_set_columns
from batchlab.simulation.view import HIDDEN, Columns

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from batchlab._kernel import JobColumns
    from batchlab.policy import Policy
    from batchlab.system import System
    from batchlab.workload import Workload

__all__ = ["amounts", "core_index", "job_columns"]

_NAME = re.compile(r"[A-Za-z_]\w*")
# What formulas call these is computed by the kernel itself; `run_time` is its secret.
_OWN_NAMES = frozenset(
    {"now", "wait_time", "submit_time", "requested_time", "tasks", "processors", "estimate", "run_time"}
)


def job_columns(workload: Workload, system: System, policy: Policy) -> JobColumns:
    """Give the kernel's view of a workload on a system.

    Parameters
    ----------
    workload, system
        The jobs, and the machine whose resources and equivalence translate their requests.
    policy
        Whose formula may name further columns.

    Returns
    -------
    dict
        NumPy columns, one entry per job: times in seconds, ``amounts`` per task and resource.

    Raises
    ------
    WorkloadError
        If a job names a node group that the system does not have.
    PolicyError
        If a formula names a column that it cannot use.
    """
    jobs = workload.jobs
    return {
        "submit_time": jobs["submit_time"].to_numpy(),
        # A job that carries an application runs until that is done.
        "run_time": jobs["run_time"].fill_null(0.0).to_numpy(),
        "requested_time": jobs["requested_time"].to_numpy(),
        "tasks": jobs["tasks"].to_numpy(),
        "amounts": amounts(workload, system),
        "tasks_per_node": jobs["tasks_per_node"].to_numpy() if "tasks_per_node" in jobs.columns else None,
        "exclusive": jobs["exclusive"].to_numpy() if "exclusive" in jobs.columns else None,
        **node_set_columns(workload, system),
        "formula": _formula_columns(jobs, policy),
        "infeasible": _infeasible(workload, system),
    }


def core_index(system: System) -> int | None:
    """Find the resource that counts as processors in the orders of the queue."""
    return system.resources.index("core") if "core" in system.resources else None


def amounts(workload: Workload, system: System) -> list[int | npt.NDArray[np.int64]]:
    """Give what each task asks of each resource: one number for all jobs, or one per job.

    A workload that says nothing of cores asks for processors, which the system's equivalence translates.

    Parameters
    ----------
    workload, system
        The jobs, and the machine.

    Returns
    -------
    list
        One entry for each of the system's resources.
    """
    processor = {} if "core" in workload.resources else dict(system.equivalence)
    return [
        workload.jobs[name].to_numpy() if name in workload.resources else processor.get(name, 0)
        for name in system.resources
    ]


def _infeasible(workload: Workload, system: System) -> npt.NDArray[np.bool_] | None:
    """Mark the jobs that ask for a resource which the system does not have: they can never fit."""
    unknown = [name for name in workload.resources if name not in system.resources]
    if not unknown:
        return None
    asks = [pl.col(name) > 0 for name in unknown]
    return workload.jobs.select(pl.any_horizontal(asks)).to_series().to_numpy()


def _formula_columns(jobs: pl.DataFrame, policy: Policy) -> list[tuple[str, npt.NDArray[np.float64] | None]]:
    """Give the names that a formula may use, with the values of those that it does use."""
    if not isinstance(policy.order, str):
        return [] if takes_now(policy.order) else [(KEY_COLUMN, _keys(jobs, policy, policy.order))]
    if policy.order_name != "expression":
        return []
    named = set(_NAME.findall(policy.order_argument))
    for name in sorted(named & HIDDEN.intersection(jobs.columns) - _OWN_NAMES):
        raise PolicyError(f"{policy}: {name} is hidden from schedulers; it is known once a job is done.")
    return [(name, _numbers(jobs[name], policy) if name in named else None) for name in _others(jobs)]


def _keys(jobs: pl.DataFrame, policy: Policy, order: Callable[..., npt.ArrayLike]) -> npt.NDArray[np.float64]:
    """Ask a function for the keys of all jobs."""
    clairvoyant = bool(getattr(order, "clairvoyant", False))
    answer = order(Columns(jobs, clairvoyant=clairvoyant))
    try:
        keys = np.ascontiguousarray(answer, dtype=np.float64)
    except (TypeError, ValueError):
        raise PolicyError(f"{policy}: the order gave {shown(answer)}; must be one number per job.") from None
    if keys.shape != (len(jobs),):
        raise PolicyError(
            f"{policy}: the order gave shape {keys.shape} for {len(jobs)} jobs; one number per job."
        )
    if np.isnan(keys).any():
        row = int(np.isnan(keys).argmax())
        raise PolicyError(f"{policy}: the order gave nan for job {jobs['job_id'][row]}; must be a number.")
    return keys


def _others(jobs: pl.DataFrame) -> list[str]:
    known = _OWN_NAMES | HIDDEN
    return [name for name in jobs.columns if name not in known and _NAME.fullmatch(name)]


def _numbers(column: pl.Series, policy: Policy) -> npt.NDArray[np.float64]:
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        raise PolicyError(
            f"{policy}: column {column.name!r} is {column.dtype}; a formula can only use columns of numbers."
        )
    return column.cast(pl.Float64).fill_null(float("nan")).to_numpy()
