"""Kernel inputs of the service of jobs: controls of node rates (S19)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from batchlab.system.controlled_nodes import control_of_node

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab._kernel import ControlInput, ServiceInputs
    from batchlab.options import RunOptions
    from batchlab.system import System

__all__ = ["service_inputs"]


def service_inputs(system: System, options: RunOptions) -> ServiceInputs | None:
    """Return the controls of node rates for the kernel; None if no rate is controlled.

    Raises
    ------
    SimulationError
        If a control names an unknown group, or two controls set the rate of one node.
    """
    controls = options.controls
    if not controls:
        return None
    numbers = None
    if any(control.groups for control in controls) or len(controls) > 1:
        numbers = control_of_node(system, options.controls)
    governed = any(control.for_kernel(0)["rule"] in ("ondemand", "schedutil") for control in controls)
    processors = _processors(system, numbers, len(controls)) if governed else []
    described = [cast("ControlInput", control.for_kernel(options.seed)) for control in controls]
    return {
        "controls": described,
        "control_of_node": numbers,
        "processors": processors,
        "key_events": options.key_events,
    }


def _processors(system: System, numbers: npt.NDArray[np.uint32] | None, controls: int) -> list[float]:
    """Return the total number of processors of the nodes of each control."""
    resource = list(system.resources).index("core") if "core" in system.resources else None
    of_node = np.ones(system.nodes) if resource is None else system.capacity[:, resource].astype(np.float64)
    if numbers is None:
        return [float(of_node.sum())]
    return [float(of_node[numbers == number].sum()) for number in range(1, controls + 1)]
