"""The interface that ElastiSim offers to scheduling algorithms in Python, written anew for batchlab.

Names, enumerations and behaviour are those of ElastiSim's own package of this name, so that an algorithm made
for it runs unchanged. It needs no more than Python and, where the algorithm is a process of its own, pyzmq.
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
