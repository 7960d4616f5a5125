"""Observers as the command line and the files of experiments describe them.

::

    power    = [GROUP ":"] key "=" value {"," key "=" value}
    failures = FILE {"," key "=" value}
             | "uptime=" times ", repair_time=" times {"," key "=" value}
    times    = seconds | distribution "(" number {"," number} ")"

Keys of power are idle, busy, drained (watts), a resource (watts for each unit that jobs hold), rate (units of
work per second at which these watts hold) and cap (watts, or a CSV file); keys of failures are on_failure,
every, restarts and seed.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from batchlab import distributions
from batchlab.errors import BatchlabError, ObserverError, shown, suggest
from batchlab.observer import Failures, NodePower, Power
from batchlab.observer.of_file import observer_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from batchlab.observer import Observer

__all__ = ["failures_of", "observers_of", "power_of"]

_PARTS = re.compile(r"(?:[^,()]|\([^()]*\))+")
_CALL = re.compile(r"(?P<name>\w+)\s*\((?P<values>[^()]*)\)")
_GROUP = re.compile(r"\([^()]*\)")
_WATTS = ("idle", "busy", "drained")
_EXAMPLES = {"power": "idle=90", "failures": "on_failure=requeue"}
_DISTRIBUTIONS = {
    each.__name__.lower(): each
    for each in (
        distributions.Constant,
        distributions.Exponential,
        distributions.Gamma,
        distributions.LogUniform,
        distributions.Lognormal,
        distributions.Pareto,
        distributions.Uniform,
        distributions.Weibull,
    )
}


def observers_of(
    own: Sequence[str],
    power: Sequence[str],
    failures: str | None,
    *,
    seed: int = 0,
    folder: Path | None = None,
) -> dict[str, Observer]:
    """Make the observers of a run by their labels; built-in ones first, since others may ask them.

    Parameters
    ----------
    own
        What Python files define: see `batchlab.observer.of_file.observer_of`.
    power, failures
        See `power_of` and `failures_of`; none where empty.
    seed
        Of the failures, unless they say.
    folder
        From where paths count; the working directory unless given.

    Raises
    ------
    ObserverError
        If one is wrong, or the same one is named twice.
    """
    found: dict[str, Observer] = {}
    if power:
        found["power"] = power_of(power, folder)
    if failures is not None:
        found["failures"] = failures_of(failures, seed, folder)
    for label, observer in (observer_of(each, folder) for each in own):
        if label in found:
            raise ObserverError(f"{label} is named twice; leave one out, or give them different arguments.")
        found[label] = observer
    return found


def power_of(given: Sequence[str], folder: Path | None = None) -> Power:
    """Read what nodes draw: ``idle=90, busy=140, core=20``; ``gpu: idle=300`` for each of several groups.

    With ``rate=1.5, idle=110`` the watts are those at a rate; each rate at which nodes serve needs a text.

    Raises
    ------
    ObserverError
        If a text is of another form, or a number no watts.
    """
    cap: float | str | None = None
    nodes: dict[str, dict[float | None, NodePower]] = {}
    for text in given:
        group, _, rest = text.rpartition(":") if re.match(r"\s*[\w-]+\s*:", text) else ("", "", text)
        values = _values(rest, "power")
        if "cap" in values and cap is not None:
            raise ObserverError(f"power = {shown(text)}; gives a second cap. Leave one out.")
        if "cap" in values:
            cap = _number_or_path(values.pop("cap"), folder)
        if not values:
            continue
        rate = (
            _number(values.pop("rate"), "power: rate", "units of work per second")
            if "rate" in values
            else None
        )
        own = nodes.setdefault(group.strip(), {})
        if rate in own:
            rule = f"names group {group.strip()!r} twice" if group else "says twice what all nodes draw"
            rule += ". Leave one out, or name the groups: 'gpu: idle=300'"
            raise ObserverError(f"power = {shown(text)}; {rule}.")
        own[rate] = _node_power(values, text)
        if None in own and len(own) > 1:
            rule = "gives watts with a rate and without one. Give each a rate, as in 'rate=1, idle=90'"
            raise ObserverError(f"power = {shown(text)}; {rule}.")
    if not nodes:
        raise ObserverError("power says nothing of what nodes draw; add idle=90, in watts.")
    if "" in nodes and len(nodes) > 1:
        rule = "name the group of each, as in 'gpu: idle=300'"
        raise ObserverError(f"power is given for all nodes and for groups too; {rule}.")
    drawn = {name: _by_rate(own) for name, own in nodes.items()}
    return Power(drawn.get("", drawn), cap=cap)


def _by_rate(given: Mapping[float | None, NodePower]) -> NodePower | dict[float, NodePower]:
    """Return what a node draws, by rate if that matters."""
    by_rate = {rate: each for rate, each in given.items() if rate is not None}
    return by_rate or given[None]


def _node_power(values: dict[str, str], text: str) -> NodePower:
    watts = {name: _number(value, f"power: {name}", "watts") for name, value in values.items()}
    if "idle" not in watts:
        raise ObserverError(f"power = {shown(text)}; idle is missing. Add idle=90, in watts.")
    named = {name: watts.pop(name) for name in _WATTS if name in watts}
    return NodePower(**named, per_unit=watts)


def failures_of(given: str, seed: int = 0, folder: Path | None = None) -> Failures:
    """Read when nodes fail, and what becomes of their jobs.

    Parameters
    ----------
    given
        ``outages.csv, on_failure=kill``, or
        ``uptime=weibull(0.7, 2.6e6), repair_time=3600, on_failure=requeue``.
    seed
        Of the draws, unless the text has one.
    folder
        From where the file's path counts.

    Raises
    ------
    ObserverError
        If the text is of another form, or a value breaks a rule.
    """
    first, *others = _parts(given, "failures") or [""]
    if "=" in first.partition("(")[0]:
        values, trace = _values(given, "failures"), None
        known: tuple[str, ...] = ("uptime", "repair_time", "seed", "on_failure", "every", "restarts")
    else:
        values, trace = _values(",".join(others), "failures"), first.strip()
        known = ("on_failure", "every", "restarts")
    for name in values:
        if name not in known:
            raise ObserverError(f"failures: no such key: {name}.{suggest(name, known)}")
    arguments: dict[str, Any] = {} if "on_failure" not in values else {"on_failure": values["on_failure"]}
    if "every" in values:
        arguments["every"] = _number(values["every"], "failures: every", "seconds")
    if "restarts" in values:
        arguments["restarts"] = _whole(values["restarts"], "restarts")
    if trace is not None:
        return Failures(trace if folder is None else folder / trace, **arguments)
    times = {}
    for name in ("uptime", "repair_time"):
        if name not in values:
            rule = "write uptime=weibull(0.7, 2.6e6), repair_time=3600, or the path of a CSV file first"
            raise ObserverError(f"failures = {shown(given)}; {name} is missing: {rule}.")
        times[name] = _distribution(name, values[name])
    if times["uptime"] == distributions.Constant(0):
        raise ObserverError("failures: uptime = 0; must be above 0: no node would ever be up.")
    drawn = _whole(values["seed"], "seed") if "seed" in values else seed
    return Failures.from_distributions(times["uptime"], times["repair_time"], seed=drawn, **arguments)


def _parts(text: str, what: str) -> list[str]:
    """Split at the commas that stand in no parentheses."""
    if re.search(r"[()]", _GROUP.sub("", text)):
        rule = "a parenthesis is not closed, was not opened, or stands in another"
        raise ObserverError(f"{what} = {shown(text)}; {rule}.")
    found: list[str] = _PARTS.findall(text)
    return found


def _values(text: str, what: str) -> dict[str, str]:
    """Read ``key=value, …``."""
    found: dict[str, str] = {}
    for part in filter(None, map(str.strip, _parts(text, what))):
        name, sign, value = (each.strip() for each in part.partition("="))
        if not (name and sign and value) or name in found:
            raise ObserverError(
                f"{what}: {shown(part)}; must be a key and a value, once each: {_EXAMPLES[what]}."
            )
        found[name] = value
    return found


def _distribution(name: str, text: str) -> distributions.Distribution:
    call = _CALL.fullmatch(text)
    if call is None:
        return distributions.Constant(_number(text, f"failures: {name}", "seconds, or a distribution"))
    kind = _DISTRIBUTIONS.get(call["name"].lower())
    if kind is None:
        known = suggest(call["name"], _DISTRIBUTIONS)
        raise ObserverError(f"failures: {name} = {text}: there is no such distribution.{known}")
    numbers = [_number(each, f"failures: {name}", "numbers") for each in call["values"].split(",")]
    try:
        made: distributions.Distribution = kind(*numbers)
    except (TypeError, BatchlabError) as error:
        parameters = ", ".join(kind.__dataclass_fields__)
        raise ObserverError(
            f"failures: {name} = {text}; must be {call['name']}({parameters}): {error}"
        ) from None
    return made


def _number(text: str, where: str, kind: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise ObserverError(f"{where} = {shown(text.strip())}; must be {kind}.")
    return value


def _whole(text: str, name: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ObserverError(f"failures: {name} = {shown(text)}; must be a whole number.") from None


def _number_or_path(text: str, folder: Path | None) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text if folder is None else str(folder / text)
