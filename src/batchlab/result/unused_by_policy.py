"""Warnings of what a policy and the options do not use of a system; without tables of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.core.late import policy_orders as orders
from batchlab.core.late import policy_schedulers as schedulers
from batchlab.errors import one_line
from batchlab.policy.registry import DISCIPLINES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from batchlab.options import RunOptions
    from batchlab.policy import Policy
    from batchlab.system.system import System


__all__ = ["named", "never_preempts", "unused_by_policy", "weighs"]

_SHOWN = 3


def unused_by_policy(system: System, policy: Policy, options: RunOptions) -> Iterator[str]:
    """Yield a warning for each part of a system that is not used, and for options without their part.

    Parameters
    ----------
    system, policy, options
        The parts.

    Yields
    ------
    str
        A line for people.
    """
    if system.preemption is not None and never_preempts(policy):
        yield f"preemption of the system is not used: {policy} preempts no job"
    blocking = [limit.name for limit in system.limits if limit.blocks]
    if blocking and (policy.backfill == "conservative" or policy.scheduler is not None):
        rule = "jobs pass one that waits for a limit"
        yield f"blocks of {named('limit', blocking)} is not used: under {policy} {rule}"
    yield from _of_slurm(system, policy)
    yield from _of_orders(system, policy)
    yield from _of_usage(system, policy, options)
    yield from _options(system, options)


def _of_slurm(system: System, policy: Policy) -> Iterator[str]:
    """Find parts that only the policy slurm uses."""
    if policy.slurm is not None:
        return
    rule = "only the policy slurm goes by it"
    over = [each.name for each in system.partitions if each.over_time_limit]
    if over:
        yield f"over_time_limit of {named('partition', over)} is not used: {rule}"
    if len({group.weight for group in system.groups}) > 1:
        yield f"weight of node groups is not used: {rule}"


def _of_orders(system: System, policy: Policy) -> Iterator[str]:
    """Find priorities that the order of a policy ignores."""
    tiers = {each.tier for each in system.partitions}
    if len(tiers) > 1 and _resizes(policy):
        yield f"tier of partitions is not used: {policy} has an order of its own"
    # Jobs may have no queue, no quality of service and no account.
    queues = {0, *(each.priority for each in system.queues)}
    if len(queues) > 1 and policy.order_name != "mpp":
        yield f"priority of queues is not used: {policy} does not order by mpp"
    by_qos = system.preemption is not None and system.preemption.by == "qos" and not never_preempts(policy)
    weighed = {
        "priority_factor of partitions": ("partition", {each.priority_factor for each in system.partitions}),
        "priority of qos": ("qos", {0.0} if by_qos else {0.0, *(each.priority for each in system.qos)}),
        "priority of accounts": ("association", {0.0, *(each.priority for each in system.accounts)}),
    }
    for what, (weight, values) in weighed.items():
        if len(values) > 1 and not weighs(policy, weight):
            is_ordered = policy.order_name == "multifactor"
            rule = f"gives {weight} no weight" if is_ordered else "does not order by multifactor"
            yield f"{what} is not used: {policy} {rule}"


def _of_usage(system: System, policy: Policy, options: RunOptions) -> Iterator[str]:
    if options.usage or weighs(policy, "fair_share"):
        return
    rule = f"{policy} does not go by usage, which is not recorded either"
    # Slurm's files always define how usage counts; without accounts nobody expects an effect.
    if system.fair_share is not None and (system.accounts or not system.policy):
        yield f"fair_share of the system is not used: {rule}"
        return
    shares = {share for each in system.accounts for share in (each.shares, *each.users.values())}
    found = ["shares of accounts"] if len(shares) > 1 else []
    found += ["usage_factor of qos"] if {each.usage_factor for each in system.qos} - {1.0} else []
    for what in found:
        yield f"{what} is not used: {rule}"


def _options(system: System, options: RunOptions) -> Iterator[str]:
    """Find options without the part of the system that they need, and a part without its option."""
    if options.sensing is not None and system.platform is None:
        yield "sensing is not used: the system has no platform, whose hosts and links could be looked at"
    if options.sharing != "max_min" and system.platform is None:
        yield "sharing is not used: the system has no platform, whose hosts and links could be shared"
    if options.reference_rate != 1 and options.control is None:
        rate = f"reference_rate = {options.reference_rate:g}"
        step = f"jobs take {options.reference_rate:g} times their run_time"
        yield f"{rate} without a control: all nodes serve at rate 1, so that {step}"
    sleeping = [group.name for group in system.groups if group.sleep_states]
    if sleeping and options.sleep is None:
        step = "nodes sleep only with the option sleep"
        yield f"sleep_states of {named('node group', sleeping)} is not used: {step}"


def weighs(policy: Policy, factor: str) -> bool:
    """Return whether a policy orders jobs by a factor of the multifactor priority."""
    if policy.order_name != "multifactor":
        return False

    return bool(getattr(orders.Multifactor.of(str(policy.order)), factor))


def named(noun: str, names: list[str]) -> str:
    """Name some things after a noun: the first three of them."""
    shown = ", ".join(map(one_line, names[:_SHOWN])) + (", …" if len(names) > _SHOWN else "")
    return f"{noun} {shown}" if len(names) == 1 else f"{noun}s {shown}"


def never_preempts(policy: Policy) -> bool:
    """Return whether a policy preempts no job; user-written schedulers may do so."""
    if policy.scheduler is None:
        return policy.backfill in {"conservative", *DISCIPLINES}

    return _resizes(policy) or isinstance(policy.scheduler, schedulers.AccasimEasy)


def _resizes(policy: Policy) -> bool:
    """Return whether a policy is one of batchlab's that change the sizes of jobs."""
    if policy.scheduler is None:
        return False

    return isinstance(policy.scheduler, schedulers.Malleable)
