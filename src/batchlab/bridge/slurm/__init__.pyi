# What the package offers, for checkers and for `lazily`, which imports a name when it is first asked for.

from batchlab.bridge.slurm.clock import AutoClock as AutoClock
from batchlab.bridge.slurm.clock import Clock as Clock
from batchlab.bridge.slurm.clock import ConstantClock as ConstantClock
from batchlab.bridge.slurm.clock import RealClock as RealClock
from batchlab.bridge.slurm.clock import clock_of as clock_of
from batchlab.bridge.slurm.cluster import VirtualCluster as VirtualCluster
from batchlab.bridge.slurm.configuration import Configuration as Configuration
from batchlab.bridge.slurm.configuration import Node as Node
from batchlab.bridge.slurm.configuration import read_configuration as read_configuration
from batchlab.bridge.slurm.controller_log import Measured as Measured
from batchlab.bridge.slurm.controller_log import measure as measure
from batchlab.bridge.slurm.dumps import Dump as Dump
from batchlab.bridge.slurm.experiment import RealRun as RealRun
from batchlab.bridge.slurm.experiment import notes_of as notes_of
from batchlab.bridge.slurm.experiment import run_real as run_real
from batchlab.bridge.slurm.model import nodes_of as nodes_of
from batchlab.bridge.slurm.model import planned_stream as planned_stream
from batchlab.bridge.slurm.model import run_model as run_model
from batchlab.bridge.slurm.model import system_of as system_of
from batchlab.bridge.slurm.outcome import Outcome as Outcome
from batchlab.bridge.slurm.repeated import Repeated as Repeated
from batchlab.bridge.slurm.submission import Submission as Submission
from batchlab.bridge.slurm.submission import rounding as rounding
from batchlab.bridge.slurm.submission import submissions as submissions
