"""The module name of nodes and GPUs in ElastiSim's own package."""

from .job import Gpu, GpuState, Node, NodeState, NodeType

__all__ = ["Gpu", "GpuState", "Node", "NodeState", "NodeType"]
