"""Policies: who runs next, and where."""

from batchlab.policy.policy import Policy
from batchlab.policy.registry import ALLOCATORS, BACKFILLS, ORDERS, Rule

__all__ = ["ALLOCATORS", "BACKFILLS", "ORDERS", "Policy", "Rule"]
