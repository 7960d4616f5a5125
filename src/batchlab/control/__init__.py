"""Service-rate control: at which of its rates a machine serves jobs (S19). Needs neither NumPy nor polars."""

from batchlab.control.governors import Ondemand, Performance, Powersave, Schedutil
from batchlab.control.parse import CONTROLS, parse_control
from batchlab.control.rate_control import RateControl, RateLoad
from batchlab.control.rules import ConstantRate, CountHysteresis, RandomisedRate, WorkloadHysteresis
from batchlab.lazy import listing

__all__ = [
    "CONTROLS",
    "ConstantRate",
    "CountHysteresis",
    "Ondemand",
    "Performance",
    "Powersave",
    "RandomisedRate",
    "RateControl",
    "RateLoad",
    "Schedutil",
    "WorkloadHysteresis",
    "parse_control",
]

__dir__ = listing(__name__)
