"""The service of the jobs of a run, as the kernel takes it: their work, and the controls of rates (S19)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from batchlab.errors import SimulationError, WorkloadError, shown, suggest

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab._kernel import ControlInput, ServiceInputs
    from batchlab.options import RunOptions
    from batchlab.system import System
    from batchlab.workload import Workload

__all__ = ["WORK", "service_inputs", "work_of_jobs"]

WORK = "work"
"""The column of what jobs have to do."""


def work_of_jobs(workload: Workload, reference_rate: float = 1.0) -> npt.NDArray[np.float64]:
    """Give what each job has to do.

    Parameters
    ----------
    workload
        With a column ``work``; where it has none, or no value, work is run_time times the reference rate.
    reference_rate
        Units of work per second at which the run times were measured.

    Returns
    -------
    float64, shape (jobs,)
        Units of work; 0 for a job that carries an application.

    Raises
    ------
    WorkloadError
        If a job's work is not a finite number >= 0.
    """
    jobs = workload.jobs
    # A job that carries an application runs until that is done.
    run_time = jobs["run_time"].fill_null(0.0)
    usual = run_time if reference_rate == 1 else run_time * reference_rate
    if WORK not in jobs.columns:
        return usual.to_numpy()
    if not jobs[WORK].dtype.is_numeric():
        raise WorkloadError(f"column {WORK!r} is of the kind {jobs[WORK].dtype}; must be numbers.")
    work = jobs[WORK].cast(pl.Float64)
    wrong = ~(work.is_finite() & (work >= 0)).fill_null(value=True)
    if wrong.any():
        row = wrong.arg_max() or 0
        rule = "must be a finite number >= 0. Mend the column, or leave it out"
        raise WorkloadError(f"job {jobs['job_id'][row]}: {WORK} = {work[row]}; {rule}.")
    return work.fill_null(usual).to_numpy()


def service_inputs(system: System, options: RunOptions) -> ServiceInputs | None:
    """Give the controls of the rates as the kernel takes them; None where no rate is controlled.

    Raises
    ------
    SimulationError
        If a control names a group that the system does not have, or two set the rate of one node.
    """
    controls = options.controls
    if not controls:
        return None
    numbers = None
    if any(control.groups for control in controls) or len(controls) > 1:
        numbers = _control_of_node(system, options)
    governed = any(control.for_kernel(0)["rule"] in ("ondemand", "schedutil") for control in controls)
    processors = _processors(system, numbers, len(controls)) if governed else []
    described = [cast("ControlInput", control.for_kernel(options.seed)) for control in controls]
    return {
        "controls": described,
        "control_of_node": numbers,
        "processors": processors,
        "key_events": options.key_events,
    }


def _control_of_node(system: System, options: RunOptions) -> npt.NDArray[np.uint32]:
    """Give the control of each node, counted from 1; 0 where it has none."""
    numbers = np.zeros(system.nodes, np.uint32)
    group_of_node = np.repeat(np.arange(len(system.groups)), [group.count for group in system.groups])
    names = [group.name for group in system.groups]
    for number, control in enumerate(options.controls, start=1):
        for name in control.groups:
            if name not in names:
                raise SimulationError(
                    f"control: groups = {shown(control.groups)}; the system has no group {name!r}."
                    f"{suggest(name, names)}"
                )
        chosen = [place for place, name in enumerate(names) if not control.groups or name in control.groups]
        nodes = np.isin(group_of_node, chosen)
        if numbers[nodes].any():
            other = options.controls[int(numbers[nodes].max()) - 1]
            rule = "each node has one control. Give each its groups"
            raise SimulationError(f"control: {other} and {control} set the rate of the same nodes; {rule}.")
        numbers[nodes] = number
    return numbers


def _processors(system: System, numbers: npt.NDArray[np.uint32] | None, controls: int) -> list[float]:
    """Give the processors of the nodes of each control."""
    resource = list(system.resources).index("core") if "core" in system.resources else None
    of_node = np.ones(system.nodes) if resource is None else system.capacity[:, resource].astype(np.float64)
    if numbers is None:
        return [float(of_node.sum())]
    return [float(of_node[numbers == number].sum()) for number in range(1, controls + 1)]
