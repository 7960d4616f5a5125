"""What a policy does not use of a system, a line each; without tables of jobs, so for streamed runs too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.errors import one_line
from batchlab.policy.registry import DISCIPLINES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from batchlab.options import RunOptions
    from batchlab.policy import Policy
    from batchlab.system.system import System

__all__ = ["named", "shares", "unused_by_policy"]

_SHOWN = 3


def unused_by_policy(system: System, policy: Policy, options: RunOptions) -> Iterator[str]:
    """Name the parts of a system that a policy does not use.

    Parameters
    ----------
    system, policy, options
        The parts.

    Yields
    ------
    str
        A line for people.
    """
    if system.preemption is not None and _never_preempts(policy):
        yield f"preemption of the system is not used: {policy} preempts no job"
    blocking = [limit.name for limit in system.limits if limit.blocks]
    if blocking and (policy.backfill == "conservative" or policy.scheduler is not None):
        rule = "jobs pass one that waits for a limit"
        yield f"blocks of {named('limit', blocking)} is not used: under {policy} {rule}"
    over = [each.name for each in system.partitions if each.over_time_limit]
    if over and policy.slurm is None:
        yield f"over_time_limit of {named('partition', over)} is not used: only the policy slurm goes by it"
    factors = {each.priority_factor for each in system.partitions}
    if factors - {1.0} and policy.order_name != "multifactor":
        yield f"priority_factor of partitions is not used: {policy} does not order by multifactor"
    # Slurm's files always say how usage counts; without accounts nobody expects that it matters.
    is_asked = system.fair_share is not None and (system.accounts or not system.policy)
    if is_asked and not (options.usage or shares(policy)):
        rule = "does not go by usage, which is not recorded either"
        yield f"fair_share of the system is not used: {policy} {rule}"


def shares(policy: Policy) -> bool:
    """Return whether a policy orders jobs by fair share."""
    return policy.order_name == "multifactor" and "fair_share" in policy.order_argument


def named(noun: str, names: list[str]) -> str:
    """Name some things after a noun: the first three of them."""
    shown = ", ".join(map(one_line, names[:_SHOWN])) + (", …" if len(names) > _SHOWN else "")
    return f"{noun} {shown}" if len(names) == 1 else f"{noun}s {shown}"


def _never_preempts(policy: Policy) -> bool:
    """Return whether a policy preempts no job; schedulers of one's own may do so."""
    if policy.scheduler is None:
        return policy.backfill in {"conservative", *DISCIPLINES}
    from batchlab.policy.malleable import Malleable  # noqa: PLC0415  # other policies do without

    return isinstance(policy.scheduler, Malleable)
