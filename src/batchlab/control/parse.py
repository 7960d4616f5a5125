"""Parse controls from spec strings: ``"workload(1e5, 3e5, rates=[2.0, 2.66])"``."""

from __future__ import annotations

from dataclasses import fields
from types import MappingProxyType
from typing import TYPE_CHECKING

from batchlab.control.governors import Ondemand, Performance, Powersave, Schedutil
from batchlab.control.rules import ConstantRate, CountHysteresis, RandomisedRate, WorkloadHysteresis
from batchlab.core.spec import Grammar, plain
from batchlab.errors import SimulationError, shown, suggest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from batchlab.control.rate_control import RateControl

__all__ = ["CONTROLS", "parse_control"]

_SPECS = Grammar("control", SimulationError, '"powersave" or "workload(1e5, 3e5)"')

CONTROLS: Mapping[str, type[RateControl]] = MappingProxyType(
    {
        rule.name: rule
        for rule in (
            ConstantRate,
            RandomisedRate,
            CountHysteresis,
            WorkloadHysteresis,
            Performance,
            Powersave,
            Ondemand,
            Schedutil,
        )
    }
)
"""The built-in rules by their names in spec strings."""


def parse_control(spec: str) -> RateControl:
    """Parse the spec string of a control.

    Parameters
    ----------
    spec
        A name of `CONTROLS`, with parameters in parentheses: by position, or by name.

    Returns
    -------
    RateControl
        ``parse_control(str(control)) == control``.

    Raises
    ------
    SimulationError
        If the rule is unknown, or does not have these parameters.

    Examples
    --------
    >>> parse_control("count(1, 3)").rates
    (1.0, 2.0)
    """
    if not isinstance(spec, str):
        raise SimulationError(
            f"control = {shown(spec)}; must be a RateControl, or its spec: {_SPECS.example}."
        )
    _, call = _SPECS.parse(spec, f"control = {shown(spec)}: ")
    rule = CONTROLS.get(call.name)
    if rule is None:
        raise SimulationError(
            f"control = {spec!r}: no rule named {call.name!r}.{suggest(call.name, CONTROLS)}"
        )
    given = [plain(each.value) for each in call.values]
    return _made(rule, spec, given, {key: plain(each.value) for key, each in call.keys.items()})


def _made(rule: type[RateControl], spec: str, given: list[object], named: dict[str, object]) -> RateControl:
    if len(given) > len(rule.positional):
        takes = ", ".join(rule.positional) or "none"
        raise SimulationError(f"control = {spec!r}: {len(given)} values by place; {rule.name} takes {takes}.")
    by_place = dict(zip(rule.positional, given, strict=False))
    known = [*rule.positional, *(each.name for each in fields(rule) if rule.name != "constant")]
    known = [*dict.fromkeys([*known, "groups"])]
    for name in named:
        if name not in known:
            raise SimulationError(f"control = {spec!r}: no parameter {name!r}.{suggest(name, known)}")
        if name in by_place:
            raise SimulationError(f"control = {spec!r}: {name} is given twice; give it once.")
    try:
        return rule(**by_place, **named)  # type: ignore[arg-type]  # its constructor checks them
    except SimulationError as error:
        raise SimulationError(f"control = {spec!r}: {error}") from None
