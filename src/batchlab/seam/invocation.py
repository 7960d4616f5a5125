"""When a scheduler is called: once per instant, or event by event."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from batchlab.core import rules
from batchlab.core.form import described, flag
from batchlab.errors import SimulationError

if TYPE_CHECKING:
    from batchlab._kernel import Job
    from batchlab.core.vocabulary import CauseKind

__all__ = ["Cause", "Invocation"]


@dataclass(frozen=True)
class Invocation:
    """Events for which a scheduler written in Python is called, one by one.

    Without an invocation, it is called once per instant, after all other events (S2). With one, each of these
    events has its own pass, as in ElastiSim; ``view.cause`` is the event. Evolving requests always cause a
    call.

    Parameters
    ----------
    on_submit
        A job was submitted.
    on_finalise
        A job completed, or was killed at its limit.
    on_scheduling_point
        A running job can be resized.
    on_reconfiguration
        A running job is about to be resized by an earlier decision; only if scheduling points do not cause
        calls.
    interval
        Seconds between two periodic calls; 0 for none.
    since
        The time (s) from which these intervals are counted; ElastiSim counts from 0. There is no call before
        the first submission. [default: the first submission]
    minimum_interval
        Minimum seconds between two calls. Events in between are handled at its end by a periodic call, and a
        job at its scheduling point continues.

    Raises
    ------
    SimulationError
        If a duration is not a finite number >= 0, or no event would ever cause a call.

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
            object.__setattr__(self, name, flag(name, getattr(self, name)))
        rules.hold(
            self,
            SimulationError,
            interval=rules.SECONDS,
            minimum_interval=rules.SECONDS,
            since=rules.Optional(rules.FINITE_SECONDS),
        )
        if self.interval == 0 and not (self.on_submit and self.on_finalise):
            raise SimulationError(
                "interval = 0 without on_submit and on_finalise; jobs could wait for ever. "
                "Set both, or an interval."
            )

    @classmethod
    def of(cls, value: object) -> Invocation:
        """Return one of an object, a mapping of the fields, or text, ``"interval=60, on_submit=false"``."""
        return described(cls, "invocation", value, "interval=60, on_submit=false")

    @property
    def plain(self) -> dict[str, object]:
        """The fields that differ from their defaults; `of` takes them back."""
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) != field.default
        }


@dataclass(frozen=True)
class Cause:
    """Why a scheduler is called.

    Parameters
    ----------
    kind
        ``"instant"`` for one call per instant; otherwise the event.
    job
        The job of the event; None for ``"instant"`` and ``"periodic"``.
    tasks
        For ``"evolving_request"``, the number of tasks that the job requests.
    """

    kind: CauseKind
    job: Job | None = None
    tasks: int | None = None
