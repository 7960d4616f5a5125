"""batchlab: the laboratory for HPC batch scheduling.

>>> import batchlab as bl
>>> workload = bl.Workload.from_table({"submit_time": [0.0], "run_time": [60.0], "tasks": [2]})
>>> result = bl.simulate(workload, bl.System.homogeneous(nodes=2, resources={"core": 1}), "easy")
>>> result.jobs["end_time"].item()
60.0
"""

from typing import TYPE_CHECKING

from batchlab._kernel import __version__
from batchlab.lazy import lazily

if TYPE_CHECKING:
    from batchlab import bridge as bridge
    from batchlab import generate as generate
    from batchlab import platform as platform
    from batchlab import plot as plot
    from batchlab import report as report
    from batchlab._kernel import Formula as Formula
    from batchlab._kernel import Job as Job
    from batchlab._kernel import Queue as Queue
    from batchlab.application import Application as Application
    from batchlab.application import Phase as Phase
    from batchlab.application import Stage as Stage
    from batchlab.application import read_application as read_application
    from batchlab.application import tasks as tasks
    from batchlab.application import write_application as write_application
    from batchlab.errors import (
        AlgorithmError as AlgorithmError,
    )
    from batchlab.errors import ApplicationError as ApplicationError
    from batchlab.errors import (
        BatchlabError as BatchlabError,
    )
    from batchlab.errors import (
        BridgeError as BridgeError,
    )
    from batchlab.errors import (
        DecisionError as DecisionError,
    )
    from batchlab.errors import (
        ExperimentError as ExperimentError,
    )
    from batchlab.errors import (
        MonitorError as MonitorError,
    )
    from batchlab.errors import (
        ObserverError as ObserverError,
    )
    from batchlab.errors import (
        PlatformError as PlatformError,
    )
    from batchlab.errors import (
        PolicyError as PolicyError,
    )
    from batchlab.errors import (
        PolicyNotFound as PolicyNotFound,
    )
    from batchlab.errors import (
        ResultError as ResultError,
    )
    from batchlab.errors import (
        SimulationError as SimulationError,
    )
    from batchlab.errors import (
        SystemDescriptionError as SystemDescriptionError,
    )
    from batchlab.errors import (
        TraceError as TraceError,
    )
    from batchlab.errors import (
        WorkloadError as WorkloadError,
    )
    from batchlab.experiment import (
        Experiment as Experiment,
    )
    from batchlab.experiment import (
        Runs as Runs,
    )
    from batchlab.experiment import (
        dispatchers as dispatchers,
    )
    from batchlab.monitor import Monitor as Monitor
    from batchlab.observer import CarbonIntensity as CarbonIntensity
    from batchlab.observer import EnergyPrice as EnergyPrice
    from batchlab.observer import Failures as Failures
    from batchlab.observer import NodePower as NodePower
    from batchlab.observer import NodeWarming as NodeWarming
    from batchlab.observer import Observer as Observer
    from batchlab.observer import Power as Power
    from batchlab.observer import Signal as Signal
    from batchlab.observer import Temperature as Temperature
    from batchlab.platform import Flow as Flow
    from batchlab.platform import NetworkModel as NetworkModel
    from batchlab.platform import ParallelTask as ParallelTask
    from batchlab.platform import Platform as Platform
    from batchlab.platform import read_platform as read_platform
    from batchlab.platform import share as share
    from batchlab.policy import Allocator as Allocator
    from batchlab.policy import Malleable as Malleable
    from batchlab.policy import Policy as Policy
    from batchlab.policy import Scheduler as Scheduler
    from batchlab.predictor import Predictor as Predictor
    from batchlab.result import metrics as metrics
    from batchlab.result.result import Result as Result
    from batchlab.simulation import Simulation as Simulation
    from batchlab.simulation.invocation import Cause as Cause
    from batchlab.simulation.invocation import Invocation as Invocation
    from batchlab.simulation.sensing import Sensing as Sensing
    from batchlab.simulation.simulate import simulate as simulate
    from batchlab.simulation.view import Columns as Columns
    from batchlab.simulation.view import View as View
    from batchlab.system import (
        NodeGroup as NodeGroup,
    )
    from batchlab.system import (
        System as System,
    )
    from batchlab.system import (
        read_system as read_system,
    )
    from batchlab.system import (
        write_system as write_system,
    )
    from batchlab.trace import traces as traces
    from batchlab.workload import (
        JobDescription as JobDescription,
    )
    from batchlab.workload import (
        Reader as Reader,
    )
    from batchlab.workload import (
        Workload as Workload,
    )
    from batchlab.workload import (
        Writer as Writer,
    )
    from batchlab.workload import (
        read_records as read_records,
    )
    from batchlab.workload import (
        read_swf as read_swf,
    )
    from batchlab.workload import (
        read_table as read_table,
    )
    from batchlab.workload import (
        write_swf as write_swf,
    )
    from batchlab.workload import (
        write_table as write_table,
    )
    from batchlab.workload import (
        write_workload as write_workload,
    )

# Where each public name lives.
_HOMES = {
    "Application": "application",
    "ApplicationError": "errors",
    "Formula": "_kernel",
    "Phase": "application",
    "Stage": "application",
    "read_application": "application",
    "tasks": "application.tasks",
    "write_application": "application",
    "AlgorithmError": "errors",
    "BridgeError": "errors",
    "Allocator": "policy",
    "Cause": "simulation.invocation",
    "Columns": "simulation.view",
    "Invocation": "simulation.invocation",
    "BatchlabError": "errors",
    "Experiment": "experiment",
    "ExperimentError": "errors",
    "DecisionError": "errors",
    "CarbonIntensity": "observer",
    "EnergyPrice": "observer",
    "Failures": "observer",
    "NodePower": "observer",
    "NodeWarming": "observer",
    "ObserverError": "errors",
    "Power": "observer",
    "Signal": "observer",
    "Temperature": "observer",
    "Malleable": "policy",
    "Monitor": "monitor",
    "MonitorError": "errors",
    "NodeGroup": "system",
    "Job": "_kernel",
    "JobDescription": "workload",
    "Observer": "observer",
    "Flow": "platform",
    "NetworkModel": "platform",
    "ParallelTask": "platform",
    "Platform": "platform",
    "PlatformError": "errors",
    "Policy": "policy",
    "PolicyError": "errors",
    "PolicyNotFound": "errors",
    "Predictor": "predictor",
    "Queue": "_kernel",
    "Reader": "workload",
    "Result": "result.result",
    "ResultError": "errors",
    "Runs": "experiment",
    "Scheduler": "policy",
    "Sensing": "simulation.sensing",
    "Simulation": "simulation",
    "SimulationError": "errors",
    "System": "system",
    "SystemDescriptionError": "errors",
    "TraceError": "errors",
    "View": "simulation.view",
    "Workload": "workload",
    "WorkloadError": "errors",
    "bridge": "bridge",
    "dispatchers": "experiment",
    "Writer": "workload",
    "generate": "generate",
    "metrics": "result.metrics",
    "platform": "platform",
    "plot": "plot",
    "read_platform": "platform",
    "read_records": "workload",
    "read_swf": "workload",
    "read_system": "system",
    "read_table": "workload",
    "report": "report",
    "share": "platform",
    "simulate": "simulation",
    "traces": "trace.traces",
    "write_swf": "workload",
    "write_system": "system",
    "write_table": "workload",
    "write_workload": "workload",
}

__all__ = ["__version__", *sorted(_HOMES)]  # noqa: PLE0604  # the names are strings

__getattr__, __dir__ = lazily(__name__, _HOMES)
