"""The names that several parts share, each list once: types for checkers, tuples for checks and errors.

Each type is a ``Literal``, so that mypy and pyright catch a misspelt name; the tuple after it is made of it.
Needs nothing but the standard library.
"""

from typing import Final, Literal, get_args

__all__ = [
    "EXECUTORS",
    "EXTERNAL_EVENTS",
    "FAIR_SHARE_RULES",
    "FAVOURED_SIZES",
    "GENERATOR",
    "INTERNAL_EVENTS",
    "INVALID_ACTIONS",
    "JOB_CHECKS",
    "JOB_STATES",
    "JOB_TYPES",
    "KEY_EVENTS",
    "LARGEST_SEED",
    "LOG_FORMATS",
    "LUBLIN_KINDS",
    "NODE_SELECTIONS",
    "ODD_JOB_ACTIONS",
    "ORDERS_AT_INSTANT",
    "OVERRUN_ACTIONS",
    "PREEMPTION_GROUNDS",
    "PREEMPTION_MODES",
    "PROCESSOR_FIELDS",
    "RANK_ORDERS",
    "REJECTION_REASONS",
    "SHARING_MODELS",
    "USAGE_DECAYS",
    "WAITING_REASONS",
    "WAKING_CAUSES",
    "WALLTIME_ACTIONS",
    "AllocatorName",
    "BackfillName",
    "CauseKind",
    "DisciplineName",
    "ExecutorName",
    "ExternalEvent",
    "FairShareRuleName",
    "FavouredSize",
    "InternalEvent",
    "InvalidAction",
    "JobCheck",
    "JobState",
    "JobType",
    "KeyEventName",
    "LogFormat",
    "LublinKind",
    "NodeSelection",
    "OddJobAction",
    "OrderAtInstant",
    "OrderName",
    "OverrunAction",
    "PredictorName",
    "PreemptionGround",
    "PreemptionMode",
    "ProcessorField",
    "RankOrder",
    "RejectionReason",
    "SchedulerName",
    "SharingModel",
    "SizeOrderName",
    "StopKind",
    "UsageDecay",
    "WaitingReason",
    "WakingCause",
    "WalltimeAction",
]

GENERATOR: Final = "Generator: batchlab"
"""The comment that marks files in SWF and TOML that batchlab wrote."""

LARGEST_SEED: Final = 2**64 - 1
"""Seeds are integers from 0 to this."""

JobState = Literal["loaded", "queued", "running", "completed", "killed", "rejected", "cancelled"]
JOB_STATES: tuple[JobState, ...] = get_args(JobState)
"""The states of a job; a state's number is its place here."""

RejectionReason = Literal[
    "lacks_resource",
    "never_fits",
    "dependency",
    "policy",
    "queue",
    "partition",
    "limit",
    "reservation",
    "unknown",
]
REJECTION_REASONS: tuple[RejectionReason, ...] = get_args(RejectionReason)
"""Why a job is rejected; a reason's number is its place here, counted from 1."""

WaitingReason = Literal[
    "priority", "resources", "unavailable", "held", "dependency", "begin_time", "array_limit", "reservation"
]
WAITING_REASONS: tuple[WaitingReason, ...] = get_args(WaitingReason)
"""Why a job waits, besides the names of limits; a reason's number is its place here."""

ExternalEvent = Literal[
    "submit",
    "cancel",
    "kill",
    "end",
    "requeue",
    "hold",
    "release",
    "requested_time",
    "priority",
    "drain",
    "resume",
    "remove",
    "add",
    "down",
    "up",
    "limit",
    "reserve",
    "unreserve",
    "scheduler_stop",
    "scheduler_start",
]
EXTERNAL_EVENTS: tuple[ExternalEvent, ...] = get_args(ExternalEvent)
"""What users, administrators and faults do; an event's number is its place here."""

InternalEvent = Literal["start", "interrupted", "completed", "killed", "rejected", "cancelled"]
INTERNAL_EVENTS: tuple[InternalEvent, ...] = get_args(InternalEvent)
"""What a scheduler does, and what follows from it."""

JobType = Literal["rigid", "moldable", "malleable", "evolving", "adaptive"]
JOB_TYPES: tuple[JobType, ...] = get_args(JobType)
"""What may change the number of a job's nodes; in the order in which the kernel counts them."""

RankOrder = Literal["packed", "cyclic", "mapped"]
RANK_ORDERS: tuple[RankOrder, ...] = get_args(RankOrder)
"""How the ranks of a job take the places on its nodes, by name."""

WalltimeAction = Literal["run", "kill"]
WALLTIME_ACTIONS: tuple[WalltimeAction, ...] = get_args(WalltimeAction)
"""What happens to a job at its requested time."""

KeyEventName = Literal["arrival", "departure", "switch", "look"]
KEY_EVENTS: tuple[KeyEventName, ...] = get_args(KeyEventName)

OrderAtInstant = Literal["completions_first", "arrivals_first", "event_by_event"]
ORDERS_AT_INSTANT: tuple[OrderAtInstant, ...] = get_args(OrderAtInstant)
"""What comes first of the events of one instant."""

NodeSelection = Literal["linear", "cores"]
NODE_SELECTIONS: tuple[NodeSelection, ...] = get_args(NodeSelection)
"""Which nodes Slurm's controller gives to jobs: whole ones, or shared by CPUs and memory."""

JobCheck = Literal["nodes", "total", "none"]
JOB_CHECKS: tuple[JobCheck, ...] = get_args(JobCheck)

OddJobAction = Literal["error", "reject", "leave_out"]
ODD_JOB_ACTIONS: tuple[OddJobAction, ...] = get_args(OddJobAction)
"""What happens to jobs that name what the system does not have."""
"""What a job is checked for at its submission."""

SharingModel = Literal["max_min", "bottleneck_max_min", "fair_bottleneck"]
SHARING_MODELS: tuple[SharingModel, ...] = get_args(SharingModel)
"""How the activities of applications share a platform."""

Fidelity = Literal["exact", "aggregated"]
FIDELITIES: Final[tuple[Fidelity, ...]] = get_args(Fidelity)
"""How the messages of a skeleton are simulated: one by one, or round by round."""

CauseKind = Literal[
    "instant",
    "periodic",
    "submit",
    "finalise",
    "kill",
    "scheduling_point",
    "evolving_request",
    "reconfiguration",
]
"""Why a scheduler is asked."""

StopKind = Literal["over", "instants", "decision"]
"""Why the compiled half of a simulation is driven no further: see `Simulation.drive_until` there."""

OverrunAction = Literal["extend", "cut", "keep"]
OVERRUN_ACTIONS: tuple[OverrunAction, ...] = get_args(OverrunAction)
"""What a reader does with a job whose run time is above its requested time."""

InvalidAction = Literal["drop", "raise"]
INVALID_ACTIONS: tuple[InvalidAction, ...] = get_args(InvalidAction)
"""What a reader does with a job that breaks a rule."""

LogFormat = Literal["swf", "sacct", "jobcomp", "pbs", "cobalt", "lsf", "sge", "maui", "gwf", "mapped"]
LOG_FORMATS: tuple[LogFormat, ...] = get_args(LogFormat)
"""The formats of logs: that of the archive, and those of the accounting of batch systems."""

ProcessorField = Literal["requested", "allocated"]
PROCESSOR_FIELDS: tuple[ProcessorField, ...] = get_args(ProcessorField)
"""What of a log is taken first for the number of processors."""

LublinKind = Literal["all", "batch", "interactive", "both"]
LUBLIN_KINDS: tuple[LublinKind, ...] = get_args(LublinKind)
"""Which jobs the model of Lublin and Feitelson makes."""

FairShareRuleName = Literal["fair_tree", "classic", "depth_oblivious", "pbs"]
FAIR_SHARE_RULES: tuple[FairShareRuleName, ...] = get_args(FairShareRuleName)
"""How shares and usage become factors; in the order of the kernel's table."""

UsageDecay = Literal["exact", "slurm", "steps"]
USAGE_DECAYS: tuple[UsageDecay, ...] = get_args(UsageDecay)
"""How past use fades."""

PreemptionGround = Literal["tier", "qos"]
PREEMPTION_GROUNDS: tuple[PreemptionGround, ...] = get_args(PreemptionGround)
"""By what jobs may preempt others."""

WakingCause = Literal["job", "queue"]
WAKING_CAUSES: tuple[WakingCause, ...] = get_args(WakingCause)
"""What sleeping nodes are woken for."""

PreemptionMode = Literal["cancel", "requeue", "suspend"]
PREEMPTION_MODES: tuple[PreemptionMode, ...] = get_args(PreemptionMode)
"""What becomes of jobs that are preempted."""

FavouredSize = Literal["large", "small", "large_for_time", "small_for_time"]
FAVOURED_SIZES: tuple[FavouredSize, ...] = get_args(FavouredSize)
"""Which jobs have a large factor of the size in the multifactor priority."""

ExecutorName = Literal["threads", "processes"]
EXECUTORS: tuple[ExecutorName, ...] = get_args(ExecutorName)
"""What does the runs of an experiment, unless it is an executor of one's own."""

# The rules themselves, with their meanings and sources, are the tables of `batchlab.policy.registry`.
OrderName = Literal[
    "fcfs",
    "sjf",
    "ljf",
    "saf",
    "laf",
    "sjf_node_hours",
    "ljf_node_hours",
    "smallest",
    "largest",
    "mpp",
    "wfp3",
    "unicef",
    "f1",
    "f2",
    "f3",
    "f4",
    "random",
    "expression",
    "sbp",
    "multifactor",
    "reject",
]
BackfillName = Literal["none", "first_fit", "easy", "conservative", "slurm"]
DisciplineName = Literal[
    "lcfs",
    "lpf",
    "spf",
    "lpf_np",
    "spf_np",
    "easy_literal",
    "easy_skip",
    "server_filling",
    "server_filling_srpt",
    "divisor_filling",
    "most_servers_first",
    "least_servers_first",
    "max_weight",
]
SchedulerName = Literal["malleable", "equipartition", "easy_accasim"]
SizeOrderName = Literal["fcfs", "sjf", "srtf", "drf", "equipartition"]
AllocatorName = Literal[
    "first_fit",
    "best_fit",
    "worst_fit",
    "random",
    "contiguous",
    "next_fit",
    "balanced",
    "round_robin",
    "dual_end",
    "blocks",
    "compact",
    "hop_bytes",
    "fewest_groups",
    "sub_torus",
]
PredictorName = Literal["requested", "clairvoyant", "last_two", "quantile", "recursive_mean"]
