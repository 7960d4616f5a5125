"""Slurm's states of jobs as phases: what a job holds, and whether it may start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.errors import suggest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from batchlab.slurm.dumps.source import Place
    from batchlab.slurm.dumps.state import Phase

__all__ = ["has_failed_dependency", "open_dependency", "phase_of"]

_PHASES: dict[str, Phase] = {
    **dict.fromkeys(("RUNNING", "CONFIGURING", "SIGNALING", "RESIZING", "STOPPED", "EXPEDITING"), "running"),
    **dict.fromkeys(("COMPLETING", "STAGE_OUT"), "completing"),
    "SUSPENDED": "suspended",
    **dict.fromkeys(("PENDING", "REQUEUED", "REQUEUE_FED", "POWER_UP_NODE"), "pending"),
    **dict.fromkeys(("REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"), "held"),
    **dict.fromkeys(
        ("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE"),
        "ended",
    ),
    **dict.fromkeys(("OUT_OF_MEMORY", "REVOKED", "LAUNCH_FAILED", "RECONFIG_FAIL", "UPDATE_DB"), "ended"),
}
# Of several words the first of these phases decides: a cancelled job that completes holds its nodes.
_ORDER: tuple[Phase, ...] = ("completing", "held", "suspended", "running", "pending", "ended")
# These words are flags: they do not say what a job does if there is another word.
_FLAGS = frozenset({"LAUNCH_FAILED", "RECONFIG_FAIL", "UPDATE_DB", "STAGE_OUT"})
_HELD = frozenset({"JobHeldUser", "JobHeldAdmin", "JobHoldMaxRequeue", "ReservationDeleted"})


def phase_of(words: Sequence[str], place: Place, field: str, *, reason: str, is_held: bool) -> Phase:
    """Return the phase of a job.

    Parameters
    ----------
    words
        The words of its state.
    place, field
        Their place, for errors.
    reason, is_held
        Slurm's reason, and whether its priority is 0 or it is marked as held: such a job is held if it waits.

    Raises
    ------
    DumpError
        If there is no word, or an unknown one.
    """
    known = []
    for word in words:
        if word.upper() not in _PHASES:
            place.refuse(field, word, f"is no state of a job.{suggest(word.upper(), _PHASES).rstrip('.')}")
        known.append(word.upper())
    if not known:
        place.lacks(field)
    deciding = [word for word in known if word not in _FLAGS] or known
    phases = {_PHASES[word] for word in deciding}
    phase = next(each for each in _ORDER if each in phases)
    if phase == "pending" and (is_held or reason.partition(",")[0] in _HELD):
        return "held"
    return phase


def has_failed_dependency(dependency: str, reason: str) -> bool:
    """Return whether a dependency can never be fulfilled; of alternatives (``?``), all must have failed."""
    if reason == "DependencyNeverSatisfied":
        return True
    parts = dependency.split("?") if "?" in dependency else [dependency]
    return bool(dependency) and all("(failed)" in part for part in parts)


def open_dependency(dependency: str) -> str:
    """Return the dependencies that are not fulfilled, in the syntax of ``sbatch``."""
    sign = "?" if "?" in dependency else ","
    parts = [part.strip() for part in dependency.split(sign)]
    left = [part.partition("(")[0].replace("_*", "") for part in parts if "(fulfilled)" not in part]
    return sign.join(part for part in left if part)
