"""Map nodes of a system to controls of rates (S19)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from batchlab.errors import SimulationError, shown, suggest

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from batchlab.control import RateControl
    from batchlab.system.system import System

__all__ = ["control_of_node"]


def control_of_node(system: System, controls: Sequence[RateControl]) -> npt.NDArray[np.uint32]:
    """Return the control of each node of a system.

    Returns
    -------
    uint32, shape (nodes,)
        The index of its control plus 1; 0 without a control.

    Raises
    ------
    SimulationError
        If a control names an unknown group, or two controls set the rate of one node.
    """
    numbers = np.zeros(system.nodes, np.uint32)
    group_of_node = np.repeat(np.arange(len(system.groups)), [group.count for group in system.groups])
    names = [group.name for group in system.groups]
    for number, control in enumerate(controls, start=1):
        for name in control.groups:
            if name not in names:
                raise SimulationError(
                    f"control: groups = {shown(control.groups)}; the system has no group {name!r}."
                    f"{suggest(name, names)}"
                )
        chosen = [place for place, name in enumerate(names) if not control.groups or name in control.groups]
        nodes = np.isin(group_of_node, chosen)
        if numbers[nodes].any():
            other = controls[int(numbers[nodes].max()) - 1]
            rule = "each node has one control. Give each its groups"
            raise SimulationError(f"control: {other} and {control} set the rate of the same nodes; {rule}.")
        numbers[nodes] = number
    return numbers
