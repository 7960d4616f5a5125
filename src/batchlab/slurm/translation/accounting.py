"""Build accounts, QOS, fair share and limits from a Slurm configuration."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

from batchlab.errors import SystemDescriptionError
from batchlab.slurm.configuration.values import refuse
from batchlab.slurm.translation.machine import KILOBYTES
from batchlab.system.accounts import ROOT, Account, FairShare, QualityOfService
from batchlab.system.queues import Conditions, Limit
from batchlab.workload.resource_names import resource_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from batchlab.core.vocabulary import FairShareRuleName
    from batchlab.slurm import Accounting, Association, Place, Quality, SlurmConfiguration
    from batchlab.slurm.configuration.report import Remarks
    from batchlab.system.queues import LimitedBy

__all__ = ["accounts_of", "fair_share_of", "limits_of", "qualities_of"]

_NO_SHARES = 1e-9


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


_MINUTE = 60.0
# Names of a QOS's limits, the columns by which they count jobs, and the fields of `Limit`.
_COUNTS: tuple[tuple[str, tuple[LimitedBy, ...], str], ...] = (
    ("GrpJobs", (), "running_jobs"),
    ("GrpSubmitJobs", (), "submitted_jobs"),
    ("MaxJobsPerUser", ("user",), "running_jobs"),
    ("MaxJobsPerAccount", ("account",), "running_jobs"),
    ("MaxSubmitJobsPerUser", ("user",), "submitted_jobs"),
    ("MaxSubmitJobsPerAccount", ("account",), "submitted_jobs"),
)
_AMOUNTS: tuple[tuple[str, tuple[LimitedBy, ...], str], ...] = (
    ("GrpTRES", (), "resources"),
    ("GrpTRESRunMins", (), "running_minutes"),
    ("MaxTRESPerUser", ("user",), "resources"),
    ("MaxTRESPerAccount", ("account",), "resources"),
    ("MaxTRESRunMinsPerUser", ("user",), "running_minutes"),
    ("MaxTRESRunMinsPerAccount", ("account",), "running_minutes"),
)
_OF_USERS = (("MaxJobs", "running_jobs"), ("MaxSubmitJobs", "submitted_jobs"))
_SHORT = {
    "MaxJobsPerAccount": "MaxJobsPA",
    "MaxJobsPerUser": "MaxJobsPU",
    "MaxTRESPerAccount": "MaxTRESPA",
    "MaxTRESPerUser": "MaxTRESPU",
    "MaxTRESRunMinsPerAccount": "MaxTRESRunMinsPA",
    "MaxTRESRunMinsPerUser": "MaxTRESRunMinsPU",
}


def limits_of(
    configuration: SlurmConfiguration,
    partitions: Collection[str],
    resources: Collection[str],
    remarks: Remarks,
) -> tuple[Limit, ...]:
    """Build the enforced limits; empty if AccountingStorageEnforce does not include limits."""
    has_some = any(each.counts or each.amounts or each.minutes for each in _limited(configuration))
    if "limits" not in configuration.enforced:
        if has_some:
            says = "does not name limits: limits of associations and QOS do not hold, here as in Slurm"
            remarks.add("AccountingStorageEnforce", "slurm_conf", says)
        return ()
    made = _Limits(configuration, resources, remarks)
    for quality in configuration.qualities:
        jobs = Conditions(qos=(quality.name,))
        made.of_quality(quality, _Owner(f"QOS {quality.name}", "qos", quality.place, jobs))
    by_name = {quality.name: quality for quality in configuration.qualities}
    for line in configuration.partitions:
        if line.qos and line.name in partitions:
            if line.qos in by_name:
                name = f"partition {line.name}"
                owner = _Owner(name, "qos", line.place, Conditions(), (line.name,))
                made.of_quality(by_name[line.qos], owner)
            else:
                says = (
                    f"QOS {line.qos} of {line.name} is not in the files of sacctmgr, and has no limits here"
                )
                remarks.add("QOS", "partitions", says, line.place)
    if configuration.accounting is not None:
        made.of_groups(configuration.accounting)
        made.of_users(configuration.accounting)
    return tuple(made.found.values())


def _limited(configuration: SlurmConfiguration) -> list[Quality | Association]:
    accounting = configuration.accounting
    return [*configuration.qualities, *(() if accounting is None else accounting.associations)]


@dataclass(frozen=True)
class _Owner:
    """The owner of limits: its name in them, its position in the files, and the jobs that it limits."""

    name: str
    table: str
    place: Place
    applies_to: Conditions
    partitions: tuple[str, ...] = ()


@dataclass
class _Limits:
    """The limits built so far."""

    configuration: SlurmConfiguration
    resources: Collection[str]
    remarks: Remarks
    found: dict[str, Limit] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)
    """Number of uses of each name."""

    def of_quality(self, quality: Quality, owner: _Owner) -> None:
        """Add the limits of a QOS, for its own jobs or for the jobs of a partition."""
        for key, per, name in _COUNTS:
            if key in quality.counts:
                self._count(owner, key, quality.counts[key], name, per)
        for key, per, name in _AMOUNTS:
            if key in quality.amounts:
                self._amounts(owner, key, quality.amounts[key], name, per)
        longest = quality.minutes.get("MaxWallDurationPerJob")
        if longest is not None:
            if "denyonlimit" not in quality.flags:
                says = f"{owner.name}: jobs that ask for more are rejected here; in Slurm they wait"
                self.remarks.add("MaxWall", "qos", says, quality.place)
            self._add(owner, f"{owner.name} MaxWall", time=longest * _MINUTE)

    def of_groups(self, accounting: Accounting) -> None:
        """Add the Grp limits of each association, which apply to it and all its descendants."""
        for each in accounting.associations:
            owner = _Owner(each.name, "associations", each.place, _jobs_of(each, accounting))
            for key, per, name in _COUNTS[:2]:
                if key in each.counts:
                    self._count(owner, key, each.counts[key], name, per)
            for key, per, name in _AMOUNTS[:2]:
                if key in each.amounts:
                    self._amounts(owner, key, each.amounts[key], name, per)

    def of_users(self, accounting: Accounting) -> None:
        """Add the limits of users: their own, else the account's, else those of its ancestors."""
        for key, name in _OF_USERS:
            for value, members in _by_value(accounting, key).items():
                for applies_to in _apart(members, accounting):
                    owner = _Owner("each user", "associations", members[0].place, applies_to)
                    self._count(owner, key, value, name, ("user", "account"))
        for value, members in _by_value(accounting, "MaxWallDurationPerJob").items():
            for applies_to in _apart(members, accounting):
                owner = _Owner("each user", "associations", members[0].place, applies_to)
                self._add(owner, "each user MaxWall", time=value * _MINUTE)

    def _count(self, owner: _Owner, key: str, value: int, name: str, per: tuple[LimitedBy, ...]) -> None:
        if not value:
            self._none(owner, key, owner.name)
            return
        self._add(owner, f"{owner.name} {_SHORT.get(key, key)}", per=per, **{name: value})

    def _amounts(
        self,
        owner: _Owner,
        key: str,
        given: Mapping[str, int | None],
        name: str,
        per: tuple[LimitedBy, ...],
    ) -> None:
        """Add a limit of resources; nodes have a separate field."""
        amounts: dict[str, int] = {}
        nodes = None
        for tres, value in given.items():
            resource = resource_of(tres)
            if value is None:
                continue
            if not value:
                self._none(owner, key, f"{owner.name} {tres}")
            elif tres == "node" and name == "resources":
                nodes = value
            elif resource not in self.resources:
                says = f"{owner.name}: {tres}={value} is not limited: nodes have no {resource} here"
                self._remark(owner, key, says)
            else:
                amounts[resource] = value * KILOBYTES if resource == "mem" else value
        label = f"{owner.name} {_SHORT.get(key, key)}"
        if nodes is not None:
            if self.configuration.selection.unit != "node":
                says = f"{owner.name}: a node counts once for each job on it here, and once in all in Slurm"
                self._remark(owner, key, says)
            self._add(owner, label + (" (nodes)" if amounts else ""), per=per, nodes=nodes)
        if amounts:
            self._add(owner, label, per=per, **{name: amounts})

    def _none(self, owner: _Owner, key: str, name: str) -> None:
        self._remark(owner, key, f"{name}: a limit of 0, which lets no job run, is left out")

    def _remark(self, owner: _Owner, key: str, says: str) -> None:
        """Add a remark on a limit, under each name that files may use for it."""
        for name in {key, _SHORT.get(key, key)}:
            self.remarks.add(name, owner.table, says, owner.place)

    def _add(self, owner: _Owner, name: str, **limit: object) -> None:
        same = self.used[name[:_LONGEST]] = self.used.get(name[:_LONGEST], 0) + 1
        unique = name[:_LONGEST] if same == 1 else f"{name[:_LONGEST]} ({same})"
        scope = {"applies_to": owner.applies_to, "partitions": owner.partitions}
        try:
            self.found[unique] = Limit(unique, **cast("dict[str, Any]", scope | limit))
        except SystemDescriptionError as error:
            refuse(owner.place, str(error))


_LONGEST = 180


def _jobs_of(each: Association, accounting: Accounting) -> Conditions:
    """Return conditions for the jobs of an association and of all its descendants."""
    if each.user:
        return Conditions(users=(each.user,), accounts=(each.account,))
    if each.account == "root":
        return Conditions()
    return Conditions(accounts=accounting.below(each.account))


def _by_value(accounting: Accounting, key: str) -> dict[int, list[Association]]:
    """Group the users' associations by the value of a limit; users without a value are omitted."""
    found: dict[int, list[Association]] = {}
    for each in accounting.users:
        for source in (each, *accounting.above(each)):
            value = source.counts.get(key, source.minutes.get(key))
            if value is not None:
                found.setdefault(value, []).append(each)
                break
    return found


def _apart(members: Sequence[Association], accounting: Accounting) -> list[Conditions]:
    """Return conditions that together match the associations: whole accounts together, others one by one."""
    of_account: dict[str, list[str]] = {}
    for each in members:
        of_account.setdefault(each.account, []).append(each.user)
    users_of: dict[str, set[str]] = {}
    for each in accounting.users:
        users_of.setdefault(each.account, set()).add(each.user)
    whole = [account for account, users in of_account.items() if set(users) == users_of[account]]
    found = [Conditions(accounts=tuple(whole))] if whole else []
    return found + [
        Conditions(users=tuple(dict.fromkeys(users)), accounts=(account,))
        for account, users in of_account.items()
        if account not in whole
    ]
