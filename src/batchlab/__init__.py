"""batchlab: the laboratory for HPC batch scheduling.

>>> import batchlab as bl
>>> workload = bl.Workload.from_table({"submit_time": [0.0], "run_time": [60.0], "tasks": [2]})
>>> result = bl.simulate(workload, bl.System.homogeneous(nodes=2, resources={"core": 1}), "easy")
>>> result.jobs["end_time"].item()
60.0
"""

from importlib import import_module
from typing import TYPE_CHECKING

from batchlab._kernel import __version__

if TYPE_CHECKING:
    from batchlab.errors import (
        BatchlabError as BatchlabError,
        PolicyError as PolicyError,
        PolicyNotFound as PolicyNotFound,
        ResultError as ResultError,
        SimulationError as SimulationError,
        SystemDescriptionError as SystemDescriptionError,
        WorkloadError as WorkloadError,
    )
    from batchlab.policy import Policy as Policy
    from batchlab.result import metrics as metrics
    from batchlab.result.result import Result as Result
    from batchlab.simulation import Simulation as Simulation, simulate as simulate
    from batchlab.system import (
        NodeGroup as NodeGroup,
        System as System,
        read_system as read_system,
        write_system as write_system,
    )
    from batchlab.workload import (
        Reader as Reader,
        Workload as Workload,
        read_records as read_records,
        read_swf as read_swf,
        read_table as read_table,
        write_swf as write_swf,
        write_table as write_table,
    )

# Where each public name lives. They are imported when first asked for: `batchlab --help` needs none of them.
_HOMES = {
    "BatchlabError": "errors",
    "NodeGroup": "system",
    "Policy": "policy",
    "PolicyError": "errors",
    "PolicyNotFound": "errors",
    "Reader": "workload",
    "Result": "result.result",
    "ResultError": "errors",
    "Simulation": "simulation",
    "SimulationError": "errors",
    "System": "system",
    "SystemDescriptionError": "errors",
    "Workload": "workload",
    "WorkloadError": "errors",
    "metrics": "result.metrics",
    "read_records": "workload",
    "read_swf": "workload",
    "read_system": "system",
    "read_table": "workload",
    "simulate": "simulation",
    "write_swf": "workload",
    "write_system": "system",
    "write_table": "workload",
}

__all__ = ["__version__", *sorted(_HOMES)]  # noqa: PLE0604  # the names are strings


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        from batchlab.errors import suggest  # noqa: PLC0415  # only needed here

        raise AttributeError(f"module 'batchlab' has no attribute {name!r}.{suggest(name, __all__)}")
    module = import_module(f"batchlab.{home}")
    value = module if home.endswith(f".{name}") else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
