"""Running a workload on a system under a policy."""

from batchlab.simulation.simulate import simulate
from batchlab.simulation.simulation import Simulation

__all__ = ["Simulation", "simulate"]
