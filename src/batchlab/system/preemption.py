"""Preemption: which jobs may take the nodes of running ones, and what becomes of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from batchlab.errors import SystemDescriptionError, shown, suggest
from batchlab.system import rules
from batchlab.system.checks import held, set_field
from batchlab.vocabulary import PREEMPTION_GROUNDS, PREEMPTION_MODES, PreemptionGround, PreemptionMode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from batchlab.system.accounts import QualityOfService
    from batchlab.system.queues import Partition

__all__ = ["Preemption", "check_preemption"]


@dataclass(frozen=True)
class Preemption:
    """Which jobs may take the nodes of running ones, and what becomes of these.

    Parameters
    ----------
    by
        ``"tier"``: jobs of a partition of a higher tier may preempt those of lower ones; ``"qos"``: jobs of a
        quality of service those of the ones that it ``preempts``.
    mode
        What becomes of the victims: ``"requeue"``: they wait again and run from their start; ``"suspend"``:
        they wait again and go on where they were; ``"cancel"``: they are killed.
    exempt_time
        Seconds that a job has to have run before it may be a victim.
    grace_time
        Seconds that a victim runs on after the decision; then it waits again, or is killed, unless it has
        ended by itself. 0 where the mode is ``"suspend"``.
    youngest_first
        Whether, of one tier or quality of service, the latest start is the first victim, and not the job on
        the fewest nodes.

    Raises
    ------
    SystemDescriptionError
        If a name is not known, a number breaks its rule, or jobs that are suspended have a grace time.
    """

    by: PreemptionGround = "tier"
    mode: PreemptionMode = "requeue"
    exempt_time: float = 0.0
    grace_time: float = 0.0
    youngest_first: bool = False

    def __post_init__(self) -> None:
        for name, known in (("by", PREEMPTION_GROUNDS), ("mode", PREEMPTION_MODES)):
            value = getattr(self, name)
            if value not in known:
                raise SystemDescriptionError(
                    f"preemption.{name} = {shown(value)}; must be one of {', '.join(known)}."
                    f"{suggest(str(value), known)}"
                )
        for name in ("exempt_time", "grace_time"):
            set_field(self, name, held(rules.seconds, getattr(self, name), f"preemption.{name}"))
        if self.grace_time and self.mode == "suspend":
            raise SystemDescriptionError(
                f"preemption.grace_time = {shown(self.grace_time)} with mode = 'suspend'; must be 0 there. "
                "Leave it out, or take the mode 'requeue' or 'cancel'."
            )
        held(rules.truth, self.youngest_first, "preemption.youngest_first")


def check_preemption(
    preemption: object, partitions: Sequence[Partition], qos: Sequence[QualityOfService]
) -> None:
    """Check that some job may preempt another, and none the one that may preempt it.

    Raises
    ------
    SystemDescriptionError
        If the tiers of all partitions are equal, or no quality of service preempts another.
    """
    if preemption is None:
        return
    if not isinstance(preemption, Preemption):
        raise SystemDescriptionError(f"preemption = {shown(preemption)}; must be a Preemption.")
    if preemption.by == "tier" and len({partition.tier for partition in partitions}) < 2:  # noqa: PLR2004
        raise SystemDescriptionError(
            "preemption.by = 'tier'; must have partitions of different tiers. Give one a higher tier."
        )
    if preemption.by == "qos" and not any(quality.preempts for quality in qos):
        raise SystemDescriptionError(
            "preemption.by = 'qos'; must have a quality of service that preempts another. "
            "Give one a list of names as preempts."
        )
