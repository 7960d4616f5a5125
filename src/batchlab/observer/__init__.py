"""Observers: collect data on jobs and nodes, offer it to policies, and act on it."""

from batchlab.core.lazy import make_dir
from batchlab.observer.failures import Failures
from batchlab.observer.power import NodePower, Power, PowerNow
from batchlab.observer.signal import CarbonIntensity, EnergyPrice, Signal
from batchlab.observer.steps import Course, Steps
from batchlab.observer.temperature import NodeWarming, Temperature

__all__ = [
    "CarbonIntensity",
    "Course",
    "EnergyPrice",
    "Failures",
    "NodePower",
    "NodeWarming",
    "Power",
    "PowerNow",
    "Signal",
    "Steps",
    "Temperature",
]

__dir__ = make_dir(__name__)
