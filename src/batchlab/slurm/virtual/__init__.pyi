# What the package offers, for checkers and for `lazily`, which imports a name when it is first asked for.

from batchlab.slurm.virtual.clock import AutoClock as AutoClock
from batchlab.slurm.virtual.clock import Clock as Clock
from batchlab.slurm.virtual.clock import ConstantClock as ConstantClock
from batchlab.slurm.virtual.clock import RealClock as RealClock
from batchlab.slurm.virtual.clock import clock_of as clock_of
from batchlab.slurm.virtual.cluster import VirtualCluster as VirtualCluster
from batchlab.slurm.virtual.configuration import Configuration as Configuration
from batchlab.slurm.virtual.configuration import Node as Node
from batchlab.slurm.virtual.configuration import read_configuration as read_configuration
from batchlab.slurm.virtual.controller_log import Measured as Measured
from batchlab.slurm.virtual.controller_log import measure as measure
from batchlab.slurm.virtual.experiment import RealRun as RealRun
from batchlab.slurm.virtual.experiment import notes_of as notes_of
from batchlab.slurm.virtual.experiment import run_real as run_real
from batchlab.slurm.virtual.feed import Dump as Dump
from batchlab.slurm.virtual.model import nodes_of as nodes_of
from batchlab.slurm.virtual.model import planned_stream as planned_stream
from batchlab.slurm.virtual.model import run_model as run_model
from batchlab.slurm.virtual.model import system_of as system_of
from batchlab.slurm.virtual.outcome import Outcome as Outcome
from batchlab.slurm.virtual.outcome import Repeated as Repeated
from batchlab.slurm.virtual.submission import Submission as Submission
from batchlab.slurm.virtual.submission import rounding as rounding
from batchlab.slurm.virtual.submission import submissions as submissions
