"""The parameters of `slurm` on a machine of the reference."""

from dataclasses import fields
from typing import Any

from batchlab.policy import SlurmParameters
from batchlab.policy.slurm import PARAMETERS
from reference.slurm_selection import Machine

__all__ = ["parameters_on"]


def parameters_on(machine: Machine, **own: Any) -> SlurmParameters:  # noqa: ANN401  # parameters of several types
    """Return those that a machine of the reference has, under their names, with others."""
    names = [each.name for each in fields(Machine) if each.name in PARAMETERS]
    given = {name: getattr(machine, name) for name in names}
    whole = {name: int(given[name]) for name in names if PARAMETERS[name].kind == "whole"}
    return SlurmParameters(**(given | whole | own))
