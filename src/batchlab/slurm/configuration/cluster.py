"""The cluster-wide settings of a ``slurm.conf``: selection, preemption, times, scheduler and priorities."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, cast

from batchlab.errors import one_line
from batchlab.slurm.configuration.values import KINDS, plugin, refuse

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from batchlab.slurm.configuration.settings import Settings

__all__ = [
    "Preemption",
    "PriorityParameters",
    "SchedulerParameters",
    "Selection",
    "Timing",
    "preemption",
    "priority_parameters",
    "scheduler_parameters",
    "selection",
    "timing",
]

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


_ALIASES = {"max_rpc_count": "max_rpc_cnt", "bf_yield_rpc_count": "bf_yield_rpc_cnt"}
_MOST = 2**31 - 1
_MEANS = ("min", "avg", "max")


def _number(default: int, least: int = 0, most: int = _MOST, *, off: bool = False) -> Any:  # noqa: ANN401
    """Return the field of a numeric option; `off`: -1 disables it."""
    return field(default=default, metadata={"least": least, "most": most, "off": off})


@dataclass(frozen=True)
class SchedulerParameters:
    """Parameters for the times, the depth and the planning horizon of Slurm's schedulers.

    Each field is the option of the same name; ``type`` is SchedulerType without its prefix. Times have
    Slurm's units: seconds, except for `bf_window` and `delay_boot` (minutes), and `bf_yield_interval`,
    `bf_yield_sleep`, `build_queue_timeout` and `sched_min_interval` (microseconds). 0 means no bound for
    numbers of jobs. None is a default that depends on other values: `bf_max_time` is `bf_interval`,
    `bf_node_space_size` is `bf_max_job_test`, `max_sched_time` is half of MessageTimeout, at most 2 s,
    `max_array_tasks` is MaxArraySize, `bf_yield_rpc_cnt` is a tenth of `max_rpc_cnt`, at least 20,
    `requeue_delay` is the lifetime of credentials. -1 disables `bf_interval` and `sched_interval`.
    """

    type: str = "backfill"
    allow_zero_lic: bool = False
    assoc_limit_stop: bool = False
    batch_sched_delay: int = _number(3)
    bf_allow_magnetic_slot: bool = False
    bf_busy_nodes: bool = False
    bf_continue: bool = False
    bf_hetjob_immediate: bool = False
    bf_hetjob_prio: str = ""
    bf_interval: int = _number(30, 1, 10_800, off=True)
    bf_job_part_count_reserve: int = _number(0, 0, 100_000)
    bf_licenses: bool = False
    bf_max_job_array_resv: int = _number(20, 0, 1_000)
    bf_max_job_assoc: int = _number(0)
    bf_max_job_part: int = _number(0)
    bf_max_job_start: int = _number(0, 0, 10_000)
    bf_max_job_test: int = _number(500, 1, 1_000_000)
    bf_max_job_user: int = _number(0)
    bf_max_job_user_part: int = _number(0)
    bf_max_time: int | None = field(default=None, metadata={"least": 1, "most": 3_600})
    bf_min_age_reserve: int = _number(0, 0, 2_592_000)
    bf_min_prio_reserve: int = _number(0, 0, 2**63)
    bf_node_space_size: int | None = field(default=None, metadata={"least": 2, "most": 2_000_000})
    bf_one_resv_per_job: bool = False
    bf_resolution: int = _number(60, 1, 3_600)
    bf_running_job_reserve: bool = False
    bf_topopt_enable: bool = False
    bf_topopt_iterations: int = _number(10, 2, 30)
    bf_window: int = _number(1_440, 1, 43_200)
    bf_window_linear: int = _number(0)
    bf_yield_interval: int = _number(2_000_000, 1, 10_000_000)
    bf_yield_rpc_cnt: int | None = field(default=None, metadata={"least": 0, "most": 200})
    bf_yield_sleep: int = _number(500_000, 1, 10_000_000)
    build_queue_timeout: int = _number(2_000_000, 1)
    correspond_after_task_cnt: int = _number(10)
    default_queue_depth: int = _number(100)
    defer: bool = False
    defer_batch: bool = False
    delay_boot: int = _number(0)
    disable_job_shrink: bool = False
    max_array_tasks: int | None = field(default=None, metadata={"least": 0, "most": _MOST})
    max_rpc_cnt: int = _number(0, 0, 1_000)
    max_sched_time: int | None = field(default=None, metadata={"least": 1, "most": _MOST})
    max_switch_wait: int = _number(300)
    nohold_on_prolog_fail: bool = False
    pack_serial_at_end: bool = False
    partition_job_depth: int = _number(0)
    preempt_reorder_count: int = _number(1)
    preempt_strict_order: bool = False
    preempt_youngest_first: bool = False
    reduce_completing_frag: bool = False
    requeue_delay: int | None = field(default=None, metadata={"least": 0, "most": _MOST})
    requeue_on_resume_failure: bool = False
    sched_interval: int = _number(60, 1, off=True)
    sched_max_job_start: int = _number(0)
    sched_min_interval: int = _number(2)
    spec_cores_first: bool = False
    time_min_as_soft_limit: bool = False


def scheduler_parameters(
    kind: str, options: Mapping[str, str | None]
) -> tuple[SchedulerParameters, list[str]]:
    """Parse the options of a scheduler.

    Parameters
    ----------
    kind
        SchedulerType without its prefix.
    options
        Values by lower-case name; None for an option without a value. Unknown options are ignored.

    Returns
    -------
    tuple
        The parameters, and messages on Slurm's corrections: an invalid number, or one outside its bounds, is
        replaced by the default.
    """
    given: dict[str, object] = {}
    mended: list[str] = []
    for name, value in options.items():
        each = _FIELDS.get(_ALIASES.get(name, name))
        if each is None:
            continue
        if each.type == "bool":
            given[each.name] = True
        elif each.name == "bf_hetjob_prio":
            word = (value or "").lower()
            given[each.name] = word if word in _MEANS else ""
            if word not in _MEANS:
                mended.append(f"{name}={one_line(str(value))} is not min, avg or max; Slurm leaves it out")
        else:
            number = _within(value, each.metadata)
            if number is None:
                usual = "its default" if each.default is None else each.default
                mended.append(f"{name}={one_line(str(value))} is out of its bounds; Slurm takes {usual}")
            else:
                given[each.name] = number
    return SchedulerParameters(kind, **cast("dict[str, Any]", given)), mended


_FIELDS = {each.name: each for each in fields(SchedulerParameters) if each.name != "type"}


def _within(text: str | None, bounds: Mapping[str, int]) -> int | None:
    """Parse a number within bounds; None if invalid or outside."""
    if text == "-1" and bounds.get("off"):
        return -1
    if not text or not text.isascii() or not text.isdecimal() or len(text) > len(str(2**64)):
        return None
    return int(text) if bounds["least"] <= int(text) <= bounds["most"] else None


@dataclass(frozen=True)
class PriorityParameters:
    """The order of jobs.

    Attributes
    ----------
    type
        ``basic`` (by submission) or ``multifactor``.
    age, association, fair_share, job_size, partition, qos
        The weights.
    tres
        Weights of resources, as ``{"cpu": 300.0}``.
    max_age, half_life, period
        PriorityMaxAge, PriorityDecayHalfLife (0: no decay) and PriorityCalcPeriod, seconds.
    favours_small
        PriorityFavorSmall.
    damping
        FairShareDampeningFactor.
    reset_period
        PriorityUsageResetPeriod in upper case.
    flags
        PriorityFlags in lower case.
    database
        False if AccountingStorageType names something other than slurmdbd. Only the thread that decays usage
        ages waiting jobs, and Slurm starts it with slurmdbd alone. True where the key is not given, since
        parts of files often lack it.
    """

    type: str = "basic"
    age: int = 0
    association: int = 0
    fair_share: int = 0
    job_size: int = 0
    partition: int = 0
    qos: int = 0
    tres: Mapping[str, float] = field(default_factory=dict, hash=False)
    max_age: float = 604_800.0
    half_life: float = 604_800.0
    period: float = 300.0
    favours_small: bool = False
    damping: int = 1
    reset_period: str = "NONE"
    flags: frozenset[str] = frozenset()
    database: bool = True

    @property
    def fair_share_rule(self) -> str:
        """``fair_tree``, ``classic`` or ``depth_oblivious``."""
        if "depth_oblivious" in self.flags:
            return "depth_oblivious"
        return "classic" if "no_fair_tree" in self.flags else "fair_tree"

    @property
    def order(self) -> str:
        """The spec string of the nearest order: ``multifactor(…)``, or ``fcfs`` for priority/basic."""
        if self.type != "multifactor":
            return "fcfs"
        named = ("age", "association", "fair_share", "job_size", "partition", "qos")
        parts = [f"{name}={value}" for name in named if (value := getattr(self, name))]
        resources = [f"{_resource(name)}={weight:g}" for name, weight in self.tres.items() if weight]
        parts += [f'tres="{", ".join(resources)}"'] if resources else []
        if not parts:
            return "fcfs"
        small = "small" if self.favours_small else "large"
        favour = f"{small}_for_time" if "small_relative_to_time" in self.flags else small
        parts += [f"max_age={self.max_age:g}", f"period={self.period:g}"]
        parts += [f"favour={favour}"] if favour != "large" else []
        return f"multifactor({', '.join(parts)})"

    def among(self, resources: Collection[str], *, accounts: bool, qualities: bool) -> PriorityParameters:
        """Remove the weights of missing resources, accounts and QOS, and of age without a database."""
        return replace(
            self,
            age=self.age if self.database else 0,
            association=self.association if accounts else 0,
            fair_share=self.fair_share if accounts else 0,
            qos=self.qos if qualities else 0,
            tres={name: weight for name, weight in self.tres.items() if name in resources},
        )


def _resource(tres: str) -> str:
    return "core" if tres == "cpu" else tres.removeprefix("gres/")


def priority_parameters(settings: Settings, usual: str) -> PriorityParameters:
    """Parse the order of jobs; `usual` is the default type."""
    given = settings.find("PriorityType")
    storage = settings.find("AccountingStorageType")

    def weight(name: str) -> int:
        return settings.whole(f"PriorityWeight{name}") or 0

    def time(name: str) -> float:
        return cast("float", settings.time(name))

    return PriorityParameters(
        type=usual if given is None else plugin(given.value),
        age=weight("Age"),
        association=weight("Assoc"),
        fair_share=weight("Fairshare"),
        job_size=weight("JobSize"),
        partition=weight("Partition"),
        qos=weight("QOS"),
        tres=cast("Mapping[str, float]", settings.value(KINDS["weights"], "PriorityWeightTRES") or {}),
        max_age=time("PriorityMaxAge"),
        half_life=time("PriorityDecayHalfLife"),
        period=time("PriorityCalcPeriod"),
        favours_small=settings.true("PriorityFavorSmall"),
        damping=settings.whole("FairShareDampeningFactor") or 1,
        reset_period=(settings.text("PriorityUsageResetPeriod") or "NONE").upper(),
        flags=frozenset(settings.options("PriorityFlags")),
        database=storage is None or plugin(storage.value) == "slurmdbd",
    )
