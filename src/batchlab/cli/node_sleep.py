"""Checks of the options of a run against the nodes of a machine: sleep states and service rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.cli.failure import wrong_usage
from batchlab.errors import SimulationError

if TYPE_CHECKING:
    from batchlab.options import RunOptions
    from batchlab.system import System

__all__ = ["check_nodes"]


def check_nodes(system: System, options: RunOptions) -> None:
    """Raise if the machine's nodes cannot follow the rules for sleep states or rates."""
    if options.sleep is None and options.control is None:
        return
    from batchlab.simulation.service import service_inputs  # noqa: PLC0415  # --help does without NumPy
    from batchlab.simulation.sleep import sleep_inputs  # noqa: PLC0415  # as above

    for option, inputs in (("--sleep", sleep_inputs), ("--control", service_inputs)):
        try:
            inputs(system, options)
        except SimulationError as error:
            raise wrong_usage(str(error), option) from None
