"""The tables ``[[accounts]]``, ``[[qos]]`` and ``[fair_share]`` of a system's file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, PlainValidator

from batchlab.system import account_rules as rules
from batchlab.system.accounts import ROOT, Account, FairShare, QualityOfService
from batchlab.system.document import GroupName, Model

if TYPE_CHECKING:
    from batchlab.system.system import System

__all__ = ["AccountTable", "FairShareTable", "QualityTable", "account_parts", "account_tables"]

_NotNegative = Annotated[float, PlainValidator(rules.not_negative)]
_UserShares = Annotated[object, PlainValidator(rules.user_shares)]


class AccountTable(Model):
    """One of ``[[accounts]]``."""

    name: GroupName
    parent: GroupName = ROOT
    shares: Annotated[object, PlainValidator(rules.account_shares)] = 1.0
    users: dict[GroupName, _UserShares] = Field(default_factory=dict)


class QualityTable(Model):
    """One of ``[[qos]]``."""

    name: GroupName
    priority: _NotNegative = 0.0
    usage_factor: _NotNegative = 1.0
    preempts: list[GroupName] = Field(default_factory=list)


class FairShareTable(Model):
    """The table ``[fair_share]``; what is left out is as in `FairShare`."""

    rule: Annotated[object, PlainValidator(rules.FAIR_SHARE["rule"])] = None
    half_life: Annotated[object, PlainValidator(rules.FAIR_SHARE["half_life"])] = None
    decay: Annotated[object, PlainValidator(rules.FAIR_SHARE["decay"])] = None
    damping: Annotated[object, PlainValidator(rules.FAIR_SHARE["damping"])] = None
    weights: Annotated[object, PlainValidator(rules.FAIR_SHARE["weights"])] = None
    max_tres: Annotated[object, PlainValidator(rules.FAIR_SHARE["max_tres"])] = None
    decay_factor: Annotated[object, PlainValidator(rules.FAIR_SHARE["decay_factor"])] = None
    decay_period: Annotated[object, PlainValidator(rules.FAIR_SHARE["decay_period"])] = None
    least_usage: Annotated[object, PlainValidator(rules.FAIR_SHARE["least_usage"])] = None


def account_parts(
    accounts: list[AccountTable], qualities: list[QualityTable], fair_share: FairShareTable | None
) -> dict[str, object]:
    """Make of checked tables what `System` takes, by the names of its fields."""
    return {
        "accounts": tuple(Account(**dict(table)) for table in accounts),
        "qos": tuple(QualityOfService(**dict(table)) for table in qualities),
        "fair_share": None if fair_share is None else FairShare(**fair_share.model_dump(exclude_unset=True)),
    }


def account_tables(system: System) -> dict[str, object]:
    """Make tables of a system's accounts, qualities of service and fair share; what is not there has none."""
    tables: dict[str, object] = {}
    if system.fair_share is not None:
        tables["fair_share"] = _changed(system.fair_share)
    if system.accounts:
        tables["accounts"] = [_changed(account) for account in system.accounts]
    if system.qos:
        tables["qos"] = [_changed(quality) for quality in system.qos]
    return tables


def _changed(part: Account | QualityOfService | FairShare) -> dict[str, object]:
    """Give the fields of a description that are not at their defaults."""
    values: dict[str, object] = {}
    for each in fields(part):
        value = getattr(part, each.name)
        default = each.default_factory() if each.default_factory is not MISSING else each.default
        if value != default:
            values[each.name] = _plain(value)
    return values


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if value == math.inf:
        return "inf"  # JSON has no such number
    return int(value) if isinstance(value, float) and value.is_integer() else value
