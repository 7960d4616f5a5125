"""The length of the warm-up in a series: the rule MSER-5."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from batchlab.queueing.checks import numbers

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["mser5"]

_BATCH = 5


def mser5(observations: npt.ArrayLike) -> int:
    """Determine the number of initial observations to skip.

    Parameters
    ----------
    observations
        Shape (n,): a series with an initial transient, such as the waits of the first jobs.

    Returns
    -------
    int
        A multiple of 5, at most half of the series.

    Raises
    ------
    QueueingError
        If it is not a column of numbers.

    Notes
    -----
    MSER-5: of the means of batches of five, skip the first d such that the standard error of the others is
    minimal, as if they were independent: Σ (y − ȳ)² / (m − d)², d <= m/2. K. P. White, "An effective
    truncation heuristic for bias reduction in simulation output", Simulation 69, 1997.

    Examples
    --------
    >>> import numpy as np
    >>> import batchlab as bl
    >>> steady = np.random.default_rng(0).normal(0.0, 1.0, 1000)
    >>> bl.queueing.mser5(np.concatenate([np.linspace(20.0, 0.0, 100), steady]))
    95
    """
    series = numbers("observations", observations)
    batches = len(series) // _BATCH
    if batches < 2:  # noqa: PLR2004  # at most half of them is left out
        return 0
    means = series[: batches * _BATCH].reshape(batches, _BATCH).mean(axis=1)
    # Sums from the end of centred values, so that squares of large numbers do not cancel.
    means = means - means.mean()
    left = np.arange(batches, 0, -1)
    sums, squares = (np.cumsum(each[::-1])[::-1] for each in (means, means * means))
    spread = np.maximum(squares - sums * sums / left, 0.0) / left**2
    return _BATCH * int(np.argmin(spread[: batches // 2 + 1]))
