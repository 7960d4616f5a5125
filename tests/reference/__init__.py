"""The specification (docs/semantics.md) as a plain-Python kernel: an oracle for tests, slow on purpose."""

from reference.kernel import simulate
from reference.model import Condition, Expression, Interruption, Job, Machine, NodeEvent, Outcome

__all__ = ["Condition", "Expression", "Interruption", "Job", "Machine", "NodeEvent", "Outcome", "simulate"]
