"""Run independent replications of a model in threads, and return them in order."""

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
"""The name of the series of a model that returns a single array."""


def replicate(model: Model, seed: int, most: int, threads: int) -> Generator[Series]:
    """Run a model in threads with one generator per replication, and yield its series in order.

    Parameters
    ----------
    model
        A function that takes a generator and returns observations.
    seed
        Seed from which the generators are spawned: the generator of replication r is equal for all models.
    most
        Maximum number of replications. If the caller stops earlier, current replications are discarded.
    threads
        The number of parallel replications.

    Yields
    ------
    dict
        The series of a replication, by name.
    """

    def run(number: int) -> Series:
        # The same children as SeedSequence.spawn creates, without a list of them.
        sequence = np.random.SeedSequence(seed, spawn_key=(number,))
        return series_of(model(np.random.Generator(np.random.PCG64(sequence))), number)

    running: deque[Future[Series]] = deque()
    # Let threads continue while the oldest replication is late.
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
        # After an interrupt, or if the caller stops, do not wait for current replications.
        pool.shutdown(wait=False, cancel_futures=True)


def series_of(observations: Observations, number: int) -> Series:
    """Check the observations of one replication."""
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
    """Show the number of finished replications on standard error, if `shows` is true."""
    if not shows:
        yield lambda _done: None
        return
    from rich.console import Console  # noqa: PLC0415  # only where a bar is asked for
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn  # noqa: PLC0415

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress("replications", *columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=most)
        yield lambda done: bar.update(task, completed=done)
