"""The options ``--control`` and ``--rate``: the rates at which nodes serve jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.cli.failure import wrong_usage
from batchlab.errors import SimulationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from batchlab.control import RateControl

__all__ = ["check_streamed", "controls_of"]


def controls_of(rate: float | None, control: Sequence[str] | None) -> tuple[RateControl, ...] | None:
    """Parse the values of ``--rate`` and ``--control``.

    Parameters
    ----------
    rate
        The rate of a constant control of all nodes; None if missing.
    control
        Specs, one for each set of node groups.

    Returns
    -------
    tuple of RateControl or None
        None if both are missing.

    Raises
    ------
    Failure
        If both are given, or a value is invalid.
    """
    if rate is not None and control:
        rule = f"{rate:g} sets the rate that --control {control[0]!r} would change; leave one out."
        raise wrong_usage(rule, "--rate")
    if rate is None and not control:
        return None
    from batchlab.control import ConstantRate, parse_control  # noqa: PLC0415  # most runs do without

    name = "--control" if rate is None else "--rate"
    try:
        return tuple(map(parse_control, control or ())) if rate is None else (ConstantRate(rate),)
    except SimulationError as error:
        raise wrong_usage(str(error), name) from None


def check_streamed(rate: float | None, control: Sequence[str] | None, reference_rate: float) -> None:
    """Raise if rate options are combined with ``--stream``.

    Raises
    ------
    Failure
        If an option of rates is given.
    """
    given = {"--rate": rate is not None, "--control": bool(control), "--reference-rate": reference_rate != 1}
    for option in [option for option, is_given in given.items() if is_given]:
        raise wrong_usage("needs the work of each job, which --stream does without; leave one out.", option)
