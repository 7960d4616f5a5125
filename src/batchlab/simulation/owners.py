"""Numbers of the users and associations by which a policy counts jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import numpy as np
import polars as pl

from batchlab.workload.arrays import ARRAY_ID
from batchlab.workload.attributes import attribute

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab.policy import Policy
    from batchlab.workload import Workload

__all__ = ["OwnerColumns", "owner_columns"]


class OwnerColumns(TypedDict):
    """The number of each job's user, association and array, from 1; 0 for none. None if nothing counts it."""

    user: npt.NDArray[np.uint32] | None
    association: npt.NDArray[np.uint32] | None
    array: npt.NDArray[np.uint32] | None


def owner_columns(workload: Workload, policy: Policy) -> OwnerColumns:
    """Return the owners of jobs, if the policy counts jobs by them.

    Parameters
    ----------
    workload
        The jobs.
    policy
        The policy. The options ``bf_max_job_user``, ``bf_max_job_user_part``, ``bf_max_job_assoc`` and
        ``bf_max_job_array_resv`` of ``slurm`` count jobs by owner.

    Returns
    -------
    OwnerColumns
        An association is a user in an account. A job without user and account has none.

    Raises
    ------
    WorkloadError
        If a column of names holds neither text nor whole numbers.
    """
    slurm = policy.slurm
    counts_users = slurm is not None and bool(slurm.bf_max_job_user or slurm.bf_max_job_user_part)
    counts_associations = slurm is not None and bool(slurm.bf_max_job_assoc)
    has_arrays = ARRAY_ID in workload.jobs.columns
    user = attribute(workload, "user") if counts_users or counts_associations else None
    return {
        "user": _numbers(user) if user is not None and counts_users else None,
        "association": (
            _numbers(user, attribute(workload, "account"))
            if user is not None and counts_associations
            else None
        ),
        "array": _numbers(workload.jobs[ARRAY_ID]) if slurm is not None and has_arrays else None,
    }


def _numbers(*columns: pl.Series) -> npt.NDArray[np.uint32]:
    """Return numbers of the distinct rows of name columns, from 1; 0 if all names of a row are missing."""
    names = pl.DataFrame(list(columns))
    own = names.select(pl.any_horizontal(pl.all().is_not_null())).to_series()
    ranks = names.select(pl.struct(pl.all()).rank("dense")).to_series()
    return np.where(own.to_numpy(), ranks.to_numpy(), 0).astype(np.uint32)
