"""Overheads: time that jobs occupy their nodes in addition to their runs, by phase (S17)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

from batchlab.core import rules
from batchlab.core.form import described, flag
from batchlab.errors import SimulationError, shown, suggest

if TYPE_CHECKING:
    from batchlab.core.distributions import Distribution

__all__ = ["PHASES", "Base", "Delay", "Overheads", "Phase"]


Base = float | str | Sequence[float]
"""Source of a delay: seconds, the spec of a distribution, the name of a column, or values to draw from."""


@dataclass(frozen=True)
class Delay:
    """A time drawn for each job, optionally with a part proportional to its number of tasks.

    Parameters
    ----------
    base
        Seconds: a number; a distribution by name and parameters, such as ``"uniform(low=0, high=2)"`` or
        ``"gamma(shape=2, scale=0.5)"``; measured values, one of which is drawn for each job; or the name of a
        column of the jobs. Negative values and missing values of a column count as 0.
    per_task
        Additional seconds per task of the job, >= 0.

    Raises
    ------
    SimulationError
        If a value is not a number of seconds >= 0, or the distribution is unknown.

    Examples
    --------
    >>> Delay("uniform(low=0, high=2)", per_task=0.01).per_task
    0.01
    """

    base: Base = 0.0
    per_task: float = 0.0

    def __post_init__(self) -> None:
        rules.hold(self, SimulationError, per_task=rules.SECONDS)
        if isinstance(self.base, str):
            if not self.base.isidentifier():
                self.distribution  # noqa: B018  # it checks the text
        elif isinstance(self.base, list | tuple):
            if not self.base:
                raise SimulationError("base = (); give at least one measured value.")
            base = tuple(rules.check(SimulationError, "base", each, rules.SECONDS) for each in self.base)
            rules.set_field(self, "base", base)
        else:
            rules.hold(self, SimulationError, base=rules.SECONDS)

    @cached_property
    def distribution(self) -> Distribution:
        """The distribution in `base`.

        Raises
        ------
        SimulationError
            If `base` is not a text, or not the spec of a distribution.
        """
        from batchlab.core.distributions import distribution_of  # noqa: PLC0415  # most runs do without

        try:
            return distribution_of(str(self.base), SimulationError)
        except SimulationError as error:
            raise SimulationError(f"base = {shown(self.base)}: {error}") from None

    def __str__(self) -> str:
        if isinstance(self.base, str):
            text = self.base
        elif isinstance(self.base, int | float):
            text = f"{self.base:g} s"
        else:
            text = f"one of {len(self.base)} values"
        return f"{text} + {self.per_task:g} s per task" if self.per_task else text

    @property
    def is_none(self) -> bool:
        """True if the delay is 0 for all jobs."""
        return self.base == 0 and self.per_task == 0

    @property
    def plain(self) -> object:
        """The base, or a mapping of the fields; `of` takes both back."""
        return {"base": self.base, "per_task": self.per_task} if self.per_task else self.base

    @classmethod
    def of(cls, value: object) -> Delay:
        """Build a delay from a number, a text, values, or a mapping of its fields as in a file."""
        if isinstance(value, cls):
            return value
        if isinstance(value, Mapping):
            for name in value:
                if name not in _DELAY_FIELDS:
                    raise SimulationError(f"{name}: no such key.{suggest(str(name), _DELAY_FIELDS)}")
            return cls(**value)
        return cls(value)  # type: ignore[arg-type]  # it is checked


@dataclass(frozen=True, kw_only=True)
class Overheads:
    """Time that jobs occupy their nodes before, during and after their runs.

    Parameters
    ----------
    launch, execution, completion
        Seconds from the start of a job to the begin of its run, extra seconds of the run, and seconds from
        its end to the release of the nodes: a number, the spec of a distribution, values to draw from, or a
        `Delay`. A value is drawn for each job with the seed of the run.
    suspend, resume
        The same for suspension: seconds from the decision to suspend a job to the release of its nodes, and
        extra seconds of its next launch. They do not count towards any limit.
    counted
        True if a job's time_limit includes overheads under ``walltime="kill"``.
    billed
        True if accounts are charged for overheads too.

    Raises
    ------
    SimulationError
        If a value is not a valid delay.

    Notes
    -----
    A. Baranov et al. (2020) denote the times of launch, execution and completion by a, b and c. Here,
    ``execution`` is added to the job's run_time.

    Examples
    --------
    >>> Overheads(launch="uniform(low=0, high=2)", completion=1.5).delay("completion").base
    1.5
    """

    launch: Delay | Base = 0.0
    execution: Delay | Base = 0.0
    completion: Delay | Base = 0.0
    suspend: Delay | Base = 0.0
    resume: Delay | Base = 0.0
    counted: bool = True
    billed: bool = True

    def __post_init__(self) -> None:
        for phase in PHASES:
            try:
                object.__setattr__(self, phase, self.delay(phase))
            except SimulationError as error:
                raise SimulationError(f"{phase}.{error}") from None
        for name in ("counted", "billed"):
            object.__setattr__(self, name, flag(name, getattr(self, name)))

    def __str__(self) -> str:
        given = [f"{phase} {self.delay(phase)}" for phase in PHASES if not self.delay(phase).is_none]
        flags = {"not counted": self.counted, "not billed": self.billed}
        return ", ".join([*(given or ["none"]), *(text for text, usual in flags.items() if not usual)])

    @classmethod
    def of(cls, value: object) -> Overheads:
        """Return overheads of an object, a mapping of the fields, or text, ``"launch=2, billed=false"``."""
        return described(cls, "overheads", value, "launch=2, completion=uniform(low=0, high=2)")

    @property
    def plain(self) -> dict[str, object]:
        """The fields that differ from their defaults, as plain values; `of` takes them back."""
        phases = {phase: self.delay(phase).plain for phase in PHASES if not self.delay(phase).is_none}
        return phases | {name: False for name in ("counted", "billed") if not getattr(self, name)}

    def delay(self, phase: Phase) -> Delay:
        """Return the delay of a phase."""
        return Delay.of(getattr(self, phase))


Phase = Literal["launch", "execution", "completion", "suspend", "resume"]

PHASES: tuple[Phase, ...] = get_args(Phase)
"""The phases of overheads: those of a run in order of time, then those of suspension."""

_DELAY_FIELDS = frozenset(field.name for field in fields(Delay))
