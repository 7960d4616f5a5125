"""The specification (docs/semantics.md) as a plain-Python kernel: an oracle for tests, slow on purpose."""

from reference.kernel import simulate
from reference.model import (
    Conditions,
    Dependency,
    Expression,
    Interruption,
    Job,
    Limit,
    Machine,
    NodeEvent,
    Outcome,
    Partition,
    Queue,
    Reservation,
)

__all__ = [
    "Conditions",
    "Dependency",
    "Expression",
    "Interruption",
    "Job",
    "Limit",
    "Machine",
    "NodeEvent",
    "Outcome",
    "Partition",
    "Queue",
    "Reservation",
    "simulate",
]
