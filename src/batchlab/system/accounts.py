"""Accounts with shares and users, qualities of service, and how fair share is computed: descriptions only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from batchlab.errors import SystemDescriptionError, shown, suggest
from batchlab.system import account_rules, rules
from batchlab.system.checks import different, held, set_field

if TYPE_CHECKING:
    from batchlab.system.queues import Conditions
    from batchlab.vocabulary import FairShareRuleName, UsageDecay

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
"""The account that all others are part of."""

_WEEK = 604_800.0
_DAY = 86_400.0


@dataclass(frozen=True)
class Account:
    """A project or group of users that shares are given to.

    Parameters
    ----------
    name
        The account's name, unique in its system. ``"root"`` is the account that all others are part of: it
        has users only.
    parent
        The account that it is part of.
    shares
        What it may have of what its siblings have together, above 0; or ``"parent"``: its members count among
        its siblings.
    users
        The users in it, each with shares from 0 on, or ``"parent"``: the standing of the account. A user may
        be in several accounts, and has a standing in each.
    priority
        From 0 on; in the order ``multifactor`` the factor of the association is this over the largest of all.

    Raises
    ------
    SystemDescriptionError
        If a name or a number breaks its rule.
    """

    name: str
    parent: str = ROOT
    shares: float | Literal["parent"] = 1.0
    users: Mapping[str, float | Literal["parent"]] = field(default_factory=dict, hash=False)
    priority: float = 0.0

    def __post_init__(self) -> None:
        set_field(self, "name", held(rules.group_name, self.name, "Account: name"))
        where = f"Account {self.name!r}"
        set_field(self, "parent", held(rules.group_name, self.parent, f"{where}: parent"))
        set_field(self, "shares", held(account_rules.account_shares, self.shares, f"{where}: shares"))
        if self.name == ROOT and (self.parent, self.shares) != (ROOT, 1.0):
            raise SystemDescriptionError(f"{where}: it is part of nothing; give it users only.")
        if not isinstance(self.users, Mapping):
            raise SystemDescriptionError(
                f"{where}: users = {shown(self.users)}; must be a mapping of users' names to shares."
            )
        users = {
            held(rules.group_name, name, f"{where}: users: name"): held(
                account_rules.user_shares, shares, f"{where}: users.{name}"
            )
            for name, shares in self.users.items()
        }
        set_field(self, "users", MappingProxyType(users))
        set_field(self, "priority", held(account_rules.not_negative, self.priority, f"{where}: priority"))

    def __reduce__(self) -> tuple[object, ...]:
        # Read-only views of dictionaries cannot be pickled.
        return Account, (self.name, self.parent, self.shares, dict(self.users), self.priority)


@dataclass(frozen=True)
class QualityOfService:
    """A quality of service, as jobs name it: what it does to their priority and their usage.

    Parameters
    ----------
    name
        Its name, unique in its system.
    priority
        From 0 on; the factor is this over the largest of all.
    usage_factor
        From 0 on: what its jobs use is charged so many times.
    preempts
        The names of those whose jobs its jobs may preempt, where the system's `Preemption` goes by them.

    Raises
    ------
    SystemDescriptionError
        If a name or a number breaks its rule.
    """

    name: str
    priority: float = 0.0
    usage_factor: float = 1.0
    preempts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        set_field(self, "name", held(rules.group_name, self.name, "QualityOfService: name"))
        for name in ("priority", "usage_factor"):
            where = f"QualityOfService {self.name!r}: {name}"
            set_field(self, name, held(account_rules.not_negative, getattr(self, name), where))
        where = f"QualityOfService {self.name!r}: preempts"
        given: object = self.preempts
        if not isinstance(given, tuple | list):
            raise SystemDescriptionError(f"{where} = {shown(given)}; must be a list of names.")
        set_field(self, "preempts", tuple(held(rules.group_name, name, where) for name in given))


@dataclass(frozen=True)
class FairShare:
    """How usage is counted and compared with shares.

    Parameters
    ----------
    rule
        A name of `batchlab.accounting.RULES`.
    half_life
        After so many seconds past use counts half; infinite: it always counts in full.
    decay
        ``"exact"``: continuously by that half-life; ``"slurm"``: period by period by 1 − 0.693 / half-life
        for each second, as Slurm computes it; ``"steps"``: by `decay_factor` at each multiple of
        `decay_period`, as PBS does.
    damping
        The exponent of the rule ``"classic"`` is divided by it; above 0.
    weights
        What a unit of each resource counts for each second; one processor counts 1 unless given.
    max_tres
        Whether the resource that counts most is charged alone, and not the sum.
    decay_factor
        From 0 to 1.
    decay_period
        Seconds, above 0.
    least_usage
        Under the rule ``"pbs"``, usage below this counts as this much.
    usage
        What accounts and users had used before the first job: amounts from 0 on by (account, user), of an
        account itself with None as its user; or a table with the columns account, user and usage. They count
        for the accounts above too.

    Raises
    ------
    SystemDescriptionError
        If a name is not known or a number breaks its rule.
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
            set_field(self, name, held(rule, getattr(self, name), f"FairShare: {name}"))
        set_field(self, "weights", MappingProxyType(dict(self.weights)))
        set_field(self, "usage", MappingProxyType(dict(self.usage)))

    def __reduce__(self) -> tuple[object, ...]:
        values = [getattr(self, name) for name in self.__dataclass_fields__]
        return FairShare, tuple(dict(value) if isinstance(value, Mapping) else value for value in values)


def check_accounts(accounts: Sequence[Account]) -> tuple[Account, ...]:
    """Check that accounts are one tree, and give them, each after the one that it is part of.

    Raises
    ------
    SystemDescriptionError
        If a name is used twice, a parent is not known, or accounts are part of one another in a circle.
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
    """Check that qualities of service have different names, and that none preempts one that preempts it.

    Raises
    ------
    SystemDescriptionError
        If a name is used twice, one preempts what is not there, or some preempt one another in a circle.
    """
    checked = different(qualities, QualityOfService, "qos")
    names = {quality.name for quality in checked}
    for at, quality in enumerate(checked):
        for name in quality.preempts:
            if name not in names:
                raise SystemDescriptionError(
                    f"qos[{at}].preempts = {shown(name)}; must be a quality of service.{suggest(name, names)}"
                )
    _check_order(checked)
    return checked


def _check_order(qualities: Sequence[QualityOfService]) -> None:
    """Check that none may preempt itself, alone or by way of others."""
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
    """Check that usage is counted by resources that there are.

    Raises
    ------
    SystemDescriptionError
        If a weight is of a resource that no node has, or past usage of an account or user that is not there.
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
    """Check that conditions name accounts and qualities of service that there are, where there are some.

    Parameters
    ----------
    conditions
        By the path to them in the system.
    accounts, qualities
        Those of the system.

    Raises
    ------
    SystemDescriptionError
        If a name is not known.
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
    """Note the depth of an account and of all that it is part of."""
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
