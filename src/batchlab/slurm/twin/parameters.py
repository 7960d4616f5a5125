"""The parameters of a twin that a fit may change, with their bounds, and files with fitted values."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from batchlab.core import rules
from batchlab.core.arguments import checked
from batchlab.core.documents import DocumentReader
from batchlab.core.outputs import output, remember_source, source_of
from batchlab.core.units import format_number
from batchlab.core.vocabulary import GENERATOR
from batchlab.errors import TwinError, shown, suggest
from batchlab.options import Delay, Overheads
from batchlab.policy.orders import Multifactor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from batchlab.policy import Policy
    from batchlab.slurm.twin.twin import Twin

__all__ = [
    "PARAMETERS",
    "Fitted",
    "Parameter",
    "changed",
    "changed_policy",
    "configured",
    "parameter",
    "read_fitted",
    "usual",
    "write_fitted",
]

_SUBMISSION = "submission"
_OVERHEADS = ("launch", "completion")
_SECONDS = {_SUBMISSION: 30.0, "launch": 60.0, "completion": 120.0}
# The lower bound and the minimum upper bound; the upper bound is at least twice the configured value.
_WHOLE = {
    "bf_max_job_test": (1, 1000),
    "default_queue_depth": (1, 200),
    "batch_sched_delay": (0, 60),
    "sched_interval": (1, 600),
    "bf_interval": (1, 600),
}
_PHASES = ("main_phase", "backfill_phase")
_WEIGHTS = ("age", "association", "fair_share", "job_size", "partition", "qos")
_WIDE = 100.0

PARAMETERS = (_SUBMISSION, *_OVERHEADS, *_WHOLE, *_PHASES, *_WEIGHTS)
"""The names of the parameters that can be fitted."""


@dataclass(frozen=True)
class Parameter:
    """A parameter to fit, and its bounds.

    Parameters
    ----------
    name
        One of `PARAMETERS`: ``submission``, ``launch`` and ``completion`` in seconds; parameters of
        `batchlab.policy.SlurmParameters`; or weights of the order ``multifactor``.
    low, high
        The bounds.
    configured
        Its configured value; None for a phase drawn from the seed.
    """

    name: str
    low: float
    high: float
    configured: float | None

    def __post_init__(self) -> None:
        where = f"{self.name}: "
        rules.hold(self, TwinError, where, low=rules.NOT_NEGATIVE, high=rules.NOT_NEGATIVE)
        if not self.low < self.high:
            raise TwinError(
                f"{self.name}: bounds {shown(self.low)} to {shown(self.high)}; must be 0 <= LOW < HIGH."
            )

    @property
    def is_whole(self) -> bool:
        """Whether its values are whole numbers."""
        return self.name in _WHOLE

    @property
    def is_logarithmic(self) -> bool:
        """Whether its values are sampled on a logarithmic scale."""
        return self.low > 0 and self.name in (*_WHOLE, *_WEIGHTS)


@checked(TwinError)
def parameter(twin: Twin, name: str, bounds: tuple[float, float] | None = None) -> Parameter:
    """Create a parameter of a twin for a fit.

    Parameters
    ----------
    twin
        The configuration.
    name
        One of `PARAMETERS`.
    bounds
        Lower and upper bound; by default the usual bounds of the parameter.

    Returns
    -------
    Parameter

    Raises
    ------
    TwinError
        If the parameter is unknown, the configuration does not have it, or it has no usual bounds.
    """
    if name not in PARAMETERS:
        raise TwinError(f"parameter {shown(name)} cannot be fitted.{suggest(name, PARAMETERS)}")
    value = configured(twin, name)
    low, high = _bounds(twin, name, value) if bounds is None else bounds
    if name in _PHASES:
        # A phase is smaller than its interval.
        high = min(high, math.nextafter(_interval(twin.policy, name), 0))
    found = Parameter(name, low, high, value)
    if value is not None and not low <= value <= high:
        raise TwinError(
            f"{name}: configured as {value:g}, which is not within {low:g} to {high:g}. Widen the bounds."
        )
    return found


@checked(TwinError)
def usual(twin: Twin) -> tuple[Parameter, ...]:
    """Return the parameters to fit by default.

    Parameters
    ----------
    twin
        The configuration.


    Returns
    -------
    tuple of Parameter
        The submission; the completion, unless it is a distribution; ``bf_max_job_test``, if there is
        backfill; and the weights of the order except for the largest, since only their ratios matter.
    """
    names = [_SUBMISSION, *(["completion"] if _is_constant(twin, "completion") else [])]
    if twin.policy.slurm is not None and twin.policy.slurm.backfill:
        names.append("bf_max_job_test")
    if twin.policy.order_name == "multifactor":
        weights = {name: configured(twin, name) or 0.0 for name in _WEIGHTS}
        greatest = max(weights, key=lambda name: weights[name])
        names += [name for name, weight in weights.items() if weight and name != greatest]
    return tuple(parameter(twin, name) for name in names)


def configured(twin: Twin, name: str) -> float | None:
    """Return the configured value of a parameter; None for a phase drawn from the seed.

    Raises
    ------
    TwinError
        If the configuration has no value: its policy lacks the parameter, or an overhead is a distribution.
    """
    if name == _SUBMISSION:
        return twin.submission
    if name in _OVERHEADS:
        if not _is_constant(twin, name):
            raise TwinError(f"{name} is drawn from a distribution; to fit it, give a number of seconds.")
        base = _delay(twin, name).base
        return float(base) if isinstance(base, int | float) else None
    if name in _WEIGHTS:
        return float(getattr(_order(twin.policy, name), name))
    if twin.policy.slurm is None:
        raise TwinError(f"{name} is a parameter of the policy slurm; {twin.name} is run under {twin.policy}.")
    value = getattr(twin.policy.slurm, name)
    return None if value is None else float(value)


@checked(TwinError)
def changed(twin: Twin, values: Mapping[str, float]) -> Twin:
    """Return a twin with changed parameters.

    Parameters
    ----------
    twin
        The twin.
    values
        The values by name in `PARAMETERS`.

    Raises
    ------
    TwinError
        If the policy of the twin lacks a parameter.
    """
    delays = {name: value for name, value in values.items() if name in _OVERHEADS}
    options = twin.options
    if delays:
        options = replace(options, overheads=replace(_overheads(twin), **delays))  # type: ignore[arg-type]  # phases
    policy = {name: value for name, value in values.items() if name not in (*_OVERHEADS, _SUBMISSION)}
    return replace(
        twin,
        options=options,
        submission=values.get(_SUBMISSION, twin.submission),
        policy=changed_policy(twin.policy, policy),
    )


def changed_policy(policy: Policy, values: Mapping[str, float]) -> Policy:
    """Return a policy with changed parameters of ``slurm`` and weights of its order."""
    weights = {name: value for name, value in values.items() if name in _WEIGHTS}
    if weights:
        order = _order(policy, next(iter(weights)))
        policy = replace(policy, order=str(replace(order, **weights)))  # type: ignore[arg-type]  # of weights
    others = {
        name: int(value) if name in _WHOLE else value
        for name, value in values.items()
        if name not in _WEIGHTS
    }
    if not others:
        return policy
    if policy.slurm is None:
        raise TwinError(f"{next(iter(others))} is a parameter of the policy slurm; {policy} has it not.")
    return replace(policy, slurm=replace(policy.slurm, **others))  # type: ignore[arg-type]  # of their kinds


def _order(policy: Policy, weight: str) -> Multifactor:
    if policy.order_name != "multifactor" or not isinstance(policy.order, str):
        raise TwinError(f"{weight} is a weight of the order multifactor; {policy} has none.")
    return Multifactor.of(policy.order)


def _overheads(twin: Twin) -> Overheads:
    return twin.options.job_overheads or Overheads()


def _delay(twin: Twin, name: str) -> Delay:
    return _overheads(twin).delay(name)  # type: ignore[arg-type]  # one of its phases


def _is_constant(twin: Twin, name: str) -> bool:
    delay = _delay(twin, name)
    return isinstance(delay.base, int | float) and not delay.per_task


def _interval(policy: Policy, name: str) -> float:
    if name == "backfill_phase" or policy.slurm is None:
        return 1.0
    return float(policy.slurm.sched_interval)


def _bounds(twin: Twin, name: str, value: float | None) -> tuple[float, float]:
    """Return the usual bounds."""
    if name in _SECONDS:
        return 0.0, max(_SECONDS[name], 2 * (value or 0.0))
    if name in _WHOLE:
        low, high = _WHOLE[name]
        return low, max(high, 2 * int(value or 0))
    if name in _PHASES:
        return 0.0, _interval(twin.policy, name)
    if not value:
        raise TwinError(f"{name} = 0, which has no usual bounds; give them, as {name}=1:1000.")
    return value / _WIDE, value * _WIDE


_DOCUMENTS = DocumentReader(TwinError, noun="file of fitted values")
_KEYS = ("configured", "fitted")
_HEAD = f"""# {GENERATOR}
# What `batchlab slurm fit` found: seconds, and parameters of the policy.
# `batchlab slurm what-if` and `batchlab run` take it by --fitted.
"""


@dataclass(frozen=True)
class Fitted:
    """Fitted values of parameters.

    Parameters
    ----------
    values
        The values by name in `batchlab.twin.PARAMETERS`.
    configured
        The values configured before the fit; None for a phase drawn from the seed.
    """

    values: Mapping[str, float]
    configured: Mapping[str, float | None]

    def applied(self, twin: Twin) -> Twin:
        """Return a twin with the fitted values.

        A parameter is kept if the twin configures it differently from the fitted configuration, since such
        differences are the subject of a what-if study.

        Raises
        ------
        TwinError
            If the policy of the twin lacks a parameter.
        """
        same = {
            name: value
            for name, value in self.values.items()
            if configured(twin, name) == self.configured[name]
        }
        return changed(twin, same)


@checked(TwinError)
def write_fitted(fitted: Fitted, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write the file atomically.

    Parameters
    ----------
    fitted
        The fitted values.
    path
        The file.
    overwrite
        Whether to replace a file that batchlab did not write. The input is never replaced.

    Raises
    ------
    OutputError
        If the file is the source of the values, or batchlab did not write it.
    TwinError
        If the file cannot be written.
    """
    lines = [_HEAD]
    for name, value in fitted.values.items():
        before = fitted.configured[name]
        lines.append(f"[{name}]")
        lines += [] if before is None else [f"configured = {format_number(before)}"]
        lines.append(f"fitted = {format_number(value)}\n")
    try:
        with output(path, inputs=source_of(fitted), overwrite=overwrite) as file:
            file.write("\n".join(lines))
    except OSError as error:
        raise TwinError(f"{os.fspath(path)}: {error.strerror}. The file was not written.") from error


@checked(TwinError)
def read_fitted(path: str | os.PathLike[str]) -> Fitted:
    """Read a file of fitted values.

    Raises
    ------
    TwinError
        If the file cannot be read, or a parameter or a value is invalid; the message names the file and the
        parameter.
    """
    file = os.fspath(path)
    try:
        content = _DOCUMENTS.toml(_DOCUMENTS.text(_DOCUMENTS.content(file)))
        tables = _tables(content)
    except TwinError as error:
        raise _DOCUMENTS.named(file, error) from None
    found = Fitted(
        {name: table["fitted"] for name, table in tables.items()},
        {name: table.get("configured") for name, table in tables.items()},
    )
    return remember_source(found, file)


def _tables(content: Mapping[str, object]) -> dict[str, dict[str, float]]:
    if not content:
        raise TwinError("has no parameter. Give what batchlab slurm fit wrote by --out.")
    return {name: _table(name, table) for name, table in content.items()}


def _table(name: str, table: object) -> dict[str, float]:
    if name not in PARAMETERS:
        raise TwinError(f"[{name}]: no such parameter.{suggest(name, PARAMETERS)}")
    if not isinstance(table, dict) or "fitted" not in table:
        raise TwinError(f"[{name}]: must be a table with a value fitted.")
    for key, value in table.items():
        if key not in _KEYS:
            raise TwinError(f"[{name}]: {key}: no such key.{suggest(key, _KEYS)}")
        rules.check(TwinError, f"[{name}]: {key}", value, rules.NOT_NEGATIVE)
    return {key: float(value) for key, value in table.items()}
