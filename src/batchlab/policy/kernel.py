"""A policy as the kernel is told of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from batchlab._kernel import PolicyNames
    from batchlab.policy.policy import Policy

__all__ = ["policy_names"]


def policy_names(policy: Policy, seed: int) -> PolicyNames:
    """Give the names of a policy's parts, and the seed of the run."""
    return {
        "order": policy.order_name,
        "argument": policy.order_argument or None,
        "backfill": policy.backfill,
        "allocator": policy.allocator,
        "reservations": policy.reservations,
        "seed": seed,
    }
