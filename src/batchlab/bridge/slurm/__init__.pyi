# What the package offers, for checkers and for `lazily`, which imports a name when it is first asked for.

from batchlab.bridge.slurm.cluster import VirtualCluster as VirtualCluster
from batchlab.bridge.slurm.configuration import Configuration as Configuration
from batchlab.bridge.slurm.configuration import Node as Node
from batchlab.bridge.slurm.configuration import read_configuration as read_configuration
