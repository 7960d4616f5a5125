"""Preemption: which jobs may preempt others, and what happens to preempted jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from batchlab.core.vocabulary import PREEMPTION_GROUNDS, PREEMPTION_MODES, PreemptionGround, PreemptionMode
from batchlab.errors import SystemDescriptionError, shown, suggest
from batchlab.system import rules
from batchlab.system.checks import checked, set_field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from batchlab.system.accounts import QualityOfService
    from batchlab.system.queues import Partition

__all__ = ["Preemption", "check_preemption"]


@dataclass(frozen=True)
class Preemption:
    """Which jobs may preempt running jobs, and what happens to the victims.

    Parameters
    ----------
    by
        ``"tier"``: jobs of a partition with a higher tier may preempt those of lower tiers; ``"qos"``: jobs
        of a quality of service may preempt those of the names in its field ``preempts``.
    mode
        What happens to victims. ``"requeue"``: they return to the queue and restart; ``"suspend"``: they
        return to the queue and resume; ``"cancel"``: they are killed.
    exempt_time
        Minimum run time of victims, seconds.
    grace_time
        Seconds that a victim keeps running after the decision, unless it ends before. Must be 0 if the mode
        is ``"suspend"``.
    youngest_first
        Order of victims in one tier or quality of service: latest start first if true, otherwise fewest nodes
        first.

    Raises
    ------
    SystemDescriptionError
        If a name is unknown, a number is invalid, or `grace_time` is given with the mode ``"suspend"``.
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
            set_field(self, name, checked(rules.seconds, getattr(self, name), f"preemption.{name}"))
        if self.grace_time and self.mode == "suspend":
            raise SystemDescriptionError(
                f"preemption.grace_time = {shown(self.grace_time)} with mode = 'suspend'; must be 0 there. "
                "Leave it out, or take the mode 'requeue' or 'cancel'."
            )
        set_field(
            self, "youngest_first", checked(rules.truth, self.youngest_first, "preemption.youngest_first")
        )


def check_preemption(
    preemption: object, partitions: Sequence[Partition], qos: Sequence[QualityOfService]
) -> None:
    """Check that some jobs may preempt others.

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
