"""Describe observers: their names and parameters in specs, and what a run was given.

::

    power    = [GROUP ":"] key "=" value {"," key "=" value}
    failures = FILE {"," key "=" value}
             | "uptime=" times ", repair_time=" times {"," key "=" value}
    times    = seconds | distribution

in the grammar of `batchlab.core.spec`, with the distributions of `batchlab.core.distributions`.

Keys of ``power`` are idle, busy, drained (watts), a resource (watts per unit that jobs hold), rate (units of
work per second to which these watts apply) and cap (watts, or a CSV file). Keys of ``failures`` are
on_failure, every, restarts and seed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from batchlab.core.distributions import Constant, named_distribution
from batchlab.core.python_file import defined_in_file
from batchlab.core.rules import is_finite, is_whole
from batchlab.core.spec import Call, Grammar, word, written
from batchlab.errors import ObserverError, nearest, shown, suggest
from batchlab.observer import Failures, NodePower, Power
from batchlab.seam.components import Observer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from batchlab.core.distributions import Distribution
    from batchlab.core.spec import Spec, Value

__all__ = ["checked_observers", "failures_of", "misspelt_hooks", "observer_of", "observers_of", "power_of"]

_GROUP = re.compile(r"\s*(?P<group>[\w-]+)\s*:(?P<rest>.*)", re.DOTALL)
_WATTS = ("idle", "busy", "drained")
_POWER = Grammar("power", ObserverError, "idle=90, busy=140")
_FAILURES = Grammar("failures", ObserverError, "uptime=weibull(shape=0.7, scale=2.6e6), repair_time=3600")


def observers_of(
    own: Sequence[str],
    power: Sequence[str],
    failures: str | None,
    *,
    seed: int = 0,
    folder: Path | None = None,
) -> dict[str, Observer]:
    """Build the observers of a run, by label; built-in ones first, because others may use their values.

    Parameters
    ----------
    own
        Observers defined in Python files: see `batchlab.observer.description.observer_of`.
    power, failures
        See `power_of` and `failures_of`; omitted if empty.
    seed
        Default seed of the failures.
    folder
        Folder to which paths are relative. [default: the working directory]

    Raises
    ------
    ObserverError
        If a description is invalid, or one observer is named twice.
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
    """Parse the power draw of nodes: ``idle=90, busy=140, core=20``, or ``gpu: idle=300`` for each group.

    With ``rate=1.5, idle=110``, the watts apply at that rate; each rate of nodes needs its own text.

    Raises
    ------
    ObserverError
        If a text has another form, or a number is not a valid number of watts.
    """
    cap: float | str | None = None
    nodes: dict[str, dict[float | None, NodePower]] = {}
    for text in given:
        found = _GROUP.fullmatch(text)
        group, rest = (found["group"], found["rest"]) if found else ("", text)
        _, call = _POWER.arguments(rest, "power: ")
        if call.values:
            raise ObserverError(f"power = {shown(text)}; must be as {_POWER.example}: a key and watts each.")
        values = {name: each.value for name, each in call.keys.items()}
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
        own = nodes.setdefault(group, {})
        if rate in own:
            rule = f"names group {group!r} twice" if group else "says twice what all nodes draw"
            rule += ". Leave one out, or name the groups: 'gpu: idle=300'"
            raise ObserverError(f"power = {shown(text)}; {rule}.")
        own[rate] = _node_power(values, text)
        if None in own and len(own) > 1:
            rule = "gives watts with a rate and without one. Give each a rate, as in 'rate=1, idle=90'"
            raise ObserverError(f"power = {shown(text)}; {rule}.")
    if not nodes:
        raise ObserverError(f"power = {shown(' '.join(given))}; idle is missing. Add idle=90, in watts.")
    if "" in nodes and len(nodes) > 1:
        rule = "name the group of each, as in 'gpu: idle=300'"
        raise ObserverError(f"power: is given for all nodes and for groups too; {rule}.")
    drawn = {name: _by_rate(own) for name, own in nodes.items()}
    return Power(drawn.get("", drawn), cap=cap)


def _by_rate(given: Mapping[float | None, NodePower]) -> NodePower | dict[float, NodePower]:
    """Return the power draw of a node, by rate if rates are given."""
    by_rate = {rate: each for rate, each in given.items() if rate is not None}
    return by_rate or given[None]


def _node_power(values: Mapping[str, Value], text: str) -> NodePower:
    watts = {name: _number(value, f"power: {name}", "watts") for name, value in values.items()}
    if "idle" not in watts:
        raise ObserverError(f"power = {shown(text)}; idle is missing. Add idle=90, in watts.")
    named = {name: watts.pop(name) for name in _WATTS if name in watts}
    return NodePower(**named, per_unit=watts)


def failures_of(given: str, seed: int = 0, folder: Path | None = None) -> Failures:
    """Parse when nodes fail, and what happens to their jobs.

    Parameters
    ----------
    given
        ``outages.csv, on_failure=kill``, or
        ``uptime=weibull(shape=0.7, scale=2.6e6), repair_time=3600, on_failure=requeue``.
    seed
        Default seed of the random times.
    folder
        Folder to which the file's path is relative.

    Raises
    ------
    ObserverError
        If the text has another form, or a value is invalid.
    """
    spec, call = _FAILURES.arguments(given, "failures: ")
    if len(call.values) > 1:
        rule = f"must be as '{_FAILURES.example}' or 'FILE, key=value'"
        raise ObserverError(f"failures = {shown(given)}; {rule}.")
    own = () if call.values else ("uptime", "repair_time", "seed")
    known = (*own, *_HANDLING)
    for name in call.keys:
        if name not in known:
            raise ObserverError(f"failures: no such key: {name}.{suggest(name, known)}")
    values = {name: each.value for name, each in call.keys.items()}
    handling = {name: read(values[name]) for name, read in _HANDLING.items() if name in values}
    if call.values:
        trace = word(call.values[0].value)
        path = Path(trace) if folder is None else folder / trace
        if not path.is_file():
            rule = f"{path} is no file. Give a CSV file, or {_FAILURES.example}"
            raise ObserverError(f"failures = {shown(given)}; {rule}.")
        return Failures(path, **handling)
    uptime, repair_time = (_times(spec, name, values, given) for name in ("uptime", "repair_time"))
    if uptime == Constant(0):
        raise ObserverError("failures: uptime = 0; must be above 0: no node would ever be up.")
    drawn = _whole(values["seed"], "seed") if "seed" in values else seed
    return Failures.from_distributions(uptime, repair_time, seed=drawn, **handling)


# Keys for what happens to jobs on failed nodes.
_HANDLING: Mapping[str, Callable[[Value], Any]] = {
    "on_failure": word,
    "every": lambda value: _number(value, "failures: every", "seconds"),
    "restarts": lambda value: _whole(value, "restarts"),
}


def _times(spec: Spec, name: str, values: Mapping[str, Value], given: str) -> Distribution:
    if name not in values:
        rule = f"write {_FAILURES.example}, or the path of a CSV file first"
        raise ObserverError(f"failures = {shown(given)}; {name} is missing: {rule}.")
    value = values[name]
    if not isinstance(value, Call):
        return Constant(_number(value, f"failures: {name}", "seconds, or a distribution"))
    try:
        return named_distribution(spec, value, ObserverError)
    except ObserverError as error:
        raise ObserverError(f"failures: {name}: {error}") from None


def _number(value: Value, where: str, kind: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise ObserverError(f"{where} = {written(value)}; must be {kind}.")


def _whole(value: Value, name: str) -> int:
    if is_whole(value):
        return value
    raise ObserverError(f"failures: {name} = {written(value)}; must be a whole number.")


def _number_or_path(value: Value, folder: Path | None) -> float | str:
    if is_finite(value):
        return float(value)
    return word(value) if folder is None else str(folder / word(value))


_NEAR = 0.75
_HOOKS = frozenset(name for name in vars(Observer) if not name.startswith("_") and name != "name")


def misspelt_hooks(observer: Observer) -> Iterator[str]:
    """Find methods with names similar to hooks of `Observer` that no code calls.

    Yields
    ------
    str
        A warning.
    """
    kind = type(observer)
    own = {name for each in kind.__mro__ if not issubclass(Observer, each) for name in vars(each)}
    for name in sorted(own - _HOOKS):
        if not name.startswith("_") and callable(getattr(kind, name)) and not _is_used(kind, name):
            near = nearest(name, _HOOKS, _NEAR)
            if near is not None:
                yield f"observer {kind.__name__}: nothing calls its method {name}. Did you mean {near!r}?"


def _is_used(kind: type[Observer], name: str) -> bool:
    """Return whether a method of the class refers to the other method, as to a helper."""
    methods = [each for each in vars(kind).values() if hasattr(each, "__code__")]
    return any(name in method.__code__.co_names for method in methods)


def checked_observers(given: object) -> tuple[Observer, ...]:
    """Check the observers of a run.

    Raises
    ------
    ObserverError
        If the value is not iterable, contains something other than observers, or two have the same name.
    """
    if not isinstance(given, Iterable):
        raise ObserverError(f"observers = {shown(given)}; must be a list of observers, which may be empty.")
    observers: list[Observer] = []
    for each in given:
        if not isinstance(each, Observer):
            raise ObserverError(f"observers hold {shown(each)}; must be objects of batchlab.Observer.")
        observers.append(each)
    for name, count in Counter(each.name for each in observers if each.name).items():
        if count > 1:
            raise ObserverError(f"{count} observers are named {shown(name)}; names must differ.")
    return tuple(observers)


def observer_of(text: str, folder: Path | None = None) -> tuple[str, Observer]:
    """Load an observer from a Python file.

    Parameters
    ----------
    text
        ``FILE.py:NAME`` or ``FILE.py:NAME(key=value, …)``: a subclass of `Observer`, a function that returns
        an observer, or an observer.
    folder
        Folder to which the file's path is relative. [default: the working directory]

    Returns
    -------
    tuple
        Its label, ``failures.py:Mine``, and the observer.

    Raises
    ------
    ObserverError
        If the file is invalid, or the object is not an observer.
    """
    defined = defined_in_file(text, "observer", ObserverError, folder)
    if not isinstance(defined.value, Observer):
        rule = "must be a subclass of batchlab.Observer, or a function that gives an observer"
        raise ObserverError(f"{defined.label} is no observer: {shown(defined.value)}; {rule}.")
    return defined.label, defined.value
