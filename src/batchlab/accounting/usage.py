"""What accounts and users have used, as time goes on."""

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
    """The usage of every account and user, which jobs add to and which fades.

    Calls come in the order of time.

    Parameters
    ----------
    accounts
        Accounts with shares and users.
    settings
        How usage fades and is compared with shares; the defaults of `FairShare` unless given.
    start
        The time (s) from which on periods count: the first of `slurm`, and those of `steps`.

    Raises
    ------
    SystemDescriptionError
        If the accounts are no tree.

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
        """Charge a user from now on.

        Parameters
        ----------
        account, user
            An account, and a user in it.
        rate
            What is charged for each second: billing times usage factor, from 0 on.
        now
            Seconds.

        Raises
        ------
        SystemDescriptionError
            If the account or user is not known.
        """
        self._kernel.start(self._tree.node(account, user), rate, now)

    def end(self, account: str, user: str, rate: float, started: float, now: float) -> None:
        """Stop charging what was started so.

        Parameters
        ----------
        account, user, rate, started
            As given to `start`, the time too (s).
        now
            Seconds.

        Raises
        ------
        SystemDescriptionError
            If the account or user is not known.
        """
        self._kernel.end(self._tree.node(account, user), rate, started, now)

    def add(self, account: str, user: str | None, amount: float, now: float) -> None:
        """Add past use, of a user, or of an account itself.

        Parameters
        ----------
        account, user
            An account, and a user in it or None.
        amount
            What is charged, from 0 on.
        now
            Seconds.

        Raises
        ------
        SystemDescriptionError
            If the account or user is not known.
        """
        self._kernel.add(self._tree.node(account, user), now, amount)

    def calculate(self, now: float) -> None:
        """End a period, at which Slurm's usage fades and running jobs are charged; exact usage has none.

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
            As `fair_share` gives.
        """
        return standing(self._tree, self._kernel.usage(now), self.settings)
