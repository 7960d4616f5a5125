"""Repetitions of one simulation that differ by random numbers only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from batchlab.core import rules
from batchlab.errors import AdequacyError, shown
from batchlab.options import RunOptions
from batchlab.simulation.simulation import simulate

if TYPE_CHECKING:
    from typing import Unpack

    from batchlab.options import RunArguments
    from batchlab.policy import Policy
    from batchlab.result.result import Result
    from batchlab.system import System
    from batchlab.workload import Workload


_MOST_RUNS = 1_000_000


def repeat(
    workload: Workload,
    system: System,
    policy: Policy | str,
    *,
    seeds: int | Iterable[int] = 10,
    options: RunOptions | None = None,
    **arguments: Unpack[RunArguments],
) -> dict[str, Result]:
    """Run the same simulation under several seeds, like repetitions of a real experiment.

    Parameters
    ----------
    workload, system, policy
        As for `simulate`.
    seeds
        The seeds, or their number: 0, 1, 2 and so on.
    options, **arguments
        As for `simulate`, except the seed. Something in the run must be random, such as `Overheads`;
        otherwise all runs are equal.

    Returns
    -------
    dict
        Results by the names ``"seed 0"``, ``"seed 1"``, …, for `reference`.

    Raises
    ------
    AdequacyError
        If `seeds` has another type, or there are more than a million.

    Examples
    --------
    >>> import batchlab as bl
    >>> workload, system = bl.generate.demo_workload(50), bl.generate.demo_system()
    >>> launches = bl.Overheads(launch="uniform(low=0, high=2)")
    >>> runs = repeat(workload, system, "easy", seeds=3, overheads=launches)
    >>> bl.adequacy.reference(runs).P_max > 0
    True
    """
    count = rules.whole_of(seeds)
    several: object = seeds if count is None else range(count)
    if isinstance(several, str) or not isinstance(several, Iterable):
        raise AdequacyError(f"seeds = {shown(seeds)}; must be a number of runs, or the seeds themselves.")
    if isinstance(seeds, int) and not 0 <= seeds <= _MOST_RUNS:
        raise AdequacyError(f"seeds = {shown(seeds)}; must be from 0 to {_MOST_RUNS:,}, the number of runs.")
    given = RunOptions.of(options, arguments, function=repeat)
    return {
        f"seed {seed}": simulate(workload, system, policy, options=replace(given, seed=seed))
        for seed in several
    }
