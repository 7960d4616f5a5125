"""The option ``--fitted``: apply the values found by `batchlab slurm fit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from batchlab.options import RunOptions
    from batchlab.policy import Policy
    from batchlab.system import System
    from batchlab.workload import Workload

__all__ = ["with_fitted"]


def with_fitted(
    path: Path, workload: Workload, system: System, policy: Policy, options: RunOptions
) -> tuple[Workload, Policy, RunOptions]:
    """Return the inputs of a run with fitted values.

    Parameters
    ----------
    path
        The file.
    workload, system, policy, options
        The inputs without fitted values.

    Returns
    -------
    tuple
        The workload, with submit times as the controller sees them; the policy; the options with overheads.
    """
    from batchlab.slurm.twin import Twin, read_fitted  # noqa: PLC0415  # --help does without

    twin = Twin(name="--policy", system=system, policy=policy, options=options)
    fitted = read_fitted(path).applied(twin)
    return (
        workload.shift(fitted.submission),
        fitted.policy,
        fitted.options,
    )
