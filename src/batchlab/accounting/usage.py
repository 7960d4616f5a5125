"""Usage of accounts and users over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab import _kernel
from batchlab.accounting.fair_share import standing
from batchlab.accounting.tree import AccountTree
from batchlab.system.accounts import FairShare

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from batchlab.system import Account

__all__ = ["Usage"]


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
