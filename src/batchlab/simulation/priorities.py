"""Kernel inputs of the queue order: multifactor priorities, accounts, owners and partitions (S12, S25)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import numpy as np
import polars as pl

from batchlab.accounting.fair_share import AccountTree
from batchlab.errors import PolicyError, SystemDescriptionError, WorkloadError, shown, suggest
from batchlab.policy.orders import Multifactor
from batchlab.policy.registry import ORDERS
from batchlab.system import FairShare
from batchlab.workload.dependencies import ARRAY_ID
from batchlab.workload.requests import amounts
from batchlab.workload.routing import Admission, attribute, check_known

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from batchlab._kernel import AccountInputs, FactorColumns
    from batchlab.options import RunOptions
    from batchlab.policy import Policy
    from batchlab.system import System
    from batchlab.workload import Workload
    from batchlab.workload.routing import Routes

    Values = npt.NDArray[np.float64]
    import numpy.typing as npt

    from batchlab._kernel import PlaceColumns

__all__ = [
    "OwnerColumns",
    "account_finder",
    "account_inputs",
    "calculation_period",
    "factor_columns",
    "needs_accounts",
    "needs_qos",
    "node_counts",
    "over_time_columns",
    "owner_columns",
    "partition_parts",
    "place_columns",
]


_NOTHING = 2**32 - 1
_USUAL_PERIOD = 300.0
# The part of a system that a weight requires.
_NEEDED = {
    "association": "accounts",
    "fair_share": "accounts",
    "partition": "partitions",
    "qos": "qos",
}


def calculation_period(policy: Policy, options: RunOptions) -> float | None:
    """Return the seconds between two calculations of priorities; None without any calculation."""
    rule = _rule(policy)
    if rule is not None:
        return rule.period
    return _USUAL_PERIOD if options.usage else None


def node_counts(workload: Workload, system: System, policy: Policy) -> Values | None:
    """Return the minimum number of nodes of each job, if the order uses it."""
    rule = _rule(policy)
    goes_by_nodes = isinstance(policy.order, str) and ORDERS[policy.order_name].needs == "nodes"
    if not goes_by_nodes and (rule is None or not rule.job_size):
        return None
    return Admission(workload, system).nodes


def factor_columns(
    workload: Workload, system: System, policy: Policy, routes: Routes | None
) -> FactorColumns | None:
    """Return the constant priority factors of the jobs, if the order uses them.

    Raises
    ------
    PolicyError
        If a weight refers to something that the system does not have.
    WorkloadError
        If a job names an unknown account, user or quality of service.
    """
    rule = _rule(policy)
    if rule is None:
        return None
    _check_weights(rule, policy, system)
    return {
        "association": _associations(workload, system) if rule.association else None,
        "partition": _partitions(system, routes) if rule.partition else None,
        "qos": _of_quality(workload, system, _priorities(system)) if rule.qos else None,
        "nice": _nice(workload),
        "resources": [partition_parts(workload, system, routes, name) for name in rule.tres],
    }


def account_inputs(
    workload: Workload, system: System, policy: Policy, options: RunOptions
) -> AccountInputs | None:
    """Return the accounts of a run and the node that each job is charged to, if usage is needed.

    Raises
    ------
    PolicyError
        If usage is to be recorded and the system has no accounts; or if ``period=0`` meets Slurm's decay,
        which is applied once per period.
    WorkloadError
        If a job names an unknown account or user.
    """
    if not _counts_usage(policy, options):
        return None
    if not system.accounts:
        raise PolicyError(
            "usage = True; the system has no accounts. Describe them with the system, or leave it out."
        )
    settings = system.fair_share or FairShare()
    if settings.decay == "slurm" and calculation_period(policy, options) == 0:
        raise PolicyError(f"{policy}: period = 0 does not go with decay = 'slurm', which goes by periods.")
    tree = AccountTree(system.accounts)
    usual = "core" if "core" in system.resources else system.resources[0]
    weights = settings.weights or {usual: 1.0}
    factors = {quality.name: quality.usage_factor for quality in system.qos}
    is_usual = all(factor == 1 for factor in factors.values())
    return {
        "tree": tree.kernel,
        "rule": settings.rule,
        "damping": settings.damping,
        "least_usage": settings.least_usage,
        "weights": [weights.get(name, 0.0) for name in system.resources],
        "max_tres": settings.max_tres,
        "decay": settings.decay,
        "half_life": settings.half_life,
        "step": (settings.decay_factor, settings.decay_period),
        "node": _nodes(workload, system, tree),
        "usage_factor": None if is_usual else _of_quality(workload, system, factors, usual=1.0),
        "initial": [(tree.node(*of), amount) for of, amount in settings.usage.items()],
    }


def _counts_usage(policy: Policy, options: RunOptions) -> bool:
    rule = _rule(policy)
    return options.usage or (rule is not None and bool(rule.fair_share))


def needs_accounts(policy: Policy, options: RunOptions) -> bool:
    """Return whether a run needs the accounts and users of its jobs."""
    rule = _rule(policy)
    return _counts_usage(policy, options) or (rule is not None and bool(rule.association))


def needs_qos(system: System, policy: Policy, options: RunOptions) -> bool:
    """Return whether a run needs each job's quality of service to be defined by the system."""
    rule = _rule(policy)
    counts = _counts_usage(policy, options) and any(each.usage_factor != 1 for each in system.qos)
    return counts or (rule is not None and bool(rule.qos))


def _rule(policy: Policy) -> Multifactor | None:
    if policy.order_name != "multifactor" or not isinstance(policy.order, str):
        return None
    return Multifactor.of(policy.order)


def _check_weights(rule: Multifactor, policy: Policy, system: System) -> None:
    for name, needed in _NEEDED.items():
        if getattr(rule, name) and not getattr(system, needed):
            raise PolicyError(
                f"{policy}: {name} has a weight, and the system has no {needed}. "
                f"Give System({needed}=…), or leave it out."
            )
    for name in rule.tres:
        if name not in system.resources:
            raise PolicyError(
                f"{policy}: tres names {shown(name)}; must be a resource that nodes have."
                f"{suggest(name, system.resources)}"
            )


def _nice(workload: Workload) -> Values | None:
    if "nice" not in workload.jobs.columns:
        return None
    column = workload.jobs["nice"]
    if not column.dtype.is_numeric() and column.dtype != pl.Null:
        raise WorkloadError(f"column 'nice' is of the kind {column.dtype}; must hold numbers.")
    values = column.cast(pl.Float64).fill_null(0.0)
    if not values.is_finite().all():
        raise WorkloadError("column 'nice' holds a value that is not finite; must hold numbers.")
    return values.to_numpy()


def _partitions(system: System, routes: Routes | None) -> Values | None:
    """Return the partition factor of each job, the largest of its partitions."""
    if routes is None:
        return None
    factors = [partition.priority_factor for partition in system.partitions]
    return _over(routes.greatest(factors, usual=0.0), max(factors))


def partition_parts(
    workload: Workload, system: System, routes: Routes | None, name: str, number: int = 0
) -> Values:
    """Return the share of a partition's amount of a resource that each job requests.

    Parameters
    ----------
    workload, system, routes
        The jobs, the machine, and the partitions of the jobs if the system has any.
    name
        A resource of the system.
    number
        The position among the partitions of each job, from 0.

    Returns
    -------
    ndarray
        float64, shape (jobs,). Relative to the whole machine if a job has no such partition.
    """
    place = system.resources.index(name)
    tasks = workload.jobs["tasks"].cast(pl.Float64).to_numpy()
    asked = tasks * amounts(workload, system)[place]
    whole = float(system.total[name])
    if routes is None or not system.partitions:
        return _over(asked, whole)
    capacity = system.capacity[:, place]
    totals = [float(capacity[system.has_nodes(partition)].sum()) for partition in system.partitions]
    return _over(asked, routes.nth(number, totals, usual=whole))


def _over(values: Values, largest: float | Values) -> Values:
    """Divide; 0 if the divisor is zero."""
    found = np.zeros(len(values))
    np.divide(values, largest, out=found, where=np.asarray(largest) > 0)
    return found


def _priorities(system: System) -> dict[str, float]:
    largest = max((quality.priority for quality in system.qos), default=0.0)
    return {quality.name: quality.priority / largest if largest else 0.0 for quality in system.qos}


def _of_quality(workload: Workload, system: System, values: dict[str, float], usual: float = 0.0) -> Values:
    """Return the value of each job's quality of service, or the default if a job has none."""
    named = attribute(workload, "qos")
    check_known(workload, named, [quality.name for quality in system.qos], "a quality of service")
    return named.replace_strict(values, default=usual, return_dtype=pl.Float64).to_numpy()


def _associations(workload: Workload, system: System) -> Values:
    """Return the factor of each job's account: its priority over the largest priority."""
    tree = AccountTree(system.accounts)
    of_account = {account.name: account.priority for account in system.accounts}
    largest = max(of_account.values())
    priorities = np.array([*(of_account.get(node.account, 0.0) for node in tree.nodes), 0.0])
    node = _nodes(workload, system, tree).astype(np.int64)
    node[node == _NOTHING] = len(tree.nodes)
    return _over(priorities, largest)[node]


def _nodes(workload: Workload, system: System, tree: AccountTree) -> npt.NDArray[np.uint32]:
    """Return the node of the account tree that each job is charged to."""
    account, user = attribute(workload, "account"), attribute(workload, "user")
    pairs = pl.DataFrame({"account": account, "user": user})
    distinct = pairs.unique(maintain_order=True)
    find = account_finder(system, tree)
    numbers = []
    for pair in distinct.iter_rows():
        try:
            numbers.append(find(*pair))
        except SystemDescriptionError as error:
            same = pairs["account"].eq_missing(pair[0]) & pairs["user"].eq_missing(pair[1])
            job = workload.jobs["job_id"][int(same.arg_true()[0])]
            raise WorkloadError(f"job {job}: {error}") from None
    numbered = distinct.with_columns(node=pl.Series(numbers, dtype=pl.UInt32))
    joined = pairs.join(numbered, on=["account", "user"], how="left", nulls_equal=True, maintain_order="left")
    return joined["node"].to_numpy()


def account_finder(system: System, tree: AccountTree) -> Callable[[str | None, str | None], int]:
    """Return a function that finds the node of an account and a user.

    Without an account, it returns the node in the first account that has the user.
    """
    first: dict[str, str] = {}
    for account in system.accounts:
        for user in account.users:
            first.setdefault(user, account.name)

    def find(account: str | None, user: str | None) -> int:
        if user is None and account is None:
            return _NOTHING
        if account is not None or user is None:
            return tree.node(account, user)
        if user not in first:
            raise SystemDescriptionError(
                f"user = {shown(user)}; must be a user of an account of the system.{suggest(user, first)}"
            )
        return tree.node(first[user], user)

    return find


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


def array_numbers(workload: Workload) -> dict[int, int]:
    """Return the number by which the kernel knows each array of a workload."""
    if ARRAY_ID not in workload.jobs.columns:
        return {}
    arrays = workload.jobs[ARRAY_ID]
    pairs = zip(arrays.to_list(), _numbers(arrays).tolist(), strict=True)
    return {array: number for array, number in pairs if array is not None}


def _numbers(*columns: pl.Series) -> npt.NDArray[np.uint32]:
    """Return numbers of the distinct rows of name columns, from 1; 0 if all names of a row are missing."""
    names = pl.DataFrame(list(columns))
    own = names.select(pl.any_horizontal(pl.all().is_not_null())).to_series()
    ranks = names.select(pl.struct(pl.all()).rank("dense")).to_series()
    return np.where(own.to_numpy(), ranks.to_numpy(), 0).astype(np.uint32)


def place_columns(
    workload: Workload, system: System, policy: Policy, routes: Routes | None
) -> list[PlaceColumns]:
    """Return the queue attributes of the first, second, … partition of each job.

    Parameters
    ----------
    workload, system
        The jobs and the machine.
    policy
        The policy. ``slurm`` adds a queue entry for each partition of a job.
    routes
        The partitions of the jobs, if the system has any.

    Returns
    -------
    list
        Empty if no job has partitions that differ in an attribute that the order uses.
    """
    if policy.slurm is None or routes is None:
        return []
    is_multifactor = isinstance(policy.order, str) and policy.order_name == "multifactor"
    rule = Multifactor.of(str(policy.order)) if is_multifactor else Multifactor()
    resources = [system.resources.index(name) for name in rule.tres]
    traits = [
        (
            partition.tier,
            partition.priority_factor if rule.partition else 0.0,
            *system.capacity[system.has_nodes(partition)][:, resources].sum(axis=0).tolist(),
        )
        for partition in system.partitions
    ]
    if all(len({traits[place] for place in places}) <= 1 for places in routes.partitions):
        return []
    largest = max(partition.priority_factor for partition in system.partitions) or 1.0
    tiers = [partition.tier for partition in system.partitions]
    factors = [partition.priority_factor / largest for partition in system.partitions]
    return [
        {
            "tier": routes.nth(number, tiers, usual=0).astype(np.int32),
            "partition": routes.nth(number, factors, usual=0.0) if rule.partition else None,
            "resources": [partition_parts(workload, system, routes, name, number) for name in rule.tres],
        }
        for number in range(max(map(len, routes.partitions)))
    ]


def over_time_columns(system: System, policy: Policy, routes: Routes | None) -> list[npt.NDArray[np.float64]]:
    """Return the over-time limits of jobs in their first, second, … partition, seconds.

    Parameters
    ----------
    system, policy
        The machine, and ``slurm``. Its own ``over_time_limit`` is the default of partitions.
    routes
        The partitions of the jobs, if the system has any.

    Returns
    -------
    list
        Empty if no partition sets an over-time limit.
    """
    given = [partition.over_time_limit for partition in system.partitions]
    if policy.slurm is None or routes is None or all(each is None for each in given):
        return []
    usual = float(policy.slurm.over_time_limit)
    times = [usual if each is None else each for each in given]
    return [routes.nth(number, times, usual=usual) for number in range(max(map(len, routes.partitions)))]
