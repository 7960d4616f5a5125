"""The cluster-wide settings of a ``slurm.conf``: selection, preemption, times and memory."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from batchlab.errors import one_line
from batchlab.slurm.configuration.place import refuse
from batchlab.slurm.configuration.values import KINDS, plugin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from batchlab.slurm.configuration.settings import Settings

__all__ = ["Preemption", "Selection", "Timing", "preemption", "selection", "timing"]

_SELECTORS = ("linear", "cons_tres", "cons_res", "cray_aries")
_PREEMPTION = ("none", "partition_prio", "qos")
_MODES = ("cancel", "requeue", "suspend")
_PREEMPT = ("reorder_count", "strict_order", "youngest_first")
_MEMORY = {
    "per_cpu": "DefMemPerCPU",
    "per_node": "DefMemPerNode",
    "per_gpu": "DefMemPerGPU",
    "most_per_cpu": "MaxMemPerCPU",
    "most_per_node": "MaxMemPerNode",
}


@dataclass(frozen=True)
class Selection:
    """The resources that jobs are allocated.

    Attributes
    ----------
    type
        ``linear``: whole nodes; ``cons_tres``: cores, memory and devices of nodes.
    unit
        ``node``, ``cpu``, ``core`` or ``socket``.
    memory
        Whether memory is a consumable resource.
    options
        SelectTypeParameters in lower case.
    cpus_per_gpu
        DefCPUPerGPU.
    default_memory
        Default memory in MiB, by ``per_cpu``, ``per_node``, ``per_gpu``; and the bounds ``most_per_cpu``,
        ``most_per_node``; only those that are set.
    """

    type: str = "linear"
    unit: str = "node"
    memory: bool = False
    options: frozenset[str] = frozenset()
    cpus_per_gpu: int = 0
    default_memory: Mapping[str, int] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Preemption:
    """The settings of preemption.

    Attributes
    ----------
    type
        ``none``, ``partition_prio`` or ``qos``.
    mode
        ``off``, ``cancel``, ``requeue`` or ``suspend``.
    gang, within, by_priority
        Whether jobs are gang-scheduled; whether jobs of the same QOS preempt each other; whether only jobs of
        lower priority are preempted.
    exempt_time
        Minimum run time of a victim, in seconds.
    reorder_count, strict_order, youngest_first
        The order in which victims are selected.
    suspend_grace_time
        Seconds between the signals when a job is suspended.
    """

    type: str = "none"
    mode: str = "off"
    gang: bool = False
    within: bool = False
    by_priority: bool = False
    exempt_time: float = 0.0
    reorder_count: int = 1
    strict_order: bool = False
    youngest_first: bool = False
    suspend_grace_time: int = 2


@dataclass(frozen=True)
class Timing:
    """Times that influence when jobs start and nodes become free.

    Attributes
    ----------
    kill_wait, complete_wait, batch_start_timeout, minimum_job_age, message_timeout
        KillWait, CompleteWait, BatchStartTimeout, MinJobAge and MessageTimeout, seconds.
    slurmd_timeout, slurmctld_timeout
        Seconds after which a node or controller that does not respond is considered down.
    over_time_limit
        Minutes; infinite without a bound.
    epilog_message_time
        EpilogMsgTime, microseconds.
    epilog, prolog
        Whether programs run at the end and the beginning of jobs; with an epilog, nodes trigger the
        scheduler.
    credential_lifetime
        cred_expire of AuthInfo, seconds: a requeued job waits one second longer than this.
    requeue
        Whether batch jobs may be requeued.
    """

    kill_wait: int = 30
    complete_wait: int = 0
    batch_start_timeout: int = 10
    minimum_job_age: int = 300
    message_timeout: int = 10
    slurmd_timeout: int = 300
    slurmctld_timeout: int = 120
    over_time_limit: float = 0
    epilog_message_time: int = 2000
    epilog: bool = False
    prolog: bool = False
    credential_lifetime: int = 120
    requeue: bool = True


def selection(settings: Settings, usual: str) -> Selection:
    """Parse the selection of resources; `usual` is the default plug-in."""
    found = settings.find("SelectType")
    kind = usual if found is None else plugin(found.value)
    if found is not None and kind not in _SELECTORS:
        rule = "must be select/linear or select/cons_tres"
        refuse(found.place, f"{found.written} = {one_line(found.value)}; {rule}.")
    options = frozenset(settings.options("SelectTypeParameters"))
    units = [unit for unit in ("cpu", "core", "socket") if options & {f"cr_{unit}", f"cr_{unit}_memory"}]
    linear = kind == "linear"
    usual_memory = not linear and not units and "cr_memory" not in options
    return Selection(
        type=kind,
        unit="node" if linear else (units[0] if units else "core"),
        memory=usual_memory or any(name.endswith("_memory") for name in options),
        options=options,
        cpus_per_gpu=settings.whole("DefCPUPerGPU") or 0,
        default_memory={key: given for key, name in _MEMORY.items() if (given := settings.whole(name))},
    )


def preemption(settings: Settings) -> Preemption:
    """Parse the settings of preemption."""
    found = settings.find("PreemptType")
    kind = "none" if found is None else plugin(found.value)
    if found is not None and kind not in _PREEMPTION:
        refuse(
            found.place,
            f"{found.written} = {one_line(found.value)}; must be one of {', '.join(_PREEMPTION)}.",
        )
    modes = settings.options("PreemptMode")
    now = settings.options("PreemptParameters")
    before = settings.options("SchedulerParameters")
    youngest, strict = (name in now or f"preempt_{name}" in before for name in reversed(_PREEMPT[1:]))
    reorder = now.get("reorder_count") or before.get("preempt_reorder_count") or "1"
    grace = now.get("suspend_grace_time") or "2"
    exempt = settings.time("PreemptExemptTime")
    return Preemption(
        type=kind,
        mode=next((mode for mode in _MODES if mode in modes), "off"),
        gang="gang" in modes,
        within="within" in modes,
        by_priority="priority" in modes,
        exempt_time=0.0 if exempt is None or math.isinf(exempt) else exempt,
        reorder_count=int(reorder) if reorder.isdecimal() and len(reorder) < _DIGITS else 1,
        strict_order=strict,
        youngest_first=youngest,
        suspend_grace_time=int(grace) if grace.isdecimal() and len(grace) < _DIGITS else 2,
    )


_DIGITS = 10


def timing(settings: Settings) -> Timing:
    """Parse the times of the cluster."""

    def whole(name: str) -> int:
        return settings.whole(name) or 0

    authentication = settings.find("AuthInfo")
    given = dict(authentication.take(_options)) if authentication else {}
    lifetime = (given.get("cred_expire") or "").strip()
    return Timing(
        kill_wait=whole("KillWait"),
        complete_wait=whole("CompleteWait"),
        batch_start_timeout=whole("BatchStartTimeout"),
        minimum_job_age=whole("MinJobAge"),
        message_timeout=whole("MessageTimeout"),
        slurmd_timeout=whole("SlurmdTimeout"),
        slurmctld_timeout=whole("SlurmctldTimeout"),
        over_time_limit=cast("float", settings.value(KINDS["minutes"], "OverTimeLimit")),
        epilog_message_time=whole("EpilogMsgTime"),
        epilog=bool(settings.text("Epilog")),
        prolog=bool(settings.text("Prolog")),
        credential_lifetime=int(lifetime) if lifetime.isdecimal() and len(lifetime) < _DIGITS else 120,
        requeue=bool(settings.whole("JobRequeue")),
    )


def _options(text: str) -> tuple[tuple[str, str | None], ...]:
    return cast("tuple[tuple[str, str | None], ...]", KINDS["options"](text))
