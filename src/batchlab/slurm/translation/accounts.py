"""Build accounts, qualities of service and fair share from a Slurm configuration."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, cast

from batchlab.errors import SystemDescriptionError
from batchlab.slurm.configuration.place import refuse
from batchlab.slurm.translation.machine import KILOBYTES
from batchlab.system.accounts import ROOT, Account, FairShare, QualityOfService
from batchlab.workload.resource_names import resource_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from batchlab.core.vocabulary import FairShareRuleName
    from batchlab.slurm import Accounting, Association, SlurmConfiguration
    from batchlab.slurm.translation.remarks import Remarks

__all__ = ["accounts_of", "fair_share_of", "qualities_of"]

_NO_SHARES = 1e-9
_LARGEST_ROOT = 1.0


def accounts_of(accounting: Accounting | None, remarks: Remarks) -> tuple[Account, ...]:
    """Build the tree of accounts.

    Raises
    ------
    SystemDescriptionError
        If the accounts do not form a tree.
    """
    if accounting is None:
        return ()
    users: dict[str, dict[str, float | Literal["parent"]]] = {}
    for each in accounting.users:
        of_account = users.setdefault(each.account, {})
        if each.partition:
            says = f"{each.name}: an association for one partition holds for all here, and counts once"
            remarks.add("Partition", "associations", says, each.place)
        of_account.setdefault(each.user, each.shares)
        if each.priority:
            says = f"{each.name}: priorities of users are not modelled; that of the account counts"
            remarks.add("Priority", "associations", says, each.place)
    found = [_account(each, users.get(each.account, {}), remarks) for each in accounting.accounts]
    return tuple(each for each in found if each.name != ROOT or each.users)


def _account(each: Association, users: dict[str, float | Literal["parent"]], remarks: Remarks) -> Account:
    try:
        if each.account == ROOT:
            return Account(ROOT, users=users)
        shares = each.shares
        if shares == 0:
            shares = _NO_SHARES
            says = f"{each.name}: no shares count as {_NO_SHARES:g} of one"
            remarks.add("Fairshare", "associations", says, each.place)
        return Account(each.account, each.parent, shares, users, each.priority or 0.0)
    except SystemDescriptionError as error:
        refuse(each.place, str(error))


def qualities_of(configuration: SlurmConfiguration, remarks: Remarks) -> tuple[QualityOfService, ...]:
    """Build the qualities of service."""
    names = {each.name for each in configuration.qualities}
    found = []
    for each in configuration.qualities:
        missing = [name for name in each.preempts if name not in names]
        if missing:
            says = f"QOS {each.name} preempts {', '.join(missing)}: no such QOS; left out"
            remarks.add("Preempt", "qos", says, each.place)
        preempts = tuple(name for name in each.preempts if name in names and name != each.name)
        try:
            found.append(QualityOfService(each.name, each.priority, each.usage_factor, preempts))
        except SystemDescriptionError as error:
            refuse(each.place, str(error))
    return tuple(found)


def fair_share_of(
    configuration: SlurmConfiguration, resources: Collection[str], remarks: Remarks
) -> FairShare | None:
    """Build the settings of fair share; None if jobs are ordered by submission."""
    priority = configuration.priority
    if priority.type != "multifactor":
        return None
    half_life = priority.half_life or math.inf
    return FairShare(
        rule=cast("FairShareRuleName", priority.fair_share_rule),
        half_life=half_life,
        decay="slurm",
        damping=priority.damping,
        weights=_weights(configuration, resources, remarks),
        max_tres="max_tres" in priority.flags,
    )


def _weights(
    configuration: SlurmConfiguration, resources: Collection[str], remarks: Remarks
) -> dict[str, float]:
    """Return the charges of resources if all partitions agree; memory is in kB."""
    given = [each.billing_weights for each in configuration.partitions]
    first = next((each for each in given if each is not None), None)
    if first is None:
        return {}
    if any(each is None or dict(each) != dict(first) for each in given):
        says = "partitions charge differently; a system has one set of weights, and CPUs are charged here"
        remarks.add("TRESBillingWeights", "partitions", says)
        return {}
    found: dict[str, float] = {}
    for tres, weight in first.items():
        name = resource_of(tres)
        if name not in resources or weight < 0:
            says = f"{tres}={weight:g} is not charged: nodes have no {name} here"
            remarks.add("TRESBillingWeights", "partitions", says)
        else:
            found[name] = weight / KILOBYTES if name == "mem" else weight
    return found
