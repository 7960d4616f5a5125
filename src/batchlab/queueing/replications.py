"""Independent replications of a model in threads, in their order."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from batchlab.errors import QueueingError, shown
from batchlab.queueing.checks import Floats, numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    import numpy.typing as npt

    Observations = npt.ArrayLike | Mapping[str, npt.ArrayLike]
    Model = Callable[[np.random.Generator], Observations]
    Series = dict[str, Floats]

__all__ = ["VALUE", "progress_bar", "replicate", "series_of"]

VALUE = "value"
"""The name of the observations of a model that gives one series without a name."""


def replicate(model: Model, seed: int, most: int, threads: int) -> Generator[Series]:
    """Run a model with one generator after the other, in threads, and give its series in the order of seeds.

    Parameters
    ----------
    model
        Takes a generator, gives observations.
    seed
        From which the generators are spawned: replication r has the same one whatever the model.
    most
        How many replications at most. Where the caller stops before, those under way are dropped.
    threads
        How many run at once.

    Yields
    ------
    dict
        The series of a replication by name.
    """

    def run(number: int) -> Series:
        # As the children that SeedSequence.spawn gives, without a list of them.
        sequence = np.random.SeedSequence(seed, spawn_key=(number,))
        return series_of(model(np.random.Generator(np.random.PCG64(sequence))), number)

    running: deque[Future[Series]] = deque()
    # Threads go on while the first of them is late.
    window = 2 * threads
    pool = ThreadPoolExecutor(threads)
    try:
        for number in range(most):
            running.append(pool.submit(run, number))
            if len(running) >= window:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
    finally:
        # An interrupt, or a caller that has enough, waits for none of those under way.
        pool.shutdown(wait=False, cancel_futures=True)


def series_of(observations: Observations, number: int) -> Series:
    """Check what a model gave in one replication."""
    named = observations if isinstance(observations, Mapping) else {VALUE: observations}
    if not named:
        raise QueueingError(f"replication {number}: the model gave no series; give an array, or one by name.")
    found = {}
    for name, values in named.items():
        series = numbers(f"replication {number}: {shown(name)}", values)
        if not len(series):
            raise QueueingError(
                f"replication {number}: {shown(name)} has no observations; observe one or more."
            )
        broken = np.flatnonzero(~np.isfinite(series))
        if len(broken):
            place = f"{shown(name)}[{broken[0]}] = {series[broken[0]]:g}"
            raise QueueingError(
                f"replication {number}: {place}; must be finite. Leave such observations out."
            )
        found[str(name)] = series
    return found


@contextmanager
def progress_bar(most: int, *, shows: bool) -> Iterator[Callable[[int], None]]:
    """Show on standard error how many replications are done, where this is asked for."""
    if not shows:
        yield lambda _done: None
        return
    from rich.console import Console  # noqa: PLC0415  # only where a bar is asked for
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn  # noqa: PLC0415

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress("replications", *columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=most)
        yield lambda done: bar.update(task, completed=done)
