"""Simulate a workload on a system under a policy."""

from batchlab.core.lazy import make_dir
from batchlab.simulation.driver import DecisionPoint
from batchlab.simulation.initial_state import InitialState
from batchlab.simulation.simulation import Simulation, simulate
from batchlab.simulation.status import Gauges, Status

__all__ = ["DecisionPoint", "Gauges", "InitialState", "Simulation", "Status", "simulate"]

__dir__ = make_dir(__name__)
