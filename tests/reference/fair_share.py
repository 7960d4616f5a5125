"""Accounts, usage and fair share (S12), as the specification says it."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass
class Member:
    """An account, or a user in one. ``shares`` is None where it has its parent's standing."""

    name: str
    shares: float | None = 1.0
    user: bool = False
    usage: float = 0.0
    """What was charged to itself, without its members."""
    members: list[Member] = field(default_factory=list)
    counted: float | None = None
    """The usage of the member and all below, where that is kept by itself."""

    def total(self) -> float:
        """Give the usage of the member and all below."""
        if self.counted is not None:
            return self.counted
        return self.usage + sum(member.total() for member in self.members)

    def level(self) -> list[Member]:
        """Give its members; accounts without shares of their own are replaced by theirs."""
        found: list[Member] = []
        for member in self.members:
            found += member.level() if member.shares is None and not member.user else [member]
        return found

    def users(self) -> list[Member]:
        """Give the users at any depth."""
        return [self] if self.user else [user for member in self.members for user in member.users()]


def portion(member: Member, siblings: list[Member]) -> float:
    """Give shares over all siblings' shares; 0 where these have none."""
    together = sum(each.shares or 0.0 for each in siblings)
    return (member.shares or 0.0) / together if together else 0.0


def classic(root: Member, damping: float = 1.0) -> dict[str, float]:
    """Give each user's factor: 2 to the minus effective usage over shares, over the damping."""
    whole, factors = root.total(), {}

    def below(account: Member, shares: float, usage: float) -> None:
        siblings = account.level()
        for member in siblings:
            part = portion(member, siblings)
            if member.shares is None:
                own, effective = shares, usage
            else:
                own = shares * part
                effective = member.total() / whole if whole else 0.0
                if account is not root:
                    effective += (usage - effective) * part
            if member.user:
                factors[member.name] = 2 ** (-(effective / own) / damping) if own else 0.0
            else:
                below(member, own, effective)

    below(root, 1.0, 1.0 if whole else 0.0)
    return factors


def depth_oblivious(root: Member) -> dict[str, float]:
    """Give each user's factor: 2 to the minus ratio, which is multiplied up down the tree."""
    whole, factors = root.total(), {}

    def below(account: Member, shares: float, ratio: float) -> None:
        siblings = account.level()
        together = sum(each.total() for each in siblings if each.shares is not None)
        for member in siblings:
            own, deviation = shares * portion(member, siblings), 0.0
            if member.shares is None:
                own, deviation = shares, ratio
            elif own and member.total():
                at_level = (member.total() / whole / own) / (together / whole / shares)
                pull = log(ratio)
                power = 1.0 if pull * log(at_level) >= 0 else 1 / (1 + (5 * pull) ** 2)
                deviation = ratio * at_level**power
            if member.user:
                factors[member.name] = 2**-deviation if own else 0.0
            else:
                below(member, own, deviation)

    below(root, 1.0, 1.0)
    return factors


def fair_tree(root: Member) -> dict[str, float]:
    """Rank users by the level fair share: the fraction of shares over the fraction of usage."""

    def merit(member: Member, account: Member, siblings: list[Member]) -> float:
        if member.shares is None:
            return inf
        part, used, of = portion(member, siblings), member.total(), account.total()
        if part == 0:
            return 0.0
        # What is next to nothing may be none of a large whole.
        share = used / of if used else 0.0
        return part / share if share else inf

    return ranked(root, merit)


def pbs(root: Member, least_usage: float = 1.0) -> dict[str, float]:
    """Rank users by usage over target, the product of the fractions of shares; the smallest first."""
    targets = {id(root): 1.0}

    def merit(member: Member, account: Member, siblings: list[Member]) -> float:
        own = 1.0 if member.shares is None else portion(member, siblings)
        target = targets[id(member)] = targets[id(account)] * own
        return -(max(least_usage, member.total()) / target) if target else -inf

    return ranked(root, merit)


def ranked(root: Member, merit: Callable[[Member, Member, list[Member]], float]) -> dict[str, float]:
    """Give each user rank over number of users; the users met first on the walk have the highest rank."""
    users = len(root.users())
    ranks: dict[str, float] = {}

    def walk(accounts: list[Member], shared: int | None) -> None:
        """Rank what is below some accounts of equal merit; the best of it has a rank already, if shared."""
        found: list[tuple[float, Member]] = []
        for account in accounts:
            siblings = account.level()
            found += [(merit(member, account, siblings), member) for member in siblings]
        for value in sorted({value for value, _ in found}, reverse=True):
            equal = [member for each, member in found if each == value]
            here = [member for member in equal if member.user]
            deeper = [member for member in equal if not member.user]
            rank = users - len(ranks) if shared is None else shared
            ranks.update(dict.fromkeys([member.name for member in here], rank))
            before = len(ranks)
            walk(deeper, rank if here else shared)
            if here or len(ranks) > before:
                shared = None

    walk([root], None)
    return {name: rank / users for name, rank in ranks.items()}


def exact(charges: list[tuple[float, float, float]], now: float, half_life: float) -> float:
    """Give what use (rate, from, until) is worth now; it halves every half-life."""
    worth = 0.0
    for rate, start, until in charges:
        end = min(until, now)
        if end > start:
            constant = log(2) / half_life
            worth += rate / constant * (2 ** (-(now - end) / half_life) - 2 ** (-(now - start) / half_life))
    return worth


def slurm(charges: list[tuple[float, float, float]], passes: list[float], half_life: float) -> float:
    """Give the usage after the last pass: decayed and charged piece by piece, as Slurm does it."""
    left, usage, last = 1 - 0.693 / half_life, 0.0, passes[0]
    for now in passes[1:]:
        pieces = [(rate, max(start, last), end) for rate, start, end in charges if start < now and end > last]
        usage += sum((end - start) * left ** (end - start) * rate for rate, start, end in pieces if end < now)
        usage *= left ** (now - last)
        usage += sum(
            (now - start) * left ** (now - start) * rate for rate, start, end in pieces if end >= now
        )
        last = now
    return usage


def stepped(charges: list[tuple[float, float, float]], now: float, factor: float, period: float) -> float:
    """Give what use (rate, from, until) is worth now; at each multiple of the period it is multiplied."""
    worth, begin = 0.0, 0.0
    while begin <= now:
        end = begin + period
        worth += sum(
            rate * max(0.0, min(until, end, now) - max(start, begin)) for rate, start, until in charges
        )
        begin = end
        worth *= factor if begin <= now else 1.0
    return worth


def windows(own: list[float], total: list[float], decay: float) -> float:
    """Give the part of all use that was one's own, in per cent, windows newest first."""
    weights = [decay**age for age in range(len(own))]
    return (
        100
        * sum(use * weight for use, weight in zip(own, weights, strict=True))
        / sum(use * weight for use, weight in zip(total, weights, strict=True))
    )


def delta(target: float, mark: str, usage: float) -> float:
    """Give target minus usage; a floor (+) counts only below, a ceiling (-) only above."""
    difference = target - usage
    return {"+": max(0.0, difference), "-": min(0.0, difference), "": difference}[mark]
