"""Accounts with shares and users, qualities of service, and settings of fair share."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType
from typing import Annotated, Literal

from batchlab.core import rules
from batchlab.core.form import check_fields, reduced, refusal
from batchlab.core.units import plain_number
from batchlab.core.vocabulary import FairShareRuleName, UsageDecay
from batchlab.errors import SystemDescriptionError, shown, suggest
from batchlab.system.fields import (
    LARGEST_AMOUNT,
    SMALLEST_AMOUNT,
    GroupName,
    GroupNames,
    NotNegative,
    Positive,
    group_name,
    resource_name,
)

__all__ = [
    "ROOT",
    "Account",
    "FairShare",
    "QualityOfService",
    "check_accounts",
    "check_fair_share",
    "check_qualities",
]

ROOT = "root"
"""The root of the tree of accounts."""

_WEEK = 604_800.0
_DAY = 86_400.0
_ENTRY = 3

_NOT_NEGATIVE = rules.Number(0, most=LARGEST_AMOUNT, floating=True)
_HALF_LIFE = rules.Number(
    SMALLEST_AMOUNT, unit="seconds", finite=False, floating=True, hint='"inf" if past use always counts'
)
_SHARES = rules.Number(
    SMALLEST_AMOUNT,
    most=LARGEST_AMOUNT,
    floating=True,
    hint='or "parent"; leave out accounts that may have nothing',
)
_WEIGHTS = rules.Table(resource_name, _NOT_NEGATIVE, "resource names to numbers")


def _or_parent(rule: rules.Rule[float]) -> Callable[[object], float | Literal["parent"]]:
    return lambda value: "parent" if value == "parent" else rule(value)


_USERS = rules.Table(
    group_name,
    _or_parent(rules.Number(0, most=LARGEST_AMOUNT, floating=True, hint='or "parent"')),
    "users' names to shares",
)


def _half_life(value: object) -> float:
    return math.inf if value == "inf" else _HALF_LIFE(value)


def _past_usage(value: object) -> Mapping[tuple[str, str | None], float]:
    """Check amounts by (account, user): a mapping, a table, or a list of tables as in files."""
    rule = "must be amounts by (account, user), or a table with the columns account, user and usage"
    if isinstance(value, Mapping):
        entries = [(*key, amount) for key, amount in value.items() if isinstance(key, tuple)]
        broken = len(entries) < len(value)
    elif isinstance(value, list | tuple):
        known = {"account", "user", "usage"}
        broken = not all(isinstance(each, Mapping) and set(each) <= known for each in value)
        entries = (
            [] if broken else [(each.get("account"), each.get("user"), each.get("usage")) for each in value]
        )
    else:
        broken = not {"account", "user", "usage"} <= set(getattr(value, "columns", ()))
        entries = [] if broken else list(value.select("account", "user", "usage").iter_rows())  # type: ignore[attr-defined]
    if broken or any(len(entry) != _ENTRY for entry in entries):
        raise ValueError(rule)
    found: dict[tuple[str, str | None], float] = {}
    for account, user, amount in entries:
        if not isinstance(account, str) or not isinstance(user, str | None):
            raise ValueError(f"{rule}, with names or no user")  # noqa: TRY004  # as all rules
        found[account, user] = found.get((account, user), 0.0) + _NOT_NEGATIVE(amount)
    return MappingProxyType(found)


def _usage_rows(usage: Mapping[tuple[str, str | None], float]) -> list[dict[str, object]]:
    """Convert usage by (account, user) to tables as in files."""
    rows = [{"account": of[0], "user": of[1], "usage": plain_number(each)} for of, each in usage.items()]
    return [{name: each for name, each in row.items() if each is not None} for row in rows]


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

    name: GroupName
    parent: GroupName = ROOT
    shares: Annotated[float | Literal["parent"], _or_parent(_SHARES)] = 1.0
    users: Annotated[Mapping[str, float | Literal["parent"]], _USERS] = field(
        default_factory=dict, hash=False
    )
    priority: NotNegative = 0.0

    def __post_init__(self) -> None:
        check_fields(self, SystemDescriptionError)
        if self.name == ROOT and (self.parent, self.shares) != (ROOT, 1.0):
            raise refusal(self, SystemDescriptionError, "root is part of nothing; give it users only.")

    def __reduce__(self) -> tuple[object, ...]:
        return reduced(self)


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

    name: GroupName
    priority: NotNegative = 0.0
    usage_factor: NotNegative = 1.0
    preempts: GroupNames = ()

    def __post_init__(self) -> None:
        check_fields(self, SystemDescriptionError)


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
    half_life: Annotated[float, _half_life] = _WEEK
    decay: UsageDecay = "exact"
    damping: Positive = 1.0
    weights: Annotated[Mapping[str, float], _WEIGHTS] = field(default_factory=dict, hash=False)
    max_tres: bool = False
    decay_factor: Annotated[float, rules.Number(0, most=1, floating=True)] = 0.5
    decay_period: Positive = _DAY
    least_usage: NotNegative = 1.0
    usage: Annotated[Mapping[tuple[str, str | None], float], _past_usage] = field(
        default_factory=dict, hash=False, metadata={"plain": _usage_rows}
    )

    def __post_init__(self) -> None:
        check_fields(self, SystemDescriptionError)

    def __reduce__(self) -> tuple[object, ...]:
        return reduced(self)


def check_accounts(accounts: Sequence[Account]) -> tuple[Account, ...]:
    """Check that accounts form a tree, and return them with each account after its parent.

    Raises
    ------
    SystemDescriptionError
        If a name is duplicate, a parent is unknown, or the parents form a cycle.
    """
    accounts = rules.check(SystemDescriptionError, "accounts", accounts, rules.Parts(Account))
    places = {account.name: at for at, account in enumerate(accounts)}
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


def check_qualities(qualities: Sequence[QualityOfService]) -> None:
    """Check that qualities of service preempt known ones, without a cycle.

    Raises
    ------
    SystemDescriptionError
        If a preempted name is unknown, or preemption has a cycle.
    """
    names = {quality.name for quality in qualities}
    for at, quality in enumerate(qualities):
        for name in quality.preempts:
            if name not in names:
                raise SystemDescriptionError(
                    f"qos[{at}].preempts = {shown(name)}; must be a quality of service.{suggest(name, names)}"
                )
    _check_order(qualities)


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
