"""The reading options that all readers of accounting logs share."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self, TypedDict, TypeVar, get_type_hints

from batchlab.core.declared import declared
from batchlab.core.units import is_finite
from batchlab.core.vocabulary import InvalidAction, OverrunAction, ProcessorField
from batchlab.errors import WorkloadError, shown
from batchlab.workload.log_options import (
    LONGEST,
    LogOptions,
    RequeueAction,
    UnfinishedAction,
    check_reading,
)

__all__ = [
    "YEAR",
    "AccountingKeywords",
    "GwfKeywords",
    "JobcompKeywords",
    "LogKeywords",
    "Reading",
    "SacctKeywords",
    "takes",
]

YEAR = 365 * 86_400.0
"""Seconds; the time that Slurm's backfill assumes for a job without a time limit."""

_Reader = TypeVar("_Reader", bound=Callable[..., Any])


class LogKeywords(TypedDict, total=False):
    """The keywords of all readers of accounting logs; `Reading` holds their defaults."""

    timezone: str
    overrun: OverrunAction
    invalid: InvalidAction
    processors: ProcessorField
    use_memory: bool
    log_events: bool
    unlimited: float | Mapping[str, float]


class GwfKeywords(LogKeywords, total=False):
    """The keywords of `read_gwf`; each line of its logs is a job."""

    unfinished: UnfinishedAction


class AccountingKeywords(GwfKeywords, total=False):
    """The keywords of the readers of batch system logs."""

    requeues: RequeueAction
    node_names: bool


class JobcompKeywords(LogKeywords, total=False):
    """The keywords of `read_jobcomp`, which only reads finished jobs."""

    time_format: str | None
    requeues: RequeueAction
    partition_limits: Mapping[str, float]
    node_names: bool


class SacctKeywords(AccountingKeywords, total=False):
    """The keywords of `read_sacct`."""

    time_format: str | None
    partition_limits: Mapping[str, float]
    dependencies: bool


@dataclass(frozen=True, kw_only=True)
class Reading(LogOptions):
    """The arguments of `read_sacct` (described there), checked. The defaults are those of accounting logs."""

    timezone: str = "UTC"
    overrun: OverrunAction = "keep"
    use_memory: bool = False
    unlimited: float | Mapping[str, float] = YEAR
    partition_limits: Mapping[str, float] = field(default_factory=dict)
    node_names: bool = False

    def __post_init__(self) -> None:
        check_reading({name: getattr(self, name) for name in declared(LogOptions)})
        values = self.unlimited.values() if isinstance(self.unlimited, Mapping) else [self.unlimited]
        _check_seconds(
            "unlimited", values, "a number of seconds from 0 to 2^53, or one for each of some partitions"
        )
        rule = "numbers of seconds from 0 to 2^53 by partition"
        if not isinstance(self.partition_limits, Mapping):
            raise WorkloadError(f"partition_limits = {shown(self.partition_limits)}; must be {rule}.")
        _check_seconds("partition_limits", self.partition_limits.values(), rule)

    @property
    def options(self) -> Mapping[str, object]:
        """The options shared with `ReadingOptions` that differ from their defaults here."""
        usual = Reading()
        names = [each.name for each in fields(LogOptions)]
        names += [] if isinstance(self.unlimited, Mapping) else ["unlimited"]
        return {name: getattr(self, name) for name in names if getattr(self, name) != getattr(usual, name)}

    @classmethod
    def of(cls, reader: Callable[..., Any], keywords: Mapping[str, Any], **fixed: object) -> Self:
        """Return the arguments passed to a reader.

        Parameters
        ----------
        reader
            A function with the decorator `takes`.
        keywords
            The keyword arguments of the call.
        fixed
            Arguments that the reader does not accept, and that its logs determine.

        Raises
        ------
        TypeError
            If the reader does not accept a keyword.
        """
        known = inspect.signature(reader).parameters
        for name in keywords:
            if name not in known:
                raise TypeError(f"{reader.__name__}() got an unexpected keyword argument {name!r}")
        return cls(**keywords, **fixed)  # type: ignore[arg-type]  # checked against `takes`


def takes(keywords: type) -> Callable[[_Reader], _Reader]:
    """Show the keywords that ``**keywords`` stands for, with their defaults, in the signature of a reader.

    Parameters
    ----------
    keywords
        The typed dictionary of the keywords.
    """
    usual = Reading()
    defaults = {each.name: getattr(usual, each.name) for each in fields(Reading)}
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation=kind)
        for name, kind in get_type_hints(keywords).items()
    ]

    def with_signature(reader: _Reader) -> _Reader:
        own = inspect.signature(reader)
        named = [each for each in own.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        vars(reader)["__signature__"] = own.replace(parameters=[*named, *more])
        return reader

    return with_signature


def _check_seconds(name: str, values: Iterable[float], rule: str) -> None:
    for value in values:
        if not is_finite(value) or not 0 <= value <= LONGEST:
            raise WorkloadError(f"{name} = {shown(value)}; must be {rule}.")
