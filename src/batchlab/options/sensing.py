"""Periodic observation of the use of the platform."""

from __future__ import annotations

from dataclasses import dataclass, fields

from batchlab.core import rules
from batchlab.core.form import described
from batchlab.errors import SimulationError

__all__ = ["Sensing"]


@dataclass(frozen=True)
class Sensing:
    """Quantities to observe periodically in a run, for `Result.utilisation`.

    Parameters
    ----------
    interval
        Seconds between two observations, > 0.
    links
        Names of links that are observed one by one and do not count as part of the network. The platform's
        ``read_links`` and ``write_links`` are always added.
    since
        The time (s) from which intervals are counted. The first observation is the last multiple that is not
        after the first submission. [default: the first submission]

    Raises
    ------
    SimulationError
        If the interval is not a finite number > 0, or ``since`` is not a time.
    """

    interval: float
    links: tuple[str, ...] = ()
    since: float | None = None

    def __post_init__(self) -> None:
        since = rules.Optional(rules.FINITE_SECONDS)
        rules.hold(self, SimulationError, interval=rules.SECONDS_ABOVE_0, since=since)
        links: object = self.links
        if isinstance(links, str):
            raise SimulationError(f"links = {links!r}; must be names of links, as ({links!r},).")
        object.__setattr__(self, "links", tuple(self.links))

    @classmethod
    def of(cls, value: object) -> Sensing:
        """Return one of an object, a mapping of the fields, or text, ``"interval=60, links=[up, down]"``."""
        return described(cls, "sensing", value, "interval=60, links=[up, down]")

    @property
    def plain(self) -> dict[str, object]:
        """The fields that differ from their defaults; `of` takes them back."""
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) != field.default
        }
