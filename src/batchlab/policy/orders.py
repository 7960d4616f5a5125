"""Orders with named parameters: the multifactor priority and the score-based priority (SBP)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from batchlab.core import rules, spec
from batchlab.core.units import format_number
from batchlab.core.vocabulary import FAVOURED_SIZES
from batchlab.errors import PolicyError, shown, suggest
from batchlab.policy.registry import SPECS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from batchlab.core.vocabulary import FavouredSize

__all__ = ["Multifactor", "keys_of", "ordered_by", "score_growth"]

_WEEK = 604_800.0
_RESOURCE = re.compile(r"\s*([^=,\s]+)\s*=\s*([^=,\s]+)\s*")


@dataclass(frozen=True)
class Multifactor:
    """The order ``multifactor``: a weighted sum of factors from 0 to 1, the highest first.

    Parameters
    ----------
    age, association, fair_share, job_size, partition, qos
        The weights of the factors, from 0 to 2^53.
    tres
        The weights of the shares of resources that jobs request, by resource.
    max_age
        The age at which its factor is 1, seconds, above 0.
    favour
        Which jobs have a large factor of the size; a name of `batchlab.core.vocabulary.FAVOURED_SIZES`.
    period
        Seconds between two calculations; 0 to calculate in every pass.

    Notes
    -----
    S12 of docs/semantics.md.
    """

    age: float = 0.0
    association: float = 0.0
    fair_share: float = 0.0
    job_size: float = 0.0
    partition: float = 0.0
    qos: float = 0.0
    tres: Mapping[str, float] = field(default_factory=dict)
    max_age: float = _WEEK
    favour: FavouredSize = "large"
    period: float = 300.0

    def __str__(self) -> str:
        """Return the canonical spec, without parameters at their defaults."""
        usual = Multifactor()
        said = [each.name for each in fields(self) if getattr(self, each.name) != getattr(usual, each.name)]
        arguments = [f"{name}={_written(getattr(self, name))}" for name in said]
        return f"multifactor({', '.join(arguments)})" if arguments else "multifactor"

    @classmethod
    def of(cls, order: str) -> Multifactor:
        """Parse an order written by `ordered_by`."""
        text, call = SPECS.parse(order)
        return _multifactor(text, call)


_PARAMETERS = {
    "multifactor": tuple(each.name for each in fields(Multifactor)),
    "sbp": ("growth",),
}


def ordered_by(text: spec.Spec, call: spec.Call) -> str:
    """Write an order with parameters in canonical form; keys of other parts of the spec are ignored.

    Raises
    ------
    PolicyError
        If a value is invalid.
    """
    if call.name == "multifactor":
        return str(_multifactor(text, call))
    growth = _number(text, call, "growth", 0.0)
    return f"sbp(growth={_written(growth)})" if growth else "sbp"


def score_growth(order: str) -> float:
    """Return the growth of the scores of ``sbp`` per second of waiting."""
    return _number(*SPECS.parse(order), "growth", 0.0)


def _multifactor(text: spec.Spec, call: spec.Call) -> Multifactor:
    usual = Multifactor()
    weights = ("age", "association", "fair_share", "job_size", "partition", "qos")
    numbers = {name: _number(text, call, name, 0.0) for name in weights}
    max_age = _number(text, call, "max_age", usual.max_age)
    if not max_age:
        raise PolicyError(f"max_age = 0; must be seconds above 0.{_where(text, call, 'max_age')}")
    period = _number(text, call, "period", usual.period)
    favour = usual.favour
    if "favour" in call.keys:
        value = call.keys["favour"].value
        name = spec.word(value)
        if name not in FAVOURED_SIZES:
            known = suggest(str(name), FAVOURED_SIZES)
            rule = "must be a name of favoured sizes"
            raise PolicyError(f"favour = {shown(name)}; {rule}.{known}{_where(text, call, 'favour')}")
        favour = name
    return Multifactor(**numbers, tres=_resources(text, call), max_age=max_age, favour=favour, period=period)


def _number(text: spec.Spec, call: spec.Call, key: str, usual: float) -> float:
    """Return a non-negative number, after checking it."""
    if key not in call.keys:
        return usual
    value, where = call.keys[key].value, _where(text, call, key)
    rule = rules.UP_TO_2_53
    return float(rules.check(PolicyError, key, value, rule, written=spec.written, where=where))


def _resources(text: spec.Spec, call: spec.Call) -> dict[str, float]:
    """Return the weights of resources: ``"core=500, gpu=1000"``."""
    if "tres" not in call.keys:
        return {}
    value, where = call.keys["tres"].value, _where(text, call, "tres")
    rule = 'must be quoted weights of resources, e.g. tres="core=500, gpu=1000"'
    if not isinstance(value, str):
        given = spec.written(value)
        raise PolicyError(f"tres = {given}; {rule}.{where}")
    found: dict[str, float] = {}
    for part in value.split(","):
        match = _RESOURCE.fullmatch(part)
        weight = _read(match[2]) if match else math.nan
        if match is None or not 0 <= weight <= 2**53 or match[1] in found:
            raise PolicyError(f"tres = {shown(value)}; {rule}, each once, from 0 to 2^53.{where}")
        found[match[1]] = weight
    return found


def _read(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _where(text: spec.Spec, call: spec.Call, key: str) -> str:
    return text.where(call.keys[key].position)


def _written(value: object) -> str:
    if isinstance(value, float):
        return format_number(value)
    if isinstance(value, dict):
        return '"' + ", ".join(f"{name}={_written(weight)}" for name, weight in value.items()) + '"'
    return str(value)


def keys_of(name: str) -> Collection[str]:
    """Return the keys of an order; empty if it has no named parameters."""
    return _PARAMETERS.get(name, ())
