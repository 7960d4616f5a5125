"""The option ``--overhead``: time that jobs occupy their nodes before and after their runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from batchlab.cli.failure import wrong_usage
from batchlab.core.spec import flag_of
from batchlab.errors import SimulationError, suggest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from batchlab.options import Overheads

__all__ = ["overheads_of"]

_FLAGS = ("counted", "billed")


def overheads_of(given: Sequence[str] | None) -> Overheads | None:
    """Parse the values of ``--overhead``.

    Parameters
    ----------
    given
        ``launch=…``, ``execution=…``, ``completion=…``, ``suspend=…``, ``resume=…``: seconds, a distribution
        or a column; ``counted=false``, ``billed=false``.

    Returns
    -------
    Overheads or None
        None if the option is missing.
    """
    if not given:
        return None
    from batchlab.options.overheads import PHASES, Overheads  # noqa: PLC0415  # most runs do without

    values: dict[str, Any] = {}
    for text in given:
        name, sign, value = (part.strip() for part in text.partition("="))
        if not sign or name not in (*PHASES, *_FLAGS):
            known = ", ".join(f"{each}=…" for each in (*PHASES, *_FLAGS))
            raise wrong_usage(f"{text!r}; must be one of {known}.{suggest(name, PHASES)}", "--overhead")
        if name in values:
            raise wrong_usage(f"names {name} twice; leave one out.", "--overhead")
        values[name] = _flag(name, value) if name in _FLAGS else _seconds(value)
    try:
        return Overheads(**values)
    except SimulationError as error:
        raise wrong_usage(str(error), "--overhead") from None


def _flag(name: str, value: str) -> bool:
    try:
        return flag_of(value)
    except ValueError as error:
        raise wrong_usage(f"{name}={value}; {error}.", "--overhead") from None


def _seconds(value: str) -> float | str:
    try:
        return float(value)
    except ValueError:
        return value
