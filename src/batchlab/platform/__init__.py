"""Platforms: hosts, links and routes, described in Python, in TOML, or in SimGrid's XML."""

from batchlab.core.lazy import make_dir
from batchlab.platform.flows import Flow, ParallelTask, share
from batchlab.platform.network_model import NetworkModel
from batchlab.platform.parts import (
    Cluster,
    Crossbar,
    Disk,
    Dragonfly,
    FatTree,
    Host,
    Link,
    Ray,
    Route,
    SharedStorage,
    Topology,
    Torus,
    Zone,
)
from batchlab.platform.platform import Platform, Way
from batchlab.platform.read import read_platform

__all__ = [
    "Cluster",
    "Crossbar",
    "Disk",
    "Dragonfly",
    "FatTree",
    "Flow",
    "Host",
    "Link",
    "NetworkModel",
    "ParallelTask",
    "Platform",
    "Ray",
    "Route",
    "SharedStorage",
    "Topology",
    "Torus",
    "Way",
    "Zone",
    "read_platform",
    "share",
]

__dir__ = make_dir(__name__)
