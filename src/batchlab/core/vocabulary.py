"""Names shared by several parts, each list once: types for checkers, tuples for checks and errors.

Each type is a ``Literal``, so that mypy and pyright find misspelt names. The tuple after it is derived from
it. This module needs the standard library only.
"""

from typing import Final, Literal, get_args

__all__ = [
    "CALL_STOPS",
    "DRAW_METHODS",
    "EXECUTORS",
    "EXTERNAL_EVENTS",
    "FAIR_SHARE_RULES",
    "FAVOURED_SIZES",
    "FORECAST_ARRIVALS",
    "FORECAST_STARTS",
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
    "WAIT_SPLITS",
    "WAKING_CAUSES",
    "WALLTIME_ACTIONS",
    "BackfillName",
    "CauseKind",
    "DisciplineName",
    "DrawMethod",
    "ExecutorName",
    "ExternalEvent",
    "FairShareRuleName",
    "FavouredSize",
    "ForecastArrivals",
    "ForecastStarts",
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
    "OverrunAction",
    "PredictorName",
    "PreemptionGround",
    "PreemptionMode",
    "ProcessorField",
    "RankOrder",
    "RejectionReason",
    "SharingModel",
    "SizeOrderName",
    "StopKind",
    "UsageDecay",
    "WaitSplit",
    "WaitingReason",
    "WakingCause",
    "WalltimeAction",
]

GENERATOR: Final = "Generator: batchlab"
"""Comment in SWF and TOML files written by batchlab."""

LARGEST_SEED: Final = 2**64 - 1
"""Maximum seed; seeds are integers from 0."""

JobState = Literal["loaded", "queued", "running", "completed", "killed", "rejected", "cancelled"]
JOB_STATES: tuple[JobState, ...] = get_args(JobState)
"""States of a job; the number of a state is its index."""

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
"""Reasons to reject a job; the number of a reason is its index plus 1."""

WaitingReason = Literal[
    "priority", "resources", "unavailable", "held", "dependency", "begin_time", "array_limit", "reservation"
]
WAITING_REASONS: tuple[WaitingReason, ...] = get_args(WaitingReason)
"""Reasons why a job waits, in addition to limits; the number of a reason is its index."""

WaitSplit = Literal["holders", "gates", "limits"]
WAIT_SPLITS: tuple[WaitSplit, ...] = get_args(WaitSplit)
"""What splits a wait: the use of the machine, why the job could not start, or which limit it exceeded."""

Gate = Literal[
    "held",
    "dependency",
    "begin_time",
    "array_limit",
    "promised",
    "own_reservation",
    "limit",
    "unavailable",
    "resources",
    "window",
    "not_looked_at",
    "order",
    "would_delay",
    "policy",
    "allocator",
    "before_state",
]
GATES: tuple[Gate, ...] = get_args(Gate)
"""What would have to go for a waiting job to start; the number of a gate is its index."""

PromiseCause = Literal["end", "arrival", "job", "node", "limit", "reservation", "scheduler", "start"]
PROMISE_CAUSES: tuple[PromiseCause, ...] = get_args(PromiseCause)
"""What can move a promised start; the bit of a cause is its index."""

CallStop = Literal[
    "default_queue_depth",
    "partition_job_depth",
    "sched_max_job_start",
    "bf_max_job_test",
    "bf_max_job_start",
    "bf_max_job_part",
    "bf_max_job_user",
    "bf_max_job_user_part",
    "bf_max_job_assoc",
    "bf_max_job_array_resv",
    "bf_max_time",
    "bf_continue",
    "bf_interval",
]
CALL_STOPS: tuple[CallStop, ...] = get_args(CallStop)
"""Parameters because of which Slurm's controller has not looked at a job; the number of one is its index."""

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
"""Actions of users and administrators, and faults; the number of an event is its index."""

InternalEvent = Literal["start", "interrupted", "completed", "killed", "rejected", "cancelled"]
INTERNAL_EVENTS: tuple[InternalEvent, ...] = get_args(InternalEvent)
"""Actions of a scheduler, and their consequences."""

JobType = Literal["rigid", "moldable", "malleable", "evolving", "adaptive"]
JOB_TYPES: tuple[JobType, ...] = get_args(JobType)
"""Job types by what may change the number of nodes, in the order of the kernel's numbers."""

RankOrder = Literal["packed", "cyclic", "mapped"]
RANK_ORDERS: tuple[RankOrder, ...] = get_args(RankOrder)
"""Mappings of ranks to places on the nodes of a job."""

WalltimeAction = Literal["run", "kill"]
WALLTIME_ACTIONS: tuple[WalltimeAction, ...] = get_args(WalltimeAction)
"""What happens to a job at its time limit."""

KeyEventName = Literal["arrival", "departure", "switch", "look"]
KEY_EVENTS: tuple[KeyEventName, ...] = get_args(KeyEventName)

DrawMethod = Literal["user_request", "user", "class", "forest", "limits", "true"]
DRAW_METHODS: tuple[DrawMethod, ...] = get_args(DrawMethod)
"""How a forecast draws the run times of jobs."""

ForecastArrivals = Literal["none", "week"]
FORECAST_ARRIVALS: tuple[ForecastArrivals, ...] = get_args(ForecastArrivals)
"""Which jobs arrive in the samples of a forecast."""

ForecastStarts = Literal["simulated", "log"]
FORECAST_STARTS: tuple[ForecastStarts, ...] = get_args(ForecastStarts)
"""With which starts an evaluation compares forecasts."""

OrderAtInstant = Literal["completions_first", "arrivals_first", "event_by_event"]
ORDERS_AT_INSTANT: tuple[OrderAtInstant, ...] = get_args(OrderAtInstant)
"""Order of events with the same time stamp."""

NodeSelection = Literal["linear", "cores"]
NODE_SELECTIONS: tuple[NodeSelection, ...] = get_args(NodeSelection)
"""Node selection of Slurm's controller: whole nodes, or nodes shared by CPUs and memory."""

JobCheck = Literal["nodes", "total", "none"]
JOB_CHECKS: tuple[JobCheck, ...] = get_args(JobCheck)
"""Conditions under which a job is rejected at its submission."""

OddJobAction = Literal["error", "reject", "leave_out"]
ODD_JOB_ACTIONS: tuple[OddJobAction, ...] = get_args(OddJobAction)
"""Treatment of jobs with names that the system does not know."""

SharingModel = Literal["max_min", "bottleneck_max_min", "fair_bottleneck"]
SHARING_MODELS: tuple[SharingModel, ...] = get_args(SharingModel)
"""How the activities of applications share the resources of a platform."""

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
"""Why a scheduler is called."""

StopKind = Literal["over", "instants", "decision"]
"""Why `Simulation.drive_until` of the compiled half returned."""

OverrunAction = Literal["extend", "cut", "keep"]
OVERRUN_ACTIONS: tuple[OverrunAction, ...] = get_args(OverrunAction)
"""Treatment of a job with a run time above its requested time, in readers of logs."""

InvalidAction = Literal["drop", "raise"]
INVALID_ACTIONS: tuple[InvalidAction, ...] = get_args(InvalidAction)
"""Treatment of an invalid job, in readers of logs."""

LogFormat = Literal["swf", "sacct", "jobcomp", "pbs", "cobalt", "lsf", "sge", "maui", "gwf", "mapped"]
LOG_FORMATS: tuple[LogFormat, ...] = get_args(LogFormat)
"""The formats of logs: the archive's format, and the accounting formats of batch systems."""

ProcessorField = Literal["requested", "allocated"]
PROCESSOR_FIELDS: tuple[ProcessorField, ...] = get_args(ProcessorField)
"""The preferred source of the number of processors in a log."""

LublinKind = Literal["all", "batch", "interactive", "both"]
LUBLIN_KINDS: tuple[LublinKind, ...] = get_args(LublinKind)
"""The jobs generated by the model of Lublin and Feitelson."""

FairShareRuleName = Literal["fair_tree", "classic", "depth_oblivious", "pbs"]
FAIR_SHARE_RULES: tuple[FairShareRuleName, ...] = get_args(FairShareRuleName)
"""Fair-share rules, in the order of the kernel's table."""

UsageDecay = Literal["exact", "slurm", "steps"]
USAGE_DECAYS: tuple[UsageDecay, ...] = get_args(UsageDecay)
"""Decay of past usage."""

PreemptionGround = Literal["tier", "qos"]
PREEMPTION_GROUNDS: tuple[PreemptionGround, ...] = get_args(PreemptionGround)
"""The criterion by which jobs may preempt others."""

WakingCause = Literal["job", "queue"]
WAKING_CAUSES: tuple[WakingCause, ...] = get_args(WakingCause)
"""Why sleeping nodes are woken."""

PreemptionMode = Literal["cancel", "requeue", "suspend"]
PREEMPTION_MODES: tuple[PreemptionMode, ...] = get_args(PreemptionMode)
"""What happens to preempted jobs."""

FavouredSize = Literal["large", "small", "large_for_time", "small_for_time"]
FAVOURED_SIZES: tuple[FavouredSize, ...] = get_args(FavouredSize)
"""Jobs with a large size factor in the multifactor priority."""

ExecutorName = Literal["threads", "processes"]
EXECUTORS: tuple[ExecutorName, ...] = get_args(ExecutorName)
"""Names of executors for the runs of an experiment."""

# The types of fields that name a rule. All rules, with their meanings and sources, are in the tables of
# `batchlab.policy.registry`.
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
SizeOrderName = Literal["fcfs", "sjf", "srtf", "drf", "equipartition"]
PredictorName = Literal["requested", "clairvoyant", "last_two", "quantile", "recursive_mean"]
