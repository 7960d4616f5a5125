"""When nodes sleep: idle time before it, number of nodes kept on, and reasons to wake them (S21)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from math import inf
from operator import itemgetter
from typing import Any

from batchlab.core import rules
from batchlab.core.form import flag
from batchlab.core.spec import Grammar, plain
from batchlab.core.units import format_number
from batchlab.core.vocabulary import WAKING_CAUSES, WakingCause
from batchlab.errors import SimulationError, shown, suggest

__all__ = ["NodeSleep"]

_TIME_OF_DAY = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")
_RULE = "timeout"
_COUNT = rules.Number(0, unit="nodes", finite=False)
_FLAGS = ("counted", "prefer_on")
_SPECS = Grammar("rule", SimulationError, "timeout(300) or timeout(suspend=60, off=1800, keep=4)")

After = float | Mapping[str, float] | Sequence[tuple[str, float]]
"""Seconds until nodes enter their first sleep state, or by the names of states."""

Keep = float | Mapping[str, float] | Sequence[tuple[str | float, float]]
"""A number of nodes, or numbers by time of day, or by simulated time (s)."""


@dataclass(frozen=True)
class NodeSleep:
    """When nodes sleep, and for which jobs they are woken.

    Parameters
    ----------
    after
        Seconds that a node is idle before it enters the first of its group's sleep states; or seconds by the
        names of states: ``{"suspend": 60, "off": 1800}``.
    keep
        Number of idle nodes to keep on, or to wake if there are fewer: a number; numbers by the time of day,
        ``{"08:00": 40, "18:00": 2}``, each valid until the next one; or pairs of a simulated time (s) and a
        number. The time of day follows from ``System.start_time``, else from ``UnixStartTime`` in the header
        of the log, in the time zone of the log, else UTC. If both are missing, time 0 is midnight UTC, and
        the result has a warning. ``inf`` keeps all nodes on.
    wake
        ``"job"``: a sleeping node is woken when it is allocated to a job. ``"queue"``: also while the first
        waiting job could use it and has not started.
    counted
        True if a job's time_limit includes the time to wake its nodes.
    prefer_on
        True to start a job on nodes that are on, if it fits on these alone.

    Raises
    ------
    SimulationError
        If a value is invalid.

    Examples
    --------
    >>> str(NodeSleep(after={"suspend": 60, "off": 1800}, keep=4, wake="queue"))
    'timeout(suspend=60, off=1800, keep=4, wake=queue)'
    >>> NodeSleep.parse("timeout(300)") == NodeSleep(300)
    True
    """

    after: After = 300.0
    keep: Keep = 0
    wake: WakingCause = "job"
    counted: bool = False
    prefer_on: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "after", _after(self.after))
        object.__setattr__(self, "keep", _keep(self.keep))
        if self.wake not in WAKING_CAUSES:
            known = " or ".join(map(repr, WAKING_CAUSES))
            raise SimulationError(f"wake = {shown(self.wake)}; must be {known}.")
        rules.hold(self, SimulationError, **dict.fromkeys(_FLAGS, rules.truth))

    @property
    def by_state(self) -> dict[str, float] | None:
        """Seconds by the names of states; None if `after` applies to the first state."""
        return dict(self.after) if isinstance(self.after, tuple) else None

    @property
    def is_daily(self) -> bool:
        """True if `keep` depends on the time of day."""
        return isinstance(self.keep, tuple) and isinstance(self.keep[0][0], str)

    @property
    def steps(self) -> list[tuple[float, float]]:
        """Numbers of nodes to keep on with their begin times, seconds of the day or simulated, ascending."""
        if not isinstance(self.keep, tuple):
            return [(-inf, float(self.keep))] if isinstance(self.keep, int | float) and self.keep else []
        return sorted((_seconds(time), float(count)) for time, count in self.keep)

    @classmethod
    def of(cls, value: object) -> NodeSleep:
        """Build the rules from a spec string, seconds, or a mapping of the fields as in a file."""
        if isinstance(value, cls):
            return value
        if isinstance(value, str):
            return cls.parse(value)
        if not isinstance(value, Mapping):
            rule = 'must be a batchlab.NodeSleep, a spec as "timeout(300)", or None'
            raise SimulationError(f"{shown(value)}; {rule}.")
        known = [field.name for field in fields(cls)]
        for name in value:
            if name not in known:
                raise SimulationError(f"{name}: no such key.{suggest(str(name), known)}")
        return cls(**value)

    @classmethod
    def parse(cls, text: str) -> NodeSleep:
        """Parse a spec: ``timeout(300)``, ``timeout(suspend=60, off=1800, keep=4, wake=queue)``.

        Parameters
        ----------
        text
            Seconds, or seconds by the names of states; then the other fields by name. Numbers of nodes by
            time of day are a text: ``keep="08:00=40 18:00=2"``.

        Raises
        ------
        SimulationError
            If the text is not a valid spec.
        """
        _, call = _SPECS.parse(text)
        if call.name != _RULE:
            raise SimulationError(
                f"{shown(text)}: no rule named {shown(call.name)}; {_RULE} is the only one."
            )
        values = {key: plain(each.value) for key, each in call.keys.items()}
        others = {field.name for field in fields(cls)} - {"after"}
        by_state = {name: value for name, value in values.items() if name not in others}
        given: dict[str, Any] = {name: value for name, value in values.items() if name in others}
        if len(call.values) > 1 or (call.values and by_state):
            rule = "give one time for the first sleep state, or times by the names of states"
            raise SimulationError(f"{shown(text)}; {rule}, e.g. {_SPECS.example}.")
        if call.values:
            given["after"] = plain(call.values[0].value)
        elif by_state:
            given["after"] = by_state
        given |= {name: flag(name, given[name]) for name in _FLAGS if name in given}
        if isinstance(given.get("keep"), str):
            given["keep"] = _steps_of(given["keep"])
        return cls(**given)

    def __str__(self) -> str:
        after = self.by_state
        parts = (
            [_text(self.after)] if after is None else [f"{name}={_text(at)}" for name, at in after.items()]
        )
        if isinstance(self.keep, tuple):
            steps = " ".join(f"{_text(time)}={_text(count)}" for time, count in self.keep)
            parts.append(f'keep="{steps}"')
        elif self.keep:
            parts.append(f"keep={_text(self.keep)}")
        usual = NodeSleep()
        parts += [f"wake={self.wake}"] if self.wake != usual.wake else []
        flags = [name for name in _FLAGS if getattr(self, name) != getattr(usual, name)]
        parts += [f"{name}={str(getattr(self, name)).lower()}" for name in flags]
        return f"{_RULE}({', '.join(parts)})"


def _after(given: object) -> float | tuple[tuple[str, float], ...]:
    if isinstance(given, Mapping | list | tuple):
        pairs = given.items() if isinstance(given, Mapping) else given
        found = tuple((str(name), _idle(seconds, f"after[{name!r}]")) for name, seconds in pairs)
        if not found:
            raise SimulationError("after is empty; name a sleep state and its seconds.")
        return found
    return _idle(given, "after")


def _idle(value: object, where: str) -> float:
    return float(rules.check(SimulationError, where, value, rules.SECONDS))


def _keep(given: object) -> float | tuple[tuple[str | float, float], ...]:
    if isinstance(given, Mapping | list | tuple):
        pairs = list(given.items() if isinstance(given, Mapping) else given)
        if not pairs:
            raise SimulationError("keep is empty; give a number of nodes.")
        counts = [rules.check(SimulationError, f"keep[{time!r}]", count, _COUNT) for time, count in pairs]
        if len({isinstance(time, str) for time, _ in pairs}) > 1:
            raise SimulationError(
                "keep has times of day and times of the simulation; use the one or the other."
            )
        timed = [(_seconds(time), time, float(count)) for (time, _), count in zip(pairs, counts, strict=True)]
        made = sorted(timed, key=itemgetter(0))
        if any(one[0] == other[0] for one, other in pairwise(made)):
            raise SimulationError("keep has a time twice; leave one out.")
        return tuple((time if isinstance(time, str) else at, count) for at, time, count in made)
    return rules.check(SimulationError, "keep", given, _COUNT)


def _seconds(time: object) -> float:
    """Return a time of day, or a simulated time, in seconds."""
    if isinstance(time, str):
        found = _TIME_OF_DAY.fullmatch(time)
        if found is None:
            raise SimulationError(f"keep[{time!r}]; must be a time of day as '08:00', or seconds.")
        return 3600.0 * int(found[1]) + 60.0 * int(found[2])
    try:
        return float(rules.FINITE(time))
    except ValueError:
        rule = "must be a time of day as '08:00', or seconds"
        raise SimulationError(f"keep[{shown(time)}]; {rule}.") from None


def _steps_of(text: str) -> list[tuple[str | float, float]]:
    steps: list[tuple[str | float, float]] = []
    for part in text.split():
        time, _, count = part.partition("=")
        try:
            steps.append((time if ":" in time else float(time), float(count)))
        except ValueError:
            rule = 'must be times with numbers of nodes, as "08:00=40 18:00=2"'
            raise SimulationError(f"keep = {shown(text)}; {rule}.") from None
    return steps


def _text(value: object) -> str:
    """Format a number without loss of precision; a time of day is returned unchanged."""
    return format_number(value) if isinstance(value, float) else str(value)
