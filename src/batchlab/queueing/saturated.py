"""Throughput of a saturated multiserver-job queue, for any service times."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np

from batchlab.errors import QueueingError
from batchlab.queueing.checks import numbers, whole
from batchlab.queueing.intervals import Interval, interval
from batchlab.queueing.kiefer_wolfowitz import delays

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["saturated_throughput"]


def saturated_throughput(
    service: npt.ArrayLike,
    servers: npt.ArrayLike,
    c: SupportsIndex,
    *,
    batches: SupportsIndex = 20,
    confidence: float = 0.95,
) -> Interval:
    """Estimate the maximum stable arrival rate under first come, first served, from jobs all there at 0 s.

    Parameters
    ----------
    service
        Shape (jobs,): service times, seconds, >= 0; a large sample of independent jobs.
    servers
        Shape (jobs,): the number of servers that each job needs at once; or one number for all jobs.
    c
        The number of servers.
    batches
        The number of batches, at least 2. The warm-up has the size of a batch.
    confidence
        The confidence level of the interval, between 0 and 1.

    Returns
    -------
    Interval
        Jobs per second: 1 over the mean time between two starts, with an interval from batch means.

    Raises
    ------
    QueueingError
        If a job is invalid, there are fewer than 2 jobs for each batch, or all service times are 0.

    Notes
    -----
    For exponential service times with one rate, `stability` computes the same exactly. Otherwise, the
    boundary depends on the distribution of service times, not only on their mean.

    Examples
    --------
    >>> import numpy as np
    >>> import batchlab as bl
    >>> random = np.random.default_rng(0)
    >>> service, servers = random.exponential(1.0, 100_000), random.integers(1, 3, 100_000)
    >>> found = bl.queueing.saturated_throughput(service, servers, c=2)
    >>> bl.queueing.stability([0.5, 0.5]).largest_arrival_rate() in found
    True
    """
    times, count = numbers("service", service), whole("batches", batches, 2)
    size = len(times) // (count + 1)
    if size < 2:  # noqa: PLR2004  # the first and the last of a batch
        raise QueueingError(
            f"service has {len(times)} rows; {count} batches and as many jobs as one of them for the warm-up "
            f"need at least {2 * (count + 1)}. Give more jobs, or ask for fewer batches."
        )
    starts = delays(np.zeros(len(times)), times, servers, c)
    # The last batch ends at the last job, so that excess jobs lengthen the warm-up.
    borders = starts[len(times) - 1 - size * np.arange(count, -1, -1)]
    gap = interval(np.diff(borders) / size, confidence)
    if gap.mean == 0:
        raise QueueingError("service: all jobs after the warm-up start at once. Give service times above 0.")
    high = 1 / gap.low if gap.low > 0 else math.inf
    return Interval(1 / gap.mean, 1 / gap.high, high, gap.confidence, gap.count)
