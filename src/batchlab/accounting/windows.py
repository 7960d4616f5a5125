"""Usage in windows of time, and targets for it, as in Maui and Moab."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from batchlab import _kernel
from batchlab.core import rules
from batchlab.errors import SystemDescriptionError, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["target_delta", "window_share"]

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
