"""When a scheduler is asked: once an instant, or event by event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from batchlab.errors import SimulationError, shown
from batchlab.units import is_finite

if TYPE_CHECKING:
    from batchlab._kernel import Job
    from batchlab.vocabulary import CauseKind

__all__ = ["Cause", "Invocation"]


@dataclass(frozen=True)
class Invocation:
    """Which events a scheduler written in Python is asked about, one by one.

    Without an invocation it is asked once at each instant, after everything else that happens there (S2).
    With one, each of these events has a pass of its own, as in ElastiSim; ``view.cause`` tells which.
    Evolving requests are always asked about.

    Parameters
    ----------
    on_submit
        A job was submitted.
    on_finalise
        A job completed, or was killed at its limit.
    on_scheduling_point
        A running job can be resized.
    on_reconfiguration
        A running job is about to be resized as was decided earlier; only where scheduling points are not
        asked about.
    interval
        Seconds from one periodic question to the next; 0 for none.
    since
        The instant (s) from which these intervals count, as ElastiSim's do from 0; the first submission
        unless given. No question is asked before the first submission.
    minimum_interval
        Seconds within which there is no second question: what falls into them is answered at their end by a
        periodic one, and a job at its scheduling point goes on.

    Raises
    ------
    SimulationError
        If a duration is not a finite number >= 0, or nothing would ever be asked about.

    References
    ----------
    .. [1] T. Özden et al.: ElastiSim: A batch-system simulator for malleable workloads. ICPP 2022,
       section 5.5
    """

    on_submit: bool = True
    on_finalise: bool = True
    on_scheduling_point: bool = True
    on_reconfiguration: bool = False
    interval: float = 0.0
    minimum_interval: float = 0.0
    since: float | None = None

    def __post_init__(self) -> None:
        for name in ("on_submit", "on_finalise", "on_scheduling_point", "on_reconfiguration"):
            if not isinstance(getattr(self, name), bool):
                raise SimulationError(f"{name} = {shown(getattr(self, name))}; must be True or False.")
        for name in ("interval", "minimum_interval"):
            value = getattr(self, name)
            if not is_finite(value) or value < 0:
                raise SimulationError(f"{name} = {shown(value)}; must be a finite number of seconds >= 0.")
        if self.since is not None and not is_finite(self.since):
            raise SimulationError(f"since = {shown(self.since)}; must be an instant in seconds, or None.")
        if self.interval == 0 and not (self.on_submit and self.on_finalise):
            raise SimulationError(
                "interval = 0 without on_submit and on_finalise; jobs could wait for ever. "
                "Set both, or an interval."
            )


@dataclass(frozen=True)
class Cause:
    """Why a scheduler is asked.

    Parameters
    ----------
    kind
        ``"instant"`` if it is asked once an instant; else the event.
    job
        Whom it happened to; None for ``"instant"`` and ``"periodic"``.
    tasks
        For ``"evolving_request"``, how many tasks the job asks for.
    """

    kind: CauseKind
    job: Job | None = None
    tasks: int | None = None
