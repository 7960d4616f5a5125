"""Orders with named parameters: the multifactor priority and the score-based priority (SBP)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from batchlab.core import rules, spec
from batchlab.core.units import format_number
from batchlab.errors import PolicyError, shown
from batchlab.policy.registry import ORDERS, SPECS, keys_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from batchlab.core.vocabulary import FavouredSize

__all__ = ["Multifactor", "ordered_by", "score_growth"]

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
    max_age: float = 604_800.0
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


def ordered_by(text: spec.Spec, call: spec.Call) -> str:
    """Write an order with parameters in canonical form; keys of other parts of the spec are ignored.

    Raises
    ------
    PolicyError
        If a value is invalid.
    """
    if call.name == "multifactor":
        return str(_multifactor(text, call))
    growth = _value(text, call, "growth")
    return f"sbp(growth={_written(growth)})" if growth else "sbp"


def score_growth(order: str) -> float:
    """Return the growth of the scores of ``sbp`` per second of waiting."""
    growth: float = _value(*SPECS.parse(order), "growth")
    return growth


def _multifactor(text: spec.Spec, call: spec.Call) -> Multifactor:
    given = {name: _value(text, call, name) for name in call.keys if name in keys_of("multifactor")}
    return Multifactor(**{**given, "tres": _resources(text, call)})


def _value(text: spec.Spec, call: spec.Call, key: str) -> Any:  # noqa: ANN401  # as the parameter has it
    """Return the value of a parameter, after checking it."""
    parameter = ORDERS[call.name].parameters[key]
    if key not in call.keys or parameter.kind == "text":
        return parameter.usual
    value, where = call.keys[key].value, _where(text, call, key)
    taken = spec.word(value) if parameter.kind == "word" else value
    return rules.check(PolicyError, key, taken, parameter.rule({}), written=spec.written, where=where)


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
