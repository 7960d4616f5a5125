"""Looking at how much of the platform is used, in equal intervals."""

from __future__ import annotations

from dataclasses import dataclass

from batchlab.errors import SimulationError, shown
from batchlab.units import is_finite

__all__ = ["Sensing"]


@dataclass(frozen=True)
class Sensing:
    """What to look at during a run, for `Result.utilisation`.

    Parameters
    ----------
    interval
        Seconds between two looks, > 0.
    links
        The names of links that are looked at one by one; they do not count as the network. Nor do the
        platform's ``read_links`` and ``write_links``, which are always among them.
    since
        The instant (s) from which the intervals count; the first submission unless given. The first look is
        the last one that is not after the first submission.

    Raises
    ------
    SimulationError
        If the interval is not a finite number > 0, or ``since`` no instant.
    """

    interval: float
    links: tuple[str, ...] = ()
    since: float | None = None

    def __post_init__(self) -> None:
        if not is_finite(self.interval) or self.interval <= 0:
            rule = "must be a finite number of seconds > 0"
            raise SimulationError(f"interval = {shown(self.interval)}; {rule}.")
        if self.since is not None and not is_finite(self.since):
            raise SimulationError(f"since = {shown(self.since)}; must be an instant in seconds, or None.")
        links: object = self.links
        if isinstance(links, str):
            raise SimulationError(f"links = {links!r}; must be names of links, as ({links!r},).")
        object.__setattr__(self, "links", tuple(self.links))
