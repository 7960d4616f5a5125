"""The specification (docs/semantics.md) as a plain-Python kernel: an oracle for tests, slow on purpose."""

from reference.kernel import simulate
from reference.model import (
    Account,
    Conditions,
    Dependency,
    Expression,
    Interruption,
    Job,
    Limit,
    Machine,
    Multifactor,
    NodeEvent,
    Outcome,
    Partition,
    Preemption,
    Quality,
    Queue,
    Reservation,
    Sharing,
)

__all__ = [
    "Account",
    "Conditions",
    "Dependency",
    "Expression",
    "Interruption",
    "Job",
    "Limit",
    "Machine",
    "Multifactor",
    "NodeEvent",
    "Outcome",
    "Partition",
    "Preemption",
    "Quality",
    "Queue",
    "Reservation",
    "Sharing",
    "simulate",
]
