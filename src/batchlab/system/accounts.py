"""Accounts with shares and users, qualities of service, and settings of fair share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from batchlab.errors import SystemDescriptionError, shown, suggest
from batchlab.system import account_rules, rules
from batchlab.system.checks import check_unique, checked, set_field

if TYPE_CHECKING:
    from batchlab.core.vocabulary import FairShareRuleName, UsageDecay
    from batchlab.system.queues import Conditions

__all__ = [
    "ROOT",
    "Account",
    "FairShare",
    "QualityOfService",
    "check_accounts",
    "check_fair_share",
    "check_owners",
    "check_qualities",
]

ROOT = "root"
"""The root of the tree of accounts."""

_WEEK = 604_800.0
_DAY = 86_400.0


@dataclass(frozen=True)
class Account:
    """A project or a group of users that has shares.

    Parameters
    ----------
    name
        The account's name, unique in its system. ``"root"`` is the root of the tree: it has only users of its
        own.
    parent
        The parent account.
    shares
        Shares among its siblings, above 0; or ``"parent"``: its members are ranked among its siblings.
    users
        The users of the account with their shares, >= 0, or ``"parent"``: the account's own fair-share
        factor. A user may be in several accounts, with a separate factor in each.
    priority
        Priority, >= 0; the association factor of the order ``multifactor`` is this over the maximum.

    Raises
    ------
    SystemDescriptionError
        If a name or a number is invalid.
    """

    name: str
    parent: str = ROOT
    shares: float | Literal["parent"] = 1.0
    users: Mapping[str, float | Literal["parent"]] = field(default_factory=dict, hash=False)
    priority: float = 0.0

    def __post_init__(self) -> None:
        set_field(self, "name", checked(rules.group_name, self.name, "Account: name"))
        where = f"Account {self.name!r}"
        set_field(self, "parent", checked(rules.group_name, self.parent, f"{where}: parent"))
        set_field(self, "shares", checked(account_rules.account_shares, self.shares, f"{where}: shares"))
        if self.name == ROOT and (self.parent, self.shares) != (ROOT, 1.0):
            raise SystemDescriptionError(f"{where}: it is part of nothing; give it users only.")
        if not isinstance(self.users, Mapping):
            raise SystemDescriptionError(
                f"{where}: users = {shown(self.users)}; must be a mapping of users' names to shares."
            )
        users = {
            checked(rules.group_name, name, f"{where}: users: name"): checked(
                account_rules.user_shares, shares, f"{where}: users.{name}"
            )
            for name, shares in self.users.items()
        }
        set_field(self, "users", MappingProxyType(users))
        set_field(self, "priority", checked(account_rules.not_negative, self.priority, f"{where}: priority"))

    def __reduce__(self) -> tuple[object, ...]:
        # Read-only views of dictionaries cannot be pickled.
        return Account, (self.name, self.parent, self.shares, dict(self.users), self.priority)


@dataclass(frozen=True)
class QualityOfService:
    """A quality of service, with its effects on the priority and usage of jobs.

    Parameters
    ----------
    name
        Its name, unique in its system.
    priority
        Priority, >= 0; the factor is this over the maximum.
    usage_factor
        Factor for the charges of its jobs, >= 0.
    preempts
        Names of qualities of service whose jobs its jobs may preempt, if the system's `Preemption` uses them.

    Raises
    ------
    SystemDescriptionError
        If a name or a number is invalid.
    """

    name: str
    priority: float = 0.0
    usage_factor: float = 1.0
    preempts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        set_field(self, "name", checked(rules.group_name, self.name, "QualityOfService: name"))
        for name in ("priority", "usage_factor"):
            where = f"QualityOfService {self.name!r}: {name}"
            set_field(self, name, checked(account_rules.not_negative, getattr(self, name), where))
        where = f"QualityOfService {self.name!r}: preempts"
        given: object = self.preempts
        if not isinstance(given, tuple | list):
            raise SystemDescriptionError(f"{where} = {shown(given)}; must be a list of names.")
        set_field(self, "preempts", tuple(checked(rules.group_name, name, where) for name in given))


@dataclass(frozen=True)
class FairShare:
    """How usage is counted and compared with shares.

    Parameters
    ----------
    rule
        A name of `batchlab.accounting.RULES`.
    half_life
        Seconds after which past usage counts half; infinite: usage does not decay.
    decay
        ``"exact"``: continuous decay with this half-life; ``"slurm"``: by a factor of 1 − 0.693 / half-life
        per second in each period, as in Slurm; ``"steps"``: by `decay_factor` at each multiple of
        `decay_period`, as in PBS.
    damping
        Divisor of the exponent in the rule ``"classic"``; above 0.
    weights
        Charge per unit of each resource and second. [default: 1 for processors]
    max_tres
        True to charge only the resource with the largest charge instead of the sum.
    decay_factor
        From 0 to 1.
    decay_period
        Seconds, above 0.
    least_usage
        Minimum usage in the rule ``"pbs"``: lower usage is raised to this value.
    usage
        Usage of accounts and users before the first job: amounts >= 0 by (account, user), where the user None
        is the account itself; or a table with the columns account, user and usage. It also counts for all
        parent accounts.

    Raises
    ------
    SystemDescriptionError
        If a name is unknown or a number is invalid.
    """

    rule: FairShareRuleName = "fair_tree"
    half_life: float = _WEEK
    decay: UsageDecay = "exact"
    damping: float = 1.0
    weights: Mapping[str, float] = field(default_factory=dict, hash=False)
    max_tres: bool = False
    decay_factor: float = 0.5
    decay_period: float = _DAY
    least_usage: float = 1.0
    usage: Mapping[tuple[str, str | None], float] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name, rule in account_rules.FAIR_SHARE.items():
            set_field(self, name, checked(rule, getattr(self, name), f"FairShare: {name}"))
        set_field(self, "weights", MappingProxyType(dict(self.weights)))
        set_field(self, "usage", MappingProxyType(dict(self.usage)))

    def __reduce__(self) -> tuple[object, ...]:
        values = [getattr(self, name) for name in self.__dataclass_fields__]
        return FairShare, tuple(dict(value) if isinstance(value, Mapping) else value for value in values)


def check_accounts(accounts: Sequence[Account]) -> tuple[Account, ...]:
    """Check that accounts form a tree, and return them with each account after its parent.

    Raises
    ------
    SystemDescriptionError
        If a name is duplicate, a parent is unknown, or the parents form a cycle.
    """
    places: dict[str, int] = {}
    for at, account in enumerate(accounts):
        if not isinstance(account, Account):
            raise SystemDescriptionError(f"accounts[{at}] = {shown(account)}; must be an Account.")
        if account.name in places:
            raise SystemDescriptionError(
                f"accounts[{at}].name = {account.name!r}; must be unique; an earlier account has this name."
            )
        places[account.name] = at
    for at, account in enumerate(accounts):
        if account.parent not in places and account.parent != ROOT:
            raise SystemDescriptionError(
                f"accounts[{at}].parent = {shown(account.parent)}; must be another account or 'root'."
                f"{suggest(account.parent, [*places, ROOT])}"
            )
    depths: dict[str, int] = {ROOT: 0}
    for account in accounts:
        _descend(account, accounts, places, depths)
    return tuple(sorted(accounts, key=lambda account: depths[account.name]))


def check_qualities(qualities: object) -> tuple[QualityOfService, ...]:
    """Check that the names of qualities of service are unique, and that preemption has no cycle.

    Raises
    ------
    SystemDescriptionError
        If a name is duplicate, a preempted name is unknown, or preemption has a cycle.
    """
    found = check_unique(qualities, QualityOfService, "qos")
    names = {quality.name for quality in found}
    for at, quality in enumerate(found):
        for name in quality.preempts:
            if name not in names:
                raise SystemDescriptionError(
                    f"qos[{at}].preempts = {shown(name)}; must be a quality of service.{suggest(name, names)}"
                )
    _check_order(found)
    return found


def _check_order(qualities: Sequence[QualityOfService]) -> None:
    """Raise if a quality of service may preempt itself, directly or through others."""
    sorter = TopologicalSorter({quality.name: quality.preempts for quality in qualities})
    try:
        sorter.prepare()
    except CycleError as error:
        circle = " preempts ".join(reversed(error.args[1]))
        at = [quality.name for quality in qualities].index(error.args[1][0])
        raise SystemDescriptionError(
            f"qos[{at}].preempts makes a circle: {circle}. Leave one of them out."
        ) from None


def check_fair_share(
    fair_share: FairShare | None, resources: Sequence[str], accounts: Sequence[Account]
) -> None:
    """Check the resources, accounts and users that fair share refers to.

    Raises
    ------
    SystemDescriptionError
        If a weight refers to a resource that no node has, or past usage to an unknown account or user.
    """
    if fair_share is None:
        return
    if not isinstance(fair_share, FairShare):
        raise SystemDescriptionError(f"fair_share = {shown(fair_share)}; must be a FairShare.")
    for name in fair_share.weights:
        if name not in resources:
            raise SystemDescriptionError(
                f"fair_share.weights: key {name!r}; must be a resource that nodes have."
                f"{suggest(name, resources)}"
            )
    members = {(each.name, user): None for each in accounts for user in (None, *each.users)}
    members[ROOT, None] = None
    for account, user in fair_share.usage:
        if (account, user) not in members:
            names = [each.name for each in accounts]
            of = "an account" if user is None else f"a user of account {account!r}"
            known = suggest(account, names) if (account, None) not in members else ""
            raise SystemDescriptionError(
                f"fair_share.usage: {shown(account if user is None else user)}; must be {of}.{known}"
            )


def check_owners(
    conditions: Mapping[str, Conditions], accounts: Sequence[Account], qualities: Sequence[QualityOfService]
) -> None:
    """Check that conditions name known accounts and qualities of service, if the system has any.

    Parameters
    ----------
    conditions
        Conditions, by their paths in the system.
    accounts, qualities
        The accounts and qualities of service of the system.

    Raises
    ------
    SystemDescriptionError
        If a name is unknown.
    """
    known = {
        "accounts": [*(account.name for account in accounts), ROOT] if accounts else [],
        "qos": [quality.name for quality in qualities],
    }
    for path, each in conditions.items():
        for key, names in known.items():
            for name in getattr(each, key) or ():
                if names and name not in names:
                    rule = "an account" if key == "accounts" else "a quality of service"
                    raise SystemDescriptionError(
                        f"{path}.{key} = {shown(name)}; must be {rule} of the system.{suggest(name, names)}"
                    )


def _descend(
    account: Account, accounts: Sequence[Account], places: Mapping[str, int], depths: dict[str, int]
) -> None:
    """Store the depth of an account and of all its ancestors."""
    path: dict[str, None] = {}
    name = account.name
    while name not in depths:
        if name in path:
            circle = [*path][[*path].index(name) :]
            raise SystemDescriptionError(
                f"accounts[{places[name]}].parent = {accounts[places[name]].parent!r}; makes a circle: "
                f"{' is part of '.join([*circle, name])}. Let one of them be part of 'root'."
            )
        path[name] = None
        name = accounts[places[name]].parent
    depths.update({below: depth for depth, below in enumerate(reversed(path), depths[name] + 1)})
