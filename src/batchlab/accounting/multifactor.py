"""The multifactor priority of a table of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from batchlab import _kernel
from batchlab.core import rules
from batchlab.core.arguments import checked
from batchlab.core.vocabulary import FAVOURED_SIZES, FavouredSize
from batchlab.errors import PolicyError, SystemDescriptionError, WorkloadError, shown, suggest

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import numpy.typing as npt
    import polars as pl

__all__ = ["FACTORS", "priority"]

FACTORS = ("age", "association", "fair_share", "job_size", "partition", "qos")
"""Factors with their own weights, in addition to weights of resources."""

_GIVEN = ("association", "fair_share", "partition", "qos", "nice", "site")
_WEEK = 604_800.0


@checked(SystemDescriptionError)
def priority(
    jobs: pl.DataFrame,
    *,
    nodes: int,
    processors: int,
    weights: Mapping[str, float],
    resources: Mapping[str, float] | None = None,
    max_age: float = _WEEK,
    favour: FavouredSize = "large",
) -> pl.DataFrame:
    """Compute the multifactor priority of jobs.

    Parameters
    ----------
    jobs
        A row for each job: eligible_for (s), nodes, processors, requested_time (s); the factors association,
        fair_share, partition and qos; nice and site; and the share of each resource named in `resources`.
        Missing columns are 0.
    nodes, processors
        Number of nodes and processors of the machine.
    weights
        The weights of the factors age, association, fair_share, job_size, partition and qos. [default: 0]
    resources
        The weights of shares of resources, by the names of their columns.
    max_age
        The age at which its factor is 1, seconds, above 0.
    favour
        Which jobs have a large factor of the size: ``"large"``, ``"small"``, or the same relative to the
        requested time, ``"large_for_time"`` and ``"small_for_time"``.

    Returns
    -------
    polars.DataFrame
        A row for each job: age and job_size (0 to 1; 0 if their weight is 0), total (float64) and priority
        (the total, at least 1, truncated to an unsigned 32-bit integer).

    Raises
    ------
    PolicyError
        If a weight, an age or a name is invalid.

    Notes
    -----
    S12 of docs/semantics.md; Slurm's manual, Multifactor Priority Plugin.

    Examples
    --------
    >>> import batchlab as bl, polars as pl
    >>> jobs = pl.DataFrame({"eligible_for": [302400.0], "nodes": [8], "processors": [128], "nice": [100]})
    >>> bl.accounting.priority(jobs, nodes=32, processors=512, weights={"age": 1000, "job_size": 1000}).rows()
    [(0.5, 0.25, 650.0, 650)]
    """
    import numpy as np  # noqa: PLC0415  # a streamed run does without
    import polars as pl  # noqa: PLC0415

    asked = dict(resources or {})
    settings = _settings(weights, asked, max_age, favour) | {"nodes": nodes, "processors": processors}
    of_job = ("eligible_for", "nodes", "processors", "requested_time", *_GIVEN)
    rows = np.column_stack([_column(jobs, name) for name in of_job])
    parts = [_column(jobs, name) for name in asked]
    table = np.column_stack(parts) if parts else np.zeros((jobs.height, 0))
    age, size, total, priorities = _kernel.multifactor_priorities(settings, rows, table)
    return pl.DataFrame({"age": age, "job_size": size, "total": total, "priority": priorities})


def _settings(
    weights: Mapping[str, float], resources: Mapping[str, float], max_age: float, favour: str
) -> dict[str, object]:
    """Check the weights, and return the settings of the kernel."""
    for name in weights:
        if name not in FACTORS:
            raise PolicyError(f"weights: {shown(name)} is no factor.{suggest(str(name), FACTORS)}")
    for name, weight in [*weights.items(), *resources.items()]:
        rules.check(PolicyError, f"weights: {name}", weight, rules.Number(0, below=2**53))
    rules.check(PolicyError, "max_age", max_age, rules.Number(above=0, unit="seconds", finite=False))
    if favour not in FAVOURED_SIZES:
        raise PolicyError(
            f"favour = {shown(favour)}; must be one of {', '.join(get_args(FavouredSize))}."
            f"{suggest(str(favour), FAVOURED_SIZES)}"
        )
    given = {name: float(weights.get(name, 0.0)) for name in FACTORS}
    return {**given, "resources": [*resources.values()], "max_age": float(max_age), "favour": favour}


def _column(jobs: pl.DataFrame, name: str) -> npt.NDArray[np.float64]:
    """Return a column of numbers; zeros if it is missing."""
    import numpy as np  # noqa: PLC0415  # see above
    import polars as pl  # noqa: PLC0415

    if name not in jobs.columns:
        return np.zeros(jobs.height)
    column = jobs[name]
    if not column.dtype.is_numeric() or column.null_count():
        raise WorkloadError(f"jobs[{name!r}] holds {column.dtype} or nulls; must hold numbers.")
    return column.cast(pl.Float64).to_numpy()
