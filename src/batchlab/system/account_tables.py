"""The tables ``[[accounts]]``, ``[[qos]]`` and ``[fair_share]`` of a system's file."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, PlainValidator

from batchlab.system import account_rules as rules
from batchlab.system.accounts import ROOT, Account, FairShare, QualityOfService
from batchlab.system.document import GroupName, Model

__all__ = ["AccountTable", "FairShareTable", "QualityTable", "account_parts"]

_NotNegative = Annotated[float, PlainValidator(rules.not_negative)]
_UserShares = Annotated[object, PlainValidator(rules.user_shares)]


class AccountTable(Model):
    """An entry of ``[[accounts]]``."""

    name: GroupName
    parent: GroupName = ROOT
    shares: Annotated[object, PlainValidator(rules.account_shares)] = 1.0
    users: dict[GroupName, _UserShares] = Field(default_factory=dict)
    priority: _NotNegative = 0.0


class QualityTable(Model):
    """An entry of ``[[qos]]``."""

    name: GroupName
    priority: _NotNegative = 0.0
    usage_factor: _NotNegative = 1.0
    preempts: list[GroupName] = Field(default_factory=list)


class FairShareTable(Model):
    """The table ``[fair_share]``; missing keys have the defaults of `FairShare`."""

    rule: Annotated[object, PlainValidator(rules.FAIR_SHARE["rule"])] = None
    half_life: Annotated[object, PlainValidator(rules.FAIR_SHARE["half_life"])] = None
    decay: Annotated[object, PlainValidator(rules.FAIR_SHARE["decay"])] = None
    damping: Annotated[object, PlainValidator(rules.FAIR_SHARE["damping"])] = None
    weights: Annotated[object, PlainValidator(rules.FAIR_SHARE["weights"])] = None
    max_tres: Annotated[object, PlainValidator(rules.FAIR_SHARE["max_tres"])] = None
    decay_factor: Annotated[object, PlainValidator(rules.FAIR_SHARE["decay_factor"])] = None
    decay_period: Annotated[object, PlainValidator(rules.FAIR_SHARE["decay_period"])] = None
    least_usage: Annotated[object, PlainValidator(rules.FAIR_SHARE["least_usage"])] = None
    usage: Annotated[object, PlainValidator(rules.FAIR_SHARE["usage"])] = None


def account_parts(
    accounts: list[AccountTable], qualities: list[QualityTable], fair_share: FairShareTable | None
) -> dict[str, object]:
    """Convert checked tables to arguments of `System`, by name."""
    return {
        "accounts": tuple(Account(**dict(table)) for table in accounts),
        "qos": tuple(QualityOfService(**dict(table)) for table in qualities),
        "fair_share": None if fair_share is None else FairShare(**fair_share.model_dump(exclude_unset=True)),
    }
