"""Qualities of service with their limits."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from batchlab.slurm.configuration.values import KINDS, seconds, tres

if TYPE_CHECKING:
    from collections.abc import Mapping

    from batchlab.slurm.configuration.place import Place
    from batchlab.slurm.configuration.settings import Setting, Settings

__all__ = ["Quality", "quality"]

_COUNTS = {
    "GrpJobs": ("GrpJobs",),
    "GrpSubmitJobs": ("GrpSubmitJobs", "GrpSubmit"),
    "GrpJobsAccrue": ("GrpJobsAccrue",),
    "MaxJobsPerUser": ("MaxJobsPerUser", "MaxJobsPU"),
    "MaxJobsPerAccount": ("MaxJobsPerAccount", "MaxJobsPA"),
    "MaxSubmitJobsPerUser": ("MaxSubmitJobsPerUser", "MaxSubmitJobsPU", "MaxSubmitPU"),
    "MaxSubmitJobsPerAccount": ("MaxSubmitJobsPerAccount", "MaxSubmitJobsPA", "MaxSubmitPA"),
    "MaxJobsAccruePerUser": ("MaxJobsAccruePerUser", "MaxJobsAccruePU"),
    "MaxJobsAccruePerAccount": ("MaxJobsAccruePerAccount", "MaxJobsAccruePA"),
    "MinPrioThreshold": ("MinPrioThreshold", "MinPrioThresh"),
}
_AMOUNTS = {
    "GrpTRES": ("GrpTRES",),
    "GrpTRESMins": ("GrpTRESMins",),
    "GrpTRESRunMins": ("GrpTRESRunMins",),
    "MaxTRESPerJob": ("MaxTRESPerJob", "MaxTRES"),
    "MaxTRESPerNode": ("MaxTRESPerNode",),
    "MaxTRESPerUser": ("MaxTRESPerUser", "MaxTRESPU"),
    "MaxTRESPerAccount": ("MaxTRESPerAccount", "MaxTRESPA"),
    "MaxTRESRunMinsPerUser": ("MaxTRESRunMinsPerUser", "MaxTRESRunMinsPU"),
    "MaxTRESRunMinsPerAccount": ("MaxTRESRunMinsPerAccount", "MaxTRESRunMinsPA"),
    "MaxTRESMinsPerJob": ("MaxTRESMinsPerJob", "MaxTRESMins"),
    "MinTRESPerJob": ("MinTRESPerJob", "MinTRES"),
}
_MINUTES = {"MaxWallDurationPerJob": ("MaxWallDurationPerJob", "MaxWall"), "GrpWall": ("GrpWall",)}


@dataclass(frozen=True)
class Quality:
    """A quality of service.

    Attributes
    ----------
    name, place
        Its name in lower case, and its position.
    priority
        Its term in the priority of jobs.
    usage_factor, limit_factor
        The factors for charged usage, and for limits of associations.
    preempts
        The QOS that its jobs may preempt.
    preempt_mode
        In lower case; empty to use the setting of the cluster.
    exempt_time
        Minimum run time of its jobs before preemption, in seconds; None to use the setting of the cluster.
    grace_time
        Seconds that its preempted jobs continue to run.
    flags
        In lower case.
    counts, amounts, minutes
        Limits that are set, by the longer name: GrpJobs, MaxTRESPerUser, MaxWallDurationPerJob.
    """

    name: str
    place: Place
    priority: int = 0
    usage_factor: float = 1.0
    limit_factor: float = 1.0
    preempts: tuple[str, ...] = ()
    preempt_mode: tuple[str, ...] = ()
    exempt_time: float | None = None
    grace_time: float = 0.0
    flags: frozenset[str] = frozenset()
    counts: Mapping[str, int] = field(default_factory=dict, hash=False)
    amounts: Mapping[str, Mapping[str, int | None]] = field(default_factory=dict, hash=False)
    minutes: Mapping[str, int] = field(default_factory=dict, hash=False)


def quality(settings: Settings, place: Place) -> Quality:
    """Create a quality of service from its settings."""
    counts = {key: settings.whole(*names) for key, names in _COUNTS.items()}
    amounts = {key: settings.value(tres, *names) for key, names in _AMOUNTS.items()}
    minutes = {key: settings.value(KINDS["minutes"], *names) for key, names in _MINUTES.items()}
    grace = settings.find("GraceTime")
    modes = tuple(mode for mode in settings.options("PreemptMode") if mode not in {"cluster", "off"})
    return Quality(
        name=(settings.text("Name") or "").lower(),
        place=place,
        priority=settings.whole("Priority") or 0,
        usage_factor=cast("float", settings.value(KINDS["number"], "UsageFactor")),
        limit_factor=cast("float", settings.value(KINDS["number"], "LimitFactor")),
        preempts=tuple(name.lower() for name in settings.names("Preempt")),
        preempt_mode=modes,
        exempt_time=settings.time("PreemptExemptTime"),
        grace_time=0.0 if grace is None else _grace(grace),
        flags=frozenset(settings.options("Flags")),
        counts={key: value for key, value in counts.items() if value is not None},
        amounts={key: value for key, value in amounts.items() if value},
        minutes={
            key: int(cast("float", value))
            for key, value in minutes.items()
            if value is not None and not math.isinf(cast("float", value))
        },
    )


def _grace(setting: Setting) -> float:
    """Parse a grace time: a plain number is in seconds."""
    if setting.value.isdecimal() and len(setting.value) < len("10000000000"):
        return float(setting.value)
    given = setting.take(seconds)
    return 0.0 if math.isinf(given) else float(given)
