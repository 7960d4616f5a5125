"""ElastiSim's interface for scheduling algorithms in Python, reimplemented for batchlab.

Names, enumerations and behaviour follow ElastiSim's own package of this name, so that existing algorithms run
unchanged. It requires only Python and, if the algorithm is a separate process, pyzmq.
"""

from .interface import CommunicationCode, InvocationType, pass_algorithm
from .job import Gpu, GpuState, Job, JobState, JobType, Node, NodeState, NodeType

__all__ = [
    "CommunicationCode",
    "Gpu",
    "GpuState",
    "InvocationType",
    "Job",
    "JobState",
    "JobType",
    "Node",
    "NodeState",
    "NodeType",
    "pass_algorithm",
]
