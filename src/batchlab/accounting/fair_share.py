"""The fair-share table of accounts and users."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from batchlab import _kernel
from batchlab.accounting.tree import AccountTree
from batchlab.core import rules
from batchlab.core.arguments import checked
from batchlab.errors import SystemDescriptionError, shown
from batchlab.system.accounts import FairShare

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    import numpy.typing as npt
    import polars as pl

    from batchlab.core.vocabulary import FairShareRuleName
    from batchlab.system import Account

    Amounts = Mapping[tuple[str, str], float] | Mapping[tuple[str, str | None], float]

__all__ = ["RULES", "fair_share", "standing"]

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
