"""A twin of Slurm: its configuration files, and the decisions of its controller.

The files are ``slurm.conf`` with its included files, ``topology.conf``, ``gres.conf``, accounts and QOS:
parsed as in Slurm, typed, with Slurm's defaults for a release. Tables list all keys and how they are treated
here. `batchlab.system.slurm` converts a configuration to a `System`.
"""

from batchlab.core.lazy import make_dir
from batchlab.slurm.associations import Accounting, Association
from batchlab.slurm.cluster import Preemption, Selection, Timing
from batchlab.slurm.configuration import SlurmConfiguration
from batchlab.slurm.controller import (
    Allotment,
    Controller,
    Entry,
    Held,
    NodePartition,
    Outcome,
    Precedence,
    ReservedNodes,
    Situation,
)
from batchlab.slurm.differences import Differences, differences
from batchlab.slurm.gres import DeviceLine
from batchlab.slurm.keys import Change, Key, KeyTable, key_table, tables
from batchlab.slurm.mended import Mended
from batchlab.slurm.nodes import DownNodes, GenericResource, NodeLine, NodeSet
from batchlab.slurm.partitions import PartitionLine
from batchlab.slurm.place import Place
from batchlab.slurm.priority import PriorityParameters
from batchlab.slurm.qualities import Quality
from batchlab.slurm.reading import read_configuration
from batchlab.slurm.releases import RELEASES
from batchlab.slurm.report import Remark, Report, ReportedKey
from batchlab.slurm.scheduler import SchedulerParameters
from batchlab.slurm.settings import Option, Setting, UnknownKey
from batchlab.slurm.topology import Switch, Topology

__all__ = [
    "RELEASES",
    "Accounting",
    "Allotment",
    "Association",
    "Change",
    "Controller",
    "DeviceLine",
    "Differences",
    "DownNodes",
    "Entry",
    "GenericResource",
    "Held",
    "Key",
    "KeyTable",
    "Mended",
    "NodeLine",
    "NodePartition",
    "NodeSet",
    "Option",
    "Outcome",
    "PartitionLine",
    "Place",
    "Precedence",
    "Preemption",
    "PriorityParameters",
    "Quality",
    "Remark",
    "Report",
    "ReportedKey",
    "ReservedNodes",
    "SchedulerParameters",
    "Selection",
    "Setting",
    "Situation",
    "SlurmConfiguration",
    "Switch",
    "Timing",
    "Topology",
    "UnknownKey",
    "differences",
    "key_table",
    "read_configuration",
    "tables",
]

__dir__ = make_dir(__name__)
