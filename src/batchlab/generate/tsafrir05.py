"""The model of Tsafrir et al. (2005): adds requested times to a workload, from the few round times of users.

Based on D. Tsafrir, Y. Etsion, D. G. Feitelson, "Modeling user runtime estimates", JSSPP 2005, LNCS 3834. A
log has few distinct estimates, and 20 of them, the head, are used by 90 % of the jobs:

- **Head times** are the longest estimate, 15 times common to all logs (5 minutes to 18 hours), and multiples
  of increasingly fine round times to make 20. Estimates that are known to be popular replace the nearest of
  these.
- **Head shares**, in percent: the rank x > 1 in popularity has 14.0491 exp(-0.177531 x) + 0.462513, and the
  first rank, the longest estimate, has the rest of 89 %.
- **The rank of each time** is drawn from the ranks in four logs.
- **Tail times**: the i-th of n further times is (a - 1) x / (a - x) of the longest, with x = i / n and a = 1
  + 12.1039 K^-0.6026, rounded to minutes; K is the number of all distinct estimates, which grows with the
  number of jobs.
- **Tail shares** are proportional to the rank to the power of -2.267, in random order, and sum to the rest of
  100 %.
- **Assignment**: from the longest job to the shortest, each gets one of the remaining estimates that are not
  shorter, with equal probability.

All numbers are those of the authors' program ``m_tsafrir05`` (``est_model.cc``) in the Parallel Workloads
Archive, checked against a copy of it. There are two differences: shares are converted to numbers of jobs by
the largest remainder method, and run times above the longest estimate are refused, where the program
truncates them.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl

from batchlab.core.arguments import checked
from batchlab.core.random_streams import Floats, Integers, stream
from batchlab.errors import WorkloadError, shown
from batchlab.workload.columns import TIME_LIMIT
from batchlab.workload.requests import run_times
from batchlab.workload.workload import Workload, check_workload

_HEAD = 20
_MINUTE, _HOUR = 60, 3600
_SHORTEST_LONGEST = 100 * _MINUTE  # below this, there are no 20 round times
_HEAD_SUM = 0.89
_HEAD_SCALE, _HEAD_RATE, _HEAD_LEAST = 0.140491, -0.177531, 0.00462513
_TAIL_POWER = -2.267
_TIME_SCALE, _TIME_POWER = 12.1039, -0.6026
_JOBS = (0, 20, 200, 1000, 10_000, 70_000, 250_000)
_DISTINCT = (0, 10, 20, 35, 90, 340, 565)
_JOINT = tuple(minutes * _MINUTE for minutes in (5, 10, 15, 20, 30)) + tuple(
    hours * _HOUR for hours in (1, 2, 3, 4, 5, 6, 8, 10, 12, 18)
)
_ROUND = (*(hours * _HOUR for hours in (200, 100, 50, 10, 5, 2, 1)), 1200, 600, 300)
_OFFSETS = (0, 30, -30, 20, -20, 10, -10)
# The popularity rank of each of the 20 head times, longest first and the others in ascending order, in the
# logs of the SDSC SP2, the CTC SP2, the KTH SP2 and SDSC Blue Horizon.
_RANKS = (
    (3, 1, 1, 1),
    (1, 3, 4, 6),
    (4, 4, 10, 5),
    (17, 2, 14, 3),
    (13, 12, 20, 7),
    (7, 9, 2, 2),
    (8, 8, 3, 18),
    (18, 18, 7, 19),
    (2, 6, 12, 4),
    (6, 7, 6, 11),
    (16, 11, 19, 20),
    (10, 20, 5, 9),
    (5, 16, 18, 10),
    (15, 5, 16, 14),
    (14, 14, 9, 13),
    (19, 13, 17, 16),
    (11, 10, 15, 15),
    (12, 15, 13, 17),
    (9, 17, 8, 8),
    (20, 19, 11, 12),
)
_TRIES, _LONGER = 25, 1.25


def estimates(
    workload: Workload,
    *,
    longest: float | None = None,
    popular: Mapping[float, float] | None = None,
    seed: int = 0,
) -> Workload:
    """Set the requested time of every job as users choose them.

    Parameters
    ----------
    workload
        The jobs; only their requested times are changed, which are also their time limits.
    longest
        The maximum requested time, seconds, at least 100 minutes. By default the next whole hour above the
        longest run time, or the first later time for which there are enough long estimates.
    popular
        Known estimates on the machine: up to 19 (20 with the longest), in seconds, with the fraction of jobs
        that use each. The authors recommend to specify the most popular ones.
    seed
        The same seed generates the same estimates.

    Returns
    -------
    Workload
        No requested time is below the run time, and none is above ``longest``.

    Raises
    ------
    WorkloadError
        If an argument breaks a rule, or too many jobs run too long for the estimates of the model.

    Examples
    --------
    >>> import batchlab as bl
    >>> made = bl.generate.estimates(bl.generate.lublin(2000, nodes=64))
    >>> (made.jobs["requested_time"] >= made.jobs["run_time"]).all()
    True
    """
    check_workload(workload)
    run_time = run_times(workload, "estimates")
    if not run_time.size:
        return workload
    order = np.lexsort((np.arange(len(run_time)), -run_time))
    decreasing = run_time[order]
    pool = _enough(decreasing, longest, popular or {}, seed)
    assigned = np.empty(len(run_time))
    assigned[order] = _assign(decreasing.tolist(), pool, stream(seed, "assignment of estimates"))
    made = workload.jobs.with_columns(pl.Series("requested_time", assigned, pl.Float64))
    return replace(workload, jobs=made.drop(TIME_LIMIT, strict=False))


@checked(WorkloadError)
def estimate_distribution(
    jobs: int, longest: float, *, popular: Mapping[float, float] | None = None, seed: int = 0
) -> dict[int, int]:
    """Return the distribution of estimates: the number of jobs that use each.

    Parameters
    ----------
    jobs
        The number of jobs.
    longest, popular, seed
        As for :func:`estimates`.

    Returns
    -------
    dict
        The number of jobs for each estimate in whole seconds, in ascending order; the sum is ``jobs``.

    Raises
    ------
    WorkloadError
        If an argument breaks a rule.
    """
    most = _check_longest(longest)
    known = _check_popular(popular or {}, most)
    distinct = round(float(np.interp(jobs, _JOBS, _DISTINCT)))
    head = _head(most, known, stream(seed, "head of estimates"))
    tail = _tail(most, set(head), distinct - len(head), distinct, stream(seed, "tail of estimates"))
    shares = {**head, **tail}
    times = sorted(time for time, share in shares.items() if share > 0)
    counts = _whole(np.array([shares[time] for time in times]), jobs)
    return {time: count for time, count in zip(times, counts.tolist(), strict=True) if count}


def _enough(
    decreasing: Floats, longest: float | None, popular: Mapping[float, float], seed: int
) -> list[float]:
    """Return one estimate per job, in descending order; each job can get one that is not shorter."""
    least = max(np.ceil(decreasing[0] / _HOUR) * _HOUR, 2 * _HOUR, max(popular, default=0))
    tries = (
        [least * _LONGER**power // _HOUR * _HOUR for power in range(_TRIES)] if longest is None else [longest]
    )
    for candidate in tries:
        counts = estimate_distribution(len(decreasing), candidate, popular=popular, seed=seed)
        pool = np.repeat(np.array([*counts], dtype=np.float64), [*counts.values()])[::-1]
        if (pool >= decreasing).all():
            return [float(value) for value in pool]
    raise WorkloadError(
        f"longest = {tries[0]:g}; each job needs an estimate that it does not outrun, and too many run "
        f"long, up to {decreasing[0]:g} s. Raise it, or give the share of the longest one in popular."
    )


def _assign(decreasing: list[float], pool: list[float], random: np.random.Generator) -> list[float]:
    """Draw an estimate for each job, longest first, among the remaining ones that are not shorter."""
    last, beyond = len(pool) - 1, 0
    for index, (run_time, chance) in enumerate(
        zip(decreasing, random.random(len(pool)).tolist(), strict=True)
    ):
        while beyond < last and run_time <= pool[beyond + 1]:
            beyond += 1
        # Drawn estimates are moved in front of the range of the remaining jobs.
        chosen = index + int(chance * (beyond - index + 1))
        pool[index], pool[chosen] = pool[chosen], pool[index]
    return pool


def _check_longest(longest: float) -> int:
    if not _SHORTEST_LONGEST <= longest <= 2**40:
        raise WorkloadError(
            f"longest = {shown(longest)}; must be from 6000 s (there must be 20 round times) to 2^40 s."
        )
    return int(longest)


def _check_popular(popular: Mapping[float, float], longest: int) -> dict[int, float]:
    known = {int(time): float(share) for time, share in popular.items()}
    if any(time < 1 or time > longest for time in known):
        raise WorkloadError(
            f"popular = {shown(dict(popular))}; estimates must be from 1 s to longest = {longest}."
        )
    if len(known) > _HEAD - (longest not in known):
        raise WorkloadError(f"popular: {len(known)} estimates; must be at most 19, or 20 with the longest.")
    if any(share < 0 for share in known.values()) or sum(known.values()) > 1:
        raise WorkloadError(
            f"popular = {shown(dict(popular))}; shares must be from 0 to 1 and at most 1 in all."
        )
    return known


def _head(longest: int, known: Mapping[int, float], random: np.random.Generator) -> dict[int, float]:
    """Return the 20 popular estimates and their shares."""
    times = _replaced(_head_times(longest), known)
    shares, fixed = _head_shares(longest, known)
    ranks = _ranks(times, fixed, random)
    return {time: shares[rank - 1] for time, rank in zip(times, ranks, strict=True)}


def _head_times(longest: int) -> list[int]:
    """Return the longest time, followed by 19 others in ascending order."""
    times = [longest, *(time for time in _JOINT if time < longest)]
    for step in _ROUND:
        for time in range(longest // step * step, 0, -step):
            if len(times) < _HEAD and time not in times:
                times.append(time)
    return [longest, *sorted(times[1:])]


def _replaced(times: list[int], known: Mapping[int, float]) -> list[int]:
    """Replace the nearest times by known estimates; round times are replaced before common ones."""
    new = [time for time in known if time not in times]
    place: dict[int, int] = {}
    for shared in (False, True):
        old = [time for time in times[1:] if (time in _JOINT) == shared and time not in known]
        for _, wanted, given in sorted((abs(one - other), one, other) for one, other in product(new, old)):
            if wanted not in place.values() and given not in place:
                place[given] = wanted
    return [times[0], *sorted(place.get(time, time) for time in times[1:])]


def _head_shares(longest: int, known: Mapping[int, float]) -> tuple[list[float], dict[int, int]]:
    """Return the shares by popularity rank, and the ranks of known estimates.

    A known share replaces the nearest one; the first, that of the longest estimate, is only replaced if it is
    known. The others are scaled such that the sum is 89 %.
    """
    usual = _HEAD_SCALE * np.exp(_HEAD_RATE * np.arange(2, _HEAD + 1)) + _HEAD_LEAST
    usual = np.concatenate([[_HEAD_SUM - usual.sum()], usual])
    owner: list[int | None] = [None] * _HEAD
    for time in sorted(known, key=lambda time: -known[time]):
        free = [0] if time == longest else [rank for rank in range(1, _HEAD) if owner[rank] is None]
        nearest = min(free, key=lambda rank: abs(usual[rank] - known[time]))
        owner[nearest], usual[nearest] = time, known[time]
    other = np.array([time is None for time in owner])
    left = max(_HEAD_SUM - usual[~other].sum(), 0.0)
    if known and other.any():
        usual[other] *= left / usual[other].sum()
    order = [0, *sorted(range(1, _HEAD), key=lambda rank: -usual[rank])]
    ranks = {known_time: rank + 1 for rank, old in enumerate(order) if (known_time := owner[old]) is not None}
    return [float(usual[rank]) for rank in order], ranks


def _ranks(times: list[int], fixed: Mapping[int, int], random: np.random.Generator) -> list[int]:
    """Draw the popularity rank of each head time.

    For each time in turn, the ranks of that time in all logs are added to a pool; of two ranks drawn from it,
    the more popular is used. No rank is used later than in any log, and the longest estimate is the most
    popular.
    """
    latest = {rank: place for place, row in enumerate(_RANKS) for rank in row}
    reserved = set(fixed.values())
    chosen: list[int] = []
    pool: list[int] = []
    for place, time in enumerate(times):
        pool += _RANKS[place]
        free = [rank for rank in latest if rank not in (*chosen, *reserved)]
        pool = [rank for rank in pool if rank in free]
        due = [rank for rank in free if latest[rank] <= place]
        if time in fixed:
            chosen.append(fixed[time])
        elif place == 0 and 1 in free:
            chosen.append(1)
        elif due or not pool:
            # With known estimates, all ranks so far may be reserved for them.
            chosen.append(min(due or free))
        else:
            chosen.append(min(pool[int(index)] for index in random.integers(0, len(pool), 2)))
    return chosen


def _tail(
    longest: int, taken: set[int], count: int, distinct: int, random: np.random.Generator
) -> dict[int, float]:
    """Return the other estimates and their shares; empty if all estimates of the few jobs are in the head."""
    bend = 1 + _TIME_SCALE * max(distinct, 1) ** _TIME_POWER
    times: list[int] = []
    for rank in range(1, count + 1):
        place = rank / count
        minutes = round((bend - 1) * place / (bend - place) * longest / _MINUTE)
        free = (minutes * _MINUTE + offset for offset in _OFFSETS)
        time = next((time for time in free if 0 < time < longest and time not in taken), None)
        if time is not None:
            taken.add(time)
            times.append(time)
    shares = (np.arange(len(times)) + _HEAD + 1.0) ** _TAIL_POWER
    shares = random.permutation(shares * ((1 - _HEAD_SUM) / max(shares.sum(), 1e-300)))
    return dict(zip(times, shares.tolist(), strict=True))


def _whole(shares: Floats, jobs: int) -> Integers:
    """Distribute jobs by the largest remainder method."""
    wanted = shares / shares.sum() * jobs
    counts = np.floor(wanted).astype(np.int64)
    counts[np.argsort(counts - wanted, kind="stable")[: jobs - int(counts.sum())]] += 1
    return np.asarray(counts, dtype=np.int64)
