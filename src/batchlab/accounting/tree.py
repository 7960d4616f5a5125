"""The tree of accounts, with nodes numbered for the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from batchlab import _kernel
from batchlab.errors import SystemDescriptionError, shown, suggest
from batchlab.system.accounts import ROOT, check_accounts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from batchlab.system import Account

__all__ = ["AccountTree", "Node"]


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
