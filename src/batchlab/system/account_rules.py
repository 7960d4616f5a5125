"""Rules for accounts, qualities of service and fair share, of the same form as those in `rules`."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Literal

from batchlab.errors import suggest
from batchlab.system.rules import LARGEST_AMOUNT, resource_name, truth
from batchlab.vocabulary import FAIR_SHARE_RULES, USAGE_DECAYS

__all__ = ["FAIR_SHARE", "account_shares", "not_negative", "user_shares"]

_LEAST = 2.0**-53
_ENTRY = 3


def _number(value: object, rule: str, least: float, most: float) -> float:
    """Check that a number is in a closed interval, and return it as a float."""
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise ValueError(rule)
    try:
        number = float(value)
    except (OverflowError, TypeError, ValueError):
        raise ValueError(rule) from None
    if not least <= number <= most:
        raise ValueError(rule)
    return number


def not_negative(value: object) -> float:
    """Check a number >= 0."""
    return _number(value, "must be a number from 0 to 2^53", 0.0, LARGEST_AMOUNT)


def _positive(value: object) -> float:
    return _number(value, "must be a number above 0, at most 2^53", _LEAST, LARGEST_AMOUNT)


def _seconds(value: object) -> float:
    if value == "inf":
        return math.inf
    return _number(value, 'must be seconds above 0, or "inf" where past use always counts', _LEAST, math.inf)


def _fraction(value: object) -> float:
    return _number(value, "must be a number from 0 to 1", 0.0, 1.0)


def account_shares(value: object) -> float | Literal["parent"]:
    """Check the shares of an account among its siblings."""
    if value == "parent":
        return "parent"
    rule = 'must be a number above 0, or "parent"; leave out accounts that may have nothing'
    return _number(value, rule, _LEAST, LARGEST_AMOUNT)


def user_shares(value: object) -> float | Literal["parent"]:
    """Check the shares of a user in an account."""
    if value == "parent":
        return "parent"
    return _number(value, 'must be a number from 0 on, or "parent"', 0.0, LARGEST_AMOUNT)


def _one_of(known: Collection[str]) -> Callable[[object], str]:
    def rule(value: object) -> str:
        if not isinstance(value, str) or value not in known:
            question = suggest(value, known).rstrip(".") if isinstance(value, str) else ""
            raise ValueError(f"must be one of {', '.join(known)}.{question}".rstrip("."))
        return value

    return rule


def _weights(value: object) -> dict[str, float]:
    if not isinstance(value, Mapping):
        raise ValueError("must be a mapping of resource names to numbers")  # noqa: TRY004  # as all rules
    return {resource_name(name): not_negative(number) for name, number in value.items()}


def _past_usage(value: object) -> dict[tuple[str, str | None], float]:
    """Check amounts by (account, user): a mapping, a table, or a list of tables as in files."""
    rule = "must be amounts by (account, user), or a table with the columns account, user and usage"
    if isinstance(value, Mapping):
        entries = [(*key, amount) for key, amount in value.items() if isinstance(key, tuple)]
        broken = len(entries) < len(value)
    elif isinstance(value, list | tuple):
        known = {"account", "user", "usage"}
        broken = not all(isinstance(each, Mapping) and set(each) <= known for each in value)
        entries = (
            [] if broken else [(each.get("account"), each.get("user"), each.get("usage")) for each in value]
        )
    else:
        broken = not {"account", "user", "usage"} <= set(getattr(value, "columns", ()))
        entries = [] if broken else list(value.select("account", "user", "usage").iter_rows())  # type: ignore[attr-defined]
    if broken or any(len(entry) != _ENTRY for entry in entries):
        raise ValueError(rule)
    found: dict[tuple[str, str | None], float] = {}
    for account, user, amount in entries:
        if not isinstance(account, str) or not isinstance(user, str | None):
            raise ValueError(f"{rule}, with names or no user")  # noqa: TRY004  # as all rules
        found[account, user] = found.get((account, user), 0.0) + not_negative(amount)
    return found


FAIR_SHARE: Mapping[str, Callable[[object], object]] = MappingProxyType(
    {
        "rule": _one_of(FAIR_SHARE_RULES),
        "half_life": _seconds,
        "decay": _one_of(USAGE_DECAYS),
        "damping": _positive,
        "weights": _weights,
        "max_tres": truth,
        "decay_factor": _fraction,
        "decay_period": _positive,
        "least_usage": not_negative,
        "usage": _past_usage,
    }
)
"""Rules for the fields of `FairShare`."""
