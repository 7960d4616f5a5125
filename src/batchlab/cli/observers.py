"""The options ``--observer``, ``--power`` and ``--failures``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.cli.failure import wrong_usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from batchlab.seam.components import Observer

__all__ = ["check_unobserved", "observers_for"]


def check_unobserved(own: Sequence[str] | None, power: Sequence[str] | None, failures: str | None) -> None:
    """Raise if a streamed run has observers."""
    for option, given in {"--observer": own, "--power": power, "--failures": failures}.items():
        if given:
            raise wrong_usage("watches all jobs, which --stream does without; leave one out.", option)


def observers_for(
    own: Sequence[str] | None, power: Sequence[str] | None, failures: str | None, seed: int
) -> dict[str, Observer]:
    """Build the observers from the options, keyed by label; `seed` is the seed of the run."""
    if failures is not None and not failures.strip():
        raise wrong_usage("is empty; give outages.csv, or uptime=… and repair_time=….", "--failures")
    if not (own or power or failures):
        return {}
    from batchlab.cli.output import warn  # noqa: PLC0415  # plain runs do without
    from batchlab.observer.description import observers_of  # noqa: PLC0415  # as above
    from batchlab.observer.given import misspelt_hooks  # noqa: PLC0415  # as above

    observers = observers_of(own or (), power or (), failures, seed=seed)
    warn(line for each in observers.values() for line in misspelt_hooks(each))
    return observers
