"""Parse Batsim's profiles: a duration, or the tasks of a job.

Names follow Batsim 4 and 5. The computation and communication of a profile are one parallel task, of which
all amounts progress in lock-step: `Compute` with ``coupled=True``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

from batchlab.application.tasks import Compute, Delay, Sequence, Task
from batchlab.bridge.document import amount, amounts, field, seconds
from batchlab.errors import BridgeError, shown, suggest

if TYPE_CHECKING:
    from batchlab.application.rules import RankPattern

__all__ = ["Profile", "Profiles"]

Profile: TypeAlias = float | Task
"""A duration in seconds, or a task."""

_Fields: TypeAlias = Mapping[str, object]
_STORAGE = "runs on storage hosts, which batchlab reads from no workload"
_TRACE = "replays a trace of its own, which batchlab does not read"
_MESSAGE = "exchanges messages with the scheduler"
_NOT_READ: Final = {
    "parallel_homogeneous_pfs": _STORAGE,
    "ptask_on_storage_homogeneous": _STORAGE,
    "data_staging": _STORAGE,
    "ptask_data_staging_between_storages": _STORAGE,
    "smpi": _TRACE,
    "usage_trace": _TRACE,
    "replay_smpi": _TRACE,
    "replay_usage": _TRACE,
    "trace_replay": _TRACE,
    "send": _MESSAGE,
    "recv": _MESSAGE,
}
_DEEPEST = 50


class Profiles:
    """The profiles of a workload, each parsed when a job first names it.

    Parameters
    ----------
    place
        The position of the profiles in the file, for error messages.
    described
        The JSON objects of profiles, by name.
    """

    def __init__(self, place: str, described: Mapping[str, object]) -> None:
        self._place, self._described = place, described
        self._read: dict[str, Profile] = {}

    def profile(self, name: str, place: str) -> Profile:
        """Return a profile, and parse it at its first use.

        Parameters
        ----------
        name
            The name of the profile.
        place
            The position of the reference, for error messages.

        Returns
        -------
        float or Task
            Seconds for a duration, else the task of each job.

        Raises
        ------
        BridgeError
            If the profile is unknown, breaks a rule, or is unsupported.
        """
        return self._named(name, place, ())

    def _named(self, name: str, place: str, outer: tuple[str, ...]) -> Profile:
        if name in outer or len(outer) > _DEEPEST:
            rule = f"profiles must not hold themselves, nor be {_DEEPEST} deep"
            raise BridgeError(f"{place} = {shown(name)}; {rule}.")
        if name not in self._described:
            raise BridgeError(f"{place} = {shown(name)}; no such profile.{suggest(name, self._described)}")
        if name not in self._read:
            self._read[name] = self._made(f"{self._place}.{name}", self._described[name], (*outer, name))
        return self._read[name]

    def _made(self, place: str, fields: object, outer: tuple[str, ...]) -> Profile:
        if not isinstance(fields, dict):
            raise BridgeError(f"{place} = {shown(fields)}; must be an object of keys and values.")
        kind = fields.get("type")
        if kind in {"composed", "sequential_composition"}:
            return self._composed(place, fields, outer)
        make = _MAKERS.get(kind) if isinstance(kind, str) else None
        if make is None:
            raise BridgeError(f"{place}.type = {shown(kind)}; {_why_not(kind)}.")
        try:
            return make(fields)
        except BridgeError:
            raise
        except ValueError as error:
            raise BridgeError(f"{place}.{error}.") from None

    def _composed(self, place: str, fields: _Fields, outer: tuple[str, ...]) -> Profile:
        names, repeat = fields.get("seq"), fields.get("repeat", 1)
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            raise BridgeError(f"{place}.seq = {shown(names)}; must be a list of names of profiles.")
        if isinstance(repeat, bool) or not isinstance(repeat, int) or repeat < 1:
            raise BridgeError(f"{place}.repeat = {shown(repeat)}; must be a whole number >= 1.")
        parts = [self._named(name, f"{place}.seq[{index}]", outer) for index, name in enumerate(names)]
        durations = [part for part in parts if isinstance(part, float)]
        if len(durations) == len(parts):
            return repeat * sum(durations)
        return Sequence([_task_of(part) for part in parts], iterations=repeat)


def _task_of(profile: Profile) -> Task:
    """Return the task of a profile; a duration becomes a delay of all ranks."""
    return Delay(profile) if isinstance(profile, float) else profile


def _why_not(kind: object) -> str:
    if isinstance(kind, str) and kind in _NOT_READ:
        return f"such a profile {_NOT_READ[kind]}. Leave out its jobs, or give them a delay"
    known = [*_MAKERS, "composed", "sequential_composition"]
    return f"must be a type of profile.{suggest(kind, known) if isinstance(kind, str) else ''}".rstrip(".")


def _delay(fields: _Fields) -> Profile:
    return field("delay", seconds, fields)


def _parallel(fields: _Fields) -> Profile:
    flops, sizes = (field(key, amounts, fields) for key in ("cpu", "com"))
    if not flops or len(sizes) != len(flops) ** 2:
        rule = f"cpu has {len(flops)}, and com must have one for each pair of these"
        raise ValueError(f"com has {len(sizes)} numbers; {rule}")
    return Compute(flops=flops, bytes=sizes if any(sizes) else None, coupled=True)


def _homogeneous(fields: _Fields) -> Profile:
    strategy = fields.get("generation_strategy", "defined_amount_used_for_each_value")
    flops, size = (field(key, amount, fields) for key in ("cpu", "com"))
    if strategy == "defined_amount_used_for_each_value":
        return _spread(flops, "uniform", size, f"{size!r} * num_nodes * (num_nodes - 1)")
    if strategy == "defined_amount_spread_uniformly":
        return _spread(flops, "all_ranks", size, size)
    known = "defined_amount_used_for_each_value or defined_amount_spread_uniformly"
    raise ValueError(f"generation_strategy = {shown(strategy)}; must be {known}")


def _homogeneous_total(fields: _Fields) -> Profile:
    flops, size = (field(key, amount, fields) for key in ("cpu", "com"))
    # Batsim 4 divides the bytes by the number of hosts, not by the number of pairs.
    return _spread(flops, "all_ranks", size, f"{size!r} * (num_nodes - 1)")


def _spread(flops: float, pattern: RankPattern, size: float, total: str | float) -> Compute:
    """Create a parallel task; each ordered pair of ranks sends the same share of the total bytes."""
    if size == 0:
        return Compute(flops=flops, computation_pattern=pattern, coupled=True)
    return Compute(
        flops=flops,
        computation_pattern=pattern,
        bytes=total,
        communication_pattern="all_to_all",
        coupled=True,
    )


_MAKERS: Final[dict[str, Callable[[_Fields], Profile]]] = {
    "delay": _delay,
    "parallel": _parallel,
    "ptask": _parallel,
    "parallel_homogeneous": _homogeneous,
    "ptask_homogeneous": _homogeneous,
    "parallel_homogeneous_total": _homogeneous_total,
}
