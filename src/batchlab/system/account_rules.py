"""Rules for accounts, qualities of service and fair share, of the same form as those in `rules`."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Literal

from batchlab.core import rules
from batchlab.core.vocabulary import FAIR_SHARE_RULES, USAGE_DECAYS
from batchlab.errors import suggest
from batchlab.system.rules import LARGEST_AMOUNT, resource_name, truth

__all__ = ["FAIR_SHARE", "account_shares", "not_negative", "user_shares"]

_ENTRY = 3


_LEAST = 2.0**-53
not_negative = rules.Number(0, most=LARGEST_AMOUNT, floating=True)
_positive = rules.Number(_LEAST, most=LARGEST_AMOUNT, floating=True)
_shares = rules.Number(
    _LEAST, most=LARGEST_AMOUNT, floating=True, hint='or "parent"; leave out accounts that may have nothing'
)
_user_shares = rules.Number(0, most=LARGEST_AMOUNT, floating=True, hint='or "parent"')
_half_life = rules.Number(
    _LEAST, unit="seconds", finite=False, floating=True, hint='"inf" if past use always counts'
)


def _seconds(value: object) -> float:
    if value == "inf":
        return math.inf
    return _half_life(value)


def account_shares(value: object) -> float | Literal["parent"]:
    """Check the shares of an account among its siblings."""
    if value == "parent":
        return "parent"
    return _shares(value)


def user_shares(value: object) -> float | Literal["parent"]:
    """Check the shares of a user in an account."""
    if value == "parent":
        return "parent"
    return _user_shares(value)


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
        "decay_factor": rules.Number(0, most=1, floating=True),
        "decay_period": _positive,
        "least_usage": not_negative,
        "usage": _past_usage,
    }
)
"""Rules for the fields of `FairShare`."""
