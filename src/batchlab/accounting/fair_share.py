"""Shares and usage of accounts and users, with the windows over which usage counts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from batchlab import _kernel
from batchlab.core import rules
from batchlab.core.arguments import checked
from batchlab.errors import SystemDescriptionError, shown, suggest
from batchlab.system.accounts import ROOT, FairShare, check_accounts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Literal

    import numpy as np
    import numpy.typing as npt
    import polars as pl

    from batchlab.core.vocabulary import FairShareRuleName
    from batchlab.system import Account

    Amounts = Mapping[tuple[str, str], float] | Mapping[tuple[str, str | None], float]

__all__ = ["RULES", "AccountTree", "Node", "Usage", "fair_share", "standing", "target_delta", "window_share"]

_TARGET = re.compile(r"(\d+(?:\.\d+)?)([+-]?)")


def window_share(own: Sequence[float], total: Sequence[float], decay: float) -> float:
    """Compute the share of one's own usage in the total usage.

    Parameters
    ----------
    own, total
        Usage in each window, the newest first: one's own, and the total.
    decay
        From 0 to 1: weight of each window relative to the next newer one.

    Returns
    -------
    float
        Per cent; 0 without any usage.

    Raises
    ------
    SystemDescriptionError
        If the numbers of windows differ, or a number is invalid.

    Notes
    -----
    100 · Σ own_i · decay^i / Σ total_i · decay^i: Maui's FSINTERVAL, FSDEPTH and FSDECAY.

    Examples
    --------
    >>> import batchlab as bl
    >>> bl.accounting.window_share([30, 50], [100, 100], 0.5)
    36.666666666666664
    """
    for name, amounts in (("own", own), ("total", total)):
        each = rules.Each(rules.NOT_NEGATIVE, "finite numbers >= 0")
        rules.check(SystemDescriptionError, name, amounts, each)
    if len(own) != len(total):
        raise SystemDescriptionError(f"own has {len(own)} windows, total {len(total)}; give the same number.")
    decay = rules.check(SystemDescriptionError, "decay", decay, rules.PROBABILITY)
    return _kernel.share_in_windows([*own], [*total], decay)


def target_delta(target: float | str, usage: float) -> float:
    """Compute the distance of usage from its target.

    Parameters
    ----------
    target
        Per cent: a number; or a text that may end in ``+`` (a floor: applies only if usage is below it) or in
        ``-`` (a ceiling: applies only if usage is above it).
    usage
        Per cent.

    Returns
    -------
    float
        Target minus usage, per cent; 0 if the target does not apply.

    Raises
    ------
    SystemDescriptionError
        If the target is invalid.

    Examples
    --------
    >>> import batchlab as bl
    >>> bl.accounting.target_delta("25-", 20), bl.accounting.target_delta(25, 20)
    (0.0, 5.0)
    """
    found = _TARGET.fullmatch(str(target))
    if found is None:
        raise SystemDescriptionError(
            f"target = {shown(target)}; must be per cent from 0 on, with + for a floor or - for a ceiling."
        )
    return _kernel.target_delta(float(found[1]), found[2], usage)


class Node(NamedTuple):
    """An account, or a user in an account (``user`` is None for accounts)."""

    account: str
    user: str | None
    shares: float | None


class AccountTree:
    """The nodes of the tree. Each account is followed by its users and then by its child accounts.

    Parameters
    ----------
    accounts
        The accounts, in any order.

    Raises
    ------
    SystemDescriptionError
        If the accounts do not form a tree.
    """

    def __init__(self, accounts: Sequence[Account]) -> None:
        named = {account.name: account for account in check_accounts(accounts)}
        members: dict[str, list[Account]] = {}
        for account in named.values():
            if account.name != ROOT:
                members.setdefault(account.parent, []).append(account)
        self.nodes = [Node(ROOT, None, 1.0)]
        parents = [0]
        # A stack of accounts in place of recursion, because a tree may be deeper than the call stack.
        waiting = [(ROOT, 0)]
        while waiting:
            name, at = waiting.pop()
            if name != ROOT:
                self.nodes.append(Node(name, None, _number(named[name].shares)))
                parents.append(at)
                at = len(self.nodes) - 1
            users = named[name].users if name in named else {}
            self.nodes += [Node(name, user, _number(shares)) for user, shares in users.items()]
            parents += [at] * len(users)
            waiting += [(member.name, at) for member in reversed(members.get(name, ()))]
        self.number = {(node.account, node.user): at for at, node in enumerate(self.nodes)}
        rows = zip(parents, self.nodes, strict=True)
        self.kernel = _kernel.AccountTree(
            [(parent, node.shares, node.user is not None) for parent, node in rows][1:]
        )

    def node(self, account: object, user: object = None) -> int:
        """Return the number of an account, or of a user in it.

        Raises
        ------
        SystemDescriptionError
            If the account or user is unknown.
        """
        number = self.number.get((account, user))  # type: ignore[arg-type]  # that is the question
        if number is not None:
            return number
        if (account, None) not in self.number:
            names = [node.account for node in self.nodes if node.user is None]
            raise SystemDescriptionError(
                f"account = {shown(account)}; must be an account of the system.{suggest(str(account), names)}"
            )
        users = [node.user for node in self.nodes if node.account == account and node.user is not None]
        raise SystemDescriptionError(
            f"user = {shown(user)}; must be a user of account {account!r}.{suggest(str(user), users)}"
        )


def _number(shares: float | Literal["parent"]) -> float | None:
    return None if shares == "parent" else shares


RULES: Mapping[str, str] = MappingProxyType(
    {row["name"]: row["summary"] for row in _kernel.rules()["fair_share"]}
)
"""Summary of each fair-share rule, in one line."""


@checked(SystemDescriptionError)
def fair_share(
    accounts: Sequence[Account],
    usage: pl.DataFrame | Amounts,
    rule: FairShareRuleName = "fair_tree",
    *,
    damping: float = 1.0,
    least_usage: float = 1.0,
) -> pl.DataFrame:
    """Compare the usage of accounts and users with their shares.

    Parameters
    ----------
    accounts
        Accounts with shares and users.
    usage
        Usage of each account or user, in any unit: a table with the columns account, user and usage, or a
        mapping of (account, user) to amounts >= 0. A user of None (null) is the account itself. Usage also
        counts for all parent accounts. Users without an entry have no usage.
    rule
        ``"fair_tree"``, ``"classic"``, ``"depth_oblivious"`` or ``"pbs"``.
    damping
        Divisor of the exponent in the rule ``"classic"``; above 0.
    least_usage
        Minimum usage in the rule ``"pbs"``: lower usage is raised to this value.

    Returns
    -------
    polars.DataFrame
        A row for each account (user is null) and for each of its users, the root first, down the tree:
        account, user, shares (null if the parent's shares apply), normalised_shares, usage, normalised_usage
        (relative to the root's), effective_usage, level_fair_share (infinite without usage), factor (0 to 1;
        null for accounts if the rule ranks users only).

    Raises
    ------
    SystemDescriptionError
        If the accounts do not form a tree, an account or user is unknown, or a number is invalid.

    Notes
    -----
    The columns are those of Slurm's ``sshare``. S12 of docs/semantics.md defines the rules.

    Examples
    --------
    >>> import batchlab as bl
    >>> accounts = [bl.Account("physics", users={"ann": 1, "bob": 1}), bl.Account("biology", users={"cy": 1})]
    >>> table = bl.accounting.fair_share(accounts, {("physics", "ann"): 300.0, ("biology", "cy"): 100.0})
    >>> table.filter(table["user"].is_not_null()).select("user", "factor").rows()
    [('ann', 0.3333333333333333), ('bob', 0.6666666666666666), ('cy', 1.0)]
    """
    import numpy as np  # noqa: PLC0415  # as polars: a streamed run does without

    settings = FairShare(rule=rule, damping=damping, least_usage=least_usage)
    tree = AccountTree(accounts)
    charged = np.zeros(len(tree.nodes))
    for account, user, amount in _rows(usage):
        owner = shown(account if user is None else user)
        number = rules.check(SystemDescriptionError, f"usage of {owner}", amount, rules.NOT_NEGATIVE)
        charged[tree.node(account, user)] += number
    return standing(tree, tree.kernel.totals(charged), settings)


def standing(tree: AccountTree, usage: npt.NDArray[np.float64], settings: FairShare) -> pl.DataFrame:
    """Build the table from the usage of each node, including the usage of its members."""
    import polars as pl  # noqa: PLC0415  # see above

    columns = tree.kernel.standing(usage, settings.rule, settings.damping, settings.least_usage)
    shares, of_root, effective, level, factor = columns
    return pl.DataFrame(
        {
            "account": [node.account for node in tree.nodes],
            "user": pl.Series([node.user for node in tree.nodes], dtype=pl.String),
            "shares": pl.Series([node.shares for node in tree.nodes], dtype=pl.Float64),
            "normalised_shares": shares,
            "usage": usage,
            "normalised_usage": of_root,
            "effective_usage": effective,
            "level_fair_share": level,
            "factor": pl.Series(factor).fill_nan(None),
        }
    )


def _rows(
    usage: pl.DataFrame | Amounts,
) -> Iterable[tuple[object, object, object]]:
    """Yield account, user and amount of each entry."""
    if not isinstance(usage, Mapping):
        missing = {"account", "user", "usage"} - set(usage.columns)
        if missing:
            raise SystemDescriptionError(
                f"usage has no column {min(missing)!r}; it must have account, user and usage."
            )
        yield from usage.select("account", "user", "usage").iter_rows()
        return
    for key, amount in usage.items():
        if not isinstance(key, tuple) or len(key) != 2:  # noqa: PLR2004  # a pair
            raise SystemDescriptionError(f"usage: key {shown(key)}; must be (account, user).")
        yield (*key, amount)


class Usage:
    """The decaying usage of every account and user.

    Calls must be in order of time.

    Parameters
    ----------
    accounts
        Accounts with shares and users.
    settings
        Decay of usage and its comparison with shares. [default: `FairShare()`]
    start
        The time (s) from which the periods of ``slurm`` and of ``steps`` are counted.

    Raises
    ------
    SystemDescriptionError
        If the accounts do not form a tree.

    Examples
    --------
    >>> import batchlab as bl
    >>> usage = bl.accounting.Usage([bl.Account("physics", users={"ann": 1})], bl.FairShare(half_life=3600))
    >>> usage.add("physics", "ann", 800.0, now=0.0)
    >>> usage.table(now=7200.0)["usage"].to_list()
    [200.0, 200.0, 200.0]
    """

    def __init__(
        self, accounts: Sequence[Account], settings: FairShare | None = None, *, start: float = 0.0
    ) -> None:
        self.settings = settings or FairShare()
        self._tree = AccountTree(accounts)
        step = (self.settings.decay_factor, self.settings.decay_period)
        self._kernel = _kernel.AccountUsage(
            self._tree.kernel, self.settings.decay, self.settings.half_life, step, start
        )

    def start(self, account: str, user: str, rate: float, now: float) -> None:
        """Start to charge a user.

        Parameters
        ----------
        account, user
            An account, and a user in it.
        rate
            Charge per second: billing times usage factor, >= 0.
        now
            Seconds.

        Raises
        ------
        SystemDescriptionError
            If the account or user is unknown.
        """
        self._kernel.start(self._tree.node(account, user), rate, now)

    def end(self, account: str, user: str, rate: float, started: float, now: float) -> None:
        """Stop a charge.

        Parameters
        ----------
        account, user, rate, started
            As in the call of `start`, including the time (s).
        now
            Seconds.

        Raises
        ------
        SystemDescriptionError
            If the account or user is unknown.
        """
        self._kernel.end(self._tree.node(account, user), rate, started, now)

    def add(self, account: str, user: str | None, amount: float, now: float) -> None:
        """Add past usage of a user, or of an account itself.

        Parameters
        ----------
        account, user
            An account, and a user in it or None.
        amount
            The charge, >= 0.
        now
            Seconds.

        Raises
        ------
        SystemDescriptionError
            If the account or user is unknown.
        """
        self._kernel.add(self._tree.node(account, user), now, amount)

    def calculate(self, now: float) -> None:
        """End a period: Slurm's usage decays and running jobs are charged; exact usage has no periods.

        Parameters
        ----------
        now
            Seconds.
        """
        self._kernel.calculate(now)

    def table(self, now: float) -> pl.DataFrame:
        """Compare usage with shares.

        Parameters
        ----------
        now
            Seconds.

        Returns
        -------
        polars.DataFrame
            As the result of `fair_share`.
        """
        return standing(self._tree, self._kernel.usage(now), self.settings)
