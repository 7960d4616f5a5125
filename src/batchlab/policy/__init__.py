"""Policies: which job runs next, and where."""

from batchlab.lazy import listing
from batchlab.policy.allocator import Allocator
from batchlab.policy.malleable import Malleable
from batchlab.policy.policy import Policy
from batchlab.policy.registry import (
    ALLOCATORS,
    BACKFILLS,
    DISCIPLINES,
    ORDERS,
    PREDICTORS,
    SCHEDULERS,
    SIZE_ORDERS,
    Rule,
)
from batchlab.policy.scheduler import ExternalScheduler, Scheduler
from batchlab.policy.slurm import SlurmParameters

__all__ = [
    "ALLOCATORS",
    "BACKFILLS",
    "DISCIPLINES",
    "ORDERS",
    "PREDICTORS",
    "SCHEDULERS",
    "SIZE_ORDERS",
    "Allocator",
    "ExternalScheduler",
    "Malleable",
    "Policy",
    "Rule",
    "Scheduler",
    "SlurmParameters",
]

__dir__ = listing(__name__)
