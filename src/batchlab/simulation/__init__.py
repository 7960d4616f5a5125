"""Simulate a workload on a system under a policy."""

from batchlab.core.lazy import make_dir
from batchlab.simulation.decision_point import DecisionPoint
from batchlab.simulation.simulate import simulate
from batchlab.simulation.simulation import Simulation
from batchlab.simulation.status import Gauges, Status

__all__ = ["DecisionPoint", "Gauges", "Simulation", "Status", "simulate"]

__dir__ = make_dir(__name__)
